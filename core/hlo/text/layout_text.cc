// Layouts as HLO text.
#include <algorithm>

#include "core/base/append.h"
#include "core/hlo/text/text_parts.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

// (n)
Parsed<int64_t> ReadParenthesized(TextCursor& cursor, std::string_view what) {
  HLOSCOPE_TRY(Require(cursor, '(', "( after a layout attribute", "layout"));
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t value, ReadNumber(cursor, what, "layout"));
  HLOSCOPE_TRY(Require(cursor, ')', ") after " + std::string(what), "layout"));
  return value;
}

// (u32)
Parsed<ElementType> ReadParenthesizedType(TextCursor& cursor) {
  HLOSCOPE_TRY(Require(cursor, '(', "( after a layout attribute", "layout"));
  uint64_t start = (cursor.SkipSpace(), cursor.offset());
  ElementType type = ElementTypeFromText(cursor.ReadWord());
  if (!IsInteger(type)) {
    return std::unexpected(
        TextCursor::Fail("layout", "expected an integer type such as u32", start));
  }
  HLOSCOPE_TRY(Require(cursor, ')', ") after the type", "layout"));
  return type;
}

Parsed<Tile> ReadTile(TextCursor& cursor, const Limits& limits) {
  Tile tile;
  HLOSCOPE_TRY(Require(cursor, '(', "( of a tile such as T(8,128)", "layout"));
  if (cursor.Consume(')')) return tile;
  do {
    if (static_cast<int64_t>(tile.dimensions.size()) == limits.rank) {
      return std::unexpected(OverLimit(cursor, "dimensions in a tile", limits.rank, "rank"));
    }
    if (cursor.Consume('*')) {
      tile.dimensions.push_back(Tile::kCombine);
      continue;
    }
    uint64_t start = (cursor.SkipSpace(), cursor.offset());
    HLOSCOPE_ASSIGN_OR_RETURN(int64_t size, ReadNumber(cursor, "a tile size or *", "layout"));
    if (size < 1) {
      return std::unexpected(
          TextCursor::Fail("layout", "tile size is below 1, expected 1 or more", start));
    }
    tile.dimensions.push_back(size);
  } while (cursor.Consume(','));
  HLOSCOPE_TRY(Require(cursor, ')', ") at the end of a tile", "layout"));
  return tile;
}

// (dimension:index,…)
Parsed<SplitConfig> ReadSplitConfig(TextCursor& cursor) {
  SplitConfig config;
  HLOSCOPE_TRY(Require(cursor, '(', "( of a split configuration such as SC(1:16)", "layout"));
  HLOSCOPE_ASSIGN_OR_RETURN(config.dimension, ReadNumber(cursor, "a dimension", "layout"));
  HLOSCOPE_TRY(Require(cursor, ':', ": after the split dimension", "layout"));
  if (cursor.Consume(')')) return config;
  do {
    HLOSCOPE_ASSIGN_OR_RETURN(int64_t index, ReadNumber(cursor, "a split index", "layout"));
    config.split_indices.push_back(index);
  } while (cursor.Consume(','));
  HLOSCOPE_TRY(Require(cursor, ')', ") at the end of a split configuration", "layout"));
  return config;
}

// D(D,C+,S~): kept as it stands between the parentheses.
Parsed<std::string> ReadDimLevelTypes(TextCursor& cursor) {
  if (cursor.Peek() != '(') {
    return std::unexpected(cursor.Expected("( after D", "layout"));
  }
  std::optional<std::string_view> group = cursor.ReadGroup();
  constexpr std::string_view kAllowed = "()DCSH+~, \t";
  if (!group || group->find_first_not_of(kAllowed) != std::string_view::npos) {
    return std::unexpected(cursor.Expected("level types such as D(D,C)", "layout"));
  }
  return std::string(group->substr(1, group->size() - 2));
}

Parsed<std::shared_ptr<const Shape>> ReadPhysicalShape(TextCursor& cursor, PhysicalShape physical,
                                                       const Limits& limits) {
  if (physical == PhysicalShape::kRefused) {
    return std::unexpected(TextCursor::Fail("layout",
                                            "a physical shape P(…) in the layout of an array",
                                            cursor.offset(), "remove P(…)"));
  }
  HLOSCOPE_TRY(Require(cursor, '(', "( after P", "layout"));
  HLOSCOPE_ASSIGN_OR_RETURN(Shape shape, ReadShape(cursor, limits));
  HLOSCOPE_TRY(Require(cursor, ')', ") after the physical shape", "layout"));
  return std::make_shared<const Shape>(std::move(shape));
}

// What stands behind the colon. The order is fixed: D T L # * E S SC P M.
Parsed<LayoutExtras> ReadExtras(TextCursor& cursor, PhysicalShape physical, const Limits& limits) {
  LayoutExtras extras;
  if (cursor.ConsumeWord("D")) {
    HLOSCOPE_ASSIGN_OR_RETURN(extras.dim_level_types, ReadDimLevelTypes(cursor));
  }
  if (cursor.ConsumeWord("T")) {
    do {
      HLOSCOPE_ASSIGN_OR_RETURN(Tile tile, ReadTile(cursor, limits));
      extras.tiles.push_back(std::move(tile));
    } while (cursor.Peek() == '(');
  }
  if (cursor.ConsumeWord("L")) {
    HLOSCOPE_ASSIGN_OR_RETURN(extras.tail_padding_alignment_in_elements,
                              ReadParenthesized(cursor, "an alignment in elements"));
  }
  if (cursor.Consume('#')) {
    HLOSCOPE_ASSIGN_OR_RETURN(extras.index_primitive_type, ReadParenthesizedType(cursor));
  }
  if (cursor.Consume('*')) {
    HLOSCOPE_ASSIGN_OR_RETURN(extras.pointer_primitive_type, ReadParenthesizedType(cursor));
  }
  if (cursor.ConsumeWord("E")) {
    HLOSCOPE_ASSIGN_OR_RETURN(extras.element_size_in_bits,
                              ReadParenthesized(cursor, "an element size in bits"));
  }
  if (cursor.ConsumeWord("S")) {
    HLOSCOPE_ASSIGN_OR_RETURN(extras.memory_space, ReadParenthesized(cursor, "a memory space"));
  }
  if (cursor.ConsumeWord("SC")) {
    do {
      HLOSCOPE_ASSIGN_OR_RETURN(SplitConfig config, ReadSplitConfig(cursor));
      extras.split_configs.push_back(std::move(config));
    } while (cursor.Peek() == '(');
  }
  if (cursor.ConsumeWord("P")) {
    HLOSCOPE_ASSIGN_OR_RETURN(extras.physical_shape, ReadPhysicalShape(cursor, physical, limits));
  }
  if (cursor.ConsumeWord("M")) {
    HLOSCOPE_ASSIGN_OR_RETURN(int64_t bytes, ReadParenthesized(cursor, "a size in bytes"));
    extras.dynamic_shape_metadata_prefix_bytes = std::max<int64_t>(bytes, 0);
  }
  return extras;
}

void AppendTile(std::string& out, const Tile& tile) {
  out += '(';
  for (size_t i = 0; i < tile.dimensions.size(); ++i) {
    if (i != 0) out += ',';
    if (tile.dimensions[i] == Tile::kCombine) {
      out += '*';
    } else {
      if (tile.dimensions[i] < 0) out += "Invalid value ";
      AppendInteger(out, tile.dimensions[i]);
    }
  }
  out += ')';
}

void AppendAttribute(std::string& out, std::string_view name, int64_t value) {
  out.append(name).append("(");
  AppendInteger(out, value);
  out += ')';
}

void AppendTypeAttribute(std::string& out, char name, ElementType type) {
  if (type == ElementType::kInvalid) return;
  out += name;
  out += '(';
  out += IsInteger(type) ? ToString(type) : "invalid";
  out += ')';
}

void AppendExtras(std::string& out, const LayoutExtras& extras) {
  if (!extras.tiles.empty()) out += 'T';
  for (const Tile& tile : extras.tiles) AppendTile(out, tile);
  if (extras.tail_padding_alignment_in_elements != 1) {
    AppendAttribute(out, "L", extras.tail_padding_alignment_in_elements);
  }
  AppendTypeAttribute(out, '#', extras.index_primitive_type);
  AppendTypeAttribute(out, '*', extras.pointer_primitive_type);
  if (extras.element_size_in_bits != 0) AppendAttribute(out, "E", extras.element_size_in_bits);
  if (extras.memory_space != 0) AppendAttribute(out, "S", extras.memory_space);
  if (!extras.split_configs.empty()) out += "SC";
  for (const SplitConfig& config : extras.split_configs) {
    out += '(';
    AppendInteger(out, config.dimension);
    out += ':';
    AppendIntegers<int64_t>(out, config.split_indices);
    out += ')';
  }
  if (extras.physical_shape) {
    out += "P(";
    AppendTo(out, *extras.physical_shape);
    out += ')';
  }
  if (extras.dynamic_shape_metadata_prefix_bytes > 0) {
    AppendAttribute(out, "M", extras.dynamic_shape_metadata_prefix_bytes);
  }
}

}  // namespace

Parsed<Layout> ReadLayout(TextCursor& cursor, PhysicalShape physical, const Limits& limits) {
  Layout layout;
  HLOSCOPE_TRY(Require(cursor, '{', "{ of a layout such as {1,0}", "layout"));
  if (cursor.Consume('}')) return layout;
  if (cursor.Peek() != ':') {
    do {
      if (static_cast<int64_t>(layout.minor_to_major.size()) == limits.rank) {
        return std::unexpected(OverLimit(cursor, "dimensions in a layout", limits.rank, "rank"));
      }
      HLOSCOPE_ASSIGN_OR_RETURN(int64_t d, ReadNumber(cursor, "a dimension number", "layout"));
      layout.minor_to_major.push_back(d);
    } while (cursor.Consume(','));
  }
  if (cursor.Consume(':')) {
    HLOSCOPE_ASSIGN_OR_RETURN(LayoutExtras extras, ReadExtras(cursor, physical, limits));
    if (!(extras == LayoutExtras())) {
      layout.extras = std::make_shared<const LayoutExtras>(std::move(extras));
    }
  }
  if (!cursor.Consume('}')) {
    Diagnostic error = cursor.Expected("} at the end of the layout", "layout");
    error.hint = "attributes of a layout must be in the order T L # * E S SC M";
    return std::unexpected(std::move(error));
  }
  return layout;
}

Parsed<Layout> ReadLayout(TextCursor& cursor, const Limits& limits) {
  return ReadLayout(cursor, PhysicalShape::kAllowed, limits);
}

void AppendTo(std::string& out, const Layout& layout) {
  out += '{';
  AppendIntegers<int64_t>(out, layout.minor_to_major);
  if (layout.extras) {
    size_t colon = out.size();
    out += ':';
    AppendExtras(out, *layout.extras);
    if (out.size() == colon + 1) out.pop_back();
  }
  out += '}';
}

}  // namespace hloscope::hlo
