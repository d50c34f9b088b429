// BlockPaths: whether all blocks of a kernel take the same way.
#pragma once

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// True where nothing that depends on the number of the block or on what memory holds decides a
// branch, or whether and where shared memory is accessed: each block then does what every other
// does there, in the same order, if only with other values. Kernels with mbarriers, atomics in
// shared memory, or accesses that it does not know may do so too; for them it is false.
bool BlocksGoTheSameWay(const Kernel& kernel);

}  // namespace hloscope::ptx
