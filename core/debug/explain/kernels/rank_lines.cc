// What wrong elements alone come from first, then from the store backwards, as far as values are
// wrong.
#include "core/debug/explain/kernels/rank_lines.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace hloscope::debug {

void RankLines(const std::vector<replay::StudiedStep>& steps, const std::vector<bool>& is_right,
               std::vector<KernelLine>& lines) {
  // What nothing needs is where the slice begins, or where a loop was shortened.
  std::vector<bool> is_needed(steps.size(), false), is_open(steps.size(), false);
  for (const replay::StudiedStep& step : steps) {
    for (const uint32_t need : step.needs) is_needed[need] = true;
  }
  for (size_t i = steps.size(); i-- > 0;) {
    if (!is_needed[i]) is_open[i] = true;
    if (!is_open[i] || is_right[i]) continue;
    for (const uint32_t need : steps[i].needs) is_open[need] = true;
  }
  // Is right or behind that, less than wholly suspect, distance, control.
  using Key = std::tuple<bool, double, uint32_t, bool>;
  using Line = std::pair<std::string, uint32_t>;  // kernel, line
  std::map<Line, Key> keys;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Key key{!is_open[i] || is_right[i], 1 - steps[i].suspicion, steps[i].distance,
                  steps[i].control};
    const auto [at, is_new] = keys.try_emplace(Line(steps[i].kernel, steps[i].line), key);
    if (!is_new) at->second = std::min(at->second, key);
  }
  std::vector<std::pair<Key, Line>> order;
  for (const auto& [line, key] : keys) order.emplace_back(key, line);
  // Of equals the one further down is nearer to the store.
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.second > b.second.second;
  });
  std::map<Line, uint32_t> ranks;
  for (size_t i = 0; i < order.size(); ++i) ranks[order[i].second] = static_cast<uint32_t>(i + 1);
  for (size_t i = 0; i < steps.size(); ++i)
    lines[i].rank = ranks[Line(steps[i].kernel, steps[i].line)];
}

}  // namespace hloscope::debug
