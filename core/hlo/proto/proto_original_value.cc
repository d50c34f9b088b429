// Original values (`origin={…}`) in protos: the leaves with the index of each.
#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/proto_values.h"

namespace hloscope::hlo {
namespace {

using Node = OriginalValue::Node;

struct Element {
  std::vector<int64_t> index;
  std::optional<OriginalArray> array;
};

Result<Element> ReadElement(std::string_view bytes) {
  Element element;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.number() == OriginalElementField::kShapeIndex) {
      if (!AppendInts(field, element.index)) return Malformed("OriginalValueElementProto");
    } else if (field.tag == AsBytes(OriginalElementField::kOriginalArray)) {
      HLOSCOPE_ASSIGN_OR_RETURN(element.array, ReadOriginalArray(field.bytes));
    }
  }
  if (!reader.ok()) return Malformed("OriginalValueElementProto");
  return element;
}

// The node at `index`, made with those before it, of which `budget` is left.
Result<Node*> NodeAt(Node& root, const std::vector<int64_t>& index, const Limits& limits,
                     int64_t& budget) {
  if (std::cmp_greater(index.size(), limits.nesting)) {
    return InputError(fmt::format("an original value is nested more than {} deep", limits.nesting),
                      "raise it with --limit nesting=N");
  }
  Node* node = &root;
  for (int64_t i : index) {
    node->is_tuple = true;
    int64_t left_out = i - static_cast<int64_t>(node->children.size());
    if (i < 0 || left_out > budget) {
      return InputError(fmt::format("an original value has element {} after {}", i,
                                    Counted(node->children.size(), "element")));
    }
    for (; left_out > 0; --left_out, --budget) node->children.emplace_back().is_tuple = true;
    if (left_out == 0) node->children.emplace_back();
    node = &node->children[static_cast<size_t>(i)];
    node->is_tuple = false;
  }
  return node;
}

void WriteNode(WireWriter& out, const Node& node, std::vector<int64_t>& index) {
  if (!node.is_tuple) {
    auto mark = out.Open(OriginalValueField::kElements);
    out.PackedInts(OriginalElementField::kShapeIndex, index);
    if (node.array) WriteOriginalArray(out, OriginalElementField::kOriginalArray, *node.array);
    out.Close(mark);
  }
  for (size_t i = 0; i < node.children.size(); ++i) {
    index.push_back(static_cast<int64_t>(i));
    WriteNode(out, node.children[i], index);
    index.pop_back();
  }
}

}  // namespace

Result<OriginalArray> ReadOriginalArray(std::string_view bytes) {
  OriginalArray array;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(OriginalArrayField::kInstructionName)) array.instruction = field.bytes;
    if (field.number() == OriginalArrayField::kShapeIndex && !AppendInts(field, array.index)) {
      return Malformed("OriginalArrayProto");
    }
  }
  if (!reader.ok()) return Malformed("OriginalArrayProto");
  return array;
}

void WriteOriginalArray(WireWriter& out, uint32_t number, const OriginalArray& array) {
  auto mark = out.Open(number);
  out.BytesUnlessEmpty(OriginalArrayField::kInstructionName, array.instruction);
  out.PackedInts(OriginalArrayField::kShapeIndex, array.index);
  out.Close(mark);
}

Result<OriginalValue> ReadOriginalValue(std::string_view bytes, bool is_tuple,
                                        const Limits& limits) {
  OriginalValue value;
  value.root.is_tuple = is_tuple;
  auto budget = static_cast<int64_t>(bytes.size()) + 1024;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(OriginalValueField::kIsSyntheticCall)) {
      value.synthetic_call = field.AsBool();
    } else if (field.tag == AsBytes(OriginalValueField::kElements)) {
      HLOSCOPE_ASSIGN_OR_RETURN(Element element, ReadElement(field.bytes));
      HLOSCOPE_ASSIGN_OR_RETURN(Node * node, NodeAt(value.root, element.index, limits, budget));
      node->array = std::move(element.array);
      if (node->children.empty()) node->is_tuple = false;  // one value for a whole tuple
    }
  }
  if (!reader.ok()) return Malformed("OriginalValueProto");
  if (value.synthetic_call) value.root = {};
  return value;
}

void WriteOriginalValue(WireWriter& out, const OriginalValue& value) {
  std::vector<int64_t> index;
  if (!value.synthetic_call) WriteNode(out, value.root, index);
  out.BoolUnlessFalse(OriginalValueField::kIsSyntheticCall, value.synthetic_call);
}

}  // namespace hloscope::hlo
