// GpuBlock: what the threads of a GPU's block do together: barriers, memory that they share, values
// of other lanes.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/codegen/emit/kernel_function.h"

namespace hloscope::codegen {

inline constexpr int64_t kWarp = 32;
// What a block may have without asking, on every GPU (CUDA C++ Programming Guide, compute
// capabilities).
inline constexpr int64_t kMaxSharedBytes = 48 << 10;
// Elements that a thread of a reduction takes, where there could be more threads.
inline constexpr int64_t kEnoughOfThread = 8;

inline int64_t PowerOfTwoFrom(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)));
}

class GpuBlock {
 public:
  explicit GpuBlock(KernelFunction& function) : function_(function), b_(function.builder()) {}

  // All threads of the block come here; what they wrote before is seen by all behind it.
  void Barrier();
  // Room for `count` numbers in registers of a type that the block's threads share; the places of
  // it.
  llvm::Value* Shared(llvm::Type* type, int64_t count);
  void Save(llvm::Value* value, llvm::Value* room, llvm::Value* at);
  llvm::Value* Load(llvm::Type* type, llvm::Value* room, llvm::Value* at);
  // The value of lane number `lane` ^ `distance` of a warp, all of whose lanes come here.
  llvm::Value* Across(llvm::Value* value, int64_t distance);
  // That of the lane `distance` lower, the own one where there is none; that of lane number `lane`.
  llvm::Value* FromLower(llvm::Value* value, int64_t distance);
  llvm::Value* FromLane(llvm::Value* value, llvm::Value* lane);
  // A bit for each lane of the warp, all of whose lanes come here, where it holds; i32.
  llvm::Value* Ballot(llvm::Value* condition);
  // Combines the values that teams of `lanes` neighbouring threads have, a power of two; `team`:
  // which of `teams` a thread is of. Halves with halves: the operation has to give the same from
  // both sides, and each of a team has the result. Or in the order of the lanes, neighbours first:
  // the first of a team has it.
  using Values = std::vector<llvm::Value*>;
  using Combine = std::function<Values(const Values& left, const Values& right)>;
  Values Combined(Values values, int64_t lanes, llvm::Value* team, int64_t teams,
                  const Combine& combine, bool in_order = false);
  // Does it where the condition holds.
  void When(llvm::Value* condition, const std::function<void()>& body);

 private:
  // A value's 32-bit words, each given to `one`, put together again.
  llvm::Value* ByWords(llvm::Value* value, const std::function<llvm::Value*(llvm::Value*)>& one);

  KernelFunction& function_;
  Builder& b_;
};

}  // namespace hloscope::codegen
