#include "profiler/formats/xplane_metadata.h"

#include "core/base/text.h"
#include "core/hlo/proto/trace_modules.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::profiler {
namespace {

using hlo::AsBytes;
using hlo::AsFixed64;
using hlo::AsVarint;
using hlo::WireField;
using hlo::WireReader;

StatRole RoleOf(std::string_view name) {
  if (name == "hlo_op") return StatRole::kOperation;
  if (name == "hlo_module") return StatRole::kModule;
  if (name == hlo::kProgramStat) return StatRole::kProgram;
  return StatRole::kOther;
}

struct MapEntry {
  int64_t key = 0;
  std::string_view value;
};

bool ReadEntry(std::string_view bytes, MapEntry& entry) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(1)) entry.key = field.AsInt64();
    if (field.tag == AsBytes(2)) entry.value = field.bytes;
  }
  return reader.ok();
}

// The name of an XEventMetadata; the one to be shown, where there is none.
std::string_view NameOf(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  std::string_view name, shown;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(2)) name = field.bytes;
    if (field.tag == AsBytes(4)) shown = field.bytes;
  }
  return name.empty() ? shown : name;
}

bool ReadStatName(std::string_view bytes, PlaneParts& plane) {
  MapEntry entry;
  if (!ReadEntry(bytes, entry)) return false;
  if (entry.value.empty()) plane.damaged.push_back(bytes);
  WireReader reader(entry.value);
  WireField field;
  StatName& stat = plane.stat_names.Insert(entry.key);
  while (reader.Next(field)) {
    if (field.tag == AsBytes(2)) stat.name = field.bytes;
  }
  if (!IsUtf8(stat.name)) plane.damaged.push_back(stat.name);
  stat.role = RoleOf(stat.name);
  return reader.ok();
}

// Stats that hold for all events of a name; false as ReadStated.
bool ReadCommonStats(const PlaneParts& plane, EventStoreBuilder& builder, EventName& event) {
  WireReader reader(event.bytes);
  WireField field;
  bool sound = true;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(5)) sound &= ReadStated(field.bytes, plane, builder, event.stated);
  }
  return sound;
}

}  // namespace

bool ReadPlane(std::string_view bytes, EventStoreBuilder& builder, PlaneParts& plane) {
  WireReader reader(bytes);
  WireField field;
  bool sound = true;
  while (reader.Next(field)) {
    MapEntry entry;
    switch (field.tag) {
      case AsBytes(2):
        plane.name = field.bytes;
        break;
      case AsBytes(3):
        plane.lines.push_back(field.bytes);
        break;
      case AsBytes(4): {
        sound &= ReadEntry(field.bytes, entry);
        EventName& event = plane.events.Insert(entry.key);
        event.bytes = entry.value;
        if (entry.value.empty()) plane.damaged.push_back(field.bytes);
        const std::string_view name = NameOf(entry.value);
        event.name = builder.Name(name);
        if (!IsUtf8(name)) plane.damaged.push_back(name);
        break;
      }
      case AsBytes(5):
        sound &= ReadStatName(field.bytes, plane);
        break;
      case AsBytes(6):
        plane.stats.push_back(field.bytes);
        break;
      default:
        break;
    }
  }
  plane.events.ForEach([&](int64_t, EventName& event) {
    if (!ReadCommonStats(plane, builder, event)) plane.damaged.push_back(event.bytes);
  });
  return reader.ok() && sound;
}

bool ReadStated(std::string_view stat, const PlaneParts& plane, EventStoreBuilder& builder,
                StatedOperation& stated) {
  WireReader reader(stat);
  WireField field;
  StatRole role = StatRole::kOther;
  bool sound = true;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(1)) {
      const StatName* name = plane.stat_names.Find(field.AsInt64());
      if (name == nullptr || name->role == StatRole::kOther) return name != nullptr;
      role = name->role;
      continue;
    }
    std::string_view text;
    if (field.tag == AsBytes(5)) text = field.bytes;
    if (field.tag == AsVarint(7)) {
      const StatName* referred = plane.stat_names.Find(field.AsInt64());
      if (referred != nullptr) text = referred->name;
      sound &= referred != nullptr;
    }
    const bool is_number = field.tag == AsVarint(3) || field.tag == AsVarint(4);
    if (role == StatRole::kProgram && is_number) stated.program = field.AsInt64();
    if (role == StatRole::kOperation && !text.empty()) stated.name = builder.Name(text);
    if (role == StatRole::kModule && !text.empty()) stated.module = builder.Name(text);
  }
  return sound;
}

Argument ReadStat(std::string_view stat, const IdTable<StatName>& names) {
  Argument argument;
  WireReader reader(stat);
  WireField field;
  while (reader.Next(field)) {
    switch (field.tag) {
      case AsVarint(1): {
        const StatName* name = names.Find(field.AsInt64());
        argument.name =
            name != nullptr ? std::string(name->name) : "stat " + std::to_string(field.AsInt64());
        break;
      }
      case AsFixed64(2):
        argument.value = hlo::DoubleFromBits(field.value);
        break;
      case AsVarint(3):
        argument.value = field.value;
        break;
      case AsVarint(4):
        argument.value = field.AsInt64();
        break;
      case AsBytes(5):
        argument.value = std::string(field.bytes);
        break;
      case AsBytes(6):
        argument.value = std::to_string(field.bytes.size()) + " bytes";
        break;
      case AsVarint(7): {
        const StatName* name = names.Find(field.AsInt64());
        argument.value = name != nullptr ? std::string(name->name) : std::string();
        break;
      }
      default:
        break;
    }
  }
  return argument;
}

}  // namespace hloscope::profiler
