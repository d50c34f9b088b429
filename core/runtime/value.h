// Value: what an instruction yields while a module runs: an array, a tuple of values, a token, or
// the error why there is none.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/literal.h"

namespace hloscope::runtime {

// Bytes a kernel writes its result into; shared afterwards.
struct Buffer {
  std::shared_ptr<std::byte[]> bytes;
  size_t size = 0;

  std::byte* data() const { return bytes.get(); }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(bytes.get());
  }
};

// Copies share the bytes. A missing value is not a failure: it becomes one only where a result or a
// side effect depends on it.
class Value {
 public:
  Value() = default;
  static Value Array(hlo::Literal literal);
  // The array of `shape` whose bytes are `buffer`, which must be as long as shape.ByteSize().
  static Value Array(hlo::Shape shape, Buffer buffer);
  static Value Tuple(std::vector<Value> elements);
  static Value Token();
  static Value Missing(Error why);
  // From a literal, tuples taken apart.
  static Value FromLiteral(const hlo::Literal& literal);

  bool is_array() const { return array_ != nullptr; }
  bool is_tuple() const { return tuple_ != nullptr; }
  bool is_missing() const { return missing_ != nullptr; }

  const hlo::Literal& literal() const { return array_->literal; }
  const hlo::Shape& shape() const { return array_->literal.shape(); }
  const std::byte* data() const { return array_->literal.bytes().data(); }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data());
  }
  std::span<const Value> elements() const { return *tuple_; }
  const Error& error() const { return *missing_; }

  // The same elements under another shape of equal byte size.
  Value WithShape(hlo::Shape shape) const;
  // The buffer, if nobody else can see it: then it may be overwritten in place. Null otherwise.
  Buffer TakeBuffer();
  void set_dynamic_sizes(std::vector<int64_t> sizes) {
    array_->literal.set_dynamic_sizes(std::move(sizes));
  }
  // The value as a literal; the error of a missing part.
  Result<hlo::Literal> ToLiteral() const;

 private:
  struct ArrayNode {
    hlo::Literal literal;
    Buffer buffer;  // null where the bytes are not the evaluator's own
    // The array whose bytes these are, where they are seen under another shape.
    std::shared_ptr<const void> source = nullptr;
  };
  std::shared_ptr<ArrayNode> array_;
  std::shared_ptr<const std::vector<Value>> tuple_;
  std::shared_ptr<const Error> missing_;
};

}  // namespace hloscope::runtime
