// LibrarySizes: from what size on NVIDIA's libraries are called: a call takes longer than a small
// kernel of ours.
#pragma once

#include <cstdint>

#include "core/compile/library_rules.h"

namespace hloscope::replay::cuda {

struct LibrarySizes {
  // Multiplications of a product or a convolution, at least.
  double products = compile::kMinGpuProducts;
  int64_t transformed = 1024;  // elements of transforms, at least
  // Smaller matrices to factor, and many of them, are better off with a block of ours each.
  int64_t least_side = 64, most_matrices = 16;
};

// Of this process. Tests lower them, before anything is loaded, so that small modules call
// libraries.
inline LibrarySizes library_sizes;

}  // namespace hloscope::replay::cuda
