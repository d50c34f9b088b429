// The events of a Perfetto trace (.pftrace): begun and ended ones, moments and counters on tracks.
#include <algorithm>
#include <limits>
#include <optional>

#include "core/hlo/proto/wire_reader.h"
#include "profiler/event_store_builder.h"
#include "profiler/formats/losses.h"
#include "profiler/formats/perfetto_annotations.h"
#include "profiler/formats/perfetto_clocks.h"
#include "profiler/formats/perfetto_packets.h"
#include "profiler/formats/perfetto_tracks.h"
#include "profiler/profile.h"

namespace hloscope::profiler {
namespace {

namespace packet = perfetto::packet;
namespace event = perfetto::event;
using hlo::AsBytes;
using hlo::AsFixed64;
using hlo::AsVarint;
using hlo::WireField;
using hlo::WireReader;

constexpr int64_t kPerNanosecond = 1000;

// What a packet says before its data are looked at.
struct PacketHead {
  uint32_t sequence = 0, clock = 0;
  uint64_t timestamp = 0, flags = 0;
  bool has_timestamp = false, is_cleared = false, dropped_before = false;
  std::string_view snapshot, defaults, thread, track, event, event_field;
  std::vector<std::string_view> interned;
  uint32_t other = 0;  // a field of data that is not read
};

// Fields of packets that hold no events: what is known of the system, of the recording itself.
bool IsAboutTheTrace(uint32_t number) {
  static constexpr uint32_t kNumbers[] = {2,  33, 35, 36, 43, 45, 46,  47,  48,  51, 64,
                                          67, 69, 72, 82, 89, 90, 107, 124, 126, 138};
  return std::ranges::find(kNumbers, number) != std::end(kNumbers);
}

PacketHead ReadHead(std::string_view bytes) {
  PacketHead head;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    switch (field.tag) {
      case AsVarint(packet::kTimestamp):
        head.timestamp = field.value;
        head.has_timestamp = true;
        break;
      case AsVarint(packet::kSequence):
        head.sequence = static_cast<uint32_t>(field.value);
        break;
      case AsVarint(packet::kSequenceFlags):
        head.flags = field.value;
        break;
      case AsVarint(packet::kStateCleared):
        head.is_cleared = field.AsBool();
        break;
      case AsVarint(packet::kPreviousDropped):
        head.dropped_before = field.value != 0;
        break;
      case AsVarint(packet::kClock):
        head.clock = static_cast<uint32_t>(field.value);
        break;
      case AsBytes(packet::kClockSnapshot):
        head.snapshot = field.bytes;
        break;
      case AsBytes(packet::kInternedData):
        head.interned.push_back(field.bytes);
        break;
      case AsBytes(packet::kDefaults):
        head.defaults = field.bytes;
        break;
      case AsBytes(packet::kThread):
        head.thread = field.bytes;
        break;
      case AsBytes(packet::kTrack):
        head.track = field.bytes;
        break;
      case AsBytes(packet::kTrackEvent):
        head.event = field.bytes;
        head.event_field = field.raw;
        break;
      default:
        if ((field.tag & 7) == 2 && !IsAboutTheTrace(field.number())) head.other = field.number();
    }
  }
  head.is_cleared |= (head.flags & packet::kFlagCleared) != 0;
  return head;
}

// One TrackEvent as it lies there.
struct TrackEvent {
  uint64_t type = 0;
  std::optional<uint64_t> track, name_id;
  std::string_view name, legacy;
  std::optional<double> value;
  std::vector<uint64_t> extra_tracks, extra_double_tracks;
  std::vector<double> extra_values, extra_double_values;
  bool has_annotations = false, has_flows = false;
};

void ReadExtra(const WireField& field, TrackEvent& e) {
  // Each may be packed in one field or stand in many.
  auto integers = [&](auto& out) {
    if ((field.tag & 7) == 0) {
      out.push_back(static_cast<std::decay_t<decltype(out[0])>>(field.AsInt64()));
      return;
    }
    WireReader reader(field.bytes);
    for (uint64_t value; reader.NextVarint(value);)
      out.push_back(static_cast<std::decay_t<decltype(out[0])>>(static_cast<int64_t>(value)));
  };
  switch (field.number()) {
    case event::kExtraValue:
      return integers(e.extra_values);
    case event::kExtraTrack:
      return integers(e.extra_tracks);
    case event::kExtraDoubleTrack:
      return integers(e.extra_double_tracks);
    case event::kExtraDoubleValue:
      if (field.tag == AsFixed64(event::kExtraDoubleValue))
        e.extra_double_values.push_back(hlo::DoubleFromBits(field.value));
      return;
    default:
      return;
  }
}

TrackEvent ReadTrackEvent(std::string_view bytes) {
  TrackEvent e;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    switch (field.tag) {
      case AsVarint(event::kType):
        e.type = field.value;
        break;
      case AsVarint(event::kTrack):
        e.track = field.value;
        break;
      case AsVarint(event::kNameId):
        e.name_id = field.value;
        break;
      case AsBytes(event::kName):
        e.name = field.bytes;
        break;
      case AsBytes(event::kAnnotation):
        e.has_annotations = true;
        break;
      case AsBytes(event::kLegacy):
        e.legacy = field.bytes;
        break;
      case AsVarint(event::kValue):
        e.value = static_cast<double>(field.AsInt64());
        break;
      case AsFixed64(event::kDoubleValue):
        e.value = hlo::DoubleFromBits(field.value);
        break;
      default:
        ReadExtra(field, e);
        e.has_flows |= field.number() == 36 || field.number() == 42 || field.number() == 47 ||
                       field.number() == 48;
    }
  }
  return e;
}

class PerfettoReader {
 public:
  PerfettoReader(const FileView& file, const TraceRequest& request, bool in_order)
      : file_(file),
        request_(request),
        sorts_(in_order),
        profile_(std::make_shared<Profile>(file, ProfileFormat::kPerfetto)),
        bytes_(std::make_shared<PerfettoBytes>(file, request.limits)),
        arguments_(std::make_shared<PerfettoArguments>(bytes_)),
        tracks_(builder_) {
    builder_.set_arguments(arguments_);
  }

  // Null where events of a track do not lie in order of time, and it was not told to sort them.
  Result<std::shared_ptr<Profile>> Read() {
    // Descriptors may stand behind the events they are about.
    bytes_->ForEachPacket(
        [&](std::string_view bytes) {
          const PacketHead head = ReadHead(bytes);
          if (!head.track.empty()) tracks_.AddDescriptor(head.track);
          if (!head.thread.empty()) tracks_.AddThread(head.sequence, head.thread);
        },
        &losses_);
    bytes_->ForEachPacket(
        [&](std::string_view bytes) {
          if (!request_.stop.stop_requested() && !is_out_of_order_) Take(bytes);
        },
        nullptr);
    if (is_out_of_order_) return std::shared_ptr<Profile>();
    std::ranges::stable_sort(marks_, {}, &Mark::time);
    for (const Mark& mark : marks_) Apply(mark);
    EndWhatIsOpen();
    tracks_.AddProcesses();
    if (builder_.size() == 0 && builder_.sample_count() == 0 && bytes_->is_cut()) {
      return InputError(file_.path() + ": truncated or invalid before the first event",
                        "copy the trace again");
    }
    HLOSCOPE_ASSIGN_OR_RETURN(profile_->store, builder_.Finish(request_.jobs, request_.stop));
    profile_->losses = losses_.Take();
    if (request_.may_reread && bytes_->Release()) {
      profile_->file = FileView::FromBytes(file_.path(), "");
    }
    return profile_;
  }

 private:
  struct Sequence {
    std::shared_ptr<PerfettoNames> names;
    size_t names_number = 0;
    bool is_sound = false;  // nothing was lost since the state was cleared
    bool has_thread = false;
    uint32_t clock = 0;
    uint64_t track = 0;
    std::vector<uint64_t> extra_tracks, extra_double_tracks;
  };
  struct Mark {
    int64_t time = 0;  // picoseconds
    size_t track = 0;
    uint64_t type = 0;
    NameId name = {};
    OperationId operation = {};
    uint64_t where = 0;
  };

  void Take(std::string_view bytes) {
    const PacketHead head = ReadHead(bytes);
    Sequence& sequence = sequences_[head.sequence];
    if (head.dropped_before) {
      sequence.is_sound = false;
      if (sequence.names != nullptr) {
        losses_.Count("gaps where the recording dropped packets",
                      [&] { return "before byte " + std::to_string(bytes_->OffsetOf(bytes)); });
      }
    }
    if (head.is_cleared || sequence.names == nullptr) {
      std::tie(sequence.names, sequence.names_number) = arguments_->AddNames();
      if (head.is_cleared) sequence.is_sound = true;
      sequence.clock = 0;
      sequence.track = 0;
      sequence.extra_tracks.clear();
      sequence.extra_double_tracks.clear();
    }
    sequence.has_thread |= !head.thread.empty();
    if (!head.snapshot.empty()) clocks_.AddSnapshot(head.sequence, head.snapshot);
    if (!head.defaults.empty()) TakeDefaults(head.defaults, sequence);
    if ((head.flags & packet::kFlagNeedsState) != 0 && !sequence.is_sound) {
      return Leave("packets whose interned names were lost with earlier packets", bytes);
    }
    for (std::string_view interned : head.interned) sequence.names->Add(interned, builder_);
    if (head.other == packet::kZstd) return Leave("packets compressed with zstd", bytes);
    if (head.other != 0) {
      losses_.Count("packets of other sources of data", [&] {
        return "field " + std::to_string(head.other) + " of the packet at byte " +
               std::to_string(bytes_->OffsetOf(bytes));
      });
    }
    if (!head.event.empty()) TakeEvent(head, sequence, bytes);
  }

  void Leave(std::string_view what, std::string_view at) {
    losses_.Count(what, [&] { return "at byte " + std::to_string(bytes_->OffsetOf(at)); });
  }

  static void TakeDefaults(std::string_view defaults, Sequence& sequence) {
    WireReader reader(defaults);
    WireField field, part;
    while (reader.Next(field)) {
      if (field.tag == AsVarint(packet::kClock))
        sequence.clock = static_cast<uint32_t>(field.value);
      if (field.tag != AsBytes(packet::kTrackEvent)) continue;
      WireReader parts(field.bytes);
      TrackEvent extra;
      while (parts.Next(part)) {
        if (part.tag == AsVarint(event::kTrack)) sequence.track = part.value;
        ReadExtra(part, extra);
      }
      sequence.extra_tracks = std::move(extra.extra_tracks);
      sequence.extra_double_tracks = std::move(extra.extra_double_tracks);
    }
  }

  // Picoseconds from the first time of the trace.
  std::optional<int64_t> TimeOf(const PacketHead& head, const Sequence& sequence,
                                std::string_view bytes) {
    if (!head.has_timestamp) return std::nullopt;
    const uint32_t clock = head.clock != 0 ? head.clock : sequence.clock;
    std::optional<int64_t> time = clocks_.Nanoseconds(head.sequence, clock, head.timestamp);
    if (!time && clock != 0) {
      Leave("timestamps of clocks without a clock snapshot, used as they are", bytes);
      time = clocks_.Nanoseconds(head.sequence, 0, head.timestamp);
    }
    if (!time) return std::nullopt;
    if (!origin_ns_) {
      origin_ns_ = *time;
      builder_.set_origin_ns(*time);
    }
    int64_t from_origin = 0;
    if (__builtin_sub_overflow(*time, *origin_ns_, &from_origin)) return std::nullopt;
    constexpr int64_t kFarthest = kLongestTime / kPerNanosecond;
    if (from_origin < -kFarthest || from_origin > kFarthest) return std::nullopt;
    last_time_ = std::max(last_time_, from_origin * kPerNanosecond);
    return from_origin * kPerNanosecond;
  }

  size_t TrackOf(const TrackEvent& e, const Sequence& sequence, uint32_t id) {
    if (e.track) return tracks_.IndexOf(*e.track);
    if (sequence.track != 0) return tracks_.IndexOf(sequence.track);
    return sequence.has_thread ? tracks_.IndexOfSequence(id) : tracks_.IndexOf(0);
  }

  void TakeEvent(const PacketHead& head, Sequence& sequence, std::string_view bytes) {
    TrackEvent e = ReadTrackEvent(head.event);
    const std::optional<int64_t> time = TimeOf(head, sequence, bytes);
    if (!time) return Leave("events with out-of-range timestamps", bytes);
    const size_t track = TrackOf(e, sequence, head.sequence);
    const auto& extra = e.extra_tracks.empty() ? sequence.extra_tracks : e.extra_tracks;
    TakeExtra(extra, e.extra_values, *time, bytes);
    const auto& doubles =
        e.extra_double_tracks.empty() ? sequence.extra_double_tracks : e.extra_double_tracks;
    TakeExtra(doubles, e.extra_double_values, *time, bytes);
    if (e.has_flows) Leave("flow events", bytes);
    if (e.type == event::kCounter) {
      return e.value ? TakeSample(track, *e.value, *time, bytes)
                     : Leave("non-numeric counter values", bytes);
    }
    if (e.type == 0 && !e.legacy.empty()) return TakeLegacy(e, head, sequence, track, *time, bytes);
    if (e.type < event::kBegin || e.type > event::kInstant)
      return Leave("events of unknown type", bytes);
    Put(MarkOf(e, head, sequence, track, *time), e.type);
  }

  Mark MarkOf(const TrackEvent& e, const PacketHead& head, const Sequence& sequence, size_t track,
              int64_t time) {
    Mark mark{.time = time, .track = track};
    if (e.type == event::kEnd) return mark;
    mark.name = NameOf(e, sequence);
    if (!e.has_annotations) return mark;
    const Operation operation = OperationOfAnnotations(head.event, *sequence.names, builder_);
    if (operation.name.valid()) mark.operation = builder_.AddOperation(operation);
    mark.where = arguments_->PlaceOf(sequence.names_number, head.event_field);
    return mark;
  }

  NameId NameOf(const TrackEvent& e, const Sequence& sequence) {
    if (!e.name_id) return builder_.Name(e.name.empty() ? "(unnamed)" : e.name);
    auto found = sequence.names->events.find(*e.name_id);
    if (found != sequence.names->events.end()) return found->second;
    losses_.Count("event names that are not interned in their sequence",
                  [] { return std::string("shown as (unnamed)"); });
    return builder_.Name("(unnamed)");
  }

  // Events that Chrome's own recorder writes: those with a duration are whole.
  void TakeLegacy(TrackEvent& e, const PacketHead& head, const Sequence& sequence, size_t track,
                  int64_t time, std::string_view bytes) {
    int64_t phase = 0, duration_us = 0;
    WireReader reader(e.legacy);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsVarint(1)) e.name_id = field.value;
      if (field.tag == AsVarint(2)) phase = field.AsInt32();
      if (field.tag == AsVarint(3)) duration_us = field.AsInt64();
    }
    const bool is_moment = phase == 'I' || phase == 'i' || phase == 'R';
    const uint64_t type = phase == 'B'   ? event::kBegin
                          : phase == 'E' ? event::kEnd
                          : is_moment    ? event::kInstant
                                         : 0;
    if (type != 0) {
      e.type = type;
      return Put(MarkOf(e, head, sequence, track, time), type);
    }
    int64_t duration = 0;
    const bool fits = !__builtin_mul_overflow(duration_us, 1'000'000, &duration);
    if (phase != 'X' || !fits) return Leave("asynchronous legacy Chrome events", bytes);
    Add(MarkOf(e, head, sequence, track, time), duration);
  }

  void Put(Mark mark, uint64_t type) {
    mark.type = type;
    if (sorts_) return marks_.push_back(mark);
    if (mark.track >= last_times_.size())
      last_times_.resize(mark.track + 1, std::numeric_limits<int64_t>::min());
    int64_t& last = last_times_[mark.track];
    if (type != event::kInstant) {
      is_out_of_order_ |= mark.time < last;
      last = mark.time;
    }
    Apply(mark);
  }

  void Apply(const Mark& mark) {
    if (mark.type == event::kInstant) return Add(mark, 0);
    if (mark.track >= open_.size()) open_.resize(mark.track + 1);
    std::vector<Mark>& open = open_[mark.track];
    if (mark.type == event::kBegin) return open.push_back(mark);
    if (open.empty()) {
      return losses_.Count("end events without a begin event", [&] {
        return std::to_string(mark.time / kPerNanosecond) + " ns from the first event";
      });
    }
    Add(open.back(), mark.time - open.back().time);
    open.pop_back();
  }

  void Add(const Mark& mark, int64_t duration) {
    const Status added = builder_.Add(tracks_.LaneOf(mark.track), mark.time, duration, mark.name,
                                      mark.operation, mark.where);
    if (!added)
      losses_.Count("events with out-of-range timestamps", [&] { return added.error().message; });
  }

  void EndWhatIsOpen() {
    for (std::vector<Mark>& open : open_) {
      for (const Mark& mark : open) {
        losses_.Count("unterminated events, extended to the end of the trace",
                      [&] { return std::string(builder_.text(mark.name).substr(0, 80)); });
        Add(mark, last_time_ - mark.time);
      }
    }
  }

  void TakeExtra(const std::vector<uint64_t>& tracks, const std::vector<double>& values,
                 int64_t time, std::string_view bytes) {
    if (values.size() > tracks.size()) Leave("counter values without a track", bytes);
    for (size_t i = 0; i < std::min(tracks.size(), values.size()); ++i)
      TakeSample(tracks_.IndexOf(tracks[i]), values[i], time, bytes);
  }

  void TakeSample(size_t index, double value, int64_t time, std::string_view bytes) {
    const CounterId id = tracks_.CounterOf(index);
    PerfettoTrack& track = tracks_.at(index);
    if (track.counter) {
      value *= static_cast<double>(track.counter->unit_multiplier);
      if (track.counter->counts_on) value = track.counted += value;
    }
    if (!builder_.AddSample(id, time, value)) Leave("events with out-of-range timestamps", bytes);
  }

  const FileView& file_;
  const TraceRequest& request_;
  const bool sorts_;
  std::shared_ptr<Profile> profile_;
  std::shared_ptr<PerfettoBytes> bytes_;
  std::shared_ptr<PerfettoArguments> arguments_;
  EventStoreBuilder builder_;
  PerfettoTracks tracks_;
  PerfettoClocks clocks_;
  Losses losses_;
  std::unordered_map<uint32_t, Sequence> sequences_;
  std::vector<int64_t> last_times_;      // by track, of what begins or ends
  std::vector<std::vector<Mark>> open_;  // by track, the innermost last
  std::vector<Mark> marks_;              // to be sorted
  bool is_out_of_order_ = false;
  std::optional<int64_t> origin_ns_;
  int64_t last_time_ = 0;
};

// Whether the fields of a packet that can be read are stored as those of a TracePacket are; counts
// those that only one of those has.
bool BeginsAsPacket(std::string_view bytes, int& sure) {
  static constexpr uint32_t kVarints[] = {3, 8, 10, 13, 41, 42, 58, 79, 87, 98};
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    const bool is_varint = std::ranges::find(kVarints, field.number()) != std::end(kVarints);
    if ((field.tag & 7) != (is_varint ? 0u : 2u)) return false;
    sure += field.tag == AsVarint(packet::kTimestamp) || field.tag == AsVarint(packet::kSequence) ||
            field.tag == AsBytes(packet::kCompressed) || field.tag == AsBytes(packet::kTrack) ||
            field.tag == AsVarint(packet::kSequenceFlags);
  }
  return true;
}

}  // namespace

// A Trace has packets in field 1 and nothing else.
bool IsPerfettoTrace(std::string_view bytes) {
  constexpr int kPackets = 100;
  WireReader reader(bytes);
  WireField field;
  int sure = 0, packets = 0;
  for (; packets < kPackets && reader.Next(field); ++packets) {
    if (field.tag != AsBytes(1) || !BeginsAsPacket(field.bytes, sure)) return false;
  }
  if (packets > 0 || reader.ok() || !bytes.starts_with('\x0a')) return sure > 0;
  // The first packet that was cut off: its tag and length, then what is left of it.
  size_t i = 1;
  while (i < bytes.size() && (static_cast<uint8_t>(bytes[i]) & 0x80) != 0) ++i;
  return BeginsAsPacket(bytes.substr(std::min(i + 1, bytes.size())), sure) && sure > 0;
}

Result<std::shared_ptr<Profile>> ReadPerfettoTrace(const FileView& file,
                                                   const TraceRequest& request) {
  auto profile = PerfettoReader(file, request, false).Read();
  if (!profile || *profile != nullptr) return profile;
  return PerfettoReader(file, request, true).Read();
}

}  // namespace hloscope::profiler
