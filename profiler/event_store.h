// EventStore: the events of a profile in columns, in lanes whose rows never hide one event behind
// another, with an index by which any range of time is drawn in steps of its pixels, however many
// events lie in it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/id.h"
#include "core/hlo/string_pool.h"

namespace hloscope::profiler {

// Times are picoseconds from the origin of the store.
using NameId = hlo::StringId;
using EventId = Id<struct EventTag>;          // index into the columns
using LaneId = Id<struct LaneTag>;            // index into lanes()
using OperationId = Id<struct OperationTag>;  // index into operations()
using CounterId = Id<struct CounterTag>;      // index into counters()

// Starts and durations stay below this, so that their sums and differences cannot overflow.
inline constexpr int64_t kLongestTime = int64_t{1} << 60;

struct TimeRange {
  int64_t begin = 0, end = 0;  // [begin, end)
  int64_t length() const { return end - begin; }
  bool operator==(const TimeRange&) const = default;
};

// What a lane shows (lane_roles.def): a host thread, a stream of a device, or one of the lines that
// profilers derive.
enum class LaneRole : uint8_t {
#define LANE_ROLE(role, text, line) role,
#include "profiler/lane_roles.def"
#undef LANE_ROLE
};
std::string_view ToString(LaneRole role);
std::optional<LaneRole> RoleNamed(std::string_view text);
// The role of a line of that name: those profilers derive by their names, else a stream of a device
// or a thread.
LaneRole RoleOfLine(std::string_view name, bool is_device);

struct Argument {
  std::string name;
  std::variant<int64_t, uint64_t, double, std::string> value;
};
// Its value, where that is a number.
std::optional<double> NumberOf(const Argument& argument);

// A plane or process of a trace.
struct Group {
  NameId name;
  bool is_device = false;
  std::vector<LaneId> lanes = {};
  std::vector<Argument> facts = {};  // what the trace says of it as a whole
};

// A line or thread. Its events fill `row_count` rows: nested ones below what contains them,
// overlapping ones wherever a row is free.
struct Lane {
  NameId name;
  uint32_t group = 0;
  LaneRole role = LaneRole::kThread;
  uint32_t first_row = 0, row_count = 0;
  uint32_t first_event = 0, event_count = 0;
};

// Events of one row follow on from first_event in order of time; none starts before the one before
// it has ended.
struct Row {
  LaneId lane;
  uint32_t first_event = 0, event_count = 0;
};

// What an event says of its origin: an instruction of a module, as far as the trace names them.
struct Operation {
  NameId module, name;   // hlo_module, hlo_op; invalid where the trace has none
  int64_t program = -1;  // program_id; -1 where the trace has none
  bool operator==(const Operation&) const = default;
};

// A quantity over time: bytes in use, a clock, a load. Each value holds until the next.
struct Counter {
  NameId name, unit;  // "bytes", "%"; the empty text where nothing is said
  uint32_t group = 0;
  uint32_t first_sample = 0, sample_count = 0;
};

// What is drawn at one place: an event, or several too narrow to be told apart.
struct Slice {
  int64_t begin = 0, end = 0;
  EventId first;
  uint32_t count = 1;
  EventId longest;   // of those folded into one
  int64_t busy = 0;  // time inside events
};

// Where the arguments of events are read from when they are asked for: the bytes of the file.
class ArgumentSource {
 public:
  virtual ~ArgumentSource() = default;
  // The arguments of the event that the importer placed at `where`; empty where there are none.
  virtual std::vector<Argument> Read(uint64_t where) const = 0;
};

class EventStore {
 public:
  size_t size() const { return starts_.size(); }
  std::span<const Group> groups() const { return groups_; }
  std::span<const Lane> lanes() const { return lanes_; }
  std::span<const Row> rows() const { return rows_; }
  std::span<const Row> rows(const Lane& lane) const {
    return std::span(rows_).subspan(lane.first_row, lane.row_count);
  }
  std::span<const Operation> operations() const { return operations_; }
  std::span<const Counter> counters() const { return counters_; }
  // When the samples of a counter were taken, in order, and what they are.
  std::span<const int64_t> times(const Counter& counter) const {
    return std::span(sample_times_).subspan(counter.first_sample, counter.sample_count);
  }
  std::span<const double> values(const Counter& counter) const {
    return std::span(sample_values_).subspan(counter.first_sample, counter.sample_count);
  }
  size_t sample_count() const { return sample_times_.size(); }
  // From the first start or sample to the last; [0, 0) of an empty store.
  TimeRange range() const { return range_; }
  // What time 0 is, in nanoseconds of the clock of the trace.
  int64_t origin_ns() const { return origin_ns_; }

  int64_t start(EventId e) const { return starts_[e.index]; }
  int64_t duration(EventId e) const { return durations_[e.index]; }
  int64_t end(EventId e) const { return starts_[e.index] + durations_[e.index]; }
  NameId name(EventId e) const { return names_[e.index]; }
  OperationId operation(EventId e) const { return event_operations_[e.index]; }
  std::string_view text(NameId id) const { return texts_[id]; }
  NameId FindName(std::string_view text) const { return texts_.Find(text); }
  size_t name_count() const { return texts_.size(); }
  // The index into rows() of the row that holds `e`, and its lane.
  uint32_t RowOf(EventId e) const;
  LaneId LaneOf(EventId e) const { return rows_[RowOf(e)].lane; }

  // Decoded from the file at each call.
  std::vector<Argument> Arguments(EventId e) const;

  // Appends what is to be drawn of row `row` in `range`, in order of time: events of at least
  // `resolution` picoseconds by themselves, narrower ones folded into slices of about that length.
  // Takes steps of the slices, not of the events.
  void AppendSlices(uint32_t row, TimeRange range, int64_t resolution,
                    std::vector<Slice>& out) const;
  // The event of the row at `time`, else the nearest that is at most `tolerance` away; invalid if
  // there is none.
  EventId EventAt(uint32_t row, int64_t time, int64_t tolerance) const;
  // The events of the row that reach into `range`, events of no length at its begin included: first
  // and behind the last.
  std::pair<EventId, EventId> EventsIn(uint32_t row, TimeRange range) const;
  // The nearest event after (`forward`) or before `e` in its lane that starts later or earlier;
  // invalid at the end.
  EventId Neighbour(EventId e, bool forward) const;
  // The event that contains `e` most tightly among the rows above it in its lane; invalid if there
  // is none.
  EventId ParentOf(EventId e) const;

  // Bytes held, without those of the file.
  size_t MemoryBytes() const;

 private:
  friend class EventStoreBuilder;
  EventStore() = default;
  uint32_t FirstEndingAfter(const Row& row, int64_t time) const;
  uint32_t FirstStartingFrom(uint32_t first, uint32_t last, int64_t time) const;

  // What is known of sixteen entries of the level below, or of sixteen events.
  struct Block {
    int64_t begin, end;
    int64_t busy;
    int64_t longest_duration;
    uint32_t longest;
    void Join(const Block& next);
  };
  class SliceWalk;
  Block BlockAt(size_t level, uint32_t entry) const;
  void BuildIndex();
  void FindRange();

  std::vector<int64_t> starts_, durations_;
  std::vector<NameId> names_;
  std::vector<OperationId> event_operations_;
  std::vector<uint64_t> argument_places_;  // empty: no arguments
  std::shared_ptr<const ArgumentSource> arguments_;
  std::vector<std::vector<Block>> index_;
  std::vector<Group> groups_;
  std::vector<Lane> lanes_;
  std::vector<Row> rows_;
  std::vector<Operation> operations_;
  std::vector<Counter> counters_;
  std::vector<int64_t> sample_times_;
  std::vector<double> sample_values_;
  hlo::StringPool texts_;
  TimeRange range_;
  int64_t origin_ns_ = 0;
};

}  // namespace hloscope::profiler
