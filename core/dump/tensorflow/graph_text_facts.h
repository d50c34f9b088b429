// GraphTextFacts: what is kept of a GraphDef's text. Fields of a message come in any order, so what
// belongs to an attribute or a node is kept until that ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dump/tensorflow/graph_builder.h"
#include "core/dump/tensorflow/graph_losses.h"
#include "core/dump/tensorflow/graph_text_value.h"

namespace hloscope::dump {

class GraphTextFacts {
 public:
  GraphTextFacts(GraphBuilder& builder, GraphLosses& losses) : builder_(builder), losses_(losses) {}

  // A message below the last one that is open; unknown ones, whose name is empty, too.
  void Open(std::string_view message);
  // The last one that is open ends. `is_whole` is false where the text ends before it.
  void Close(bool is_whole);
  // A field of the last one, of the kind that it must have.
  void Take(const GraphField& field, const GraphTextValue& value, const GraphPlace& place);

 private:
  using Shapes = std::vector<std::optional<std::vector<int64_t>>>;
  struct Attribute {
    std::string key;
    std::optional<std::string> text;
    std::optional<bool> flag;
    bool has_integers = false;
    std::vector<int32_t> types;
    std::vector<std::string> functions;
    Shapes list, tensor;  // of a list of shapes; of the value of a constant
  };

  std::string_view Parent() const {
    return open_.size() < 2 ? std::string_view() : open_[open_.size() - 2];
  }
  bool IsInFunction() const { return open_.size() > 2 && open_[2] == "FunctionDef"; }
  // How deep the last message is inside the attribute; -1: in none of a node or function.
  int64_t Inside() const {
    return attribute_depth_ == 0 ? -1 : std::ssize(open_) - static_cast<int64_t>(attribute_depth_);
  }
  void OpenShape();
  void TakeNode(const GraphField& field, const GraphTextValue& value, const GraphPlace& place);
  void TakeAttribute(const GraphField& field, const GraphTextValue& value);
  void CloseNode(bool is_whole);
  void CloseAttribute();

  GraphBuilder& builder_;
  GraphLosses& losses_;
  std::vector<std::string_view> open_;  // names of messages, outermost first
  Attribute attribute_;
  size_t attribute_depth_ = 0;  // size of open_ with it as the last; 0: none is open
  Shapes* shapes_ = nullptr;    // that dimensions belong to
  std::vector<std::pair<std::string, GraphPlace>> inputs_;  // of the node
};

}  // namespace hloscope::dump
