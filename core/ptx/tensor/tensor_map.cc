// Tensor maps: their limits, and the bytes that stand for them in a parameter.
#include "core/ptx/tensor/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/base/checked.h"

namespace hloscope::ptx {
namespace {

constexpr uint64_t kMark = 0x70616d726f736e74;  // no address

constexpr uint64_t kMaxBoxBytes = 256 << 10;

Status Refuse(const std::string& what) {
  return InputError("a tensor map " + what, "see cuTensorMapEncodeTiled for what a map may say");
}

}  // namespace

Status CheckTensorMap(const TensorMap& map, uint64_t memory_bytes) {
  const size_t n = map.sizes.size();
  if (n == 0 || n > kMaxTensorDimensions || map.strides.size() != n - 1 || map.box.size() != n ||
      map.steps.size() != n) {
    return Refuse("of other than 1 to 5 dimensions");
  }
  const uint32_t bytes = map.element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    return Refuse("of elements of " + std::to_string(bytes) + " bytes");
  uint64_t last = bytes;  // bytes from the first element to the end of the last
  for (size_t i = 0; i < n; ++i) {
    if (map.sizes[i] == 0 || map.sizes[i] > 0xffffffff)
      return Refuse("of no elements or over 2^32");
    if (map.box[i] == 0 || map.box[i] > 256) return Refuse("with a box of 0 or over 256 elements");
    if (map.steps[i] == 0 || map.steps[i] > 8) return Refuse("with steps outside of 1 to 8");
    const uint64_t stride = i == 0 ? bytes : map.strides[i - 1];
    if (i > 0 && stride % 16 != 0)
      return Refuse("with a stride that is not a multiple of 16 bytes");
    const auto extent = CheckedMul<uint64_t>(stride, map.sizes[i] - 1);
    const auto sum = extent ? CheckedAdd<uint64_t>(last, *extent) : std::nullopt;
    if (!sum) return Refuse("of an array beyond 64 bits");
    last = *sum;
  }
  if (last > memory_bytes) {
    return Refuse("of an array of " + std::to_string(last) + " bytes over memory of " +
                  std::to_string(memory_bytes));
  }
  uint64_t box_bytes = bytes;
  for (size_t i = 0; i < n; ++i) box_bytes *= map.Taken(i);  // below 2^43
  if (box_bytes > kMaxBoxBytes) return Refuse("whose box is larger than shared memory");
  if (map.steps[0] != 1) return Refuse("with steps in its contiguous dimension");
  const uint32_t row = map.box[0] * bytes;
  if (row % 16 != 0) return Refuse("whose box has rows that are not a multiple of 16 bytes");
  if (map.swizzle != Swizzle::kNone && row > RowBytes(map.swizzle))
    return Refuse("whose box is wider than its swizzle");
  return {};
}

uint32_t BytesOf(MapElement element) {
  switch (element) {
    case MapElement::kU8:
      return 1;
    case MapElement::kU16:
    case MapElement::kF16:
    case MapElement::kBf16:
      return 2;
    case MapElement::kU32:
    case MapElement::kS32:
    case MapElement::kF32:
    case MapElement::kF32Ftz:
    case MapElement::kTf32:
    case MapElement::kTf32Ftz:
      return 4;
    case MapElement::kU64:
    case MapElement::kS64:
    case MapElement::kF64:
      return 8;
    default:
      return 0;
  }
}

std::optional<TensorMapFields> FieldsOf(const TensorMapBytes& bytes) {
  if (std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{0}; })) {
    TensorMapFields fields;
    fields.mark = kMark;
    return fields;
  }
  TensorMapFields fields;
  std::memcpy(&fields, bytes.data(), sizeof fields);
  return fields.mark == kMark ? std::optional(fields) : std::nullopt;
}

TensorMapBytes BytesOf(const TensorMapFields& fields) {
  TensorMapBytes bytes{};
  std::memcpy(bytes.data(), &fields, sizeof fields);
  return bytes;
}

TensorMapBytes EncodeTensorMap(const TensorMap& map, uint64_t address) {
  TensorMapFields fields;
  fields.mark = kMark;
  fields.address = address;
  fields.dimensions = static_cast<uint8_t>(map.sizes.size());
  fields.element_bytes = static_cast<uint8_t>(map.element_bytes);
  fields.element = map.element;
  fields.swizzle = static_cast<uint8_t>(map.swizzle);
  for (size_t i = 0; i < map.sizes.size(); ++i) {
    fields.sizes[i] = static_cast<uint32_t>(map.sizes[i]);
    fields.box[i] = static_cast<uint16_t>(map.box[i]);
    fields.steps[i] = static_cast<uint8_t>(map.steps[i]);
    if (i > 0) fields.strides[i - 1] = map.strides[i - 1];
  }
  return BytesOf(fields);
}

std::optional<PlacedTensorMap> DecodeTensorMap(const TensorMapBytes& bytes) {
  const std::optional<TensorMapFields> fields = FieldsOf(bytes);
  const size_t n = fields ? fields->dimensions : 0;
  if (n == 0 || n > kMaxTensorDimensions || fields->swizzle > static_cast<uint8_t>(Swizzle::k128)) {
    return std::nullopt;
  }
  PlacedTensorMap placed;
  placed.address = fields->address;
  placed.map.element_bytes = fields->element_bytes;
  placed.map.element = fields->element;
  placed.map.swizzle = static_cast<Swizzle>(fields->swizzle);
  for (size_t i = 0; i < n; ++i) {
    placed.map.sizes.push_back(fields->sizes[i]);
    placed.map.box.push_back(fields->box[i]);
    placed.map.steps.push_back(fields->steps[i]);
    if (i > 0) placed.map.strides.push_back(fields->strides[i - 1]);
  }
  // A kernel may have made these bytes.
  if (!CheckTensorMap(placed.map, ~uint64_t{0})) return std::nullopt;
  return placed;
}

}  // namespace hloscope::ptx
