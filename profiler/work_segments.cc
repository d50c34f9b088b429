// Nested events of a lane flattened by a stack of those that are open.
#include "profiler/work_segments.h"

#include <algorithm>
#include <string_view>

namespace hloscope::profiler {
namespace {

// The events of one lane that are work, by start, what encloses others before them.
std::vector<EventId> WorkOf(const EventStore& store, const Lane& lane, bool needs_operation,
                            TimeRange range) {
  std::vector<EventId> events;
  for (uint32_t i = lane.first_event; i < lane.first_event + lane.event_count; ++i) {
    const EventId e(i);
    if (store.start(e) >= range.end || store.end(e) <= range.begin) continue;
    if (!needs_operation || store.operation(e).valid()) events.push_back(e);
  }
  const auto before = [&](EventId a, EventId b) {
    return store.start(a) != store.start(b) ? store.start(a) < store.start(b)
                                            : store.duration(a) > store.duration(b);
  };
  if (!std::ranges::is_sorted(events, before)) std::ranges::stable_sort(events, before);
  return events;
}

class LaneFlattener {
 public:
  LaneFlattener(const Attribution& attribution, const TargetKeys& keys, LaneId lane)
      : attribution_(attribution), store_(attribution.store()), keys_(keys), lane_(lane) {}

  std::vector<WorkSegment> Run(const std::vector<EventId>& events) {
    for (EventId e : events) {
      CloseUntil(store_.start(e));
      if (!open_.empty()) EmitUntil(store_.start(e));
      open_.push_back(e);
      at_ = std::max(at_, store_.start(e));
    }
    CloseUntil(kLongestTime * 2);
    return std::move(out_);
  }

 private:
  void CloseUntil(int64_t time) {
    while (!open_.empty() && store_.end(open_.back()) <= time) {
      EmitUntil(store_.end(open_.back()));
      open_.pop_back();
    }
  }
  void EmitUntil(int64_t time) {
    if (time <= at_) return;
    const EventId e = open_.back();
    out_.push_back({at_, time, e, lane_, keys_.Of(attribution_.TargetOf(e))});
    at_ = time;
  }

  const Attribution& attribution_;
  const EventStore& store_;
  const TargetKeys& keys_;
  const LaneId lane_;
  std::vector<EventId> open_;  // those whose time is not over, the innermost last
  int64_t at_ = -kLongestTime * 2;
  std::vector<WorkSegment> out_;
};

constexpr std::string_view kDeviceLane = "device ";  // core/replay/capture/run_stream.h

std::vector<bool> WaitNames(const EventStore& store) {
  std::vector<bool> waits(store.name_count());
#define EXECUTOR_EVENT(text, joins, is_wait) \
  if (NameId id = store.FindName(text); (is_wait) && id.valid()) waits[id.index] = true;
#include "profiler/executor_events.def"
#undef EXECUTOR_EVENT
  return waits;
}

// `from` without `taken`; both disjoint and in order of time.
std::vector<TimeRange> Without(std::span<const TimeRange> from, std::span<const TimeRange> taken) {
  std::vector<TimeRange> out;
  size_t next = 0;
  for (TimeRange range : from) {
    while (next < taken.size() && taken[next].end <= range.begin) ++next;
    for (size_t t = next; t < taken.size() && taken[t].begin < range.end; ++t) {
      if (taken[t].begin > range.begin) out.push_back({range.begin, taken[t].begin});
      range.begin = std::max(range.begin, taken[t].end);
    }
    if (range.begin < range.end) out.push_back(range);
  }
  return out;
}

}  // namespace

TargetKeys::TargetKeys(const Attribution& attribution) : first_{0} {
  for (const AttributedModule& m : attribution.modules())
    first_.push_back(first_.back() + static_cast<uint32_t>(m.module->instructions().size()));
}

Result<WorkSegments> WorkSegments::Make(const Attribution& attribution, const TargetKeys& keys,
                                        const WorkLanes& lanes, TimeRange range, Jobs& jobs,
                                        const std::stop_token& stop) {
  const EventStore& store = attribution.store();
  std::vector<std::vector<WorkSegment>> parts(store.lanes().size());
  HLOSCOPE_TRY(jobs.ParallelFor(
      static_cast<int64_t>(parts.size()),
      [&](int64_t i) {
        const auto l = static_cast<size_t>(i);
        if (!lanes.work[l] && !lanes.launches[l]) return;
        const Lane& lane = store.lanes()[l];
        const bool is_host = !store.groups()[lane.group].is_device;
        parts[l] = LaneFlattener(attribution, keys, LaneId(l))
                       .Run(WorkOf(store, lane, is_host && !lanes.launches[l], range));
      },
      stop));
  WorkSegments out;
  size_t count = 0;
  for (const auto& part : parts) count += part.size();
  out.segments_.reserve(count);
  for (std::vector<WorkSegment>& part : parts) {
    out.first_.push_back(out.segments_.size());
    out.segments_.insert(out.segments_.end(), part.begin(), part.end());
    part = {};
  }
  out.first_.push_back(out.segments_.size());
  return out;
}

int64_t WorkSegments::LastBefore(LaneId lane, int64_t time) const {
  const std::span<const WorkSegment> own = OfLane(lane);
  const auto after = std::ranges::lower_bound(own, time, {}, &WorkSegment::begin);
  return after == own.begin()
             ? -1
             : static_cast<int64_t>(first_[lane.index]) + (after - own.begin()) - 1;
}

LaneDevices::LaneDevices(const EventStore& store)
    : device_of_(store.lanes().size()), waits_(store.lanes().size()) {
  const std::vector<bool> waits = WaitNames(store);
  const bool any = std::ranges::find(waits, true) != waits.end();
  count_ = static_cast<uint32_t>(store.groups().size());
  for (size_t l = 0; l < device_of_.size(); ++l) {
    const Lane& lane = store.lanes()[l];
    const bool is_device =
        !store.groups()[lane.group].is_device && store.text(lane.name).starts_with(kDeviceLane);
    device_of_[l] = is_device ? count_++ : lane.group;
    for (uint32_t k = 0; any && k < lane.event_count; ++k) {
      const EventId e(lane.first_event + k);
      if (waits[store.name(e).index] && store.duration(e) > 0)
        waits_[l].push_back({store.start(e), store.end(e)});
    }
    std::ranges::sort(waits_[l], {}, &TimeRange::begin);
    size_t kept = 0;
    for (const TimeRange& wait : waits_[l]) {
      if (kept > 0 && wait.begin <= waits_[l][kept - 1].end) {
        waits_[l][kept - 1].end = std::max(waits_[l][kept - 1].end, wait.end);
      } else {
        waits_[l][kept++] = wait;
      }
    }
    waits_[l].resize(kept);
  }
}

std::vector<TimeRange> LaneDevices::In(LaneId lane, TimeRange range) const {
  std::vector<TimeRange> out;
  const std::vector<TimeRange>& all = waits_[lane.index];
  for (auto at = std::ranges::upper_bound(all, range.begin, {}, &TimeRange::end);
       at != all.end() && at->begin < range.end; ++at)
    out.push_back({std::max(at->begin, range.begin), std::min(at->end, range.end)});
  return out;
}

std::vector<TimeRange> LaneDevices::Waits(LaneId own, TimeRange range, LaneId other,
                                          TimeRange work) const {
  std::vector<TimeRange> waits = In(own, range);
  if (waits.empty() || own == other) return waits;
  const TimeRange busy[] = {work};
  return Without(waits, Without(busy, In(other, work)));
}

}  // namespace hloscope::profiler
