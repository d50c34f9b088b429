// GraphDef as the text format prints it: one field or brace a line.
#include "core/dump/tensorflow/tensorflow_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

struct Reason {
  std::string_view operation, text;
};
constexpr Reason kReasons[] = {
#define TENSORFLOW_REASON(operation, text) {operation, text},
#include "core/dump/tensorflow/tensorflow_reasons.def"
#undef TENSORFLOW_REASON
};

// `pattern` with at most two `*`, one of them at an end.
bool Fits(std::string_view pattern, std::string_view operation) {
  size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == operation;
  if (star == 0) {
    std::string_view inner = pattern.substr(1, pattern.size() - 2);
    return operation.find(inner) != std::string_view::npos;
  }
  std::string_view before = pattern.substr(0, star), after = pattern.substr(star + 1);
  return operation.size() >= before.size() + after.size() && operation.starts_with(before) &&
         operation.ends_with(after);
}

std::string ReasonFor(const TensorFlowNode& node, bool on_strings, bool forbidden) {
  if (!node.outside.empty()) return "marked for outside compilation (_XlaOutsideCompilation)";
  if (forbidden) return "marked not to be compiled (_XlaCompile is false)";
  for (const Reason& reason : kReasons) {
    if (Fits(reason.operation, node.op)) return std::string(reason.text);
  }
  return on_strings ? "works on strings: XLA has no such type" : "";
}

// The text between the first and last quote of a value, with \" and \\ and octal escapes as they
// stand.
std::string Unquoted(std::string_view value) {
  size_t begin = value.find('"'), end = value.rfind('"');
  if (begin == std::string_view::npos || end <= begin) return {};
  return std::string(value.substr(begin + 1, end - begin - 1));
}

class GraphReader {
 public:
  explicit GraphReader(const Limits& limits) : limits_(limits) {}

  Result<TensorFlowGraph> Read(std::string_view text) {
    LineReader lines(text);
    std::string_view line;
    bool known = false;
    while (lines.Next(line)) {
      line = Trim(line);
      if (line.ends_with('{')) {
        if (static_cast<int64_t>(open_.size()) >= limits_.nesting)
          return InputError(fmt::format("line {}: nested too deeply", lines.number()));
        Open(Trim(line.substr(0, line.size() - 1)));
        known |= open_.size() == 1 && IsGraphField(open_.back());
      } else if (line == "}") {
        if (!open_.empty()) Close();
      } else {
        Field(line);
      }
    }
    if (!known) return InputError("not a GraphDef, expected `node {`");
    if (!open_.empty()) graph_.warnings.emplace_back("the graph is cut off");
    Finish();
    return std::move(graph_);
  }

 private:
  static bool IsGraphField(std::string_view name) {
    return name == "node" || name == "library" || name == "versions";
  }
  bool InNode() const { return !open_.empty() && (open_.front() == "node" || in_function_node_); }

  void Open(std::string_view name) {
    open_.emplace_back(name);
    bool main = open_.size() == 1 && name == "node";
    bool inner = open_.size() == 3 && name == "node_def" && open_[0] == "library";
    in_function_node_ |= inner;
    if (main || inner) {
      node_ = {};
      node_.function = inner ? function_ : "";
      on_strings_ = forbidden_ = false;
    }
    if (open_.size() == 2 && name == "function") function_.clear();
    if (name == "attr") key_.clear();
  }

  void Close() {
    bool main = open_.size() == 1 && open_.back() == "node";
    bool inner = open_.size() == 3 && in_function_node_;
    if (main || inner) {
      if (node_.cluster.empty()) node_.reason = ReasonFor(node_, on_strings_, forbidden_);
      graph_.nodes.push_back(std::move(node_));
    }
    if (inner) in_function_node_ = false;
    open_.pop_back();
  }

  void Field(std::string_view line) {
    size_t colon = line.find(':');
    if (colon == std::string_view::npos || open_.empty()) return;
    std::string_view name = line.substr(0, colon), value = Trim(line.substr(colon + 1));
    if (!InNode()) {
      bool signature = open_.size() == 3 && open_[2] == "signature" && name == "name";
      if (signature) function_ = Unquoted(value);
      return;
    }
    size_t depth = open_.size() - (in_function_node_ ? 2 : 0);
    if (depth == 1) {
      NodeField(name, value);
    } else if (depth == 2 && open_.back() == "attr" && name == "key") {
      key_ = Unquoted(value);
    } else if (depth >= 3 && open_.back() == "value") {
      Attribute(name, value);
    }
  }

  void NodeField(std::string_view name, std::string_view value) {
    if (name == "name") node_.name = Unquoted(value);
    if (name == "op") node_.op = Unquoted(value);
    if (name == "device") node_.device = Unquoted(value);
    if (name == "input") node_.inputs.push_back(Unquoted(value));
  }

  void Attribute(std::string_view name, std::string_view value) {
    if (name == "s" && key_ == "_XlaCluster") node_.cluster = Unquoted(value);
    if (name == "s" && key_ == "_XlaOutsideCompilation") node_.outside = Unquoted(value);
    if (name == "b" && key_ == "_XlaCompile" && value == "false") forbidden_ = true;
    if (name == "type" && value == "DT_STRING") on_strings_ = true;
  }

  void Finish() {
    std::map<std::string, TensorFlowCluster> clusters;
    std::map<std::string, std::set<std::string>> devices;
    for (const TensorFlowNode& node : graph_.nodes) {
      if (node.cluster.empty()) continue;
      TensorFlowCluster& cluster = clusters[node.cluster];
      cluster.name = node.cluster;
      ++cluster.nodes;
      ++cluster.operations[node.op];
      if (!node.device.empty()) devices[node.cluster].insert(node.device);
    }
    for (auto& [name, cluster] : clusters) {
      cluster.devices.assign(devices[name].begin(), devices[name].end());
      graph_.clusters.push_back(std::move(cluster));
    }
  }

  const Limits& limits_;
  TensorFlowGraph graph_;
  std::vector<std::string> open_;  // names of the open messages, outermost first
  TensorFlowNode node_;
  std::string function_, key_;
  bool in_function_node_ = false, on_strings_ = false, forbidden_ = false;
};

}  // namespace

Result<TensorFlowGraph> ReadTensorFlowGraph(std::string_view text, const Limits& limits) {
  return GraphReader(limits).Read(text);
}

}  // namespace hloscope::dump
