// The verdict on a module by the passes of its compilation: those of a dump, or those that its
// platform runs now.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/pipeline.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// Gives the module that XLA makes of the StableHLO that a module comes from; null: there is none.
using SourceModule = std::function<Result<std::shared_ptr<const hlo::Module>>()>;

// The stages of `pipeline` are evaluated on the request's inputs; where the request's platform
// takes XLA's flags, `module` is run on it again with one pass or flag off at a time. Where neither
// a pass nor a cause is found, the module is held against what is expected of it and against
// `source`, which may be empty. Never fails itself.
DivergeVerdict ExplainByPasses(const std::shared_ptr<const hlo::Module>& module,
                               const Pipeline& pipeline, const RunSpec& request,
                               const SourceModule& source, const std::stop_token& stop);

// The request's platform, which has to be one that dumps, compiles the module and writes all
// stages, which are thrown away behind the verdict. Never fails itself.
DivergeVerdict ExplainByOwnPasses(const std::shared_ptr<const hlo::Module>& module,
                                  const RunSpec& request, const std::stop_token& stop);

// Results that are judged by themselves.
struct JudgedSet {
  std::vector<int64_t> numbers;  // empty: all
  std::string opcode = {};  // of the instruction that differs on its own operands; empty: unknown
};

// The same of several sets of results: a verdict for each, in their order, as long as two minutes
// are not over; for the first in any case.
std::vector<DivergeVerdict> ExplainEachByOwnPasses(const std::shared_ptr<const hlo::Module>& module,
                                                   const RunSpec& request,
                                                   std::span<const JudgedSet> judged,
                                                   const std::stop_token& stop);

// True if the platform's compiler fails on the module, or dies of it, when its passes are through:
// it has written the optimised module by then.
bool FailsBehindPasses(const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
                       const std::stop_token& stop);

}  // namespace hloscope::debug
