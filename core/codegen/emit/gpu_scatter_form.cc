#include "core/codegen/emit/gpu_scatter_form.h"

#include <algorithm>

#include "core/codegen/emit/reducers.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;

namespace {

constexpr int64_t kMaxScatterThreads = 512;  // of a block
constexpr int64_t kAtomicThreads = 256;      // likewise, where each has an element
constexpr int64_t kLongWindow = 32;          // elements that are worth a thread each
constexpr int64_t kOfTeam = 4;               // elements of a window that a thread applies, about
constexpr int64_t kOfPart = 1024;            // and a block, where others can have the rest

std::vector<llvm::AtomicRMWInst::BinOp> AtomicOperations(const Kernel& kernel,
                                                         const ScatterWindows& windows) {
  using Atomic = llvm::AtomicRMWInst;
  const hlo::Module& module = kernel.module;
  const auto applied = module.GetComputation(module[kernel.roots[0]], AttributeKey::kToApply);
  std::vector<Atomic::BinOp> operations;
  for (size_t i = 0; i < windows.arity(); ++i) {
    const ElementType type = module.shape(windows.array(i)).element_type();
    if (!hlo::IsInteger(type) || hlo::BitWidth(type) < 32) return {};
    const bool is_signed = hlo::IsSigned(type);
    switch (OnlyOperation(module, applied, i, windows.arity(), type)
                .value_or(hlo::Opcode::kParameter)) {
      case hlo::Opcode::kAdd:
        operations.push_back(Atomic::Add);
        break;
      case hlo::Opcode::kAnd:
        operations.push_back(Atomic::And);
        break;
      case hlo::Opcode::kOr:
        operations.push_back(Atomic::Or);
        break;
      case hlo::Opcode::kXor:
        operations.push_back(Atomic::Xor);
        break;
      case hlo::Opcode::kMaximum:
        operations.push_back(is_signed ? Atomic::Max : Atomic::UMax);
        break;
      case hlo::Opcode::kMinimum:
        operations.push_back(is_signed ? Atomic::Min : Atomic::UMin);
        break;
      default:
        return {};
    }
  }
  return operations;
}

}  // namespace

GpuScatterForm::GpuScatterForm(const Kernel& kernel, const ScatterWindows& windows)
    : atomic(AtomicOperations(kernel, windows)) {
  for (const size_t d : windows.BatchDims()) count *= windows.update_sizes()[d];
  window = std::max<int64_t>(1, ProductOf(windows.update_sizes()) / std::max<int64_t>(count, 1));
  is_long = windows.may_meet() || window >= kLongWindow;
  if (!windows.may_meet() && is_long) {
    parts = std::clamp<int64_t>(window / kOfPart, 1, kMaxGpuGrains / windows.grains());
  }
  threads = atomic.empty() ? std::clamp(PowerOfTwoFrom(std::max(count, (window - 1) / parts + 1)),
                                        kWarp, kMaxScatterThreads)
                           : kAtomicThreads;
  team = threads;
  if (!windows.may_meet()) {
    team = std::clamp(PowerOfTwoFrom((window - 1) / (parts * kOfTeam) + 1), kWarp, threads);
  }
}

}  // namespace hloscope::codegen
