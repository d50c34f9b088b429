// ScatterWindows: the windows that a scatter combines updates into, and where they begin.
#pragma once

#include <vector>

#include "core/codegen/emit/element_emitter.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::codegen {

// Grains of a scatter on a GPU, at most: about one for each multiprocessor of a large one, since
// every grain goes through all indices.
inline constexpr int64_t kMaxGpuGrains = 128;

class ScatterWindows {
 public:
  explicit ScatterWindows(const Kernel& kernel);

  // The operand of the kernel that array `i` is; -1 where a fusion makes it.
  int InPlace(const Kernel& kernel, size_t i) const;
  // How many arrays are updated, each by updates of its own.
  size_t arity() const { return arity_; }
  hlo::InstructionId array(size_t i) const { return operands_[i]; }
  hlo::InstructionId indices() const { return operands_[arity_]; }
  hlo::InstructionId update(size_t i) const { return operands_[arity_ + 1 + i]; }
  std::span<const int64_t> sizes() const { return sizes_; }           // of the arrays
  std::span<const int64_t> update_sizes() const { return updates_; }  // of the updates
  // Dimensions of the arrays that windows reach along, and those of the updates for them.
  const std::vector<size_t>& dimensions() const { return window_; }
  size_t UpdateDim(size_t i) const { return static_cast<size_t>(dims_.update_window_dims[i]); }
  // Dimensions of the updates that tell windows apart.
  std::vector<size_t> BatchDims() const;
  bool AreElements() const { return ProductOf(extent_) == 1; }

  // A place is where a window can begin along the dimensions in which it is one element long. Each
  // grain has places of its own; there is one grain where windows of different places can meet.
  int64_t grains() const { return grains_; }
  bool may_meet() const { return may_meet_; }
  // The function is called for grains [begin, end).
  void Begin(KernelFunction& function, llvm::Value* begin, llvm::Value* end);
  void BeginAll() { place_count_ = nullptr; }  // the same for all grains

  struct Start {
    std::vector<LaneNumber> numbers;  // by dimension of the arrays
    llvm::Value* fits = nullptr;      // it all lies inside, in a grain called for; null: it does
  };
  // Where windows begin whose updates have that index in the dimensions that tell windows apart.
  Start StartOf(ElementEmitter& emitter, IndexMath& math, Index batch) const;

 private:
  LaneNumber Coordinate(IndexMath& math, llvm::Value* index, int64_t last,
                        llvm::Value*& fits) const;
  llvm::Value* IsInGrains(IndexMath& math, const std::vector<LaneNumber>& start) const;

  const hlo::Module& module_;
  hlo::InstructionId root_;
  std::span<const hlo::InstructionId> operands_;
  size_t arity_;
  std::span<const int64_t> sizes_, updates_;
  hlo::ScatterDims dims_;
  std::vector<size_t> window_;
  std::vector<int64_t> extent_;  // of a window, by dimension of the arrays
  int64_t places_ = 1, per_grain_ = 1, grains_ = 1;
  bool may_meet_ = false;
  llvm::Value *first_place_ = nullptr, *place_count_ = nullptr;  // of the grains called for
};

// A value in all lanes.
llvm::Value* InLanes(IndexMath& math, llvm::Value* x);
// Whether both conditions hold; null stands for one that does.
llvm::Value* Both(IndexMath& math, llvm::Value* a, llvm::Value* b);

}  // namespace hloscope::codegen
