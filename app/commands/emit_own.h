// What `compile --emit` writes without --with: the plan and the code of our own compiler.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/assembled_kernels.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::app {

struct EmitRequest {
  std::string what;    // a name that EmittedCode() has
  std::string output;  // a file; - is standard output
  std::string target;  // an LLVM CPU name; empty or native: this machine
  int64_t jobs = 0;    // threads to compile with; 0: one for each CPU
  Limits limits;
};

struct WrittenFile {
  std::string path, what;  // "model.ll", "LLVM IR of the kernels"
};

struct EmitReport {
  std::vector<WrittenFile> files;
  int64_t kernels = 0, functions = 0;  // equal kernels are one function
  double compile_ms = 0;
  int64_t object_bytes = 0, temp_bytes = 0;  // of an object
  AssembledKernels assembled;                // of machine code for a GPU
};

// Whether a plan written there is a .hloplan, with code, instead of a text for people.
bool IsPlanFileName(std::string_view output);

// What can be emitted beside the optimised module.
std::vector<std::string> EmittedCode();

// Compiles and writes the files. Errors: those of compiling in a child process, a file cannot be
// written (environment).
Result<EmitReport> EmitOwn(const std::shared_ptr<const hlo::Module>& module,
                           const EmitRequest& request, const std::stop_token& stop);

// What was written, of a module as it was given; `emit` is that of the request.
std::string EmitReportText(const EmitReport& report, const std::string& module);
// One object, and a line break.
std::string EmitReportJson(const EmitReport& report, const std::string& module,
                           const std::string& emit);

}  // namespace hloscope::app
