// A profile as an XSpace, as xprof opens it: planes, lines, names of events and stats beside them,
// modules in /host:metadata. One plane is in memory at a time.
#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "core/base/checked.h"
#include "core/hlo/proto/trace_modules.h"
#include "core/hlo/proto/wire_writer.h"
#include "profiler/formats/export.h"
#include "profiler/formats/output_stream.h"
#include "profiler/numbered_texts.h"

namespace hloscope::profiler {
namespace {

using hlo::WireWriter;

constexpr int64_t kPicosecondsPerNano = 1000;

// A stat as field `number` of the message that is open. Names of modules and instructions, which
// stand at many events, refer to the table.
void WriteStat(WireWriter& out, uint32_t number, const Argument& argument, NumberedTexts& names) {
  const auto stat = out.Open(number);
  out.Int(1, names.NumberOf(argument.name));
  if (const auto* text = std::get_if<std::string>(&argument.value)) {
    const bool is_shared = argument.name == "hlo_op" || argument.name == "hlo_module";
    is_shared ? out.Int(7, names.NumberOf(*text)) : out.Bytes(5, *text);
  } else if (const auto* real = std::get_if<double>(&argument.value)) {
    out.Double(2, *real);
  } else if (const auto* integer = std::get_if<int64_t>(&argument.value)) {
    out.Int(4, *integer);
  } else {
    out.Varint(3, std::get<uint64_t>(argument.value));
  }
  out.Close(stat);
}

class XSpaceWriter {
 public:
  XSpaceWriter(const WriteRequest& request, OutputStream& file)
      : profile_(request.profile), store_(*request.profile.store), file_(file) {
    // Offsets are written from here; those of events before the origin would be negative.
    const int64_t before = std::min<int64_t>(store_.range().begin, 0);
    shift_ns_ = (before - (kPicosecondsPerNano - 1)) / kPicosecondsPerNano;
    const auto begin = CheckedAdd(store_.origin_ns(), shift_ns_);
    line_begin_ns_ = begin.value_or(0);
    if (begin) return;
    losses_.Count("clock origins that cannot be written, moved to 0",
                  [&] { return std::to_string(store_.origin_ns()) + " ns"; });
  }

  Result<std::vector<Loss>> Write() {
    HLOSCOPE_TRY(WriteModules());
    for (uint32_t g = 0; g < store_.groups().size(); ++g) HLOSCOPE_TRY(WritePlane(g));
    WireWriter texts;
    for (const std::string& text : profile_.errors) texts.Bytes(2, text);
    for (const std::string& text : profile_.warnings) texts.Bytes(3, text);
    for (const std::string& text : profile_.hosts) texts.Bytes(4, text);
    file_.buffer() += texts.bytes();
    CountLostParts(profile_, {ProfilePart::kEnvironment, ProfilePart::kUnits}, losses_);
    CountLostRoles(store_, losses_);
    HLOSCOPE_TRY(file_.Finish());
    return losses_.Take();
  }

 private:
  Status Append(const WireWriter& plane) {
    WireWriter field;
    field.Bytes(1, plane.bytes());
    file_.buffer() += field.bytes();
    return file_.Drain();
  }

  Status WriteModules() {
    WireWriter plane;
    NumberedTexts names;
    std::set<int64_t> used;
    plane.Bytes(2, hlo::kModulePlane);
    for (const EmbeddedModule& module : profile_.modules) {
      if (module.hlo_proto.empty()) {
        losses_.Count("modules that are not an HloProto", [&] { return module.name; });
        continue;
      }
      int64_t id = std::max<int64_t>(module.program, 1);
      while (!used.insert(id).second) id = id == std::numeric_limits<int64_t>::max() ? 1 : id + 1;
      const auto entry = plane.Open(4);
      plane.Int(1, id);
      const auto metadata = plane.Open(2);
      plane.Int(1, id);
      plane.Bytes(2, module.name);
      if (module.program >= 0)
        WriteStat(plane, 5, {std::string(hlo::kProgramStat), module.program}, names);
      const auto stat = plane.Open(5);
      plane.Int(1, names.NumberOf(hlo::kModuleStat));
      plane.Bytes(6, module.hlo_proto);
      plane.Close(stat);
      plane.Close(metadata);
      plane.Close(entry);
    }
    if (used.empty()) return {};
    names.Write(plane, 5);
    return Append(plane);
  }

  Status WritePlane(uint32_t g) {
    const Group& group = store_.groups()[g];
    const std::string_view name = store_.text(group.name);
    if (group.is_device != name.starts_with("/device:")) {
      losses_.Count("device planes whose name is not /device:…, and the reverse",
                    [&] { return std::string(name); });
    }
    WireWriter plane;
    NumberedTexts stats;
    event_ids_.clear();
    plane.Int(1, g + 1);
    plane.Bytes(2, name);
    for (size_t l = 0; l < group.lanes.size(); ++l) WriteLine(group.lanes[l], l, plane, stats);
    WriteCounters(g, group.lanes.size(), plane, stats);
    for (const Argument& fact : group.facts) WriteStat(plane, 6, fact, stats);
    WriteEventNames(plane);
    stats.Write(plane, 5);
    return Append(plane);
  }

  void BeginLine(std::string_view name, size_t place, WireWriter& plane) const {
    plane.Varint(1, place + 1);
    plane.Bytes(2, name);
    plane.Int(3, line_begin_ns_);
    plane.Varint(10, place + 1);
  }

  void WriteLine(LaneId id, size_t place, WireWriter& plane, NumberedTexts& stats) {
    const Lane& lane = store_.lanes()[id.index];
    if (lane.event_count == 0) {
      losses_.Count("lanes without events", [&] { return std::string(store_.text(lane.name)); });
      return;
    }
    const auto line = plane.Open(3);
    BeginLine(store_.text(lane.name), place, plane);
    for (uint32_t i = 0; i < lane.event_count; ++i) {
      const EventId e(lane.first_event + i);
      const auto event = plane.Open(4);
      plane.Int(1, EventIdOf(store_.name(e)));
      plane.Int(2, store_.start(e) - shift_ns_ * kPicosecondsPerNano);
      plane.Int(3, store_.duration(e));
      for (const Argument& argument : ArgumentsToWrite(store_, e))
        WriteStat(plane, 4, argument, stats);
      plane.Close(event);
    }
    plane.Close(line);
  }

  void WriteCounters(uint32_t g, size_t place, WireWriter& plane, NumberedTexts& stats) {
    const bool has_any = std::ranges::any_of(
        store_.counters(), [&](const Counter& c) { return c.group == g && c.sample_count > 0; });
    if (!has_any) return;
    const auto line = plane.Open(3);
    BeginLine("_counters_", place, plane);
    for (const Counter& counter : store_.counters()) {
      if (counter.group != g) continue;
      for (uint32_t i = 0; i < counter.sample_count; ++i) {
        const auto event = plane.Open(4);
        plane.Int(1, EventIdOf(counter.name));
        plane.Int(2, store_.times(counter)[i] - shift_ns_ * kPicosecondsPerNano);
        WriteStat(plane, 4, {"value", store_.values(counter)[i]}, stats);
        plane.Close(event);
      }
    }
    plane.Close(line);
  }

  // Names of the events of a plane, numbered from 1 on.
  int64_t EventIdOf(NameId name) {
    if (event_ids_.empty()) {
      event_ids_.resize(store_.name_count(), 0);
      event_names_.clear();
    }
    int64_t& id = event_ids_[name.index];
    if (id == 0) {
      event_names_.push_back(name);
      id = static_cast<int64_t>(event_names_.size());
    }
    return id;
  }

  void WriteEventNames(WireWriter& plane) const {
    if (event_ids_.empty()) return;
    for (size_t i = 0; i < event_names_.size(); ++i) {
      const auto entry = plane.Open(4);
      plane.Varint(1, i + 1);
      const auto metadata = plane.Open(2);
      plane.Varint(1, i + 1);
      plane.Bytes(2, store_.text(event_names_[i]));
      plane.Close(metadata);
      plane.Close(entry);
    }
  }

  const Profile& profile_;
  const EventStore& store_;
  OutputStream& file_;
  Losses losses_;
  int64_t shift_ns_ = 0;
  int64_t line_begin_ns_ = 0;
  std::vector<int64_t> event_ids_;  // by name; 0: not in this plane
  std::vector<NameId> event_names_;
};

}  // namespace

Result<std::vector<Loss>> WriteXSpace(const WriteRequest& request) {
  HLOSCOPE_ASSIGN_OR_RETURN(OutputStream file, OutputStream::Create(request.path));
  return XSpaceWriter(request, file).Write();
}

}  // namespace hloscope::profiler
