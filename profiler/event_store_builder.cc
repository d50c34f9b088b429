#include "profiler/event_store_builder.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "profiler/row_packing.h"

namespace hloscope::profiler {
namespace {

// How often each lane occurs, as the first index of each and the end of the last.
std::vector<uint32_t> FirstOfLanes(const std::vector<LaneId>& lanes, size_t lane_count) {
  std::vector<uint32_t> first(lane_count + 1, 0);
  for (LaneId lane : lanes) ++first[lane.index + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  return first;
}

// `values` in the order `order`; the old vector is given back at once, so that few columns are held
// twice.
template <typename T>
std::vector<T> Reordered(std::vector<T>& values, const std::vector<uint32_t>& order) {
  std::vector<T> result(order.size());
  for (size_t i = 0; i < order.size(); ++i) result[i] = values[order[i]];
  std::vector<T>().swap(values);
  return result;
}

// Sorts the events `order` of one lane by start, longer ones first, then lays them in rows: `order`
// becomes row after row, and the counts of the rows are returned.
std::vector<uint32_t> LayOut(std::span<uint32_t> order, const std::vector<int64_t>& starts,
                             const std::vector<int64_t>& durations) {
  auto before = [&](uint32_t a, uint32_t b) {
    return starts[a] != starts[b] ? starts[a] < starts[b] : durations[a] > durations[b];
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
  }
  RowPacking packing;
  std::vector<uint32_t> row_of(order.size()), counts;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t start = starts[order[i]];
    row_of[i] = packing.Place(start, start + durations[order[i]]);
    if (row_of[i] >= counts.size()) counts.resize(row_of[i] + 1, 0);
    ++counts[row_of[i]];
  }
  std::vector<uint32_t> next(counts.size(), 0), sorted(order.begin(), order.end());
  std::exclusive_scan(counts.begin(), counts.end(), next.begin(), 0u);
  for (size_t i = 0; i < sorted.size(); ++i) order[next[row_of[i]]++] = sorted[i];
  return counts;
}

}  // namespace

Status CheckTimes(int64_t start, int64_t duration) {
  if (start < -kLongestTime || start > kLongestTime) {
    return InputError("an event starts " + std::to_string(start) +
                      " ps from the beginning, expected less than two weeks");
  }
  if (duration < 0 || duration > kLongestTime) {
    return InputError("an event lasts " + std::to_string(duration) +
                      " ps, expected from 0 to two weeks");
  }
  return {};
}

size_t EventStoreBuilder::OperationHash::operator()(const Operation& o) const {
  const size_t names = (size_t{o.module.index} << 32) ^ o.name.index;
  return std::hash<size_t>()(names * 0x9E3779B97F4A7C15u) ^ std::hash<int64_t>()(o.program);
}

EventStoreBuilder::EventStoreBuilder() : store_(std::shared_ptr<EventStore>(new EventStore)) {}

OperationId EventStoreBuilder::AddOperation(const Operation& operation) {
  auto [entry, is_new] =
      operation_ids_.try_emplace(operation, OperationId(store_->operations_.size()));
  if (is_new) store_->operations_.push_back(operation);
  return entry->second;
}

uint32_t EventStoreBuilder::AddGroup(std::string_view name, bool is_device, int64_t sort) {
  store_->groups_.push_back({.name = Name(name), .is_device = is_device});
  group_sort_.push_back(sort);
  return static_cast<uint32_t>(store_->groups_.size() - 1);
}

LaneId EventStoreBuilder::AddLane(uint32_t group, std::string_view name, LaneRole role,
                                  int64_t sort) {
  LaneId id(store_->lanes_.size());
  store_->lanes_.push_back({.name = Name(name), .group = group, .role = role});
  store_->groups_[group].lanes.push_back(id);
  lane_sort_.push_back(sort);
  return id;
}

void EventStoreBuilder::SetGroup(uint32_t group, std::string_view name, bool is_device,
                                 int64_t sort) {
  store_->groups_[group].name = Name(name);
  store_->groups_[group].is_device = is_device;
  group_sort_[group] = sort;
}

void EventStoreBuilder::SetLane(LaneId lane, std::string_view name, LaneRole role, int64_t sort) {
  store_->lanes_[lane.index].name = Name(name);
  store_->lanes_[lane.index].role = role;
  lane_sort_[lane.index] = sort;
}

void EventStoreBuilder::SortGroups() {
  std::vector<uint32_t> order(group_sort_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](uint32_t g) { return group_sort_[g]; });
  std::vector<Group> sorted;
  std::vector<uint32_t> place_of(order.size());
  for (size_t place = 0; place < order.size(); ++place) {
    place_of[order[place]] = static_cast<uint32_t>(place);
  }
  for (Counter& counter : store_->counters_) counter.group = place_of[counter.group];
  for (uint32_t old : order) {
    Group& group = store_->groups_[old];
    std::ranges::stable_sort(group.lanes, {}, [&](LaneId l) { return lane_sort_[l.index]; });
    for (LaneId lane : group.lanes) {
      store_->lanes_[lane.index].group = static_cast<uint32_t>(sorted.size());
    }
    sorted.push_back(std::move(group));
  }
  store_->groups_ = std::move(sorted);
}

CounterId EventStoreBuilder::AddCounter(uint32_t group, std::string_view name,
                                        std::string_view unit) {
  store_->counters_.push_back({.name = Name(name), .unit = Name(unit), .group = group});
  return CounterId(store_->counters_.size() - 1);
}

Status EventStoreBuilder::AddSample(CounterId counter, int64_t time, double value) {
  HLOSCOPE_TRY(CheckTimes(time, 0));
  if (sample_times_.size() >= Id<void>::kNone - 1) {
    return InputError("more than 4,294,967,294 samples in one profile");
  }
  sample_counters_.push_back(counter);
  sample_times_.push_back(time);
  sample_values_.push_back(value);
  return {};
}

void EventStoreBuilder::SortSamples() {
  std::vector<uint32_t> order(sample_times_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](uint32_t i) {
    return std::pair(sample_counters_[i].index, sample_times_[i]);
  });
  for (CounterId counter : sample_counters_) ++store_->counters_[counter.index].sample_count;
  uint32_t first = 0;
  for (Counter& counter : store_->counters_) {
    counter.first_sample = first;
    first += counter.sample_count;
  }
  store_->sample_times_ = Reordered(sample_times_, order);
  store_->sample_values_ = Reordered(sample_values_, order);
}

Status EventStoreBuilder::Add(LaneId lane, int64_t start, int64_t duration, NameId name,
                              OperationId operation, uint64_t where) {
  HLOSCOPE_TRY(CheckTimes(start, duration));
  if (starts_.size() >= Id<void>::kNone - 1) {
    return InputError("more than 4,294,967,294 events in one profile");
  }
  starts_.push_back(start);
  durations_.push_back(duration);
  names_.push_back(name);
  lanes_.push_back(lane);
  operations_.push_back(operation);
  if (arguments_ != nullptr) places_.push_back(where);
  return {};
}

Result<std::shared_ptr<const EventStore>> EventStoreBuilder::Finish(Jobs& jobs,
                                                                    const std::stop_token& stop) {
  EventStore& store = *store_;
  SortGroups();
  const std::vector<uint32_t> first = FirstOfLanes(lanes_, store.lanes_.size());
  std::vector<uint32_t> order(starts_.size()), next(first.begin(), first.end() - 1);
  for (size_t i = 0; i < lanes_.size(); ++i) {
    order[next[lanes_[i].index]++] = static_cast<uint32_t>(i);
  }
  std::vector<LaneId>().swap(lanes_);
  std::vector<std::vector<uint32_t>> rows(store.lanes_.size());
  HLOSCOPE_TRY(jobs.ParallelFor(
      static_cast<int64_t>(rows.size()),
      [&](int64_t lane) {
        const size_t l = static_cast<size_t>(lane);
        rows[l] = LayOut(std::span(order).subspan(first[l], first[l + 1] - first[l]), starts_,
                         durations_);
      },
      stop));
  for (size_t l = 0; l < rows.size(); ++l) {
    Lane& lane = store.lanes_[l];
    lane.first_event = first[l];
    lane.event_count = first[l + 1] - first[l];
    lane.first_row = static_cast<uint32_t>(store.rows_.size());
    lane.row_count = static_cast<uint32_t>(rows[l].size());
    uint32_t event = first[l];
    for (uint32_t count : rows[l]) {
      store.rows_.push_back({LaneId(l), event, count});
      event += count;
    }
  }
  store.starts_ = Reordered(starts_, order);
  store.durations_ = Reordered(durations_, order);
  store.names_ = Reordered(names_, order);
  store.event_operations_ = Reordered(operations_, order);
  if (arguments_ != nullptr) store.argument_places_ = Reordered(places_, order);
  store.arguments_ = std::move(arguments_);
  SortSamples();
  store.FindRange();
  store.BuildIndex();
  return std::shared_ptr<const EventStore>(std::move(store_));
}

}  // namespace hloscope::profiler
