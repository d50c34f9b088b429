// Advice on values that hold memory at the peak: copies of arguments in another type or layout, and
// what could be computed again.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>

#include "core/analysis/memory/memory_report.h"
#include "core/base/counted.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/permutation.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::analysis {
namespace {

using dump::BufferTable;
using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

constexpr size_t kMaxAdvice = 5;    // the values that save most
constexpr int kMaxTried = 16;       // the largest values, for each of which the heap is laid out
constexpr int64_t kMinShare = 100;  // one in so many bytes of the peak is worth a sentence

class Adviser {
 public:
  Adviser(const Module& module, const BufferTable& table, const HeapSimulation& heap,
          MemoryReport& report)
      : module_(module),
        table_(table),
        heap_(heap),
        report_(report),
        now_(report.simulated_bytes) {}

  void Advise() {
    if (now_ < 0) {
      if (table_.live_peak_bytes >= 0)
        report_.notes.push_back(fmt::format(
            "no advice on values: more than {} temporaries, or one whose life is not known",
            HeapSimulation::kMaxBuffers));
      return;
    }
    const hlo::Computation& entry = module_[module_.entry_id()];
    for (uint32_t k = 0; k < entry.instruction_count; ++k) {
      const InstructionId id(entry.first_instruction + k);
      by_name_.emplace(module_.name(id), id);
    }
    for (size_t t = 0; t < table_.program.size(); ++t)
      time_.emplace(table_.program[t], static_cast<int32_t>(t));
    std::vector<MemoryAdvice> found;
    int tried = 0;
    for (const int32_t v : table_.live_peak_values) {
      const dump::BufferValue& value = table_.values[static_cast<size_t>(v)];
      const auto at = by_name_.find(value.instruction);
      const bool is_temporary = value.allocation >= 0 &&
                                KindOf(table_.allocations[static_cast<size_t>(value.allocation)]) ==
                                    dump::AllocationKind::kTemporary;
      if (!is_temporary || at == by_name_.end() || !value.shape_index.empty()) continue;
      if (value.size < report_.peak_bytes / kMinShare) continue;
      if (++tried > kMaxTried) break;
      if (auto advice = OfValue(v, at->second); advice && advice->saves_bytes > 0)
        found.push_back(*std::move(advice));
    }
    std::ranges::stable_sort(found, std::greater(), &MemoryAdvice::saves_bytes);
    if (found.size() > kMaxAdvice) found.resize(kMaxAdvice);
    std::ranges::move(found, std::back_inserter(report_.advice));
  }

 private:
  std::optional<MemoryAdvice> OfValue(int32_t v, InstructionId id) const {
    if (auto advice = OfCopy(v, id)) return advice;
    return OfCheapValue(v, id);
  }

  // What an instruction only converts, copies or transposes, and the dimension of it that each of
  // its own is.
  struct Origin {
    InstructionId from;  // invalid: it computes something
    std::vector<int64_t> dimensions;
  };
  Origin OriginOf(InstructionId id) const {
    Origin origin;
    if (!module_.shape(id).IsArray()) return origin;
    for (size_t k = 0; k < module_.shape(id).rank(); ++k)
      origin.dimensions.push_back(static_cast<int64_t>(k));
    InstructionId at = id;
    if (module_[id].opcode == Opcode::kFusion && module_[id].operand_count == 1) {
      const hlo::ComputationId body = module_.GetComputation(module_[id], AttributeKey::kCalls);
      if (!body.valid()) return origin;
      at = Follow(module_[body].root, origin.dimensions);
      if (module_[at].opcode != Opcode::kParameter || at == module_[body].root) return origin;
      at = module_.operands(id)[0];
    }
    at = Follow(at, origin.dimensions);
    if (at != id) origin.from = at;
    return origin;
  }

  // Through conversions, copies and transposes to what they are made of.
  InstructionId Follow(InstructionId at, std::vector<int64_t>& dimensions) const {
    while (module_[at].operand_count == 1) {
      const Opcode opcode = module_[at].opcode;
      const Shape& operand = module_.shape(module_.operands(at)[0]);
      if (opcode == Opcode::kTranspose) {
        const auto order = module_.GetInts(module_[at], AttributeKey::kDimensions);
        for (int64_t& dimension : dimensions) {
          if (static_cast<size_t>(dimension) >= order.size()) return at;
          dimension = order[static_cast<size_t>(dimension)];
        }
      } else if (opcode == Opcode::kBitcast) {
        // Of another order or shape its dimensions are not those of the operand.
        if (!operand.IsArray() || operand.layout() != module_.shape(at).layout() ||
            !std::ranges::equal(operand.dimensions(), module_.shape(at).dimensions()))
          return at;
      } else if (opcode != Opcode::kConvert && opcode != Opcode::kCopy) {
        return at;
      }
      at = module_.operands(at)[0];
    }
    return at;
  }

  std::optional<MemoryAdvice> OfCopy(int32_t v, InstructionId id) const {
    const Origin origin = OriginOf(id);
    const InstructionId from = origin.from;
    if (!from.valid() || module_[from].opcode != Opcode::kParameter) return std::nullopt;
    const Shape &to = module_.shape(id), &of = module_.shape(from);
    if (!of.IsArray() || !of.has_layout() || !to.has_layout()) return std::nullopt;
    // Its dimensions as they lie in memory, from major to minor, and those that the copy has there.
    const auto& minor_to_major = of.layout().minor_to_major;
    const std::vector<int64_t> has(minor_to_major.rbegin(), minor_to_major.rend());
    std::vector<int64_t> order;
    for (const int64_t k : to.layout().minor_to_major | std::views::reverse) {
      if (static_cast<size_t>(k) >= origin.dimensions.size()) return std::nullopt;
      order.push_back(origin.dimensions[static_cast<size_t>(k)]);
    }
    const bool is_cast = to.element_type() != of.element_type();
    const bool is_layout = !is_cast && order != has;
    if (!is_cast && !is_layout) return std::nullopt;  // a donation makes it needless
    MemoryAdvice advice = Make(is_cast ? "cast" : "layout", id);
    const int64_t number = module_.GetInt(module_[from], AttributeKey::kParameterNumber);
    advice.argument = {number, to.element_type(), order};
    const std::string_view name = hlo::OpNameOf(module_, from);
    const std::string argument =
        fmt::format("argument {}{}", number, name.empty() ? "" : fmt::format(" ({})", name));
    const std::string transposed =
        fmt::format("with its dimensions in the order {}", fmt::join(order, ","));
    advice.what =
        is_cast ? fmt::format(
                      "pass {} as {} instead of {}{}, or compute in {}: a copy in the "
                      "other type lives at the peak",
                      argument, hlo::ToString(to.element_type()), hlo::ToString(of.element_type()),
                      order == has ? "" : " and " + transposed, hlo::ToString(of.element_type()))
                : fmt::format(
                      "pass {} transposed, {}: a copy in that order lives at the peak (in "
                      "JAX: jax.numpy.transpose before the call)",
                      argument, transposed);
    const int64_t copied =
        hlo::Shape::Array(to.element_type(), {of.dimensions().begin(), of.dimensions().end()})
            .ByteSize()
            .value_or(0);
    Predict(advice, {{v, {}}}, copied - of.ByteSize().value_or(0));
    return advice;
  }

  // A value that is made of less than a quarter of its bytes, which live at the peak anyway, and is
  // neither written nor read there.
  std::optional<MemoryAdvice> OfCheapValue(int32_t v, InstructionId id) const {
    const dump::BufferValue& value = table_.values[static_cast<size_t>(v)];
    const Opcode opcode = module_[id].opcode;
    const bool is_cheap = opcode == Opcode::kFusion || opcode == Opcode::kBroadcast ||
                          opcode == Opcode::kIota || opcode == Opcode::kConvert ||
                          hlo::HasFlag(opcode, hlo::kFlagElementwise);
    if (!is_cheap || !IsCheapFusion(id)) return std::nullopt;
    int64_t read = 0;
    for (const InstructionId operand : module_.operands(id)) {
      const Opcode of = module_[operand].opcode;
      if (of != Opcode::kParameter && of != Opcode::kConstant) return std::nullopt;
      read += module_.shape(operand).ByteSize().value_or(0);
    }
    if (read > value.size / 4) return std::nullopt;
    int32_t before = value.live_start, after = INT32_MAX;
    for (const InstructionId user : hlo::UsersOf(module_).users(id)) {
      const auto at = time_.find(module_.name(user));
      if (at == time_.end() || module_[user].opcode == Opcode::kBitcast ||
          module_[user].opcode == Opcode::kTuple)
        return std::nullopt;
      if (at->second <= table_.live_peak_point) before = std::max(before, at->second);
      if (at->second > table_.live_peak_point) after = std::min(after, at->second);
    }
    if (before >= table_.live_peak_point || after > value.live_end) return std::nullopt;
    MemoryAdvice advice = Make("rematerialization", id);
    advice.what = fmt::format(
        "compute {} again where it is read after {} (in JAX: jax.checkpoint around what uses it): "
        "it is made of {} and is not used at the peak",
        module_.name(id), report_.peak_instruction, Counted(read, "byte"));
    advice.not_verified = "XLA merges what is equal, so that no compilation computes it twice";
    Predict(advice, {{v, {{value.live_start, before}, {after - 1, value.live_end}}}}, 0);
    return advice;
  }

  // Without products, reductions and loops over windows in it.
  bool IsCheapFusion(InstructionId id) const {
    if (module_[id].opcode != Opcode::kFusion) return true;
    const hlo::ComputationId body = module_.GetComputation(module_[id], AttributeKey::kCalls);
    if (!body.valid()) return false;
    for (uint32_t k = 0; k < module_[body].instruction_count; ++k) {
      const Opcode opcode = module_[InstructionId(module_[body].first_instruction + k)].opcode;
      const bool is_cheap = hlo::HasFlag(opcode, hlo::kFlagElementwise) ||
                            opcode == Opcode::kParameter || opcode == Opcode::kConstant ||
                            opcode == Opcode::kBroadcast || opcode == Opcode::kIota ||
                            opcode == Opcode::kBitcast || opcode == Opcode::kReshape ||
                            opcode == Opcode::kTranspose || opcode == Opcode::kSlice;
      if (!is_cheap) return false;
    }
    return true;
  }

  MemoryAdvice Make(std::string kind, InstructionId id) const {
    MemoryAdvice advice;
    advice.kind = std::move(kind);
    advice.instruction = module_.name(id);
    advice.source = hlo::ToString(hlo::SourceLineOf(module_, id));
    return advice;
  }

  void Predict(MemoryAdvice& advice, const std::vector<HeapSimulation::Change>& changes,
               int64_t more_parameters) const {
    advice.saves_bytes = now_ - heap_.Bytes(changes).value_or(now_) - more_parameters;
    advice.new_peak_bytes = report_.peak_bytes - advice.saves_bytes;
  }

  const Module& module_;
  const BufferTable& table_;
  const HeapSimulation& heap_;
  MemoryReport& report_;
  int64_t now_;  // temporaries by the simulation; -1: unknown
  std::map<std::string_view, InstructionId, std::less<>> by_name_;
  std::map<std::string_view, int32_t, std::less<>> time_;
};

// An argument of another type or order.
Status ChangeArgument(hlo::Rewriter& rewriter, const Module& module, const ArgumentChange& change) {
  const auto parameters = module.Parameters(module.entry_id());
  const auto number = static_cast<size_t>(change.parameter);
  const bool is_there = number < parameters.size() && parameters[number].valid() &&
                        module.shape(parameters[number]).IsArray() &&
                        hlo::IsPermutation(change.order, module.shape(parameters[number]).rank());
  if (!is_there)
    return InputError("the module before optimizations has no such argument",
                      "its arguments are those of the compiled module");
  const InstructionId old = parameters[number];
  const Shape before = module.shape(old);
  std::vector<int64_t> sizes, back(change.order.size());
  for (const int64_t dimension : change.order) {
    back[static_cast<size_t>(dimension)] = static_cast<int64_t>(sizes.size());
    sizes.push_back(before.dimension(static_cast<size_t>(dimension)));
  }
  const Shape given = Shape::Array(change.type, std::move(sizes)).WithDefaultLayouts();
  const std::vector<hlo::Attribute> attributes(module.attributes(module[old]).begin(),
                                               module.attributes(module[old]).end());
  const InstructionId made =
      rewriter.Add(module.entry_id(), module.name(old), Opcode::kParameter, given, {}, attributes);
  InstructionId value = made;
  if (!std::ranges::is_sorted(back)) {
    Shape as_before = before;
    as_before.set_element_type(change.type);
    value = rewriter.Add(module.entry_id(), std::string(module.name(old)) + ".in_order",
                         Opcode::kTranspose, as_before, std::vector{value},
                         std::vector{rewriter.builder().MakeInts(AttributeKey::kDimensions, back)});
  }
  if (before.element_type() != change.type) {
    for (const InstructionId user : hlo::UsersOf(module).users(old)) {
      if (module[user].opcode == Opcode::kConvert &&
          module.shape(user).element_type() == change.type)
        rewriter.ReplaceAllUses(user, value);
    }
    value = rewriter.Add(module.entry_id(), std::string(module.name(old)) + ".as_given",
                         Opcode::kConvert, before, std::vector{value});
  }
  rewriter.ReplaceAllUses(old, value);
  rewriter.Remove(old);
  if (auto& layout = rewriter.builder().header().entry_layout;
      layout && number < layout->parameters.size())
    layout->parameters[number] = rewriter.builder().InternShape(given);
  rewriter.RemoveDeadCode();
  return {};
}

}  // namespace

void AdviseOnValues(const Module& module, const BufferTable& table, const HeapSimulation& heap,
                    MemoryReport& report) {
  Adviser(module, table, heap, report).Advise();
}

Result<std::shared_ptr<const Module>> WithAdvice(const std::shared_ptr<const Module>& module,
                                                 const MemoryAdvice& advice) {
  hlo::Rewriter rewriter(module);
  for (const Donation& donation : advice.donations) {
    rewriter.builder().header().input_output_alias.push_back(
        {donation.output_index, donation.parameter, donation.parameter_index, false});
  }
  if (advice.argument) HLOSCOPE_TRY(ChangeArgument(rewriter, *module, *advice.argument));
  HLOSCOPE_ASSIGN_OR_RETURN(auto made, rewriter.Finish());
  return made.module;
}

}  // namespace hloscope::analysis
