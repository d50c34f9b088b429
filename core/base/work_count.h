// Counted work: how many steps the scans of this thread took, so that tests can hold them linear
// without a clock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hloscope {

inline uint64_t& WorkCount() {
  thread_local uint64_t steps = 0;
  return steps;
}
inline void CountWork(size_t steps) { WorkCount() += steps; }

}  // namespace hloscope
