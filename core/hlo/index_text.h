// Places of values as text: in arrays with brackets, in tuples with braces.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace hloscope::hlo {

/// "[0,3]": the place of an element in an array; "[]" of a scalar.
std::string ArrayIndexText(std::span<const int64_t> index);

/// "{1,0}": the place of a value in a tuple of tuples, as XLA writes a ShapeIndex; "{}" of one that
/// is no tuple.
std::string ShapeIndexText(std::span<const int64_t> index);

}  // namespace hloscope::hlo
