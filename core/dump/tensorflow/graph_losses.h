// GraphLosses: what of a GraphDef cannot be read, or is not as TensorFlow writes it, each with its
// place: a graph that lost a node, a field or an input says so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"

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
inline constexpr int kMaxGraphNesting = 100;  // of messages in wire format, as protobuf's own limit
// Null: the message has no such field.
const GraphField* FindGraphField(std::string_view message, std::string_view name);
const GraphField* FindGraphField(std::string_view message, uint32_t number);
// "name, op, input, device, attr, …": what the message may hold.
std::string NamesOfGraphFields(std::string_view message);

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

// In a text by line and column, from 1; in the wire format by byte, from 0.
struct GraphPlace {
  uint32_t line = 0, column = 0;
  int64_t byte = -1;             // -1: it is a text
  std::string ToString() const;  // "line 12" or "byte 345"
};

class GraphLosses {
 public:
  // `what` says what was expected too; `hint` how to mend it.
  void Add(const GraphPlace& place, const std::string& what, std::string hint = {});

  // Names of the graph, or of a function between BeginFunction and EndFunction.
  void BeginFunction() {
    inner_ = {};
    in_function_ = true;
  }
  void EndFunction();
  void Argument(std::string name) { scope().places.try_emplace(std::move(name)); }
  void Node(const std::string& name, const GraphPlace& place);
  void Input(const std::string& node, std::string_view input, const GraphPlace& place);

  // The node that is being read, for messages.
  void SetNode(std::string name) { node_ = std::move(name); }
  // Names that no node has are told last. The file of each place is empty.
  std::vector<Error> Finish();

 private:
  struct Use {
    std::string node, input;
    GraphPlace place;
  };
  struct Scope {
    std::map<std::string, GraphPlace, std::less<>> places;  // of nodes and arguments
    std::vector<Use> uses;
  };
  Scope& scope() { return in_function_ ? inner_ : outer_; }
  void CheckUses(const Scope& scope);

  Scope outer_, inner_;
  bool in_function_ = false;
  std::string node_;
  std::vector<Error> found_;
  size_t left_out_ = 0;
};

// The losses of a whole graph; those of a text are found as it is read.
std::vector<Error> LossesOfGraphWire(std::string_view bytes);

}  // namespace hloscope::dump
