// The tracks of a Perfetto trace as groups and lanes: processes and what has no process above it
// are groups; tracks that Perfetto's window shows as one are one lane.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/event_store_builder.h"

namespace hloscope::profiler {

struct PerfettoCounter {
  std::string unit;
  int64_t unit_multiplier = 1;
  bool counts_on = false;
};

struct PerfettoTrack {
  uint64_t uuid = 0, parent = 0;
  std::string name = {}, description = {};
  int64_t process = -1, thread = -1;  // ids of the system; -1: none
  int64_t rank = 0;                   // among its siblings
  enum class Merge : uint8_t { kByName, kNever, kByKey } merge = Merge::kByName;
  std::string merge_key = {};
  std::optional<PerfettoCounter> counter = {};
  // Worked out when the first event asks.
  std::optional<LaneId> lane = {};
  std::optional<CounterId> counter_id = {};
  double counted = 0;
};

class PerfettoTracks {
 public:
  explicit PerfettoTracks(EventStoreBuilder& builder) : builder_(builder) {}

  // A TrackDescriptor; a later one of a uuid adds to the earlier.
  void AddDescriptor(std::string_view descriptor);
  // A ThreadDescriptor of old traces: the track of events of that sequence that name none.
  void AddThread(uint32_t sequence, std::string_view descriptor);

  // Made up where no descriptor names it.
  size_t IndexOf(uint64_t uuid);
  size_t IndexOfSequence(uint32_t sequence);
  PerfettoTrack& at(size_t index) { return tracks_[index]; }
  size_t size() const { return tracks_.size(); }

  // Processes without events are groups too.
  void AddProcesses();
  LaneId LaneOf(size_t index);
  CounterId CounterOf(size_t index);

 private:
  struct Process {
    std::string name;
    int64_t rank = 0;
    bool is_device = false;
    std::optional<uint32_t> group;
  };
  void ReadProcess(std::string_view descriptor, PerfettoTrack& track);
  void ReadThread(std::string_view descriptor, PerfettoTrack& track);
  uint32_t GroupOf(size_t index);
  uint32_t GroupOfProcess(Process& process);

  EventStoreBuilder& builder_;
  std::vector<PerfettoTrack> tracks_;
  std::unordered_map<uint64_t, size_t> by_uuid_;
  std::map<uint32_t, size_t> by_sequence_;
  std::map<int64_t, Process> processes_;
  std::map<std::string, Process> named_;  // groups that are no process
  std::map<std::pair<uint32_t, std::string>, LaneId> merged_;
};

}  // namespace hloscope::profiler
