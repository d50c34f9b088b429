// ObjectCode: a plan as a relocatable object with one entry, for programs without this one.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compile/plan/plan.h"

namespace hloscope::compile {

// Runs the plan on the thread that calls it, and returns 0; not 0 where a Fourier transform finds
// no memory. `arguments` and `results` have one address for each of ParameterArrays and
// ResultArrays, `temp` is ObjectCode::temp_bytes of memory; all of them begin at a multiple of
// kBufferAlignment, and nothing that is written overlaps anything else. Any number of threads may
// call it, each with memory of its own.
using EntryFunction = int32_t (*)(const void* const* arguments, void* const* results, void* temp);

struct ObjectOptions {
  std::string target;  // an LLVM CPU name; empty: this machine
  std::string entry;   // the symbol of the EntryFunction, the only one that others see
};

struct ObjectCode {
  std::string bytes;
  int64_t temp_bytes = 0;
  int64_t functions = 0;  // of kernels: equal ones are one
  // What it calls outside of itself: of the runtime library, libc and libm.
  std::vector<std::string> symbols;
};

// The entry of core/codegen's library, found there by the name below. Errors: a target that LLVM
// does not know, a step that is neither a kernel nor a Fourier transform (unsupported, by name).
using WriteObjectFunction = Result<ObjectCode> (*)(const Plan& plan, const ObjectOptions& options);
inline constexpr const char* kWriteObject = "hloscope_write_object";

}  // namespace hloscope::compile
