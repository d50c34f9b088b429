#include "core/hlo/module.h"

#include <algorithm>
#include <bit>

namespace hloscope::hlo {

const Attribute* Module::Find(const Instruction& i, AttributeKey key) const {
  for (const Attribute& a : attributes(i)) {
    if (a.key == key) return &a;
    if (a.key > key) break;
  }
  return nullptr;
}

double Module::FloatOf(const Attribute& a) const {
  return static_cast<double>(std::bit_cast<float>(a.value));
}

std::vector<InstructionId> Module::Parameters(ComputationId id) const {
  std::vector<InstructionId> parameters;
  const Computation& c = (*this)[id];
  for (uint32_t k = 0; k < c.instruction_count; ++k) {
    InstructionId instruction(c.first_instruction + k);
    const Instruction& i = (*this)[instruction];
    if (i.opcode != Opcode::kParameter) continue;
    int64_t number = GetInt(i, AttributeKey::kParameterNumber);
    // A number can not exceed the count of instructions in a sound module.
    if (number < 0 || number >= static_cast<int64_t>(c.instruction_count)) continue;
    if (parameters.size() <= static_cast<size_t>(number))
      parameters.resize(static_cast<size_t>(number) + 1);
    parameters[static_cast<size_t>(number)] = instruction;
  }
  return parameters;
}

// Attributes are sorted by key, which is XLA's order except where it puts select before scatter and
// the true branch before the false one.
std::vector<ComputationId> Module::CalledComputations(const Instruction& i) const {
  std::vector<ComputationId> called;
  bool swapped = false;
  for (const Attribute& a : attributes(i)) {
    const ValueKind kind = Info(a.key).kind;
    if (kind == ValueKind::kComputation) {
      called.emplace_back(a.value);
      swapped |=
          a.key == AttributeKey::kSelectComputation || a.key == AttributeKey::kTrueComputation;
    } else if (kind == ValueKind::kComputations) {
      for (uint32_t id : IdsOf(a)) called.emplace_back(id);
    }
  }
  if (swapped) std::ranges::reverse(called);
  return called;
}

size_t Module::MemoryBytes() const {
  auto bytes = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  size_t total = bytes(computations_) + bytes(instructions_) + bytes(operands_) +
                 bytes(attributes_) + bytes(ints_) + bytes(ids_) + bytes(shapes_) +
                 bytes(source_offsets_) + bytes(proto_instruction_ids_) +
                 bytes(proto_computation_ids_);
  std::apply([&](const auto&... pool) { ((total += bytes(pool)), ...); }, pools_);
  return total + strings_.size() * 24;
}

UserIndex::UserIndex(const Module& module) : first_(module.instructions().size() + 1, 0) {
  for (const Instruction& i : module.instructions()) {
    for (InstructionId operand : module.operands(i)) ++first_[operand.index + 1];
  }
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  users_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    for (InstructionId operand : module.operands(InstructionId(i))) {
      users_[next[operand.index]++] = InstructionId(i);
    }
  }
}

}  // namespace hloscope::hlo
