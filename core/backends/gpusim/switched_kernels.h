// SwitchedKernels: a run whose kernels all do one kind of arithmetic otherwise.
#pragma once

#include <memory>
#include <string_view>

#include "core/backends/gpusim/step_observer.h"
#include "core/ptx/switches/switches.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::replay {

// The search of a capture plan that asks for it; its request is the key of a switch.
inline constexpr std::string_view kSwitchedKernelsSearch = "switched_kernels";
SearchRequest SwitchedKernelsRequest(ptx::Switch which);

class SwitchedKernels : public StepObserver {
 public:
  // Input error: no such switch.
  static Result<std::unique_ptr<SwitchedKernels>> Make(const SearchRequest& request);

  bool Wants(const DeviceStep&) override { return false; }
  Status OnStep(const StepValues&) override { return {}; }
  const ptx::StepChanger* changer() const override { return &steps_; }

 private:
  explicit SwitchedKernels(ptx::Switch which) : steps_(which) {}
  ptx::SwitchedSteps steps_;
};

}  // namespace hloscope::replay
