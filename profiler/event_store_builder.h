// EventStoreBuilder: takes events in any order and makes the EventStore.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/jobs.h"
#include "core/base/result.h"
#include "profiler/event_store.h"

namespace hloscope::profiler {

// An input error for what no event can have: a start outside ±kLongestTime, a duration outside [0,
// kLongestTime].
Status CheckTimes(int64_t start, int64_t duration);

class EventStoreBuilder {
 public:
  EventStoreBuilder();

  NameId Name(std::string_view text) { return store_->texts_.Intern(text); }
  std::string_view text(NameId id) const { return store_->texts_[id]; }
  bool is_device(uint32_t group) const { return store_->groups_[group].is_device; }
  // The operation of these names and program; the same id for the same three.
  OperationId AddOperation(const Operation& operation);
  // Groups are shown in the order of `sort`, their lanes likewise, equals in the order they are
  // added.
  uint32_t AddGroup(std::string_view name, bool is_device, int64_t sort = 0);
  LaneId AddLane(uint32_t group, std::string_view name, LaneRole role, int64_t sort = 0);
  // What is only known later replaces what they were added with.
  void SetGroup(uint32_t group, std::string_view name, bool is_device, int64_t sort);
  void SetFacts(uint32_t group, std::vector<Argument> facts) {
    store_->groups_[group].facts = std::move(facts);
  }
  void SetLane(LaneId lane, std::string_view name, LaneRole role, int64_t sort);
  void set_origin_ns(int64_t origin_ns) { store_->origin_ns_ = origin_ns; }
  void set_arguments(std::shared_ptr<const ArgumentSource> source) {
    arguments_ = std::move(source);
  }

  // Adds an event; `where` is what the argument source is asked for. An input error for a start
  // outside ±kLongestTime, a duration outside [0, kLongestTime], and beyond 2^32 - 2 events.
  Status Add(LaneId lane, int64_t start, int64_t duration, NameId name, OperationId operation = {},
             uint64_t where = 0);
  size_t size() const { return starts_.size(); }

  CounterId AddCounter(uint32_t group, std::string_view name, std::string_view unit);
  // Adds a value of a counter; errors as those of Add.
  Status AddSample(CounterId counter, int64_t time, double value);
  size_t sample_count() const { return sample_times_.size(); }

  // Sorts, lays the events of every lane in rows and builds the index; the builder is spent. A stop
  // requested is kCancelled.
  Result<std::shared_ptr<const EventStore>> Finish(Jobs& jobs, const std::stop_token& stop = {});

 private:
  void SortGroups();
  void SortSamples();

  struct OperationHash {
    size_t operator()(const Operation& o) const;
  };

  std::shared_ptr<EventStore> store_;
  std::vector<int64_t> group_sort_, lane_sort_;
  std::vector<int64_t> starts_, durations_;
  std::vector<NameId> names_;
  std::vector<LaneId> lanes_;
  std::vector<OperationId> operations_;
  std::vector<uint64_t> places_;
  std::vector<CounterId> sample_counters_;
  std::vector<int64_t> sample_times_;
  std::vector<double> sample_values_;
  std::shared_ptr<const ArgumentSource> arguments_;
  std::unordered_map<Operation, OperationId, OperationHash> operation_ids_;
};

}  // namespace hloscope::profiler
