// `hloscope compare A B --memory`: the values that make the peaks of two compilations differ.
#include "core/analysis/memory/compare_memory.h"

#include <fmt/format.h>

#include "app/commands/compare_pairs.h"
#include "app/dump_place.h"
#include "app/output.h"
#include "app/reports/dump_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"

namespace hloscope::app {
namespace {

using analysis::MemoryComparison;
using analysis::MemoryDifference;
using analysis::MemoryHolder;
using analysis::MemoryReport;

struct ComparedMemory {
  MemoryReport a, b;
  MemoryComparison result;
};

std::string Signed(int64_t bytes) {
  return (bytes < 0 ? "-" : "+") + BytesText(bytes < 0 ? -bytes : bytes);
}

std::string HolderText(const std::optional<MemoryHolder>& holder) {
  if (!holder) return "none";
  return fmt::format("{} {} {}{}", BytesText(holder->bytes), holder->instruction, holder->shape,
                     holder->source.empty() ? "" : " at " + holder->source);
}

std::string PeakText(const MemoryReport& report, int64_t held) {
  return report.peak_bytes >= 0
             ? fmt::format("{} ({} in values)", BytesText(report.peak_bytes), BytesText(held))
             : BytesText(held) + " in its values";
}

std::string MemoryDifferencesText(const PairRequest& request,
                                  const std::vector<ComparedMemory>& modules,
                                  const std::vector<std::string>& notes) {
  std::string out = FormatText("A is {}, B is {}\n", request.a, request.b);
  for (const auto& [a, b, result] : modules) {
    out += FormatText("{}{}: {} in A, {} in B\n", a.module,
                      b.module == a.module ? "" : " and " + b.module, PeakText(a, result.bytes_a),
                      PeakText(b, result.bytes_b));
    if (result.differences.empty()) out += "  the same values\n";
    for (const MemoryDifference& one : result.differences) {
      out += FormatText("  {:>11}  A: {}\n               B: {}\n", Signed(one.bytes()),
                        HolderText(one.a), HolderText(one.b));
    }
    if (result.left_out > 0)
      out += FormatText("  {:>11}  {} more\n", Signed(result.left_out_bytes), result.left_out);
    for (const std::string& note : a.notes) out += FormatText("  note: A: {}\n", note);
    for (const std::string& note : b.notes) out += FormatText("  note: B: {}\n", note);
  }
  for (const std::string& note : notes) out += FormatText("note: {}\n", note);
  return out;
}

void WriteHolder(JsonWriter& json, const std::optional<MemoryHolder>& holder) {
  if (!holder) {
    json.Null();
    return;
  }
  json.BeginObject().Field("instruction", holder->instruction).Field("shape", holder->shape);
  json.Field("opcode", holder->opcode).Field("op_name", holder->op_name);
  json.Field("source", holder->source).Field("kind", holder->kind);
  json.Field("bytes", holder->bytes).EndObject();
}

std::string MemoryDifferencesJson(const PairRequest& request,
                                  const std::vector<ComparedMemory>& modules,
                                  const std::vector<std::string>& notes, bool differs) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("a", request.a).Field("b", request.b);
  json.Field("status", differs ? "differs" : "equal").Key("memory").BeginArray();
  for (const auto& [a, b, result] : modules) {
    json.BeginObject().Field("module", a.module).Field("module_b", b.module);
    for (const auto& [key, bytes] :
         {std::pair("peak_bytes", a.peak_bytes), std::pair("peak_bytes_b", b.peak_bytes)}) {
      json.Key(key);
      bytes < 0 ? json.Null() : json.Value(bytes);
    }
    json.Field("value_bytes", result.bytes_a).Field("value_bytes_b", result.bytes_b);
    json.Key("differences").BeginArray();
    for (const MemoryDifference& one : result.differences) {
      json.BeginObject().Field("bytes", one.bytes()).Key("a");
      WriteHolder(json, one.a);
      json.Key("b");
      WriteHolder(json, one.b);
      json.EndObject();
    }
    json.EndArray().Field("left_out", result.left_out);
    json.Field("left_out_bytes", result.left_out_bytes).Key("notes").BeginArray();
    for (const std::string& note : a.notes) json.Value("A: " + note);
    for (const std::string& note : b.notes) json.Value("B: " + note);
    json.EndArray().EndObject();
  }
  json.EndArray().Key("notes").BeginArray();
  for (const std::string& note : notes) json.Value(note);
  json.EndArray().EndObject();
  return out + "\n";
}

}  // namespace

Result<int> CompareMemory(const PairRequest& request, const Context& context) {
  HLOSCOPE_ASSIGN_OR_RETURN(const ModulePairs found, PairModules(request, context));
  std::vector<ComparedMemory> modules;
  std::vector<std::string> notes;
  for (const std::string& one : found.unpaired) notes.push_back(one + " has no counterpart");
  bool differs = false;
  for (const auto& [a, b] : found.pairs) {
    HLOSCOPE_ASSIGN_OR_RETURN(auto of_a, analysis::MemoryReportsOf(*found.a, a, false, SIZE_MAX));
    HLOSCOPE_ASSIGN_OR_RETURN(auto of_b, analysis::MemoryReportsOf(*found.b, b, false, SIZE_MAX));
    if (of_a.empty() || of_b.empty()) {
      notes.push_back(ModuleTitle(found.a->modules()[static_cast<size_t>(a)]) +
                      " is not compared: a side has no stage of it");
      continue;
    }
    MemoryComparison result = analysis::CompareMemory(of_a[0], of_b[0]);
    differs = differs || !result.differences.empty() || of_a[0].peak_bytes != of_b[0].peak_bytes;
    modules.push_back({std::move(of_a[0]), std::move(of_b[0]), std::move(result)});
  }
  context.json ? WriteOut(MemoryDifferencesJson(request, modules, notes, differs))
               : PrintOut(MemoryDifferencesText(request, modules, notes));
  return differs ? kDiffers : kGood;
}

}  // namespace hloscope::app
