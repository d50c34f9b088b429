// DeviceRecorder: what a device does in a recorded run and for which instruction: by CUPTI's
// records or, where CUPTI is not to be had, by events of the driver around each launch and copy.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/replay/compiled/backend.h"
#include "core/replay/cuda/handles.h"
#include "profiler/cupti/collector.h"

namespace hloscope::replay::cuda {

class DeviceRecorder : public RunListener {
 public:
  // `module`: whose instructions they are.
  DeviceRecorder(std::shared_ptr<const Device> device, std::shared_ptr<const hlo::Module> module)
      : device_(std::move(device)), module_(std::move(module)) {}

  bool records_by_itself() const override { return true; }
  void Begin(const RunOptions& options) override;
  void OnHost(hlo::InstructionId id, int64_t nanoseconds) override;
  // Tells the trace of the run and, once, why CUPTI was not to be had.
  void End(RunStream& stream) override;

  bool is_recording() const { return is_recording_; }
  // What is timed by events has to be asked for one by one, not as a graph.
  bool needs_steps() const { return is_recording_ && collector_ == nullptr; }
  // So many kernels were launched.
  void Launched(int64_t kernels);

 private:
  friend class DeviceScope;
  struct Timed {
    profiler::cupti::Activity activity;
    StreamHandle stream = nullptr;
    hlo::InstructionId instruction;
    Event begin, end;
  };
  // An event that was waited for, and when that was.
  struct Base {
    Event event;
    int64_t steady_ns = 0;
  };
  void Push(hlo::InstructionId id);
  void Pop();
  Status BeginTimed(StreamHandle stream, Timed& timed);
  void EndTimed(Timed timed);
  profiler::cupti::Collected Collect();
  profiler::cupti::Collected CollectTimed();
  void Note(const Error& error);

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const hlo::Module> module_;
  std::atomic<bool> is_recording_ = false;
  std::unique_ptr<profiler::cupti::Collector> collector_;  // null: by events
  std::map<uint64_t, uint64_t> nodes_;                     // of graphs of earlier runs, too
  std::string why_not_cupti_;
  bool has_told_why_ = false;
  size_t most_timed_ = 0;

  std::mutex mutex_;  // devices run at the same time
  std::map<StreamHandle, Base> bases_;
  std::vector<Timed> timed_;
  int64_t left_out_ = 0;
  std::vector<TraceSlice> on_host_;
  std::vector<std::string> notes_;
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
    if (recorder.needs_steps()) Begin(id, stream, describe());
  }
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  void Begin(hlo::InstructionId id, StreamHandle stream, profiler::cupti::Activity activity);

  DeviceRecorder* recorder_;  // null: nothing is recorded
  std::unique_ptr<DeviceRecorder::Timed> timed_;
};

profiler::cupti::Activity CopyActivity(std::string name, int64_t bytes);

}  // namespace hloscope::replay::cuda
