// InPlaceOperands, WrittenBytes, ReadBytes: dynamic-update-slice and scatter write parts of what
// they update, slices and gathers read parts.
#include <algorithm>
#include <numeric>

#include "core/compile/kernel_rules.h"
#include "core/compile/plan/kernel_bytes.h"
#include "core/compile/plan/plan.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

// What the kernel yields where it is one value: the root of a fusion, or the instruction.
InstructionId RootOf(const Module& module, InstructionId kernel) {
  if (module[kernel].opcode != Opcode::kFusion) return kernel;
  return module[module.GetComputation(module[kernel], AttributeKey::kCalls)].root;
}

int64_t BytesOf(const Module& module, InstructionId id) {
  return module.shape(id).ByteSize().value_or(0);
}

constexpr hlo::OpcodeSet kTakesAPart = {Opcode::kSlice, Opcode::kDynamicSlice, Opcode::kGather};

// What an instruction reads of that operand.
int64_t OperandBytesRead(const Module& module, InstructionId user, size_t slot) {
  if (slot < UpdatedOperands(module, user)) return 0;
  const int64_t whole = BytesOf(module, module.operands(user)[slot]);
  const bool takes_a_part = slot == 0 && kTakesAPart.Has(module[user].opcode);
  return takes_a_part ? std::min(whole, BytesOf(module, user)) : whole;
}

}  // namespace

std::vector<int> InPlaceOperands(const Module& module, InstructionId kernel) {
  std::vector<int> out(module.shape(kernel).results().size(), -1);
  const InstructionId root = RootOf(module, kernel);
  for (size_t i = 0; i < UpdatedOperands(module, root); ++i) {
    const InstructionId updated = module.operands(root)[i];
    out[i] = root == kernel
                 ? static_cast<int>(i)
                 : static_cast<int>(module.GetInt(module[updated], AttributeKey::kParameterNumber));
  }
  return out;
}

int64_t WrittenBytes(const Module& module, InstructionId kernel) {
  const InstructionId root = RootOf(module, kernel);
  const size_t updated = UpdatedOperands(module, root);
  if (updated == 0) return BytesOf(module, kernel);
  // A scatter's indices stand before its updates.
  const auto operands = module.operands(root);
  const size_t first = module[root].opcode == Opcode::kScatter ? updated + 1 : 1;
  int64_t bytes = 0;
  for (const InstructionId update : operands.subspan(first, updated)) {
    bytes += BytesOf(module, update);
  }
  return bytes;
}

int64_t ReadBytes(const Module& module, InstructionId kernel) {
  int64_t bytes = 0;
  if (module[kernel].opcode != Opcode::kFusion) {
    for (size_t k = 0; k < module.operands(kernel).size(); ++k) {
      bytes += OperandBytesRead(module, kernel, k);
    }
    return bytes;
  }
  const ComputationId called = module.GetComputation(module[kernel], AttributeKey::kCalls);
  std::vector<int64_t> read(module.operands(kernel).size(), 0);  // by parameter
  for (uint32_t i = 0; i < module[called].instruction_count; ++i) {
    const InstructionId user(module[called].first_instruction + i);
    const auto operands = module.operands(user);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (module[operands[k]].opcode != Opcode::kParameter) continue;
      const auto number =
          static_cast<size_t>(module.GetInt(module[operands[k]], AttributeKey::kParameterNumber));
      read[number] =
          std::min(read[number] + OperandBytesRead(module, user, k), BytesOf(module, operands[k]));
    }
  }
  return std::accumulate(read.begin(), read.end(), int64_t{0});
}

}  // namespace hloscope::compile
