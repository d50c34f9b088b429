// KernelObjects: machine code of kernels before it is linked, as it goes into a cache.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compile/kernel_code.h"

namespace hloscope::linking {

// What was written of a kernel; its addresses are known once it is linked.
struct EmittedKernel {
  compile::KernelCode code;  // all but the addresses
  bool is_complete = false;  // false: there is no code for it
  bool has_finish = false;   // a second function, of the name with kFinishSuffix behind it
  // On a GPU, as compile::GpuKernel has them.
  std::vector<int64_t> passes = {};
  int64_t block = 1;
};
inline constexpr const char* kFinishSuffix = "_finish";

// A loop of a plan that is one function.
struct WrittenLoop {
  std::string name;
  int64_t step = 0;  // its number
  int64_t scratch_bytes = 0;
};

struct KernelObjects {
  struct Object {
    std::string bytes;
    std::vector<EmittedKernel> kernels;  // whose functions it has, but for those without code
    std::vector<WrittenLoop> loops;
  };
  std::vector<Object> objects;
  // An instruction of the module and the kernel that it runs, counted over all objects.
  struct Use {
    uint32_t instruction = 0, kernel = 0;
  };
  std::vector<Use> uses;
};

std::string ToImage(const KernelObjects& written);

// Links the code. Internal: it cannot be.
Result<std::unique_ptr<compile::KernelLibrary>> Link(KernelObjects written);

// The library of an image that a process of this build wrote; internal where it is none.
Result<std::unique_ptr<compile::KernelLibrary>> LoadKernels(std::span<const std::byte> image);

}  // namespace hloscope::linking
