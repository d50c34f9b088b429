// InPlaceOperands, WrittenBytes, ReadBytes: dynamic-update-slice and scatter write parts of what
// they update, slices and gathers read parts. OverwritableOperands: elementwise kernels read what
// they write over.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

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

namespace {

// Whether an element of the instruction is computed from the element of that operand that lies at
// the same place in memory, where both are dense and row-major, and from no other.
bool ReadsSamePlace(const Module& module, InstructionId id, InstructionId operand) {
  const Opcode opcode = module[id].opcode;
  if (opcode == Opcode::kReshape) return true;
  const bool is_elementwise =
      opcode == Opcode::kCopy || Info(opcode).category == hlo::Category::kElementwise;
  return is_elementwise &&
         std::ranges::equal(module.shape(operand).dimensions(), module.shape(id).dimensions());
}

// How a kernel's results, which are one loop's, read a value of it.
struct PlacesRead {
  bool same = false, others = false;
};

}  // namespace

std::vector<bool> OverwritableOperands(const Module& module, InstructionId kernel) {
  const auto operands = module.operands(kernel);
  std::vector<bool> out(operands.size(), false);
  if (module[kernel].opcode != Opcode::kFusion) {
    if (!IsElemental(module, kernel)) return out;
    for (size_t k = 0; k < out.size(); ++k) {
      out[k] = ReadsSamePlace(module, kernel, operands[k]);
    }
    return out;
  }
  const ComputationId called = module.GetComputation(module[kernel], AttributeKey::kCalls);
  const hlo::Computation& computation = module[called];
  const bool is_tuple = module[computation.root].opcode == Opcode::kTuple;
  std::vector<PlacesRead> read(computation.instruction_count);
  const auto places_of = [&](InstructionId id) -> PlacesRead& {
    return read[id.index - computation.first_instruction];
  };
  if (!is_tuple) places_of(computation.root).same = true;
  for (uint32_t k = computation.instruction_count; k-- > 0;) {
    const InstructionId id(computation.first_instruction + k);
    const bool are_roots = is_tuple && id == computation.root;
    if (!are_roots && !IsElemental(module, id)) return out;
    const PlacesRead own = are_roots ? PlacesRead{.same = true} : read[k];
    for (const InstructionId operand : module.operands(id)) {
      const bool keeps_place = are_roots || ReadsSamePlace(module, id, operand);
      PlacesRead& of = places_of(operand);
      of.same |= own.same && keeps_place;
      of.others |= own.others || (own.same && !keeps_place);
    }
  }
  for (const InstructionId parameter : module.Parameters(called)) {
    const auto number =
        static_cast<size_t>(module.GetInt(module[parameter], AttributeKey::kParameterNumber));
    out[number] = places_of(parameter).same && !places_of(parameter).others;
  }
  return out;
}

OverwrittenOperands OverwrittenBy(const Module& module, const PlannedStep& step) {
  OverwrittenOperands out;
  if (step.kind != StepKind::kKernel) return out;
  const std::vector<int> in_place = InPlaceOperands(module, step.id);
  for (size_t k = 0; k < step.operands.size(); ++k) {
    const bool is_result = std::ranges::find(step.results, step.operands[k]) != step.results.end();
    const bool is_updated = std::ranges::find(in_place, static_cast<int>(k)) != in_place.end();
    if (is_result && !is_updated) out.push_back(k);
  }
  return out;
}

std::unordered_map<uint32_t, OverwrittenOperands> OverwrittenBy(const Plan& plan) {
  std::unordered_map<uint32_t, OverwrittenOperands> out;
  for (const Sequence& sequence : plan.sequences) {
    for (const PlannedStep& step : sequence) {
      const OverwrittenOperands of_step = OverwrittenBy(*plan.module, step);
      if (of_step.empty()) continue;
      OverwrittenOperands& all = out[step.id.index];
      OverwrittenOperands both;
      std::ranges::set_union(all, of_step, std::back_inserter(both));
      all = std::move(both);
    }
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
