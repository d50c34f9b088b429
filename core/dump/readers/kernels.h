// The kernels of one module: functions in PTX, LLVM IR and object files, tied to the instructions
// of its final stage that they compute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/readers/launch_dimensions.h"
#include "core/dump/readers/text_range.h"

namespace hloscope::dump {

// How a kernel was tied to its instructions; the first that holds, most certain first.
enum class KernelTie : uint8_t {
  kNone,          // no instruction was found; `note` says why
  kMetadata,      // the thunk metadata name the instruction of the thunk that launches it
  kName,          // the kernel is called as the instruction, sanitised as XLA does
  kNumberedName,  // … with a number behind it: one of several kernels of the instruction
  kTarget,        // a custom call's target holds its name: a kernel that a library brings along
  kComputation,   // … as a computation that the instruction calls
  kCollective,    // … as a collective that XLA wrote a kernel for, with "_fusion" behind
};
std::string_view ToString(KernelTie tie);

// A line of PTX or LLVM IR that says which line of which source it came from.
struct DebugLine {
  int32_t line = 0;         // in the file of the TextRange, counts from 1
  std::string source_file;  // of the debug information
  int32_t source_line = 0;
};

struct Kernel {
  std::string name;                       // the symbol
  std::string instruction;                // the first of `instructions`, or empty
  std::vector<std::string> instructions;  // of the final stage, in program order: XLA compiles
                                          // equal fusions once
  KernelTie tie = KernelTie::kNone;
  std::string note;
  TextRange ptx;               // its `.entry`, to the closing brace
  TextRange llvm;              // its `define` after LLVM's passes, else before them
  TextRange llvm_unoptimized;  // … before LLVM's passes
  TextRange assembly;          // its instructions, from its label on
  TextRange triton;            // the Triton IR of its fusion, the last form
  TextRange mlir;              // the MLIR of its fusion (CPU), the last form
  TextRange object;            // the object file (no lines)
  LaunchDimensions launch;
  std::string launch_source;      // "thunk", "ptx", "llvm", "backend config", or empty
  bool reads_block_index = true;  // false: its PTX does the same in every block
  std::optional<int64_t> shared_bytes, local_bytes;
  std::optional<int64_t> max_threads;  // a bound: .maxntid or .reqntid
  std::optional<int64_t> registers;    // where .maxnreg or an object says so
};

struct KernelTable {
  std::vector<Kernel> kernels;        // in program order of their first instruction, then by name
  std::vector<std::string> warnings;  // files that could not be read, and what that cost
  const Kernel* Find(std::string_view name) const;
};

}  // namespace hloscope::dump
