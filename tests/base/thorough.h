// How far a test goes that sweeps over sizes, themes or samples.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>

namespace hloscope {

/// Whether HLOSCOPE_THOROUGH is set, as it is for tests of the tier `nightly`.
inline bool IsThorough() { return std::getenv("HLOSCOPE_THOROUGH") != nullptr; }

/// All of a list where the test is thorough, otherwise its first row.
template <typename T, size_t N>
std::span<const T> Swept(const T (&rows)[N]) {
  return std::span<const T>(rows, IsThorough() ? N : 1);
}

}  // namespace hloscope
