// The same graph is dumped at several points of the clustering; the last that marks clusters says
// what became of it.
#include "core/dump/tensorflow_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace hloscope::dump {
namespace {

// Points, most telling first.
constexpr std::string_view kPoints[] = {"mark_for_compilation_annotated", "mark_for_compilation",
                                        "before_increase_dynamism_for_auto_jit_pass",
                                        "encapsulate_subgraphs", ""};

// "mark_for_compilation" of mark_for_compilation_2.pbtxt.
std::string_view PointOf(std::string_view path) {
  std::string_view name = BareFileName(path);
  name = name.substr(0, name.rfind('.'));
  size_t end = name.find_last_not_of("0123456789");
  bool counted = end != std::string_view::npos && end + 1 < name.size() && name[end] == '_';
  return counted ? name.substr(0, end) : name;
}

std::vector<int32_t> FilesOfPoint(const DumpModel& model, std::string_view point) {
  std::vector<int32_t> files;
  for (size_t k = 0; k < model.files().size(); ++k) {
    const FileEntry& file = model.files()[k];
    if (file.role != FileRole::kTensorFlowGraph) continue;
    if (point.empty() || PointOf(file.path) == point) files.push_back(static_cast<int32_t>(k));
  }
  return files;
}

int32_t ModuleOf(const DumpModel& model, std::string_view cluster) {
  for (size_t m = 0; m < model.modules().size(); ++m) {
    std::string_view name = model.modules()[m].name;
    if (!name.starts_with(cluster)) continue;
    name.remove_prefix(cluster.size());
    if (name.empty() || name.starts_with("__") || name.starts_with('.'))
      return static_cast<int32_t>(m);
  }
  return -1;
}

class Together {
 public:
  explicit Together(const DumpModel& model) : model_(model) {}

  std::shared_ptr<const TensorFlowSummary> Make() {
    for (std::string_view point : kPoints) {
      std::vector<int32_t> files = FilesOfPoint(model_, point);
      if (files.empty()) continue;
      for (int32_t file : files) Add(file);
      if (!clusters_.empty() || point.starts_with("mark")) break;
      unclustered_.clear();
    }
    // A cluster compiled without its graph here is still one.
    for (const ModuleEntry& module : model_.modules()) AddCompiled(module);
    for (auto& [name, cluster] : clusters_) {
      cluster.module = ModuleOf(model_, name);
      summary_->clusters.push_back(std::move(cluster));
    }
    for (auto& [key, node] : unclustered_) summary_->unclustered.push_back(std::move(node));
    return summary_;
  }

 private:
  void Add(int32_t file) {
    auto graph = model_.TensorFlow(file);
    if (!graph) {
      summary_->warnings.push_back(graph.error().ToString());
      return;
    }
    for (const std::string& warning : (*graph)->warnings) {
      summary_->warnings.push_back(
          fmt::format("{}: {}", model_.files()[static_cast<size_t>(file)].path, warning));
    }
    for (const TensorFlowCluster& cluster : (*graph)->clusters)
      clusters_.try_emplace(cluster.name, cluster);
    for (const TensorFlowNode& node : (*graph)->nodes) {
      if (node.cluster.empty()) unclustered_.try_emplace({node.function, node.name, node.op}, node);
    }
  }

  void AddCompiled(const ModuleEntry& module) {
    size_t end = module.name.find("__XlaCompiledKernel_");
    if (end == std::string::npos || !module.name.starts_with("cluster_")) return;
    std::string name = module.name.substr(0, end);
    auto [at, is_new] = clusters_.try_emplace(name);
    if (is_new) at->second.name = name;
  }

  const DumpModel& model_;
  std::shared_ptr<TensorFlowSummary> summary_ = std::make_shared<TensorFlowSummary>();
  std::map<std::string, TensorFlowCluster> clusters_;
  std::map<std::tuple<std::string, std::string, std::string>, TensorFlowNode> unclustered_;
};

}  // namespace

Result<std::shared_ptr<const TensorFlowGraph>> MakeTensorFlowGraph(const DumpModel& model,
                                                                   int32_t file) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView text, model.OpenFile(file));
  Result<TensorFlowGraph> graph = ReadTensorFlowGraph(text.bytes(), model.limits());
  if (!graph) {
    Error error = std::move(graph).error();
    error.place.file = model.FullPath(file);
    return std::unexpected(std::move(error));
  }
  graph->file = file;
  graph->name = PointOf(model.files()[static_cast<size_t>(file)].path);
  return std::make_shared<const TensorFlowGraph>(*std::move(graph));
}

std::shared_ptr<const TensorFlowSummary> MakeTensorFlowSummary(const DumpModel& model) {
  return Together(model).Make();
}

}  // namespace hloscope::dump
