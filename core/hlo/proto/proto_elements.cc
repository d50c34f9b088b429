// Reordering and unpacking the elements of literals in protos.
#include "core/hlo/proto/proto_elements.h"

#include <cstring>
#include <utility>

#include "core/hlo/permutation.h"

namespace hloscope::hlo {
namespace {

// Visits all elements in the order of the layout, giving the row-major position of each.
template <typename F>
void ForEachInLayoutOrder(const Shape& shape, F visit) {
  const auto& order = shape.layout().minor_to_major;
  size_t rank = shape.rank();
  std::vector<int64_t> stride(rank, 1), index(rank, 0);
  for (size_t i = rank - 1; i > 0; --i) stride[i - 1] = stride[i] * shape.dimension(i);
  int64_t count = *shape.ElementCount(), position = 0;
  for (int64_t n = 0; n < count; ++n) {
    visit(n, position);
    for (int64_t dimension : order) {
      auto d = static_cast<size_t>(dimension);
      position += stride[d];
      if (++index[d] < shape.dimension(d)) break;
      position -= index[d] * stride[d];
      index[d] = 0;
    }
  }
}

// Keeps the low `bits` of a byte, extended by the sign where the type has one.
std::byte Extend(uint8_t value, int bits, bool is_signed) {
  auto low = static_cast<uint8_t>(value & ((1u << bits) - 1));
  if (is_signed && (low >> (bits - 1)) != 0) low = static_cast<uint8_t>(low | (0xffu << bits));
  return std::byte{low};
}

}  // namespace

bool IsDefaultOrder(const Shape& shape) {
  if (!shape.has_layout()) return true;
  const auto& order = shape.layout().minor_to_major;
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(order.size() - 1 - i)) return false;
  }
  return true;
}

std::vector<std::byte> Reorder(const Shape& shape, std::span<const std::byte> in, bool to_rows) {
  std::vector<std::byte> out(in.size());
  auto size = static_cast<size_t>(StorageBytes(shape.element_type()));
  ForEachInLayoutOrder(shape, [&](int64_t n, int64_t position) {
    auto from = static_cast<size_t>(to_rows ? n : position) * size;
    auto to = static_cast<size_t>(to_rows ? position : n) * size;
    std::memcpy(out.data() + to, in.data() + from, size);
  });
  return out;
}

std::vector<std::byte> Unpack(std::string_view packed, ElementType type, int64_t count) {
  int bits = BitWidth(type);
  int per_byte = std::cmp_equal(packed.size(), count) ? 1 : 8 / bits;
  std::vector<std::byte> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) {
    auto byte = static_cast<uint8_t>(packed[i / static_cast<size_t>(per_byte)]);
    auto shift = static_cast<int>(i % static_cast<size_t>(per_byte)) * bits;
    out[i] = Extend(static_cast<uint8_t>(byte >> shift), bits, IsSigned(type));
  }
  return out;
}

bool CanView(const Shape& shape, std::string_view bytes, const void* owner) {
  constexpr size_t kViewBytes = 4096;  // smaller values are copied
  int size = StorageBytes(shape.element_type());
  auto alignment = static_cast<uintptr_t>(IsComplex(shape.element_type()) ? size / 2 : size);
  return owner != nullptr && bytes.size() >= kViewBytes && IsDefaultOrder(shape) &&
         shape.element_type() != ElementType::kPred &&
         reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0;
}

Literal DenseOf(Shape shape, std::vector<std::byte> bytes) {
  if (!IsDefaultOrder(shape)) bytes = Reorder(shape, bytes, true);
  return Literal::Dense(std::move(shape), std::move(bytes));
}

Status CheckLayout(const Shape& shape) {
  if (shape.has_layout() && !shape.layout().minor_to_major.empty() &&
      !IsPermutation(shape.layout().minor_to_major, shape.rank())) {
    return InputError("the layout of a literal does not name every dimension exactly once");
  }
  return {};
}

}  // namespace hloscope::hlo
