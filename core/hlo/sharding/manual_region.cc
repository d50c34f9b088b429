// What the custom calls at the borders of manual regions say.
#include "core/hlo/sharding/manual_region.h"

#include <algorithm>

#include "core/hlo/comparison.h"
#include "core/hlo/sharding/device_groups.h"
#include "core/hlo/text/sdy_text.h"

namespace hloscope::hlo {
namespace {

std::string_view TargetOf(const Module& module, InstructionId id) {
  return module[id].opcode == Opcode::kCustomCall
             ? module.GetString(module[id], AttributeKey::kCustomCallTarget)
             : std::string_view();
}

std::expected<std::vector<Sharding>, std::string_view> NamedShardings(const Module& module,
                                                                      InstructionId id,
                                                                      std::string_view key) {
  const auto text = FrontendValue(module, id, key);
  const auto axes_text = FrontendValue(module, id, "xla.sdy.manual_axes");
  auto shardings = text ? ReadSdyShardings(module, *text) : std::nullopt;
  const auto names = axes_text ? ReadSdyAxes(*axes_text) : std::nullopt;
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

}  // namespace

bool EntersManualRegion(const Module& module, InstructionId id) {
  const std::string_view target = TargetOf(module, id);
  return target == kFullToShard || target == kGlobalToLocal;
}

bool LeavesManualRegion(const Module& module, InstructionId id) {
  const std::string_view target = TargetOf(module, id);
  return target == kShardToFull || target == kLocalToGlobal;
}

bool IsShardyNote(const Module& module, InstructionId id) {
  const std::string_view target = TargetOf(module, id);
  return target == "xla.sdy.FuncResultSharding" || target == "xla.sdy.PropagationBarrier";
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
