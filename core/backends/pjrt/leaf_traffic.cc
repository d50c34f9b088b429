#include "core/backends/pjrt/leaf_traffic.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/eval/loops/blocks.h"

namespace hloscope::replay::pjrt {

using hlo::Literal;
using hlo::Shape;

namespace {

std::vector<int64_t> DimensionsOf(const Shape& shape) {
  return {shape.dimensions().begin(), shape.dimensions().end()};
}

Literal Scalar(int64_t value) {
  const auto narrow = static_cast<int32_t>(value);
  return Literal::Of<int32_t>(Shape::Scalar(hlo::ElementType::kS32), std::span(&narrow, 1));
}

// The block of `sizes` at `start` of an array, in an array of `sizes` padded with zeros.
Literal BlockOf(const Literal& from, std::span<const int64_t> start, std::vector<int64_t> sizes) {
  const Shape shape = Shape::Array(from.shape().element_type(), sizes);
  std::vector<std::byte> bytes(static_cast<size_t>(shape.ByteSize().value_or(0)));
  for (size_t d = 0; d < sizes.size(); ++d) {
    sizes[d] = std::clamp<int64_t>(from.shape().dimension(d) - start[d], 0, sizes[d]);
  }
  const std::vector<int64_t> zero(sizes.size(), 0);
  if (std::ranges::find(sizes, 0) == sizes.end()) {
    eval::CopyBlock(sizes, hlo::StorageBytes(shape.element_type()),
                    {from.shape().dimensions(), start}, from.bytes().data(),
                    {shape.dimensions(), zero}, bytes.data());
  }
  return Literal::Dense(shape, std::move(bytes));
}

// The size of a tile along each dimension.
std::vector<int64_t> TileSizes(const hlo::Tiling& tiling, const Shape& whole) {
  std::vector<int64_t> sizes = DimensionsOf(whole);
  for (size_t d = 0; d < sizes.size(); ++d) {
    sizes[d] = (sizes[d] + tiling.tiles[d] - 1) / tiling.tiles[d];
  }
  return sizes;
}

std::vector<int64_t> TileStart(const hlo::Tiling& tiling, int64_t tile,
                               std::span<const int64_t> sizes) {
  std::vector<int64_t> start(sizes.size(), 0);
  for (size_t d = sizes.size(); d-- > 0;) {
    start[d] = tile % tiling.tiles[d] * sizes[d];
    tile /= tiling.tiles[d];
  }
  return start;
}

void CopyTile(const Literal& tile, std::span<const int64_t> start, const Shape& whole,
              std::vector<std::byte>& bytes) {
  std::vector<int64_t> sizes = DimensionsOf(tile.shape());
  for (size_t d = 0; d < sizes.size(); ++d) {
    sizes[d] = std::clamp<int64_t>(whole.dimension(d) - start[d], 0, sizes[d]);
  }
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  const std::vector<int64_t> zero(sizes.size(), 0);
  eval::CopyBlock(sizes, hlo::StorageBytes(whole.element_type()), {tile.shape().dimensions(), zero},
                  tile.bytes().data(), {whole.dimensions(), start}, bytes.data());
}

}  // namespace

Status LeafTraffic::AddArguments(const InputLeaf& leaf, const Literal& value, int64_t partition,
                                 std::vector<Literal>& arguments) const {
  if (leaf.shape.IsToken()) return {};
  const Shape& given = value.shape();
  bool fits = given.IsArray() && given.element_type() == leaf.shape.element_type() &&
              given.rank() == leaf.shape.rank() && !value.elided();
  for (size_t d = 0; fits && d < given.rank(); ++d) {
    fits = given.dimension(d) == leaf.shape.dimension(d) ||
           (leaf.shape.is_dynamic_dimension(d) && given.dimension(d) < leaf.shape.dimension(d));
  }
  if (!fits) {
    return InputError(fmt::format("an input is {}, expected {}", hlo::ToString(given, false),
                                  hlo::ToString(leaf.shape, false)));
  }
  const std::vector<int64_t> zero(given.rank(), 0);
  if (leaf.tiling) {
    const int64_t tile = std::max<int64_t>(leaf.tiling->tile_of[static_cast<size_t>(partition)], 0);
    std::vector<int64_t> sizes = TileSizes(*leaf.tiling, leaf.shape);
    const std::vector<int64_t> start = TileStart(*leaf.tiling, tile, sizes);
    arguments.push_back(BlockOf(value, start, std::move(sizes)));
    return {};
  }
  const bool is_whole = std::ranges::equal(given.dimensions(), leaf.shape.dimensions());
  arguments.push_back(is_whole ? value : BlockOf(value, zero, DimensionsOf(leaf.shape)));
  for (int64_t dimension : leaf.dynamic_dimensions) {
    const auto d = static_cast<size_t>(dimension);
    const auto live = value.dynamic_sizes();
    arguments.push_back(Scalar(live.empty() ? given.dimension(d) : live[d]));
  }
  return {};
}

Result<std::vector<std::vector<Literal>>> LeafTraffic::Arguments(
    std::span<const std::vector<Literal>> lists) const {
  if (std::cmp_not_equal(lists.size(), Lists())) {
    return InputError(fmt::format("the module needs {} of inputs, got {}", Counted(Lists(), "list"),
                                  lists.size()));
  }
  std::vector<std::vector<Literal>> arguments;
  for (int64_t device = 0; device < adapted_.counts.devices(); ++device) {
    const int64_t partition = device % adapted_.counts.partitions;
    const std::vector<Literal>& leaves =
        lists[static_cast<size_t>(device / adapted_.devices_per_list)];
    if (leaves.size() < adapted_.inputs.size()) {
      return InputError("fewer inputs than parameters");
    }
    std::vector<Literal>& own = arguments.emplace_back();
    for (size_t i = 0; i < adapted_.inputs.size(); ++i) {
      HLOSCOPE_TRY(AddArguments(adapted_.inputs[i], leaves[i], partition, own));
    }
  }
  return arguments;
}

Result<Literal> LeafTraffic::TakeLeaf(const DeviceOutputs& outputs, const OutputLeaf& leaf,
                                      int64_t first_device) const {
  if (leaf.output < 0) return Literal::Token();
  const auto output = static_cast<size_t>(leaf.output);
  const auto first = static_cast<size_t>(first_device);
  if (leaf.tiling && !leaf.tiling->IsReplicated()) {
    const Shape whole = Shape::Array(leaf.shape.element_type(), DimensionsOf(leaf.shape));
    std::vector<std::byte> bytes(static_cast<size_t>(whole.ByteSize().value_or(0)));
    const std::vector<int64_t> sizes = TileSizes(*leaf.tiling, whole);
    for (size_t p = leaf.tiling->tile_of.size(); p-- > 0;) {
      if (leaf.tiling->tile_of[p] < 0) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(const Literal tile, outputs.Take(first + p, output, whole));
      CopyTile(tile, TileStart(*leaf.tiling, leaf.tiling->tile_of[p], sizes), whole, bytes);
    }
    return Literal::Dense(whole, std::move(bytes));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Literal value, outputs.Take(first, output, leaf.shape));
  if (leaf.dynamic_dimensions.empty()) return value;
  std::vector<int64_t> live = DimensionsOf(leaf.shape);
  for (size_t i = 0; i < leaf.dynamic_dimensions.size(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        const Literal size,
        outputs.Take(first, output + 1 + i, Shape::Scalar(hlo::ElementType::kS32)));
    const auto d = static_cast<size_t>(leaf.dynamic_dimensions[i]);
    live[d] = std::clamp<int64_t>(size.data<int32_t>()[0], 0, live[d]);
  }
  const auto bytes = value.bytes();
  Literal dynamic = Literal::Dense(leaf.shape, {bytes.begin(), bytes.end()});
  dynamic.set_dynamic_sizes(std::move(live));
  return dynamic;
}

Status LeafTraffic::Emit(const DeviceOutputs& outputs, const CapturePlan& plan,
                         hlo::InstructionId root, RunStream& stream) const {
  size_t expected = 0;
  for (const OutputLeaf& leaf : adapted_.outputs) {
    if (leaf.output >= 0) expected += 1 + leaf.dynamic_dimensions.size();
  }
  for (int64_t d = 0; d < adapted_.counts.devices(); ++d) {
    const size_t count = outputs.CountOf(static_cast<size_t>(d));
    if (count == expected) continue;
    return InternalError(
        fmt::format("the plugin returns {}, expected {}", Counted(count, "result"), expected));
  }
  const int64_t step = adapted_.devices_per_list;
  for (int64_t list = 0; list < Lists(); ++list) {
    for (size_t i = 0; i < adapted_.outputs.size(); ++i) {
      if (plan.results == CaptureForm::kNone) continue;
      TellResult(
          stream, plan, root,
          {list, static_cast<int64_t>(i), TakeLeaf(outputs, adapted_.outputs[i], list * step)});
    }
  }
  return {};
}

}  // namespace hloscope::replay::pjrt
