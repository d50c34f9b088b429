// CompileAhead: the code that our own compiler writes for a module, as files for people and
// linkers, made in a child process: no other loads LLVM.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

enum class CodeForm : uint8_t {
  kLlvm,      // IR of the kernels, before LLVM's passes
  kAssembly,  // of the kernels
  kPtx,       // of the kernels, for a GPU: one text, as an assembler takes it
  kPlan,      // a .hloplan: the plan with the kernels for a GPU
  kObject,    // a relocatable object with one entry for the whole module
};

struct AheadRequest {
  CodeForm form = CodeForm::kLlvm;
  std::string target;  // an LLVM CPU name, empty: this machine; of PTX and plans an architecture,
                       // as "sm_90"
  int threads = 0;     // to compile kernels with; 0: one for each CPU
  // Of an object: the file that it becomes, whose name without its end names what is in it.
  std::string object_file;
  std::chrono::milliseconds deadline{60'000};
  int64_t memory_bytes = 0;  // that the child may hold; 0: no bound
};

struct AheadAnswer {
  std::string code;
  std::string c_header, cmake;         // of an object
  int64_t temp_bytes = 0;              // likewise: memory that its entry asks of the caller
  int64_t kernels = 0, functions = 0;  // equal kernels are one function
  double compile_ms = 0;               // passes and code, without the start of the child
};

// Errors: a target that LLVM does not know, of an object a module without a plan or with a step
// that the evaluator runs, which is named (unsupported); the library is missing (environment); the
// child died or met its deadline.
Result<AheadAnswer> CompileAhead(const hlo::Module& module, const AheadRequest& request,
                                 const std::stop_token& stop = {});

}  // namespace hloscope::replay
