// GraphDef in protobuf's wire format. Field numbers: graph.proto, node_def.proto, attr_value.proto,
// function.proto, tensor.proto and tensor_shape.proto of TensorFlow.
#include <algorithm>

#include "core/dump/tensorflow/graph_builder.h"
#include "core/dump/tensorflow/graph_losses.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::dump {
namespace {

using hlo::AsBytes;
using hlo::AsVarint;
using hlo::WireField;
using hlo::WireReader;

class ReaderOfWire {
 public:
  explicit ReaderOfWire(GraphBuilder& builder) : builder_(builder) {}

  void Graph(std::string_view bytes) {
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(1)) Node(field.bytes, false);
      if (field.tag == AsBytes(2)) Library(field.bytes);
    }
  }

 private:
  void Library(std::string_view bytes) {
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(1)) Function(field.bytes);
    }
  }

  void Function(std::string_view bytes) {
    builder_.BeginFunction();
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(1)) builder_.NameFunction(std::string(First(field.bytes)));
      if (field.tag == AsBytes(3)) Node(field.bytes, true);
      if (field.tag == AsBytes(5)) FunctionAttribute(field.bytes);
    }
  }

  // The first field of a message, a name.
  static std::string_view First(std::string_view bytes) {
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(1)) return field.bytes;
    }
    return {};
  }

  struct Entry {
    std::string_view key, value;
  };
  static Entry EntryOf(std::string_view bytes) {
    Entry entry;
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(1)) entry.key = field.bytes;
      if (field.tag == AsBytes(2)) entry.value = field.bytes;
    }
    return entry;
  }

  void FunctionAttribute(std::string_view bytes) {
    const Entry entry = EntryOf(bytes);
    WireReader reader(entry.value);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsVarint(5)) builder_.FunctionFlag(entry.key, field.AsBool());
    }
  }

  void Node(std::string_view bytes, bool in_function) {
    builder_.BeginNode(in_function);
    TensorFlowNode& node = builder_.node();
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(1)) node.name = field.bytes;
      if (field.tag == AsBytes(2)) node.op = field.bytes;
      if (field.tag == AsBytes(3)) node.inputs.emplace_back(field.bytes);
      if (field.tag == AsBytes(4)) node.device = field.bytes;
      if (field.tag == AsBytes(5)) {
        const Entry entry = EntryOf(field.bytes);
        Value(entry.key, entry.value);
      }
    }
    builder_.EndNode();
  }

  void Value(std::string_view key, std::string_view bytes) {
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(1)) List(key, field.bytes);
      if (field.tag == AsBytes(2)) builder_.String(key, std::string(field.bytes));
      if (field.tag == AsVarint(5)) builder_.Flag(key, field.AsBool());
      if (field.tag == AsVarint(3)) builder_.Flag(key, false);
      if (field.tag == AsVarint(6)) builder_.Type(key, field.AsInt32());
      if (field.tag == AsBytes(8) && key == "value") Tensor(field.bytes);
      if (field.tag == AsBytes(10)) Functions(field.bytes, 0);
    }
  }

  // The function, and those that its attributes name.
  void Functions(std::string_view bytes, int nested) {
    if (nested > kMaxGraphNesting) return;
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(1)) builder_.Function(std::string(field.bytes));
      if (field.tag == AsBytes(2)) FunctionsOfValue(EntryOf(field.bytes).value, nested + 1);
    }
  }
  void FunctionsOfValue(std::string_view bytes, int nested) {
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(10)) Functions(field.bytes, nested);
      if (field.tag != AsBytes(1)) continue;
      WireReader list(field.bytes);
      WireField part;
      while (list.Next(part)) {
        if (part.tag == AsBytes(9)) Functions(part.bytes, nested);
      }
    }
  }

  void List(std::string_view key, std::string_view bytes) {
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsVarint(6)) builder_.Type(key, field.AsInt32());
      if (field.tag == AsBytes(6)) {
        WireReader packed(field.bytes);
        uint64_t type;
        while (packed.NextVarint(type)) builder_.Type(key, static_cast<int32_t>(type));
      }
      if (field.tag == AsBytes(7) && key == "_output_shapes") Shape(field.bytes);
      if (field.tag == AsBytes(9)) Functions(field.bytes, 0);
      const bool ints = field.number() == 3;
      if (ints) builder_.Flag(key, false);
    }
  }

  void Tensor(std::string_view bytes) {
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(2)) Shape(field.bytes);
    }
  }

  void Shape(std::string_view bytes) {
    builder_.BeginShape();
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsVarint(3) && field.AsBool()) builder_.UnknownRank();
      if (field.tag != AsBytes(2)) continue;
      int64_t size = 0;
      WireReader dimension(field.bytes);
      WireField part;
      while (dimension.Next(part)) {
        if (part.tag == AsVarint(1)) size = part.AsInt64();
      }
      builder_.Dimension(size);
    }
  }

  GraphBuilder& builder_;
};

}  // namespace

Status ReadGraphWire(std::string_view bytes, GraphBuilder& builder) {
  ReaderOfWire(builder).Graph(bytes);
  return {};
}

}  // namespace hloscope::dump
