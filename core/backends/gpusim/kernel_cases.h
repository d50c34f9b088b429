// KernelCases: beside a run, the kernels whose values are not what their instructions mean on the
// same operands, each as a case that runs by itself.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/backends/gpusim/kernel_case.h"
#include "core/backends/gpusim/step_observer.h"
#include "core/replay/capture/run_stream.h"

namespace hloscope::replay {

// The search of a capture plan that asks for it; its request is a KernelCaseFilter.
inline constexpr std::string_view kKernelCasesSearch = "kernel_cases";

// Which executions are wanted as cases. All are told.
struct KernelCaseFilter {
  // Those that launch this kernel, or are of this instruction, in execution number `execution`;
  // empty: those with other bits than the evaluator's.
  std::string name;
  int64_t execution = 0;
};
SearchRequest KernelCasesRequest(const KernelCaseFilter& filter);

// One execution of an instruction by kernels. Those of a loop are told the first time, and again
// where they are further off than ever before.
struct KernelOutcome {
  std::string instruction, computation, source;
  std::string kernels;  // that were launched: "a, b"
  std::string path;     // the calls around it with iterations: "while.3 #2, call.1"
  int64_t device = 0, execution = 0;
  // It has every bit of what the instruction means; absent where nobody asked.
  std::optional<bool> same_bits;
  std::string not_evaluated;  // why there is nothing to compare with
  std::optional<KernelCase> kernels_case;
  std::string why_no_case;
  runtime::Value actual, meant;                // where bits differ
  std::shared_ptr<const hlo::Module> program;  // with a case: whose instruction it is
};

// Empty where the finding is another's or malformed.
std::optional<KernelOutcome> ReadKernelOutcome(const SearchFinding& finding);

class KernelCases : public StepObserver {
 public:
  // Input error: no such request.
  static Result<std::unique_ptr<KernelCases>> Make(const LoadedProgram& loaded,
                                                   const SearchRequest& request, RunStream& stream);

  bool Wants(const DeviceStep& step) override { return step.kind == DeviceStepKind::kKernels; }
  Status OnStep(const StepValues& values) override;
  // A kernel that was asked for by name is told, whatever became of it.
  void OnFailure(const DeviceStep& step, const runtime::Site& site,
                 std::span<const runtime::Value> operands) override;

 private:
  KernelCases(const LoadedProgram& loaded, KernelCaseFilter filter, RunStream& stream)
      : loaded_(loaded), filter_(std::move(filter)), stream_(stream) {}
  KernelOutcome OutcomeOf(const DeviceStep& step, const runtime::Site& site);  // counts it
  bool IsNamed(const DeviceStep& step, const KernelOutcome& outcome) const;
  void AddCase(const DeviceStep& step, std::span<const runtime::Value> operands,
               KernelOutcome& outcome) const;
  // `values`: where bits differ, what it gave and what was meant.
  void Tell(const KernelOutcome& outcome, std::vector<runtime::Value> values);

  struct Seen {
    int64_t executions = 0;
    double distance = -1;  // the largest that was told
  };
  const LoadedProgram& loaded_;
  KernelCaseFilter filter_;
  std::map<std::pair<int64_t, hlo::InstructionId>, Seen> seen_;  // by device
  RunStream& stream_;
};

}  // namespace hloscope::replay
