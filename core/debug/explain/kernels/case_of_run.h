// Kernels of a run as cases that run by themselves.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/backends/gpusim/kernel_cases.h"
#include "core/backends/gpusim/kernel_diagnosis.h"
#include "core/base/result.h"
#include "core/debug/explain/kernels/explain_kernel.h"
#include "core/debug/run/run_module.h"
#include "core/debug/run/run_results.h"

namespace hloscope::debug {

// Runs `module` once on the request's platform and answers what each kernel gave; `wish` says which
// come with a case.
Result<std::vector<replay::KernelOutcome>> OutcomesOfKernels(
    const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
    const replay::KernelCaseFilter& filter, const std::stop_token& stop);

// The case of the kernel, or of the instruction, of that name in one of its executions, also where
// the run ends with a fault of it. Input error: there is none; it names those that there are.
Result<replay::KernelOutcome> CaseOfKernel(const std::shared_ptr<const hlo::Module>& module,
                                           const RunSpec& request, const std::string& name,
                                           int64_t execution, const std::stop_token& stop);

// A study in a child process, within --deadline where the request has one.
Result<replay::KernelDiagnosisAnswer> DiagnoseWithin(const replay::KernelDiagnosis& diagnosis,
                                                     const RunSpec& request,
                                                     const std::stop_token& stop);

// The arrays of a value, in order.
Leaves LeavesOf(const runtime::Value& value);

// True where the kernel gave something else than its instruction means, beyond the bounds.
bool IsBeyond(const replay::KernelOutcome& outcome, const BoundsRequest& bounds);
// The arrays of its value, by number, that are.
std::vector<int64_t> LeavesBeyond(const replay::KernelOutcome& outcome,
                                  const BoundsRequest& bounds);

// The instruction of an outcome with a case, by itself and with its arguments.
Result<KernelQuestion> QuestionOf(const replay::KernelOutcome& outcome);

}  // namespace hloscope::debug
