// DeviceRecorder: what a device does in a recorded run and for which instruction: by CUPTI's
// records or, where CUPTI is not to be had, by events of the driver around each launch and copy;
// and what its counters say of kernels, in one more run.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/backends/compiled/backend.h"
#include "core/backends/cuda/handles.h"
#include "core/backends/cuda/line_sampler.h"
#include "profiler/cupti/attach_metrics.h"
#include "profiler/cupti/collector.h"
#include "profiler/cupti/range_profiler.h"

namespace hloscope::replay::cuda {

class DeviceRecorder : public RunListener {
 public:
  // `module`: whose instructions they are.
  DeviceRecorder(std::shared_ptr<const Device> device, std::shared_ptr<const hlo::Module> module)
      : device_(std::move(device)), module_(std::move(module)) {}

  // Runs are spread over so many GPUs; counters are read of one.
  void set_gpus(int gpus) { gpus_ = gpus; }
  bool records_by_itself() const override { return true; }
  void Begin(const RunOptions& options) override;
  void OnHost(hlo::InstructionId id, int64_t nanoseconds) override;
  // Counters are read and program counters sampled kernel by kernel, which takes times apart: not
  // beside what is recorded, nor beside each other.
  bool BeginAgain() override;
  void EndAgain(const Status& ran) override;
  // Tells the trace of the run and, where it is another reason than before, why CUPTI was not to be
  // had.
  void End(RunStream& stream) override;

  bool is_recording() const { return is_recording_; }
  // Times are those of events around what is asked for.
  bool times_by_events() const { return is_recording_ && collector_ == nullptr; }
  // What is timed or counted one by one has to be asked for one by one, not as a graph.
  bool needs_steps() const {
    return times_by_events() || counters_ != nullptr || lines_ != nullptr;
  }
  // Held while a kernel of that instruction is launched: while counters are read or program
  // counters are sampled, by one at a time; the kernel has ended with it where they are sampled.
  class Turn {
   public:
    Turn(DeviceRecorder& recorder, hlo::InstructionId id, StreamHandle stream);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    DeviceRecorder& recorder_;
    hlo::InstructionId id_;
    StreamHandle stream_;
    std::unique_lock<std::mutex> lock_;
  };
  // The code that is launched, where lines are sampled.
  LinedCode& code() { return code_; }
  // A library launches kernels of its own, which counters of kernels cannot tell from ours.
  void OthersLaunch() { others_launch_ = true; }
  // So many kernels were launched.
  void Launched(int64_t kernels);
  // Around what this thread captures into a graph.
  void BeginCapture();
  void EndCapture();
  // What whoever runs the module is told at the end of the run, recorded or not.
  void Warn(std::string warning);

 private:
  friend class DeviceScope;
  friend class HostFallback;
  struct Timed {
    profiler::cupti::Activity activity;
    StreamHandle stream = nullptr;
    hlo::InstructionId instruction;
    Event begin, end;
  };
  // An event, and when it happened.
  struct Base {
    Event event;
    int64_t steady_ns = 0;
  };
  void TellOnHost(hlo::InstructionId id, int64_t nanoseconds);
  void Push(hlo::InstructionId id);
  void Pop();
  Status BeginTimed(StreamHandle stream, Timed& timed);
  void EndTimed(Timed timed);
  profiler::cupti::Collected Collect();
  Result<std::unique_ptr<profiler::cupti::RangeProfiler>> StartCounters();
  // Notes that it cannot be done, where it is so.
  bool IsOnSeveral(std::string_view what);
  bool BeginCounters();
  void EndCounters(const Status& ran);
  Result<std::unique_ptr<LineSampler>> StartLines();
  void EndLines(const Status& ran);
  profiler::cupti::Collected CollectTimed();
  // For the trace's warnings, once; with the fix where it says `what` there is not.
  void Note(const Error& error, std::string_view what = {});

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const hlo::Module> module_;
  int gpus_ = 1;
  std::atomic<bool> is_recording_ = false;
  bool has_begun_ = false;                                 // a recorded run that has not ended
  std::unique_ptr<profiler::cupti::Collector> collector_;  // null: by events
  bool wants_metrics_ = false, wants_lines_ = false;
  std::atomic<bool> others_launch_ = false;
  std::unique_ptr<profiler::cupti::RangeProfiler> counters_;  // null: they are not read
  LinedCode code_;
  std::unique_ptr<LineSampler> lines_;                   // null: they are not sampled
  std::optional<profiler::cupti::Collected> collected_;  // before either
  std::mutex turn_;
  std::vector<profiler::cupti::MeasuredLaunch> launched_;  // while they are read
  std::map<uint64_t, uint64_t> nodes_;                     // of graphs of earlier runs, too
  std::string why_not_cupti_, told_why_not_;               // of the run at hand; what was told last
  size_t most_timed_ = 0;

  std::mutex mutex_;  // devices run at the same time
  std::map<StreamHandle, Base> bases_;
  std::vector<Timed> timed_;
  std::map<profiler::cupti::Work, int64_t> left_out_;
  std::multiset<hlo::InstructionId> handed_over_;  // at the moment, by all devices
  std::vector<TraceSlice> on_host_;
  int64_t on_host_left_out_ = 0;
  std::vector<std::string> notes_, warnings_;
};

// What is asked of the device while it lives is an instruction's.
class DeviceScope {
 public:
  // Something that waits.
  DeviceScope(DeviceRecorder& recorder, hlo::InstructionId id);
  // A launch or a copy on a stream; describe() says which.
  template <typename Describe>
  DeviceScope(DeviceRecorder& recorder, hlo::InstructionId id, StreamHandle stream,
              const Describe& describe)
      : DeviceScope(recorder, id) {
    if (recorder.times_by_events()) Begin(id, stream, describe());
  }
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  void Begin(hlo::InstructionId id, StreamHandle stream, profiler::cupti::Activity activity);

  DeviceRecorder* recorder_;  // null: nothing is recorded
  std::unique_ptr<DeviceRecorder::Timed> timed_;
};

// An instruction is handed over to the host while it lives, copies included: told as one.
class HostFallback {
 public:
  HostFallback(DeviceRecorder& recorder, hlo::InstructionId id);
  ~HostFallback();
  HostFallback(const HostFallback&) = delete;
  HostFallback& operator=(const HostFallback&) = delete;

 private:
  DeviceRecorder& recorder_;
  hlo::InstructionId id_;
  int64_t start_ns_;
};

profiler::cupti::Activity CopyActivity(std::string name, int64_t bytes);

}  // namespace hloscope::replay::cuda
