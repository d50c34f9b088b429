// A dump for people.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <span>

#include "app/reports/dump_report.h"
#include "app/reports/error_report.h"
#include "app/reports/recompilation_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/dump/errors/traceback.h"
#include "core/dump/logged_errors.h"
#include "core/dump/processes.h"
#include "core/dump/tensorflow/whole_advice.h"
#include "core/dump/tensorflow_borders.h"
#include "core/hlo/index_text.h"

namespace hloscope::app {
namespace {

using dump::DumpModel;

// Long lists are cut in the middle: how many of a list are shown at most.
constexpr size_t kShown = 12;
// Modules, missing files and warnings of a folder that holds thousands.
constexpr size_t kLongList = 100;

// The first of a list of texts.
std::string FirstOf(const std::vector<std::string>& texts, std::string_view what) {
  std::string out;
  for (const std::string& text : texts | std::views::take(kLongList)) out += text;
  if (texts.size() <= kLongList) return out;
  return out + FormatText("  and {} (--json lists all)\n", Counted(texts.size() - kLongList, what));
}

std::string ExtentText(const dump::Extent3& extent) {
  return FormatText("{}×{}×{}", extent[0], extent[1], extent[2]);
}

std::string KernelLine(const DumpModel& model, const dump::Kernel& kernel) {
  std::string out = FormatText("      {}", kernel.name);
  if (kernel.instruction.empty()) {
    out += FormatText(" ({})", kernel.note);
  } else if (kernel.instruction != kernel.name) {
    out += FormatText(" ← {}", kernel.instruction);
  }
  if (kernel.instructions.size() > 1)
    out += FormatText(" and {} more", kernel.instructions.size() - 1);
  if (kernel.launch.blocks) out += FormatText(", {} blocks", ExtentText(*kernel.launch.blocks));
  if (kernel.launch.threads) out += FormatText(", {} threads", ExtentText(*kernel.launch.threads));
  const dump::TextRange& code = kernel.ptx.found()    ? kernel.ptx
                                : kernel.llvm.found() ? kernel.llvm
                                                      : kernel.llvm_unoptimized;
  if (code.found()) {
    out +=
        FormatText(", {}:{}", model.files()[static_cast<size_t>(code.file)].path, code.first_line);
  }
  return out + "\n";
}

// The names of a module's stages are a column as wide as the longest.
size_t NameWidth(std::span<const dump::StageEntry> stages) {
  size_t width = 20;
  for (const dump::StageEntry& stage : stages) width = std::max(width, stage.name.size());
  return width;
}

std::string StageLine(const dump::StageEntry& stage, const dump::StageSummary& counts,
                      size_t width) {
  if (!counts.read) return FormatText("    {:<{}} unreadable\n", stage.name, width);
  const auto& [instructions, fusions] =
      std::pair(counts.counts.instructions, counts.counts.fusions);
  return FormatText("    {:<{}} {:>7} {:<12} {:>5} {}\n", stage.name, width, instructions,
                    VerbFor(instructions, "instruction", "instructions"), fusions,
                    VerbFor(fusions, "fusion", "fusions"));
}

std::string BuffersText(const dump::BufferTable& buffers) {
  if (buffers.source == dump::BufferSource::kNone) return {};
  if (!buffers.has_values())
    return FormatText("    memory: {} (memory usage report; no buffer assignment)\n",
                      BytesText(buffers.total_bytes));
  std::string out =
      FormatText("    memory: {} in {} ({} parameters, {} constants, {} temporary)\n",
                 BytesText(buffers.total_bytes), Counted(buffers.allocations.size(), "allocation"),
                 BytesText(buffers.parameter_bytes), BytesText(buffers.constant_bytes),
                 BytesText(buffers.temporary_bytes));
  if (buffers.live_peak_bytes < 0) return out;
  out += FormatText("    peak: {} live at once", BytesText(buffers.live_peak_bytes));
  constexpr size_t kHolders = 3;
  for (size_t k = 0; k < buffers.live_peak_values.size() && k < kHolders; ++k) {
    const auto& value = buffers.values[static_cast<size_t>(buffers.live_peak_values[k])];
    out += FormatText("{} {}{} {}", k == 0 ? ":" : ",", value.instruction,
                      value.shape_index.empty() ? "" : hlo::ShapeIndexText(value.shape_index),
                      BytesText(value.size));
  }
  return out + "\n";
}

std::string ThunksText(const dump::ThunkSequence& sequence) {
  if (sequence.thunks.empty()) return {};
  std::map<std::string, size_t> kinds;
  for (const dump::Thunk& thunk : sequence.thunks) {
    ++kinds[thunk.library.empty() ? thunk.kind : fmt::format("{} ({})", thunk.kind, thunk.library)];
  }
  std::string out = FormatText("    {}:", Counted(sequence.thunks.size(), "thunk"));
  std::string_view separator = " ";
  for (const auto& [kind, count] : kinds) {
    out += FormatText("{}{} {}", separator, count, kind);
    separator = ", ";
  }
  return out + "\n";
}

// Without the modules in texts with others, which are no files of their own.
size_t FilesOf(const DumpModel& model) {
  return static_cast<size_t>(std::ranges::count_if(
      model.files(), [](const dump::FileEntry& file) { return file.part.name.empty(); }));
}

std::string NumberText(const dump::ModuleEntry& module) {
  if (module.id < 0) return {};
  const std::string id = fmt::format("module_{:04}", module.id);
  return module.end_id < 0
             ? id + " "
             : fmt::format("{} (module_{:04} after optimization) ", id, module.end_id);
}

std::string ModuleText(const DumpModel& model, size_t m, const dump::ModuleSummary& module) {
  const dump::ModuleEntry& entry = model.modules()[m];
  std::string out =
      FormatText("  {}{} ({}{}{}{})\n", NumberText(entry), entry.name, entry.framework,
                 entry.device == "unknown" ? "" : ", " + entry.device,
                 entry.target.empty() ? "" : " " + entry.target, dump::ProcessText(entry));
  if (!entry.folder.empty()) out += FormatText("    in {}\n", entry.folder);
  if (!entry.origin.hash.empty()) out += FormatText("    graph {}\n", entry.origin.hash);
  if (!entry.origin.place.empty()) out += FormatText("    from {}\n", entry.origin.place);
  if (const int32_t file = model.FindFile(static_cast<int32_t>(m), dump::FileRole::kStableHlo);
      file >= 0) {
    const dump::FileEntry& program = model.files()[static_cast<size_t>(file)];
    out += FormatText("    {}: {}\n", dump::Describe(program.kind), program.path);
  }
  const size_t width = NameWidth(entry.stages);
  for (size_t s = 0; s < entry.stages.size(); ++s)
    out += StageLine(entry.stages[s], module.stages[s], width);
  const auto& kernels = module.kernels->kernels;
  if (!kernels.empty()) out += FormatText("    code of {}:\n", Counted(kernels.size(), "kernel"));
  for (size_t k = 0; k < kernels.size() && k < kShown; ++k) out += KernelLine(model, kernels[k]);
  if (kernels.size() > kShown)
    out += FormatText("      and {} more (--json lists all)\n", kernels.size() - kShown);
  out += ThunksText(*module.thunks);
  out += BuffersText(*module.buffers);
  if (!module.custom_calls.empty()) out += "    custom calls:";
  for (const auto& [target, count] : module.custom_calls)
    out += FormatText(" {} {}", count, target);
  if (!module.custom_calls.empty()) out += "\n";
  // Those of libraries only where the program's own are not known.
  std::vector<std::string> files;
  std::ranges::remove_copy_if(module.source_files, std::back_inserter(files),
                              dump::IsFrameworkFile);
  if (files.empty()) files = module.source_files;
  for (size_t k = 0; k < files.size() && k < kShown; ++k)
    out += FormatText("    source: {}\n", files[k]);
  if (files.size() > kShown)
    out += FormatText("    source: and {}\n", Counted(files.size() - kShown, "more file"));
  return out;
}

std::string PlacementText(const DumpReport& report, size_t m) {
  const analysis::Placement& placement = report.placements[m];
  if (report.compiled[m] == nullptr || !placement.compiled) return {};
  std::string out = FormatText("    {}\n    runs on:", ToSentence(report.overviews[m]));
  std::string_view separator = " ";
  for (int k = 0; k < analysis::kPlaceCount; ++k) {
    const int64_t count = placement.counts[static_cast<size_t>(k)];
    const auto place = static_cast<analysis::Place>(k);
    if (count == 0 || place == analysis::Place::kNoCode || place == analysis::Place::kInKernel)
      continue;
    out += FormatText("{}{}", separator, analysis::CountedAt(place, count));
    separator = ", ";
  }
  out += "\n";
  for (size_t k = 0; k < placement.transfers.size() && k < kShown; ++k) {
    const analysis::Transfer& t = placement.transfers[k];
    out += FormatText("    transfer {}: {}{}{}, {}\n",
                      t.direction == analysis::TransferDirection::kToHost ? "to host" : "to device",
                      report.compiled[m]->name(t.instruction),
                      t.bytes < 0 ? ", size unknown" : ", " + BytesText(t.bytes),
                      t.executions < 0   ? ", in a loop with unknown trip count"
                      : t.executions > 1 ? fmt::format(" × {}", t.executions)
                                         : "",
                      Describe(t.reason));
  }
  if (placement.transfers.size() > kShown)
    out +=
        FormatText("    and {}\n", Counted(placement.transfers.size() - kShown, "more transfer"));
  return out;
}

// "6 nodes on /job:…/device:CPU:0, module cluster_0__…, 256 B in, 64 B out".
std::string ClusterText(const dump::DumpModel& model, const dump::TensorFlowCluster& cluster) {
  std::string out = FormatText("  TensorFlow cluster {}: ", cluster.name);
  out += cluster.nodes < 0 ? "nodes unknown (no graph here holds it)"
                           : Counted(static_cast<size_t>(cluster.nodes), "node");
  for (const std::string& device : cluster.devices) out += FormatText(" on {}", device);
  if (!cluster.modules.empty()) {
    const size_t module = static_cast<size_t>(cluster.modules.front());
    out += FormatText(", module {}", ShownName(model.modules()[module].name));
    if (cluster.modules.size() > 1) out += FormatText(" and {} more", cluster.modules.size() - 1);
  }
  if (cluster.bytes_in >= 0) out += FormatText(", {} in", BytesText(cluster.bytes_in));
  if (cluster.bytes_out >= 0) out += FormatText(", {} out", BytesText(cluster.bytes_out));
  if (!cluster.part.empty()) out += FormatText(", of {}", cluster.part);
  if (cluster.also_without_xla) out += ", also run without XLA";
  return out + "\n";
}

std::string TensorFlowText(const dump::DumpModel& model, const dump::TensorFlowSummary& tf) {
  std::string out;
  if (!tf.verdict.sentence.empty()) out += FormatText("  TensorFlow: {}\n", tf.verdict.sentence);
  if (!tf.verdict.fix.empty()) out += FormatText("    fix: {}\n", tf.verdict.fix);
  for (const dump::TensorFlowCluster& cluster : tf.clusters) out += ClusterText(model, cluster);
  std::vector<dump::TensorFlowNode> nodes, in_functions;
  std::map<std::string_view, size_t> others;  // of parts that are not of the program itself
  for (const dump::TensorFlowNode& node : tf.unclustered) {
    if (node.part.empty())
      nodes.push_back(node);
    else
      ++others[node.part];
  }
  std::ranges::copy_if(tf.in_functions, std::back_inserter(in_functions),
                       [](const dump::TensorFlowNode& node) { return node.part.empty(); });
  if (!nodes.empty()) {
    out += FormatText("  {} in no cluster:\n", Counted(nodes.size(), "TensorFlow node"));
    out += OutsideText(nodes);
  }
  for (const auto& [part, count] : others)
    out += FormatText("  {} of {} (--json lists them)\n", Counted(count, "more node"), part);
  if (!in_functions.empty()) {
    const bool never =
        std::ranges::any_of(in_functions, dump::IsForLackOfKernel, &dump::TensorFlowNode::why) ||
        std::ranges::any_of(nodes, dump::StopsWhole);
    out += FormatText("  {} that {} function out of clusters{}:\n",
                      Counted(in_functions.size(), "node"),
                      VerbFor(in_functions.size(), "keeps its", "keep their"),
                      never ? "" : " (jit_compile=True may compile it)");
    out += OutsideText(in_functions);
  }
  if (!tf.borders.empty()) out += FormatText("  {}\n", dump::BordersText(tf.borders, BytesText));
  return out + DevicesText(tf.devices);
}

std::string HeadText(const DumpModel& model) {
  const std::string processes = dump::ProcessesText(model);
  return FormatText("{}: {}, {}{}{}\n", model.path(), Counted(model.modules().size(), "module"),
                    Counted(FilesOf(model), "file"), processes.empty() ? "" : ", ", processes);
}

std::string MissingText(const DumpReport& report) {
  std::vector<std::string> lines;
  for (const dump::MissingPiece& piece : report.model->missing()) {
    if (report.only < 0 || piece.module < 0 || piece.module == report.only)
      lines.push_back(FormatText("  missing: {}\n", piece.ToString()));
  }
  return FirstOf(lines, "more missing file");
}

std::string WarningsText(const DumpReport& report) {
  std::vector<std::string> lines;
  for (const std::string& text : report.summary.warnings)
    lines.push_back(FormatText("  warning: {}\n", text));
  return FirstOf(lines, "more warning");
}

// What is said of the dump as a whole after its modules.
std::string NotesText(const DumpReport& report) {
  const DumpModel& model = *report.model;
  std::string out = RecompilationsText(report.recompilations);
  const dump::LoggedErrors logged = dump::ErrorsInLogs(model);
  for (const dump::LoggedError& error : logged.errors)
    out += ErrorText(error.error, model.files()[static_cast<size_t>(error.file)].path,
                     fmt::format("  {} ", dump::NameOf(error.error.severity)));
  return out;
}

}  // namespace

std::string DevicesText(const std::vector<std::string>& devices) {
  std::string out;
  for (const std::string& device : devices) {
    const std::string_view meaning = dump::DescribeTensorFlowDevice(device);
    if (!meaning.empty()) out += FormatText("  device {}: {}\n", device, meaning);
  }
  return out;
}

std::string OutsideText(const std::vector<dump::TensorFlowNode>& nodes) {
  struct Group {
    std::vector<std::string_view> names;
    std::string_view evidence;
  };
  std::map<std::pair<std::string_view, std::string_view>, Group> reasons;  // by reason and fix
  for (const dump::TensorFlowNode& node : nodes) {
    Group& group =
        reasons[{node.reason.empty() ? "the graphs give no reason" : std::string_view(node.reason),
                 node.fix}];
    if (group.evidence.empty()) group.evidence = node.evidence;
    group.names.push_back(node.name);
  }
  std::string out;
  for (const auto& [key, group] : reasons) {
    const auto& [reason, fix] = key;
    out += FormatText("    {} ({}):", reason, group.names.size());
    for (size_t k = 0; k < group.names.size() && k < kShown; ++k)
      out += FormatText(" {}", group.names[k]);
    out += group.names.size() > kShown ? " …\n" : "\n";
    if (!group.evidence.empty()) out += FormatText("      {}\n", group.evidence);
    if (!fix.empty()) out += FormatText("      fix: {}\n", fix);
  }
  return out;
}

std::string BytesText(int64_t bytes) {
  if (bytes < 10'000) return FormatText("{} B", bytes);
  if (bytes < 10'000'000) return FormatText("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return FormatText("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

ModulePart TextPart(const DumpReport& report, size_t module) {
  ModulePart part;
  const dump::ModuleSummary& summary = report.summary.modules[module];
  part.text = ModuleText(*report.model, module, summary) + PlacementText(report, module);
  part.stages = std::ssize(summary.stages);
  const auto final = static_cast<size_t>(report.model->FinalStage(static_cast<int32_t>(module)));
  if (final < summary.stages.size() && summary.stages[final].read)
    part.instructions = static_cast<int64_t>(summary.stages[final].counts.instructions);
  if (summary.buffers->source != dump::BufferSource::kNone)
    part.memory_bytes = summary.buffers->total_bytes;
  part.peak_bytes = summary.buffers->live_peak_bytes;
  return part;
}

std::string ShownName(const std::string& name) {
  const size_t at = name.find("__Xla");
  return at == std::string::npos ? name : name.substr(0, at + 5) + "…";
}

std::string DumpText(const DumpReport& report, const ModuleTableOptions& table) {
  std::string out = HeadText(*report.model);
  if (report.only < 0 && (table.is_asked || report.parts.size() > kMaxModulesInFull)) {
    out += ModuleTable(report, table);
  } else {
    for (const ModulePart& part : report.parts) out += part.text;
  }
  return out + TensorFlowText(*report.model, *report.summary.tensorflow) + NotesText(report) +
         MissingText(report) + WarningsText(report);
}

std::string DumpOverviewText(const DumpReport& report) {
  const auto& modules = report.model->modules();
  std::string out = HeadText(*report.model);
  for (size_t m = 0; m < modules.size() && m < kShown; ++m) {
    out += FormatText("  {}{} ({}{}), {}\n", NumberText(modules[m]), ShownName(modules[m].name),
                      modules[m].framework, dump::ProcessText(modules[m]),
                      Counted(modules[m].stages.size(), "stage"));
  }
  if (modules.size() > kShown)
    out += FormatText("  and {}\n", Counted(modules.size() - kShown, "more module"));
  return out + NotesText(report) + WarningsText(report);
}

}  // namespace hloscope::app
