// GpuScatterForm: how a scatter is shared out among the threads of a GPU.
#pragma once

#include <llvm/IR/Instructions.h>

#include <vector>

#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/scatter_windows.h"

namespace hloscope::codegen {

struct GpuScatterForm {
  GpuScatterForm(const Kernel& kernel, const ScatterWindows& windows);

  int64_t noted() const { return 2 * threads; }  // updates at most

  // What combines updates where memory does, by array; none where that is no such operation, or the
  // order of updates shows in the result.
  std::vector<llvm::AtomicRMWInst::BinOp> atomic;
  int64_t count = 1, window = 1;          // updates; elements of each
  bool is_long = false;                   // windows that teams apply
  int64_t parts = 1;                      // of a window, each with blocks of its own
  int64_t threads = kWarp, team = kWarp;  // of a block, and updates of a tile; of a window
};

}  // namespace hloscope::codegen
