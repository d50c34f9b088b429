// BundleInput: the module that a bundle is made of, and what is said of it where it lies.
#pragma once

#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/debug/bundle/dumped_kernels.h"
#include "core/debug/run/run_module.h"

namespace hloscope::app {

struct BundleInput {
  std::string module;  // its file
  // Of the dump that it lies in; empty: unknown.
  std::string stage, framework, framework_version, xla_version, target, stablehlo, ptx,
      debug_options, log;
  // What a reader of the bundle must know: which module of several it is, whose inputs are missing.
  std::vector<std::string> notes;
  debug::DumpedKernels kernels;  // of a dump that the run runs
  std::string verdict;           // the line of `diverge --json`, where the input was one
};

// `given` is a module, a dump (its largest module, as it was before optimizations) or a file with
// the line of `diverge --json`; platforms and seed of that go into `request` where it has none.
Result<BundleInput> FindBundleInput(const std::string& given, debug::RunSpec& request,
                                    const Limits& limits);

}  // namespace hloscope::app
