// The planes, lines and events of an XSpace (.xplane.pb), read where they lie.

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "core/base/checked.h"
#include "core/hlo/proto/trace_modules.h"
#include "core/hlo/proto/wire_reader.h"
#include "profiler/event_store_builder.h"
#include "profiler/formats/losses.h"
#include "profiler/formats/xplane_metadata.h"
#include "profiler/profile.h"

namespace hloscope::profiler {
namespace {

using hlo::AsBytes;
using hlo::AsVarint;
using hlo::WireField;
using hlo::WireReader;

constexpr int64_t kPicosecondsPerNanosecond = 1000;

// Reads the stats of an event again when they are asked for. A place is the offset of its XEvent in
// the file.
class XPlaneArguments : public ArgumentSource {
 public:
  explicit XPlaneArguments(FileView file) : file_(std::move(file)) {}

  // Planes are added in the order they lie in the file.
  void AddPlane(uint64_t begin, IdTable<StatName> names) {
    planes_.push_back({begin, std::move(names)});
  }

  std::vector<Argument> Read(uint64_t where) const override {
    std::vector<Argument> arguments;
    // The field that holds the XEvent is read once more, for its length.
    WireReader reader(file_.bytes().substr(where));
    WireField event, field;
    if (!reader.Next(event)) return arguments;
    auto plane = std::ranges::upper_bound(planes_, where, {}, &Plane::begin);
    if (plane == planes_.begin()) return arguments;
    const IdTable<StatName>& names = std::prev(plane)->names;
    WireReader parts(event.bytes);
    while (parts.Next(field)) {
      if (field.tag == AsBytes(4)) arguments.push_back(ReadStat(field.bytes, names));
    }
    return arguments;
  }

 private:
  struct Plane {
    uint64_t begin;
    IdTable<StatName> names;
  };
  FileView file_;
  std::vector<Plane> planes_;
};

struct LineHead {
  std::string_view name, shown;
  int64_t timestamp_ns = 0, display_id = 0;
  bool has_events = false;
};

bool ReadLineHead(std::string_view line, LineHead& head) {
  WireReader reader(line);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(4)) head.has_events = true;
    if (field.tag == AsBytes(2)) head.name = field.bytes;
    if (field.tag == AsVarint(3)) head.timestamp_ns = field.AsInt64();
    if (field.tag == AsVarint(10)) head.display_id = field.AsInt64();
    if (field.tag == AsBytes(11)) head.shown = field.bytes;
  }
  return reader.ok();
}

// Whether it is a field of an XEvent, or may be one of a later version.
bool MayBeOfEvent(const WireField& field) {
  constexpr uint32_t kLast = 5, kLatest = 64;
  if (field.number() > kLast) return field.number() <= kLatest;
  return field.tag == (field.number() == 4 ? AsBytes(4) : AsVarint(field.number()));
}

class XSpaceReader {
 public:
  XSpaceReader(const FileView& file, const TraceRequest& request)
      : file_(file),
        request_(request),
        profile_(std::make_shared<Profile>(file, ProfileFormat::kXPlane)),
        arguments_(std::make_shared<XPlaneArguments>(file)) {}

  Result<std::shared_ptr<Profile>> Read() {
    ReadSpace();
    FindOrigin();
    builder_.set_arguments(arguments_);
    for (size_t p = 0; p < planes_.size(); ++p) {
      if (request_.stop.stop_requested()) break;
      ReadModules(plane_bytes_[p]);
      if (request_.only_modules) continue;
      HLOSCOPE_TRY(ReadLines(planes_[p]));
      arguments_->AddPlane(OffsetOf(plane_bytes_[p]), std::move(planes_[p].stat_names));
    }
    if (builder_.size() == 0 && builder_.sample_count() == 0 && is_cut_ && !request_.only_modules) {
      return InputError(file_.path() + ": truncated or invalid before the first event",
                        "copy the .xplane.pb again, and stop the trace before reading it");
    }
    std::ranges::stable_sort(profile_->modules, {}, &EmbeddedModule::program);
    HLOSCOPE_ASSIGN_OR_RETURN(profile_->store, builder_.Finish(request_.jobs, request_.stop));
    profile_->losses = losses_.Take();
    return profile_;
  }

 private:
  uint64_t OffsetOf(std::string_view part) const {
    return static_cast<uint64_t>(part.data() - file_.bytes().data());
  }

  void CountBreak(std::string_view what, std::string_view part) {
    is_cut_ = true;
    losses_.Count("corrupt parts, read up to the first error",
                  [&] { return std::string(what) + " at byte " + std::to_string(OffsetOf(part)); });
  }

  void ReadSpace() {
    WireReader reader(file_.bytes());
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(2)) profile_->errors.emplace_back(field.bytes);
      if (field.tag == AsBytes(3)) profile_->warnings.emplace_back(field.bytes);
      if (field.tag == AsBytes(4)) profile_->hosts.emplace_back(field.bytes);
      if (field.tag == AsBytes(1)) AddPlane(field.bytes);
    }
    if (!reader.ok()) CountCut();
  }

  void AddPlane(std::string_view bytes) {
    plane_bytes_.push_back(bytes);
    PlaneParts& plane = planes_.emplace_back();
    if (!ReadPlane(bytes, builder_, plane)) CountBreak("plane", bytes);
    for (const std::string_view part : plane.damaged) {
      losses_.Count("names that are damaged or missing",
                    [&] { return "at byte " + std::to_string(OffsetOf(part)); });
    }
  }

  // The names of events follow the events, so a plane that was cut off has none and is not read.
  void CountCut() {
    is_cut_ = true;
    losses_.Count("planes truncated at the end of the file", [&] {
      return "the file has " + std::to_string(file_.bytes().size()) + " bytes and ends inside one";
    });
  }

  // Time 0 is the earliest begin of a line that has events.
  void FindOrigin() {
    std::optional<int64_t> origin;
    for (const PlaneParts& plane : planes_) {
      for (std::string_view line : plane.lines) {
        LineHead head;
        ReadLineHead(line, head);
        if (head.has_events)
          origin = std::min(origin.value_or(head.timestamp_ns), head.timestamp_ns);
      }
    }
    origin_ns_ = origin.value_or(0);
    builder_.set_origin_ns(origin_ns_);
  }

  void ReadModules(std::string_view plane) {
    for (const hlo::TraceModule& module : hlo::ModulesOfPlane(plane)) {
      profile_->modules.push_back({.name = std::string(module.name),
                                   .program = module.program,
                                   .hlo_proto = module.hlo_proto});
    }
  }

  Status ReadLines(const PlaneParts& plane) {
    const bool is_device = plane.name.starts_with("/device:");
    std::vector<Argument> facts;
    for (std::string_view stat : plane.stats) facts.push_back(ReadStat(stat, plane.stat_names));
    if (plane.lines.empty() && facts.empty()) return {};
    // Devices come first.
    const uint32_t group = builder_.AddGroup(plane.name, is_device, is_device ? 0 : 1);
    builder_.SetFacts(group, std::move(facts));
    for (std::string_view line : plane.lines) {
      if (request_.stop.stop_requested()) return {};
      HLOSCOPE_TRY(ReadLine(line, plane, group, is_device));
    }
    return {};
  }

  Status ReadLine(std::string_view line, const PlaneParts& plane, uint32_t group, bool is_device) {
    LineHead head;
    if (!ReadLineHead(line, head)) CountBreak("line", line);
    if (!head.has_events) return {};
    std::optional<int64_t> begin = CheckedSub(head.timestamp_ns, origin_ns_);
    if (begin) begin = CheckedMul(*begin, kPicosecondsPerNanosecond);
    const LaneRole role = RoleOfLine(head.name, is_device);
    if (role == LaneRole::kCounters) {
      ReadCounters(line, plane, group, begin);
      return {};
    }
    const std::string_view name = head.shown.empty() ? head.name : head.shown;
    const LaneId lane = builder_.AddLane(group, name, role, head.display_id);
    WireReader reader(line);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(4)) HLOSCOPE_TRY(ReadEvent(field, plane, lane, begin));
    }
    return {};
  }

  // An event of the line of counters has their values as its stats.
  void ReadCounters(std::string_view line, const PlaneParts& plane, uint32_t group,
                    std::optional<int64_t> begin) {
    WireReader reader(line);
    WireField event, field;
    while (reader.Next(event)) {
      if (event.tag != AsBytes(4)) continue;
      int64_t metadata = 0, offset = 0;
      std::vector<Argument> values;
      WireReader parts(event.bytes);
      while (parts.Next(field)) {
        if (field.tag == AsVarint(1)) metadata = field.AsInt64();
        if (field.tag == AsVarint(2)) offset = field.AsInt64();
        if (field.tag == AsBytes(4)) values.push_back(ReadStat(field.bytes, plane.stat_names));
      }
      if (!parts.ok()) CountBreak("event", event.raw);
      const NameId name = NameOf(plane.events.Find(metadata));
      const std::optional<int64_t> time = begin ? CheckedAdd(*begin, offset) : std::nullopt;
      for (const Argument& value : values) AddSample(group, name, value, time, OffsetOf(event.raw));
    }
  }

  void AddSample(uint32_t group, NameId name, const Argument& value, std::optional<int64_t> time,
                 uint64_t where) {
    const std::optional<double> number = NumberOf(value);
    if (!number) {
      return losses_.Count("non-numeric counter values",
                           [&] { return "at byte " + std::to_string(where); });
    }
    std::string text(builder_.text(name));
    if (value.name != "value") text.append(" ").append(value.name);
    auto [entry, is_new] = counters_.try_emplace({group, text});
    if (is_new) entry->second = builder_.AddCounter(group, text, "");
    Status added = InputError("its time is out of range");
    if (time) added = builder_.AddSample(entry->second, *time, *number);
    if (added) return;
    losses_.Count("events with out-of-range timestamps",
                  [&] { return added.error().message + ", at byte " + std::to_string(where); });
  }

  Status ReadEvent(const WireField& event, const PlaneParts& plane, LaneId lane,
                   std::optional<int64_t> begin) {
    int64_t metadata = 0, offset = 0, duration = 0;
    bool is_aggregate = false;
    WireReader reader(event.bytes);
    WireField field;
    bool has_stats = false, is_odd = false;
    while (reader.Next(field)) {
      is_odd |= !MayBeOfEvent(field);
      if (field.tag == AsVarint(1)) metadata = field.AsInt64();
      if (field.tag == AsVarint(2)) offset = field.AsInt64();
      if (field.tag == AsVarint(3)) duration = field.AsInt64();
      if (field.tag == AsVarint(5)) is_aggregate = true;
      has_stats |= field.tag == AsBytes(4);
    }
    if (!reader.ok()) CountBreak("event", event.raw);
    if (is_odd) {
      losses_.Count("events with fields that no XEvent has, which may be damaged",
                    [&] { return "at byte " + std::to_string(OffsetOf(event.raw)); });
    }
    if (is_aggregate) {
      losses_.Count("aggregated events, which have no timestamp",
                    [&] { return "at byte " + std::to_string(OffsetOf(event.raw)); });
      return {};
    }
    const EventName* name = plane.events.Find(metadata);
    StatedOperation stated = name == nullptr ? StatedOperation{} : name->stated;
    if (has_stats) ReadEventStats(event.bytes, plane, stated);
    const std::optional<int64_t> start = begin ? CheckedAdd(*begin, offset) : std::nullopt;
    const OperationId operation = OperationOf(stated);
    const uint64_t where = OffsetOf(event.raw);
    Status added = InputError("its time is out of range");
    if (start) added = builder_.Add(lane, *start, duration, NameOf(name), operation, where);
    if (!added) {
      losses_.Count("events with out-of-range timestamps",
                    [&] { return added.error().message + ", at byte " + std::to_string(where); });
    }
    return {};
  }

  void ReadEventStats(std::string_view event, const PlaneParts& plane, StatedOperation& stated) {
    WireReader reader(event);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag != AsBytes(4) || ReadStated(field.bytes, plane, builder_, stated)) continue;
      losses_.Count("names that are damaged or missing",
                    [&] { return "at byte " + std::to_string(OffsetOf(field.bytes)); });
    }
  }

  NameId NameOf(const EventName* name) {
    if (name != nullptr) return name->name;
    losses_.Count("events without a name in the tables of their plane",
                  [] { return std::string("shown as (unnamed)"); });
    return builder_.Name("(unnamed)");
  }

  OperationId OperationOf(const StatedOperation& stated) {
    if (!stated.name.valid()) return {};
    const Operation operation{stated.module, stated.name, stated.program};
    if (last_operation_.valid() && operation == last_) return last_operation_;
    last_ = operation;
    last_operation_ = builder_.AddOperation(operation);
    return last_operation_;
  }

  const FileView& file_;
  const TraceRequest& request_;
  std::shared_ptr<Profile> profile_;
  std::shared_ptr<XPlaneArguments> arguments_;
  EventStoreBuilder builder_;
  Losses losses_;
  std::vector<PlaneParts> planes_;
  std::vector<std::string_view> plane_bytes_;
  int64_t origin_ns_ = 0;
  bool is_cut_ = false;
  Operation last_;
  OperationId last_operation_;
  std::map<std::pair<uint32_t, std::string>, CounterId> counters_;
};

// Whether all fields that can be read are those of an XPlane; the last may be cut off.
bool BeginsAsPlane(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  bool has_name = false;
  while (reader.Next(field)) {
    if (field.number() > 6 || (field.tag & 7) != (field.number() == 1 ? 0u : 2u)) return false;
    has_name |= field.tag == AsBytes(2);
  }
  return has_name;
}

// What follows the tag of field 1 and its length; empty if the bytes do not begin so.
std::string_view WithoutLength(std::string_view bytes) {
  if (!bytes.starts_with('\x0a')) return {};
  size_t i = 1;
  while (i < bytes.size() && (static_cast<uint8_t>(bytes[i]) & 0x80) != 0) ++i;
  return bytes.substr(std::min(i + 1, bytes.size()));
}

}  // namespace

// An XSpace has messages and texts of the fields 1 to 4 only; an XPlane is told from an
// HloModuleProto, which begins with its name in field 1, by the wire types of its fields.
bool IsXSpace(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  bool has_plane = false;
  while (reader.Next(field)) {
    if ((field.tag & 7) != 2 || field.number() > 4) return false;
    if (field.number() != 1) continue;
    if (!BeginsAsPlane(field.bytes)) return false;
    has_plane = true;
  }
  if (reader.ok()) return has_plane;
  // The plane that was cut off: its tag and length, then what is left of it.
  std::string_view rest = has_plane ? std::string_view() : WithoutLength(bytes);
  return has_plane || (!rest.empty() && BeginsAsPlane(rest));
}

Result<std::shared_ptr<Profile>> ReadXSpace(const FileView& file, const TraceRequest& request) {
  return XSpaceReader(file, request).Read();
}

}  // namespace hloscope::profiler
