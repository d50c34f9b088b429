// Shapes, values, and a module's flat arrays.
#include "core/hlo/module_image.h"

#include <algorithm>

#include "core/hlo/check_ids.h"
#include "core/hlo/module_archive.h"
#include "core/hlo/module_builder.h"
#include "core/hlo/permutation.h"

namespace hloscope::hlo {
namespace {

constexpr size_t kLiteralAlignment = 16;
constexpr size_t kViewedFrom = 4096;  // bytes of smaller literals are copied

enum class LiteralForm : uint8_t { kNone, kBytes, kElided, kTuple, kToken, kOther };

LiteralForm FormOf(const Literal& literal) {
  const Shape& shape = literal.shape();
  if (shape.element_type() == ElementType::kInvalid) return LiteralForm::kNone;
  if (shape.IsToken()) return LiteralForm::kToken;
  if (shape.IsTuple()) {
    const bool whole = literal.elements().size() == shape.elements().size();
    return whole ? LiteralForm::kTuple : LiteralForm::kElided;
  }
  if (literal.elided()) return LiteralForm::kElided;
  return shape.IsArray() ? LiteralForm::kBytes : LiteralForm::kOther;
}

// The number of a type comes from outside.
bool IsElementType(ElementType type) {
  return static_cast<unsigned>(type) < static_cast<unsigned>(kElementTypeCount);
}

template <typename A>
void ArchiveExtras(A& a, Archived<A, LayoutExtras>& v) {
  a(v.tiles, v.dim_level_types, v.tail_padding_alignment_in_elements, v.index_primitive_type);
  a(v.pointer_primitive_type, v.element_size_in_bits, v.memory_space, v.split_configs);
  a(v.dynamic_shape_metadata_prefix_bytes);
}

void WriteLayout(ByteWriter& out, const Layout& layout) {
  out(layout.minor_to_major, layout.extras != nullptr);
  if (layout.extras == nullptr) return;
  ArchiveExtras(out, *layout.extras);
  out(layout.extras->physical_shape != nullptr);
  if (layout.extras->physical_shape != nullptr) out(*layout.extras->physical_shape);
}

Layout ReadLayout(ByteReader& in) {
  Layout layout;
  in(layout.minor_to_major);
  if (!in.Get<bool>()) return layout;
  auto extras = std::make_shared<LayoutExtras>();
  ArchiveExtras(in, *extras);
  if (!IsElementType(extras->index_primitive_type) ||
      !IsElementType(extras->pointer_primitive_type)) {
    in.Fail();
  }
  if (in.Get<bool>()) extras->physical_shape = std::make_shared<const Shape>(in.Get<Shape>());
  layout.extras = std::move(extras);
  return layout;
}

Shape ReadArrayShape(ByteReader& in, ElementType type) {
  auto dimensions = in.Get<std::vector<int64_t>>();
  const auto dynamic = in.Get<std::vector<uint8_t>>();
  if (std::ranges::any_of(dimensions,
                          [](int64_t d) { return d < 0 && d != Shape::kUnboundedSize; }) ||
      (!dynamic.empty() && dynamic.size() != dimensions.size())) {
    in.Fail();
    return {};
  }
  Shape shape = Shape::Array(type, std::move(dimensions));
  for (size_t i = 0; i < dynamic.size(); ++i) {
    if (dynamic[i] != 0) shape.set_dynamic_dimension(i, true);
  }
  return shape;
}

// The shape of that type but for its layout.
Shape ReadBareShape(ByteReader& in, ElementType type) {
  if (!IsElementType(type)) return in.Fail(), Shape();
  if (IsArrayType(type)) return ReadArrayShape(in, type);
  if (type == ElementType::kTuple) return Shape::Tuple(in.Get<std::vector<Shape>>());
  if (type == ElementType::kBuffer) return Shape::Buffer(in.Get<Shape>());
  if (type == ElementType::kToken) return Shape::Token();
  if (type == ElementType::kOpaque) return Shape::Opaque();
  if (type != ElementType::kInvalid) in.Fail();
  return {};
}

bool LayoutFits(const Shape& shape) {
  if (!shape.IsArray()) return true;
  const std::vector<int64_t>& order = shape.layout().minor_to_major;
  return order.empty() || IsPermutation(order, shape.rank());  // empty: it has none
}

}  // namespace

void Archive(ByteWriter& out, const Shape& shape) {
  const ElementType type = shape.element_type();
  out(type);
  if (shape.IsArray()) {
    std::vector<uint8_t> dynamic;
    if (shape.has_dynamic_dimension()) {
      for (size_t i = 0; i < shape.rank(); ++i) dynamic.push_back(shape.is_dynamic_dimension(i));
    }
    out(std::vector<int64_t>(shape.dimensions().begin(), shape.dimensions().end()), dynamic);
  } else if (shape.IsTuple()) {
    out(std::vector<Shape>(shape.elements().begin(), shape.elements().end()));
  } else if (shape.IsBuffer()) {
    out(shape.elements()[0]);
  }
  out(shape.has_layout());
  if (shape.has_layout()) WriteLayout(out, shape.layout());
}

void Archive(ByteReader& in, Shape& shape) {
  if (!in.Enter()) return;
  shape = ReadBareShape(in, in.Get<ElementType>());
  if (in.Get<bool>()) {
    shape.set_layout(ReadLayout(in));
    if (!LayoutFits(shape)) in.Fail();
  }
  in.Leave();
}

void WriteLiteral(ByteWriter& out, const Literal& literal, const PutBytes& put) {
  const LiteralForm form = FormOf(literal);
  out(form);
  switch (form) {
    case LiteralForm::kBytes: {
      const auto sizes = literal.dynamic_sizes();
      out(literal.shape(), std::vector<int64_t>(sizes.begin(), sizes.end()));
      put(literal.bytes());
      break;
    }
    case LiteralForm::kTuple:
      out(uint64_t{literal.elements().size()});
      for (const Literal& element : literal.elements()) WriteLiteral(out, element, put);
      break;
    case LiteralForm::kElided:
    case LiteralForm::kOther:
      out(literal.shape());
      break;
    default:
      break;
  }
}

void Archive(ByteWriter& out, const Literal& literal) {
  WriteLiteral(out, literal, [&out](std::span<const std::byte> bytes) {
    out.Align(kLiteralAlignment);
    out.Raw(bytes);
  });
}

namespace {

Literal ReadArray(ByteReader& in, const GetArray& get) {
  const auto shape = in.Get<Shape>();
  auto sizes = in.Get<std::vector<int64_t>>();
  const auto size = shape.ByteSize();
  bool fits = in.ok() && shape.IsArray() && size && (sizes.empty() || sizes.size() == shape.rank());
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] >= 0 && sizes[i] <= shape.dimension(i);
  }
  if (!fits) return in.Fail(), Literal();
  std::optional<Literal> literal = get(shape, static_cast<uint64_t>(*size));
  if (!literal) return in.Fail(), Literal();
  literal->set_dynamic_sizes(std::move(sizes));
  return *std::move(literal);
}

Literal ReadTuple(ByteReader& in, const GetArray& get) {
  std::vector<Literal> elements;
  for (auto left = in.Get<uint64_t>(); left > 0 && in.ok(); --left) {
    elements.push_back(ReadLiteral(in, get));
  }
  return Literal::Tuple(std::move(elements));
}

Literal ReadForm(ByteReader& in, const GetArray& get) {
  switch (in.Get<LiteralForm>()) {
    case LiteralForm::kNone:
      return {};
    case LiteralForm::kBytes:
      return ReadArray(in, get);
    case LiteralForm::kElided:
      return Literal::Elided(in.Get<Shape>());
    case LiteralForm::kTuple:
      return ReadTuple(in, get);
    case LiteralForm::kToken:
      return Literal::Token();
    case LiteralForm::kOther: {
      auto shape = in.Get<Shape>();
      // Whatever has values has another form.
      if (shape.IsArray() || shape.IsTuple() || shape.ByteSize() != 0) return in.Fail(), Literal();
      return Literal::View(std::move(shape), {}, nullptr);
    }
  }
  return in.Fail(), Literal();
}

}  // namespace

Literal ReadLiteral(ByteReader& in, const GetArray& get) {
  if (!in.Enter()) return {};
  Literal literal = ReadForm(in, get);
  in.Leave();
  return literal;
}

void Archive(ByteReader& in, Literal& literal) {
  literal = ReadLiteral(in, [&in](const Shape& shape, uint64_t size) -> std::optional<Literal> {
    in.Align(kLiteralAlignment);
    const auto bytes = in.Raw(size);
    if (!in.ok()) return std::nullopt;
    const bool view = in.owner() != nullptr && bytes.size() >= kViewedFrom;
    return view ? Literal::View(shape, bytes, in.owner())
                : Literal::Dense(shape, {bytes.begin(), bytes.end()});
  });
}

std::string ModuleToImage(const Module& module) {
  ByteWriter out;
  const StringPool& strings = module.strings();
  // As large modules have it: names, attributes and where in the file they were.
  constexpr size_t kBytesOfInstruction = 192;
  out.Reserve(module.instructions().size() * kBytesOfInstruction);
  out(uint64_t{strings.size()});
  for (size_t i = 0; i < strings.size(); ++i) out(strings[StringId(i)]);
  ModuleBuilder::TakeParts(
      module,
      [&](const auto& header, const auto& entry, const auto& computations, const auto& instructions,
          const auto& operands, const auto& attributes, const auto& ints, const auto& ids,
          const auto& shapes, const auto& pools, const auto&... rest) {
        out(header, entry, computations, instructions, operands, attributes, ints, ids, shapes);
        ArchivePools(out, pools);
        out(rest...);
      });
  return std::move(out).Take();
}

Result<std::shared_ptr<const Module>> ModuleFromImage(std::span<const std::byte> bytes,
                                                      std::shared_ptr<const void> owner) {
  ByteReader in(bytes, std::move(owner));
  ModuleBuilder builder;
  const auto texts = in.Get<uint64_t>();
  // Each has its size before it; a number that is not so is an error below.
  builder.ReserveTexts(std::min<uint64_t>(texts, bytes.size() / sizeof(uint64_t)));
  for (uint64_t i = 0; i < texts && in.ok(); ++i) builder.Intern(in.Get<std::string_view>());
  if (builder.strings().size() != texts) in.Fail();
  bool sound = in.ok();
  ModuleBuilder::TakeParts(
      builder.parts(),
      [&](auto& header, auto& entry, auto& computations, auto& instructions, auto& operands,
          auto& attributes, auto& ints, auto& ids, auto& shapes, auto& pools, auto&... rest) {
        in(header, entry, computations, instructions, operands, attributes, ints, ids, shapes);
        ArchivePools(in, pools);
        in(rest...);
        sound = in.ok() && IdsLeadInside(builder.module());
      });
  if (!sound) return InputError("module data is truncated or corrupt");
  return builder.Build();
}

}  // namespace hloscope::hlo
