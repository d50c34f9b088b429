// Whether a module means the same when it is compiled: both are evaluated on the same inputs.
#pragma once

#include <memory>
#include <string>

#include "core/compile/compile.h"
#include "core/hlo/module.h"

namespace hloscope::compile {

struct Meaning {
  Compilation compilation;
  double compile_ms = 0;
  bool was_run = false;    // false where the module itself cannot be evaluated on made-up inputs
  std::string why_not;     // then
  bool same_bits = false;  // of all results
  std::string problem;     // empty where the results agree
};

// Compiles with every pass verified and evaluates, results compared by the usual bounds of their
// types, integers exactly. `deadline_s` is for each evaluation; 0: nothing is evaluated.
Meaning CompareMeaning(const std::shared_ptr<const hlo::Module>& module, CompileOptions options,
                       uint64_t seed = 0, double deadline_s = 20);

}  // namespace hloscope::compile
