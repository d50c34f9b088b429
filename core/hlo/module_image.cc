// Writing a module's flat arrays, reading them back, and checking that every id leads somewhere.
#include "core/hlo/module_image.h"

#include <algorithm>

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

// Every id of a module leads to something.
class IdCheck {
 public:
  explicit IdCheck(const Module& module, size_t operands, size_t attributes)
      : module_(module), operands_(operands), attributes_(attributes) {}

  bool Passes() const {
    const auto computations = module_.computations();
    if (!Has(module_.entry_id(), computations.size())) return false;
    return std::ranges::all_of(computations, [this](const Computation& c) { return Sound(c); }) &&
           std::ranges::all_of(module_.instructions(),
                               [this](const Instruction& i) { return Sound(i); });
  }

 private:
  template <typename I>
  static bool Has(I id, size_t count) {
    return id.index < count;
  }
  static bool Within(uint64_t first, uint64_t count, size_t size) {
    return first <= size && count <= size - first;
  }
  bool Sound(const Computation& c) const {
    const size_t instructions = module_.instructions().size();
    return Has(c.name, module_.strings().size()) &&
           Within(c.first_instruction, c.instruction_count, instructions) &&
           Has(c.root, instructions) &&
           (!c.execution_thread.valid() || Has(c.execution_thread, module_.strings().size()));
  }
  bool Sound(const Instruction& i) const {
    if (!Has(i.name, module_.strings().size()) || !Has(i.shape, module_.shape_count()) ||
        static_cast<int>(i.opcode) >= kOpcodeCount ||
        !Has(i.computation, module_.computations().size()) ||
        !Within(i.first_operand, i.operand_count, operands_) ||
        !Within(i.first_attribute, i.attribute_count, attributes_)) {
      return false;
    }
    return std::ranges::all_of(
               module_.operands(i),
               [this](InstructionId id) { return Has(id, module_.instructions().size()); }) &&
           std::ranges::all_of(module_.attributes(i), [](const Attribute& a) {
             return static_cast<int>(a.key) < kAttributeKeyCount;
           });
  }

  const Module& module_;
  size_t operands_, attributes_;
};

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

void Archive(ByteWriter& out, const Literal& literal) {
  const LiteralForm form = FormOf(literal);
  out(form);
  switch (form) {
    case LiteralForm::kBytes: {
      const auto sizes = literal.dynamic_sizes();
      out(literal.shape(), std::vector<int64_t>(sizes.begin(), sizes.end()));
      out.Align(kLiteralAlignment);
      out.Raw(literal.bytes());
      break;
    }
    case LiteralForm::kTuple:
      out(std::vector<Literal>(literal.elements().begin(), literal.elements().end()));
      break;
    case LiteralForm::kElided:
    case LiteralForm::kOther:
      out(literal.shape());
      break;
    default:
      break;
  }
}

namespace {

Literal ReadBytes(ByteReader& in) {
  const auto shape = in.Get<Shape>();
  auto sizes = in.Get<std::vector<int64_t>>();
  in.Align(kLiteralAlignment);
  const auto size = shape.ByteSize();
  bool fits = in.ok() && shape.IsArray() && size && (sizes.empty() || sizes.size() == shape.rank());
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] >= 0 && sizes[i] <= shape.dimension(i);
  }
  const auto bytes = fits ? in.Raw(static_cast<uint64_t>(*size)) : std::span<const std::byte>();
  if (!fits || !in.ok()) {
    in.Fail();
    return {};
  }
  const bool view = in.owner() != nullptr && bytes.size() >= kViewedFrom;
  Literal literal = view ? Literal::View(shape, bytes, in.owner())
                         : Literal::Dense(shape, {bytes.begin(), bytes.end()});
  literal.set_dynamic_sizes(std::move(sizes));
  return literal;
}

}  // namespace

void Archive(ByteReader& in, Literal& literal) {
  if (!in.Enter()) return;
  switch (in.Get<LiteralForm>()) {
    case LiteralForm::kNone:
      literal = {};
      break;
    case LiteralForm::kBytes:
      literal = ReadBytes(in);
      break;
    case LiteralForm::kElided:
      literal = Literal::Elided(in.Get<Shape>());
      break;
    case LiteralForm::kTuple:
      literal = Literal::Tuple(in.Get<std::vector<Literal>>());
      break;
    case LiteralForm::kToken:
      literal = Literal::Token();
      break;
    case LiteralForm::kOther:
      literal = Literal::View(in.Get<Shape>(), {}, nullptr);
      break;
    default:
      in.Fail();
  }
  in.Leave();
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
        sound = in.ok() && IdCheck(builder.module(), operands.size(), attributes.size()).Passes();
      });
  if (!sound) return InputError("module data is truncated or corrupt");
  return builder.Build();
}

}  // namespace hloscope::hlo
