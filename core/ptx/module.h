// What a parsed module holds.
#pragma once

#include "core/ptx/ir/decode.h"
#include "core/ptx/machine/run.h"
#include "core/ptx/ptx.h"

namespace hloscope::ptx {

struct Module::Contents {
  Program program;
  std::string target;
  std::vector<EntryInfo> entries;
  std::vector<Executable> executables;  // aligned with the kernels of the program
};

// Errors: input where the module has no such entry.
Result<const Kernel*> KernelOf(const Module& module, const std::string& entry);

}  // namespace hloscope::ptx
