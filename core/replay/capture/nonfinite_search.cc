// Watching every value of a run for NaNs and infinities.
#include "core/replay/capture/nonfinite_search.h"

#include <algorithm>

#include "core/base/byte_archive.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::replay {
namespace {

using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using runtime::Value;

// What only hands on values that others made, or whose inside is seen by itself.
bool ForwardsOperand(Opcode opcode) {
  using enum hlo::Category;
  if (opcode == Opcode::kParameter || opcode == Opcode::kConstant) return true;
  const hlo::Category category = hlo::Info(opcode).category;
  return !AppliesScalarComputation(opcode) &&
         (category == kTuple || category == kControl || category == kFusion ||
          category == kDataMovement || category == kCollective);
}

// A reducer of additions shows every NaN in its result, a comparator of selections makes none; of
// all others neither is known. Nested calls are not looked into.
bool MayHide(const Module& module, const hlo::Instruction& caller) {
  for (const hlo::ComputationId callee : module.CalledComputations(caller)) {
    const auto body = module.instructions(module[callee]);
    const bool shows = std::ranges::all_of(body, [](const hlo::Instruction& i) {
      return hlo::HasTrait(i.opcode, hlo::kTraitShowsNonFinite);
    });
    const bool none = std::ranges::all_of(body, [](const hlo::Instruction& i) {
      return hlo::HasTrait(i.opcode, hlo::kTraitMakesNoNonFinite);
    });
    if (!shows && !none) return true;
  }
  return false;
}

bool SameDimensions(const Value& a, const Value& b) {
  return std::ranges::equal(a.shape().dimensions(), b.shape().dimensions());
}

// True if element `at` of an elementwise instruction's result is made of a NaN (or infinity).
bool MadeOfOne(std::span<const Value> operands, const Value& result, int64_t at,
               NonFiniteKind kind) {
  return std::ranges::any_of(operands, [&](const Value& operand) {
    if (!operand.is_array()) return false;
    if (SameDimensions(operand, result)) return IsNonFinite(operand.literal(), at, kind);
    return operand.shape().ElementCount() == 1 && IsNonFinite(operand.literal(), 0, kind);
  });
}

// True if an operand holds a NaN (or, looking for infinities, either) anywhere.
bool HoldsOne(std::span<const Value> operands, NonFiniteKind kind) {
  std::vector<const Value*> pending;
  for (const Value& operand : operands) pending.push_back(&operand);
  while (!pending.empty()) {
    const Value& value = *pending.back();
    pending.pop_back();
    if (value.is_tuple()) {
      for (const Value& element : value.elements()) pending.push_back(&element);
    } else if (value.is_array()) {
      if (FindNonFinite(value.literal(), NonFiniteKind::kNan)) return true;
      if (kind == NonFiniteKind::kInfinity && FindNonFinite(value.literal(), kind)) return true;
    }
  }
  return false;
}

// The element of an array that an instruction made; nullopt if it made none.
std::optional<int64_t> MadeIn(Opcode opcode, std::span<const Value> operands, const Value& array,
                              NonFiniteKind kind) {
  std::optional<int64_t> at = FindNonFinite(array.literal(), kind);
  if (!at) return std::nullopt;
  if (!hlo::HasFlag(opcode, hlo::kFlagElementwise)) {
    return HoldsOne(operands, kind) ? std::nullopt : at;
  }
  while (at && MadeOfOne(operands, array, *at, kind)) {
    at = FindNonFinite(array.literal(), kind, *at + 1);
  }
  return at;
}

constexpr std::string_view kName = "nonfinite";

// Operands and the leaf go beside the fields.
void Write(const NonFiniteOrigin& origin, ByteWriter& out, std::vector<Value>& values) {
  out(origin.instruction, origin.device, origin.frames, uint64_t{origin.operands.size()},
      origin.leaf_index, origin.element, origin.execution);
  values.insert(values.end(), origin.operands.begin(), origin.operands.end());
  values.push_back(origin.leaf);
}

bool IsSound(const Module& module, const NonFiniteOrigin& origin) {
  const size_t count = module.instructions().size();
  const auto has_bytes = [](const Value& v) { return !v.is_array() || !v.literal().elided(); };
  return has_bytes(origin.leaf) && std::ranges::all_of(origin.operands, has_bytes) &&
         origin.instruction.index < count && origin.leaf.is_array() && origin.element >= 0 &&
         origin.element < origin.leaf.shape().ElementCount().value_or(0) &&
         std::ranges::all_of(
             origin.frames, [count](const runtime::Frame& f) { return f.caller.index < count; });
}

NonFiniteOrigin Read(const Module& module, ByteReader& in, std::span<const Value> values) {
  NonFiniteOrigin origin;
  uint64_t operands = 0;
  in(origin.instruction, origin.device, origin.frames, operands, origin.leaf_index, origin.element,
     origin.execution);
  if (!in.ok() || operands + 1 != values.size()) return in.Fail(), NonFiniteOrigin();
  const auto own = values.first(static_cast<size_t>(operands));
  origin.operands.assign(own.begin(), own.end());
  origin.leaf = values[own.size()];
  if (!IsSound(module, origin)) in.Fail();
  return origin;
}

}  // namespace

bool AppliesScalarComputation(Opcode opcode) {
  return hlo::HasTrait(opcode, hlo::kTraitAppliesScalar);
}

NonFiniteSearch::NonFiniteSearch(const Module& module, NonFiniteKind kind,
                                 std::optional<NonFiniteOrigin> lanes_of)
    : module_(module),
      kind_(kind),
      lanes_of_(std::move(lanes_of)),
      hides_(module.instructions().size()),
      executions_(module.instructions().size()),
      infinities_(module) {
  for (size_t i = 0; i < hides_.size(); ++i) {
    const hlo::Instruction& instruction = module.instructions()[i];
    hides_[i] = AppliesScalarComputation(instruction.opcode) && MayHide(module, instruction);
  }
}

bool NonFiniteSearch::WantsLanes(InstructionId caller) {
  const std::lock_guard lock(mutex_);
  if (!lanes_of_) return hides_[caller.index];
  return caller == lanes_of_->instruction && executions_[caller.index] == lanes_of_->execution;
}

Status NonFiniteSearch::OnValue(const runtime::Site& site, std::span<const Value> operands,
                                const Value& value) {
  const std::lock_guard lock(mutex_);
  const int64_t execution = executions_[site.instruction.index]++;
  if (lanes_of_) {
    const bool inside = std::ranges::any_of(site.frames, [&](const runtime::Frame& frame) {
      return frame.caller == lanes_of_->instruction;
    });
    const bool now = executions_[lanes_of_->instruction.index] == lanes_of_->execution;
    if (inside && now && !HandsOn(site.instruction)) {
      Look(site, operands, value);
    }
    const bool over =
        site.instruction == lanes_of_->instruction && execution == lanes_of_->execution;
    if (!over && !first_) return {};
    return std::unexpected(EndedByPlan());
  }
  if (first_) return {};
  if (!HandsOn(site.instruction)) Look(site, operands, value);
  if (kind_ == NonFiniteKind::kNan) {
    infinities_.Note(site, operands, value, HandsOn(site.instruction));
  }
  return {};
}

bool NonFiniteSearch::HandsOn(InstructionId id) const {
  const Opcode opcode = module_[id].opcode;
  return ForwardsOperand(opcode) && (sees_fusions_ || opcode != Opcode::kFusion);
}

void NonFiniteSearch::Look(const runtime::Site& site, std::span<const Value> operands,
                           const Value& value) {
  if (first_) return;
  const Opcode opcode = module_[site.instruction].opcode;
  struct Part {
    const Value* value;
    std::vector<int64_t> index;
  };
  std::vector<Part> pending = {{&value, {}}};
  while (!pending.empty()) {
    const Part part = std::move(pending.back());
    pending.pop_back();
    if (part.value->is_tuple()) {
      for (size_t i = part.value->elements().size(); i-- > 0;) {
        Part element{&part.value->elements()[i], part.index};
        element.index.push_back(static_cast<int64_t>(i));
        pending.push_back(std::move(element));
      }
      continue;
    }
    if (!part.value->is_array()) continue;
    const std::optional<int64_t> at = MadeIn(opcode, operands, *part.value, kind_);
    if (!at) continue;
    first_ = NonFiniteOrigin{site.instruction,
                             site.device,
                             {site.frames.begin(), site.frames.end()},
                             {operands.begin(), operands.end()},
                             *part.value,
                             part.index,
                             *at,
                             executions_[site.instruction.index] - 1};
    if (kind_ == NonFiniteKind::kNan) infinity_from_ = SourceOfInfinity(site);
    return;
  }
}

// Of the first operand with an infinity that the element of the first NaN is computed from.
InstructionId NonFiniteSearch::SourceOfInfinity(const runtime::Site& site) const {
  const size_t count = module_.operands(first_->instruction).size();
  for (size_t i = 0; i < std::min(count, first_->operands.size()); ++i) {
    if (!first_->operands[i].is_array()) continue;
    const InstructionId source =
        infinities_.OfOperand(site, first_->operands, first_->leaf.shape(), i, first_->element);
    if (source.valid()) return source;
  }
  return {};
}

// The search "nonfinite".
std::unique_ptr<Search> MakeNonFiniteSearch(const Module& module, std::string_view request) {
  ByteReader in(std::as_bytes(std::span(request)));
  const auto kind = in.Get<NonFiniteKind>();
  std::optional<NonFiniteOrigin> lanes_of;
  if (in.Get<bool>()) {
    lanes_of.emplace();
    in(lanes_of->instruction, lanes_of->execution);
    if (lanes_of->instruction.index >= module.instructions().size()) return nullptr;
  }
  if (!in.ok() || !in.empty() || kind > NonFiniteKind::kInfinity) return nullptr;
  return std::make_unique<NonFiniteSearch>(module, kind, std::move(lanes_of));
}

// Of the origin whose lanes are looked into, no more is asked than which execution it was.
SearchRequest NonFiniteSearchRequest(NonFiniteKind kind, const NonFiniteOrigin* lanes_of) {
  ByteWriter out;
  out(kind, lanes_of != nullptr);
  if (lanes_of != nullptr) out(lanes_of->instruction, lanes_of->execution);
  return {std::string(kName), std::move(out).Take()};
}

SearchFinding NonFiniteSearch::Finding() const {
  SearchFinding finding{std::string(kName), {}, {}};
  ByteWriter out;
  out(infinity_from_, first_.has_value());
  if (first_) Write(*first_, out, finding.values);
  finding.fields = std::move(out).Take();
  return finding;
}

Result<NonFiniteFound> ReadNonFiniteFound(const Module& module, const SearchFinding& finding) {
  NonFiniteFound found;
  ByteReader in(std::as_bytes(std::span(finding.fields)));
  in(found.infinity_from);
  if (in.Get<bool>()) found.first = Read(module, in, finding.values);
  const bool sound =
      !found.infinity_from.valid() || found.infinity_from.index < module.instructions().size();
  if (finding.name != kName || !in.ok() || !in.empty() || !sound) {
    return InternalError("malformed finding of a search");
  }
  return found;
}

}  // namespace hloscope::replay
