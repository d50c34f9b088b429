// Literals in protos: each element type has a field of its own, elements in the order of the layout.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/checked.h"
#include "core/hlo/proto.h"
#include "core/hlo/proto_fields.h"
#include "core/hlo/proto_values.h"

namespace hloscope::hlo {
namespace {

// How the elements of a type are stored.
enum class Storage : uint8_t { kVarints, kFixed, kBytes };
struct ElementField {
  uint32_t number = 0;
  Storage storage = Storage::kBytes;
};

ElementField FieldOf(ElementType type) {
  using namespace LiteralField;
  switch (type) {
    case ElementType::kPred:
      return {kPreds, Storage::kVarints};
    case ElementType::kS32:
      return {kS32s, Storage::kVarints};
    case ElementType::kS64:
      return {kS64s, Storage::kVarints};
    case ElementType::kU32:
      return {kU32s, Storage::kVarints};
    case ElementType::kU64:
      return {kU64s, Storage::kVarints};
    case ElementType::kF32:
      return {kF32s, Storage::kFixed};
    case ElementType::kF64:
      return {kF64s, Storage::kFixed};
    case ElementType::kC64:
      return {kC64s, Storage::kFixed};
    case ElementType::kC128:
      return {kC128s, Storage::kFixed};
    case ElementType::kS8:
      return {kS8s};
    case ElementType::kU8:
      return {kU8s};
    case ElementType::kS16:
      return {kS16s};
    case ElementType::kU16:
      return {kU16s};
    case ElementType::kF16:
      return {kF16s};
    case ElementType::kBF16:
      return {kBf16s};
    default:
      // The other one-byte types have the field number of their element type.
      return {static_cast<uint32_t>(type)};
  }
}

bool IsDefaultOrder(const Shape& shape) {
  if (!shape.has_layout()) return true;
  const auto& order = shape.layout().minor_to_major;
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(order.size() - 1 - i)) return false;
  }
  return true;
}

// Whether minor_to_major names every dimension once.
bool IsPermutation(const std::vector<int64_t>& order, size_t rank) {
  std::vector<bool> seen(rank, false);
  for (int64_t d : order) {
    if (d < 0 || std::cmp_greater_equal(d, rank) || seen[static_cast<size_t>(d)]) return false;
    seen[static_cast<size_t>(d)] = true;
  }
  return order.size() == rank;
}

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

// Moves elements between layout order and row-major order.
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

void StoreInteger(std::vector<std::byte>& out, uint64_t value, int size) {
  size_t at = out.size();
  out.resize(at + static_cast<size_t>(size));
  std::memcpy(out.data() + at, &value, static_cast<size_t>(size));
}

// Keeps the low `bits` of a byte, extended by the sign where the type has one.
std::byte Extend(uint8_t value, int bits, bool is_signed) {
  auto low = static_cast<uint8_t>(value & ((1u << bits) - 1));
  if (is_signed && (low >> (bits - 1)) != 0) low = static_cast<uint8_t>(low | (0xffu << bits));
  return std::byte{low};
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

std::unexpected<Error> WrongCount(const Shape& shape, size_t found, int64_t expected) {
  return InputError(
      fmt::format("literal of shape {} has {} elements, expected {}", ToString(shape), found,
                  expected));
}

const std::byte* AsBytesOf(std::string_view s) {
  return reinterpret_cast<const std::byte*>(s.data());
}
const std::byte* EndOf(std::string_view s) { return AsBytesOf(s) + s.size(); }

// Whether elements stored as `bytes` can stay where they are.
bool CanView(const Shape& shape, std::string_view bytes, const void* owner) {
  constexpr size_t kViewBytes = 4096;  // smaller values are copied
  int size = StorageBytes(shape.element_type());
  auto alignment = static_cast<uintptr_t>(IsComplex(shape.element_type()) ? size / 2 : size);
  return owner != nullptr && bytes.size() >= kViewBytes && IsDefaultOrder(shape) &&
         shape.element_type() != ElementType::kPred &&
         reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0;
}

// A literal of elements in the order of the layout.
Literal DenseOf(Shape shape, std::vector<std::byte> bytes) {
  if (!IsDefaultOrder(shape)) bytes = Reorder(shape, bytes, true);
  return Literal::Dense(std::move(shape), std::move(bytes));
}

Status CheckLayout(const Shape& shape) {
  if (shape.has_layout() && !shape.layout().minor_to_major.empty() &&
      !IsPermutation(shape.layout().minor_to_major, shape.rank())) {
    return InputError("literal with a layout that does not name every dimension once");
  }
  return {};
}

// The elements of one array: gathered as they arrive, then made a literal.
class ArrayLiteralReader {
 public:
  ArrayLiteralReader(Shape shape, std::shared_ptr<const void> owner)
      : shape_(std::move(shape)),
        element_(FieldOf(shape_.element_type())),
        size_(StorageBytes(shape_.element_type())),
        owner_(std::move(owner)) {}

  Status Take(const WireField& field) {
    if (field.number() != element_.number) return {};
    if (element_.storage == Storage::kVarints) return TakeVarints(field);
    if ((field.tag & 7) == 2) {
      // The whole array nearly always comes in one piece; more are put together.
      if (!piece_.empty()) gathered_.insert(gathered_.end(), AsBytesOf(piece_), EndOf(piece_));
      piece_ = field.bytes;
      seen_ = true;
    } else {
      if (element_.storage != Storage::kFixed) return {};
      int bytes = (field.tag & 7) == 1 ? 8 : 4;
      StoreInteger(gathered_, field.value, bytes);
      seen_ = true;
    }
    return {};
  }

  Result<Literal> Finish() {
    std::optional<int64_t> count = shape_.ElementCount();
    if (!count) return InputError(fmt::format("literal of shape {}", ToString(shape_)));
    HLOSCOPE_TRY(CheckLayout(shape_));
    if (!seen_ && *count > 0) return Literal::Elided(std::move(shape_));
    if (BitWidth(shape_.element_type()) < 8) return FinishNarrow(*count);
    std::optional<int64_t> bytes = CheckedMul<int64_t>(*count, size_);
    size_t have = piece_.size() + gathered_.size();
    if (!bytes || std::cmp_not_equal(have, *bytes)) {
      return WrongCount(shape_, have / static_cast<size_t>(size_), *count);
    }
    if (gathered_.empty() && CanView(shape_, piece_, owner_.get())) {
      return Literal::View(std::move(shape_), std::as_bytes(std::span(piece_)), owner_);
    }
    gathered_.insert(gathered_.end(), AsBytesOf(piece_), EndOf(piece_));
    return DenseOf(std::move(shape_), std::move(gathered_));
  }

 private:
  Status TakeVarints(const WireField& field) {
    seen_ = true;
    bool is_pred = shape_.element_type() == ElementType::kPred;
    if ((field.tag & 7) == 0) {
      StoreInteger(gathered_, is_pred ? field.AsBool() : field.value, size_);
      return {};
    }
    if ((field.tag & 7) != 2) return {};
    WireReader packed(field.bytes);
    uint64_t value;
    while (packed.NextVarint(value)) {
      StoreInteger(gathered_, is_pred ? uint64_t{value != 0} : value, size_);
    }
    if (!packed.ok()) return Malformed("LiteralProto");
    return {};
  }

  Result<Literal> FinishNarrow(int64_t count) {
    gathered_.insert(gathered_.end(), AsBytesOf(piece_), EndOf(piece_));
    std::string_view all(reinterpret_cast<const char*>(gathered_.data()), gathered_.size());
    int64_t per_byte = 8 / BitWidth(shape_.element_type());
    int64_t packed = count / per_byte + (count % per_byte != 0 ? 1 : 0);
    if (std::cmp_not_equal(all.size(), count) && std::cmp_not_equal(all.size(), packed)) {
      return WrongCount(shape_, all.size(), count);
    }
    auto bytes = Unpack(all, shape_.element_type(), count);
    return DenseOf(std::move(shape_), std::move(bytes));
  }

  Shape shape_;
  ElementField element_;
  int size_;
  std::shared_ptr<const void> owner_;
  std::string_view piece_;
  std::vector<std::byte> gathered_;
  bool seen_ = false;
};

struct LiteralParts {
  Shape shape;
  std::vector<Literal> elements;
  std::vector<int64_t> dynamic_sizes;
};

Result<LiteralParts> ReadLiteralParts(std::string_view bytes, const Limits& limits,
                                      const std::shared_ptr<const void>& owner, int64_t depth) {
  LiteralParts parts;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(LiteralField::kShape)) {
      HLOSCOPE_ASSIGN_OR_RETURN(Shape shape, ReadShape(field.bytes, limits, depth + 1));
      parts.shape = std::move(shape);
    } else if (field.tag == AsBytes(LiteralField::kTupleLiterals)) {
      HLOSCOPE_ASSIGN_OR_RETURN(Literal element,
                                ReadLiteral(field.bytes, limits, owner, depth + 1));
      parts.elements.push_back(std::move(element));
    } else if (field.number() == LiteralField::kDynamicSizes &&
               !AppendInts(field, parts.dynamic_sizes)) {
      return Malformed("LiteralProto");
    }
  }
  if (!reader.ok()) return Malformed("LiteralProto");
  if (parts.shape.element_type() == ElementType::kInvalid) return InputError("a literal without shape");
  return parts;
}

Result<Literal> TupleOf(const Shape& shape, std::vector<Literal> elements) {
  if (elements.empty() && !shape.elements().empty()) return Literal::Elided(shape);
  if (elements.size() != shape.elements().size()) {
    return InputError(fmt::format("tuple literal of {} elements, its shape has {}",
                                  elements.size(), shape.elements().size()));
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!Compatible(elements[i].shape(), shape.elements()[i])) {
      return InputError(fmt::format("element {} of a tuple literal is {}, its shape says {}", i,
                                    ToString(elements[i].shape()),
                                    ToString(shape.elements()[i])));
    }
  }
  return Literal::Tuple(std::move(elements));
}

template <typename T>
void WriteVarints(WireWriter& out, uint32_t number, std::span<const std::byte> bytes) {
  auto mark = out.Open(number);
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    out.BareVarint(static_cast<uint64_t>(static_cast<int64_t>(value)));
  }
  out.Close(mark);
}

void WriteElements(WireWriter& out, ElementType type, std::span<const std::byte> bytes) {
  ElementField field = FieldOf(type);
  switch (type) {
    case ElementType::kPred:
      return WriteVarints<uint8_t>(out, field.number, bytes);
    case ElementType::kS32:
      return WriteVarints<int32_t>(out, field.number, bytes);
    case ElementType::kU32:
      return WriteVarints<uint32_t>(out, field.number, bytes);
    case ElementType::kS64:
    case ElementType::kU64:
      return WriteVarints<int64_t>(out, field.number, bytes);
    default:
      break;
  }
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (BitWidth(type) >= 8) return out.Bytes(field.number, text);
  std::string masked(text);
  for (char& c : masked) c = static_cast<char>(c & ((1 << BitWidth(type)) - 1));
  out.Bytes(field.number, masked);
}

}  // namespace

Result<Literal> ReadLiteral(std::string_view bytes, const Limits& limits,
                            const std::shared_ptr<const void>& owner, int64_t depth) {
  HLOSCOPE_TRY(CheckDepth(depth, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(LiteralParts parts, ReadLiteralParts(bytes, limits, owner, depth));
  if (parts.shape.IsToken()) return Literal::Token();
  if (parts.shape.IsTuple()) return TupleOf(parts.shape, std::move(parts.elements));
  if (!parts.shape.IsArray()) {
    return InputError(fmt::format("a literal of shape {}", ToString(parts.shape)));
  }
  size_t rank = parts.shape.rank();
  ArrayLiteralReader array(std::move(parts.shape), owner);
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) HLOSCOPE_TRY(array.Take(field));
  HLOSCOPE_ASSIGN_OR_RETURN(Literal literal, array.Finish());
  if (parts.dynamic_sizes.size() == rank && rank > 0) {
    literal.set_dynamic_sizes(std::move(parts.dynamic_sizes));
  }
  return literal;
}

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
  std::optional<int64_t> size = bits < 8 && count ? *count / per_byte + (*count % per_byte != 0)
                                                  : shape.ByteSize();
  auto elements = count ? TakeFront(bytes, size) : std::nullopt;
  if (!elements) {
    return InputError(fmt::format("a value of shape {} is cut off", ToString(shape)));
  }
  Literal literal;
  if (bits == 1 && shape.element_type() == ElementType::kPred) {
    literal = DenseOf(shape, UnpackBits(*elements, *count));
  } else if (bits < 8) {
    literal = DenseOf(shape, Unpack(*elements, shape.element_type(), *count));
  } else if (CanView(shape, *elements, owner.get())) {
    literal = Literal::View(shape, std::as_bytes(std::span(*elements)), owner);
  } else {
    literal = DenseOf(shape, {AsBytesOf(*elements), EndOf(*elements)});
  }
  literal.set_dynamic_sizes(std::move(sizes));
  return literal;
}

// Shapes nest no deeper than ReadShape lets them.
Result<Literal> TakeSerialized(const Shape& shape, std::string_view& bytes,
                               const std::shared_ptr<const void>& owner) {
  if (shape.IsArray()) return TakeSerializedArray(shape, bytes, owner);
  if (!shape.IsTuple()) {
    return InputError(fmt::format("a serialised literal of shape {}", ToString(shape)));
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
  if (!shape_bytes) return InputError("a serialised literal is cut off");
  HLOSCOPE_ASSIGN_OR_RETURN(Shape shape, ReadShape(*shape_bytes, limits));
  return TakeSerialized(shape, bytes, owner);
}

void WriteLiteral(WireWriter& out, const Literal& literal) {
  const Shape& shape = literal.shape();
  auto mark = out.Open(LiteralField::kShape);
  WriteShape(out, shape);
  out.Close(mark);
  for (const Literal& element : literal.elements()) {
    auto element_mark = out.Open(LiteralField::kTupleLiterals);
    WriteLiteral(out, element);
    out.Close(element_mark);
  }
  if (!shape.IsArray() || literal.elided()) return;
  if (!literal.bytes().empty()) {
    if (IsDefaultOrder(shape)) {
      WriteElements(out, shape.element_type(), literal.bytes());
    } else {
      WriteElements(out, shape.element_type(), Reorder(shape, literal.bytes(), false));
    }
  }
  out.PackedInts(LiteralField::kDynamicSizes, literal.dynamic_sizes());
}

Result<Literal> LiteralFromProto(std::span<const std::byte> bytes, const Limits& limits) {
  return ReadLiteral({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, limits, nullptr);
}

std::string LiteralToProto(const Literal& literal) {
  WireWriter out;
  WriteLiteral(out, literal);
  return std::move(out).Take();
}

}  // namespace hloscope::hlo
