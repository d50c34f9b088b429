// GraphBuilder: a TensorFlowGraph from the fields of a GraphDef, however they are written.
#pragma once

#include <string>
#include <string_view>

#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

class GraphLosses;

class GraphBuilder {
 public:
  void BeginFunction() { graph_.functions.emplace_back(); }
  void NameFunction(std::string name);
  // An attribute of the function itself.
  void FunctionFlag(std::string_view key, bool value);

  // Of the function begun last, or of the graph.
  void BeginNode(bool in_function);
  void EndNode();
  TensorFlowNode& node() { return node_; }

  // Parts of the value of the node's attribute `key`.
  void String(std::string_view key, std::string value);
  void Flag(std::string_view key, bool value);
  void Type(std::string_view key, int32_t type);
  void Function(std::string name) { node_.functions.push_back(std::move(name)); }
  // Of a list of shapes or of the value of a constant. Dimensions and unknown ranks are of the
  // last.
  void BeginShape() { node_.shapes.emplace_back(std::vector<int64_t>()); }
  void Dimension(int64_t size);
  void UnknownRank();

  // With the clusters counted, without what was lost (graph_losses.h).
  TensorFlowGraph Finish();

 private:
  TensorFlowGraph graph_;
  TensorFlowNode node_;
  bool in_function_ = false;
};

// The two ways a GraphDef is written. Input errors as of ReadTensorFlowGraph(); the text's losses
// are found on the way.
Status ReadGraphText(std::string_view text, const Limits& limits, GraphBuilder& builder,
                     GraphLosses& losses);
Status ReadGraphWire(std::string_view bytes, GraphBuilder& builder);

// The number of a type as the text format writes it, "DT_FLOAT" or "DT_FLOAT_REF"; 0: none.
int32_t TensorFlowTypeOf(std::string_view name);

}  // namespace hloscope::dump
