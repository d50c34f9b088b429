// PlanSteps: serves a capture plan on the steps of a DeviceRun.
#pragma once

#include <memory>
#include <vector>

#include "core/backends/gpusim/step_observer.h"
#include "core/replay/capture/plan_observer.h"

namespace hloscope::replay {

class PlanSteps : public StepObserver {
 public:
  // `given`: the module whose instructions the plan names, `program` the one that runs. A plan that
  // names instructions is served where these are the same module; a search by itself always, and
  // what it finds then names instructions of `program`. Errors: those of PlanObserver::Make;
  // unsupported, instructions of another stage than the one that runs.
  static Result<std::unique_ptr<PlanSteps>> Make(const std::shared_ptr<const hlo::Module>& given,
                                                 const std::shared_ptr<const hlo::Module>& program,
                                                 const CapturePlan& plan, RunStream& stream);
  ~PlanSteps() override;

  bool Wants(const DeviceStep& step) override;
  Status OnStep(const StepValues& values) override;
  void Finish() override { observer_->Finish(); }
  bool ended() const override { return observer_->ended(); }
  int64_t executions() const override { return observer_->executions(); }

 private:
  class FindingStream;
  PlanSteps();

  // By instruction of the program: the one of the plan's module; empty where that is the program.
  std::vector<hlo::InstructionId> ids_;
  CapturePlan plan_;
  std::unique_ptr<FindingStream> stream_;
  std::unique_ptr<PlanObserver> observer_;
};

}  // namespace hloscope::replay
