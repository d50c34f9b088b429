// Following infinities through tuples, calls, loops, data movement and arithmetic.
#include "core/replay/capture/infinity_sources.h"

#include <algorithm>

#include "core/eval/numbers/wide.h"
#include "core/replay/capture/nonfinite_scan.h"
#include "core/replay/capture/operand_elements.h"

namespace hloscope::replay {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Opcode;
using runtime::Value;

namespace {

// Everything in a value that is no tuple, in order.
void Flatten(const Value& value, std::vector<const Value*>& leaves) {
  if (!value.is_tuple()) return leaves.push_back(&value);
  for (const Value& element : value.elements()) Flatten(element, leaves);
}

bool HoldsInfinity(const Value& value) {
  return value.is_array() && FindNonFinite(value.literal(), NonFiniteKind::kInfinity).has_value();
}

// Of a real number.
bool IsNegative(const hlo::Literal& array, int64_t at) {
  const hlo::ElementType type = array.shape().element_type();
  if (hlo::IsComplex(type)) return false;
  double value = 0;
  eval::LoadAs<double>(type, array.bytes().data() + at * hlo::StorageBytes(type), &value, 1);
  return value < 0;
}

// What hands values on as they are, by category; data movement and collectives do so by element.
bool KeepsArrays(Opcode opcode) {
  using enum hlo::Category;
  const hlo::Category category = hlo::Info(opcode).category;
  return opcode == Opcode::kParameter || opcode == Opcode::kConstant || category == kTuple ||
         category == kControl || category == kFusion;
}

}  // namespace

void InfinitySources::Note(const runtime::Site& site, std::span<const Value> operands,
                           const Value& value, bool hands_on) {
  std::vector<const Value*> parts;
  Flatten(value, parts);
  std::map<InstructionId, Leaves>& known = devices_[site.device];
  const auto holds = [](const Value* part) { return HoldsInfinity(*part); };
  if (std::ranges::none_of(parts, holds)) {
    known.erase(site.instruction);
    return;
  }
  const bool keeps = hands_on && KeepsArrays(module_[site.instruction].opcode);
  const Leaves inherited = keeps ? Inherited(site) : Leaves();
  Leaves own(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!holds(parts[i])) continue;
    if (!keeps) {
      own[i] = Computed(site, operands, parts[i]->literal());
    } else if (inherited.size() == own.size() && inherited[i].holds_some) {
      own[i] = inherited[i];
    } else {
      own[i].one = site.instruction;
    }
    own[i].holds_some = true;
  }
  known[site.instruction] = std::move(own);
}

InstructionId InfinitySources::Of(int64_t device, InstructionId id, int64_t element) const {
  return ArrayOf(device, id).At(element);
}

const InfinitySources::Leaves& InfinitySources::LeavesOf(int64_t device, InstructionId id) const {
  static const Leaves kNone;
  const auto known = devices_.find(device);
  if (known == devices_.end()) return kNone;
  const auto leaves = known->second.find(id);
  return leaves == known->second.end() ? kNone : leaves->second;
}

const InfinitySources::Array& InfinitySources::ArrayOf(int64_t device, InstructionId id) const {
  static const Array kNone;
  const Leaves& leaves = LeavesOf(device, id);
  return leaves.empty() ? kNone : leaves.front();
}

InstructionId InfinitySources::OnlyOfOperands(const runtime::Site& site) const {
  InstructionId only;
  for (const InstructionId operand : module_.operands(site.instruction)) {
    for (const Array& array : LeavesOf(site.device, operand)) {
      if (!array.holds_some) continue;
      const bool is_other = only.valid() && only != array.one;
      if (!array.each.empty() || !array.one.valid() || is_other) return {};
      only = array.one;
    }
  }
  return only;
}

InstructionId InfinitySources::OfOperand(const runtime::Site& site, std::span<const Value> operands,
                                         const hlo::Shape& result, size_t slot, int64_t at) const {
  const Array& array = ArrayOf(site.device, module_.operands(site.instruction)[slot]);
  const auto elements = OperandElements(module_, site.instruction, operands, result).Of(slot, at);
  if (!elements) return array.one;
  for (const int64_t element : *elements) {
    if (IsNonFinite(operands[slot].literal(), element, NonFiniteKind::kInfinity)) {
      return array.At(element);
    }
  }
  return {};
}

InfinitySources::Array InfinitySources::Computed(const runtime::Site& site,
                                                 std::span<const Value> operands,
                                                 const hlo::Literal& result) const {
  const auto ids = module_.operands(site.instruction);
  std::vector<size_t> infinite;  // operands
  for (size_t k = 0; k < std::min(ids.size(), operands.size()); ++k) {
    const Leaves& leaves = LeavesOf(site.device, ids[k]);
    if (std::ranges::any_of(leaves, &Array::holds_some)) infinite.push_back(k);
  }
  if (infinite.empty()) return {true, site.instruction, {}};
  const OperandElements origins(module_, site.instruction, operands, result.shape());
  std::vector<InstructionId> each(static_cast<size_t>(result.shape().ElementCount().value_or(0)));
  std::optional<InstructionId> one;
  bool is_one = true;
  for (auto at = FindNonFinite(result, NonFiniteKind::kInfinity); at;
       at = FindNonFinite(result, NonFiniteKind::kInfinity, *at + 1)) {
    InstructionId source = site.instruction;
    bool is_found = false;
    for (const size_t k : infinite) {
      const auto elements = origins.Of(k, *at);
      if (!elements) return {true, OnlyOfOperands(site), {}};
      const auto found = std::ranges::find_if(*elements, [&](int64_t element) {
        return IsNonFinite(operands[k].literal(), element, NonFiniteKind::kInfinity);
      });
      if (found == elements->end()) continue;
      // A maximum is of the operand that has its sign.
      const bool has_sign = IsNegative(operands[k].literal(), *found) == IsNegative(result, *at);
      if (is_found && !has_sign) continue;
      source = ArrayOf(site.device, ids[k]).At(*found);
      is_found = true;
      if (has_sign) break;
    }
    each[static_cast<size_t>(*at)] = source;
    is_one &= !one || *one == source;
    one = source;
  }
  if (is_one) return {true, *one, {}};
  return {true, {}, std::move(each)};
}

InfinitySources::Leaves InfinitySources::Inherited(const runtime::Site& site) const {
  const hlo::Instruction& instruction = module_[site.instruction];
  const auto operands = module_.operands(site.instruction);
  if (instruction.opcode == Opcode::kParameter) return OfParameter(site);
  if (instruction.opcode == Opcode::kTuple) {
    Leaves all;
    for (InstructionId operand : operands) {
      const Leaves& own = LeavesOf(site.device, operand);
      const size_t end = all.size() + module_.shape(operand).LeafCount();
      all.insert(all.end(), own.begin(), own.end());
      all.resize(end);
    }
    return all;
  }
  if (instruction.opcode == Opcode::kGetTupleElement) {
    const auto index = static_cast<size_t>(module_.GetInt(instruction, AttributeKey::kIndex));
    Leaves own = LeavesOf(site.device, operands[0]);
    const auto [begin, end] = module_.shape(operands[0]).ElementLeaves(index);
    own.resize(std::max(own.size(), end));
    return {own.begin() + static_cast<ptrdiff_t>(begin), own.begin() + static_cast<ptrdiff_t>(end)};
  }
  for (hlo::ComputationId callee : module_.CalledComputations(instruction)) {
    const Leaves& result = LeavesOf(site.device, module_[callee].root);
    if (!result.empty()) return result;
  }
  return operands.empty() ? Leaves() : LeavesOf(site.device, operands[0]);
}

InfinitySources::Leaves InfinitySources::OfParameter(const runtime::Site& site) const {
  if (site.frames.empty()) return {};
  const runtime::Frame& frame = site.frames.back();
  const hlo::Instruction& caller = module_[frame.caller];
  const hlo::ComputationId own = module_[site.instruction].computation;
  const auto operands = module_.operands(frame.caller);
  const auto callees = module_.CalledComputations(caller);
  auto number = static_cast<size_t>(
      module_.GetInt(module_[site.instruction], AttributeKey::kParameterNumber));
  if (caller.opcode == Opcode::kWhile && frame.iteration > 0) {
    const auto body = module_.GetComputation(caller, AttributeKey::kBody);
    return LeavesOf(site.device, module_[body].root);
  }
  if (caller.opcode == Opcode::kConditional) {
    number = 1 + static_cast<size_t>(std::ranges::find(callees, own) - callees.begin());
  }
  return number < operands.size() ? LeavesOf(site.device, operands[number]) : Leaves();
}

}  // namespace hloscope::replay
