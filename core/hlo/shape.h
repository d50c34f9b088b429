// Shape and Layout: what a value looks like. Value types, independent of any module.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/element_type.h"

namespace hloscope::hlo {

class Shape;

// One level of tiling, T(8,128); kCombine stands for `*`.
struct Tile {
  static constexpr int64_t kCombine = std::numeric_limits<int64_t>::min();
  std::vector<int64_t> dimensions;
  bool operator==(const Tile&) const = default;
};

// SC(dimension:index,index,…).
struct SplitConfig {
  int64_t dimension = 0;
  std::vector<int64_t> split_indices;
  bool operator==(const SplitConfig&) const = default;
};

// The rarely used parts of a layout, after the colon of {1,0:T(8,128)E(4)S(5)}.
struct LayoutExtras {
  std::vector<Tile> tiles;
  std::string dim_level_types;  // D(…) of old sparse layouts, verbatim; only carried along
  int64_t tail_padding_alignment_in_elements = 1;              // L
  ElementType index_primitive_type = ElementType::kInvalid;    // #
  ElementType pointer_primitive_type = ElementType::kInvalid;  // *
  int64_t element_size_in_bits = 0;                            // E
  int64_t memory_space = 0;                                    // S
  std::vector<SplitConfig> split_configs;                      // SC
  std::shared_ptr<const Shape> physical_shape;                 // P
  int64_t dynamic_shape_metadata_prefix_bytes = 0;             // M
  bool operator==(const LayoutExtras&) const;
};

struct Layout {
  std::vector<int64_t> minor_to_major;
  std::shared_ptr<const LayoutExtras> extras;  // null: all defaults

  bool operator==(const Layout&) const;
  int64_t memory_space() const { return extras ? extras->memory_space : 0; }
  int64_t element_size_in_bits() const { return extras ? extras->element_size_in_bits : 0; }
  // The default layout of `rank` dimensions: {rank-1, …, 1, 0}.
  static Layout Default(size_t rank);
};

// The leaves of a shape from `begin` to before `end`, numbered in the order of Shape::Leaves().
struct LeafRange {
  size_t begin = 0, end = 0;
  size_t count() const { return end - begin; }
};

// An array, tuple, token, opaque or buffer shape.
class Shape {
 public:
  // The size of an unbounded dynamic dimension, `?`.
  static constexpr int64_t kUnboundedSize = std::numeric_limits<int64_t>::min();

  Shape() = default;
  static Shape Array(ElementType type, std::vector<int64_t> dimensions);  // no layout, all static
  static Shape Array(ElementType type, std::initializer_list<int64_t> dimensions) {
    return Array(type, std::vector<int64_t>(dimensions));
  }
  static Shape Scalar(ElementType type) { return Array(type, std::vector<int64_t>{}); }
  static Shape Tuple(std::vector<Shape> elements);
  static Shape Token();
  static Shape Opaque();
  static Shape Buffer(Shape element);  // b(f32[4])

  ElementType element_type() const { return type_; }
  bool IsArray() const { return IsArrayType(type_); }
  bool IsTuple() const { return type_ == ElementType::kTuple; }
  bool IsToken() const { return type_ == ElementType::kToken; }
  bool IsOpaque() const { return type_ == ElementType::kOpaque; }
  bool IsBuffer() const { return type_ == ElementType::kBuffer; }
  bool IsScalar() const { return IsArray() && dimensions_.empty(); }

  size_t rank() const { return dimensions_.size(); }
  std::span<const int64_t> dimensions() const { return dimensions_; }
  int64_t dimension(size_t i) const {
    return dimensions_[i];
  }  // the bound where dynamic and bounded
  bool is_dynamic_dimension(size_t i) const { return i < dynamic_.size() && dynamic_[i] != 0; }
  bool is_unbounded_dimension(size_t i) const { return dimensions_[i] == kUnboundedSize; }
  bool has_dynamic_dimension() const;    // of this array, not looking into tuples
  bool has_unbounded_dimension() const;  // likewise
  bool is_static() const;                // this shape and all its elements

  void set_element_type(ElementType type) { type_ = type; }
  void set_dimension(size_t i, int64_t size) { dimensions_[i] = size; }
  void set_dynamic_dimension(size_t i, bool dynamic);
  void add_dimension(int64_t size, bool dynamic = false);

  // Elements of a tuple; the single element of a buffer.
  std::span<const Shape> elements() const { return elements_; }
  // Only to change elements in ways that keep their LeafCount().
  std::span<Shape> mutable_elements() { return elements_; }
  void RemoveElement(size_t i);
  // What an instruction with this shape makes: the elements of a tuple, else the shape itself.
  std::span<const Shape> results() const { return IsTuple() ? elements_ : std::span(this, 1); }

  bool has_layout() const { return layout_.has_value(); }
  const Layout& layout() const { return *layout_; }
  void set_layout(Layout layout) { layout_ = std::move(layout); }
  void clear_layout() { layout_.reset(); }
  // The same shape with default layouts filled in on every array without one.
  Shape WithDefaultLayouts() const;
  // The same shape with every array's dimensions in the default order, tiles and all else kept.
  Shape WithDefaultOrder() const;
  // The same shape without any layout, inside tuples too.
  Shape WithoutLayouts() const;

  // Number of elements of an array (bounds where dynamic); nullopt on overflow or an unbounded
  // dimension.
  std::optional<int64_t> ElementCount() const;
  // Bytes of an array in a Literal, of a tuple the sum; nullopt on overflow; 0 for tokens and
  // opaques.
  std::optional<int64_t> ByteSize() const;
  // Array leaves in order, with their indices ({1, 0}); an array or token gives itself with {}.
  std::vector<std::pair<std::vector<int64_t>, const Shape*>> Leaves() const;
  // Leaves() without their indices.
  std::vector<const Shape*> LeafShapes() const;
  // The number of Leaves(). O(1).
  size_t LeafCount() const {
    if (!IsTuple()) return 1;
    return leaf_ends_.empty() ? 0 : leaf_ends_.back();
  }
  // Where the leaves of element `i` of a tuple lie among its Leaves(). O(1).
  LeafRange ElementLeaves(size_t i) const {
    return {i == 0 ? 0 : leaf_ends_[i - 1], leaf_ends_[i]};
  }

  bool operator==(
      const Shape&) const;  // layouts included; an absent one differs from a present one
  uint64_t Hash() const;

 private:
  ElementType type_ = ElementType::kInvalid;
  std::vector<int64_t> dimensions_;
  std::vector<uint8_t> dynamic_;  // empty: all static
  std::vector<Shape> elements_;
  std::vector<uint32_t> leaf_ends_;  // of a tuple: leaves of its elements up to and with each
  std::optional<Layout> layout_;
};

// How closely two shapes have to agree.
struct ShapeComparison {
  bool layouts = false;  // minor_to_major and everything else of the layout
  bool element_types = true;
  bool float_precision = true;     // false: any two float types agree (mixed precision)
  bool dynamic_dimensions = true;  // false: only the bounds matter
};
bool Compatible(const Shape& a, const Shape& b, const ShapeComparison& how = {});
// True if an array of `sizes` fits `shape`: its own dimensions, or less where one is dynamic.
bool FitsWithin(std::span<const int64_t> sizes, const Shape& shape);

// "f32[8,<=128]{1,0:T(8,128)}", as XLA prints it. `layouts` false leaves layouts out.
std::string ToString(const Shape& shape, bool layouts = true);
void AppendTo(std::string& out, const Shape& shape, bool layouts = true);
// "{1,0:T(8,128)}". The level types of old sparse layouts are left out, as XLA does.
void AppendTo(std::string& out, const Layout& layout);

}  // namespace hloscope::hlo
