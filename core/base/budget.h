// Budget: what a piece of work may take.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>

namespace hloscope {

struct Budget {
  int threads = 0;           // 0: one for each CPU; results do not depend on it
  int64_t memory_bytes = 0;  // 0: the limit's share of the machine's memory
  // From when it starts, for the code that sets the deadline; absent: the limit.
  std::optional<double> seconds = {};
  std::optional<std::chrono::steady_clock::time_point> deadline = {};  // absent: the limit, or none
  std::stop_token stop = {};
};

}  // namespace hloscope
