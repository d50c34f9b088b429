// One sentence for every opcode, attribute and part of a layout.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hlo/opcode.h"
#include "core/hlo/shape.h"

namespace hloscope::hlo {

/// "the sum of two arrays, element by element".
std::string_view Describe(Opcode opcode);
std::string_view Describe(AttributeKey key);

/// What S(1) means on a device, "cpu", "gpu", "tpu" or "" (not known: each meaning is named).
std::string DescribeMemorySpace(int64_t space, std::string_view device);

struct LayoutPart {
  std::string text, meaning;  // "T(8,128)", "tiles of 8 by 128 elements …"
};
/// The parts of an array's layout, in their order; empty for other shapes and without a layout.
std::vector<LayoutPart> DescribeLayout(const Shape& shape, std::string_view device);

/// Where in memory the elements of the last two dimensions lie, in units of elements, at most
/// `rows` by `columns` of them; empty where the layout has no such places.
std::vector<std::vector<int64_t>> TilingPlaces(const Shape& shape, size_t rows, size_t columns);
/// The same as text. Rows of numbers: where in memory the elements of the last two dimensions lie,
/// in units of elements, at most `rows` by `columns` of them; empty where the layout has no such
/// picture.
std::string TilingPicture(const Shape& shape, size_t rows, size_t columns);

}  // namespace hloscope::hlo
