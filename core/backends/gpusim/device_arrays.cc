// Static arrays as plugins have them, and the dynamic ones of XLA:GPU.
#include "core/backends/gpusim/device_arrays.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/backends/pjrt/client.h"
#include "core/backends/pjrt/device_bytes.h"
#include "core/eval/loops/blocks.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;
using hlo::Shape;

// A static array of `sizes` in the layout of `shape`.
Shape WithSizes(const Shape& shape, const std::vector<int64_t>& sizes) {
  Shape result = Shape::Array(shape.element_type(), sizes);
  if (shape.has_layout()) result.set_layout(shape.layout());
  return result;
}

// XLA:GPU lays arrays out row by row in the order of their dimensions, whatever tiles they are said
// to have: neither sizes nor kernels know of them.
Shape Untiled(const Shape& shape) {
  if (!shape.has_layout() || !shape.layout().extras || shape.layout().extras->tiles.empty())
    return shape;
  Shape plain = shape;
  hlo::Layout layout = shape.layout();
  auto extras = std::make_shared<hlo::LayoutExtras>(*layout.extras);
  extras->tiles.clear();
  layout.extras = std::move(extras);
  plain.set_layout(std::move(layout));
  return plain;
}

std::vector<int64_t> BoundsOf(const Shape& shape) {
  return {shape.dimensions().begin(), shape.dimensions().end()};
}

bool IsPacked(const Shape& shape, std::span<const std::byte> memory) {
  return std::cmp_less(memory.size(), shape.ElementCount().value_or(0));
}

// Where the sizes of a dynamic array lie.
int64_t SizesAt(const Shape& shape) { return DeviceBytes(WithSizes(shape, BoundsOf(shape))); }

// One byte an element where there are fewer bits than a byte.
Result<Literal> ReadStatic(const Shape& shape, std::span<const std::byte> memory) {
  if (hlo::BitWidth(shape.element_type()) >= 8 || IsPacked(shape, memory)) {
    return pjrt::FromDeviceBytes(Untiled(shape), memory.data());
  }
  const Shape bytes = Shape::Array(hlo::ElementType::kU8, BoundsOf(shape));
  Shape laid_out = bytes;
  if (shape.has_layout()) {
    hlo::Layout layout;
    layout.minor_to_major = shape.layout().minor_to_major;
    laid_out.set_layout(std::move(layout));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Literal wide, pjrt::FromDeviceBytes(laid_out, memory.data()));
  std::vector<std::byte> narrow(wide.bytes().begin(), wide.bytes().end());
  pjrt::NarrowElements(shape.element_type(), narrow);
  return Literal::Dense(shape.WithoutLayouts(), std::move(narrow));
}

}  // namespace

int64_t DeviceBytes(const Shape& shape) {
  if (!shape.IsArray()) return 0;
  const int64_t bits = hlo::BitWidth(shape.element_type());
  const int64_t count = shape.ElementCount().value_or(0);
  const int64_t bytes = bits < 8
                            ? (count * bits + 7) / 8
                            : shape.ByteSize().value_or(std::numeric_limits<int64_t>::max() / 2);
  const auto rank = static_cast<int64_t>(shape.rank());
  return bytes + (shape.is_static() ? 0 : rank * static_cast<int64_t>(sizeof(int32_t)));
}

Result<Literal> ReadDeviceArray(const Shape& shape, std::span<const std::byte> memory) {
  if (shape.is_static()) return ReadStatic(shape, memory);
  std::vector<int32_t> said(shape.rank());
  std::memcpy(said.data(), memory.data() + SizesAt(shape), said.size() * sizeof(int32_t));
  std::vector<int64_t> live = BoundsOf(shape);
  for (size_t d = 0; d < live.size(); ++d) live[d] = std::clamp<int64_t>(said[d], 0, live[d]);
  HLOSCOPE_ASSIGN_OR_RETURN(const Literal part, ReadStatic(WithSizes(shape, live), memory));
  const Shape whole = shape.WithoutLayouts();
  std::vector<std::byte> bytes(static_cast<size_t>(whole.ByteSize().value_or(0)));
  const std::vector<int64_t> zero(live.size(), 0);
  if (std::ranges::find(live, 0) == live.end()) {
    eval::CopyBlock(live, hlo::StorageBytes(shape.element_type()), {live, zero},
                    part.bytes().data(), {whole.dimensions(), zero}, bytes.data());
  }
  Literal result = Literal::Dense(whole, std::move(bytes));
  result.set_dynamic_sizes(std::move(live));
  return result;
}

Status WriteDeviceArray(const Literal& array, const Shape& shape, std::span<std::byte> memory) {
  if (shape.is_static()) {
    return pjrt::ToDeviceBytes(array, Untiled(shape), IsPacked(shape, memory), memory.data());
  }
  const std::vector<int64_t> live = array.live_sizes();
  const bool fits = live.size() == shape.rank() &&
                    std::ranges::equal(live, shape.dimensions(), std::ranges::less_equal());
  if (!fits) {
    return UnsupportedError("an array of " + hlo::ToString(array.shape(), false) +
                            " is larger than " + hlo::ToString(shape, false));
  }
  const Shape part = WithSizes(shape, live);
  const Literal own = array.Live();
  HLOSCOPE_TRY(pjrt::ToDeviceBytes(own, part, true, memory.data()));
  const std::vector<int32_t> said(live.begin(), live.end());
  std::memcpy(memory.data() + SizesAt(shape), said.data(), said.size() * sizeof(int32_t));
  return {};
}

}  // namespace hloscope::replay
