// ExecuteOptions: what a run may use, who sees it, and what it exchanges with its host.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"

namespace hloscope::runtime {

class BufferPool;
class Observer;
struct Recording;

struct ExecuteOptions {
  Limits limits;             // deadline, memory, tensor, nesting and interpreter-steps are honoured
  int64_t memory_bytes = 0;  // instead of the limit's share of the machine's memory, if positive
  // Memory that is kept from run to run; null, or of another limit: the run has its own.
  std::shared_ptr<BufferPool> pool;
  int threads = 0;  // 0: one for each CPU; results never depend on it
  // Instead of the limit deadline, counted from the start of the run.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::stop_token stop;
  Observer* observer = nullptr;
  // Gives constants whose bytes the file does not hold made-up elements from this seed; without it
  // a result that depends on one is an error.
  std::optional<uint64_t> fill_elided;
  // Called for each array that an infeed takes, and that an outfeed gives, in order; devices may
  // call at the same time. Null: arrays are generated from the seed below, or dropped.
  std::function<Result<hlo::Literal>(const hlo::Shape&)> infeed;
  std::function<Status(const hlo::Literal&)> outfeed;
  // Records when each instruction ran; null: nothing is recorded. Results are the same.
  Recording* recording = nullptr;
  // Seeds rng, rng-bit-generator's default algorithm and rng-get-and-update-state.
  uint64_t rng_seed = 42;
};

// The most bytes of values that a run with these options may hold at once.
int64_t MemoryLimitOf(const ExecuteOptions& options);

}  // namespace hloscope::runtime
