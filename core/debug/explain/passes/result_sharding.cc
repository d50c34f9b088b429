// From the root's own sharding, or from the manual regions and annotations that its operands are.
#include "core/debug/explain/passes/result_sharding.h"

#include <string_view>
#include <utility>
#include <vector>

#include "core/hlo/comparison.h"
#include "core/hlo/rewrite/copy_module.h"
#include "core/hlo/sharding/device_groups.h"
#include "core/hlo/sharding/manual_region.h"
#include "core/hlo/sharding/tiling.h"
#include "core/hlo/sharding/topology.h"
#include "core/hlo/text/sdy_text.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Sharding;

const Sharding* OwnSharding(const Module& module, InstructionId id) {
  return module.Get<Sharding>(module[id], AttributeKey::kSharding);
}

// Of an array, as far as it is the result of a manual region or of an annotation.
std::optional<Sharding> ShardingOfArray(const Module& module, InstructionId id) {
  size_t element = 0;
  if (module[id].opcode == Opcode::kGetTupleElement) {
    element = static_cast<size_t>(module.GetInt(module[id], AttributeKey::kIndex));
    id = module.operands(id)[0];
  }
  if (hlo::LeavesManualRegion(module, id)) {
    const auto shardings = hlo::ManualShardings(module, id);
    if (!shardings || element >= shardings->size()) return std::nullopt;
    return (*shardings)[element];
  }
  if (const auto text = hlo::FrontendValue(module, id, "xla.sdy.sharding")) {
    const auto shardings = hlo::ReadSdyShardings(module, *text);
    if (shardings && element < shardings->size()) return (*shardings)[element];
  }
  const Sharding* const own = OwnSharding(module, id);
  if (own == nullptr) return std::nullopt;
  if (own->kind != hlo::ShardingKind::kTuple) return *own;
  return element < own->elements.size() ? std::optional(own->elements[element]) : std::nullopt;
}

// By leaf of the result; nullopt where nothing says it.
std::vector<std::optional<Sharding>> ShardingOfLeaves(const Module& module) {
  const InstructionId root = module.entry().root;
  const size_t count = module.shape(root).LeafShapes().size();
  std::vector<std::optional<Sharding>> leaves(count);
  if (const Sharding* const own = OwnSharding(module, root)) {
    const bool is_tuple = own->kind == hlo::ShardingKind::kTuple;
    for (size_t i = 0; i < count; ++i) {
      if (!is_tuple || i < own->elements.size()) leaves[i] = is_tuple ? own->elements[i] : *own;
    }
    return leaves;
  }
  if (module[root].opcode != Opcode::kTuple) {
    if (module.shape(root).IsArray()) leaves[0] = ShardingOfArray(module, root);
    return leaves;
  }
  const auto operands = module.operands(root);
  if (operands.size() != count) return leaves;  // a tuple in a tuple
  for (size_t i = 0; i < count; ++i) leaves[i] = ShardingOfArray(module, operands[i]);
  return leaves;
}

bool Fits(const Sharding& sharding, const hlo::Shape& whole, const hlo::Shape& part,
          int64_t partitions) {
  const auto tiling = hlo::TilingOf(sharding, whole.rank(), partitions);
  if (!tiling || whole.rank() != part.rank()) return false;
  for (size_t d = 0; d < whole.rank(); ++d) {
    const int64_t tiles = tiling->tiles[d];
    if ((whole.dimension(d) + tiles - 1) / tiles != part.dimension(d)) return false;
  }
  return true;
}

}  // namespace

std::shared_ptr<const Module> ResultSharding::Complete(std::shared_ptr<const Module> module) {
  const InstructionId root = module->entry().root;
  const hlo::Topology topology = hlo::TopologyOf(*module, devices_);
  if (topology.unpartitioned || topology.counts.partitions == 1) {
    const bool is_same = whole_ && hlo::Compatible(*whole_, module->shape(root));
    std::vector<std::optional<Sharding>> known = ShardingOfLeaves(*module);
    for (size_t i = 0; is_same && i < known.size(); ++i) {
      if (!known[i]) known[i] = leaves_[i];
    }
    whole_ = module->shape(root);
    leaves_ = std::move(known);
    return module;
  }
  if (module->header().spmd_output_sharding || !whole_ ||
      hlo::Compatible(*whole_, module->shape(root))) {
    return module;
  }
  std::optional<Sharding> sharding = FittingTo(*module, topology.counts.partitions);
  if (!sharding) return nullptr;
  hlo::ModuleBuilder builder = hlo::CopyModule(*module);
  builder.header().spmd_output_sharding = std::move(sharding);
  return builder.Build();
}

std::optional<Sharding> ResultSharding::FittingTo(const Module& module, int64_t partitions) const {
  const auto wholes = whole_->LeafShapes();
  const auto parts = module.shape(module.entry().root).LeafShapes();
  if (wholes.size() != parts.size() || wholes.size() != leaves_.size()) return std::nullopt;
  Sharding tuple;
  tuple.kind = hlo::ShardingKind::kTuple;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool is_same = hlo::Compatible(*wholes[i], *parts[i]);
    const Sharding leaf = is_same ? Sharding{} : leaves_[i].value_or(Sharding{});
    if (!is_same && (!leaves_[i] || !Fits(leaf, *wholes[i], *parts[i], partitions)))
      return std::nullopt;
    tuple.elements.push_back(leaf);
  }
  if (module.shape(module.entry().root).IsTuple()) return tuple;
  return tuple.elements.front();
}

}  // namespace hloscope::debug
