// Literals in XLA's own serialised form, which snapshots append for values beyond 2 GiB.
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "core/hlo/proto/proto_elements.h"
#include "core/hlo/proto/proto_values.h"

namespace hloscope::hlo {
namespace {

// Takes `count` bytes off the front of `bytes`; nullopt where there are not as many.
std::optional<std::string_view> TakeFront(std::string_view& bytes, std::optional<int64_t> count) {
  if (!count || *count < 0 || std::cmp_greater(*count, bytes.size())) return std::nullopt;
  std::string_view front = bytes.substr(0, static_cast<size_t>(*count));
  bytes.remove_prefix(front.size());
  return front;
}

// Truth values are packed eight to a byte, the first in the lowest bit.
std::vector<std::byte> UnpackBits(std::string_view packed, int64_t count) {
  std::vector<std::byte> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = std::byte{static_cast<uint8_t>((static_cast<uint8_t>(packed[i / 8]) >> (i % 8)) & 1)};
  }
  return out;
}

Result<Literal> TakeSerializedArray(const Shape& shape, std::string_view& bytes,
                                    const std::shared_ptr<const void>& owner) {
  HLOSCOPE_TRY(CheckLayout(shape));
  std::vector<int64_t> sizes;
  if (shape.has_dynamic_dimension()) {
    auto raw = TakeFront(bytes, static_cast<int64_t>(shape.rank() * sizeof(int32_t)));
    for (size_t d = 0; raw && d < shape.rank(); ++d) {
      int32_t size;
      std::memcpy(&size, raw->data() + d * sizeof size, sizeof size);
      sizes.push_back(size);
    }
  }
  std::optional<int64_t> count = shape.ElementCount();
  int bits = shape.element_type() == ElementType::kPred ? 1 : BitWidth(shape.element_type());
  int64_t per_byte = bits < 8 ? 8 / bits : 1;
  std::optional<int64_t> size =
      bits < 8 && count ? *count / per_byte + (*count % per_byte != 0) : shape.ByteSize();
  auto elements = count ? TakeFront(bytes, size) : std::nullopt;
  if (!elements) {
    return InputError(fmt::format("the value of shape {} is truncated", ToString(shape)));
  }
  Literal literal;
  if (bits == 1 && shape.element_type() == ElementType::kPred) {
    literal = DenseOf(shape, UnpackBits(*elements, *count));
  } else if (bits < 8) {
    literal = DenseOf(shape, Unpack(*elements, shape.element_type(), *count));
  } else if (CanView(shape, *elements, owner.get())) {
    literal = Literal::View(shape, std::as_bytes(std::span(*elements)), owner);
  } else {
    literal = DenseOf(shape, {BeginOf(*elements), EndOf(*elements)});
  }
  literal.set_dynamic_sizes(std::move(sizes));
  return literal;
}

// Shapes nest no deeper than ReadShape lets them.
Result<Literal> TakeSerialized(const Shape& shape, std::string_view& bytes,
                               const std::shared_ptr<const void>& owner) {
  if (shape.IsArray()) return TakeSerializedArray(shape, bytes, owner);
  if (!shape.IsTuple()) {
    return InputError(fmt::format("unsupported shape {} of a serialized literal", ToString(shape)));
  }
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) {
    HLOSCOPE_ASSIGN_OR_RETURN(Literal literal, TakeSerialized(element, bytes, owner));
    elements.push_back(std::move(literal));
  }
  return Literal::Tuple(std::move(elements));
}

}  // namespace

Result<Literal> ReadSerializedLiteral(std::string_view bytes, const Limits& limits,
                                      const std::shared_ptr<const void>& owner) {
  int64_t shape_size = 0;
  auto raw = TakeFront(bytes, sizeof shape_size);
  if (raw) std::memcpy(&shape_size, raw->data(), sizeof shape_size);
  auto shape_bytes = raw ? TakeFront(bytes, shape_size) : std::nullopt;
  if (!shape_bytes) return InputError("a serialized literal is truncated");
  HLOSCOPE_ASSIGN_OR_RETURN(Shape shape, ReadShape(*shape_bytes, limits));
  return TakeSerialized(shape, bytes, owner);
}

}  // namespace hloscope::hlo
