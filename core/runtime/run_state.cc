// RunState: counting bytes and steps, watching the clock, sharing out loops.
#include "core/runtime/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>

#include "core/base/counted.h"
#include "core/base/machine_memory.h"
#include "core/runtime/execute_options.h"

namespace hloscope::runtime {

namespace {

constexpr int64_t kStepsBetweenLooks = 1 << 16;
constexpr int64_t kLongestSeconds = int64_t{1} << 31;  // more would overflow the clock

std::unexpected<Error> Died(ErrorClass error_class, std::string message, std::string hint = {}) {
  return std::unexpected(Error{error_class, std::move(message), {}, std::move(hint)});
}

}  // namespace

int64_t MemoryLimitOf(const ExecuteOptions& options) {
  return options.memory_bytes > 0 ? options.memory_bytes
                                  : MachineMemoryBytes() / 100 * options.limits.run_memory_percent;
}

RunState::RunState(const ExecuteOptions& options)
    : limits_(options.limits),
      stop_(options.stop),
      memory_limit_(MemoryLimitOf(options)),
      keeps_pool_(options.pool != nullptr && options.pool->limit_bytes() == memory_limit_),
      pool_(keeps_pool_ ? options.pool : std::make_shared<BufferPool>(memory_limit_)),
      deadline_(options.deadline.value_or(
          std::chrono::steady_clock::now() +
          std::chrono::seconds(std::min(options.limits.run_deadline_seconds, kLongestSeconds)))),
      threads_(options.threads > 0 ? options.threads : AvailableCpus()) {}

RunState::~RunState() {
  if (!keeps_pool_) pool_->Close();
}

Result<Buffer> RunState::Allocate(int64_t bytes) {
  const BufferPool::Taken taken = pool_->Take(bytes);
  switch (taken.outcome) {
    case BufferPool::Outcome::kOverLimit:
      return Died(ErrorClass::kResourceExhausted,
                  fmt::format("{} more would exceed the memory limit of {}", Counted(bytes, "byte"),
                              Counted(memory_limit_, "byte")),
                  "raise --memory or --limit memory");
    case BufferPool::Outcome::kNoMemory:
      return EnvironmentError("cannot allocate " + Counted(bytes, "byte"));
    case BufferPool::Outcome::kTaken:
      break;
  }
  auto release = [pool = pool_, bytes](std::byte* data) { pool->GiveBack(data, bytes); };
  return Buffer{std::shared_ptr<std::byte[]>(taken.data, std::move(release)),
                static_cast<size_t>(bytes)};
}

Status RunState::Charge(int64_t steps) {
  const int64_t all = steps_.fetch_add(steps, std::memory_order_relaxed) + steps;
  if (all < steps_at_next_look_.load(std::memory_order_relaxed)) return {};
  steps_at_next_look_.store(all + kStepsBetweenLooks, std::memory_order_relaxed);
  if (all > limits_.interpreter_steps) {
    return Died(ErrorClass::kDeadlineExceeded,
                "more than " + Counted(limits_.interpreter_steps, "element operation"),
                "raise --limit interpreter-steps");
  }
  return Look();
}

Status RunState::Look() const {
  if (stop_.stop_requested()) return Died(ErrorClass::kCancelled, "the run was cancelled");
  if (std::chrono::steady_clock::now() >= deadline_) {
    return Died(ErrorClass::kDeadlineExceeded, "the deadline passed",
                "raise --deadline or --limit deadline");
  }
  return {};
}

Status RunState::ForRanges(int64_t n, int64_t grain,
                           const std::function<Status(IndexRange)>& body) {
  const int64_t ranges = n <= 0 ? 0 : (n - 1) / grain + 1;
  const auto range = [&](int64_t i) { return IndexRange{i * grain, std::min(n, (i + 1) * grain)}; };
  if (threads_ == 1 || ranges <= 1) {
    for (int64_t i = 0; i < ranges; ++i) {
      if (i > 0) HLOSCOPE_TRY(Look());
      HLOSCOPE_TRY(body(range(i)));
    }
    return {};
  }
  std::mutex mutex;
  int64_t failed_at = std::numeric_limits<int64_t>::max();
  std::optional<Error> error;
  HLOSCOPE_TRY(SharedJobs(threads_).ParallelFor(ranges, [&](int64_t i) {
    Status status = Look();
    if (status.has_value()) status = body(range(i));
    if (status.has_value()) return;
    const std::lock_guard lock(mutex);
    if (i >= failed_at) return;
    failed_at = i;
    error = std::move(status).error();
  }));
  if (error.has_value()) return std::unexpected(*std::move(error));
  return {};
}

}  // namespace hloscope::runtime
