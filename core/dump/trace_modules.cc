// Field numbers: profiler/xplane.proto.
#include "core/dump/trace_modules.h"

#include <set>
#include <utility>

#include "core/hlo/proto/wire_reader.h"

namespace hloscope::dump {
namespace {

using hlo::AsBytes;
using hlo::AsVarint;
using hlo::WireField;
using hlo::WireReader;

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

std::string_view MetadataName(std::string_view metadata) {
  std::string_view name;
  EachWireField(metadata, [&](const WireField& field) {
    if (field.tag == AsBytes(2)) name = field.bytes;
  });
  return name;
}

class TraceModules {
 public:
  TraceModules(std::string_view bytes, const Limits& limits) : bytes_(bytes), limits_(limits) {}

  ModuleParts Find() {
    WireReader reader(bytes_);
    for (WireField field; reader.Next(field);) {
      // An XSpace has planes and texts only.
      if ((field.tag & 7) != 2 || field.number() > 4) return {};
      if (field.number() == 1 && MetadataName(field.bytes) == "/host:metadata") Plane(field.bytes);
    }
    SetSelectors(found_.parts);
    return std::move(found_);
  }

 private:
  void Plane(std::string_view plane) {
    std::set<int64_t> stats;  // that carry a module
    EachWireField(plane, [&](const WireField& field) {
      if (field.tag != AsBytes(5)) return;
      const MapEntry entry = MapEntryOf(field.bytes);
      const std::string_view name = MetadataName(entry.value);
      if (name == "Hlo Proto" || name == "HLO Proto") stats.insert(entry.id);
    });
    EachWireField(plane, [&](const WireField& field) {
      if (field.tag != AsBytes(4)) return;
      const std::string_view metadata = MapEntryOf(field.bytes).value;
      EachWireField(metadata, [&](const WireField& inner) {
        if (inner.tag == AsBytes(5)) Stat(inner.bytes, stats, MetadataName(metadata));
      });
    });
  }

  void Stat(std::string_view stat, const std::set<int64_t>& stats, std::string_view name) {
    int64_t id = 0;
    std::string_view module;
    EachWireField(stat, [&](const WireField& field) {
      if (field.tag == AsVarint(1)) id = field.AsInt64();
      if (field.tag == AsBytes(6)) module = field.bytes;
    });
    if (!stats.contains(id) || module.empty()) return;
    if (std::cmp_greater_equal(found_.parts.size(), limits_.archive_members)) {
      ++found_.left_out;
      return;
    }
    ModulePart part;
    part.begin = static_cast<size_t>(module.data() - bytes_.data());
    part.end = part.begin + module.size();
    part.kind = FileKind::kHloProto;
    part.name = name.substr(0, name.find('('));  // "jit_f(31)", of the program 31
    found_.parts.push_back(std::move(part));
  }

  std::string_view bytes_;
  const Limits& limits_;
  ModuleParts found_;
};

}  // namespace

ModuleParts ModulesOfTrace(std::string_view bytes, const Limits& limits) {
  return TraceModules(bytes, limits).Find();
}

}  // namespace hloscope::dump
