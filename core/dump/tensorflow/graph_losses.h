// GraphLosses: what of a GraphDef cannot be read, or is not as TensorFlow writes it, each with its
// place: a graph that lost a node, a field or an input says so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"

namespace hloscope::dump {

enum class GraphFieldKind : uint8_t {
  kString,
  kBytes,
  kBool,
  kInteger,
  kType,      // DataType
  kFullType,  // FullTypeId
  kFloat,
  kDouble,
  kFixed64,
  kMessage
};
// A row of graph_fields.def.
struct GraphField {
  std::string_view message, name;
  uint32_t number;
  GraphFieldKind kind;
  std::string_view inner;
  bool repeated;
};
inline constexpr std::string_view kGraphMessage = "GraphDef";
// Null: the message has no such field.
const GraphField* FindGraphField(std::string_view message, std::string_view name);
const GraphField* FindGraphField(std::string_view message, uint32_t number);

// One message that is being read: what must not come twice, and what must come.
class OpenGraphMessage {
 public:
  explicit OpenGraphMessage(std::string_view message) : message_(message) {}
  std::string_view message() const { return message_; }
  // What is wrong with another such field; empty: nothing.
  std::string Add(const GraphField& field);
  // What the message lacks at its end; empty: nothing.
  std::string Missing() const;

 private:
  std::string_view message_;  // empty: unknown, and so are its fields
  std::vector<uint32_t> seen_;
};

class GraphLosses {
 public:
  // Places are "line 12" or "byte 345".
  void Add(const std::string& place, const std::string& what);

  // Names of the graph, or of a function between BeginFunction and EndFunction.
  void BeginFunction() {
    inner_ = {};
    in_function_ = true;
  }
  void EndFunction();
  void Argument(std::string name) { scope().places.try_emplace(std::move(name)); }
  void Node(const std::string& name, const std::string& place);
  void Input(const std::string& node, std::string_view input, const std::string& place);

  // The node that is being read, for messages.
  void SetNode(std::string name) { node_ = std::move(name); }
  // Names that no node has are told last.
  std::vector<std::string> Finish();

 private:
  struct Use {
    std::string node, input, place;
  };
  struct Scope {
    std::map<std::string, std::string, std::less<>> places;  // of nodes and arguments
    std::vector<Use> uses;
  };
  Scope& scope() { return in_function_ ? inner_ : outer_; }
  void CheckUses(const Scope& scope);

  Scope outer_, inner_;
  bool in_function_ = false;
  std::string node_;
  std::vector<std::string> found_;
  size_t left_out_ = 0;
};

// The losses of a whole graph.
std::vector<std::string> LossesOfGraphText(std::string_view text);
std::vector<std::string> LossesOfGraphWire(std::string_view bytes);

}  // namespace hloscope::dump
