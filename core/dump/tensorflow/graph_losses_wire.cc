// Losses of a GraphDef in protobuf's wire format.
#include <fmt/format.h>

#include "core/base/text.h"
#include "core/dump/tensorflow/graph_losses.h"
#include "core/dump/tensorflow/tensorflow_graph.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::dump {
namespace {

using hlo::WireField;
using hlo::WireReader;

// How a value of the kind is stored: the last three bits of a tag.
uint32_t WireTypeOf(GraphFieldKind kind) {
  switch (kind) {
    using enum GraphFieldKind;
    case kString:
    case kBytes:
    case kMessage:
      return 2;
    case kFloat:
      return 5;
    case kDouble:
    case kFixed64:
      return 1;
    default:
      return 0;
  }
}

class WireLosses {
 public:
  explicit WireLosses(std::string_view bytes) : begin_(bytes.data()) {
    Message(bytes, kGraphMessage, 0);
  }
  std::vector<Error> Finish() {
    losses_.SetNode({});
    return losses_.Finish();
  }

 private:
  GraphPlace PlaceOf(const char* at) const { return {.byte = at - begin_}; }
  void Complain(const char* at, const std::string& what) {
    if (!what.empty()) losses_.Add(PlaceOf(at), what);
  }

  void Message(std::string_view bytes, std::string_view message, int nested) {
    if (message == "NodeDef") losses_.SetNode({});
    if (message == "FunctionDef") losses_.BeginFunction();
    OpenGraphMessage open(message);
    std::string node;
    WireReader reader(bytes);
    WireField field;
    const char* at = bytes.data();
    for (; reader.Next(field); at = field.raw.data() + field.raw.size()) {
      const GraphField* row = FindGraphField(message, field.number());
      if (row == nullptr) {
        Complain(at, fmt::format("{} has no field {}", message, field.number()));
        continue;
      }
      Complain(at, open.Add(*row));
      const uint32_t stored = field.tag & 7, expected = WireTypeOf(row->kind);
      const bool packed = row->repeated && stored == 2 && expected != 2;
      if (stored != expected && !packed) {
        Complain(at, fmt::format("{} of {} is not stored as its kind is", row->name, message));
      } else if (packed) {
        Packed(*row, field.bytes, at);
      } else if (row->kind == GraphFieldKind::kMessage) {
        Inner(*row, field.bytes, at, nested);
      } else {
        Value(*row, field, at, node);
      }
    }
    if (!reader.ok()) {
      Complain(at, fmt::format("{} is damaged or cut off", message));
    } else {
      Complain(bytes.data() + bytes.size(), open.Missing());
    }
    if (message == "NodeDef") losses_.SetNode({});
    if (message == "FunctionDef") losses_.EndFunction();
  }

  void Inner(const GraphField& row, std::string_view bytes, const char* at, int nested) {
    if (nested >= kMaxGraphNesting) return Complain(at, "nested too deeply");
    Message(bytes, row.inner, nested + 1);
  }

  void Packed(const GraphField& row, std::string_view bytes, const char* at) {
    const uint32_t stored = WireTypeOf(row.kind);
    bool good = stored == 5 ? bytes.size() % 4 == 0 : stored == 1 ? bytes.size() % 8 == 0 : true;
    if (stored == 0) {
      WireReader reader(bytes);
      uint64_t value;
      while (reader.NextVarint(value)) Number(row, value, at);
      good = reader.ok();
    }
    if (!good) Complain(at, fmt::format("the list {} is damaged", row.name));
  }

  void Number(const GraphField& row, uint64_t value, const char* at) {
    const bool type = row.kind == GraphFieldKind::kType && value != 0;
    if (type &&
        (value > INT32_MAX || TensorFlowTypeName(static_cast<int32_t>(value)).starts_with("type ")))
      Complain(at, fmt::format("{}: {} is not a type of TensorFlow", row.name, value));
    if (row.kind == GraphFieldKind::kBool && value > 1)
      Complain(at, fmt::format("{}: expected 0 or 1, got {}", row.name, value));
  }

  void Value(const GraphField& row, const WireField& field, const char* at, std::string& node) {
    if (WireTypeOf(row.kind) == 0) return Number(row, field.value, at);
    if (row.kind == GraphFieldKind::kString && !IsUtf8(field.bytes))
      return Complain(at, fmt::format("{} of {} is not UTF-8", row.name, row.message));
    if (row.message == "NodeDef" && row.name == "name") {
      node = field.bytes;
      losses_.Node(node, PlaceOf(at));
      losses_.SetNode(node);
    }
    if (row.message == "NodeDef" && row.name == "input")
      losses_.Input(node, field.bytes, PlaceOf(at));
    if (row.message == "ArgDef" && row.name == "name") losses_.Argument(std::string(field.bytes));
  }

  const char* begin_;
  GraphLosses losses_;
};

}  // namespace

std::vector<Error> LossesOfGraphWire(std::string_view bytes) { return WireLosses(bytes).Finish(); }

}  // namespace hloscope::dump
