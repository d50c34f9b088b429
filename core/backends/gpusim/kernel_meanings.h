// KernelMeanings: beside a run, what each kernel left and what its instruction means on the same
// operands.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/backends/gpusim/step_observer.h"
#include "core/replay/capture/run_stream.h"

namespace hloscope::replay {

// The search of a capture plan that asks for it; its request is empty.
inline constexpr std::string_view kKernelMeaningsSearch = "kernel_meanings";

// One execution of an instruction by kernels. Those of a loop are told the first time, and again
// where they are further off than ever before.
struct KernelMeaning {
  std::string instruction, computation, opcode, source;
  std::string kernels;  // that were launched: "a, b"
  std::string path;     // the calls around it with iterations: "while.3 #2, call.1"
  int64_t device = 0, execution = 0;
  double run_us = 0;
  runtime::Value actual, meant;  // missing: with the error why
};

// Empty where the finding is another's or malformed.
std::optional<KernelMeaning> ReadKernelMeaning(const SearchFinding& finding);

class KernelMeanings : public StepObserver {
 public:
  KernelMeanings(const hlo::Module& program, RunStream& stream)
      : module_(program), stream_(stream) {}

  bool Wants(const DeviceStep& step) override { return step.kind == DeviceStepKind::kKernels; }
  Status OnStep(const StepValues& values) override;

 private:
  struct Seen {
    int64_t executions = 0;
    double distance = -1;  // the largest that was told
  };
  std::string PathOf(std::span<const runtime::Frame> frames) const;

  const hlo::Module& module_;
  std::map<std::pair<int64_t, hlo::InstructionId>, Seen> seen_;  // by device
  RunStream& stream_;
};

}  // namespace hloscope::replay
