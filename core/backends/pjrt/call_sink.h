// CallSink: tells what capturing calls hand over as values with keys, as a plan wants them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "core/backends/pjrt/ffi.h"
#include "core/hlo/module.h"
#include "core/replay/capture/capture_plan.h"
#include "core/replay/capture/run_stream.h"

namespace hloscope::replay::pjrt {

// A call says which instruction and device, and calls of one instruction come in the order of its
// executions. In which entry into a computation and which iteration that was follows from how often
// its callers had a result before: their calls come behind all of what they run.
class CallSink : public CaptureSink {
 public:
  // `points` as AddCaptureCalls gives them for this plan or for a larger one. All must outlive it.
  CallSink(const hlo::Module& module, const std::vector<bool>& points, const CapturePlan& plan,
           RunStream& stream);
  Status Take(const FfiCall& call) override;

 private:
  // Of one device, by instruction: executions so far, and those before its caller was last entered.
  struct Counts {
    std::vector<int64_t> all, before;
  };

  ValueKey Count(hlo::InstructionId id, int64_t device);
  void Tell(const ValueKey& key, const FfiCall& call, CaptureForm form);

  const hlo::Module& module_;
  const CapturePlan& plan_;
  RunStream& stream_;
  std::vector<CaptureForm> forms_;                      // by instruction
  std::vector<hlo::InstructionId> callers_;             // by computation; invalid: the entry
  std::vector<std::vector<hlo::InstructionId>> inner_;  // by instruction: points that it runs
  std::map<int64_t, Counts> counts_;                    // by device
  std::mutex mutex_, stream_mutex_;
};

}  // namespace hloscope::replay::pjrt
