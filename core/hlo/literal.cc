// Literals as values: making and comparing.
#include "core/hlo/literal.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace hloscope::hlo {

Literal Literal::View(Shape shape, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> owner) {
  assert(shape.ByteSize() == static_cast<int64_t>(bytes.size()));
  Literal literal;
  literal.shape_ = std::move(shape);
  literal.bytes_ = bytes;
  literal.owner_ = std::move(owner);
  return literal;
}

Literal Literal::Dense(Shape shape, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  std::span<const std::byte> view(*owner);
  return View(std::move(shape), view, std::move(owner));
}

Literal Literal::Elided(Shape shape) {
  Literal literal;
  if (shape.IsTuple()) {
    for (const Shape& element : shape.elements()) literal.elements_.push_back(Elided(element));
  }
  literal.elided_ = true;
  literal.shape_ = std::move(shape);
  return literal;
}

Literal Literal::Tuple(std::vector<Literal> elements) {
  Literal literal;
  std::vector<Shape> shapes;
  shapes.reserve(elements.size());
  for (const Literal& element : elements) {
    shapes.push_back(element.shape());
    literal.elided_ |= element.elided_;
  }
  literal.shape_ = Shape::Tuple(std::move(shapes));
  literal.elements_ = std::move(elements);
  return literal;
}

Literal Literal::Token() {
  Literal literal;
  literal.shape_ = Shape::Token();
  return literal;
}

Literal Literal::Live() const {
  if (dynamic_sizes_.empty()) return *this;
  const auto size = static_cast<size_t>(StorageBytes(shape_.element_type()));
  Shape shape = Shape::Array(shape_.element_type(), dynamic_sizes_);
  std::vector<std::byte> bytes(static_cast<size_t>(shape.ByteSize().value_or(0)));
  std::vector<int64_t> index(shape.rank(), 0);
  for (size_t to = 0; to < bytes.size(); to += size) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d) from = from * shape_.dimension(d) + index[d];
    std::memcpy(bytes.data() + to, bytes_.data() + static_cast<size_t>(from) * size, size);
    for (size_t d = index.size(); d > 0; --d) {
      if (++index[d - 1] < dynamic_sizes_[d - 1]) break;
      index[d - 1] = 0;
    }
  }
  return Dense(std::move(shape), std::move(bytes));
}

bool Literal::elided() const { return elided_; }

bool Literal::operator==(const Literal& other) const {
  return elided_ == other.elided_ && dynamic_sizes_ == other.dynamic_sizes_ &&
         Compatible(shape_, other.shape_) && bytes_.size() == other.bytes_.size() &&
         (bytes_.empty() || std::memcmp(bytes_.data(), other.bytes_.data(), bytes_.size()) == 0) &&
         std::ranges::equal(elements_, other.elements_);
}

std::vector<int64_t> Literal::live_sizes() const {
  const auto sizes = dynamic_sizes_.empty() ? shape_.dimensions() : dynamic_sizes();
  return {sizes.begin(), sizes.end()};
}

// Shapes nest no deeper than the limit they were read with.
std::optional<Literal> NestLeaves(const Shape& shape, std::span<const Literal> leaves,
                                  size_t& next) {
  if (!shape.IsTuple()) {
    if (next >= leaves.size()) return std::nullopt;
    return leaves[next++];
  }
  std::vector<Literal> elements;
  elements.reserve(shape.elements().size());
  for (const Shape& element : shape.elements()) {
    std::optional<Literal> literal = NestLeaves(element, leaves, next);
    if (!literal) return std::nullopt;
    elements.push_back(*std::move(literal));
  }
  return Literal::Tuple(std::move(elements));
}

}  // namespace hloscope::hlo
