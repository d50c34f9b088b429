// LibrarySizes: from what size on NVIDIA's libraries are called: a call takes longer than a small
// kernel of ours. Not measured on a device yet.
#pragma once

#include <cstdint>

namespace hloscope::replay::cuda {

struct LibrarySizes {
  double products = 1 << 18;   // multiplications of a product or a convolution, at least
  int64_t transformed = 1024;  // elements of transforms, at least
  // Smaller matrices to factor, and many of them, are better off with a block of ours each.
  int64_t least_side = 64, most_matrices = 16;
};

// Of this process. Tests lower them, before anything is loaded, so that small modules call
// libraries.
inline LibrarySizes library_sizes;

}  // namespace hloscope::replay::cuda
