// Walking two traces side by side: hashes first, then the elements of what has other bits.
#include "core/debug/explain/passes/find_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_set>

#include "core/analysis/align/alignment_side.h"
#include "core/base/quick_hash.h"
#include "core/debug/explain/passes/carried.h"
#include "core/debug/explain/passes/culprit.h"
#include "core/debug/explain/passes/meaning.h"
#include "core/debug/explain/passes/pairing.h"
#include "core/debug/explain/passes/separated_pair.h"
#include "core/debug/explain/passes/value_trace.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/users.h"
#include "core/replay/capture/nonfinite_scan.h"

namespace hloscope::debug {

using hlo::ElementType;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using replay::CaptureForm;

namespace {

constexpr int64_t kMaxBytes = int64_t{256} << 20;  // of values held at once, of each side

// What rounding may have done to a value that was computed in double precision: constants that a
// pass folded are of the type that they had.
double ToleranceOf(ElementType type) {
  constexpr double kReassociated = 1e-9;
  double step = 0;
  switch (hlo::RealPart(type)) {
    case ElementType::kF64:
      break;
    case ElementType::kF32:
      step = 0x1p-23;
      break;
    case ElementType::kF16:
      step = 0x1p-10;
      break;
    case ElementType::kBF16:
      step = 0x1p-7;
      break;
    default:
      step = hlo::IsFloat(type) ? 0x1p-3 : 0;
  }
  return std::max(kReassociated, 2 * step);
}

// Against the largest element, since a sum of terms may leave little of them.
LeafComparison CompareDoubles(const Literal& actual, const Literal& expected, double tolerance) {
  const auto range = replay::FiniteRangeOf(expected);
  const double scale = range ? std::max(std::abs(range->low), std::abs(range->high)) : 0;
  return CompareArrays(actual, expected, {tolerance * scale, tolerance});
}

uint64_t HashOf(const TraceEvent& event) {
  uint64_t hash = 0;
  for (const replay::CapturedForm& leaf : event.leaves) {
    const auto* value = std::get_if<uint64_t>(&leaf);
    hash = MixKeys(hash, value == nullptr ? 0 : *value);
  }
  return hash;
}

// A value whose bits are not those of its partner.
struct Suspect {
  const TraceEvent* before;
  const TraceEvent* after;
};

// What the operands of the root need that hold one of the leaves; everything where none is given or
// the root is no tuple. What computations need that are called is not looked into.
std::vector<bool> NeededBy(const Module& module, std::span<const size_t> leaves) {
  const InstructionId root = module.entry().root;
  const bool whole = leaves.empty() || module[root].opcode != hlo::Opcode::kTuple;
  std::vector<bool> needed(module.instructions().size(), whole);
  if (whole) return needed;
  std::vector<InstructionId> pending;
  auto need = [&](InstructionId id) {
    if (needed[id.index]) return;
    needed[id.index] = true;
    pending.push_back(id);
  };
  size_t first = 0;
  for (const InstructionId operand : module.operands(root)) {
    const size_t last = first + module.shape(operand).LeafCount();
    if (std::ranges::any_of(leaves, [&](size_t i) { return i >= first && i < last; }))
      need(operand);
    first = last;
  }
  needed[root.index] = true;
  while (!pending.empty()) {
    const InstructionId id = pending.back();
    pending.pop_back();
    for (const InstructionId operand : module.operands(id)) need(operand);
    for (const hlo::ComputationId callee : module.CalledComputations(module[id])) {
      for (uint32_t i = 0; i < module[callee].instruction_count; ++i) {
        need(InstructionId(module[callee].first_instruction + i));
      }
    }
  }
  return needed;
}

class Search {
 public:
  Search(const StageValues& values, std::shared_ptr<const Module> before,
         std::shared_ptr<const Module> after, analysis::Alignment alignment,
         std::span<const size_t> leaves, Sought sought, std::stop_token stop)
      : values_(values),
        before_(std::move(before)),
        after_(std::move(after)),
        pairing_(*before_, *after_, std::move(alignment)),
        needed_(NeededBy(*after_, leaves)),
        sought_(sought),
        stop_(std::move(stop)) {}

  Result<std::optional<FoundEdit>> Run(TracePrecision precision) {
    precision_ = precision;
    HLOSCOPE_ASSIGN_OR_RETURN(trace_before_,
                              Trace(before_, CaptureForm::kHash, TracedInstructions(*before_)));
    HLOSCOPE_ASSIGN_OR_RETURN(trace_after_,
                              Trace(after_, CaptureForm::kHash, TracedInstructions(*after_)));
    HashBefore();
    const std::vector<Suspect> suspects = FindSuspects();
    for (size_t begin = 0; begin < suspects.size();) {
      const size_t end = EndOfChunk(suspects, begin);
      HLOSCOPE_ASSIGN_OR_RETURN(auto found, LookAt(suspects, begin, end));
      if (found) return found;
      begin = end;
    }
    return sought_ == Sought::kOperations ? std::nullopt : AtRoot();
  }

 private:
  Result<ValueTrace> Trace(const std::shared_ptr<const Module>& module, CaptureForm form,
                           std::span<const InstructionId> wanted) {
    return TraceValues(module, precision_, form, wanted,
                       StageValues::RequestFor(*module, values_.request()), stop_);
  }

  void HashBefore() {
    known_.clear();
    for (const TraceEvent& event : trace_before_.events) known_.insert(HashOf(event));
  }

  // In the order in which they were made. A doubtful partner is none where some other instruction
  // had that very value.
  std::vector<Suspect> FindSuspects() {
    std::vector<Suspect> suspects;
    for (const TraceEvent& event : trace_after_.events) {
      const InstructionId partner = pairing_.Before(event.instruction);
      if (!partner.valid() || !needed_[event.instruction.index]) continue;
      const TraceEvent* before = trace_before_.Find(partner, event.device, event.execution);
      if (before == nullptr || before->leaves.size() != event.leaves.size()) continue;
      const uint64_t hash = HashOf(event);
      if (hash == HashOf(*before)) continue;
      const bool doubtful = !pairing_.IsSure(event.instruction) && IsTelling(event.instruction);
      if (doubtful && known_.contains(hash)) continue;
      if (sought_ == Sought::kOperations && !TakesKnownValues(event)) continue;
      suspects.push_back({before, &event});
    }
    return suspects;
  }

  // All that it takes some instruction before had with the same bits, and what it calls is not
  // looked into.
  bool TakesKnownValues(const TraceEvent& event) const {
    const hlo::Instruction& instruction = (*after_)[event.instruction];
    const bool is_control = hlo::Info(instruction.opcode).category == hlo::Category::kControl;
    const bool is_whole = instruction.opcode == hlo::Opcode::kFusion || is_control ||
                          instruction.opcode == hlo::Opcode::kTuple;
    if (is_whole) return false;
    const auto operands = after_->operands(event.instruction);
    return std::ranges::all_of(operands, [&](InstructionId operand) {
      const InstructionId given = Resolved(*after_, operand);
      if ((*after_)[given].opcode == hlo::Opcode::kParameter) {
        return (*after_)[given].computation == after_->entry_id();
      }
      const TraceEvent* const newest = Newest(trace_after_, given, event.device, &event);
      return newest != nullptr && known_.contains(HashOf(*newest));
    });
  }

  // Values of which no two instructions have the same by chance.
  bool IsTelling(InstructionId id) const {
    constexpr int64_t kFew = 4, kFewBits = 64;
    const hlo::Shape& shape = after_->shape(id);
    if (!shape.IsArray()) return false;
    const bool is_of_bits = shape.element_type() == ElementType::kPred;
    return shape.ElementCount().value_or(0) >= (is_of_bits ? kFewBits : kFew);
  }

  // Their number of bytes is bounded, but one always fits.
  size_t EndOfChunk(const std::vector<Suspect>& suspects, size_t begin) const {
    std::set<uint32_t> taken;
    int64_t bytes = 0;
    size_t end = begin;
    for (; end < suspects.size(); ++end) {
      const InstructionId id = suspects[end].after->instruction;
      if (!taken.insert(id.index).second) continue;
      const auto runs = static_cast<int64_t>(trace_after_.by_instruction[id.index].size());
      bytes += 8 * runs * after_->shape(id).ByteSize().value_or(0);
      if (bytes > kMaxBytes && taken.size() > 1) break;
    }
    return end;
  }

  Result<std::optional<FoundEdit>> LookAt(std::span<const Suspect> all, size_t begin, size_t end) {
    const std::span<const Suspect> suspects = all.subspan(begin, end - begin);
    std::set<uint32_t> ids_a, ids_b;
    for (const Suspect& suspect : suspects) {
      ids_a.insert(suspect.after->instruction.index);
      ids_b.insert(suspect.before->instruction.index);
    }
    auto list = [](const std::set<uint32_t>& ids) {
      return std::vector<InstructionId>(ids.begin(), ids.end());
    };
    HLOSCOPE_ASSIGN_OR_RETURN(const ValueTrace after,
                              Trace(after_, CaptureForm::kBytes, list(ids_a)));
    HLOSCOPE_ASSIGN_OR_RETURN(const ValueTrace before,
                              Trace(before_, CaptureForm::kBytes, list(ids_b)));
    std::vector<std::optional<LeafComparison>> worst(suspects.size());
    std::set<uint32_t> differing;  // instructions that are not looked at yet may be
    for (const Suspect& later : all.subspan(end)) {
      differing.insert(later.after->instruction.index);
    }
    for (size_t i = 0; i < suspects.size(); ++i) {
      const TraceEvent &sa = *suspects[i].after, &sb = *suspects[i].before;
      const TraceEvent* a = after.Find(sa.instruction, sa.device, sa.execution);
      const TraceEvent* b = before.Find(sb.instruction, sb.device, sb.execution);
      if (a == nullptr || b == nullptr) continue;
      worst[i] = Difference(*b, *a);
      if (worst[i]) differing.insert(sa.instruction.index);
    }
    for (size_t i = 0; i < suspects.size(); ++i) {
      const TraceEvent& event = *suspects[i].after;
      if (worst[i] && IsPassedOn(event.instruction, differing)) {
        return Explain(suspects[i], *std::move(worst[i]));
      }
    }
    return std::nullopt;
  }

  // A doubtful partner is none where the difference ends before it reaches an instruction whose
  // partner is sure, or the result.
  bool IsPassedOn(InstructionId id, const std::set<uint32_t>& differing) const {
    if (pairing_.IsSure(id)) return true;
    std::set<uint32_t> seen = {id.index};
    std::vector<InstructionId> pending = {id};
    while (!pending.empty()) {
      const InstructionId next = pending.back();
      pending.pop_back();
      if (next == after_->entry().root) return true;
      for (const InstructionId user : TakersOf(next)) {
        const bool differs = differing.contains(user.index);
        if (differs && pairing_.IsSure(user)) return true;
        if (!differs && pairing_.Before(user).valid()) continue;
        if (seen.insert(user.index).second) pending.push_back(user);
      }
    }
    return false;
  }

  // Users, and of a root the callers of its computation.
  std::vector<InstructionId> TakersOf(InstructionId id) const {
    const auto users = hlo::UsersOf(*after_).users(id);
    std::vector<InstructionId> takers(users.begin(), users.end());
    const hlo::ComputationId home = (*after_)[id].computation;
    if ((*after_)[home].root == id) {
      const auto callers = hlo::CallGraphOf(*after_).callers(home);
      takers.insert(takers.end(), callers.begin(), callers.end());
    }
    return takers;
  }

  std::optional<LeafComparison> Difference(const TraceEvent& before, const TraceEvent& after) {
    const auto types_b = before_->shape(before.instruction).LeafShapes();
    const auto types_a = after_->shape(after.instruction).LeafShapes();
    // What a pass has folded is rounded to its type.
    const bool is_constant = (*after_)[after.instruction].opcode == hlo::Opcode::kConstant;
    for (size_t i = 0; i < std::min(before.leaves.size(), after.leaves.size()); ++i) {
      const auto* b = std::get_if<Literal>(&before.leaves[i]);
      const auto* a = std::get_if<Literal>(&after.leaves[i]);
      if (b == nullptr || a == nullptr || !b->shape().IsArray()) continue;
      if (i >= types_a.size() || i >= types_b.size()) break;
      // In their own precision, values of several types differ by rounding.
      if (a->shape().element_type() != b->shape().element_type()) continue;
      LeafComparison leaf =
          Compare(*a, *b, types_a[i]->element_type(), types_b[i]->element_type(), is_constant);
      if (!leaf.equal()) return leaf;
    }
    return std::nullopt;
  }

  LeafComparison Compare(const Literal& after, const Literal& before, ElementType type_a,
                         ElementType type_b, bool is_constant) const {
    if (sought_ == Sought::kOperations && !is_constant) {
      // Functions of narrower types are computed in f32.
      return CompareDoubles(after, before,
                            std::min(ToleranceOf(type_a), ToleranceOf(ElementType::kF32)));
    }
    if (precision_ == TracePrecision::kDouble) {
      return CompareDoubles(after, before, std::max(ToleranceOf(type_a), ToleranceOf(type_b)));
    }
    if (precision_ == TracePrecision::kRounded) return CompareRounded(after, before, type_b);
    const auto worst = WorstDifference({after}, {before}, values_.request().compare.bounds);
    return worst ? *worst : LeafComparison{};
  }

  // Whether the newest values of both, until then, have the same bits.
  bool HadSameBits(InstructionId before, InstructionId after, const TraceEvent& until) const {
    const TraceEvent* a = Newest(trace_after_, after, until.device, &until);
    if (a == nullptr) return false;
    const TraceEvent* b = trace_before_.Find(before, until.device, a->execution);
    return b != nullptr && HashOf(*a) == HashOf(*b);
  }

  static const TraceEvent* Newest(const ValueTrace& trace, InstructionId id, int64_t device,
                                  const TraceEvent* until) {
    const TraceEvent* newest = nullptr;
    for (const uint32_t at : trace.by_instruction[id.index]) {
      const TraceEvent& event = trace.events[at];
      if (&event >= until) break;
      if (event.device == device) newest = &event;
    }
    return newest;
  }

  FoundEdit Described(const Culprit& culprit) const {
    return {PlaceOf(pairing_, culprit),
            DescribeEdit(pairing_, culprit),
            DescribeBackwards(pairing_, culprit),
            {}};
  }

  FoundEdit Explain(const Suspect& suspect, LeafComparison worst) const {
    const TraceEvent& event = *suspect.after;
    const SameValue same = [&](InstructionId b, InstructionId a) {
      return HadSameBits(b, a, event);
    };
    const Culprit culprit = FindCulprit(pairing_, event.instruction, same,
                                        {.before = suspect.before->calls, .after = event.calls});
    FoundEdit found = Described(culprit);
    found.worst = std::move(worst);
    for (const runtime::Frame& frame : event.calls) {
      if ((*after_)[frame.caller].opcode != hlo::Opcode::kWhile) continue;
      if (culprit.after.valid() && !IsInside(*after_, culprit.after, frame.caller)) break;
      if (!found.place.calls.empty()) found.place.calls += ", ";
      found.place.calls +=
          fmt::format("{} iteration {}", after_->name(frame.caller), frame.iteration);
    }
    return found;
  }

  // All values agree, but other ones are the results.
  Result<std::optional<FoundEdit>> AtRoot() {
    InstructionId after = after_->entry().root, before = before_->entry().root;
    // One side may have its only result in a tuple.
    const auto is_wrapped = [](const Module& module, InstructionId root) {
      return module[root].opcode == hlo::Opcode::kTuple && module[root].operand_count == 1;
    };
    if (is_wrapped(*before_, before) != is_wrapped(*after_, after)) {
      if (is_wrapped(*before_, before)) before = before_->operands(before)[0];
      if (is_wrapped(*after_, after)) after = after_->operands(after)[0];
    }
    if (pairing_.Before(after) == before) return std::nullopt;
    Culprit culprit{before, after, {}};
    const InstructionId partner = pairing_.Before(after);
    if (partner.valid() && pairing_.IsGone(before) &&
        std::ranges::find(before_->operands(before), partner) != before_->operands(before).end()) {
      culprit.after = {};
    }
    return Described(culprit);
  }

  const StageValues& values_;
  std::shared_ptr<const Module> before_, after_;
  Pairing pairing_;
  std::vector<bool> needed_;  // by instruction of the later module: the results that differ do
  Sought sought_;
  std::stop_token stop_;
  TracePrecision precision_ = TracePrecision::kDouble;
  ValueTrace trace_before_, trace_after_;
  std::unordered_set<uint64_t> known_;  // values before
};

TracePrecision FirstPrecision(Sought sought) {
  return sought == Sought::kRoundings ? TracePrecision::kRounded : TracePrecision::kDouble;
}

}  // namespace

Result<std::optional<FoundEdit>> FindEdit(const StageValues& values,
                                          const std::shared_ptr<const Module>& before,
                                          const std::shared_ptr<const Module>& after,
                                          analysis::Alignment alignment,
                                          std::span<const size_t> leaves,
                                          const std::stop_token& stop, Sought sought) {
  const SeparatedPair pair(before, after);
  if (pair.is_changed()) alignment = analysis::Align(*pair.before(), *pair.after());
  Search search(values, pair.before(), pair.after(), std::move(alignment), leaves, sought, stop);
  auto found = search.Run(FirstPrecision(sought));
  const bool is_found = found.has_value() && found->has_value();
  if (sought == Sought::kMeaning && !is_found) found = search.Run(TracePrecision::kOwn);
  if (found.has_value() && found->has_value()) {
    pair.Restore((*found)->place);
    pair.Restore((*found)->edit);
    pair.Restore((*found)->backwards);
  }
  return found;
}

}  // namespace hloscope::debug
