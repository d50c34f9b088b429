// Intervals of each category, merged and intersected.
#include "viewer/facts/timeline_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <stop_token>

#include "core/analysis/place/placement.h"
#include "profiler/step_times.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

using profiler::EventId;
using profiler::EventStore;
using profiler::LaneRole;
using profiler::TimeRange;
using Ranges = std::vector<TimeRange>;

// Sorted, what touches joined.
Ranges Merged(Ranges ranges) {
  std::ranges::sort(ranges, {}, &TimeRange::begin);
  Ranges out;
  for (const TimeRange& range : ranges) {
    if (!out.empty() && range.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, range.end);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

int64_t LengthOf(const Ranges& merged) {
  int64_t sum = 0;
  for (const TimeRange& range : merged) sum += range.length();
  return sum;
}

// The time that lies in both; each is merged.
int64_t Common(const Ranges& a, const Ranges& b) {
  int64_t sum = 0;
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    sum += std::max<int64_t>(0, std::min(a[i].end, b[k].end) - std::max(a[i].begin, b[k].begin));
    a[i].end < b[k].end ? ++i : ++k;
  }
  return sum;
}

bool Says(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

// Control flow encloses what it runs, which has events of its own.
bool Encloses(hlo::Opcode opcode) {
  return opcode == hlo::Opcode::kWhile || opcode == hlo::Opcode::kConditional ||
         opcode == hlo::Opcode::kCall;
}

bool IsOnDevice(const EventStore& store, const profiler::Lane& lane) {
  return store.groups()[lane.group].is_device;
}

// Lanes whose events are work, not a summary of other lanes.
bool IsWork(const EventStore& store, const profiler::Lane& lane) {
  switch (lane.role) {
    case LaneRole::kStream:
    case LaneRole::kAsyncOperations:
      return true;
    case LaneRole::kThread:
      // Where devices work, threads only launch it.
      return std::ranges::none_of(store.groups(), &profiler::Group::is_device);
    case LaneRole::kOperations:
      // Derived from the streams, where there are any.
      return std::ranges::none_of(store.groups()[lane.group].lanes, [&](profiler::LaneId id) {
        return store.lanes()[id.index].role == LaneRole::kStream;
      });
    default:
      return false;
  }
}

TimelineCategory CategoryOfPlace(analysis::Place place) {
  switch (place) {
    case analysis::Place::kLibraryCall:
      return TimelineCategory::kLibrary;
    case analysis::Place::kCollective:
      return TimelineCategory::kCollective;
    case analysis::Place::kCopy:
    case analysis::Place::kHostMemory:
      return TimelineCategory::kCopy;
    case analysis::Place::kHost:
      return TimelineCategory::kHost;
    default:
      return TimelineCategory::kCompute;
  }
}

std::vector<TimelineCategory> CategoriesOf(const hlo::Module& module) {
  std::vector<TimelineCategory> out;
  for (const analysis::PlacedInstruction& placed : analysis::FindPlacement(module).instructions)
    out.push_back(CategoryOfPlace(placed.place));
  return out;
}

// What the program marked as its steps (StepTraceAnnotation).
bool FindMarkedSteps(const EventStore& store, TimelineFacts& facts) {
  const profiler::StepTimes times = profiler::StepTimesOf(store);
  if (times.source != profiler::StepSource::kStepNumber || times.steps.empty()) return false;
  for (const profiler::StepTime& step : times.steps)
    facts.steps.push_back({step.start, fmt::format("{} {}", step.name, step.number)});
  facts.step_word = "step";
  facts.are_marked = true;
  return true;
}

void FindSteps(const EventStore& store, TimelineFacts& facts) {
  if (FindMarkedSteps(store, facts)) return;
  for (const auto& [role, word] :
       {std::pair(LaneRole::kSteps, "step"), std::pair(LaneRole::kModules, "run")}) {
    for (const profiler::Lane& lane : store.lanes()) {
      // The steps of one device stand for those of all.
      if (lane.role != role || lane.event_count == 0) continue;
      for (uint32_t k = 0; k < lane.event_count; ++k) {
        const EventId e(lane.first_event + k);
        facts.steps.push_back({store.start(e), std::string(store.text(store.name(e)))});
      }
      std::ranges::stable_sort(facts.steps, {}, &TimelineStep::begin);
      facts.step_word = word;
      return;
    }
  }
  constexpr std::string_view kCall = "PjitFunction(";
  // A host alone: the calls of jitted functions, the outermost of each thread.
  for (const profiler::Lane& lane : store.lanes()) {
    if (lane.role != LaneRole::kThread) continue;
    std::vector<EventId> calls;
    for (uint32_t k = 0; k < lane.event_count; ++k) {
      const EventId e(lane.first_event + k);
      if (store.text(store.name(e)).starts_with(kCall)) calls.push_back(e);
    }
    std::ranges::stable_sort(calls, {}, [&](EventId e) { return store.start(e); });
    int64_t end = -1;
    for (EventId e : calls) {
      if (store.start(e) < end) continue;
      end = store.end(e);
      std::string_view name = store.text(store.name(e)).substr(kCall.size());
      if (name.ends_with(')')) name.remove_suffix(1);
      facts.steps.push_back({store.start(e), std::string(name)});
    }
  }
  std::ranges::stable_sort(facts.steps, {}, &TimelineStep::begin);
  if (!facts.steps.empty()) facts.step_word = "call";
}

}  // namespace

std::string_view WordOf(TimelineCategory category) {
  static constexpr std::string_view kWords[] = {
#define TIMELINE_CATEGORY(category, word, color) word,
#include "viewer/facts/timeline_categories.def"
#undef TIMELINE_CATEGORY
  };
  return kWords[static_cast<size_t>(category)];
}

TimelineCategory CategoryOf(const ProfileModel& model, const TimelineFacts& facts, EventId e) {
  const profiler::Target target = model.attribution->TargetOf(e);
  if (target.valid()) return facts.categories[target.module][target.instruction.index];
  const EventStore& store = model.store();
  const profiler::Lane& lane = store.lanes()[store.LaneOf(e).index];
  if (!IsOnDevice(store, lane)) return TimelineCategory::kHost;
  const std::string_view name = store.text(store.name(e));
  if (Says(name, {"nccl", "rccl", "all-reduce", "all-gather", "reduce-scatter", "all-to-all"}))
    return TimelineCategory::kCollective;
  if (Says(name, {"Memcpy", "memcpy", "Memset", "memset"})) return TimelineCategory::kCopy;
  if (Says(name, {"cublas", "cutlass", "cudnn", "xmma", "nvjet"}))
    return TimelineCategory::kLibrary;
  return TimelineCategory::kCompute;
}

std::shared_ptr<const TimelineFacts> FindTimelineFacts(const ProfileModel& model) {
  const EventStore& store = model.store();
  auto facts = std::make_shared<TimelineFacts>();
  FindSteps(store, *facts);
  for (const profiler::Counter& counter : store.counters())
    facts->counters.emplace_back(store, counter);
  for (const profiler::AttributedModule& m : model.attribution->modules())
    facts->categories.push_back(CategoriesOf(*m.module));
  for (size_t g = 0; g < store.groups().size(); ++g) {
    std::array<Ranges, kTimelineCategories> ranges;
    for (profiler::LaneId id : store.groups()[g].lanes) {
      const profiler::Lane& lane = store.lanes()[id.index];
      if (!IsWork(store, lane)) continue;
      for (uint32_t k = 0; k < lane.event_count; ++k) {
        const EventId e(lane.first_event + k);
        const profiler::Target target = model.attribution->TargetOf(e);
        if (target.valid()) {
          const hlo::Module& module = *model.attribution->modules()[target.module].module;
          if (Encloses(module[target.instruction].opcode)) continue;
        }
        const TimelineCategory category = CategoryOf(model, *facts, e);
        if (category == TimelineCategory::kHost) continue;
        ranges[static_cast<size_t>(category)].push_back({store.start(e), store.end(e)});
      }
    }
    for (size_t c = 0; c < ranges.size(); ++c) {
      ranges[c] = Merged(std::move(ranges[c]));
      facts->busy[c] += LengthOf(ranges[c]);
    }
    const auto of = [&](TimelineCategory c) -> Ranges& { return ranges[static_cast<size_t>(c)]; };
    const Ranges& collective = of(TimelineCategory::kCollective);
    Ranges work = of(TimelineCategory::kCompute);
    const Ranges& library = of(TimelineCategory::kLibrary);
    work.insert(work.end(), library.begin(), library.end());
    facts->collective += LengthOf(collective);
    facts->hidden += Common(collective, Merged(std::move(work)));
  }
  return facts;
}

namespace {

struct TimelineFactsKey {
  using Value = TimelineFacts;
  std::string path;
  const ProfileModel* model = nullptr;
  auto operator<=>(const TimelineFactsKey&) const = default;
};

}  // namespace

const Pending<TimelineFacts>& TimelineFactsOf(Context& context,
                                              const std::shared_ptr<const ProfileModel>& model) {
  return context.cache.Get(TimelineFactsKey{model->path, model.get()}, "summing up the trace",
                           [model](TaskControl&) -> Result<std::shared_ptr<const TimelineFacts>> {
                             return FindTimelineFacts(*model);
                           });
}

}  // namespace hloscope::viewer
