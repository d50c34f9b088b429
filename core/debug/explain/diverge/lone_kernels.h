// LoneKernels: the kernels of an optimised module one at a time, on a platform that neither takes
// an optimised module nor tells values inside one.
//
// Each fusion, call and library call of the entry becomes a module of its own (several beside one
// another, which share nothing), its instructions inlined, and is compiled anew and run on the
// operands that the reference has for it. Inside the whole module code generation may differ.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// One that differs by itself, in loops and branches too.
struct LoneKernel {
  DivergePlace place;
  LeafComparison worst;               // of its value
  std::vector<std::string> together;  // where it took others for that, their names
  std::vector<int64_t> results;       // of those asked for, that it leads to and none before it
};

struct LoneKernels {
  ValueWalk walk;  // one_at_a_time: what ran, its errors, and what inside the first differs
  std::vector<LoneKernel> kernels;
  std::vector<int64_t> unexplained;  // results asked for that none of them leads to
  std::string aside;                 // the first that differs and leads to no such result
  std::vector<std::string> not_run;  // "NAME: reason"
};

// Runs the kernels of `optimized`, which is for one device, on the request's platform against its
// reference platform; `arguments` are those of its entry. Finds those that lead to `results`, by
// number, eight at most; where there are no such, the first that differs. A loop or branch that
// differs is entered: its first iteration that differs, of those that time is left for. Fails where
// the module cannot be run at all, or is stopped.
Result<LoneKernels> RunKernelsAlone(const std::shared_ptr<const hlo::Module>& optimized,
                                    const std::vector<hlo::Literal>& arguments,
                                    std::span<const int64_t> results, const RunSpec& request,
                                    const std::stop_token& stop);

}  // namespace hloscope::debug
