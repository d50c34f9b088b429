// EarlierMemory: the memory of a kernel case before each of its launches, from the last to the
// first, at the cost of running each twice.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/backends/gpusim/kernel_case.h"

namespace hloscope::replay {

class EarlierMemory {
 public:
  // Does one launch.
  using Launch = std::function<Status(uint64_t launch, CaseMemory& memory)>;

  // `first`: before launch 0. Memory is kept before about √`launches` launches twice, where that is
  // less than `most_bytes`; else before fewer, and launches run more often.
  EarlierMemory(CaseMemory first, uint64_t launches, Launch launch,
                uint64_t most_bytes = uint64_t{1} << 30);

  // Before that launch, until the next call. Launches that go up cost as many again. Errors: those
  // of launches.
  Result<const CaseMemory*> Before(uint64_t launch);

 private:
  Launch launch_;
  uint64_t stride_ = 1, window_ = 1;
  std::vector<CaseMemory> marks_;   // before launches 0, stride_, 2 · stride_ …
  std::vector<CaseMemory> states_;  // before launches from first_ on
  uint64_t first_ = 0;
};

}  // namespace hloscope::replay
