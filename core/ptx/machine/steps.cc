// The vector units of this processor, and which one executes instructions.
#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {

#ifdef HLOSCOPE_HAS_UNITS
namespace avx2_unit {
Step LaneStep(const Instruction& instruction);
const CellSteps& UnitCellSteps();
}  // namespace avx2_unit
namespace avx512_unit {
Step LaneStep(const Instruction& instruction);
const CellSteps& UnitCellSteps();
}  // namespace avx512_unit
#endif

namespace {

constexpr VectorUnit kUnits[] = {
    {"any", any_unit::LaneStep, any_unit::UnitCellSteps},
#ifdef HLOSCOPE_HAS_UNITS
    {"avx2", avx2_unit::LaneStep, avx2_unit::UnitCellSteps},
    {"avx512", avx512_unit::LaneStep, avx512_unit::UnitCellSteps},
#endif
};

size_t CountUnits() {
#ifdef HLOSCOPE_HAS_UNITS
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("f16c") || !__builtin_cpu_supports("bmi2") ||
      !__builtin_cpu_supports("lzcnt"))
    return 1;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512cd"))
    return 2;
#endif
  return std::size(kUnits);
}

}  // namespace

std::span<const VectorUnit> VectorUnits() {
  static const size_t count = CountUnits();
  return std::span(kUnits).first(count);
}

Step StepOf(const Instruction& instruction) {
  for (const auto of :
       {WideStep, VectorUnits().back().step_of, RareStep, NarrowStep, ByteMatrixStep, WmmaStep,
        BarrierStep, BulkStep, TensorMapStep, WarpGroupStep, TensorMemoryStep, TensorCopyStep,
        TensorMultiplyStep, NarrowMmaStep}) {
    if (const Step step = of(instruction); step != nullptr) return step;
  }
  return nullptr;
}

bool IsControl(Operation operation) {
  switch (operation) {
    case Operation::kNop:
    case Operation::kBar:
    case Operation::kBarArrive:
    case Operation::kBarReduce:
    case Operation::kClusterArrive:
    case Operation::kClusterWait:
    case Operation::kWarpBar:
    case Operation::kBra:
    case Operation::kRet:
    case Operation::kTrap:
    case Operation::kBranchTargets:
    case Operation::kBranchIndexed:
    case Operation::kBarrierWait:
    case Operation::kBarrierWaitParity:
      return true;
    default:
      return false;
  }
}

void Block::Fail(std::string what, uint32_t thread, std::optional<uint64_t> address) {
  if (fault.has_value()) return;
  fault = RawFault{std::move(what), pc, thread, address.value_or(0), address.has_value()};
}

}  // namespace hloscope::ptx
