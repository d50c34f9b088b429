#include "profiler/step_excess.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "profiler/saturating_add.h"

namespace hloscope::profiler {
namespace {

constexpr size_t kFewest = 3, kMost = 3;
constexpr int64_t kShare = 10;  // a tenth

// Of `count` values, none negative: `values`, and zeros for the rest.
int64_t MedianOf(std::vector<int64_t> values, size_t count) {
  const size_t zeros = count - values.size();
  if (count / 2 < zeros) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(count / 2 - zeros);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// visit(lane) for those whose events were measured. Lines that devices derive from others would
// count the same time once more, as that of the operations does where there are streams.
template <typename Visit>
void EachMeasuredLane(const EventStore& store, Visit visit) {
  for (const Group& group : store.groups()) {
    const bool has_streams = std::ranges::any_of(group.lanes, [&](LaneId id) {
      const Lane& lane = store.lanes()[id.index];
      return lane.role == LaneRole::kStream && lane.event_count > 0;
    });
    for (const LaneId id : group.lanes) {
      const Lane& lane = store.lanes()[id.index];
      if (lane.role == LaneRole::kThread || lane.role == LaneRole::kStream ||
          (lane.role == LaneRole::kOperations && !has_streams))
        visit(lane);
    }
  }
}

// visit(event, its own time) for the events of a lane.
template <typename Visit>
void EachSelfTime(const EventStore& store, const Lane& lane, Visit visit) {
  std::vector<EventId> events(lane.event_count);
  for (uint32_t k = 0; k < lane.event_count; ++k) events[k] = EventId(lane.first_event + k);
  // What contains another precedes it.
  std::ranges::stable_sort(
      events, {}, [&](EventId e) { return std::pair(store.start(e), -store.duration(e)); });
  std::vector<int64_t> inner(lane.event_count);
  std::vector<EventId> around;  // each contains the next, the innermost is the last
  for (const EventId e : events) {
    while (!around.empty() && store.end(around.back()) < store.end(e)) around.pop_back();
    if (!around.empty()) {
      int64_t& sum = inner[around.back().index - lane.first_event];
      sum = SaturatingAdd(sum, store.duration(e));
    }
    around.push_back(e);
  }
  for (const EventId e : events) {
    const int64_t self = store.duration(e) - inner[e.index - lane.first_event];
    visit(e, std::max<int64_t>(self, 0));
  }
}

// What events of one name add to a step.
struct Part {
  NameId name;
  size_t step;
  int64_t self;
};

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
  const int64_t difference = steps[longest].duration - MedianOf(std::move(durations), alike.size());
  if (difference <= 0) return {};
  const NameId mark = store.FindName(steps[longest].name);
  std::vector<Part> parts;
  EachMeasuredLane(store, [&](const Lane& lane) {
    EachSelfTime(store, lane, [&](EventId e, int64_t self) {
      auto step = std::ranges::upper_bound(alike, store.start(e), {}, &StepTime::start);
      if (step == alike.begin() || store.name(e) == mark) return;
      --step;
      self = std::min(self, step->start + step->duration - store.start(e));
      if (self > 0)
        parts.push_back({store.name(e), static_cast<size_t>(step - alike.begin()), self});
    });
  });
  std::ranges::sort(parts, {}, [](const Part& part) { return std::pair(part.name, part.step); });
  std::vector<StepExcess> out;
  for (auto part = parts.begin(); part != parts.end();) {
    StepExcess excess{.name = part->name};
    std::vector<int64_t> sums;  // of the steps that have such events
    while (part != parts.end() && part->name == excess.name) {
      const size_t step = part->step;
      int64_t sum = 0;
      for (; part != parts.end() && part->name == excess.name && part->step == step; ++part)
        sum = SaturatingAdd(sum, part->self);
      if (step == at) excess.self = sum;
      sums.push_back(sum);
    }
    excess.median = MedianOf(std::move(sums), alike.size());
    // More than what the step takes longer is no part of it.
    if (excess.more() > 0 && excess.more() >= difference / kShare && excess.more() <= difference)
      out.push_back(excess);
  }
  std::ranges::stable_sort(out, std::greater(), &StepExcess::more);
  if (out.size() > kMost) out.resize(kMost);
  return out;
}

}  // namespace hloscope::profiler
