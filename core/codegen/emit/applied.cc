// Computations of scalars applied to lanes: reducers, comparators, bodies of maps.
#include <cstring>
#include <unordered_map>

#include "core/codegen/emit/elementwise.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using llvm::Value;

llvm::Constant* ElementOf(Builder& b, const hlo::Literal& literal, size_t i) {
  const ElementType type = literal.shape().element_type();
  uint64_t words[2] = {};
  const auto size = static_cast<size_t>(hlo::StorageBytes(type));
  std::memcpy(words, literal.bytes().data() + i * size, size);
  llvm::Type* in_register = RegisterType(b, type);
  if (type == ElementType::kPred) return b.getInt1(words[0] != 0);
  // Elements of less than a byte stand in one, with their sign.
  const unsigned bits = in_register->getScalarSizeInBits();
  llvm::Constant* integer = llvm::ConstantInt::get(
      b.getContext(), llvm::APInt(static_cast<unsigned>(8 * size), words).trunc(bits));
  return llvm::ConstantExpr::getBitCast(integer, in_register);
}

namespace {

using Leaves = std::vector<Value*>;  // the value of an instruction, those of a tuple in order

// What an instruction of a computation of scalars yields; empty where there is no code for it.
Leaves ScalarStep(Builder& b, const Module& module, InstructionId id,
                  std::span<const Leaves> operands) {
  const Instruction& i = module[id];
  Leaves all;
  for (const Leaves& operand : operands) all.insert(all.end(), operand.begin(), operand.end());
  switch (i.opcode) {
    case Opcode::kTuple:
      return all;
    case Opcode::kGetTupleElement:
      return {operands[0][static_cast<size_t>(module.GetInt(i, AttributeKey::kIndex))]};
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
      return operands[0];
    case Opcode::kCall:
      return Applied(b, module, module.GetComputation(i, AttributeKey::kToApply), all);
    case Opcode::kFusion:
      return Applied(b, module, module.GetComputation(i, AttributeKey::kCalls), all);
    case Opcode::kConstant:
      return {ElementOf(b, *module.Get<hlo::Literal>(i, AttributeKey::kConstantValue), 0)};
    default: {
      Value* value = Elementwise(b, module, id, all);
      return value == nullptr ? Leaves{} : Leaves{value};
    }
  }
}

}  // namespace

std::vector<Value*> Applied(Builder& b, const Module& module, hlo::ComputationId id,
                            std::span<Value* const> arguments,
                            std::span<const InstructionId> wanted) {
  const hlo::Computation& computation = module[id];
  std::unordered_map<uint32_t, Leaves> values;
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    const InstructionId each(computation.first_instruction + k);
    if (module[each].opcode == Opcode::kParameter) {
      const auto number =
          static_cast<size_t>(module.GetInt(module[each], AttributeKey::kParameterNumber));
      values[each.index] = {arguments[number]};
      continue;
    }
    std::vector<Leaves> operands;
    for (InstructionId operand : module.operands(each)) operands.push_back(values[operand.index]);
    Leaves value = ScalarStep(b, module, each, operands);
    if (value.empty()) return {};
    values[each.index] = std::move(value);
  }
  std::vector<Value*> results;
  for (const InstructionId each : wanted) {
    const Leaves& value = values[each.index];
    results.insert(results.end(), value.begin(), value.end());
  }
  return results;
}

std::vector<Value*> Applied(Builder& b, const Module& module, hlo::ComputationId id,
                            std::span<Value* const> arguments) {
  return Applied(b, module, id, arguments, std::span(&module[id].root, 1));
}

}  // namespace hloscope::codegen
