// Finding NaNs and infinities in arrays.
#pragma once

#include <cstdint>
#include <optional>

#include "core/hlo/literal.h"

namespace hloscope::replay {

enum class NonFiniteKind : uint8_t { kNan, kInfinity };

// The first element at or after `from`, counted row-major, that is of that kind (of a complex
// number: either part); nullopt if there is none or the type has none. Any array literal.
std::optional<int64_t> FindNonFinite(const hlo::Literal& array, NonFiniteKind kind,
                                     int64_t from = 0);

// True if element `at` is a NaN, or an infinity where `kind` is that.
bool IsNonFinite(const hlo::Literal& array, int64_t at, NonFiniteKind kind);

// Smallest and largest finite element of a float array (of complex numbers: part); nullopt if there
// is none.
struct FiniteRange {
  double low = 0, high = 0;
};
std::optional<FiniteRange> FiniteRangeOf(const hlo::Literal& array);

}  // namespace hloscope::replay
