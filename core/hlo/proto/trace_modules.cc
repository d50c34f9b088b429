#include "core/hlo/proto/trace_modules.h"

#include <set>

#include "core/hlo/proto/wire_reader.h"

namespace hloscope::hlo {
namespace {

template <typename Visit>
void EachWireField(std::string_view message, Visit visit) {
  WireReader reader(message);
  for (WireField field; reader.Next(field);) visit(field);
}

struct MapEntry {
  int64_t id = 0;
  std::string_view value;
};
MapEntry MapEntryOf(std::string_view bytes) {
  MapEntry entry;
  EachWireField(bytes, [&](const WireField& field) {
    if (field.tag == AsVarint(1)) entry.id = field.AsInt64();
    if (field.tag == AsBytes(2)) entry.value = field.bytes;
  });
  return entry;
}

// Of a plane, an event's metadata and a stat's metadata.
std::string_view NameIn(std::string_view message) {
  std::string_view name;
  EachWireField(message, [&](const WireField& field) {
    if (field.tag == AsBytes(2)) name = field.bytes;
  });
  return name;
}

// Ids of the stats that are wanted.
struct StatIds {
  std::set<int64_t> modules, programs;
};
StatIds StatIdsOf(std::string_view plane) {
  StatIds ids;
  EachWireField(plane, [&](const WireField& field) {
    if (field.tag != AsBytes(5)) return;
    const MapEntry entry = MapEntryOf(field.bytes);
    const std::string_view name = NameIn(entry.value);
    if (name == kModuleStat || name == "HLO Proto") ids.modules.insert(entry.id);
    if (name == kProgramStat) ids.programs.insert(entry.id);
  });
  return ids;
}

void TakeStat(std::string_view stat, const StatIds& ids, TraceModule& module) {
  int64_t id = 0, program = -1;
  std::string_view bytes;
  EachWireField(stat, [&](const WireField& field) {
    if (field.tag == AsVarint(1)) id = field.AsInt64();
    if (field.tag == AsVarint(3) || field.tag == AsVarint(4)) program = field.AsInt64();
    if (field.tag == AsBytes(6)) bytes = field.bytes;
  });
  if (ids.modules.contains(id)) module.hlo_proto = bytes;
  if (ids.programs.contains(id)) module.program = program;
}

}  // namespace

std::vector<TraceModule> ModulesOfPlane(std::string_view plane) {
  std::vector<TraceModule> modules;
  if (NameIn(plane) != kModulePlane) return modules;
  const StatIds ids = StatIdsOf(plane);
  EachWireField(plane, [&](const WireField& field) {
    if (field.tag != AsBytes(4)) return;
    const MapEntry entry = MapEntryOf(field.bytes);
    TraceModule module;
    EachWireField(entry.value, [&](const WireField& part) {
      if (part.tag == AsBytes(2)) module.name = part.bytes;
      if (part.tag == AsBytes(5)) TakeStat(part.bytes, ids, module);
    });
    if (module.program < 0) module.program = entry.id;
    if (!module.hlo_proto.empty()) modules.push_back(module);
  });
  return modules;
}

}  // namespace hloscope::hlo
