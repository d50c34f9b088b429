// Following origins through two rewrites.
#include "core/hlo/rewrite/origins.h"

namespace hloscope::hlo {

ModuleMark MarkOf(const Module& module) {
  ModuleMark mark{static_cast<uint32_t>(module.instructions().size()), 0xcbf29ce484222325};
  const auto add = [&](char c) {
    mark.names = (mark.names ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  };
  for (const Instruction& i : module.instructions()) {
    for (const char c : module[i.name]) add(c);
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
