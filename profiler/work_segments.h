// WorkSegments: the work of a trace in stretches of time that do not overlap within a lane: each
// moment belongs to the innermost event that covers it. LaneDevices: whose work it is.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/jobs.h"
#include "core/base/result.h"
#include "profiler/attribution.h"

namespace hloscope::profiler {

struct WorkSegment {
  static constexpr uint32_t kNoKey = 0xffffffff;

  int64_t begin = 0, end = 0;  // begin < end
  EventId event;
  LaneId lane;
  uint32_t key = kNoKey;  // of the instruction: TargetKeys::Of
};

// One number for each instruction of the modules of an attribution.
class TargetKeys {
 public:
  explicit TargetKeys(const Attribution& attribution);
  uint32_t Of(const Target& target) const {
    return target.valid() ? first_[target.module] + target.instruction.index : WorkSegment::kNoKey;
  }
  uint32_t Of(uint32_t module, hlo::InstructionId id) const { return first_[module] + id.index; }
  size_t size() const { return first_.back(); }

 private:
  std::vector<uint32_t> first_;  // by module, and behind the last
};

// The lanes whose events are work: streams of devices; the operations of devices that have none;
// where no device works, what belongs to an operation on threads of the host. `launches` are the
// threads that launch work of a device; all their events count.
struct WorkLanes {
  std::vector<bool> work, launches;  // by lane
};

class WorkSegments {
 public:
  // kCancelled where `stop` was requested. Takes n log n steps of the events in those lanes.
  static Result<WorkSegments> Make(const Attribution& attribution, const TargetKeys& keys,
                                   const WorkLanes& lanes, TimeRange range, Jobs& jobs,
                                   const std::stop_token& stop);

  std::span<const WorkSegment> all() const { return segments_; }  // by lane, then by time
  std::span<const WorkSegment> OfLane(LaneId lane) const {
    return std::span(segments_).subspan(first_[lane.index],
                                        first_[lane.index + 1] - first_[lane.index]);
  }
  // The place in all() of the last segment of a lane that begins before `time`; -1: none.
  int64_t LastBefore(LaneId lane, int64_t time) const;

 private:
  std::vector<WorkSegment> segments_;
  std::vector<size_t> first_;  // by lane, and behind the last
};

// Which device each lane is of, and when it waits for others.
class LaneDevices {
 public:
  explicit LaneDevices(const EventStore& store);

  // The plane of a device; of a plane with lanes called "device N" each of those; else the process.
  uint32_t DeviceOf(LaneId lane) const { return device_of_[lane.index]; }
  uint32_t count() const { return count_; }

  // What of `range` is waiting in `own`, without the stretches of `work`, a part of `other`, in
  // which that one does not wait: disjoint, in order of time.
  std::vector<TimeRange> Waits(LaneId own, TimeRange range, LaneId other, TimeRange work) const;

 private:
  std::vector<TimeRange> In(LaneId lane, TimeRange range) const;

  std::vector<uint32_t> device_of_;
  std::vector<std::vector<TimeRange>> waits_;  // by lane, in order of time, disjoint
  uint32_t count_ = 0;
};

}  // namespace hloscope::profiler
