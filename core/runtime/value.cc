// Value: sharing, reuse of buffers, and the way from and to literals.
#include "core/runtime/value.h"

namespace hloscope::runtime {

using hlo::Literal;
using hlo::Shape;

Value Value::Array(Literal literal) {
  Value value;
  value.array_ = std::make_shared<ArrayNode>(ArrayNode{std::move(literal), {}});
  return value;
}

Value Value::Array(Shape shape, Buffer buffer) {
  std::span<const std::byte> bytes(buffer.data(), buffer.size);
  Value value;
  value.array_ = std::make_shared<ArrayNode>(
      ArrayNode{Literal::View(std::move(shape), bytes, buffer.bytes), std::move(buffer)});
  return value;
}

Value Value::Tuple(std::vector<Value> elements) {
  Value value;
  value.tuple_ = std::make_shared<const std::vector<Value>>(std::move(elements));
  return value;
}

Value Value::Token() { return Array(Literal::Token()); }

Value Value::Missing(Error why) {
  Value value;
  value.missing_ = std::make_shared<const Error>(std::move(why));
  return value;
}

Value Value::FromLiteral(const Literal& literal) {
  if (!literal.shape().IsTuple()) return Array(literal);
  std::vector<Value> elements;
  for (const Literal& element : literal.elements()) elements.push_back(FromLiteral(element));
  return Tuple(std::move(elements));
}

Value Value::WithShape(Shape shape) const {
  // Shapes upon shapes share the first array: each on the one before would make a chain as long as
  // a loop runs.
  std::shared_ptr<const void> source = array_->source;
  if (source == nullptr && array_->buffer.bytes == nullptr) source = array_;
  std::shared_ptr<const void> owner = source;
  if (owner == nullptr) owner = array_->buffer.bytes;
  Value value;
  value.array_ = std::make_shared<ArrayNode>(
      ArrayNode{Literal::View(std::move(shape), array_->literal.bytes(), std::move(owner)),
                array_->buffer, std::move(source)});
  return value;
}

Buffer Value::TakeBuffer() {
  // Two owners are this node's own: its buffer and its literal.
  if (array_ == nullptr || array_.use_count() != 1) return {};
  if (array_->buffer.bytes == nullptr || array_->buffer.bytes.use_count() != 2) return {};
  Buffer buffer = std::move(array_->buffer);
  array_.reset();
  return buffer;
}

Result<Literal> Value::ToLiteral() const {
  if (is_missing()) return std::unexpected(*missing_);
  if (is_array()) return array_->literal;
  std::vector<Literal> elements;
  if (is_tuple()) {
    for (const Value& element : *tuple_) {
      HLOSCOPE_ASSIGN_OR_RETURN(Literal literal, element.ToLiteral());
      elements.push_back(std::move(literal));
    }
  }
  return Literal::Tuple(std::move(elements));
}

}  // namespace hloscope::runtime
