// Elements of literals between the order of a layout, in which protos have them, and row-major
// order.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/literal.h"

namespace hloscope::hlo {

inline const std::byte* BeginOf(std::string_view s) {
  return reinterpret_cast<const std::byte*>(s.data());
}
inline const std::byte* EndOf(std::string_view s) { return BeginOf(s) + s.size(); }

// True if the layout is row-major, or absent.
bool IsDefaultOrder(const Shape& shape);
// Fails unless the layout, if there is one, names every dimension once.
Status CheckLayout(const Shape& shape);
// Elements moved from the order of the layout to row-major order, or back. The layout must be
// sound.
std::vector<std::byte> Reorder(const Shape& shape, std::span<const std::byte> in, bool to_rows);
// A literal of elements in the order of the layout, as many bytes as the shape says.
Literal DenseOf(Shape shape, std::vector<std::byte> bytes);
// Whether elements stored as `bytes` can stay where they are: large, aligned, kept alive.
bool CanView(const Shape& shape, std::string_view bytes, const void* owner);
// Narrow elements one to a byte, from as many bytes or from several packed into each, the first in
// the lowest bits.
std::vector<std::byte> Unpack(std::string_view packed, ElementType type, int64_t count);

}  // namespace hloscope::hlo
