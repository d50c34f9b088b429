// PlanObserver: serves a capture plan beside an evaluation.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/eval/machine/evaluator.h"
#include "core/hlo/module.h"
#include "core/replay/capture/capture_plan.h"
#include "core/replay/capture/run_stream.h"
#include "core/replay/capture/search.h"

namespace hloscope::replay {

class PlanObserver : public runtime::Observer {
 public:
  // `module` and `stream` must outlive it. Input error: the plan names what the module does not
  // have, or asks for a search that there is none of.
  static Result<std::unique_ptr<PlanObserver>> Make(const hlo::Module& module,
                                                    const CapturePlan& plan, RunStream& stream);

  // See Search.
  void FusionsAreWhole() {
    if (search_ != nullptr) search_->FusionsAreWhole();
  }

  Status OnValue(const runtime::Site& site, std::span<const runtime::Value> operands,
                 const runtime::Value& value) override;
  bool WantsLanes(hlo::InstructionId caller) override;

  // Behind the run: tells what is told last.
  void Finish();
  // The plan had what it wanted, and ended the run.
  bool ended() const { return ended_; }
  int64_t executions() const { return executions_; }

 private:
  // The newest of a value, with `until`.
  struct Newest {
    std::vector<runtime::Frame> path;
    runtime::Value value;
    bool seen = false;
  };

  PlanObserver(const hlo::Module& module, const CapturePlan& plan, RunStream& stream);
  Status Want(const CaptureItem& item);
  void Tell(int64_t device, std::span<const runtime::Frame> path, hlo::InstructionId instruction,
            const runtime::Value& value);
  Status Note(const runtime::Site& site, const runtime::Value& value);
  void TellProgress();

  const hlo::Module& module_;
  const CapturePlan& plan_;
  RunStream& stream_;
  std::unique_ptr<Search> search_;
  std::vector<CaptureForm> forms_;  // by instruction
  std::vector<bool> lanes_;         // by computation: it holds, or reaches, one that is named
  std::vector<Newest> newest_;      // by instruction, with `until`
  int64_t executions_ = 0;          // of the instruction that `until` names
  bool ended_ = false;
  int64_t done_ = 0;  // instructions of the entry, on device 0
  std::chrono::steady_clock::time_point next_progress_;
  std::mutex mutex_;  // devices may run on threads of their own
};

}  // namespace hloscope::replay
