// The same graph is dumped at several points of the clustering; the last that marks clusters says
// what became of it.
#include "core/dump/tensorflow_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/counted.h"
#include "core/dump/advice.h"
#include "core/dump/listing/file_role.h"
#include "core/dump/run_record.h"
#include "core/dump/tensorflow/graph_parts.h"
#include "core/dump/tensorflow/marking.h"
#include "core/dump/tensorflow/marking_log.h"
#include "core/dump/tensorflow/whole_advice.h"
#include "core/dump/tensorflow_borders.h"
#include "core/dump/tensorflow_verdict.h"

namespace hloscope::dump {
namespace {

// Points, most telling first. The annotated graph only names its nodes otherwise.
constexpr std::string_view kPoints[] = {
    "mark_for_compilation",         "mark_for_compilation_annotated",
    "encapsulate_subgraphs_before", "before_increase_dynamism_for_auto_jit_pass",
    "encapsulate_subgraphs",        ""};

std::vector<int32_t> FilesOfPoint(const DumpModel& model, std::string_view point) {
  std::vector<int32_t> files;
  for (size_t k = 0; k < model.files().size(); ++k) {
    const FileEntry& file = model.files()[k];
    if (file.role != FileRole::kTensorFlowGraph) continue;
    if (point.empty() || GraphPointOf(file.path) == point) files.push_back(static_cast<int32_t>(k));
  }
  return files;
}

// Whether the name of a module is that of the cluster, with what TensorFlow puts behind it.
bool IsOfCluster(std::string_view module, std::string_view cluster) {
  if (!module.starts_with(cluster)) return false;
  module.remove_prefix(cluster.size());
  return module.empty() || module.starts_with("__") || module.starts_with('.');
}

// The name without what the annotated graph puts before it.
void TakeAnnotation(std::string& name, const std::string& cluster) {
  for (std::string_view before : {std::string_view(cluster), std::string_view("unclustered"),
                                  std::string_view("varhandle")}) {
    if (!before.empty() && name.starts_with(before) && name.size() > before.size() &&
        name[before.size()] == '/') {
      name.erase(0, before.size() + 1);
      return;
    }
  }
}

class Together {
 public:
  explicit Together(const DumpModel& model) : model_(model), records_(ReadRunRecords(model)) {
    record_ = records_.For("");
    if (record_ != nullptr && record_->framework != "TensorFlow") record_ = nullptr;
  }

  std::shared_ptr<const TensorFlowSummary> Make() {
    ReadLogs();
    Gather();
    if (marked_) AddDeclustered();
    for (auto& [file, facts] : facts_) facts.JudgeKeras(HadKeras2(record_));
    // A cluster compiled without its graph here is still one.
    for (const ModuleEntry& module : model_.modules()) AddCompiled(module);
    for (TensorFlowNode& node : summary_->unclustered) {
      node.part = parts_.PartOf(node.graph);
      // What takes the next batch stands in the step itself.
      const bool is_input = node.why == OutsideReason::kInputPipeline;
      if (node.part.empty() && is_input && facts_[node.graph].is_keras) node.part = kKerasData;
    }
    for (TensorFlowNode& node : summary_->in_functions)
      node.part = parts_.PartOfFunction(node.function);
    for (auto& [name, cluster] : clusters_) {
      cluster.part = parts_.PartOf(cluster.graph);
      AddModules(cluster);
      for (const std::string& device : cluster.devices) devices_.insert(device);
      summary_->clusters.push_back(std::move(cluster));
    }
    summary_->devices.assign(devices_.begin(), devices_.end());
    Judge();
    return summary_;
  }

 private:
  // The graphs of the point that says most, and those that it leaves out.
  void Gather() {
    for (std::string_view point : kPoints) {
      std::vector<int32_t> files = FilesOfPoint(model_, point);
      if (files.empty()) continue;
      for (int32_t file : files) Add(file, point);
      // Nobody marked the others. What they cannot hold is known, not what became of them.
      marked_ = !clusters_.empty() || point.starts_with("mark");
      saw_marked_ |= marked_;
      if (marked_) break;
      if (point == kPoints[3] || point.empty()) break;
      summary_->unclustered.clear();
      summary_->borders.clear();
      facts_.clear();
    }
    // Marked graphs are dumped only where they have a candidate.
    if (marked_) {
      for (int32_t file : FilesOfPoint(model_, kPoints[3])) {
        if (!IsOfMarkedGraph(file)) Add(file, kPoints[3]);
      }
    }
  }

  // Whether auto-clustering looked at the graphs, by what it left and by the flags of the run;
  // what it did not look at has no other reason to be outside.
  void Judge() {
    const bool only_cpus =
        !devices_.empty() && std::ranges::all_of(devices_, [](const std::string& device) {
          return TensorFlowDeviceType(device) == "CPU";
        });
    AutoClustering state = StateByFlags(record_, only_cpus);
    if (saw_marked_ || was_logged_ || !summary_->clusters.empty()) {
      const bool in_scopes = saw_scopes_ && !saw_others_ && state != AutoClustering::kOn;
      state = in_scopes ? AutoClustering::kInScopes : AutoClustering::kOn;
      if (in_scopes) LeaveOutsideScopes();
    } else if (state != AutoClustering::kOn) {
      LeaveUnmarked(state, FixOfState(state, only_cpus));
    }
    std::optional<std::string> smallest;
    if (record_ != nullptr) smallest = record_->Flag("TF_XLA_FLAGS", "tf_xla_min_cluster_size");
    WholeFacts all;
    for (const auto& [file, facts] : facts_) {
      if (parts_.PartOf(file).empty()) all.Add(facts);
    }
    all.JudgeKeras(HadKeras2(record_));
    for (TensorFlowNode& node : summary_->unclustered) {
      JudgeFix(node, record_);
      FitNode(node, facts_[node.graph], smallest);
    }
    for (TensorFlowNode& node : summary_->in_functions) {
      JudgeFix(node, record_);
      FitNode(node, facts_[in_functions_[{node.function, node.name}]], smallest);
    }
    summary_->verdict = JudgeClustering(model_, records_, *summary_, state, all);
  }

  // Leaves out flags that the run had, and those that this TensorFlow does not take.
  static void JudgeFix(TensorFlowNode& node, const RunRecord* record) {
    if (node.fix.empty() || record == nullptr) return;
    const AdviceVerdict verdict = JudgeAdvice(node.fix, record->framework, record->version);
    if (verdict.state == AdviceState::kFails || WasFollowed(node.fix, *record)) node.fix.clear();
    if (verdict.state == AdviceState::kUntried && !verdict.note.empty())
      node.fix += fmt::format(" ({})", verdict.note);
  }

  void ReadLogs() {
    for (size_t k = 0; k < model_.files().size(); ++k) {
      if (model_.files()[k].role != FileRole::kRunLog) continue;
      auto read = model_.ReadFile(static_cast<int32_t>(k),
                                  [](std::string_view text) { return ReadMarkingLog(text); });
      if (!read) {
        summary_->warnings.push_back(read.error().ToString());
        continue;
      }
      MarkingLog& log = *read;
      constexpr size_t kMaxWarnings = 5;
      for (size_t w = 0; w < log.warnings.size() && w < kMaxWarnings; ++w)
        summary_->warnings.push_back(
            fmt::format("{}: {}", model_.files()[k].path, log.warnings[w]));
      if (log.warnings.size() > kMaxWarnings)
        summary_->warnings.push_back(
            fmt::format("{}: and {} cut off", model_.files()[k].path,
                        Counted(log.warnings.size() - kMaxWarnings, "more line")));
      for (MarkingRun& run : log.runs) {
        // Without the flag for CPUs the pass names their nodes and looks no further.
        was_logged_ |= !run.nodes.empty() || !run.assigned.empty();
        if (!run.later.empty()) {
          if (!run.graph.empty()) marked_later_.insert(run.later);
          runs_.try_emplace(run.later, run);
        }
        if (!run.graph.empty()) runs_.try_emplace(run.graph, std::move(run));
      }
    }
  }

  void Add(int32_t file, std::string_view point) {
    auto graph = model_.TensorFlow(file);
    if (!graph) {
      summary_->warnings.push_back(graph.error().ToString());
      return;
    }
    for (Error warning : (*graph)->warnings) {
      warning.place.file = model_.files()[static_cast<size_t>(file)].path;
      summary_->warnings.push_back(warning.ToString());
    }
    for (const TensorFlowCluster& cluster : (*graph)->clusters) {
      auto [at, is_new] = clusters_.try_emplace(cluster.name, cluster);
      if (is_new) at->second.graph = file;
    }
    const auto run = runs_.find(GraphStemOf(model_.files()[static_cast<size_t>(file)].path));
    if (point.starts_with("mark")) {
      saw_marked_ = true;
      marked_graphs_.insert(MainNodes(**graph));
    }
    const bool eager = IsEagerGraph(**graph);
    WholeFacts facts;
    AddCalled(**graph, facts);
    for (const TensorFlowNode& node : (*graph)->nodes) {
      if (!node.device.empty()) devices_.insert(node.device);
      if (!node.cluster.empty()) {
        (node.xla_compile == true ? saw_scopes_ : saw_others_) = true;
        continue;
      }
      if (!node.function.empty()) {
        const bool is_new = node.why != OutsideReason::kUnknown &&
                            in_functions_.try_emplace({node.function, node.name}, file).second;
        if (is_new) summary_->in_functions.push_back(node);
        continue;
      }
      summary_->unclustered.push_back(node);
      TensorFlowNode& own = summary_->unclustered.back();
      own.graph = file;
      own.eager = eager;
      if (point.ends_with("annotated")) TakeAnnotation(own.name, own.cluster);
      if (run != runs_.end()) ApplyLog(run->second, own);
      AddNode(own, facts);
    }
    parts_.Add(**graph, file, eager);
    if (!eager) facts_[file] = std::move(facts);
    for (ClusterBorder& border : FindBorders(**graph))
      summary_->borders.push_back(std::move(border));
  }

  static std::set<std::string> MainNodes(const TensorFlowGraph& graph) {
    std::set<std::string> names;
    for (const TensorFlowNode& node : graph.nodes) {
      if (node.function.empty()) names.insert(node.name);
    }
    return names;
  }

  // The graph after the marking pass is dumped too: which is which the log says, or the nodes do.
  // That of a cluster's body is of the same graph, though the pass does not see it.
  bool IsOfMarkedGraph(int32_t file) {
    const std::string_view stem = GraphStemOf(model_.files()[static_cast<size_t>(file)].path);
    if (runs_.contains(stem)) return marked_later_.contains(stem);
    auto graph = model_.TensorFlow(file);
    if (!graph) return true;  // told by whoever reads the graphs themselves
    if (TensorFlowCluster* cluster = ClusterOfBody(**graph, clusters_)) {
      cluster->also_without_xla = true;
      return true;
    }
    const std::set<std::string> names = MainNodes(**graph);
    const auto same = std::ranges::find_if(
        marked_graphs_, [&](const auto& marked) { return std::ranges::includes(names, marked); });
    if (same == marked_graphs_.end()) return false;
    marked_graphs_.erase(same);
    return true;
  }

  // Nodes that were marked and are in no cluster any more when the clusters are cut out.
  void AddDeclustered() {
    for (int32_t file : FilesOfPoint(model_, "encapsulate_subgraphs_before")) {
      auto later = model_.TensorFlow(file);
      if (!later) {
        summary_->warnings.push_back(later.error().ToString());
        continue;
      }
      std::map<std::string_view, const TensorFlowNode*> nodes;
      for (const TensorFlowNode& node : (*later)->nodes) {
        if (node.function.empty()) nodes.emplace(node.name, &node);
      }
      for (const auto& [name, cluster] : clusters_) {
        // Graphs are numbered by themselves at each point, so the nodes tell which is which.
        const bool same = std::ranges::any_of(cluster.members, [&](const std::string& member) {
          auto at = nodes.find(member);
          return at != nodes.end() && at->second->cluster == name;
        });
        if (!same) continue;
        for (const std::string& member : cluster.members) {
          auto at = nodes.find(member);
          if (at == nodes.end() || !at->second->cluster.empty()) continue;
          TensorFlowNode node = *at->second;
          node.graph = file;
          SetVerdict(node, {OutsideReason::kDeclustered, fmt::format("was marked for {}", name)});
          summary_->unclustered.push_back(std::move(node));
        }
      }
    }
  }

  // Of graphs that the marking pass did not see only that is known.
  void LeaveUnmarked(AutoClustering state, const std::string& fix) {
    const OutsideReason why =
        state == AutoClustering::kNotForCpu ? OutsideReason::kCpuOff : OutsideReason::kNotMarked;
    for (TensorFlowNode& node : summary_->unclustered) {
      switch (node.why) {
        case OutsideReason::kArgument:
        case OutsideReason::kResult:
        case OutsideReason::kFed:
        case OutsideReason::kCompiled:
        case OutsideReason::kMustCompile:
        case OutsideReason::kForbidden:
        case OutsideReason::kOutside:
          continue;
        default:
          SetVerdict(node, {why, {}});
          node.fix = fix;
      }
    }
  }

  // Nodes that nothing in the graph kept out of a cluster.
  void LeaveOutsideScopes() {
    for (TensorFlowNode& node : summary_->unclustered) {
      if (CouldBeCompiled(node.why) && !node.xla_compile)
        SetVerdict(node, {OutsideReason::kNotInScope, {}});
    }
  }

  void AddCompiled(const ModuleEntry& module) {
    size_t end = module.name.find("__XlaCompiledKernel_");
    if (end == std::string::npos || !module.name.starts_with("cluster_")) return;
    std::string name = module.name.substr(0, end);
    auto [at, is_new] = clusters_.try_emplace(name);
    if (is_new) at->second.name = name;
  }

  // The modules compiled from the cluster, and what goes into and out of the first.
  void AddModules(TensorFlowCluster& cluster) {
    for (size_t m = 0; m < model_.modules().size(); ++m) {
      if (IsOfCluster(model_.modules()[m].name, cluster.name))
        cluster.modules.push_back(static_cast<int32_t>(m));
    }
    if (cluster.modules.empty() ||
        model_.modules()[static_cast<size_t>(cluster.modules[0])].stages.empty())
      return;
    auto module = model_.Module(cluster.modules[0], 0);
    if (!module) return;  // told by whoever shows the module
    const hlo::Module& m = **module;
    int64_t in = 0;
    for (hlo::InstructionId parameter : m.Parameters(m.entry_id())) {
      if (!parameter.valid()) return;
      in += m.shape(parameter).ByteSize().value_or(0);
    }
    cluster.bytes_in = in;
    cluster.bytes_out = m.shape(m.entry().root).ByteSize().value_or(-1);
  }

  const DumpModel& model_;
  RunRecords records_;
  const RunRecord* record_ = nullptr;  // of TensorFlow; null: there is none
  std::shared_ptr<TensorFlowSummary> summary_ = std::make_shared<TensorFlowSummary>();
  std::map<std::string, TensorFlowCluster> clusters_;
  std::map<std::string, MarkingRun, std::less<>> runs_;  // by the graph they marked
  std::set<std::string, std::less<>> marked_later_;      // graphs after those that were marked
  std::multiset<std::set<std::string>> marked_graphs_;   // by the names of their nodes
  std::set<std::string> devices_;
  std::map<std::pair<std::string, std::string>, int32_t> in_functions_;  // and the first graph
  std::map<int32_t, WholeFacts> facts_;  // by graph, of those that eager mode does not run
  GraphParts parts_;
  bool marked_ = true;
  bool saw_marked_ = false;  // a graph of the marking pass, or one with clusters
  bool saw_scopes_ = false, saw_others_ = false;  // clustered nodes with _XlaCompile, and without
  bool was_logged_ = false;  // the log tells of nodes that the marking pass looked at
};

}  // namespace

Result<std::shared_ptr<const TensorFlowGraph>> MakeTensorFlowGraph(const DumpModel& model,
                                                                   int32_t file) {
  HLOSCOPE_ASSIGN_OR_RETURN(Result<TensorFlowGraph> graph,
                            model.ReadFile(file, [&](std::string_view bytes) {
                              return ReadTensorFlowGraph(bytes, model.limits());
                            }));
  if (!graph) {
    Error error = std::move(graph).error();
    error.place.file = model.FullPath(file);
    return std::unexpected(std::move(error));
  }
  graph->file = file;
  graph->name = GraphPointOf(model.files()[static_cast<size_t>(file)].path);
  return std::make_shared<const TensorFlowGraph>(*std::move(graph));
}

std::shared_ptr<const TensorFlowSummary> MakeTensorFlowSummary(const DumpModel& model) {
  return Together(model).Make();
}

}  // namespace hloscope::dump
