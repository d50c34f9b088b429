// What wrong elements alone come from first, then from the store backwards, as far as values are
// wrong.
#include "core/debug/explain/kernels/rank_lines.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace hloscope::debug {

namespace {

constexpr uint32_t kFar = std::numeric_limits<uint32_t>::max();

// Whether a number of that type is a NaN or infinite; of two halves one of them.
bool IsNotFinite(uint64_t bits, std::string_view type) {
  const auto has = [&](uint64_t exponent) { return (bits & exponent) == exponent; };
  if (type == "f64") return has(uint64_t{0x7ff} << 52);
  if (type == "f32") return has(0x7f800000);
  if (type == "f16") return has(0x7c00);
  if (type == "bf16") return has(0x7f80);
  if (type == "f16x2") return has(0x7c00) || has(0x7c000000);
  if (type == "bf16x2") return has(0x7f80) || has(0x7f800000);
  return false;
}

bool MakesNotFinite(const replay::StudiedStep& step, std::string_view type) {
  return std::ranges::any_of(step.carries,
                             [&](const auto& value) { return IsNotFinite(value.first, type); });
}

// How many steps back from the nearest that makes a value that is not finite of finite ones; those
// it does not come from are far. Moves and selections make nothing.
std::vector<uint32_t> BehindNotFinite(const std::vector<replay::StudiedStep>& steps) {
  std::vector<uint32_t> back(steps.size(), kFar);
  for (size_t i = steps.size(); i-- > 0;) {
    const replay::StudiedStep& step = steps[i];
    const bool computes = step.opcode != "mov" && step.opcode != "selp" && step.opcode != "ld";
    const bool begins = computes && MakesNotFinite(step, step.type) &&
                        std::ranges::none_of(step.needs, [&](uint32_t need) {
                          return MakesNotFinite(steps[need], step.type);
                        });
    if (begins) back[i] = 0;
    if (back[i] == kFar) continue;
    for (const uint32_t need : step.needs) back[need] = std::min(back[need], back[i] + 1);
  }
  return back;
}

}  // namespace

void RankLines(const std::vector<replay::StudiedStep>& steps, const std::vector<bool>& is_right,
               bool is_not_finite, std::vector<KernelLine>& lines) {
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
  const std::vector<uint32_t> back =
      is_not_finite ? BehindNotFinite(steps) : std::vector<uint32_t>(steps.size(), kFar);
  // Is right or behind that, less than wholly suspect, behind what is not finite, distance,
  // control.
  using Key = std::tuple<bool, double, uint32_t, uint32_t, bool>;
  using Line = std::pair<std::string, uint32_t>;  // kernel, line
  std::map<Line, Key> keys;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Key key{!is_open[i] || is_right[i], 1 - steps[i].suspicion, back[i], steps[i].distance,
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
