// KernelFacts: what checks have to know of a kernel before it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ptx/checks/block_paths.h"
#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// What an instruction says of asynchronous copies (cp.async).
enum class CopyGroup : uint8_t { kNone, kCommit, kWait, kWaitAll };

struct KernelFacts {
  // Bytes of the least access, at most 16: accesses lie at multiples of their size, so parts of so
  // many bytes are accessed whole or not at all.
  uint32_t global_grain = 16, shared_grain = 16;
  // Of each parameter, whether the kernel may write through it. A pointer is followed through
  // registers; one that comes out of memory may be any.
  std::vector<bool> writes;
  // It has loads that watch for what other blocks write: blocks order one another.
  bool orders_blocks = false;
  // It has atomics or reductions on memory that all blocks see: what one leaves there comes from
  // several.
  bool updates_global = false;
  bool has_barriers = false;  // mbarriers
  bool has_tensor_memory = false;
  bool has_swaps = false;  // compare-and-swap, as of words around narrower elements
  BlockPaths paths;
  std::vector<CopyGroup> copy_groups;  // by instruction; empty where the kernel has none
};

KernelFacts FactsOf(const Kernel& kernel);

inline bool IsAtomic(Operation operation) {
  return operation == Operation::kAtom || operation == Operation::kAtomCas ||
         operation == Operation::kRed;
}
// A load or store that other threads may race with on purpose: volatile, relaxed, acquire …
inline bool IsOrdered(const Instruction& in) {
  const Order order = ModifierOrder(in);
  return order != Order::kNone && order != Order::kWeak;
}

}  // namespace hloscope::ptx
