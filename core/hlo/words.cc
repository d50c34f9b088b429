// The table in words.def; layouts are put together of their parts.
#include "core/hlo/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/checked.h"

namespace hloscope::hlo {
namespace {

struct SpaceWords {
  std::string_view device;
  int64_t number;
  std::string_view name, sentence;
};
constexpr SpaceWords kSpaces[] = {
#define WORDS_SPACE(device, number, name, sentence) {device, number, name, sentence},
#include "core/hlo/words.def"
#undef WORDS_SPACE
};

std::string SizesText(std::span<const int64_t> sizes) {
  std::string out;
  for (const int64_t size : sizes) {
    if (!out.empty()) out += " by ";
    out += size == Tile::kCombine ? "*" : fmt::format("{}", size);
  }
  return out;
}

// The place in memory of an element, in elements: XLA, docs/tiled_layout.md. `sizes` and `index`
// have the most major dimension first. nullopt: too large, or a tile that combines dimensions.
std::optional<int64_t> LinearIndex(std::vector<int64_t> sizes, std::vector<int64_t> index,
                                   const std::vector<Tile>& tiles) {
  for (const Tile& tile : tiles) {
    const size_t rank = tile.dimensions.size();
    if (rank > sizes.size() ||
        std::ranges::any_of(tile.dimensions, [](int64_t size) { return size < 1; }))
      return std::nullopt;
    const size_t first = sizes.size() - rank;
    std::vector<int64_t> inner_sizes, inner_index;
    for (size_t k = 0; k < rank; ++k) {
      const int64_t size = tile.dimensions[k];
      inner_sizes.push_back(size);
      inner_index.push_back(index[first + k] % size);
      index[first + k] /= size;
      sizes[first + k] = sizes[first + k] / size + (sizes[first + k] % size != 0 ? 1 : 0);
    }
    sizes.insert(sizes.end(), inner_sizes.begin(), inner_sizes.end());
    index.insert(index.end(), inner_index.begin(), inner_index.end());
  }
  int64_t linear = 0;
  for (size_t k = 0; k < sizes.size(); ++k) {
    const auto scaled = CheckedMul(linear, sizes[k]);
    const auto next = scaled ? CheckedAdd(*scaled, index[k]) : std::nullopt;
    if (!next) return std::nullopt;
    linear = *next;
  }
  return linear;
}

std::string TilesText(const std::vector<Tile>& tiles, const Shape& shape) {
  std::string out;
  for (size_t k = 0; k < tiles.size(); ++k) {
    out += k == 0 ? fmt::format(
                        "tiles of {} elements (of the dimensions that vary fastest) lie one "
                        "after another, padded at the ends",
                        SizesText(tiles[0].dimensions))
                  : fmt::format("; each of them in tiles of {}", SizesText(tiles[k].dimensions));
  }
  const auto& order = shape.layout().minor_to_major;
  int64_t padded = 1;
  const auto& tile = tiles[0].dimensions;
  for (size_t k = 0; k < order.size(); ++k) {
    const int64_t size = shape.dimensions()[static_cast<size_t>(order[k])];
    const int64_t step = k < tile.size() ? tile[tile.size() - 1 - k] : 1;
    if (size < 0 || step <= 0) return out;
    const auto whole = CheckedMul(size / step + (size % step != 0 ? 1 : 0), step);
    const auto next = whole ? CheckedMul(padded, *whole) : std::nullopt;
    if (!next) return out;
    padded = *next;
  }
  return out + fmt::format("; {} elements in memory", padded);
}

}  // namespace

std::string_view Describe(Opcode opcode) {
  switch (opcode) {
#define WORDS_OPCODE(name, sentence) \
  case Opcode::name:                 \
    return sentence;
#include "core/hlo/words.def"
#undef WORDS_OPCODE
  }
  return {};
}

std::string_view Describe(AttributeKey key) {
  switch (key) {
#define WORDS_ATTRIBUTE(name, sentence) \
  case AttributeKey::name:              \
    return sentence;
#include "core/hlo/words.def"
#undef WORDS_ATTRIBUTE
  }
  return {};
}

std::string DescribeMemorySpace(int64_t space, std::string_view device) {
  std::string out;
  for (const bool is_general : {false, true}) {
    for (const SpaceWords& row : kSpaces) {
      const bool fits = row.number == space && row.device.empty() == is_general &&
                        (is_general || device.empty() || row.device == device);
      if (!fits || (is_general && !out.empty())) continue;
      if (!out.empty()) out += "; ";
      if (device.empty() && !is_general) out += fmt::format("on a {}: ", row.device);
      out += fmt::format("{}, {}", row.name, row.sentence);
    }
  }
  return out.empty() ? "a memory space of this backend without a public name" : out;
}

std::vector<LayoutPart> DescribeLayout(const Shape& shape, std::string_view device) {
  std::vector<LayoutPart> out;
  if (!shape.IsArray() || !shape.has_layout()) return out;
  const Layout& layout = shape.layout();
  const auto& order = layout.minor_to_major;
  if (!order.empty()) {
    std::string text = "{";
    for (size_t k = 0; k < order.size(); ++k)
      text += fmt::format("{}{}", k == 0 ? "" : ",", order[k]);
    const bool is_default = layout.minor_to_major == Layout::Default(order.size()).minor_to_major &&
                            (layout.extras == nullptr || layout.extras->tiles.empty());
    out.push_back(
        {text + "}",
         order.size() == 1
             ? "elements lie one after another"
             : fmt::format("dimension {} varies fastest in memory and dimension {} slowest{}",
                           order.front(), order.back(),
                           is_default ? ": rows one after another, as in C" : "")});
  }
  if (layout.extras == nullptr) return out;
  const LayoutExtras& extras = *layout.extras;
  auto add = [&](std::string text, std::string meaning) {
    out.push_back({std::move(text), std::move(meaning)});
  };
  if (!extras.dim_level_types.empty())
    add("D(" + extras.dim_level_types + ")",
        "how each dimension is stored: D dense, C compressed, S singleton, H hybrid");
  if (!extras.tiles.empty()) {
    std::string text = "T";
    for (const Tile& tile : extras.tiles) {
      text += "(";
      for (size_t k = 0; k < tile.dimensions.size(); ++k) {
        const int64_t size = tile.dimensions[k];
        text += k == 0 ? "" : ",";
        text += size == Tile::kCombine ? "*" : fmt::format("{}", size);
      }
      text += ")";
    }
    add(text, TilesText(extras.tiles, shape));
  }
  if (extras.tail_padding_alignment_in_elements != 1)
    add(fmt::format("L({})", extras.tail_padding_alignment_in_elements),
        "the array is padded at its end to a multiple of so many elements");
  if (extras.index_primitive_type != ElementType::kInvalid)
    add(fmt::format("#({})", ToString(extras.index_primitive_type)),
        "the type of the indices of a sparse array");
  if (extras.pointer_primitive_type != ElementType::kInvalid)
    add(fmt::format("*({})", ToString(extras.pointer_primitive_type)),
        "the type of the pointers of a sparse array");
  if (extras.element_size_in_bits != 0)
    add(fmt::format("E({})", extras.element_size_in_bits),
        "bits that an element takes: several may share a byte");
  if (extras.memory_space != 0)
    add(fmt::format("S({})", extras.memory_space),
        DescribeMemorySpace(extras.memory_space, device));
  for (const SplitConfig& config : extras.split_configs) {
    std::string indices;
    for (const int64_t index : config.split_indices)
      indices += fmt::format("{}{}", indices.empty() ? "" : ",", index);
    add(fmt::format("SC({}:{})", config.dimension, indices),
        "the dimension is split at these indices, each part in a memory of its own");
  }
  if (extras.physical_shape) add("P(…)", "the shape that the device stores in its place");
  if (extras.dynamic_shape_metadata_prefix_bytes > 0)
    add(fmt::format("M({})", extras.dynamic_shape_metadata_prefix_bytes),
        "bytes before the array that hold its sizes at run time");
  return out;
}

std::vector<std::vector<int64_t>> TilingPlaces(const Shape& shape, size_t rows, size_t columns) {
  if (!shape.IsArray() || !shape.has_layout() || shape.dimensions().empty()) return {};
  const Layout& layout = shape.layout();
  const size_t rank = shape.dimensions().size();
  if (layout.minor_to_major.size() != rank) return {};
  static const std::vector<Tile> kNone;
  const std::vector<Tile>& tiles = layout.extras ? layout.extras->tiles : kNone;
  auto size_of = [&](size_t d) { return shape.dimensions()[d]; };
  const int64_t height = rank == 1 ? 1 : size_of(rank - 2), width = size_of(rank - 1);
  std::vector<std::vector<int64_t>> places;
  for (int64_t r = 0; r < std::min<int64_t>(height, static_cast<int64_t>(rows)); ++r) {
    auto& row = places.emplace_back();
    for (int64_t c = 0; c < std::min<int64_t>(width, static_cast<int64_t>(columns)); ++c) {
      std::vector<int64_t> element(rank, 0), sizes, index;
      element[rank - 1] = c;
      if (rank > 1) element[rank - 2] = r;
      for (size_t k = rank; k-- > 0;) {
        const auto d = static_cast<size_t>(layout.minor_to_major[k]);
        sizes.push_back(size_of(d));
        index.push_back(element[d]);
      }
      const auto place = LinearIndex(std::move(sizes), std::move(index), tiles);
      if (!place) return {};
      row.push_back(*place);
    }
    if (row.empty()) return {};
  }
  return places;
}

std::string TilingPicture(const Shape& shape, size_t rows, size_t columns) {
  const auto places = TilingPlaces(shape, rows, columns);
  if (places.empty()) return {};
  size_t cell = 1;
  for (const auto& row : places) {
    for (const int64_t place : row) cell = std::max(cell, std::to_string(place).size());
  }
  const size_t rank = shape.dimensions().size();
  std::string out;
  for (const auto& row : places) {
    for (const int64_t place : row) out += fmt::format(" {:>{}}", place, cell);
    if (std::cmp_less(row.size(), shape.dimensions()[rank - 1])) out += " …";
    out += "\n";
  }
  if (rank > 1 && std::cmp_less(places.size(), shape.dimensions()[rank - 2])) out += " …\n";
  return out;
}

}  // namespace hloscope::hlo
