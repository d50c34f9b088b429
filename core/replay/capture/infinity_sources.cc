// Following infinities through tuples, calls, loops and arithmetic.
#include "core/replay/capture/infinity_sources.h"

#include <algorithm>

#include "core/replay/capture/nonfinite_scan.h"

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

InstructionId FirstValid(std::span<const InstructionId> leaves) {
  const auto found = std::ranges::find_if(leaves, &InstructionId::valid);
  return found == leaves.end() ? InstructionId() : *found;
}

}  // namespace

void InfinitySources::Note(const runtime::Site& site, const Value& value,
                           const std::vector<bool>& made) {
  std::vector<const Value*> parts;
  Flatten(value, parts);
  Leaves own(parts.size()), inherited;
  bool any = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i]->is_array()) continue;
    if (!FindNonFinite(parts[i]->literal(), NonFiniteKind::kInfinity)) continue;
    if (!any) inherited = Inherited(site);
    any = true;
    own[i] = site.instruction;
    if (i < made.size() && made[i]) continue;
    if (inherited.size() == own.size() && inherited[i].valid()) {
      own[i] = inherited[i];
    } else if (const InstructionId first = FirstOfOperands(site); first.valid()) {
      own[i] = first;
    }
  }
  std::map<InstructionId, Leaves>& known = devices_[site.device];
  any ? static_cast<void>(known[site.instruction] = std::move(own))
      : static_cast<void>(known.erase(site.instruction));
}

InstructionId InfinitySources::Of(int64_t device, InstructionId id) const {
  return FirstValid(LeavesOf(device, id));
}

const InfinitySources::Leaves& InfinitySources::LeavesOf(int64_t device, InstructionId id) const {
  static const Leaves kNone;
  const auto known = devices_.find(device);
  if (known == devices_.end()) return kNone;
  const auto leaves = known->second.find(id);
  return leaves == known->second.end() ? kNone : leaves->second;
}

InstructionId InfinitySources::FirstOfOperands(const runtime::Site& site) const {
  for (InstructionId operand : module_.operands(site.instruction)) {
    if (const InstructionId first = Of(site.device, operand); first.valid()) return first;
  }
  return {};
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
