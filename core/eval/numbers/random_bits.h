// The counter-based generators of rng-bit-generator: ThreeFry 2x32 and Philox 4x32, after Salmon et
// al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace hloscope::eval {

// As many counters are turned into bits at once, in loops that can be vector code.
inline constexpr int kCountersAtOnce = 16;
template <int kWords>
using CounterBlock = std::array<std::array<uint32_t, kCountersAtOnce>, kWords>;  // word by word

// 20 rounds, in place.
void ThreeFry2x32(CounterBlock<2>& counters, std::array<uint32_t, 2> key);
// 10 rounds, in place.
void Philox4x32(CounterBlock<4>& counters, std::array<uint32_t, 2> key);

}  // namespace hloscope::eval
