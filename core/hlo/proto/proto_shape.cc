// Shapes and layouts in protos.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/counted.h"
#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/proto_values.h"

namespace hloscope::hlo {
namespace {

constexpr std::string_view kLevelLetters = "DCSH";  // DimLevelType 0…3

Result<ElementType> ReadElementType(int64_t number) {
  if (number < 0 || number >= kElementTypeCount) {
    return InputError(fmt::format("element type {} is unknown", number));
  }
  return static_cast<ElementType>(number);
}

// D(…) of old sparse layouts as text: a letter a dimension, `+` not unique, `~` not ordered.
std::string LevelTypesText(const std::vector<int64_t>& types, const std::vector<int64_t>& unique,
                           const std::vector<int64_t>& ordered) {
  std::string text;
  for (size_t i = 0; i < types.size(); ++i) {
    if (i > 0) text += ',';
    bool known = types[i] >= 0 && static_cast<size_t>(types[i]) < kLevelLetters.size();
    text += known ? kLevelLetters[static_cast<size_t>(types[i])] : 'D';
    if (i < unique.size() && unique[i] == 0) text += '+';
    if (i < ordered.size() && ordered[i] == 0) text += '~';
  }
  return text;
}

void WriteLevelTypes(WireWriter& out, std::string_view text) {
  std::vector<int64_t> types, unique, ordered;
  for (char c : text) {
    size_t letter = kLevelLetters.find(c);
    if (letter != std::string_view::npos) {
      types.push_back(static_cast<int64_t>(letter));
      unique.push_back(1);
      ordered.push_back(1);
    } else if (c == '+' && !unique.empty()) {
      unique.back() = 0;
    } else if (c == '~' && !ordered.empty()) {
      ordered.back() = 0;
    }
  }
  out.PackedInts(LayoutField::kDimLevelTypes, types);
  out.PackedInts(LayoutField::kDimUnique, unique);
  out.PackedInts(LayoutField::kDimOrdered, ordered);
}

Result<Tile> ReadTile(std::string_view bytes) {
  Tile tile;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.number() != TileField::kDimensions) continue;
    if (!AppendInts(field, tile.dimensions)) return Malformed("TileProto");
  }
  const auto is_size = [](int64_t size) { return size > 0 || size == Tile::kCombine; };
  if (!reader.ok()) return Malformed("TileProto");
  if (!std::ranges::all_of(tile.dimensions, is_size))
    return InputError("TileProto: tile size is below 1, expected 1 or more");
  return tile;
}

Result<SplitConfig> ReadSplitConfig(std::string_view bytes) {
  SplitConfig config;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    using namespace SplitConfigField;
    if (field.tag == AsVarint(kDimension)) config.dimension = field.AsInt64();
    if (field.number() == kSplitIndices && !AppendInts(field, config.split_indices)) {
      return Malformed("SplitConfigProto");
    }
  }
  if (!reader.ok()) return Malformed("SplitConfigProto");
  return config;
}

class LayoutReader {
 public:
  LayoutReader(const Limits& limits, int64_t depth) : limits_(limits), depth_(depth) {}

  Result<Layout> Read(std::string_view bytes) {
    HLOSCOPE_TRY(CheckDepth(depth_, limits_));
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) HLOSCOPE_TRY(Take(field));
    if (!reader.ok()) return Malformed("LayoutProto");
    extras_.dim_level_types = LevelTypesText(level_types_, unique_, ordered_);
    if (extras_ != LayoutExtras()) {
      layout_.extras = std::make_shared<const LayoutExtras>(std::move(extras_));
    }
    return std::move(layout_);
  }

 private:
  Status Take(const WireField& field) {
    using namespace LayoutField;
    switch (field.tag) {
      case AsVarint(kMinorToMajor):
      case AsBytes(kMinorToMajor):
        return TakeInts(field, layout_.minor_to_major);
      case AsVarint(kTailPaddingAlignmentInElements):
        extras_.tail_padding_alignment_in_elements = std::max<int64_t>(1, field.AsInt64());
        return {};
      case AsVarint(kElementSizeInBits):
        extras_.element_size_in_bits = field.AsInt64();
        return {};
      case AsVarint(kMemorySpace):
        extras_.memory_space = field.AsInt64();
        return {};
      case AsVarint(kDynamicShapeMetadataPrefixBytes):
        extras_.dynamic_shape_metadata_prefix_bytes = field.AsInt64();
        return {};
      default:
        return TakeRare(field);
    }
  }

  Status TakeRare(const WireField& field) {
    using namespace LayoutField;
    switch (field.tag) {
      case AsBytes(kTiles): {
        HLOSCOPE_ASSIGN_OR_RETURN(Tile tile, ReadTile(field.bytes));
        extras_.tiles.push_back(std::move(tile));
        return {};
      }
      case AsBytes(kSplitConfigs): {
        HLOSCOPE_ASSIGN_OR_RETURN(SplitConfig config, ReadSplitConfig(field.bytes));
        extras_.split_configs.push_back(std::move(config));
        return {};
      }
      case AsBytes(kPhysicalShape): {
        HLOSCOPE_ASSIGN_OR_RETURN(Shape shape, ReadShape(field.bytes, limits_, depth_ + 1));
        extras_.physical_shape = std::make_shared<const Shape>(std::move(shape));
        return {};
      }
      case AsVarint(kIndexPrimitiveType): {
        HLOSCOPE_ASSIGN_OR_RETURN(extras_.index_primitive_type, ReadElementType(field.AsInt64()));
        return {};
      }
      case AsVarint(kPointerPrimitiveType): {
        HLOSCOPE_ASSIGN_OR_RETURN(extras_.pointer_primitive_type, ReadElementType(field.AsInt64()));
        return {};
      }
      default:
        return TakeLevels(field);
    }
  }

  Status TakeLevels(const WireField& field) {
    switch (field.number()) {
      case LayoutField::kDimLevelTypes:
        return TakeInts(field, level_types_);
      case LayoutField::kDimUnique:
        return TakeInts(field, unique_);
      case LayoutField::kDimOrdered:
        return TakeInts(field, ordered_);
      default:
        return {};
    }
  }

  static Status TakeInts(const WireField& field, std::vector<int64_t>& values) {
    if (!AppendInts(field, values)) return Malformed("LayoutProto");
    return {};
  }

  const Limits& limits_;
  int64_t depth_;
  Layout layout_;
  LayoutExtras extras_;
  std::vector<int64_t> level_types_, unique_, ordered_;
};

void WriteExtras(WireWriter& out, const LayoutExtras& extras) {
  using namespace LayoutField;
  for (const Tile& tile : extras.tiles) {
    auto mark = out.Open(kTiles);
    out.PackedInts(TileField::kDimensions, tile.dimensions);
    out.Close(mark);
  }
  out.IntUnlessZero(kElementSizeInBits, extras.element_size_in_bits);
  out.IntUnlessZero(kMemorySpace, extras.memory_space);
  WriteLevelTypes(out, extras.dim_level_types);
  if (extras.physical_shape) {
    auto mark = out.Open(kPhysicalShape);
    WriteShape(out, *extras.physical_shape);
    out.Close(mark);
  }
  out.IntUnlessZero(kIndexPrimitiveType, static_cast<int64_t>(extras.index_primitive_type));
  out.IntUnlessZero(kPointerPrimitiveType, static_cast<int64_t>(extras.pointer_primitive_type));
  out.IntUnlessZero(kDynamicShapeMetadataPrefixBytes, extras.dynamic_shape_metadata_prefix_bytes);
  for (const SplitConfig& config : extras.split_configs) {
    auto mark = out.Open(kSplitConfigs);
    out.IntUnlessZero(SplitConfigField::kDimension, config.dimension);
    out.PackedInts(SplitConfigField::kSplitIndices, config.split_indices);
    out.Close(mark);
  }
}

void WriteLayout(WireWriter& out, const Shape& shape) {
  auto mark = out.Open(ShapeField::kLayout);
  const Layout layout = shape.has_layout() ? shape.layout() : Layout::Default(shape.rank());
  out.PackedInts(LayoutField::kMinorToMajor, layout.minor_to_major);
  if (layout.extras) WriteExtras(out, *layout.extras);
  out.Int(LayoutField::kTailPaddingAlignmentInElements,
          layout.extras ? layout.extras->tail_padding_alignment_in_elements : 1);
  out.Close(mark);
}

}  // namespace

std::unexpected<Error> Malformed(std::string_view message) {
  return InputError(fmt::format("malformed {}: not in protobuf wire format", message),
                    "the file may be truncated or corrupt");
}

Status CheckDepth(int64_t depth, const Limits& limits) {
  if (depth < limits.proto_nesting) return {};
  return InputError(fmt::format("messages are nested more than {} deep", limits.proto_nesting),
                    "raise it with --limit proto-nesting=N");
}

namespace {

struct ShapeParts {
  ElementType type = ElementType::kInvalid;
  std::vector<int64_t> dimensions, dynamic;
  std::vector<Shape> elements;
  std::optional<Layout> layout;
};

Result<ShapeParts> ReadShapeParts(std::string_view bytes, const Limits& limits, int64_t depth) {
  using namespace ShapeField;
  ShapeParts parts;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(kElementType)) {
      HLOSCOPE_ASSIGN_OR_RETURN(parts.type, ReadElementType(field.AsInt64()));
    } else if (field.number() == kDimensions) {
      if (!AppendInts(field, parts.dimensions)) return Malformed("ShapeProto");
    } else if (field.number() == kIsDynamicDimension) {
      if (!AppendInts(field, parts.dynamic)) return Malformed("ShapeProto");
    } else if (field.tag == AsBytes(kLayout)) {
      LayoutReader layout_reader(limits, depth + 1);
      HLOSCOPE_ASSIGN_OR_RETURN(Layout layout, layout_reader.Read(field.bytes));
      parts.layout = std::move(layout);
    } else if (field.tag == AsBytes(kTupleShapes)) {
      HLOSCOPE_ASSIGN_OR_RETURN(Shape element, ReadShape(field.bytes, limits, depth + 1));
      parts.elements.push_back(std::move(element));
    }
  }
  if (!reader.ok()) return Malformed("ShapeProto");
  return parts;
}

Result<Shape> ArrayOf(ShapeParts parts, const Limits& limits) {
  if (std::cmp_greater(parts.dimensions.size(), limits.rank)) {
    return InputError(fmt::format("array shape has {}, the limit is {}",
                                  Counted(parts.dimensions.size(), "dimension"), limits.rank),
                      "raise it with --limit rank=N");
  }
  Shape shape = Shape::Array(parts.type, parts.dimensions);
  for (size_t i = 0; i < parts.dimensions.size(); ++i) {
    bool dynamic = i < parts.dynamic.size() && parts.dynamic[i] != 0;
    int64_t size = parts.dimensions[i];
    if (size < 0 && !(dynamic && size == Shape::kUnboundedSize)) {
      return InputError(fmt::format("dimension {} of a shape is {}, expected 0 or more", i, size));
    }
    if (dynamic) shape.set_dynamic_dimension(i, true);
  }
  if (parts.layout) {
    if (!parts.layout->minor_to_major.empty() &&
        parts.layout->minor_to_major.size() != parts.dimensions.size()) {
      return InputError(fmt::format("layout has {}, but the shape has {}",
                                    Counted(parts.layout->minor_to_major.size(), "dimension"),
                                    parts.dimensions.size()));
    }
    shape.set_layout(*std::move(parts.layout));
  }
  return shape;
}

}  // namespace

Result<Shape> ReadShape(std::string_view bytes, const Limits& limits, int64_t depth) {
  HLOSCOPE_TRY(CheckDepth(depth, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(ShapeParts parts, ReadShapeParts(bytes, limits, depth));
  switch (parts.type) {
    case ElementType::kTuple:
      if (depth >= limits.nesting) {
        return InputError(fmt::format("tuple shapes are nested more than {} deep", limits.nesting),
                          "raise it with --limit nesting=N");
      }
      if (std::cmp_greater(parts.elements.size(), limits.tuple_arity)) {
        return InputError(
            fmt::format("tuple shape has {}, the limit is {}",
                        Counted(parts.elements.size(), "element"), limits.tuple_arity),
            "raise it with --limit tuple-arity=N");
      }
      return Shape::Tuple(std::move(parts.elements));
    case ElementType::kToken:
      return Shape::Token();
    case ElementType::kOpaque:
      return Shape::Opaque();
    case ElementType::kBuffer:
      if (parts.elements.size() != 1) {
        return InputError(fmt::format("buffer shape has {}, expected 1",
                                      Counted(parts.elements.size(), "element")));
      }
      return Shape::Buffer(std::move(parts.elements[0]));
    case ElementType::kInvalid:
      return InputError("shape has no element type");
    default:
      return ArrayOf(std::move(parts), limits);
  }
}

void WriteShape(WireWriter& out, const Shape& shape) {
  using namespace ShapeField;
  out.Int(kElementType, static_cast<int64_t>(shape.element_type()));
  out.PackedInts(kDimensions, shape.dimensions());
  for (const Shape& element : shape.elements()) {
    auto mark = out.Open(kTupleShapes);
    WriteShape(out, element);
    out.Close(mark);
  }
  if (!shape.IsArray()) return;
  WriteLayout(out, shape);
  if (shape.rank() == 0) return;
  auto mark = out.Open(kIsDynamicDimension);
  for (size_t i = 0; i < shape.rank(); ++i)
    out.Raw(shape.is_dynamic_dimension(i) ? "\1" : std::string_view("\0", 1));
  out.Close(mark);
}

}  // namespace hloscope::hlo
