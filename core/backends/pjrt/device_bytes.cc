// From memory order to row-major order and back.
#include "core/backends/pjrt/device_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/backends/pjrt/client.h"

namespace hloscope::replay::pjrt {
namespace {

using hlo::Literal;
using hlo::Shape;

// One byte for each packed element.
std::vector<std::byte> Unpacked(const std::byte* data, size_t count, int bits) {
  std::vector<std::byte> bytes(count);
  const auto width = static_cast<size_t>(bits), per_byte = 8 / width;
  const std::byte mask{static_cast<unsigned char>((1u << width) - 1)};
  for (size_t i = 0; i < count; ++i) {
    bytes[i] = (data[i / per_byte] >> static_cast<int>(i % per_byte * width)) & mask;
  }
  return bytes;
}

// For each dimension, how many elements apart its neighbours lie.
std::vector<int64_t> StridesOf(const Shape& shape) {
  std::vector<int64_t> strides(shape.rank());
  int64_t stride = 1;
  for (const int64_t d : shape.layout().minor_to_major) {
    strides[static_cast<size_t>(d)] = stride;
    stride *= shape.dimension(static_cast<size_t>(d));
  }
  return strides;
}

// Copies every element between row-major order and the order of the shape's layout.
template <size_t kBytes, bool kToLayout>
void Move(const Shape& shape, const std::byte* from, std::byte* to) {
  const std::vector<int64_t> strides = StridesOf(shape);
  const size_t last = shape.rank() - 1;
  const int64_t inner = shape.dimension(last), step = strides[last];
  std::vector<int64_t> index(shape.rank(), 0);
  int64_t offset = 0;
  for (int64_t rows = *shape.ElementCount() / inner; rows > 0; --rows) {
    for (int64_t i = 0; i < inner; ++i) {
      const size_t placed = static_cast<size_t>(offset + i * step) * kBytes;
      if constexpr (kToLayout) {
        std::memcpy(to + placed, from, kBytes);
        from += kBytes;
      } else {
        std::memcpy(to, from + placed, kBytes);
        to += kBytes;
      }
    }
    for (size_t d = last; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape.dimension(d)) break;
      offset -= strides[d] * shape.dimension(d);
      index[d] = 0;
    }
  }
}

template <bool kToLayout>
void MoveElements(const Shape& shape, size_t element, const std::byte* from, std::byte* to) {
  switch (element) {
    case 1:
      return Move<1, kToLayout>(shape, from, to);
    case 2:
      return Move<2, kToLayout>(shape, from, to);
    case 4:
      return Move<4, kToLayout>(shape, from, to);
    case 8:
      return Move<8, kToLayout>(shape, from, to);
    default:
      return Move<16, kToLayout>(shape, from, to);
  }
}

// The other way round; `to` is written whole.
void Pack(const std::byte* data, size_t count, int bits, std::byte* to) {
  const auto width = static_cast<size_t>(bits), per_byte = 8 / width;
  const std::byte mask{static_cast<unsigned char>((1u << width) - 1)};
  for (size_t i = 0; i < count; ++i) {
    if (i % per_byte == 0) to[i / per_byte] = std::byte{0};
    to[i / per_byte] |= (data[i] & mask) << static_cast<int>(i % per_byte * width);
  }
}

bool IsTiled(const Shape& shape) {
  return shape.has_layout() && shape.layout().extras && !shape.layout().extras->tiles.empty();
}

bool IsRowMajor(const Shape& shape) {
  return !shape.has_layout() ||
         shape.layout().minor_to_major == hlo::Layout::Default(shape.rank()).minor_to_major;
}

}  // namespace

Result<Literal> FromDeviceBytes(const Shape& shape, const std::byte* data) {
  const auto size = shape.ByteSize();
  if (!size || !shape.is_static() || IsTiled(shape)) {
    return UnsupportedError(
        fmt::format("an array of {} cannot be captured", hlo::ToString(shape, true)));
  }
  const auto count = static_cast<size_t>(*shape.ElementCount());
  std::vector<std::byte> bytes;
  const int bits = hlo::BitWidth(shape.element_type());
  std::vector<std::byte> unpacked;
  if (bits < 8) data = (unpacked = Unpacked(data, count, bits)).data();
  if (count == 0 || IsRowMajor(shape)) {
    bytes.assign(data, data + *size);
  } else {
    bytes.resize(static_cast<size_t>(*size));
    MoveElements<false>(shape, static_cast<size_t>(hlo::StorageBytes(shape.element_type())), data,
                        bytes.data());
  }
  NarrowElements(shape.element_type(), bytes);
  return Literal::Dense(shape.WithoutLayouts(), std::move(bytes));
}

Status ToDeviceBytes(const Literal& array, const Shape& shape, bool is_packed, std::byte* to) {
  if (!shape.is_static() || IsTiled(shape) ||
      !std::ranges::equal(array.shape().dimensions(), shape.dimensions()) ||
      array.shape().element_type() != shape.element_type()) {
    return UnsupportedError(fmt::format("an array of {} cannot be written as {}",
                                        hlo::ToString(array.shape(), true),
                                        hlo::ToString(shape, true)));
  }
  const auto count = static_cast<size_t>(*shape.ElementCount());
  const std::byte* data = array.bytes().data();
  std::vector<std::byte> ordered;
  if (count > 0 && !IsRowMajor(shape)) {
    ordered.resize(array.bytes().size());
    MoveElements<true>(shape, static_cast<size_t>(hlo::StorageBytes(shape.element_type())), data,
                       ordered.data());
    data = ordered.data();
  }
  if (is_packed && hlo::BitWidth(shape.element_type()) < 8) {
    Pack(data, count, hlo::BitWidth(shape.element_type()), to);
  } else if (count > 0) {
    std::memcpy(to, data, array.bytes().size());
  }
  return {};
}

}  // namespace hloscope::replay::pjrt
