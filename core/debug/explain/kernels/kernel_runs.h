// KernelRuns: the kernels of a question run, and what they are held to.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "core/backends/gpusim/kernel_diagnosis.h"
#include "core/debug/explain/kernels/cause_tries.h"
#include "core/debug/explain/kernels/explain_kernel.h"

namespace hloscope::debug {

// All that it is given must outlive it.
class KernelRuns {
 public:
  KernelRuns(const KernelQuestion& question, const RunSpec& request, const std::stop_token& stop)
      : question_(question), request_(request), stop_(stop) {}

  const KernelQuestion& question() const { return question_; }
  const RunSpec& request() const { return request_; }

  // One that asks for nothing yet.
  replay::KernelDiagnosis DiagnosisOf() const;
  // In a worker where the request has some.
  Result<replay::KernelDiagnosisAnswer> Diagnose(const replay::KernelDiagnosis& diagnosis) const;

  // The results of the module on the arguments of the question, or on others, by the reference.
  Result<Arrays> Evaluated(const std::shared_ptr<const hlo::Module>& module) const {
    return Evaluated(module, question_.arguments);
  }
  Result<Arrays> Evaluated(const std::shared_ptr<const hlo::Module>& module,
                           const std::vector<hlo::Literal>& arguments) const;

  // The results in the memory of the case.
  Result<Arrays> ArraysIn(const replay::CaseMemory& memory) const;
  // Of an array of the results, as it lies on the device; empty where it cannot.
  std::vector<std::byte> BytesOf(size_t array, const hlo::Literal& value) const;

 private:
  const KernelQuestion& question_;
  const RunSpec& request_;
  const std::stop_token& stop_;
};

}  // namespace hloscope::debug
