// GraphDef as the text format prints it: one field or brace a line.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/dump/readers/line_reader.h"
#include "core/dump/tensorflow/graph_builder.h"
#include "core/hlo/proto/debug_mark.h"

namespace hloscope::dump {
namespace {

// The text between the first and last quote of a value, escapes as they stand.
std::string Unquoted(std::string_view value) {
  size_t begin = value.find('"'), end = value.rfind('"');
  if (begin == std::string_view::npos || end <= begin) return {};
  return std::string(value.substr(begin + 1, end - begin - 1));
}

class TextReader {
 public:
  TextReader(const Limits& limits, GraphBuilder& builder) : limits_(limits), builder_(builder) {}

  Status Read(std::string_view text) {
    text.remove_prefix(DebugMarkLength(text));
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
    return {};
  }

 private:
  static bool IsGraphField(std::string_view name) {
    return name == "node" || name == "library" || name == "versions";
  }
  bool InFunction() const {
    return open_.size() >= 2 && open_[0] == "library" && open_[1] == "function";
  }
  // How many of the open messages lead to the fields of a node; 0: none does.
  size_t NodeDepth() const {
    if (!open_.empty() && open_[0] == "node") return 1;
    return InFunction() && open_.size() >= 3 && open_[2] == "node_def" ? 3 : 0;
  }

  void Open(std::string_view name) {
    open_.emplace_back(name);
    const size_t depth = open_.size();
    if (depth == NodeDepth()) builder_.BeginNode(depth == 3);
    if (depth == 2 && InFunction()) builder_.BeginFunction();
    if (name == "attr") key_.clear();
    const bool shape = name == "shape" || name == "tensor_shape";
    if (shape && NodeDepth() > 0 && IsOfShapes()) builder_.BeginShape();
  }

  void Close() {
    if (open_.size() == NodeDepth()) builder_.EndNode();
    open_.pop_back();
  }

  // A list of shapes, or the value of a constant (not one inside another).
  bool IsOfShapes() const {
    const size_t inner = open_.size() - NodeDepth();  // attr, value, list, shape
    return inner == 4 && (key_ == "_output_shapes" || key_ == "value");
  }

  void Field(std::string_view line) {
    size_t colon = line.find(':');
    if (colon == std::string_view::npos || open_.empty()) return;
    std::string_view name = line.substr(0, colon), value = Trim(line.substr(colon + 1));
    const size_t node = NodeDepth();
    if (node == 0) return FunctionField(name, value);
    if (open_.size() == node) return NodeField(name, value);
    if (open_.back() == "attr" && name == "key") key_ = Unquoted(value);
    if (open_.size() >= node + 2) Attribute(name, value);
  }

  void FunctionField(std::string_view name, std::string_view value) {
    if (!InFunction()) return;
    if (open_.size() == 3 && open_[2] == "signature" && name == "name")
      builder_.NameFunction(Unquoted(value));
    if (open_[open_.size() - 1] == "attr" && name == "key") key_ = Unquoted(value);
    if (open_.size() == 4 && open_[2] == "attr" && name == "b")
      builder_.FunctionFlag(key_, value == "true");
  }

  void NodeField(std::string_view name, std::string_view value) {
    TensorFlowNode& node = builder_.node();
    if (name == "name") node.name = Unquoted(value);
    if (name == "op") node.op = Unquoted(value);
    if (name == "device") node.device = Unquoted(value);
    if (name == "input") node.inputs.push_back(Unquoted(value));
  }

  void Attribute(std::string_view name, std::string_view value) {
    const std::string_view in = open_.back();
    if (in == "value" || in == "list") {
      if (name == "s") builder_.String(key_, Unquoted(value));
      if (name == "b" || name == "i") builder_.Flag(key_, value == "true");
      if (name == "type") builder_.Type(key_, TensorFlowTypeOf(value));
    } else if (in == "func" && name == "name") {
      builder_.Function(Unquoted(value));
    } else if (in == "dim" && name == "size") {
      if (auto size = TakeNumber(value); size && IsDimension()) builder_.Dimension(*size);
    } else if (in == "shape" && name == "unknown_rank" && value == "true" && IsOfShapes()) {
      builder_.UnknownRank();
    }
  }
  bool IsDimension() const {
    const size_t inner = open_.size() - NodeDepth();
    return inner == 5 && (key_ == "_output_shapes" || key_ == "value");
  }

  const Limits& limits_;
  GraphBuilder& builder_;
  std::vector<std::string> open_;  // names of the open messages, outermost first
  std::string key_;                // of the attribute begun last
};

}  // namespace

Status ReadGraphText(std::string_view text, const Limits& limits, GraphBuilder& builder) {
  return TextReader(limits, builder).Read(text);
}

}  // namespace hloscope::dump
