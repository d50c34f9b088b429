// From memory order to row-major order.
#include "core/replay/pjrt/device_bytes.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

#include "core/replay/pjrt/client.h"

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

template <size_t kBytes>
void Gather(const Shape& shape, const std::byte* from, std::byte* to) {
  const std::vector<int64_t> strides = StridesOf(shape);
  const size_t last = shape.rank() - 1;
  const int64_t inner = shape.dimension(last), step = strides[last];
  std::vector<int64_t> index(shape.rank(), 0);
  int64_t offset = 0;
  for (int64_t rows = *shape.ElementCount() / inner; rows > 0; --rows) {
    for (int64_t i = 0; i < inner; ++i, to += kBytes) {
      std::memcpy(to, from + static_cast<size_t>(offset + i * step) * kBytes, kBytes);
    }
    for (size_t d = last; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape.dimension(d)) break;
      offset -= strides[d] * shape.dimension(d);
      index[d] = 0;
    }
  }
}

void GatherElements(const Shape& shape, size_t element, const std::byte* from, std::byte* to) {
  switch (element) {
    case 1:
      return Gather<1>(shape, from, to);
    case 2:
      return Gather<2>(shape, from, to);
    case 4:
      return Gather<4>(shape, from, to);
    case 8:
      return Gather<8>(shape, from, to);
    default:
      return Gather<16>(shape, from, to);
  }
}

bool IsRowMajor(const Shape& shape) {
  return !shape.has_layout() ||
         shape.layout().minor_to_major == hlo::Layout::Default(shape.rank()).minor_to_major;
}

}  // namespace

Result<Literal> FromDeviceBytes(const Shape& shape, const std::byte* data) {
  const auto size = shape.ByteSize();
  const bool tiled =
      shape.has_layout() && shape.layout().extras && !shape.layout().extras->tiles.empty();
  if (!size || !shape.is_static() || tiled) {
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
    GatherElements(shape, static_cast<size_t>(hlo::StorageBytes(shape.element_type())), data,
                   bytes.data());
  }
  NarrowElements(shape.element_type(), bytes);
  return Literal::Dense(shape.WithoutLayouts(), std::move(bytes));
}

}  // namespace hloscope::replay::pjrt
