#include "profiler/step_excess.h"

#include <algorithm>
#include <map>

namespace hloscope::profiler {
namespace {

constexpr size_t kFewest = 3, kMost = 3;
constexpr int64_t kShare = 10;  // a tenth

int64_t MedianOf(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Lines that devices derive from others would count the same time once more.
bool IsMeasured(LaneRole role) {
  return role == LaneRole::kThread || role == LaneRole::kStream || role == LaneRole::kOperations;
}

// visit(event, its own time) for those that were measured.
template <typename Visit>
void EachSelfTime(const EventStore& store, Visit visit) {
  std::vector<int64_t> inner(store.size());
  for (const bool is_sum : {true, false}) {
    for (const Lane& lane : store.lanes()) {
      if (!IsMeasured(lane.role)) continue;
      for (uint32_t i = lane.first_event; i < lane.first_event + lane.event_count; ++i) {
        const EventId e(i), parent = is_sum ? store.ParentOf(e) : EventId();
        if (parent.valid()) inner[parent.index] += store.duration(e);
        if (!is_sum) visit(e, std::max<int64_t>(store.duration(e) - inner[i], 0));
      }
    }
  }
}

}  // namespace

std::vector<StepExcess> ExcessOf(const EventStore& store, const std::vector<StepTime>& steps,
                                 size_t longest) {
  std::vector<StepTime> alike;  // in order of their starts
  std::vector<int64_t> durations;
  size_t at = 0;
  for (size_t k = 0; k < steps.size(); ++k) {
    if (steps[k].name != steps[longest].name) continue;
    if (k == longest) at = alike.size();
    alike.push_back(steps[k]);
    durations.push_back(steps[k].duration);
  }
  if (alike.size() < kFewest) return {};
  const int64_t difference = steps[longest].duration - MedianOf(durations);
  const NameId mark = store.FindName(steps[longest].name);
  std::map<NameId, std::vector<int64_t>> times;  // of each step
  EachSelfTime(store, [&](EventId e, int64_t self) {
    auto step = std::ranges::upper_bound(alike, store.start(e), {}, &StepTime::start);
    if (step == alike.begin() || store.name(e) == mark) return;
    --step;
    if (store.start(e) >= step->start + step->duration) return;
    const auto [sums, is_new] = times.try_emplace(store.name(e));
    if (is_new) sums->second.resize(alike.size());
    sums->second[static_cast<size_t>(step - alike.begin())] += self;
  });
  std::vector<StepExcess> out;
  for (const auto& [name, sums] : times) {
    const StepExcess excess{name, sums[at], MedianOf(sums)};
    if (excess.more() > 0 && excess.more() >= difference / kShare) out.push_back(excess);
  }
  std::ranges::stable_sort(out, std::greater(), &StepExcess::more);
  if (out.size() > kMost) out.resize(kMost);
  return out;
}

}  // namespace hloscope::profiler
