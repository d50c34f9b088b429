// Records and events to a trace.
#include "core/replay/cuda/device_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/replay/hand_overs.h"
#include "core/replay/plugins/cupti_files.h"
#include "profiler/cupti/to_xspace.h"

namespace hloscope::replay::cuda {

using hlo::InstructionId;
using profiler::cupti::Activity;
using profiler::cupti::Collected;
using profiler::cupti::Collector;
using profiler::cupti::Work;

Activity CopyActivity(std::string name, int64_t bytes) {
  Activity activity;
  activity.work = Work::kCopy;
  activity.name = std::move(name);
  activity.bytes = static_cast<uint64_t>(bytes);
  activity.detail = fmt::format("size:{}", bytes);
  return activity;
}

void DeviceRecorder::Begin(const RunOptions& options) {
  is_recording_ = options.record_steps > 0;
  if (!is_recording_) return;
  most_timed_ = static_cast<size_t>(options.record_steps);
  if (!why_not_cupti_.empty()) return;
  auto started = Collector::Start(CuptiFiles(), {.most_activities = most_timed_});
  if (started.has_value()) {
    collector_ = *std::move(started);
    return;
  }
  why_not_cupti_ = fmt::format(
      "launches and copies are timed by events of the driver around each, without CUDA graphs, not "
      "by CUPTI: {}",
      started.error().ToString());
}

void DeviceRecorder::OnHost(InstructionId id, int64_t nanoseconds) {
  if (!is_recording_) return;
  TraceSlice slice{std::string(module_->name(id)), std::string(kFallbackLane),
                   eval::SteadyNanoseconds() - nanoseconds, nanoseconds};
  const std::lock_guard lock(mutex_);
  // With its copies it is told again.
  while (!on_host_.empty() && on_host_.back().name == slice.name &&
         on_host_.back().start_ns >= slice.start_ns) {
    on_host_.pop_back();
  }
  on_host_.push_back(std::move(slice));
}

void DeviceRecorder::Launched(int64_t kernels) {
  if (collector_ != nullptr) collector_->Await(kernels);
}

// 0 is no number of CUPTI's.
void DeviceRecorder::Push(InstructionId id) {
  if (collector_ != nullptr) collector_->Push(uint64_t{id.index} + 1);
}
void DeviceRecorder::Pop() {
  if (collector_ != nullptr) collector_->Pop();
}

void DeviceRecorder::Note(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(notes_, error.message) == notes_.end()) notes_.push_back(error.message);
}

Status DeviceRecorder::BeginTimed(StreamHandle stream, Timed& timed) {
  const Driver& driver = device_->driver();
  const std::lock_guard lock(mutex_);
  if (timed_.size() >= most_timed_) {
    ++left_out_;
    return {};
  }
  if (!bases_.contains(stream)) {
    HLOSCOPE_ASSIGN_OR_RETURN(Event event, MakeEvent(device_, kTiming));
    HLOSCOPE_TRY(driver.Check(driver->EventRecord(event.get(), stream), "marking a time"));
    HLOSCOPE_TRY(driver.Check(driver->EventSynchronize(event.get()), "waiting for a mark"));
    bases_[stream] = {std::move(event), eval::SteadyNanoseconds()};
  }
  HLOSCOPE_ASSIGN_OR_RETURN(timed.begin, MakeEvent(device_, kTiming));
  HLOSCOPE_ASSIGN_OR_RETURN(timed.end, MakeEvent(device_, kTiming));
  return driver.Check(driver->EventRecord(timed.begin.get(), stream), "marking a time");
}

void DeviceRecorder::EndTimed(Timed timed) {
  const Driver& driver = device_->driver();
  const Status status =
      driver.Check(driver->EventRecord(timed.end.get(), timed.stream), "marking a time");
  if (!status.has_value()) return Note(status.error());
  const std::lock_guard lock(mutex_);
  timed_.push_back(std::move(timed));
}

// Times are those of the steady clock.
Collected DeviceRecorder::CollectTimed() {
  const Driver& driver = device_->driver();
  Collected out;
  out.origin_ns = 0;
  for (Timed& timed : std::exchange(timed_, {})) {
    const Base& base = bases_.at(timed.stream);
    float begin_ms = 0, end_ms = 0;
    Status status =
        driver.Check(driver->EventSynchronize(timed.end.get()), "waiting for the end of a launch");
    for (const auto& [ms, event] :
         {std::pair(&begin_ms, &timed.begin), std::pair(&end_ms, &timed.end)}) {
      if (!status.has_value()) break;
      status = driver.Check(driver->EventElapsedTime(ms, base.event.get(), event->get()),
                            "asking for the time of a launch");
    }
    if (!status.has_value()) {
      Note(status.error());
      continue;
    }
    const auto at = [&](float ms) {
      return static_cast<uint64_t>(base.steady_ns + static_cast<int64_t>(double{ms} * 1e6));
    };
    timed.activity.start = at(begin_ms);
    timed.activity.end = at(end_ms);
    timed.activity.correlation = static_cast<uint32_t>(out.log.activities.size()) + 1;
    out.log.external[timed.activity.correlation] = uint64_t{timed.instruction.index} + 1;
    out.log.activities.push_back(std::move(timed.activity));
  }
  bases_.clear();
  out.log.left_out = std::exchange(left_out_, 0);
  if (!out.log.activities.empty()) {
    out.origin_ns = std::ranges::min_element(out.log.activities, {}, &Activity::start)->start;
    out.steady_origin_ns = static_cast<int64_t>(out.origin_ns);
  }
  return out;
}

Collected DeviceRecorder::Collect() {
  if (collector_ == nullptr) return CollectTimed();
  auto collected = std::exchange(collector_, nullptr)->Stop();
  if (!collected.has_value()) {
    Note(collected.error());
    return {};
  }
  nodes_.merge(collected->log.nodes);
  collected->log.nodes = nodes_;
  return *std::move(collected);
}

void DeviceRecorder::End(RunStream& stream) {
  if (!is_recording_.exchange(false)) return;
  device_->Enter();
  Collected collected = Collect();
  auto& warnings = collected.log.warnings;
  if (!why_not_cupti_.empty()) {
    warnings.push_back(why_not_cupti_);
    if (!std::exchange(has_told_why_, true)) stream.Take(RunWarning{why_not_cupti_});
  }
  std::ranges::move(std::exchange(notes_, {}), std::back_inserter(warnings));
  const auto origin = [&](uint64_t external) -> std::optional<profiler::cupti::Origin> {
    if (external == 0 || external > module_->instructions().size()) return std::nullopt;
    const InstructionId id(static_cast<uint32_t>(external - 1));
    return profiler::cupti::Origin{std::string(module_->name()), std::string(module_->name(id))};
  };
  TraceFile trace;
  trace.bytes = profiler::cupti::WriteXSpace(collected.log, {origin}, collected.origin_ns);
  trace.start_ns = collected.steady_origin_ns;
  stream.Take(std::move(trace));
  for (TraceSlice& slice : std::exchange(on_host_, {})) stream.Take(std::move(slice));
}

DeviceScope::DeviceScope(DeviceRecorder& recorder, InstructionId id)
    : recorder_(recorder.is_recording() ? &recorder : nullptr) {
  if (recorder_ != nullptr) recorder_->Push(id);
}

void DeviceScope::Begin(InstructionId id, StreamHandle stream, Activity activity) {
  auto timed = std::make_unique<DeviceRecorder::Timed>();
  timed->activity = std::move(activity);
  timed->stream = stream;
  timed->instruction = id;
  const Status status = recorder_->BeginTimed(stream, *timed);
  if (!status.has_value()) return recorder_->Note(status.error());
  if (timed->end) timed_ = std::move(timed);
}

DeviceScope::~DeviceScope() {
  if (recorder_ == nullptr) return;
  if (timed_ != nullptr) recorder_->EndTimed(std::move(*timed_));
  recorder_->Pop();
}

}  // namespace hloscope::replay::cuda
