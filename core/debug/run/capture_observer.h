// CaptureObserver: what some instructions of a computation hold when one of them runs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/eval/machine/evaluator.h"
#include "core/hlo/module.h"
#include "core/replay/workers/remote_observer.h"

namespace hloscope::debug {

// Keeps the newest value on device 0 of every instruction of interest until the execution asked
// for, and ends the run there.
class CaptureObserver : public replay::RemoteObserver {
 public:
  static constexpr std::string_view kKind = "capture";

  // `parameters` ascend.
  CaptureObserver(const hlo::Module& module, hlo::InstructionId root,
                  std::vector<hlo::InstructionId> parameters, int64_t iteration);
  static std::unique_ptr<replay::RemoteObserver> Make(const hlo::Module& module,
                                                      replay::ValueReader& request);

  Status OnValue(const eval::Site& site, std::span<const eval::Value> operands,
                 const eval::Value& value) override;
  bool WantsLanes(hlo::InstructionId caller) override;

  std::string_view kind() const override { return kKind; }
  void WriteRequest(replay::ValueWriter& out) const override;
  void WriteFindings(replay::ValueWriter& out) const override;
  Status ReadFindings(replay::ValueReader& in) override;

  bool done() const { return done_; }
  int64_t executions() const { return executions_; }
  std::span<const eval::Value> values() const { return values_; }  // of the parameters
  const eval::Value& value() const { return value_; }

 private:
  const hlo::Module& module_;
  hlo::InstructionId root_;
  std::vector<hlo::InstructionId> parameters_;
  std::vector<eval::Value> values_;
  eval::Value value_;
  int64_t iteration_, left_, executions_ = 0;
  bool done_ = false;
  std::vector<bool> around_;
};

}  // namespace hloscope::debug
