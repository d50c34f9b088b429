// Queries of the event store: binary search in rows, and sums over ranges through levels of
// sixteen.
#include "profiler/event_store.h"

#include <algorithm>
#include <utility>

#include "profiler/saturating_add.h"

namespace hloscope::profiler {
namespace {

constexpr uint32_t kFanoutBits = 3, kFanout = 1 << kFanoutBits;

}  // namespace

std::string_view ToString(LaneRole role) {
  switch (role) {
#define LANE_ROLE(name, text, line) \
  case LaneRole::name:              \
    return text;
#include "profiler/lane_roles.def"
#undef LANE_ROLE
  }
  return {};
}

std::optional<LaneRole> RoleNamed(std::string_view text) {
#define LANE_ROLE(role, words, line) \
  if (text == words) return LaneRole::role;
#include "profiler/lane_roles.def"
#undef LANE_ROLE
  return std::nullopt;
}

LaneRole RoleOfLine(std::string_view name, bool is_device) {
  static constexpr std::pair<std::string_view, LaneRole> kLines[] = {
#define LANE_ROLE(role, text, line) {line, LaneRole::role},
#include "profiler/lane_roles.def"
#undef LANE_ROLE
  };
  for (const auto& [line, role] : kLines) {
    if (!line.empty() && line == name) return role;
  }
  return is_device ? LaneRole::kStream : LaneRole::kThread;
}

std::optional<double> NumberOf(const Argument& argument) {
  return std::visit(
      [](const auto& value) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
          return static_cast<double>(value);
        } else {
          return std::nullopt;
        }
      },
      argument.value);
}

uint32_t EventStore::RowOf(EventId e) const {
  auto after = std::upper_bound(rows_.begin(), rows_.end(), e.index,
                                [](uint32_t i, const Row& row) { return i < row.first_event; });
  return static_cast<uint32_t>(after - rows_.begin()) - 1;
}

std::vector<Argument> EventStore::Arguments(EventId e) const {
  if (arguments_ == nullptr || argument_places_.empty()) return {};
  return arguments_->Read(argument_places_[e.index]);
}

// The first event of the row that ends after `time`, or starts at it; the one behind its last if
// there is none.
uint32_t EventStore::FirstEndingAfter(const Row& row, int64_t time) const {
  uint32_t low = row.first_event, high = row.first_event + row.event_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    bool before = starts_[middle] < time && starts_[middle] + durations_[middle] <= time;
    before ? low = middle + 1 : high = middle;
  }
  return low;
}

// The first of [first, last), which lie in one row, that starts at `time` or later. Searched from
// the front in growing steps: it is mostly near.
uint32_t EventStore::FirstStartingFrom(uint32_t first, uint32_t last, int64_t time) const {
  uint32_t step = 1, low = first;
  while (low < last && starts_[low] < time) {
    first = low + 1;
    if (step >= last - low) {
      low = last;
      break;
    }
    low += step;
    step *= 2;
  }
  return static_cast<uint32_t>(
      std::lower_bound(starts_.begin() + first, starts_.begin() + std::min(low, last), time) -
      starts_.begin());
}

// Makes this block that of its own events and of those of `next`, which follow.
inline void EventStore::Block::Join(const Block& next) {
  end = next.end;
  busy = SaturatingAdd(busy, next.busy);
  if (next.longest_duration <= longest_duration) return;
  longest_duration = next.longest_duration;
  longest = next.longest;
}

// Entry `entry` of level `level`; level 0 are the events themselves.
inline EventStore::Block EventStore::BlockAt(size_t level, uint32_t entry) const {
  if (level > 0) return index_[level - 1][entry];
  const int64_t start = starts_[entry], duration = durations_[entry];
  return {start, start + duration, duration, duration, entry};
}

void EventStore::BuildIndex() {
  index_.clear();
  size_t below = size();
  for (size_t level = 0; below > kFanout; ++level) {
    std::vector<Block> blocks((below + kFanout - 1) / kFanout);
    for (size_t b = 0; b < blocks.size(); ++b) {
      Block block = BlockAt(level, static_cast<uint32_t>(b * kFanout));
      const size_t last = std::min(below, (b + 1) * kFanout);
      for (size_t c = b * kFanout + 1; c < last; ++c) {
        block.Join(BlockAt(level, static_cast<uint32_t>(c)));
      }
      blocks[b] = block;
    }
    below = blocks.size();
    index_.push_back(std::move(blocks));
  }
}

void EventStore::FindRange() {
  range_ = {};
  bool is_first = true;
  auto add = [&](int64_t begin, int64_t end_of) {
    range_.begin = is_first ? begin : std::min(range_.begin, begin);
    range_.end = is_first ? end_of : std::max(range_.end, end_of);
    is_first = false;
  };
  for (const Row& row : rows_) {
    if (row.event_count == 0) continue;
    add(start(EventId(row.first_event)), end(EventId(row.first_event + row.event_count - 1)));
  }
  for (const Counter& counter : counters_) {
    if (counter.sample_count > 0) add(times(counter).front(), times(counter).back());
  }
}

// A walk over the events of one row in order of time, in steps of the largest blocks that are
// narrow and hold nothing wide. What is folded together ends at multiples of the resolution, so
// that a picture that moves does not flicker.
class EventStore::SliceWalk {
 public:
  SliceWalk(const EventStore& store, uint32_t first, uint32_t last, int64_t resolution)
      : store_(store), next_(first), last_(last), resolution_(resolution) {
    if (!done()) Step();
  }

  bool done() const { return next_ >= last_; }

  // The next event that is wide enough, or the next narrow ones folded together.
  Slice Next() {
    Block sum = block_;
    const uint32_t first = next_;
    const int64_t offset = sum.begin % resolution_;
    const int64_t limit = sum.begin + resolution_ - (offset < 0 ? offset + resolution_ : offset);
    next_ += taken_;
    const bool is_wide = sum.end - sum.begin >= resolution_;
    while (!done()) {
      Step();
      if (is_wide || block_.begin >= limit || block_.end - block_.begin >= resolution_) break;
      sum.Join(block_);
      next_ += taken_;
    }
    return {sum.begin, sum.end, EventId(first), next_ - first, EventId(sum.longest), sum.busy};
  }

 private:
  // Whether the entry of `level` that begins at next_ may be taken in one step. A quarter of the
  // resolution keeps slices from ending much earlier than they could.
  bool Fits(size_t level) const {
    const uint64_t size = uint64_t{1} << (kFanoutBits * level);
    if ((next_ & (size - 1)) != 0 || next_ + size > last_) return false;
    if (level > store_.index_.size()) return false;
    const Block& block = store_.index_[level - 1][next_ >> (kFanoutBits * level)];
    return block.end - block.begin <= resolution_ / 4;
  }

  // Makes block_ the largest entry that may be taken at next_, and taken_ the number of its events.
  void Step() {
    while (level_ > 0 && !Fits(level_)) --level_;
    while (Fits(level_ + 1)) ++level_;
    taken_ = uint32_t{1} << (kFanoutBits * level_);
    block_ = store_.BlockAt(level_, next_ >> (kFanoutBits * level_));
  }

  const EventStore& store_;
  uint32_t next_, last_;
  int64_t resolution_;
  size_t level_ = 0;
  uint32_t taken_ = 1;
  Block block_ = {};
};

void EventStore::AppendSlices(uint32_t row, TimeRange range, int64_t resolution,
                              std::vector<Slice>& out) const {
  resolution = std::max<int64_t>(resolution, 1);
  const int64_t offset = range.begin % resolution;
  range.begin -= offset < 0 ? offset + resolution : offset;
  const auto [first, last] = EventsIn(row, range);
  SliceWalk walk(*this, first.index, last.index, resolution);
  while (!walk.done()) out.push_back(walk.Next());
}

EventId EventStore::EventAt(uint32_t row_index, int64_t time, int64_t tolerance) const {
  const Row& row = rows_[row_index];
  const uint32_t behind = row.first_event + row.event_count;
  const uint32_t i = FirstEndingAfter(row, time);
  if (i < behind && starts_[i] <= time) return EventId(i);
  EventId nearest;
  int64_t best = tolerance;
  if (i < behind && starts_[i] - time <= best) {
    nearest = EventId(i);
    best = starts_[i] - time;
  }
  if (i > row.first_event && time - end(EventId(i - 1)) <= best) nearest = EventId(i - 1);
  return nearest;
}

std::pair<EventId, EventId> EventStore::EventsIn(uint32_t row_index, TimeRange range) const {
  const Row& row = rows_[row_index];
  const uint32_t first = FirstEndingAfter(row, range.begin);
  return {EventId(first),
          EventId(FirstStartingFrom(first, row.first_event + row.event_count, range.end))};
}

EventId EventStore::Neighbour(EventId e, bool forward) const {
  const int64_t time = starts_[e.index];
  EventId best;
  for (const Row& row : rows(lanes_[LaneOf(e).index])) {
    const uint32_t behind = row.first_event + row.event_count;
    uint32_t i = FirstStartingFrom(row.first_event, behind, forward ? time + 1 : time);
    if (!forward && i-- == row.first_event) continue;
    if (i >= behind) continue;
    if (!best.valid() || (starts_[i] < starts_[best.index]) == forward) best = EventId(i);
  }
  return best;
}

EventId EventStore::ParentOf(EventId e) const {
  const uint32_t own = RowOf(e);
  EventId best;
  for (uint32_t r = lanes_[rows_[own].lane.index].first_row; r < own; ++r) {
    EventId other = EventAt(r, starts_[e.index], 0);
    if (!other.valid() || start(other) > start(e) || end(other) < end(e)) continue;
    if (!best.valid() || duration(other) <= duration(best)) best = other;
  }
  return best;
}

size_t EventStore::MemoryBytes() const {
  size_t bytes =
      starts_.capacity() * sizeof(starts_[0]) + durations_.capacity() * sizeof(starts_[0]);
  bytes += names_.capacity() * sizeof(NameId) + event_operations_.capacity() * sizeof(OperationId);
  bytes += argument_places_.capacity() * sizeof(argument_places_[0]);
  for (const auto& level : index_) bytes += level.capacity() * sizeof(Block);
  bytes += sample_times_.capacity() * (sizeof(sample_times_[0]) + sizeof(sample_values_[0]));
  return bytes + rows_.capacity() * sizeof(Row) + lanes_.capacity() * sizeof(Lane);
}

}  // namespace hloscope::profiler
