#include "core/backends/cuda/device_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/backends/libraries/library.h"
#include "core/backends/plugins/library_files.h"
#include "core/base/counted.h"
#include "core/replay/host_fallbacks.h"
#include "profiler/cupti/to_xspace.h"

namespace hloscope::replay::cuda {

using hlo::InstructionId;
using profiler::cupti::Activity;
using profiler::cupti::Collected;
using profiler::cupti::Collector;
using profiler::cupti::Work;

namespace {

// The driver tells times between events as floats: within this many milliseconds they are exact to
// some nanoseconds.
constexpr float kExactMilliseconds = 100;

constexpr std::string_view kNoMetrics = "counters of kernels were not measured";
constexpr std::string_view kNoLines = "lines of PTX were not sampled";

int64_t NanosecondsOf(float milliseconds) { return std::llround(double{milliseconds} * 1e6); }

}  // namespace

Activity CopyActivity(std::string name, int64_t bytes) {
  Activity activity;
  activity.work = Work::kCopy;
  activity.name = std::move(name);
  activity.bytes = static_cast<uint64_t>(bytes);
  activity.detail = fmt::format("size:{}", bytes);
  return activity;
}

void DeviceRecorder::Begin(const RunOptions& options) {
  has_begun_ = is_recording_ = options.record.steps > 0;
  if (!is_recording_) return;
  wants_metrics_ = options.record.kernel_metrics;
  wants_lines_ = options.record.pc_sampling;
  most_timed_ = static_cast<size_t>(options.record.steps);
  // Asked again in each run: whoever was in the way may be gone.
  why_not_cupti_.clear();
  auto started = Collector::Start(CuptiFiles(device_->driver().version()),
                                  {.most = {.device = most_timed_, .host = most_timed_}});
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
  {
    const std::lock_guard lock(mutex_);
    if (handed_over_.contains(id)) return;  // told with its copies
  }
  TellOnHost(id, nanoseconds);
}

void DeviceRecorder::TellOnHost(InstructionId id, int64_t nanoseconds) {
  if (!is_recording_) return;
  TraceSlice slice{std::string(module_->name(id)), std::string(kFallbackLane),
                   runtime::SteadyNanoseconds() - nanoseconds, nanoseconds};
  const std::lock_guard lock(mutex_);
  if (on_host_.size() >= most_timed_) {
    ++on_host_left_out_;
    return;
  }
  on_host_.push_back(std::move(slice));
}

HostFallback::HostFallback(DeviceRecorder& recorder, InstructionId id)
    : recorder_(recorder), id_(id), start_ns_(runtime::SteadyNanoseconds()) {
  const std::lock_guard lock(recorder_.mutex_);
  recorder_.handed_over_.insert(id_);
}

HostFallback::~HostFallback() {
  {
    const std::lock_guard lock(recorder_.mutex_);
    recorder_.handed_over_.erase(recorder_.handed_over_.find(id_));
  }
  recorder_.TellOnHost(id_, runtime::SteadyNanoseconds() - start_ns_);
}

void DeviceRecorder::Launched(int64_t kernels) {
  if (collector_ != nullptr) collector_->Await(kernels);
}

void DeviceRecorder::BeginCapture() {
  if (collector_ != nullptr) collector_->BeginCapture();
}
void DeviceRecorder::EndCapture() {
  if (collector_ != nullptr) collector_->EndCapture();
}

// 0 is no number of CUPTI's.
void DeviceRecorder::Push(InstructionId id) {
  if (collector_ != nullptr) collector_->Push(uint64_t{id.index} + 1);
}
void DeviceRecorder::Pop() {
  if (collector_ != nullptr) collector_->Pop();
}

void DeviceRecorder::Note(const Error& error, std::string_view what) {
  std::string note = what.empty() ? error.message : fmt::format("{}: {}", what, error.ToString());
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(std::move(note));
}

void DeviceRecorder::Warn(std::string warning) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(warnings_, warning) == warnings_.end()) {
    warnings_.push_back(std::move(warning));
  }
}

Status DeviceRecorder::BeginTimed(StreamHandle stream, Timed& timed) {
  const Driver& driver = device_->driver();
  const std::lock_guard lock(mutex_);
  if (timed_.size() >= most_timed_) {
    ++left_out_[timed.activity.work];
    return {};
  }
  DeviceNumber number = 0;
  HLOSCOPE_TRY(driver.Check(driver->ContextGetDevice(&number), "asking for the thread's device"));
  timed.activity.device = static_cast<uint32_t>(number);
  if (!bases_.contains(stream)) {
    HLOSCOPE_ASSIGN_OR_RETURN(Event event, MakeEvent(device_, kTiming));
    HLOSCOPE_TRY(driver.Check(driver->EventRecord(event.get(), stream), "marking a time"));
    HLOSCOPE_TRY(driver.Check(driver->EventSynchronize(event.get()), "waiting for a mark"));
    bases_[stream] = {std::move(event), runtime::SteadyNanoseconds()};
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
    Base& base = bases_.at(timed.stream);
    float since_ms = 0, lasted_ms = 0;
    Status status =
        driver.Check(driver->EventSynchronize(timed.end.get()), "waiting for the end of a launch");
    for (const auto& [ms, from, to] : {std::tuple(&since_ms, &base.event, &timed.begin),
                                       std::tuple(&lasted_ms, &timed.begin, &timed.end)}) {
      if (!status.has_value()) break;
      status = driver.Check(driver->EventElapsedTime(ms, from->get(), to->get()),
                            "asking for the time of a launch");
    }
    if (!status.has_value()) {
      Note(status.error());
      continue;
    }
    const int64_t start_ns = base.steady_ns + NanosecondsOf(since_ms);
    timed.activity.start = static_cast<uint64_t>(start_ns);
    timed.activity.end = static_cast<uint64_t>(start_ns + NanosecondsOf(lasted_ms));
    if (since_ms > kExactMilliseconds) base = {std::move(timed.begin), start_ns};
    timed.activity.correlation = static_cast<uint32_t>(out.log.activities.size()) + 1;
    out.log.external[timed.activity.correlation] = uint64_t{timed.instruction.index} + 1;
    out.log.activities.push_back(std::move(timed.activity));
  }
  bases_.clear();
  out.log.left_out = std::exchange(left_out_, {});
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

using profiler::cupti::RangeProfiler;

namespace {

// "cublaslt,cufft": what leaves each library out.
std::string AllWords() {
  std::string words;
  for (const libraries::DeviceLibraryRow& row : libraries::DeviceLibraryRows()) {
    words += fmt::format("{}{}", words.empty() ? "" : ",", row.word);
  }
  return words;
}

}  // namespace

Result<std::unique_ptr<RangeProfiler>> DeviceRecorder::StartCounters() {
  HLOSCOPE_TRY(device_->Enter());
  HLOSCOPE_ASSIGN_OR_RETURN(
      auto library, profiler::cupti::Library::Open(CuptiFiles(device_->driver().version())));
  return RangeProfiler::Start(
      std::move(library),
      {.context = device_->context(), .device = static_cast<size_t>(device_->number())});
}

Result<std::unique_ptr<LineSampler>> DeviceRecorder::StartLines() {
  if (code_.empty()) return UnsupportedError("the module has no kernel of ours");
  HLOSCOPE_TRY(device_->Enter());
  HLOSCOPE_ASSIGN_OR_RETURN(
      auto library, profiler::cupti::Library::Open(CuptiFiles(device_->driver().version())));
  HLOSCOPE_ASSIGN_OR_RETURN(auto sampler, profiler::cupti::PcSampler::Start(
                                              std::move(library), {.context = device_->context()}));
  return std::make_unique<LineSampler>(code_, std::move(sampler));
}

bool DeviceRecorder::IsOnSeveral(std::string_view what) {
  if (gpus_ <= 1) return false;
  Note({ErrorClass::kUnsupported,
        fmt::format("they are read of one GPU, and this run was on {}", gpus_),
        {},
        "CUDA_VISIBLE_DEVICES=0 puts all devices on one"},
       what);
  return true;
}

bool DeviceRecorder::BeginCounters() {
  if (IsOnSeveral(kNoMetrics)) return false;
  if (others_launch_) {
    Note({ErrorClass::kUnsupported,
          "kernels of NVIDIA's libraries among ours are not counted one by one",
          {},
          "leave the libraries out: --xla_disable_hlo_passes=" + AllWords()},
         kNoMetrics);
    return false;
  }
  launched_.clear();
  auto started = StartCounters();
  if (!started.has_value()) {
    Note(started.error(), kNoMetrics);
    return false;
  }
  counters_ = *std::move(started);
  return true;
}

bool DeviceRecorder::BeginAgain() {
  if (!wants_metrics_ && !wants_lines_) return false;
  device_->Enter();
  if (is_recording_) collected_ = Collect();
  is_recording_ = false;
  if (std::exchange(wants_metrics_, false) && BeginCounters()) return true;
  if (!std::exchange(wants_lines_, false) || IsOnSeveral(kNoLines)) return false;
  auto started = StartLines();
  if (!started.has_value()) {
    Note(started.error(), kNoLines);
    return false;
  }
  lines_ = *std::move(started);
  return true;
}

DeviceRecorder::Turn::Turn(DeviceRecorder& recorder, InstructionId id, StreamHandle stream)
    : recorder_(recorder), id_(id), stream_(stream) {
  if (!recorder.counters_ && !recorder.lines_) return;
  lock_ = std::unique_lock(recorder.turn_);
  if (recorder.lines_ != nullptr) {
    recorder.lines_->Begin();
    return;
  }
  recorder.counters_->BeforeLaunch();
  recorder.launched_.push_back({uint64_t{id.index} + 1, {}});
}

DeviceRecorder::Turn::~Turn() {
  if (!lock_.owns_lock() || recorder_.lines_ == nullptr) return;
  const Driver& driver = recorder_.device_->driver();
  const Status ended =
      driver.Check(driver->StreamSynchronize(stream_), "waiting for a kernel that is sampled");
  if (!ended.has_value()) recorder_.Note(ended.error(), kNoLines);
  recorder_.lines_->End(uint64_t{id_.index} + 1);
}

void DeviceRecorder::EndAgain(const Status& ran) {
  device_->Enter();
  return counters_ != nullptr ? EndCounters(ran) : EndLines(ran);
}

void DeviceRecorder::EndCounters(const Status& ran) {
  const auto counters = std::exchange(counters_, nullptr);
  auto measured = counters->Finish();
  const Status status = !ran.has_value()       ? ran
                        : measured.has_value() ? Status()
                                               : std::unexpected(measured.error());
  if (!status.has_value()) return Note(status.error(), kNoMetrics);
  auto& log = collected_->log;
  std::ranges::copy(counters->warnings(), std::back_inserter(log.warnings));
  for (size_t i = 0; i < launched_.size(); ++i) launched_[i].metrics = (*measured)[i];
  AttachMetrics(log, launched_);
}

void DeviceRecorder::EndLines(const Status& ran) {
  const auto lines = std::exchange(lines_, nullptr);
  auto found = lines->Finish();
  if (!ran.has_value()) return Note(ran.error(), kNoLines);
  if (!found.has_value()) return Note(found.error(), kNoLines);
  auto& log = collected_->log;
  std::ranges::move(found->warnings, std::back_inserter(log.warnings));
  if (others_launch_) {
    log.warnings.push_back(
        "kernels of NVIDIA's libraries are not sampled: without them all are ours: "
        "--xla_disable_hlo_passes=" +
        AllWords());
  }
  AttachLines(log, std::move(found->lines));
}

void DeviceRecorder::End(RunStream& stream) {
  for (std::string& warning : std::exchange(warnings_, {})) {
    stream.Take(RunWarning{std::move(warning)});
  }
  if (!std::exchange(has_begun_, false)) return;
  device_->Enter();
  Collected collected = collected_ ? *std::exchange(collected_, std::nullopt) : Collect();
  is_recording_ = false;
  auto& warnings = collected.log.warnings;
  if (!why_not_cupti_.empty()) {
    warnings.push_back(why_not_cupti_);
    if (why_not_cupti_ != std::exchange(told_why_not_, why_not_cupti_)) {
      stream.Take(RunWarning{why_not_cupti_});
    }
  }
  if (const int64_t count = std::exchange(on_host_left_out_, 0); count > 0) {
    warnings.push_back(
        fmt::format("left out, more than a recording keeps: {} on the host, in place of the device",
                    Counted(count, "instruction")));
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
