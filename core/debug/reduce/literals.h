// Simpler literals for reductions of constants and inputs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/hlo/literal.h"

namespace hloscope::debug {

enum class Simpler : uint8_t {
  kZeros,
  kOnes,
  kUniform,   // its first element everywhere
  kHalves,    // of integers, towards zero
  kOneDigit,  // of floats, rounded in decimal
  kThreeDigits,
};

// An array made simpler in that way; nullopt where it is so already or cannot be. What has been
// made simpler is not made less simple by any of the others.
std::optional<hlo::Literal> Simplified(const hlo::Literal& literal, Simpler how);

// The array with zeros for elements [begin, end) of those that are not zero, in row-major order.
hlo::Literal WithZeros(const hlo::Literal& literal, size_t begin, size_t end);
// How many elements are not zero.
size_t CountNonZeros(const hlo::Literal& literal);

// The corner of an array that has these dimensions; where they are larger, elements repeat.
hlo::Literal Resized(const hlo::Literal& literal, const hlo::Shape& shape);

}  // namespace hloscope::debug
