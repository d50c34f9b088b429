// Critical paths, worked out in the background.
#include "viewer/facts/path_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/count_text.h"
#include "viewer/model/marks.h"
#include "viewer/model/number_text.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/timeline_camera.h"

namespace hloscope::viewer {
namespace {

struct PathKey {
  using Value = PathFacts;
  std::string path;
  const ProfileModel* model = nullptr;
  bool is_whole = true;
  int64_t begin = 0, end = 0;
  auto operator<=>(const PathKey&) const = default;
};

}  // namespace

bool PathFacts::Has(profiler::EventId first, uint32_t count) const {
  const auto found = std::ranges::lower_bound(events, first.index);
  return found != events.end() && *found - first.index < count;
}

Result<std::shared_ptr<const PathFacts>> FindPathFacts(const ProfileModel& model,
                                                       const TimelineFacts& facts,
                                                       std::optional<profiler::TimeRange> range,
                                                       const std::stop_token& stop) {
  auto out = std::make_shared<PathFacts>();
  HLOSCOPE_ASSIGN_OR_RETURN(
      out->path,
      profiler::FindCriticalPath(*model.attribution, range, SharedJobs(AvailableCpus()), stop));
  for (const profiler::PathStep& step : out->path.steps) {
    out->events.push_back(step.event.index);
    out->busy[static_cast<size_t>(CategoryOf(model, facts, step.event))] += step.duration();
  }
  std::ranges::sort(out->events);
  const auto twice = std::ranges::unique(out->events);
  out->events.erase(twice.begin(), twice.end());
  return out;
}

const Pending<PathFacts>* PathFactsOf(Context& context,
                                      const std::shared_ptr<const ProfileModel>& model) {
  const Pending<TimelineFacts>& facts = TimelineFactsOf(context, model);
  if (!facts.ready()) return nullptr;
  const auto key_of = [&](const TimelineRange& range) {
    return PathKey{.path = model->path,
                   .model = model.get(),
                   .is_whole = !range.is_set,
                   .begin = range.is_set ? range.range.begin : 0,
                   .end = range.is_set ? range.range.end : 0};
  };
  TimelineRange& last = context.marks.Of<TimelineMarks>().path_range;
  if (!context.marks.Of<TimelineMarks>().range.is_dragged) {
    const PathKey next = key_of(context.marks.Of<TimelineMarks>().range);
    if (next != key_of(last) && last.is_set) context.cache.Drop(key_of(last));
    last = context.marks.Of<TimelineMarks>().range;
  }
  std::optional<profiler::TimeRange> range;
  if (last.is_set) range = last.range;
  return &context.cache.Get(key_of(last), "finding the critical path",
                            [model, facts = facts.value, range](TaskControl& control) {
                              return FindPathFacts(*model, *facts, range, control.stop());
                            });
}

std::string PathText(const profiler::CriticalPath& path, std::string_view of_what) {
  if (path.steps.empty()) return "no critical path: no program work in this range";
  return fmt::format(
      "critical path: {} in {}; waits {:.1f} % of the {}", TimeText(static_cast<double>(path.busy)),
      graph::CountedText(path.steps.size(), "step"), 100 * path.wait_share(), of_what);
}

std::string PathHelp(const profiler::CriticalPath& path) {
  std::string out =
      "Critical path: traced back from the event that ends last, each step to the latest event it "
      "depended on. Time between steps is waiting. Links:";
  for (size_t k = 1; k < profiler::kPathLinks; ++k) {
    if (path.links[k] == 0) continue;
    const auto link = static_cast<profiler::PathLink>(k);
    out += fmt::format("\n{} × {}: {}", CountText(path.links[k]), CertaintyOf(link),
                       ExplanationOf(link));
  }
  return out;
}

}  // namespace hloscope::viewer
