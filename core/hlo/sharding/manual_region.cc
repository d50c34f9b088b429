// What the custom calls at the borders of manual regions say.
#include "core/hlo/sharding/manual_region.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/comparison.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/sharding/device_groups.h"
#include "core/hlo/sharding/topology.h"
#include "core/hlo/text/sdy_text.h"
#include "core/hlo/tile_assignment.h"

namespace hloscope::hlo {
namespace {

std::string_view TargetOf(const Module& module, InstructionId id) {
  return module[id].opcode == Opcode::kCustomCall
             ? module.GetString(module[id], AttributeKey::kCustomCallTarget)
             : std::string_view();
}

std::optional<std::vector<std::string>> ManualAxes(const Module& module, InstructionId id) {
  const auto text = FrontendValue(module, id, "xla.sdy.manual_axes");
  return text ? ReadSdyAxes(*text) : std::nullopt;
}

std::expected<std::vector<Sharding>, std::string_view> NamedShardings(const Module& module,
                                                                      InstructionId id,
                                                                      std::string_view key) {
  const auto text = FrontendValue(module, id, key);
  auto shardings = text ? ReadSdyShardings(module, *text) : std::nullopt;
  const auto names = ManualAxes(module, id);
  if (!shardings || !names) return std::unexpected("its shardings cannot be parsed");
  for (Sharding& sharding : *shardings) {
    for (DimensionSharding& dimension : sharding.dimensions) {
      std::erase_if(dimension.axes, [&](const AxisRef& ref) {
        const std::string& name = sharding.mesh.axes[static_cast<size_t>(ref.axis)].first;
        return std::ranges::find(*names, name) == names->end();
      });
    }
  }
  return *std::move(shardings);
}

using Groups = std::vector<std::vector<int64_t>>;

// By a mesh, along all of whose other axes a group has one place.
Groups GroupsOfMesh(const Mesh& mesh, const std::vector<std::string>& manual, int64_t partitions) {
  std::vector<AxisRef> axes;
  size_t size = 1;
  for (size_t k = 0; k < mesh.axes.size(); ++k) {
    if (std::ranges::find(manual, mesh.axes[k].first) == manual.end()) continue;
    axes.push_back({.axis = static_cast<int64_t>(k)});
    size *= static_cast<size_t>(std::max<int64_t>(mesh.axes[k].second, 1));
  }
  const auto list = ListByAxes(mesh, axes, partitions);
  if (axes.size() != manual.size() || !list || list->size() % size != 0) return {};
  Groups groups;
  for (auto at = list->begin(); at != list->end(); at += static_cast<ptrdiff_t>(size)) {
    groups.emplace_back(at, at + static_cast<ptrdiff_t>(size));
  }
  return groups;
}

// By the subgroups of a sharding that are manual.
Groups GroupsOfTiles(const Sharding& sharding) {
  const auto& sizes = sharding.tiles.dimensions;
  const auto list = Materialize(sharding.tiles);
  if (!list || sharding.last_tile_dims.size() > sizes.size()) return {};
  const size_t first = sizes.size() - sharding.last_tile_dims.size();
  std::map<int64_t, std::vector<int64_t>> by_place;
  for (size_t i = 0; i < list->size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t place = 0, stride = 1;
    for (size_t d = sizes.size(); d-- > first;) {
      if (sharding.last_tile_dims[d - first] == SubgroupKind::kManual) {
        place += rest % sizes[d] * stride;
        stride *= sizes[d];
      }
      rest /= sizes[d];
    }
    by_place[place].push_back((*list)[i]);
  }
  Groups groups;
  for (auto& [place, group] : by_place) groups.push_back(std::move(group));
  return groups;
}

}  // namespace

bool EntersManualRegion(const Module& module, InstructionId id) {
  const std::string_view target = TargetOf(module, id);
  return target == kFullToShard || target == kGlobalToLocal;
}

bool LeavesManualRegion(const Module& module, InstructionId id) {
  const std::string_view target = TargetOf(module, id);
  return target == kShardToFull || target == kLocalToGlobal;
}

bool IsShardyAnnotation(const Module& module, InstructionId id) {
  const std::string_view target = TargetOf(module, id);
  return target == "xla.sdy.FuncResultSharding" || target == "xla.sdy.PropagationBarrier";
}

bool IsShardingAt(const Module& module, InstructionId border, InstructionId operand) {
  return EntersManualRegion(module, border) && TargetOf(module, operand) == "Sharding";
}
std::vector<bool> OwnValues(const Module& module) {
  const size_t count = module.instructions().size();
  constexpr int64_t kAnyDevices = std::numeric_limits<int64_t>::max();
  if (!TopologyOf(module, kAnyDevices).unpartitioned) return std::vector<bool>(count, false);
  if (AreValuesOwn(module)) return std::vector<bool>(count, true);
  std::vector<uint32_t> depth(count, 0);  // of regions around the value
  std::vector<bool> inside(module.computations().size(), false);
  const CallGraph& calls = CallGraphOf(module);
  for (const ComputationId c : calls.callers_first()) {
    for (uint32_t i = 0; i < module[c].instruction_count; ++i) {
      const InstructionId id(module[c].first_instruction + i);
      uint32_t& own = depth[id.index];
      own = inside[c.index] || HasTrait(module[id].opcode, kTraitOwnDevice) ? 1 : 0;
      for (const InstructionId operand : module.operands(id)) {
        own = std::max(own, depth[operand.index]);
      }
      if (EntersManualRegion(module, id)) ++own;
      if (LeavesManualRegion(module, id) && own > (inside[c.index] ? 1 : 0)) --own;
      if (own == 0) continue;
      for (const Call& call : calls.calls(id)) inside[call.callee.index] = true;
    }
  }
  std::vector<bool> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = depth[i] > 0;
  return out;
}

bool AreValuesOwn(const Module& module) {
  return std::ranges::any_of(
      module.header().frontend_attributes.entries,
      [&](const FrontendAttribute& entry) { return module[entry.key] == kOwnValues; });
}

std::expected<std::vector<Sharding>, std::string_view> ManualShardings(const Module& module,
                                                                       InstructionId id) {
  const std::string_view target = TargetOf(module, id);
  if (target == kGlobalToLocal) return NamedShardings(module, id, "xla.sdy.in_shardings");
  if (target == kLocalToGlobal) return NamedShardings(module, id, "xla.sdy.out_shardings");
  const auto operands = module.operands(id);
  const InstructionId holder = target == kFullToShard && !operands.empty() ? operands[0] : id;
  const auto* sharding = module.Get<Sharding>(module[holder], AttributeKey::kSharding);
  return std::vector<Sharding>(operands.size(), sharding == nullptr ? Sharding{} : *sharding);
}

std::expected<Tiling, std::string_view> ManualTiling(const Sharding& sharding, const Shape& whole,
                                                     const Shape& part, int64_t partitions) {
  const bool same = Compatible(whole, part, {.dynamic_dimensions = false});
  auto tiling = TilingOf(same ? Sharding{} : sharding, whole.rank(), partitions);
  if (!tiling || whole.rank() != part.rank()) {
    return std::unexpected("its sharding does not assign parts to devices");
  }
  Tiling manual = *tiling;
  for (size_t d = 0; d < whole.rank(); ++d) {
    if (whole.dimension(d) == part.dimension(d)) {
      manual.tiles[d] = 1;
    } else if ((whole.dimension(d) + tiling->tiles[d] - 1) / tiling->tiles[d] !=
               part.dimension(d)) {
      return std::unexpected("its sharding does not match the shapes of its parts");
    }
  }
  for (int64_t& tile : manual.tile_of) {
    if (tile < 0) continue;
    int64_t rest = tile, number = 0, stride = 1;
    for (size_t d = whole.rank(); d-- > 0;) {
      if (manual.tiles[d] != 1) {
        number += rest % tiling->tiles[d] * stride;
        stride *= tiling->tiles[d];
      }
      rest /= tiling->tiles[d];
    }
    tile = number;
  }
  return manual;
}

Groups ManualGroups(const Module& module, InstructionId id, int64_t partitions) {
  Groups groups;
  if (TargetOf(module, id) == kLocalToGlobal) {
    const auto manual = ManualAxes(module, id);
    const auto shardings = ManualShardings(module, id);
    for (size_t i = 0; manual && shardings && groups.empty() && i < shardings->size(); ++i) {
      groups = GroupsOfMesh((*shardings)[i].mesh, *manual, partitions);
    }
  } else if (const auto* sharding = module.Get<Sharding>(module[id], AttributeKey::kSharding);
             sharding != nullptr && sharding->kind == ShardingKind::kTiled) {
    groups = GroupsOfTiles(*sharding);
  }
  std::vector<int64_t> all(static_cast<size_t>(partitions)), members;
  std::iota(all.begin(), all.end(), 0);
  for (const auto& group : groups) members.insert(members.end(), group.begin(), group.end());
  std::ranges::sort(members);
  // Each partition once, whatever a file says.
  if (groups.size() > 1 && members == all) return groups;
  return {std::move(all)};
}

PartOfWhole PartAt(const Tiling& tiling, int64_t tile, const Shape& whole, const Shape& part) {
  PartOfWhole result{std::vector<int64_t>(whole.rank(), 0),
                     {part.dimensions().begin(), part.dimensions().end()}};
  for (size_t d = whole.rank(); d-- > 0;) {
    result.start[d] = tile % tiling.tiles[d] * part.dimension(d);
    tile /= tiling.tiles[d];
    result.sizes[d] =
        std::clamp<int64_t>(whole.dimension(d) - result.start[d], 0, part.dimension(d));
  }
  return result;
}

}  // namespace hloscope::hlo
