// Placement: cutting, stacking and putting together.
#include "core/replay/device_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/eval/loops/blocks.h"
#include "core/eval/numbers/wide.h"
#include "core/replay/possible_tilings.h"

namespace hloscope::replay {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Shape;
using hlo::Sharding;
using hlo::Tiling;

namespace {

using Dimensions = std::vector<int64_t>;

Dimensions DimensionsOf(const Shape& shape) {
  return {shape.dimensions().begin(), shape.dimensions().end()};
}

// The sharding of leaf number `i` of an instruction whose sharding may be one for all.
const Sharding* OfLeaf(const Sharding* sharding, size_t i) {
  if (sharding == nullptr || sharding->kind != hlo::ShardingKind::kTuple) return sharding;
  return i < sharding->elements.size() ? &sharding->elements[i] : nullptr;
}

std::vector<LeafPlacement> PlaceLeaves(const Module& module, InstructionId id,
                                       const hlo::Topology& topology, const Sharding* sharding) {
  if (sharding == nullptr) sharding = module.Get<Sharding>(module[id], AttributeKey::kSharding);
  const auto replicated = module.GetInts(module[id], AttributeKey::kParameterReplication);
  std::vector<LeafPlacement> leaves;
  for (const hlo::Shape* shape : module.shape(id).LeafShapes()) {
    LeafPlacement& leaf = leaves.emplace_back();
    leaf.shape = *shape;
    const size_t i = leaves.size() - 1;
    leaf.same_on_replicas = i < replicated.size() && replicated[i] != 0;
    const Sharding* own = OfLeaf(sharding, i);
    if (own == nullptr || topology.unpartitioned || !shape->IsArray()) continue;
    leaf.tiling = hlo::TilingOf(*own, shape->rank(), topology.counts.partitions);
  }
  return leaves;
}

// A result that shares its memory with a parameter is sharded as that is.
void PlaceAliased(const Module& module, std::vector<LeafPlacement>& results,
                  const std::vector<LeafPlacement>& parameters) {
  std::map<std::pair<int64_t, Dimensions>, size_t> at;
  size_t next = 0;
  const auto ids = module.Parameters(module.entry_id());
  for (size_t p = 0; p < ids.size(); ++p) {
    if (!ids[p].valid()) return;
    for (const auto& [index, shape] : module.shape(ids[p]).Leaves()) {
      at[{static_cast<int64_t>(p), index}] = next++;
    }
  }
  std::map<Dimensions, size_t> leaf_of;
  for (const auto& [index, shape] : module.shape(module.entry().root).Leaves()) {
    leaf_of.emplace(index, leaf_of.size());
  }
  for (const hlo::InputOutputAlias& alias : module.header().input_output_alias) {
    const auto from = at.find({alias.parameter, alias.parameter_index});
    const auto to = leaf_of.find(alias.output_index);
    if (from == at.end() || to == leaf_of.end() || results[to->second].tiling) continue;
    if (hlo::Compatible(parameters[from->second].shape, results[to->second].shape)) {
      results[to->second].tiling = parameters[from->second].tiling;
    }
  }
}

Literal Block(const Literal& from, const Shape& shape, std::span<const int64_t> start) {
  std::vector<std::byte> bytes(static_cast<size_t>(shape.ByteSize().value_or(0)));
  Dimensions sizes = DimensionsOf(shape);
  for (size_t d = 0; d < sizes.size(); ++d) {  // the last tile may be padded
    sizes[d] = std::clamp<int64_t>(from.shape().dimension(d) - start[d], 0, sizes[d]);
  }
  const Dimensions zero(sizes.size(), 0);
  eval::CopyBlock(sizes, hlo::StorageBytes(shape.element_type()),
                  {from.shape().dimensions(), start}, from.bytes().data(),
                  {shape.dimensions(), zero}, bytes.data());
  return Literal::Dense(shape, std::move(bytes));
}

// Where tile number `tile` begins.
Dimensions StartOf(const Tiling& tiling, int64_t tile, const Shape& shape) {
  Dimensions start(shape.rank(), 0);
  for (size_t d = start.size(); d-- > 0;) {
    start[d] = tile % tiling.tiles[d] * shape.dimension(d);
    tile /= tiling.tiles[d];
  }
  return start;
}

Literal Stack(std::span<const Literal> values) {
  Dimensions dimensions = DimensionsOf(values[0].shape());
  dimensions.insert(dimensions.begin(), std::ssize(values));
  std::vector<std::byte> bytes;
  for (const Literal& value : values) {
    bytes.insert(bytes.end(), value.bytes().begin(), value.bytes().end());
  }
  return Literal::Dense(Shape::Array(values[0].shape().element_type(), dimensions),
                        std::move(bytes));
}

// The array at `index` of the leading dimension.
Literal Unstack(const Literal& stacked, int64_t index) {
  const auto all = stacked.shape().dimensions();
  const Shape shape = Shape::Array(stacked.shape().element_type(), {all.begin() + 1, all.end()});
  const auto size = static_cast<size_t>(shape.ByteSize().value_or(0));
  const auto bytes = stacked.bytes().subspan(static_cast<size_t>(index) * size, size);
  return Literal::Dense(shape, {bytes.begin(), bytes.end()});
}

// The numbers of an array of floats, those of complex ones part by part.
std::vector<double> FloatsOf(const Literal& literal) {
  hlo::ElementType type = literal.shape().element_type();
  if (type == hlo::ElementType::kC64) type = hlo::ElementType::kF32;
  if (type == hlo::ElementType::kC128) type = hlo::ElementType::kF64;
  const auto bytes = literal.bytes();
  std::vector<double> numbers(bytes.size() / static_cast<size_t>(hlo::StorageBytes(type)));
  eval::LoadAs(type, bytes.data(), numbers.data(), std::ssize(numbers));
  return numbers;
}

// All bits but those of NaNs, whose payloads say nothing and are not the same on all devices.
bool Agree(const Literal& a, const Literal& b) {
  if (a == b) return true;
  const Shape& shape = a.shape();
  const bool has_nans =
      shape.IsArray() && shape == b.shape() && !a.elided() && !b.elided() &&
      (hlo::IsFloat(shape.element_type()) || hlo::IsComplex(shape.element_type()));
  if (!has_nans || !std::ranges::equal(a.dynamic_sizes(), b.dynamic_sizes())) return false;
  return std::ranges::equal(FloatsOf(a), FloatsOf(b), [](double x, double y) {
    return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
  });
}

bool AllAgree(std::span<const Literal> values) {
  return std::ranges::all_of(values, [&](const Literal& v) { return Agree(v, values[0]); });
}

// The first two partitions that hold the same tile with different values.
std::string Disagreement(const Tiling& tiling, std::span<const Literal> values) {
  std::map<int64_t, size_t> holder;
  for (size_t p = 0; p < values.size(); ++p) {
    if (tiling.tile_of[p] < 0) continue;
    const auto [at, is_new] = holder.try_emplace(tiling.tile_of[p], p);
    if (is_new || Agree(values[at->second], values[p])) continue;
    return fmt::format("partitions {} and {} should be equal but differ", at->second, p);
  }
  return {};
}

Literal Assemble(const Tiling& tiling, const Shape& own, std::span<const Literal> values,
                 std::span<const int64_t> wanted) {
  Dimensions whole = DimensionsOf(own);
  for (size_t d = 0; d < whole.size(); ++d) {
    whole[d] = wanted.empty() ? whole[d] * tiling.tiles[d] : wanted[d];
  }
  const hlo::ElementType type = values[0].shape().element_type();  // may be wider than declared
  const Shape shape = Shape::Array(type, whole);
  std::vector<std::byte> bytes(static_cast<size_t>(shape.ByteSize().value_or(0)));
  const Dimensions zero(whole.size(), 0);
  for (size_t p = values.size(); p-- > 0;) {  // the first holder of a tile has the last word
    if (tiling.tile_of[p] < 0) continue;
    const Dimensions start = StartOf(tiling, tiling.tile_of[p], own);
    Dimensions sizes = DimensionsOf(own);
    for (size_t d = 0; d < sizes.size(); ++d) {
      sizes[d] = std::clamp<int64_t>(whole[d] - start[d], 0, sizes[d]);
    }
    if (std::ranges::find(sizes, 0) != sizes.end()) continue;
    eval::CopyBlock(sizes, hlo::StorageBytes(type), {own.dimensions(), zero},
                    values[p].bytes().data(), {whole, start}, bytes.data());
  }
  return Literal::Dense(shape, std::move(bytes));
}

// Near enough to tell which arrangement of tiles is meant.
bool IsClose(const Literal& a, const Literal& b) {
  const hlo::ElementType type = b.shape().element_type();
  if (a.bytes().size() != b.bytes().size() || a.shape().element_type() != type) return false;
  if (hlo::IsComplex(type)) return a == b;
  const auto count = static_cast<size_t>(b.shape().ElementCount().value_or(0));
  std::vector<double> x(count), y(count);
  eval::LoadAs(type, a.bytes().data(), x.data(), static_cast<int64_t>(count));
  eval::LoadAs(type, b.bytes().data(), y.data(), static_cast<int64_t>(count));
  for (size_t i = 0; i < count; ++i) {
    const bool near =
        std::abs(x[i] - y[i]) <= 0.05 * std::max(std::abs(x[i]), std::abs(y[i])) + 1e-3;
    if (!near && !(std::isnan(x[i]) && std::isnan(y[i])) && x[i] != y[i]) return false;
  }
  return true;
}

}  // namespace

Status CheckDeviceCount(const Module& module, const Limits& limits) {
  const int64_t replicas = std::max<int64_t>(module.header().replica_count, 1),
                partitions = std::max<int64_t>(module.header().num_partitions, 1);
  const auto devices = CheckedMul(replicas, partitions);
  if (devices && *devices <= limits.devices) return {};
  return EnvironmentError(
      fmt::format("{} of {} exceed the limit devices of {}", Counted(replicas, "replica"),
                  Counted(partitions, "partition"), limits.devices),
      "raise --limit devices");
}

Placement::Placement(const Module& module, const Limits& limits)
    : topology_(hlo::TopologyOf(module, limits.devices)) {
  for (InstructionId id : module.Parameters(module.entry_id())) {
    if (!id.valid()) continue;
    for (LeafPlacement& leaf : PlaceLeaves(module, id, topology_, nullptr)) {
      parameters_.push_back(std::move(leaf));
    }
  }
  const auto& output = module.header().spmd_output_sharding;
  results_ = PlaceLeaves(module, module.entry().root, topology_, output ? &*output : nullptr);
  PlaceAliased(module, results_, parameters_);
}

bool Placement::IsWhole(const LeafPlacement& leaf, std::span<const int64_t> dimensions) const {
  if (!leaf.tiling || dimensions.size() != leaf.shape.rank()) return false;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const int64_t tiles = leaf.tiling->tiles[d];
    if (dimensions[d] / tiles + (dimensions[d] % tiles != 0 ? 1 : 0) != leaf.shape.dimension(d)) {
      return false;
    }
  }
  return true;
}

bool Placement::Accepts(const LeafPlacement& leaf, std::span<const int64_t> dimensions) const {
  const auto fits = [&](std::span<const int64_t> each) {
    return hlo::FitsWithin(each, leaf.shape) || IsWhole(leaf, each);
  };
  if (fits(dimensions)) return true;
  return replicas() > 1 && !dimensions.empty() && dimensions[0] == replicas() &&
         fits(dimensions.subspan(1));
}

std::string Placement::Accepted(const LeafPlacement& leaf) const {
  std::vector<Dimensions> forms = {DimensionsOf(leaf.shape)};
  if (leaf.tiling && !leaf.tiling->IsReplicated()) {
    Dimensions whole = forms[0];
    for (size_t d = 0; d < whole.size(); ++d) whole[d] *= leaf.tiling->tiles[d];
    forms.push_back(std::move(whole));
  }
  if (replicas() > 1) {
    for (size_t i = forms.size(); i-- > 0;) {
      forms.push_back(forms[i]);
      forms.back().insert(forms.back().begin(), replicas());
    }
  }
  std::string text;
  for (const Dimensions& form : forms) {
    text += (text.empty() ? "" : " or ") +
            hlo::ToString(Shape::Array(leaf.shape.element_type(), form), false);
  }
  return text;
}

Result<std::vector<Literal>> Placement::Spread(const LeafPlacement& leaf,
                                               const Literal& given) const {
  const auto count = static_cast<size_t>(lists());
  if (!leaf.shape.IsArray()) return std::vector<Literal>(count, given);
  if (given.shape().element_type() != leaf.shape.element_type()) {
    return InputError(fmt::format("the array is {}, expected {}",
                                  hlo::ToString(given.shape(), false), Accepted(leaf)));
  }
  const auto dimensions = given.shape().dimensions();
  if (hlo::FitsWithin(dimensions, leaf.shape)) return std::vector<Literal>(count, given);
  if (!Accepts(leaf, dimensions)) {
    return InputError(fmt::format("the array is {}, expected {}",
                                  hlo::ToString(given.shape(), false), Accepted(leaf)));
  }
  std::vector<Literal> result;
  for (int64_t r = 0; r < replicas(); ++r) {
    const bool is_own = IsWhole(leaf, dimensions);
    const Literal one = is_own ? given : Unstack(given, r);
    std::map<int64_t, Literal> cut;  // devices with the same tile share it
    for (int64_t p = 0; p < partitions(); ++p) {
      if (std::ranges::equal(one.shape().dimensions(), leaf.shape.dimensions())) {
        result.push_back(one);
        continue;
      }
      const int64_t tile = std::max<int64_t>(leaf.tiling->tile_of[static_cast<size_t>(p)], 0);
      auto at = cut.find(tile);
      if (at == cut.end()) {
        at = cut.emplace(tile, Block(one, leaf.shape, StartOf(*leaf.tiling, tile, leaf.shape)))
                 .first;
      }
      result.push_back(at->second);
    }
  }
  return result;
}

// Of the tilings that make the wanted dimensions and whose copies agree, the first that comes close
// to the wanted values, else the first.
void Placement::GuessTiling(LeafPlacement& leaf, std::span<const Literal> values,
                            const Literal& wanted) const {
  Dimensions tiles;
  int64_t count = 1;
  for (size_t d = 0; d < leaf.shape.rank(); ++d) {
    const int64_t own = leaf.shape.dimension(d), whole = wanted.shape().dimension(d);
    tiles.push_back(own == 0 ? 1 : whole / own + (whole % own != 0 ? 1 : 0));
    count = CheckedMul(count, tiles.back()).value_or(0);
  }
  if (count < 1 || partitions() % count != 0) return;
  std::vector<Tiling> known;
  for (const LeafPlacement& parameter : parameters_) {
    if (parameter.tiling) known.push_back(*parameter.tiling);
  }
  for (const Tiling& tiling : PossibleTilings(tiles, partitions(), known)) {
    if (!Disagreement(tiling, values).empty()) continue;
    const bool close =
        IsClose(Assemble(tiling, leaf.shape, values, wanted.shape().dimensions()), wanted);
    if (close || !leaf.tiling) leaf.tiling = tiling;
    if (close) return;
  }
}

Placement::Gathered Placement::GatherPartitions(LeafPlacement& leaf,
                                                std::span<const Literal> values,
                                                const Literal* wanted) const {
  if (values.size() == 1) return {values[0], {}};
  const auto dimensions =
      wanted == nullptr ? std::span<const int64_t>() : wanted->shape().dimensions();
  const bool wants_own =
      wanted != nullptr && std::ranges::equal(dimensions, leaf.shape.dimensions());
  bool guessed = false;
  if (!leaf.tiling && wanted != nullptr && dimensions.size() == leaf.shape.rank() && !wants_own) {
    GuessTiling(leaf, values, *wanted);
    guessed = leaf.tiling.has_value();
  }
  if (leaf.tiling) {
    const bool fits = IsWhole(leaf, dimensions);
    std::string warning = Disagreement(*leaf.tiling, values);
    if (guessed && warning.empty()) {
      warning =
          "the module does not say how this result is sharded (its .hlo.pb does): the sharding "
          "closest to the expected values is assumed";
    }
    return {
        Assemble(*leaf.tiling, leaf.shape, values, fits ? dimensions : std::span<const int64_t>()),
        std::move(warning)};
  }
  if (AllAgree(values)) return {values[0], {}};
  if (wants_own) return {values[0], "partitions differ; using that of partition 0"};
  return {Stack(values), "partitions differ and the sharding is unknown: stacked"};
}

Placement::Gathered Placement::Gather(LeafPlacement& leaf, std::span<const Literal> values,
                                      const Literal* wanted) const {
  if (!leaf.shape.IsArray() || values.size() == 1) return {values[0], {}};
  const size_t per_replica = static_cast<size_t>(partitions());
  const bool wants_stack = replicas() > 1 && wanted != nullptr &&
                           wanted->shape().rank() > leaf.shape.rank() &&
                           wanted->shape().dimension(0) == replicas();
  std::vector<Literal> stack;
  std::string warning;
  for (size_t r = 0; r < static_cast<size_t>(replicas()); ++r) {
    Literal slice;
    if (wants_stack) slice = Unstack(*wanted, static_cast<int64_t>(r));
    Gathered one = GatherPartitions(leaf, values.subspan(r * per_replica, per_replica),
                                    wants_stack ? &slice : wanted);
    if (warning.empty()) warning = std::move(one.warning);
    stack.push_back(std::move(one.value));
  }
  if (replicas() == 1) return {std::move(stack[0]), std::move(warning)};
  if (wanted != nullptr && !wants_stack &&
      std::ranges::equal(wanted->shape().dimensions(), stack[0].shape().dimensions())) {
    if (!AllAgree(stack)) warning = "replicas differ; using that of replica 0";
    return {std::move(stack[0]), std::move(warning)};
  }
  return {Stack(stack), std::move(warning)};
}

namespace {

// Which of several values a leaf has in a list: devices with the same number hold the same.
uint64_t ValueNumber(const Placement& placement, const LeafPlacement& leaf, int64_t list) {
  const hlo::Topology& topology = placement.topology();
  if (leaf.shape.rank() == 0 || !topology.note.empty()) return 0;
  const auto replica = static_cast<uint64_t>(list / placement.partitions());
  const auto partition = static_cast<size_t>(list % placement.partitions());
  uint64_t number = 0;
  if (!leaf.same_on_replicas) {
    number = replica * static_cast<uint64_t>(topology.counts.partitions);
  }
  if (leaf.tiling) {
    number += static_cast<uint64_t>(std::max<int64_t>(leaf.tiling->tile_of[partition], 0));
  }
  return number;
}

}  // namespace

Result<std::vector<std::vector<Literal>>> GenerateInputLists(const Placement& placement,
                                                             uint64_t seed,
                                                             const LeafGenerator& generate) {
  const auto& leaves = placement.parameters();
  std::map<uint64_t, std::vector<std::pair<size_t, size_t>>> places;  // of each number: list, leaf
  for (int64_t list = 0; list < placement.lists(); ++list) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      places[ValueNumber(placement, leaves[i], list)].emplace_back(list, i);
    }
  }
  std::vector<std::vector<Literal>> lists(static_cast<size_t>(placement.lists()),
                                          std::vector<Literal>(leaves.size()));
  for (const auto& [number, where] : places) {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto all, generate(seed + number * 0x9e3779b97f4a7c15u));
    for (const auto& [list, leaf] : where) {
      if (leaf >= all.size()) return InternalError("fewer leaves generated than needed");
      lists[list][leaf] = all[leaf];
    }
  }
  return lists;
}

}  // namespace hloscope::replay
