// GraphDefOracle: GraphDefs as protobuf itself reads them, with TensorFlow's messages made at run
// time from the table of fields. Independent of our readers of text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

class GraphDefOracle {
 public:
  GraphDefOracle();
  ~GraphDefOracle();

  // The same GraphDef in wire format; nullopt where protobuf refuses the text.
  std::optional<std::string> ToWire(std::string_view text) const;
  // Whether the bytes are a GraphDef with nothing in it that its messages do not have.
  bool IsWhole(std::string_view wire) const;
  // … where protobuf stops, for messages of tests.
  std::string WhyNot(std::string_view text) const;

 private:
  struct Types;
  std::unique_ptr<Types> types_;
};

// All that is kept of a graph, a line for each node and function, in no order.
std::string FactsText(const TensorFlowGraph& graph);

}  // namespace hloscope::dump
