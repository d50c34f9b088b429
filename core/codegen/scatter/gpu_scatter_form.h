// GpuScatterForm: how a scatter is shared out among the threads of a GPU.
#pragma once

#include <llvm/IR/Instructions.h>

#include <vector>

#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/scatter_windows.h"

namespace hloscope::codegen {

enum class ScatterWay : uint8_t {
  // A block has some of the places. It goes through all indices, a tile at a time, a thread each,
  // notes the updates that fall there, in their order, and applies them when enough are noted.
  kTiles,
  // A thread has a unit, an element of an update, and combines it where memory does.
  kAtOnce,
  // Threads put their units into a list for each element of the array; then a thread for each
  // element applies its list in the order of the indices. Lists that are long go by tiles.
  kLists,
  // Sums of f32 that are few: each block adds up some of the updates in memory that its threads
  // share, as whole numbers, whose order makes no difference; then these are added up.
  kSums,
};

struct GpuScatterForm {
  GpuScatterForm(const Kernel& kernel, const ScatterWindows& windows);

  int64_t noted() const { return 2 * threads; }  // updates at most
  int64_t units() const { return count * window; }
  int64_t blocks(const ScatterWindows& windows) const;
  int64_t scratch_bytes() const;
  int64_t passes() const;  // launches that follow one another

  ScatterWay way = ScatterWay::kTiles;
  // What combines updates where memory does, by array; none where that is no such operation, or the
  // order of updates shows in the result.
  std::vector<llvm::AtomicRMWInst::BinOp> atomic;
  int64_t count = 1, window = 1;          // updates; elements of each
  int64_t elements = 1;                   // of an array
  bool is_long = false;                   // windows that teams apply
  int64_t parts = 1;                      // of a window, each with blocks of its own
  int64_t threads = kWarp, team = kWarp;  // of a block, and updates of a tile; of a window
  // Of sums: elements that a block has, of how many such ranges; chunks of the units.
  int64_t range = 1, ranges = 1, chunks = 1;

 private:
  void ChooseWay(const Kernel& kernel, const ScatterWindows& windows);
};

}  // namespace hloscope::codegen
