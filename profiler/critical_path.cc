// A walk backwards over segments of work; each look-up is a binary search.
#include "profiler/critical_path.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <numeric>
#include <ranges>
#include <tuple>
#include <unordered_map>

#include "profiler/data_dependencies.h"
#include "profiler/work_segments.h"

namespace hloscope::profiler {
namespace {

bool SaysAny(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

std::optional<int64_t> CorrelationOf(const EventStore& store, EventId e) {
  for (const Argument& argument : store.Arguments(e)) {
    if (argument.name != "correlation_id") continue;
    if (const auto* number = std::get_if<int64_t>(&argument.value)) return *number;
    if (const auto* number = std::get_if<uint64_t>(&argument.value))
      return static_cast<int64_t>(*number);
    if (const auto* text = std::get_if<std::string>(&argument.value)) {
      int64_t number = 0;
      if (std::from_chars(text->data(), text->data() + text->size(), number).ec == std::errc())
        return number;
    }
  }
  return std::nullopt;
}

// Events of the host that launch something, by the number that the device's event has as well.
class LaunchTable {
 public:
  explicit LaunchTable(const EventStore& store) {
    lanes_.resize(store.lanes().size());
    std::vector<bool> launches(store.name_count());
    for (size_t n = 0; n < launches.size(); ++n) {
      const std::string_view name = store.text(NameId(n));
      const bool is_call = name.starts_with("cu") || name.starts_with("hip");
      launches[n] = is_call && SaysAny(name, {"Launch", "Memcpy", "Memset"});
    }
    for (size_t l = 0; l < lanes_.size(); ++l) {
      const Lane& lane = store.lanes()[l];
      if (store.groups()[lane.group].is_device) continue;
      for (uint32_t k = 0; k < lane.event_count; ++k) {
        const EventId e(lane.first_event + k);
        if (!launches[store.name(e).index]) continue;
        const std::optional<int64_t> id = CorrelationOf(store, e);
        if (!id) continue;
        launches_.emplace(*id, std::pair(e, LaneId(l)));
        lanes_[l] = true;
      }
    }
  }
  bool empty() const { return launches_.empty(); }
  const std::vector<bool>& lanes() const { return lanes_; }
  const std::pair<EventId, LaneId>* Find(int64_t correlation) const {
    const auto found = launches_.find(correlation);
    return found == launches_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<int64_t, std::pair<EventId, LaneId>> launches_;
  std::vector<bool> lanes_;  // that have any
};

bool HasWork(const EventStore& store, const Group& group, LaneRole role) {
  return std::ranges::any_of(group.lanes, [&](LaneId l) {
    return store.lanes()[l.index].role == role && store.lanes()[l.index].event_count > 0;
  });
}

WorkLanes LanesOf(const EventStore& store, const LaunchTable& launches) {
  WorkLanes out{std::vector<bool>(store.lanes().size()), std::vector<bool>(store.lanes().size())};
  bool devices_work = false;
  for (const Group& group : store.groups()) {
    if (!group.is_device) continue;
    const bool has_streams = HasWork(store, group, LaneRole::kStream);
    for (LaneId id : group.lanes) {
      const Lane& lane = store.lanes()[id.index];
      const bool is_work = has_streams ? lane.role == LaneRole::kStream
                                       : lane.role == LaneRole::kOperations ||
                                             lane.role == LaneRole::kAsyncOperations;
      out.work[id.index] = is_work;
      devices_work |= is_work && lane.event_count > 0;
    }
  }
  if (devices_work) {
    out.launches = launches.lanes();
    return out;
  }
  for (size_t l = 0; l < out.work.size(); ++l)
    out.work[l] = store.lanes()[l].role == LaneRole::kThread;
  return out;
}

TimeRange WorkRange(const EventStore& store, const WorkLanes& lanes) {
  TimeRange range{kLongestTime, -kLongestTime};
  for (size_t l = 0; l < lanes.work.size(); ++l) {
    if (!lanes.work[l]) continue;
    const Lane& lane = store.lanes()[l];
    const bool is_device = store.groups()[lane.group].is_device;
    for (uint32_t k = 0; k < lane.event_count; ++k) {
      const EventId e(lane.first_event + k);
      if (!is_device && !store.operation(e).valid()) continue;
      range.begin = std::min(range.begin, store.start(e));
      range.end = std::max(range.end, store.end(e));
    }
  }
  return range.begin < range.end ? range : TimeRange();
}

// Where the walk may go next: a segment of which what lies before `end` counts.
struct PathCandidate {
  int64_t segment = -1;
  int64_t end = 0;
  PathLink link = PathLink::kFirst;
};

class PathWalk {
 public:
  PathWalk(const Attribution& attribution, const TargetKeys& keys, const WorkSegments& work,
           const WorkLanes& lanes, const LaunchTable& launches)
      : attribution_(attribution),
        store_(attribution.store()),
        keys_(keys),
        work_(work),
        all_(work.all()),
        lanes_(lanes),
        launches_(launches),
        devices_(store_) {
    IndexByEnd();
    IndexByKey();
    for (size_t m = 0; m < attribution.modules().size(); ++m) {
      const hlo::Module& module = *attribution.modules()[m].module;
      std::vector<bool> ran(module.instructions().size());
      for (size_t i = 0; i < ran.size(); ++i)
        ran[i] = attribution.TimeOf(static_cast<uint32_t>(m), hlo::InstructionId(i)) != nullptr;
      dependencies_.emplace_back(module, std::move(ran));
    }
  }

  // Fills steps, last first, and everything but the sums.
  bool Run(CriticalPath& path, const std::stop_token& stop) {
    PathCandidate now = Last(path.range);
    int64_t until = path.range.end;
    path.last_wait = now.segment < 0 ? path.range.length() : until - now.end;
    constexpr size_t kPatience = 1 << 12;
    while (now.segment >= 0 && now.end > path.range.begin) {
      if (path.steps.size() % kPatience == 0 && stop.stop_requested()) return false;
      const PathCandidate held = HeldBy(now);
      const PathCandidate before = Before(held);
      PathStep step{.event = At(now).event,
                    .begin = std::max(At(held).begin, path.range.begin),
                    .end = now.end};
      // What the host waited for ended inside its event.
      if (before.link == PathLink::kSync) step.begin = before.end;
      const bool is_first = before.segment < 0 || before.end <= path.range.begin;
      step.wait = step.begin - (is_first ? path.range.begin : before.end);
      step.link = is_first                      ? PathLink::kFirst
                  : held.segment != now.segment ? PathLink::kCollective
                                                : before.link;
      AddStep(path, step, now, held);
      now = is_first ? PathCandidate() : before;
    }
    std::ranges::reverse(path.steps);
    return true;
  }

 private:
  const WorkSegment& At(const PathCandidate& c) const {
    return all_[static_cast<size_t>(c.segment)];
  }
  uint32_t DeviceOf(const WorkSegment& s) const { return devices_.DeviceOf(s.lane); }

  // The step, last first, as those that the waits in it leave.
  void AddStep(CriticalPath& path, PathStep step, const PathCandidate& now,
               const PathCandidate& held) const {
    const WorkSegment& last = At(held);
    std::vector<TimeRange> waits =
        devices_.Waits(At(now).lane, {step.begin, step.end}, last.lane, {last.begin, last.end});
    const auto add_wait = [&](int64_t length) {
      (path.steps.empty() ? path.last_wait : path.steps.back().wait) += length;
    };
    bool has_part = false;
    for (const TimeRange& wait : waits | std::views::reverse) {
      if (wait.end < step.end) {
        path.steps.push_back({.event = step.event,
                              .begin = wait.end,
                              .end = step.end,
                              .link = PathLink::kCollective});
        has_part = true;
      }
      add_wait(wait.length());
      step.end = wait.begin;
    }
    if (step.begin < step.end) {
      path.steps.push_back(step);
      return;
    }
    add_wait(step.wait);
    if (has_part) path.steps.back().link = step.link;
  }
  bool IsWork(const WorkSegment& s) const { return lanes_.work[s.lane.index]; }
  Target TargetOf(const WorkSegment& s) const { return attribution_.TargetOf(s.event); }

  void IndexByEnd() {
    for (size_t s = 0; s < all_.size(); ++s) {
      if (IsWork(all_[s])) by_end_.push_back(static_cast<uint32_t>(s));
    }
    std::ranges::sort(by_end_, [&](uint32_t a, uint32_t b) {
      return std::tuple(all_[a].end, -all_[a].begin, a) <
             std::tuple(all_[b].end, -all_[b].begin, b);
    });
  }
  auto KeyAt(uint32_t s) const { return std::tuple(all_[s].key, DeviceOf(all_[s]), all_[s].end); }
  void IndexByKey() {
    for (size_t s = 0; s < all_.size(); ++s) {
      if (all_[s].key != WorkSegment::kNoKey && IsWork(all_[s]))
        by_key_.push_back(static_cast<uint32_t>(s));
    }
    std::ranges::sort(by_key_, {}, [this](uint32_t s) { return std::pair(KeyAt(s), s); });
  }

  // What is still running or ended last at the end of the range; of several the longest.
  PathCandidate Last(TimeRange range) const {
    PathCandidate best;
    for (size_t l = 0; l < lanes_.work.size(); ++l) {
      if (!lanes_.work[l]) continue;
      const int64_t s = work_.LastBefore(LaneId(l), range.end);
      if (s < 0) continue;
      const PathCandidate c{s, std::min(At({s}).end, range.end)};
      if (best.segment < 0 || c.end > best.end ||
          (c.end == best.end && At(c).begin < At(best).begin))
        best = c;
    }
    return best;
  }

  // A collective ends when its last device has come: that one's segment.
  PathCandidate HeldBy(const PathCandidate& now) const {
    const WorkSegment& own = At(now);
    if (own.key == WorkSegment::kNoKey || devices_.count() < 2) return now;
    const Target target = TargetOf(own);
    const hlo::Module& module = *attribution_.modules()[target.module].module;
    if ((hlo::Info(module[target.instruction].opcode).flags & hlo::kFlagCollective) == 0)
      return now;
    PathCandidate last = now;
    for (uint32_t d = 0; d < devices_.count(); ++d) {
      if (d == DeviceOf(own)) continue;
      // The first of that device that ends behind our beginning.
      const auto found = std::ranges::upper_bound(by_key_, std::tuple(own.key, d, own.begin), {},
                                                  [this](uint32_t s) { return KeyAt(s); });
      if (found == by_key_.end() || all_[*found].key != own.key || DeviceOf(all_[*found]) != d)
        continue;
      const int64_t begin = all_[*found].begin;
      if (begin > At(last).begin && begin < now.end) last.segment = *found;
    }
    return last;
  }

  // What ended last of all that the segment may have waited for.
  PathCandidate Before(const PathCandidate& now) {
    const WorkSegment& own = At(now);
    PathCandidate best;
    const auto consider = [&](const PathCandidate& c) {
      if (c.segment < 0 || (best.segment >= 0 && c.end <= best.end)) return;
      if (c.end > own.begin && c.link != PathLink::kSync) return;
      best = c;
    };
    if (!IsWork(own)) {
      consider(WaitedFor(now));
      consider(InLane(now));
      return best;
    }
    const bool has_data = ConsiderData(own, consider);
    consider(InLane(now));
    const bool is_held_up = best.segment < 0 || best.end < own.begin;
    bool has_launch = false;
    if (is_held_up && !launches_.empty()) {
      const PathCandidate launch = LaunchOf(own);
      has_launch = launch.segment >= 0;
      consider(launch);
    }
    if (!has_data && !has_launch) consider(LastToEnd(own.begin));
    return best;
  }

  PathCandidate InLane(const PathCandidate& now) const {
    const int64_t s = now.segment - 1;
    if (s < 0 || At({s}).lane != At(now).lane) return {};
    return {s, At({s}).end, PathLink::kLane};
  }

  template <typename Consider>
  bool ConsiderData(const WorkSegment& own, const Consider& consider) {
    if (own.key == WorkSegment::kNoKey) return false;
    const Target target = TargetOf(own);
    bool any = false;
    for (hlo::InstructionId id : dependencies_[target.module].Of(target.instruction)) {
      const std::tuple wanted(keys_.Of(target.module, id), DeviceOf(own), own.begin);
      const auto after =
          std::ranges::upper_bound(by_key_, wanted, {}, [this](uint32_t s) { return KeyAt(s); });
      if (after == by_key_.begin()) continue;
      const uint32_t s = *std::prev(after);
      if (all_[s].key != std::get<0>(wanted) || DeviceOf(all_[s]) != std::get<1>(wanted)) continue;
      any = true;
      consider(PathCandidate{s, all_[s].end, PathLink::kData});
    }
    return any;
  }

  // The stretch of the host in which the launch was made: the device may begin before the call
  // returns.
  PathCandidate LaunchOf(const WorkSegment& own) const {
    const std::optional<int64_t> id = CorrelationOf(store_, own.event);
    const auto* launch = id ? launches_.Find(*id) : nullptr;
    if (launch == nullptr) return {};
    const int64_t end = std::min(store_.end(launch->first), own.begin);
    const int64_t s = work_.LastBefore(launch->second, end);
    if (s < 0) return {};
    return {s, std::min(At({s}).end, end), PathLink::kLaunch};
  }

  // What the host waits for inside an event that is called so.
  PathCandidate WaitedFor(const PathCandidate& now) const {
    const WorkSegment& own = At(now);
    if (!SaysAny(store_.text(store_.name(own.event)),
                 {"Synchronize", "BlockHost", "BlockUntil", "WaitFor"}))
      return {};
    PathCandidate found = LastToEnd(now.end);
    if (found.segment < 0 || found.end <= own.begin) return {};
    found.link = PathLink::kSync;
    return found;
  }

  PathCandidate LastToEnd(int64_t time) const {
    const auto after =
        std::ranges::upper_bound(by_end_, time, {}, [this](uint32_t s) { return all_[s].end; });
    if (after == by_end_.begin()) return {};
    const uint32_t s = *std::prev(after);
    return {s, all_[s].end, PathLink::kTime};
  }

  const Attribution& attribution_;
  const EventStore& store_;
  const TargetKeys& keys_;
  const WorkSegments& work_;
  const std::span<const WorkSegment> all_;
  const WorkLanes& lanes_;
  const LaunchTable& launches_;
  const LaneDevices devices_;
  std::vector<uint32_t> by_end_;                // segments of work
  std::vector<uint32_t> by_key_;                // … of instructions: by key, group and end
  std::vector<DataDependencies> dependencies_;  // by module
};

void AddTimes(const Attribution& attribution, const TargetKeys& keys, CriticalPath& path) {
  const EventStore& store = attribution.store();
  std::unordered_map<uint64_t, size_t> known;
  for (const PathStep& step : path.steps) {
    const Target target = attribution.TargetOf(step.event);
    const uint64_t key =
        target.valid() ? keys.Of(target) : uint64_t{1} << 32 | store.name(step.event).index;
    const auto [entry, is_new] = known.try_emplace(key, path.times.size());
    if (is_new) {
      path.times.push_back(
          {.target = target, .name = store.name(step.event), .longest = step.event});
    }
    PathTime& time = path.times[entry->second];
    ++time.count;
    time.busy += step.duration();
    time.wait += step.wait;
    if (store.duration(step.event) > store.duration(time.longest)) time.longest = step.event;
    path.busy += step.duration();
    ++path.links[static_cast<size_t>(step.link)];
  }
  path.wait = path.range.length() - path.busy;
  std::ranges::stable_sort(path.times, std::greater(), &PathTime::busy);
}

struct PathLinkRow {
  std::string_view name, certainty, text;
};
constexpr PathLinkRow kPathLinkRows[] = {
#define PATH_LINK(link, name, certainty, text) {name, certainty, text},
#include "profiler/path_links.def"
#undef PATH_LINK
};

}  // namespace

std::string_view ToString(PathLink link) { return kPathLinkRows[static_cast<size_t>(link)].name; }
std::string_view CertaintyOf(PathLink link) {
  return kPathLinkRows[static_cast<size_t>(link)].certainty;
}
std::string_view ExplanationOf(PathLink link) {
  return kPathLinkRows[static_cast<size_t>(link)].text;
}

Result<CriticalPath> FindCriticalPath(const Attribution& attribution,
                                      std::optional<TimeRange> range, Jobs& jobs,
                                      const std::stop_token& stop) {
  const EventStore& store = attribution.store();
  const LaunchTable launches(store);
  const WorkLanes lanes = LanesOf(store, launches);
  const TargetKeys keys(attribution);
  CriticalPath path;
  path.range = range ? *range : WorkRange(store, lanes);
  if (path.range.length() <= 0) return path;
  HLOSCOPE_ASSIGN_OR_RETURN(const WorkSegments work,
                            WorkSegments::Make(attribution, keys, lanes, path.range, jobs, stop));
  if (work.all().empty()) {
    path.wait = path.last_wait = path.range.length();
    return path;
  }
  PathWalk walk(attribution, keys, work, lanes, launches);
  if (!walk.Run(path, stop))
    return std::unexpected(
        Error{ErrorClass::kCancelled, "the critical path was cancelled", {}, {}});
  AddTimes(attribution, keys, path);
  return path;
}

}  // namespace hloscope::profiler
