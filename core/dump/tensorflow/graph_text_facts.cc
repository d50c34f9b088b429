// Which fields of a GraphDef say what: graph.proto, node_def.proto, attr_value.proto,
// function.proto, tensor.proto and tensor_shape.proto of TensorFlow.
#include "core/dump/tensorflow/graph_text_facts.h"

namespace hloscope::dump {
namespace {

// Messages inside an attribute: AttrEntry 0, AttrValue 1, ListValue or TensorProto 2, a shape in it
// 3, its dimensions 4.
constexpr int64_t kInValue = 1, kInList = 2, kInShape = 3, kInDimension = 4;

}  // namespace

void GraphTextFacts::Open(std::string_view message) {
  open_.push_back(message);
  if (message == "FunctionDef") {
    builder_.BeginFunction();
    losses_.BeginFunction();
  } else if (message == "NodeDef") {
    builder_.BeginNode(IsInFunction());
    losses_.SetNode({});
    inputs_.clear();
  } else if (message == "AttrEntry" && (Parent() == "NodeDef" || Parent() == "FunctionDef")) {
    attribute_ = {};
    attribute_depth_ = open_.size();
  } else if (message == "TensorShapeProto" && Inside() == kInShape) {
    shapes_ = Parent() == "ListValue" ? &attribute_.list : &attribute_.tensor;
    shapes_->emplace_back(std::vector<int64_t>());
  } else if (message == "Dim" && Inside() == kInDimension && shapes_->back()) {
    shapes_->back()->push_back(0);  // protobuf does not write a size of 0
  }
}

void GraphTextFacts::Close(bool is_whole) {
  const std::string_view message = open_.back();
  if (open_.size() == attribute_depth_) {
    CloseAttribute();
    attribute_depth_ = 0;
  }
  if (message == "NodeDef") CloseNode(is_whole);
  if (message == "FunctionDef" && is_whole) losses_.EndFunction();
  open_.pop_back();
}

void GraphTextFacts::Take(const GraphField& field, const GraphTextValue& value,
                          const GraphPlace& place) {
  if (field.message == "NodeDef") return TakeNode(field, value, place);
  if (field.message == "OpDef" && field.name == "name" && Parent() == "FunctionDef")
    builder_.NameFunction(value.text);
  if (field.message == "ArgDef" && field.name == "name") losses_.Argument(value.text);
  if (attribute_depth_ != 0) TakeAttribute(field, value);
}

void GraphTextFacts::TakeNode(const GraphField& field, const GraphTextValue& value,
                              const GraphPlace& place) {
  TensorFlowNode& node = builder_.node();
  if (field.name == "name") {
    node.name = value.text;
    losses_.Node(node.name, place);
    losses_.SetNode(node.name);
  } else if (field.name == "op") {
    node.op = value.text;
  } else if (field.name == "device") {
    node.device = value.text;
  } else if (field.name == "input") {
    node.inputs.push_back(value.text);
    inputs_.emplace_back(value.text, place);
  }
}

void GraphTextFacts::TakeAttribute(const GraphField& field, const GraphTextValue& value) {
  const int64_t inside = Inside();
  const bool is_value = (field.message == "AttrValue" && inside == kInValue) ||
                        (field.message == "ListValue" && inside == kInList);
  if (inside == 0 && field.name == "key") {
    attribute_.key = value.text;
  } else if (field.message == "NameAttrList" && field.name == "name") {
    attribute_.functions.push_back(value.text);
  } else if (is_value && field.name == "s" && inside == kInValue) {
    attribute_.text = value.text;
  } else if (is_value && field.name == "b" && inside == kInValue) {
    attribute_.flag = *value.Bool();
  } else if (is_value && field.name == "i") {
    attribute_.has_integers = true;
  } else if (is_value && field.name == "type") {
    attribute_.types.push_back(*value.Type());
  } else if (field.message == "Dim" && field.name == "size" && inside == kInDimension) {
    if (shapes_->back()) shapes_->back()->back() = *value.Integer();
  } else if (field.name == "unknown_rank" && inside == kInShape && *value.Bool()) {
    shapes_->back() = std::nullopt;
  }
}

void GraphTextFacts::CloseAttribute() {
  if (Parent() == "FunctionDef") {
    if (attribute_.flag) builder_.FunctionFlag(attribute_.key, *attribute_.flag);
    return;
  }
  if (attribute_.text) builder_.String(attribute_.key, *std::move(attribute_.text));
  if (attribute_.flag) builder_.Flag(attribute_.key, *attribute_.flag);
  if (attribute_.has_integers) builder_.Flag(attribute_.key, false);
  for (const int32_t type : attribute_.types) builder_.Type(attribute_.key, type);
  for (std::string& function : attribute_.functions) builder_.Function(std::move(function));
  Shapes& shapes = attribute_.key == "value" ? attribute_.tensor : attribute_.list;
  if (attribute_.key != "value" && attribute_.key != "_output_shapes") return;
  for (auto& shape : shapes) builder_.node().shapes.push_back(std::move(shape));
}

// Of a node that the text breaks off in nothing is known for sure.
void GraphTextFacts::CloseNode(bool is_whole) {
  const std::string& name = builder_.node().name;
  for (const auto& [input, place] : inputs_) losses_.Input(name, input, place);
  losses_.SetNode({});
  if (is_whole) builder_.EndNode();
}

}  // namespace hloscope::dump
