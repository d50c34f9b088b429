#include "core/runtime/recording.h"

#include <algorithm>
#include <chrono>

#include "core/runtime/execute_options.h"
#include "core/runtime/observer.h"
#include "core/runtime/run_state.h"

namespace hloscope::runtime {
namespace {

constexpr size_t kMaxSamples = 1 << 14;

}  // namespace

int64_t SteadyNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double MeasuredStepCost() {
  constexpr int64_t kSteps = 1 << 12, kRounds = 3;
  const ExecuteOptions options;
  const RunState run(options);
  int64_t least = 0;
  for (int64_t round = 0; round < kRounds; ++round) {
    DeviceRecording out;
    StepRecorder recorder(1, kSteps * 2, run, out);
    recorder.Enter({});
    const int64_t start = SteadyNanoseconds();
    for (int64_t i = 0; i < kSteps; ++i) recorder.Ended(hlo::InstructionId(0u));
    const int64_t taken = SteadyNanoseconds() - start;
    recorder.Leave();
    least = round == 0 ? taken : std::min(least, taken);
  }
  return static_cast<double>(least) / static_cast<double>(kSteps);
}

StepRecorder::StepRecorder(size_t instructions, int64_t most_steps, const RunState& run,
                           DeviceRecording& out)
    : run_(run),
      out_(out),
      most_(static_cast<size_t>(std::max<int64_t>(most_steps, 1))),
      instructions_(instructions) {
  out_.paths.push_back({});
}

uint32_t StepRecorder::PathOf(Level& caller, const Frame& frame) {
  if (caller.newest_call != 0) {  // the condition and the body of one iteration share a path
    const CallPath& newest = out_.paths[caller.newest_call];
    if (newest.caller == frame.caller && newest.iteration == frame.iteration) {
      return caller.newest_call;
    }
  }
  caller.newest_call = static_cast<uint32_t>(out_.paths.size());
  out_.paths.push_back({caller.path, frame.caller, frame.iteration});
  return caller.newest_call;
}

void StepRecorder::Enter(std::span<const Frame> frames) {
  Level level;
  const bool is_entry = levels_.empty();
  level.is_told = is_entry || has_room();
  if (!is_entry && level.is_told && !frames.empty()) {
    level.path = PathOf(levels_.back(), frames.back());
  }
  level.entered = level.step_start = SteadyNanoseconds();
  levels_.push_back(level);
}

void StepRecorder::Leave() {
  const Level left = levels_.back();
  levels_.pop_back();
  if (!levels_.empty()) levels_.back().inside += left.step_start - left.entered;
}

void StepRecorder::Ended(hlo::InstructionId id) {
  Level& level = levels_.back();
  const int64_t end = SteadyNanoseconds();
  const int64_t start = level.step_start, duration = end - start;
  if (level.is_told) {
    if (!summed_.empty()) TellSums(id, level, end);
    out_.steps.push_back({id, level.path, start, duration});
  } else {
    Add(id, start, duration, duration - level.inside);
  }
  level.step_start = end;
  level.inside = 0;
  level.is_told = levels_.size() == 1 || has_room();
  if (end >= next_sample_) SampleLive(end);
}

void StepRecorder::Waited(int64_t start_ns, int64_t end_ns) {
  if (levels_.empty()) return;
  levels_.back().inside += end_ns - start_ns;
  if (has_room()) {
    out_.steps.push_back({{}, levels_.back().path, start_ns, end_ns - start_ns});
  } else {
    ++out_.lost;
    out_.lost_ns += end_ns - start_ns;
  }
}

void StepRecorder::Add(hlo::InstructionId id, int64_t start, int64_t duration, int64_t self) {
  if (sums_.empty()) sums_.resize(instructions_);
  Sum& sum = sums_[id.index];
  if (sum.count == 0) {
    if (summed_.empty()) sums_start_ = start;
    summed_.push_back(id);
    sum.min = duration;
  }
  ++sum.count;
  sum.total += duration;
  sum.self += self;
  sum.min = std::min(sum.min, duration);
  sum.max = std::max(sum.max, duration);
}

// All that was summed began inside the step of `caller` that ends now, and after everything in it
// that is told: one behind the other they have room from the first on.
void StepRecorder::TellSums(hlo::InstructionId caller, const Level& level, int64_t end) {
  const bool is_full = out_.steps.size() > 2 * most_ + instructions_;
  const auto path = static_cast<uint32_t>(out_.paths.size());
  if (!is_full) out_.paths.push_back({level.path, caller, CallPath::kSummed});
  int64_t time = sums_start_;
  for (const hlo::InstructionId id : summed_) {
    Sum& sum = sums_[id.index];
    if (is_full) {
      out_.lost += sum.count;
      out_.lost_ns += sum.self;
    } else {
      const int64_t self = std::clamp<int64_t>(sum.self, 0, end - time);
      out_.sums.push_back({out_.steps.size(), sum.count, sum.total, sum.min, sum.max});
      out_.steps.push_back({id, path, time, self});
      time += self;
    }
    sum = {};
  }
  summed_.clear();
}

// Twice as seldom each time there are too many.
void StepRecorder::SampleLive(int64_t now) {
  out_.live.push_back({now, run_.live_bytes()});
  if (out_.live.size() >= kMaxSamples) {
    for (size_t i = 0; i < kMaxSamples / 2; ++i) out_.live[i] = out_.live[2 * i];
    out_.live.resize(kMaxSamples / 2);
    sample_interval_ *= 2;
  }
  next_sample_ = now + sample_interval_;
}

}  // namespace hloscope::runtime
