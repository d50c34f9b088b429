// Literals in protos: each element type has a field of its own, elements in the order of the
// layout.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/proto/proto_elements.h"
#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/proto_values.h"

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

void StoreInteger(std::vector<std::byte>& out, uint64_t value, int size) {
  size_t at = out.size();
  out.resize(at + static_cast<size_t>(size));
  std::memcpy(out.data() + at, &value, static_cast<size_t>(size));
}

std::unexpected<Error> WrongCount(const Shape& shape, size_t found, int64_t expected) {
  return InputError(fmt::format("literal of shape {} has {}, expected {}", ToString(shape),
                                Counted(found, "element"), expected));
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
      if (!piece_.empty()) gathered_.insert(gathered_.end(), BeginOf(piece_), EndOf(piece_));
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
    gathered_.insert(gathered_.end(), BeginOf(piece_), EndOf(piece_));
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
    gathered_.insert(gathered_.end(), BeginOf(piece_), EndOf(piece_));
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
  if (parts.shape.element_type() == ElementType::kInvalid)
    return InputError("literal has no shape");
  return parts;
}

Result<Literal> TupleOf(const Shape& shape, std::vector<Literal> elements) {
  if (elements.empty() && !shape.elements().empty()) return Literal::Elided(shape);
  if (elements.size() != shape.elements().size()) {
    return InputError(fmt::format("tuple literal has {}, but its shape has {}",
                                  Counted(elements.size(), "element"), shape.elements().size()));
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!Compatible(elements[i].shape(), shape.elements()[i])) {
      return InputError(fmt::format("element {} of a tuple literal is {}, but its shape says {}", i,
                                    ToString(elements[i].shape()), ToString(shape.elements()[i])));
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

// XLA's literals never say how many bits an element takes on a device, and it takes no literal that
// does.
void DropElementSizes(Shape& shape) {
  for (Shape& element : shape.mutable_elements()) DropElementSizes(element);
  if (!shape.has_layout() || shape.layout().element_size_in_bits() == 0) return;
  LayoutExtras extras = *shape.layout().extras;
  extras.element_size_in_bits = 0;
  shape.set_layout(
      {shape.layout().minor_to_major, std::make_shared<const LayoutExtras>(std::move(extras))});
}

}  // namespace

Result<Literal> ReadLiteral(std::string_view bytes, const Limits& limits,
                            const std::shared_ptr<const void>& owner, int64_t depth) {
  HLOSCOPE_TRY(CheckDepth(depth, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(LiteralParts parts, ReadLiteralParts(bytes, limits, owner, depth));
  if (parts.shape.IsToken()) return Literal::Token();
  if (parts.shape.IsTuple()) return TupleOf(parts.shape, std::move(parts.elements));
  if (!parts.shape.IsArray()) {
    return InputError(
        fmt::format("literal has shape {}, expected an array or tuple", ToString(parts.shape)));
  }
  if (const auto size = parts.shape.ByteSize(); size && *size > limits.tensor_bytes) {
    return InputError(
        fmt::format("literal has {}, the limit is {}", Counted(*size, "byte"), limits.tensor_bytes),
        "raise it with --limit tensor=N");
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

void WriteLiteral(WireWriter& out, const Literal& literal) {
  Shape shape = literal.shape();
  DropElementSizes(shape);
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
