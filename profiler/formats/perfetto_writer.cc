// A profile as a Perfetto trace: processes are groups, tracks are lanes. Events of a track must lie
// inside one another, so a lane whose events overlap is several tracks that Perfetto's window
// merges.
#include <algorithm>
#include <unordered_map>

#include "core/base/checked.h"
#include "core/hlo/proto/wire_writer.h"
#include "profiler/formats/export.h"
#include "profiler/formats/output_stream.h"
#include "profiler/formats/perfetto_packets.h"

namespace hloscope::profiler {
namespace {

namespace fields = perfetto;
using hlo::WireWriter;

// Numbers for texts that stand in many packets; a text goes into the packet that uses it first.
class Interning {
 public:
  // The number of a text; new ones are put aside as entries of field `number` of InternedData.
  uint64_t IdOf(std::string_view text, uint32_t number) {
    auto [entry, is_new] = ids_.try_emplace(std::string(text), ids_.size() + 1);
    if (is_new) {
      const auto message = new_.Open(number);
      new_.Varint(1, entry->second);
      new_.Bytes(2, text);
      new_.Close(message);
    }
    return entry->second;
  }
  std::string TakeNew() { return std::move(std::exchange(new_, {})).Take(); }
  bool has_new() const { return new_.size() > 0; }

 private:
  std::unordered_map<std::string, uint64_t> ids_;
  WireWriter new_;
};

class PerfettoWriter {
 public:
  PerfettoWriter(const WriteRequest& request, OutputStream& file)
      : profile_(request.profile), store_(*request.profile.store), file_(file) {}

  Result<std::vector<Loss>> Write() {
    FindOrigin();
    WriteFirstPacket();
    next_uuid_ = store_.groups().size() + 1;
    for (uint32_t g = 0; g < store_.groups().size(); ++g) {
      const Group& group = store_.groups()[g];
      WriteGroup(g);
      for (size_t l = 0; l < group.lanes.size(); ++l)
        HLOSCOPE_TRY(WriteLane(group.lanes[l], g, static_cast<int64_t>(l)));
    }
    for (const Counter& counter : store_.counters()) HLOSCOPE_TRY(WriteCounter(counter));
    CountLostParts(profile_,
                   {ProfilePart::kModules, ProfilePart::kEnvironment, ProfilePart::kMessages,
                    ProfilePart::kFacts},
                   losses_);
    HLOSCOPE_TRY(file_.Finish());
    return losses_.Take();
  }

 private:
  static constexpr uint32_t kSequence = 1;

  // Times are without a sign.
  void FindOrigin() {
    const int64_t begin = FloorNanoseconds(store_.range().begin);
    const auto first = CheckedAdd(store_.origin_ns(), begin);
    const auto last = CheckedAdd(store_.origin_ns(), FloorNanoseconds(store_.range().end));
    origin_ns_ = store_.origin_ns();
    if (first && *first >= 0 && last) return;
    origin_ns_ = -begin;
    losses_.Count("clock origins, moved so that no timestamp is negative or too large", [&] {
      return "from " + std::to_string(store_.origin_ns()) + " to " + std::to_string(origin_ns_) +
             " ns";
    });
  }
  static int64_t FloorNanoseconds(int64_t ps) { return ps / 1000 - (ps % 1000 < 0 ? 1 : 0); }
  uint64_t TimeOf(int64_t ps) {
    if (ps % 1000 != 0) {
      losses_.Count("timestamps rounded down to whole nanoseconds",
                    [&] { return std::to_string(ps) + " ps from the origin"; });
    }
    return static_cast<uint64_t>(origin_ns_ + FloorNanoseconds(ps));
  }

  // `fill` writes the fields of the packet.
  template <typename Fill>
  void Packet(Fill fill) {
    packet_ = WireWriter();
    const auto message = packet_.Open(1);
    packet_.Varint(fields::packet::kSequence, kSequence);
    fill();
    packet_.Close(message);
    file_.buffer() += packet_.bytes();
  }

  void WriteFirstPacket() {
    Packet([&] { packet_.Varint(fields::packet::kSequenceFlags, fields::packet::kFlagCleared); });
  }

  void WriteGroup(uint32_t g) {
    const Group& group = store_.groups()[g];
    const std::string_view name = store_.text(group.name);
    Packet([&] {
      const auto track = packet_.Open(fields::packet::kTrack);
      packet_.Varint(1, g + 1);
      const auto process = packet_.Open(3);
      packet_.Varint(1, g + 1);
      packet_.Varint(3, g);
      packet_.Bytes(6, name);
      if (group.is_device) packet_.Bytes(8, "device");
      packet_.Close(process);
      packet_.Varint(11, 3);  // tracks in the order of their ranks
      packet_.Close(track);
    });
    if (!group.is_device && name.starts_with("/device:")) {
      losses_.Count("groups that are named like devices but are not",
                    [&] { return std::string(name); });
    }
  }

  void WriteTrack(uint64_t uuid, uint32_t group, const Lane& lane, LaneId id, int64_t rank) {
    const std::string_view name = store_.text(lane.name);
    Packet([&] {
      const auto track = packet_.Open(fields::packet::kTrack);
      packet_.Varint(1, uuid);
      packet_.Bytes(2, name);
      packet_.Varint(5, group + 1);
      packet_.Int(12, rank);
      if (RoleOfLine(name, store_.groups()[group].is_device) != lane.role)
        packet_.Bytes(14, ToString(lane.role));
      packet_.Varint(15, 3);  // tracks of one key are shown as one
      packet_.Varint(17, uint64_t{id.index} + 1);
      packet_.Close(track);
    });
  }

  Status WriteLane(LaneId id, uint32_t group, int64_t rank) {
    const Lane& lane = store_.lanes()[id.index];
    if (lane.event_count == 0) {
      losses_.Count("lanes without events", [&] { return std::string(store_.text(lane.name)); });
      return {};
    }
    const Stacks stacks(store_, lane);
    const uint64_t first = next_uuid_;
    next_uuid_ += stacks.count();
    for (uint64_t uuid = first; uuid < next_uuid_; ++uuid) WriteTrack(uuid, group, lane, id, rank);
    std::vector<std::vector<int64_t>> open(stacks.count());  // ends, the innermost last
    auto end_before = [&](uint32_t stack, int64_t time) -> Status {
      while (!open[stack].empty() && open[stack].back() <= time) {
        WriteEnd(first + stack, open[stack].back());
        open[stack].pop_back();
        HLOSCOPE_TRY(file_.Drain());
      }
      return {};
    };
    for (const auto& [event, stack] : stacks.events()) {
      HLOSCOPE_TRY(end_before(stack, store_.start(event)));
      WriteBegin(first + stack, event);
      if (store_.duration(event) > 0) open[stack].push_back(store_.end(event));
      HLOSCOPE_TRY(file_.Drain());
    }
    for (uint32_t stack = 0; stack < stacks.count(); ++stack)
      HLOSCOPE_TRY(end_before(stack, std::numeric_limits<int64_t>::max()));
    return {};
  }

  void BeginEvent(int64_t time) {
    packet_.Varint(fields::packet::kTimestamp, TimeOf(time));
    packet_.Varint(fields::packet::kSequenceFlags, fields::packet::kFlagNeedsState);
  }

  void WriteEnd(uint64_t uuid, int64_t time) {
    Packet([&] {
      BeginEvent(time);
      const auto event = packet_.Open(fields::packet::kTrackEvent);
      packet_.Varint(fields::event::kType, fields::event::kEnd);
      packet_.Varint(fields::event::kTrack, uuid);
      packet_.Close(event);
    });
  }

  void WriteBegin(uint64_t uuid, EventId e) {
    Packet([&] {
      BeginEvent(store_.start(e));
      const auto event = packet_.Open(fields::packet::kTrackEvent);
      packet_.Varint(fields::event::kType,
                     store_.duration(e) > 0 ? fields::event::kBegin : fields::event::kInstant);
      packet_.Varint(fields::event::kTrack, uuid);
      packet_.Varint(fields::event::kNameId, event_names_.IdOf(store_.text(store_.name(e)), 2));
      for (const Argument& argument : ArgumentsToWrite(store_, e)) WriteAnnotation(argument);
      packet_.Close(event);
      WriteInterned();
    });
  }

  void WriteAnnotation(const Argument& argument) {
    const auto annotation = packet_.Open(fields::event::kAnnotation);
    packet_.Varint(1, annotation_names_.IdOf(argument.name, 3));
    if (const auto* text = std::get_if<std::string>(&argument.value)) {
      const bool is_shared = argument.name == "hlo_op" || argument.name == "hlo_module";
      is_shared ? packet_.Varint(17, texts_.IdOf(*text, 29)) : packet_.Bytes(6, *text);
    } else if (const auto* real = std::get_if<double>(&argument.value)) {
      packet_.Double(5, *real);
    } else if (const auto* integer = std::get_if<int64_t>(&argument.value)) {
      packet_.Int(4, *integer);
    } else {
      packet_.Varint(3, std::get<uint64_t>(argument.value));
    }
    packet_.Close(annotation);
  }

  void WriteInterned() {
    if (!event_names_.has_new() && !annotation_names_.has_new() && !texts_.has_new()) return;
    packet_.Bytes(fields::packet::kInternedData,
                  event_names_.TakeNew() + annotation_names_.TakeNew() + texts_.TakeNew());
  }

  Status WriteCounter(const Counter& counter) {
    const uint64_t uuid = next_uuid_++;
    const std::string_view unit = store_.text(counter.unit);
    Packet([&] {
      const auto track = packet_.Open(fields::packet::kTrack);
      packet_.Varint(1, uuid);
      packet_.Bytes(2, store_.text(counter.name));
      packet_.Varint(5, counter.group + 1);
      const auto described = packet_.Open(8);
      if (unit == "bytes") {
        packet_.Varint(3, 3);
      } else {
        packet_.BytesUnlessEmpty(6, unit);
      }
      packet_.Close(described);
      packet_.Close(track);
    });
    for (uint32_t i = 0; i < counter.sample_count; ++i) {
      Packet([&] {
        BeginEvent(store_.times(counter)[i]);
        const auto event = packet_.Open(fields::packet::kTrackEvent);
        packet_.Varint(fields::event::kType, fields::event::kCounter);
        packet_.Varint(fields::event::kTrack, uuid);
        packet_.Double(fields::event::kDoubleValue, store_.values(counter)[i]);
        packet_.Close(event);
      });
      HLOSCOPE_TRY(file_.Drain());
    }
    return {};
  }

  const Profile& profile_;
  const EventStore& store_;
  OutputStream& file_;
  WireWriter packet_;
  Losses losses_;
  Interning event_names_, annotation_names_, texts_;
  uint64_t next_uuid_ = 1;
  int64_t origin_ns_ = 0;
};

}  // namespace

Result<std::vector<Loss>> WritePerfettoTrace(const WriteRequest& request) {
  HLOSCOPE_ASSIGN_OR_RETURN(OutputStream file, OutputStream::Create(request.path));
  return PerfettoWriter(request, file).Write();
}

}  // namespace hloscope::profiler
