// Literal: a value. Shape plus shared immutable bytes, or a tuple of literals, or "elided" (shape
// known, bytes not).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/hlo/shape.h"

namespace hloscope::hlo {

// Elements are stored dense in row-major (logical) order whatever the layout, StorageBytes(type)
// bytes each, host byte order. pred is 0 or 1. Narrow integers are sign- or zero-extended to a
// byte; f4/f6 use the low bits. A dynamic array keeps its bound's bytes and says the live sizes in
// dynamic_sizes().
class Literal {
 public:
  Literal() = default;
  // `bytes` must be exactly shape.ByteSize() long (a precondition). `owner` keeps them alive.
  static Literal View(Shape shape, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> owner);
  // Takes the bytes; they must be exactly shape.ByteSize() long (a precondition).
  static Literal Dense(Shape shape, std::vector<std::byte> bytes);
  // Typed convenience: Literal::Of<float>(shape, {1, 2, 3}).
  template <typename T>
  static Literal Of(Shape shape, std::span<const T> values) {
    auto raw = std::as_bytes(values);
    return Dense(std::move(shape), {raw.begin(), raw.end()});
  }
  // A value whose bytes the file does not hold (`constant({...})`); shape must be an array or
  // tuple.
  static Literal Elided(Shape shape);
  static Literal Tuple(std::vector<Literal> elements);
  static Literal Token();

  const Shape& shape() const { return shape_; }
  // True if the bytes are unknown; for a tuple, if any leaf's are.
  bool elided() const;
  std::span<const std::byte> bytes() const { return bytes_; }
  template <typename T>
  std::span<const T> data() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  std::span<const Literal> elements() const { return elements_; }
  // Live size of each dimension; empty if all are the shape's own.
  std::span<const int64_t> dynamic_sizes() const { return dynamic_sizes_; }
  // The sizes of the live part, whether dynamic or not; a copy.
  std::vector<int64_t> live_sizes() const;
  void set_dynamic_sizes(std::vector<int64_t> sizes) { dynamic_sizes_ = std::move(sizes); }
  // The live part of a dynamic array as an array of its own; any other literal as it is.
  Literal Live() const;
  void set_layout(Layout layout) { shape_.set_layout(std::move(layout)); }

  // Same shape up to layout and same bits.
  bool operator==(const Literal&) const;

 private:
  Shape shape_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::vector<Literal> elements_;
  std::vector<int64_t> dynamic_sizes_;
  bool elided_ = false;
};

// Array and token leaves from `next` on, put together as a value of `shape`, `next` moving past
// them; nullopt if there are too few.
std::optional<Literal> NestLeaves(const Shape& shape, std::span<const Literal> leaves,
                                  size_t& next);

}  // namespace hloscope::hlo
