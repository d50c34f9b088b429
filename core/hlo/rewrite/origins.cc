// Following origins through two rewrites.
#include "core/hlo/rewrite/origins.h"

#include "core/hlo/rewrite/named_order.h"

namespace hloscope::hlo {

std::vector<InstructionId> ByName(const Module& module) {
  std::vector<InstructionId> order;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) order.emplace_back(k);
  std::ranges::sort(order, {}, [&](InstructionId id) {
    return std::tuple(module[module[module[id].computation].name], module.name(id), id);
  });
  return order;
}

std::vector<InstructionId> PlacesIn(const std::vector<InstructionId>& order) {
  std::vector<InstructionId> places(order.size());
  for (size_t k = 0; k < order.size(); ++k) places[order[k].index] = InstructionId(k);
  return places;
}

std::vector<Origin> Renumbered(std::vector<Origin> origins,
                               const std::vector<InstructionId>& before,
                               const std::vector<InstructionId>& after) {
  for (Origin& origin : origins) {
    origin.before = before[origin.before.index];
    origin.after = after[origin.after.index];
  }
  SortOrigins(origins);
  return origins;
}

ModuleMark MarkOf(const Module& module) {
  ModuleMark mark{static_cast<uint32_t>(module.instructions().size()), 0xcbf29ce484222325};
  const auto add = [&](char c) {
    mark.names = (mark.names ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  };
  for (const InstructionId id : ByName(module)) {
    for (const char c : module.name(id)) add(c);
    add('\n');
  }
  return mark;
}

std::vector<Origin> ComposeOrigins(const std::vector<Origin>& first,
                                   const std::vector<Origin>& second) {
  std::vector<Origin> both;
  both.reserve(second.size());
  for (const Origin& step : second) {
    const auto from = std::ranges::equal_range(first, step.before, {}, &Origin::after);
    for (const Origin& earlier : from) {
      both.push_back({earlier.before, step.after, std::max(earlier.kind, step.kind)});
    }
  }
  SortOrigins(both);
  return both;
}

}  // namespace hloscope::hlo
