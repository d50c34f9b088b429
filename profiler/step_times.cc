#include "profiler/step_times.h"

#include <algorithm>
#include <map>
#include <optional>

namespace hloscope::profiler {
namespace {

// Arguments are read for the first event of a name only: a profile has as many events as it has
// names of steps, and many times more of others.
std::optional<int64_t> StepNumberOf(const EventStore& store, EventId e) {
  for (const Argument& argument : store.Arguments(e)) {
    if (argument.name != "step_num") continue;
    const std::optional<double> number = NumberOf(argument);
    if (number && *number >= 0 && *number < 9e15) return static_cast<int64_t>(*number);
  }
  return std::nullopt;
}

}  // namespace

std::vector<StepTime> StepTimes(const EventStore& store) {
  std::map<NameId, bool> marks;  // by name: whether its events are steps
  std::map<std::pair<NameId, int64_t>, StepTime> steps;
  for (const Lane& lane : store.lanes()) {
    if (lane.role != LaneRole::kThread) continue;
    for (uint32_t i = lane.first_event; i < lane.first_event + lane.event_count; ++i) {
      const EventId e(i);
      const NameId name = store.name(e);
      const auto [mark, is_new] = marks.try_emplace(name, false);
      if (is_new) mark->second = StepNumberOf(store, e).has_value();
      if (!mark->second) continue;
      const std::optional<int64_t> number = StepNumberOf(store, e);
      if (!number) continue;
      const int64_t start = store.start(e);
      const auto [at, is_first] =
          steps.try_emplace({name, *number}, StepTime{name, *number, start, store.duration(e)});
      if (is_first) continue;
      StepTime& step = at->second;
      const int64_t end = std::max(step.start + step.duration, store.end(e));
      step.start = std::min(step.start, start);
      step.duration = end - step.start;
    }
  }
  std::vector<StepTime> out;
  for (const auto& [key, step] : steps) out.push_back(step);
  std::ranges::stable_sort(out, {}, &StepTime::start);
  return out;
}

}  // namespace hloscope::profiler
