// Original values (`origin={…}`) in protos: the leaves with the index of each.
#include <fmt/format.h>

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

// The node at `index`, made where it is the next child of its parent. Elements come in order.
Result<Node*> NodeAt(Node& root, const std::vector<int64_t>& index, const Limits& limits) {
  if (std::cmp_greater(index.size(), limits.nesting)) {
    return InputError(fmt::format("an original value is nested more than {} deep", limits.nesting),
                      "raise it with --limit nesting=N");
  }
  Node* node = &root;
  for (int64_t i : index) {
    node->is_tuple = true;
    if (i < 0 || std::cmp_greater(i, node->children.size())) {
      return InputError(fmt::format("an original value has element {} before element {}", i,
                                    node->children.size()));
    }
    if (std::cmp_equal(i, node->children.size())) node->children.emplace_back();
    node = &node->children[static_cast<size_t>(i)];
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
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(OriginalValueField::kIsSyntheticCall)) {
      value.synthetic_call = field.AsBool();
    } else if (field.tag == AsBytes(OriginalValueField::kElements)) {
      HLOSCOPE_ASSIGN_OR_RETURN(Element element, ReadElement(field.bytes));
      HLOSCOPE_ASSIGN_OR_RETURN(Node * node, NodeAt(value.root, element.index, limits));
      node->array = std::move(element.array);
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
