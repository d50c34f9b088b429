// GpuCode: the kernels of a module as PTX and how they are to be launched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::compile {

// A kernel has the parameters (operands…, results…, scratch, grains, each, pass), addresses but for
// the last three, which are s64; addresses are multiples of kGpuAlignment. Arrays are dense and
// row-major, elements as in a Literal, as for compile::GrainFunction.
//
// Where `block` is 1, threads are counted over the blocks along x; thread t computes `each` grains
// from grain t · each on, and threads beyond the last grain do nothing. Where it is more, each
// grain is computed by a block of so many threads along x, and `each` is 1. `finish` is always of
// the first kind. How many blocks and threads there are says GridOf.
inline constexpr int64_t kGpuAlignment = 16, kMaxGpuThreads = 128;

// So many bytes of parameters an entry of any PTX may have, and so many one of 8.1, in which texts
// are that need it. The driver takes that from CUDA 12.1 on (1000 · major + 10 · minor).
inline constexpr int64_t kGpuParameterBytes = 4352, kLargeGpuParameterBytes = 32764;
inline constexpr std::string_view kLargeParametersPtx = ".version 8.1\n";
inline constexpr int kLargeParametersCuda = 12010;

struct GpuKernel {
  std::string name;    // of the entry
  std::string finish;  // where not empty: an entry that one thread runs behind it, with all grains
  size_t module = 0;   // in GpuCode::modules
  int64_t grains = 1;
  int64_t block = 1;            // threads that compute a grain together
  std::vector<int64_t> passes;  // what `pass` is in launches that follow one another
  int64_t scratch_bytes = 0;
  // By leaf of the result: the operand in whose memory the result must be made, -1: of its own.
  std::vector<int> in_place;
};

// Blocks along x, and threads of each, that the launches of a kernel have; `finish` is launched
// with one block of one thread. The code of a kernel counts on them.
struct GpuGrid {
  int64_t blocks = 1, threads = 1;
};
inline GpuGrid GridOf(const GpuKernel& kernel) {
  if (kernel.block > 1) return {kernel.grains, kernel.block};
  const int64_t threads = std::clamp<int64_t>(kernel.grains, 1, kMaxGpuThreads);
  return {(kernel.grains - 1) / threads + 1, threads};
}

struct GpuCode {
  std::vector<std::string> modules;  // PTX texts
  std::vector<GpuKernel> kernels;
  struct Use {
    hlo::InstructionId instruction;
    size_t kernel = 0;
  };
  std::vector<Use> uses;  // instructions that are run by a kernel, equal ones by the same
  // Instructions that no code was written for, and what is missing.
  struct Refused {
    hlo::InstructionId instruction;
    std::string why;
  };
  std::vector<Refused> refused;
};

struct GpuCodeOptions {
  int threads = 0;     // to compile with; 0: one for each CPU
  std::string target;  // "sm_80": LLVM's name of an architecture
  bool one_text =
      false;  // all kernels, or none, in one module; else in several, compiled side by side
  bool verify = false;  // lets LLVM look for what is unsound, for tests
};

// The entry of core/codegen's library, found there by the name below. Errors: an architecture that
// LLVM does not know (unsupported).
using GenerateGpuCodeFunction = Result<GpuCode> (*)(std::shared_ptr<const hlo::Module> module,
                                                    std::span<const hlo::InstructionId> kernels,
                                                    const GpuCodeOptions& options);
inline constexpr const char* kGenerateGpuCode = "hloscope_generate_gpu_code";

}  // namespace hloscope::compile
