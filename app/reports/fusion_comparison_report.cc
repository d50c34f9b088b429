// Finding the module in both dumps, and what is told of it.
#include "app/reports/fusion_comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/dump_model.h"
#include "core/graph/labels.h"
#include "core/graph/overview.h"

namespace hloscope::app {
namespace {

using graph::FusionGroup;
using graph::Traffic;

Result<graph::ModuleOfDump> Find(const CompiledPlace& place, const Limits& limits) {
  graph::ModuleOfDump found;
  HLOSCOPE_ASSIGN_OR_RETURN(found.dump, dump::DumpModel::Open(place.dump, limits));
  const auto modules = found.dump->modules();
  const auto at = std::ranges::find_if(modules, [&](const dump::ModuleEntry& entry) {
    return entry.name == place.module && entry.id == place.id && entry.folder == place.folder &&
           entry.timestamp == place.timestamp;
  });
  if (at == modules.end())
    return InputError(fmt::format("{}: no module {} in this folder", place.dump, place.module));
  found.module = static_cast<int32_t>(at - modules.begin());
  return found;
}

std::string Names(const hlo::Module& module, const graph::KernelMap& map,
                  const std::vector<uint32_t>& kernels) {
  constexpr size_t kMax = 4;
  std::string text;
  for (size_t k = 0; k < std::min(kernels.size(), kMax); ++k) {
    text += text.empty() ? "" : ", ";
    text += module.name(map.kernels[kernels[k]].instruction);
  }
  if (kernels.size() > kMax) text += FormatText(" and {} more", kernels.size() - kMax);
  return text.empty() ? "nothing" : text;
}

std::string OperationsText(const hlo::Module& given, const FusionGroup& group) {
  if (group.operations.empty()) return "added by a compiler, of no operation of the module";
  return FormatText("{} ({})", Counted(group.operations.size(), "operation"),
                    given.name(group.operations.front()));
}

std::string Moved(const Traffic& traffic) {
  return FormatText("reads {}, writes {}", graph::BytesText(static_cast<int64_t>(traffic.read)),
                    graph::BytesText(static_cast<int64_t>(traffic.written)));
}

// "the first moves 1.25 times the bytes of the second", or where that is nearly as many how many
// more or less.
std::string RatioText(const Traffic& a, const Traffic& b) {
  constexpr double kMost = 1000;  // beyond, the figure tells nothing
  if (a.bytes() == b.bytes()) return "both move the same number of bytes";
  if (b.bytes() == 0) return "the second moves nothing";
  const double ratio = a.bytes() / b.bytes();
  if (ratio > kMost) return "the first moves more than 1000 times the bytes of the second";
  const std::string times = FormatText("{:.3g}", ratio);
  if (times != "1") return FormatText("the first moves {} times the bytes of the second", times);
  const double more = a.bytes() - b.bytes();
  return FormatText("the first moves {} {} than the second",
                    graph::BytesText(static_cast<int64_t>(std::abs(more))),
                    more > 0 ? "more" : "less");
}

void WriteTraffic(const Traffic& traffic, JsonWriter& json) {
  json.Field("bytes_read", traffic.read).Field("bytes_written", traffic.written);
}

void WriteSide(const hlo::Module& module, const graph::KernelMap& map,
               const std::vector<uint32_t>& kernels, const Traffic& traffic, JsonWriter& json) {
  json.BeginObject().Key("kernels").BeginArray();
  for (const uint32_t k : kernels) json.Value(module.name(map.kernels[k].instruction));
  json.EndArray();
  WriteTraffic(traffic, json);
  json.EndObject();
}

}  // namespace

Result<FusionReport> ReadFusionReport(const CompiledPlace& a, const CompiledPlace& b,
                                      const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const graph::ModuleOfDump of_a, Find(a, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(const graph::ModuleOfDump of_b, Find(b, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(graph::CompilationPair pair, graph::CompareCompilations(of_a, of_b));
  return FusionReport{.a = a.dump, .b = b.dump, .pair = std::move(pair)};
}

std::string FusionReportText(const FusionReport& report, size_t top) {
  const auto& [a, b, groups] = report.pair.comparison;
  std::string out = FormatText("{}: {}\n", report.pair.given->name(),
                               Counted(report.pair.given->instructions().size(), "instruction"));
  const auto tell = [&](const std::string& name, const graph::CompiledSide& side) {
    out += FormatText("  {}: {}, {}\n", name, graph::ToText(graph::CountLanes(side.map)),
                      Moved(side.all));
  };
  tell(report.a, a);
  tell(report.b, b);
  out += FormatText("  {}\n", RatioText(a.all, b.all));
  if (const int64_t once = a.counted_once + b.counted_once; once > 0) {
    out +=
        FormatText("  {} in loops or branches that run an unknown number of times: counted once\n",
                   Counted(once, "kernel"));
  }
  for (size_t k = 0; k < std::min(top, groups.size()); ++k) {
    const FusionGroup& group = groups[k];
    if (group.a.bytes() == group.b.bytes()) break;
    out += FormatText("  {}\n    {}: {}\n    {}: {}\n", OperationsText(*report.pair.given, group),
                      Names(*report.pair.compiled_a, a.map, group.kernels_a), Moved(group.a),
                      Names(*report.pair.compiled_b, b.map, group.kernels_b), Moved(group.b));
  }
  return out;
}

void WriteFusion(const FusionReport& report, JsonWriter& json) {
  const auto& [a, b, groups] = report.pair.comparison;
  const auto tell = [&](const char* key, const graph::CompiledSide& side) {
    json.Key(key).BeginObject();
    graph::WriteLanes(graph::CountLanes(side.map), json);
    WriteTraffic(side.all, json);
    json.EndObject();
  };
  tell("all_a", a);
  tell("all_b", b);
  json.Key("groups").BeginArray();
  for (const FusionGroup& group : groups) {
    json.BeginObject().Key("operations").BeginArray();
    for (const hlo::InstructionId id : group.operations) json.Value(report.pair.given->name(id));
    json.EndArray().Key("a");
    WriteSide(*report.pair.compiled_a, a.map, group.kernels_a, group.a, json);
    json.Key("b");
    WriteSide(*report.pair.compiled_b, b.map, group.kernels_b, group.b, json);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace hloscope::app
