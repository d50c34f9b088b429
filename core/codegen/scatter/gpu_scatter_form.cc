#include "core/codegen/scatter/gpu_scatter_form.h"

#include <algorithm>

#include "core/codegen/emit/reducers.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;

namespace {

constexpr int64_t kMaxScatterThreads = 512;  // of a block
constexpr int64_t kUnitThreads = 256;        // likewise, where each has an element
constexpr int64_t kLongWindow = 32;          // elements that are worth a thread each
constexpr int64_t kOfTeam = 4;               // elements of a window that a thread applies, about
constexpr int64_t kOfPart = 1024;            // and a block, where others can have the rest
constexpr int64_t kMaxBlocks = 4096;         // where threads take one element after the other

// Units that are worth the launches of lists and of sums, and fewer where windows overlap: those
// go through one block otherwise.
constexpr int64_t kManyUnits = 1 << 15, kManyOverlapping = 1 << 12;
// Units for each element of the array, and elements for each unit, that lists are best for.
constexpr int64_t kLongLists = 64, kRareUnits = 16;
// Elements of a range of sums, ranges, units of a chunk; blocks that are busy.
constexpr int64_t kSumsOfBlock = 4096, kMaxRanges = 8, kUnitsOfChunk = 2048, kSumBlocks = 264;
constexpr int64_t kUnitsOfSum = 8;  // that sums are worth for each element

std::vector<llvm::AtomicRMWInst::BinOp> AtomicOperations(const Kernel& kernel,
                                                         const ScatterWindows& windows) {
  using Atomic = llvm::AtomicRMWInst;
  using enum hlo::Opcode;
  static constexpr hlo::OpcodeTable<Atomic::BinOp> kOperations(
      {{kAdd, Atomic::Add}, {kAnd, Atomic::And}, {kOr, Atomic::Or}, {kXor, Atomic::Xor}},
      Atomic::BAD_BINOP);
  const hlo::Module& module = kernel.module;
  const auto applied = module.GetComputation(module[kernel.roots[0]], AttributeKey::kToApply);
  std::vector<Atomic::BinOp> operations;
  for (size_t i = 0; i < windows.arity(); ++i) {
    const ElementType type = module.shape(windows.array(i)).element_type();
    if (!hlo::IsInteger(type) || hlo::BitWidth(type) < 32) return {};
    const bool is_signed = hlo::IsSigned(type);
    const hlo::Opcode opcode =
        OnlyOperation(module, applied, i, windows.arity(), type).value_or(kParameter);
    Atomic::BinOp operation = kOperations[opcode];
    if (opcode == kMaximum) operation = is_signed ? Atomic::Max : Atomic::UMax;
    if (opcode == kMinimum) operation = is_signed ? Atomic::Min : Atomic::UMin;
    if (operation == Atomic::BAD_BINOP) return {};
    operations.push_back(operation);
  }
  return operations;
}

bool IsSumOfF32(const Kernel& kernel, const ScatterWindows& windows) {
  const hlo::Module& module = kernel.module;
  if (windows.arity() != 1) return false;
  const ElementType type = module.shape(windows.array(0)).element_type();
  const auto applied = module.GetComputation(module[kernel.roots[0]], AttributeKey::kToApply);
  return type == ElementType::kF32 &&
         OnlyOperation(module, applied, 0, 1, type) == hlo::Opcode::kAdd;
}

}  // namespace

GpuScatterForm::GpuScatterForm(const Kernel& kernel, const ScatterWindows& windows)
    : atomic(AtomicOperations(kernel, windows)), elements(ProductOf(windows.sizes())) {
  for (const size_t d : windows.BatchDims()) count *= windows.update_sizes()[d];
  window = std::max<int64_t>(1, ProductOf(windows.update_sizes()) / std::max<int64_t>(count, 1));
  is_long = windows.may_meet() || window >= kLongWindow;
  ChooseWay(kernel, windows);
  if (way != ScatterWay::kTiles) {
    threads = way == ScatterWay::kSums ? kMaxScatterThreads : kUnitThreads;
    return;
  }
  if (!windows.may_meet() && is_long) {
    parts = std::clamp<int64_t>(window / kOfPart, 1, kMaxGpuGrains / windows.grains());
  }
  threads = std::clamp(PowerOfTwoFrom(std::max(count, (window - 1) / parts + 1)), kWarp,
                       kMaxScatterThreads);
  team = threads;
  if (!windows.may_meet()) {
    team = std::clamp(PowerOfTwoFrom((window - 1) / (parts * kOfTeam) + 1), kWarp, threads);
  }
}

void GpuScatterForm::ChooseWay(const Kernel& kernel, const ScatterWindows& windows) {
  if (!atomic.empty()) {
    way = ScatterWay::kAtOnce;
    return;
  }
  const bool is_worth =
      windows.may_meet() ? units() >= kManyOverlapping : !is_long && units() >= kManyUnits;
  if (!is_worth) return;
  if (IsSumOfF32(kernel, windows) && units() >= kManyUnits &&
      elements <= kMaxRanges * kSumsOfBlock && units() / elements >= kUnitsOfSum) {
    way = ScatterWay::kSums;
    ranges = (elements - 1) / kSumsOfBlock + 1;
    range = (elements - 1) / ranges + 1;
    chunks = std::clamp<int64_t>(units() / kUnitsOfChunk, 1, kSumBlocks / ranges);
    return;
  }
  if (units() < INT32_MAX && units() / elements <= kLongLists && elements / units() <= kRareUnits) {
    way = ScatterWay::kLists;
  }
}

int64_t GpuScatterForm::blocks(const ScatterWindows& windows) const {
  switch (way) {
    case ScatterWay::kTiles:
      return windows.grains() * parts;
    case ScatterWay::kAtOnce:
      return (units() - 1) / threads + 1;
    case ScatterWay::kLists:
      return std::clamp<int64_t>((std::max(units(), elements) - 1) / threads + 1, kMaxGpuGrains,
                                 kMaxBlocks);
    case ScatterWay::kSums:
      return chunks * ranges;
  }
  return 1;
}

int64_t GpuScatterForm::scratch_bytes() const {
  constexpr int64_t kWord = 4, kSum = 8;
  if (way == ScatterWay::kLists) return kWord * (1 + elements + units());
  // Keys end where sums are aligned.
  if (way == ScatterWay::kSums) return (kWord + kSum) * chunks * elements + kWord;
  return 0;
}

int64_t GpuScatterForm::passes() const {
  return way == ScatterWay::kLists ? 4 : way == ScatterWay::kSums ? 2 : 1;
}

}  // namespace hloscope::codegen
