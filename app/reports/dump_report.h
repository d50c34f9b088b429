// What `info` says about a dump directory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/reports/report_parts.h"
#include "core/analysis/place/placement.h"
#include "core/analysis/programs/dump_programs.h"
#include "core/debug/recompile/recompilation.h"
#include "core/dump/dump_summary.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/tensorflow/tensorflow_graph.h"
#include "core/graph/overview.h"

namespace hloscope::app {

struct DumpReport {
  std::shared_ptr<const dump::DumpModel> model;
  dump::DumpSummary summary;
  // The compiled form of each module, null where it cannot be read or its part was known, and where
  // its parts run.
  std::vector<std::shared_ptr<const hlo::Module>> compiled;
  std::vector<analysis::Placement> placements;
  std::vector<graph::Overview> overviews;
  // By module and stage, nullopt where it cannot be read; only for JSON, of modules that were read.
  std::vector<std::vector<std::optional<analysis::ReadProgram>>> programs;
  std::vector<ModulePart> parts;  // of each module
  debug::Recompilations recompilations;
  int32_t only = -1;  // the one module that was asked for; -1: all
};

enum class ReportForm : uint8_t { kText, kJson };

// Reads what the report needs; of modules that `known` (or null) has nothing. What may be known
// next time is put into `next` unless it is null; `listing` is of the folder, and moved from.
// Of `only_module`, unless it is empty, the name or id of one module, which alone is told of.
// Errors: as DumpModel::Open and dump::Summarize.
Result<DumpReport> MakeDumpReport(const std::string& path, const Limits& limits,
                                  const dump::OpenOptions& options, ReportForm form,
                                  const ReportParts* known = nullptr, ReportParts* next = nullptr,
                                  const std::string& only_module = "");

// For people: all of it, and a line for each of the first modules with what is said of the dump as
// a whole; and as one JSON object with a line end.
// Of more than kMaxModulesInFull modules, or where it is asked for, a table of them.
inline constexpr size_t kMaxModulesInFull = 50;
struct ModuleTableOptions {
  size_t top = 20;  // lines; 0: all
  std::string sort = "memory";
  bool is_asked = false;
};
std::string DumpText(const DumpReport& report, const ModuleTableOptions& table = {});
std::vector<std::string> ModuleTableOrders();
std::string ModuleTable(const DumpReport& report, const ModuleTableOptions& options);
std::string DumpOverviewText(const DumpReport& report);
std::string DumpJson(const DumpReport& report);
// What they say of one module, which has been read.
ModulePart TextPart(const DumpReport& report, size_t module);
ModulePart JsonPart(const DumpReport& report, size_t module);

// Lines of TensorFlow's nodes that are in no cluster, by reason, with the fix.
std::string OutsideText(const std::vector<dump::TensorFlowNode>& nodes);
// What TensorFlow's devices are, a line each.
std::string DevicesText(const std::vector<std::string>& devices);

// A graph of TensorFlow that was opened alone. What other graphs of its dump say is not known, so
// that nothing is said of auto-clustering as a whole.
struct LoneGraph {
  std::string path;
  dump::FileKind kind;
  int64_t bytes = 0;  // of the file
  const dump::TensorFlowGraph& graph;
  const dump::TensorFlowSummary& summary;
};
std::string GraphText(const LoneGraph& lone);
std::string GraphJson(const LoneGraph& lone);  // one object with a line end

// The name of a module without the attributes that TensorFlow puts behind it:
// "a_inference_step_17__Xla…". JSON has them.
std::string ShownName(const std::string& name);

// "12 B", "34.5 kB", "1.2 MB".
std::string BytesText(int64_t bytes);

}  // namespace hloscope::app
