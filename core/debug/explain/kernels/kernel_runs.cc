// In a worker, or in this process.
#include "core/debug/explain/kernels/kernel_runs.h"

#include <utility>

#include "core/backends/pjrt/device_bytes.h"
#include "core/debug/explain/diverge/plain_run.h"
#include "core/debug/explain/kernels/case_of_run.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Module;
using replay::CaseMemory;

replay::KernelDiagnosis KernelRuns::DiagnosisOf() const {
  replay::KernelDiagnosis diagnosis;
  diagnosis.kernels = question_.kernels;
  diagnosis.fault = question_.fault;
  diagnosis.threads = request_.budget.threads;
  return diagnosis;
}

Result<replay::KernelDiagnosisAnswer> KernelRuns::Diagnose(
    const replay::KernelDiagnosis& diagnosis) const {
  const bool here = question_.fault != nullptr || request_.execution.workers == nullptr;
  return here ? replay::DiagnoseKernelHere(diagnosis) : DiagnoseWithin(diagnosis, request_, stop_);
}

Result<Arrays> KernelRuns::Evaluated(const std::shared_ptr<const Module>& module,
                                     const std::vector<Literal>& arguments) const {
  const RunReport report =
      RunModule(module, AloneSpec(request_, request_.reference.name, arguments), stop_);
  if (report.error) return std::unexpected(*report.error);
  Arrays arrays;
  for (const RunOutput& output : report.outputs) {
    if (output.missing) return std::unexpected(*output.missing);
    arrays.push_back(output.value);
  }
  if (arrays.size() != question_.results.size()) {
    return InternalError("the instruction by itself has other results");
  }
  return arrays;
}

Result<Arrays> KernelRuns::ArraysIn(const CaseMemory& memory) const {
  Arrays arrays;
  for (size_t i = 0; i < question_.results.size(); ++i) {
    const replay::CaseSlice& slice = question_.kernels.results[i];
    HLOSCOPE_ASSIGN_OR_RETURN(
        Literal array, replay::pjrt::FromDeviceBytes(question_.results[i],
                                                     memory[slice.region].data() + slice.offset));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

std::vector<std::byte> KernelRuns::BytesOf(size_t array, const Literal& value) const {
  std::vector<std::byte> bytes(question_.kernels.results[array].bytes);
  if (!replay::pjrt::ToDeviceBytes(value, question_.results[array], false, bytes.data())) return {};
  return bytes;
}

}  // namespace hloscope::debug
