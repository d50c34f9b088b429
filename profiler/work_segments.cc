// Nested events of a lane flattened by a stack of those that are open.
#include "profiler/work_segments.h"

#include <algorithm>

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

}  // namespace hloscope::profiler
