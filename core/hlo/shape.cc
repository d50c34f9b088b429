// Shapes as values: making, comparing, hashing, counting.
#include "core/hlo/shape.h"

#include <algorithm>

#include "core/base/checked.h"
#include "core/base/quick_hash.h"
#include "core/base/work_count.h"

namespace hloscope::hlo {
namespace {

// Calls visit(shape) for `shape` and everything inside it; nesting costs heap, not stack.
template <typename T, typename Visit>
void ForEachInside(T& shape, Visit visit) {
  std::vector<T*> open = {&shape};
  while (!open.empty()) {
    T* next = open.back();
    open.pop_back();
    visit(*next);
    if constexpr (std::is_const_v<T>) {
      for (T& element : next->elements()) open.push_back(&element);
    } else {
      for (T& element : next->mutable_elements()) open.push_back(&element);
    }
  }
}

bool ElementTypesMatch(ElementType a, ElementType b, const ShapeComparison& how) {
  if (!how.element_types || a == b) return true;
  return !how.float_precision && IsFloat(a) && IsFloat(b);
}

bool DimensionsMatch(const Shape& a, const Shape& b, const ShapeComparison& how) {
  if (a.rank() != b.rank()) return false;
  for (size_t i = 0; i < a.rank(); ++i) {
    if (how.dynamic_dimensions) {
      if (a.is_dynamic_dimension(i) != b.is_dynamic_dimension(i)) return false;
    } else if (a.is_unbounded_dimension(i) || b.is_unbounded_dimension(i)) {
      continue;
    }
    if (a.dimension(i) != b.dimension(i)) return false;
  }
  return true;
}

bool LayoutsMatch(const Shape& a, const Shape& b) {
  if (a.has_layout() != b.has_layout()) return false;
  return !a.has_layout() || a.layout() == b.layout();
}

// Everything but the elements of tuples and buffers.
bool OutsideMatches(const Shape& a, const Shape& b, const ShapeComparison& how) {
  if (a.elements().size() != b.elements().size()) return false;
  if (!a.IsArray() || !b.IsArray()) return a.element_type() == b.element_type();
  return ElementTypesMatch(a.element_type(), b.element_type(), how) && DimensionsMatch(a, b, how) &&
         (!how.layouts || LayoutsMatch(a, b));
}

}  // namespace

bool LayoutExtras::operator==(const LayoutExtras& other) const {
  if ((physical_shape == nullptr) != (other.physical_shape == nullptr)) return false;
  if (physical_shape && !(*physical_shape == *other.physical_shape)) return false;
  return tiles == other.tiles && dim_level_types == other.dim_level_types &&
         tail_padding_alignment_in_elements == other.tail_padding_alignment_in_elements &&
         index_primitive_type == other.index_primitive_type &&
         pointer_primitive_type == other.pointer_primitive_type &&
         element_size_in_bits == other.element_size_in_bits && memory_space == other.memory_space &&
         split_configs == other.split_configs &&
         dynamic_shape_metadata_prefix_bytes == other.dynamic_shape_metadata_prefix_bytes;
}

bool Layout::operator==(const Layout& other) const {
  if (minor_to_major != other.minor_to_major) return false;
  if (extras == other.extras) return true;
  static const LayoutExtras kNone;
  return (extras ? *extras : kNone) == (other.extras ? *other.extras : kNone);
}

Layout Layout::Default(size_t rank) {
  Layout layout;
  layout.minor_to_major.resize(rank);
  for (size_t i = 0; i < rank; ++i) layout.minor_to_major[i] = static_cast<int64_t>(rank - 1 - i);
  return layout;
}

Shape Shape::Array(ElementType type, std::vector<int64_t> dimensions) {
  Shape shape;
  shape.type_ = type;
  shape.dimensions_ = std::move(dimensions);
  return shape;
}

Shape Shape::Tuple(std::vector<Shape> elements) {
  Shape shape;
  shape.type_ = ElementType::kTuple;
  shape.elements_ = std::move(elements);
  shape.leaf_ends_.reserve(shape.elements_.size());
  size_t end = 0;
  for (const Shape& element : shape.elements_) {
    end += element.LeafCount();
    shape.leaf_ends_.push_back(static_cast<uint32_t>(end));
  }
  return shape;
}

void Shape::RemoveElement(size_t i) {
  elements_.erase(elements_.begin() + static_cast<ptrdiff_t>(i));
  *this = Tuple(std::move(elements_));
}

Shape Shape::Token() {
  Shape shape;
  shape.type_ = ElementType::kToken;
  return shape;
}

Shape Shape::Opaque() {
  Shape shape;
  shape.type_ = ElementType::kOpaque;
  return shape;
}

Shape Shape::Buffer(Shape element) {
  Shape shape;
  shape.type_ = ElementType::kBuffer;
  shape.elements_.push_back(std::move(element));
  return shape;
}

bool Shape::has_dynamic_dimension() const {
  return std::ranges::any_of(dynamic_, [](uint8_t d) { return d != 0; });
}

bool Shape::has_unbounded_dimension() const {
  return std::ranges::find(dimensions_, kUnboundedSize) != dimensions_.end();
}

bool Shape::is_static() const {
  bool is_static = true;
  ForEachInside(*this, [&](const Shape& s) { is_static &= !s.has_dynamic_dimension(); });
  CountWork(LeafCount());
  return is_static;
}

void Shape::set_dynamic_dimension(size_t i, bool dynamic) {
  if (dynamic_.size() <= i) {
    if (!dynamic) return;
    dynamic_.resize(dimensions_.size(), 0);
  }
  dynamic_[i] = dynamic ? 1 : 0;
}

void Shape::add_dimension(int64_t size, bool dynamic) {
  dimensions_.push_back(size);
  if (!dynamic_.empty()) dynamic_.push_back(0);
  if (dynamic) set_dynamic_dimension(dimensions_.size() - 1, true);
}

Shape Shape::WithDefaultLayouts() const {
  Shape result = *this;
  ForEachInside(result, [](Shape& s) {
    if (s.IsArray() && !s.has_layout()) s.set_layout(Layout::Default(s.rank()));
  });
  return result;
}

Shape Shape::WithDefaultOrder() const {
  Shape result = WithDefaultLayouts();
  ForEachInside(result, [](Shape& s) {
    if (s.IsArray()) s.layout_->minor_to_major = Layout::Default(s.rank()).minor_to_major;
  });
  return result;
}

Shape Shape::WithoutLayouts() const {
  Shape result = *this;
  ForEachInside(result, [](Shape& s) { s.clear_layout(); });
  return result;
}

std::optional<int64_t> Shape::ElementCount() const { return CheckedProduct(dimensions_); }

std::optional<int64_t> Shape::ByteSize() const {
  std::optional<int64_t> total = 0;
  ForEachInside(*this, [&](const Shape& s) {
    if (!s.IsArray() || !total) return;
    std::optional<int64_t> count = s.ElementCount();
    if (count) count = CheckedMul<int64_t>(*count, StorageBytes(s.type_));
    total = count ? CheckedAdd(*total, *count) : std::nullopt;
  });
  CountWork(LeafCount());
  return total;
}

std::vector<std::pair<std::vector<int64_t>, const Shape*>> Shape::Leaves() const {
  std::vector<std::pair<std::vector<int64_t>, const Shape*>> leaves;
  if (!IsTuple()) {
    leaves.emplace_back(std::vector<int64_t>{}, this);
    return leaves;
  }
  // `path` leads to the element to be visited next; `tuples` are the tuples along it.
  std::vector<const Shape*> tuples = {this};
  std::vector<int64_t> path = {0};
  while (!tuples.empty()) {
    auto next = static_cast<size_t>(path.back());
    if (next == tuples.back()->elements_.size()) {
      tuples.pop_back();
      path.pop_back();
      if (!path.empty()) ++path.back();
      continue;
    }
    const Shape& element = tuples.back()->elements_[next];
    if (element.IsTuple()) {
      tuples.push_back(&element);
      path.push_back(0);
    } else {
      leaves.emplace_back(path, &element);
      ++path.back();
    }
  }
  return leaves;
}

std::vector<const Shape*> Shape::LeafShapes() const {
  std::vector<const Shape*> leaves;
  leaves.reserve(LeafCount());
  std::vector<const Shape*> pending = {this};
  while (!pending.empty()) {
    const Shape& next = *pending.back();
    pending.pop_back();
    if (!next.IsTuple()) {
      leaves.push_back(&next);
      continue;
    }
    for (size_t i = next.elements_.size(); i-- > 0;) pending.push_back(&next.elements_[i]);
  }
  return leaves;
}

bool Shape::operator==(const Shape& other) const {
  if (elements_.empty() && other.elements_.empty()) {
    return type_ == other.type_ && DimensionsMatch(*this, other, {}) && LayoutsMatch(*this, other);
  }
  return Compatible(*this, other, {.layouts = true});
}

uint64_t Shape::Hash() const {
  uint64_t hash = 0x9AE16A3B2F90404Fu;
  auto one = [&hash](const Shape& s) {
    hash = QuickMix(hash, static_cast<uint64_t>(s.type_) | (s.elements_.size() << 8));
    for (int64_t d : s.dimensions_) hash = QuickMix(hash, static_cast<uint64_t>(d));
    for (size_t i = 0; i < s.dynamic_.size(); ++i) {
      if (s.dynamic_[i] != 0) hash = QuickMix(hash, ~static_cast<uint64_t>(i));
    }
    if (!s.layout_) return;
    for (int64_t d : s.layout_->minor_to_major) hash = QuickMix(hash, static_cast<uint64_t>(d));
    hash = QuickMix(hash, static_cast<uint64_t>(s.layout_->memory_space()) + 1);
  };
  if (elements_.empty()) {
    one(*this);
  } else {
    ForEachInside(*this, one);
  }
  return hash;
}

bool FitsWithin(std::span<const int64_t> sizes, const Shape& shape) {
  if (sizes.size() != shape.rank()) return false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool shorter =
        shape.is_dynamic_dimension(d) && sizes[d] >= 0 && sizes[d] < shape.dimension(d);
    if (sizes[d] != shape.dimension(d) && !shorter) return false;
  }
  return true;
}

bool Compatible(const Shape& a, const Shape& b, const ShapeComparison& how) {
  if (!OutsideMatches(a, b, how)) return false;
  if (a.elements().empty()) return true;
  std::vector<std::pair<const Shape*, const Shape*>> open = {{&a, &b}};
  while (!open.empty()) {
    auto [x, y] = open.back();
    open.pop_back();
    for (size_t i = 0; i < x->elements().size(); ++i) {
      const Shape& left = x->elements()[i];
      const Shape& right = y->elements()[i];
      if (!OutsideMatches(left, right, how)) return false;
      if (!left.elements().empty()) open.emplace_back(&left, &right);
    }
  }
  return true;
}

}  // namespace hloscope::hlo
