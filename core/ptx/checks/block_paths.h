// BlockPaths: whether all blocks of a kernel take the same way.
#pragma once

#include <vector>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// Nothing that depends on the number of the block or on what memory holds decides a branch, or
// where shared memory is accessed: each block then does what every other does there, in the same
// order, if only with other values. Whether a store is made may depend on them, as sorts swap or do
// not. Kernels with mbarriers, atomics in shared memory, or accesses that it does not know may do
// so too; for them it is not said.
struct BlockPaths {
  bool are_the_same = false;
  // By instruction, where there are such: stores to shared memory that one block may make and
  // another may not, as their guard or a branch around them says. The branch's mark says that it
  // leads past nothing else.
  std::vector<bool> may_skip;
};
BlockPaths PathsOf(const Kernel& kernel);

}  // namespace hloscope::ptx
