// Reading the functions of PTX, LLVM IR and assembly texts: names, places, launch bounds, memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/readers/kernels.h"
#include "core/dump/readers/launch_dimensions.h"

namespace hloscope::dump {

struct CodeFunction {
  std::string name;
  int32_t first_line = 0, last_line = 0;
  bool is_kernel = false;   // `.entry`, ptx_kernel, an annotation, or (CPU) linked from outside
  bool is_cut = false;      // the text ends inside it
  LaunchDimensions launch;  // threads where required or bounded, cluster, blocks where IR says so
  bool reads_block_index = true;  // PTX: %ctaid, or calls a function that may
  std::optional<int64_t> max_threads, registers, shared_bytes, local_bytes;
};

// The `.entry` functions of a PTX text, in order. Texts of any content are taken.
std::vector<CodeFunction> ReadPtx(std::string_view text);

// The defined functions of an LLVM IR text, in order. `for_gpu` says how kernels are known.
std::vector<CodeFunction> ReadLlvm(std::string_view text, bool for_gpu);

// The global functions of an assembly text in the syntax of ELF targets, in order, each from its
// label to its `.size`.
std::vector<CodeFunction> ReadAssembly(std::string_view text);

// The lines of one function that carry debug information: `.loc` of PTX, `!dbg` of LLVM IR.
std::vector<DebugLine> ReadPtxLines(std::string_view text, int32_t first_line, int32_t last_line);
std::vector<DebugLine> ReadLlvmLines(std::string_view text, int32_t first_line, int32_t last_line);

}  // namespace hloscope::dump
