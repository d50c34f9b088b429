// KernelCode: the machine code of a kernel and how it is to be called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compile/plan/plan.h"
#include "core/hlo/module.h"

namespace hloscope::compile {

// A library that does the work of a kernel instead of generated code. Any thread may call it.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  // Whether it launches a kernel of our own, and is counted as one.
  virtual bool is_kernel() const { return false; }
  // Once for each execution, before any grain: what goes into the scratch memory.
  virtual Status Prepare(const std::byte* const* operands, std::byte* scratch) const {
    (void)operands, (void)scratch;
    return {};
  }
  // As a GrainFunction; an internal error where the library refuses, in its words.
  virtual Status Run(const std::byte* const* operands, std::byte* const* results,
                     std::byte* scratch, int64_t begin, int64_t end) const = 0;
};

// Computes grains [begin, end). `operands` has one address per operand of the instruction, in
// order, `results` one per leaf of its value; arrays are dense and row-major whatever the layouts
// say, elements as in a Literal (one byte each below eight bits). No address overlaps another but
// as KernelCode::in_place says, and as the plan has it that the code was written for. `scratch` is
// the same memory for all grains of one call.
using GrainFunction = void (*)(const std::byte* const* operands, std::byte* const* results,
                               std::byte* scratch, int64_t begin, int64_t end);

struct KernelCode {
  std::string name;  // of the symbol, as it stands in the LLVM IR
  GrainFunction run = nullptr;
  // Where not null, what runs instead.
  std::shared_ptr<const LibraryCall> library = nullptr;
  // Where not null, run once behind all grains: what partial results come to.
  GrainFunction finish = nullptr;
  // Grains are independent of each other and of the number of threads.
  int64_t grains = 1;
  int64_t scratch_bytes = 0;
  // What a grain reads and writes, in bytes, about: how many belong on one thread.
  int64_t grain_bytes = 0;
  // A call takes about as long for one grain as for all: each thread is given its share at once.
  bool calls_are_alike = false;
  // By leaf of the result: the operand in whose memory the result must be made (its bytes are there
  // already, as in an update in place), -1 where it is written whole.
  std::vector<int> in_place;
};

// How far a loop that is one function is.
struct LoopProgress {
  int64_t iterations_left = 0;  // that it may run yet
  int64_t inner = 0;            // the loop inside in which it stopped; 0: between two turns
};

// Runs at most `progress->iterations_left` turns of a loop that is one function, counting them
// down, and returns true once it has ended. Where a loop inside takes long it comes back earlier
// and goes on there when it is called with the same progress again, so that nothing runs for ever
// unseen. `buffers` has the address of every buffer of the plan that is not of the arena, by
// number; `arena` and `scratch` are the memory of the plan and what LoopCode::scratch_bytes asks
// for. Arena, scratch and progress overlap neither each other nor any of those buffers.
using LoopFunction = bool (*)(std::byte* const* buffers, std::byte* arena, std::byte* scratch,
                              LoopProgress* progress);

struct LoopCode {
  std::string name;  // of the symbol
  LoopFunction run = nullptr;
  int64_t scratch_bytes = 0;
};

// Code of kernels, alive as long as this is.
class KernelLibrary {
 public:
  virtual ~KernelLibrary() = default;
  // The code of that instruction of the module; null where it has none.
  virtual const KernelCode* Find(hlo::InstructionId id) const = 0;
  // The code of the step of that number, a loop that is one function; null where it has none. Steps
  // of one instruction have buffers of their own wherever its computation is called.
  virtual const LoopCode* FindLoop(int64_t step) const {
    (void)step;
    return nullptr;
  }
  // How many functions there are: equal kernels share one.
  virtual int64_t function_count() const = 0;
};

// How much it is worth to write a kernel well.
enum class Effort : uint8_t {
  kLeast,  // it has so little to do that writing good code takes longer than it saves
  kUsual,
};

// What LLVM was given of some kernels, and what it made of them: one LLVM module.
struct CodePart {
  std::string name;  // "part_0"
  std::string llvm_ir, optimized_llvm_ir, assembly;
  std::string object;  // the bytes of an ELF file
};

struct CodegenOptions {
  int threads = 0;             // to compile with; 0: one for each CPU
  std::string target = {};     // an LLVM CPU name; empty: this machine
  const Plan* plan = nullptr;  // whose loops are to have code too; null: none
  // Where not null: the LLVM IR before and the assembly behind LLVM's passes are put there.
  std::string* llvm_ir = nullptr;
  std::string* assembly = nullptr;
  std::vector<CodePart>* parts = nullptr;  // where not null: likewise, all forms by LLVM module
  // Where not null: what linking::LoadKernels makes the same library of, in another process of this
  // build on such a processor.
  std::string* image = nullptr;
  std::optional<Effort> effort = {};  // for all kernels; by what each has to do where not set
  bool verify = false;                // lets LLVM look for what is unsound, for tests
  // As if a plan made results in the memory of every operand where it may, for tests.
  bool overwrites_all = false;
};

// The entry of core/codegen's library, found there by the name below.
using GenerateKernelsFunction = Result<std::unique_ptr<KernelLibrary>> (*)(
    std::shared_ptr<const hlo::Module> module, std::span<const hlo::InstructionId> kernels,
    const CodegenOptions& options);
// Whether a processor adds up products of bytes (CompileOptions::byte_kernels): an LLVM CPU name,
// or empty for this machine. Unsupported where LLVM does not know it. Found likewise.
using HasByteProductsFunction = Result<bool> (*)(const std::string& target);
inline constexpr const char* kHasByteProducts = "hloscope_has_byte_products";
// The entry of the library of library calls, which are made for their shapes.
using MakeLibraryCallsFunction = Result<std::unique_ptr<KernelLibrary>> (*)(
    std::shared_ptr<const hlo::Module> module, std::span<const hlo::InstructionId> calls);
inline constexpr const char* kMakeLibraryCalls = "hloscope_make_library_calls";
inline constexpr const char* kGenerateKernels = "hloscope_generate_kernels";

}  // namespace hloscope::compile
