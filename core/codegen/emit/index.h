// Index: which element of an array each lane of a vector wants, and how operations that move
// elements change it.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace hloscope::codegen {

// A number per lane: base + lane·step, base + a constant of each lane, or any.
struct LaneNumber {
  llvm::Value* base = nullptr;  // i64
  int64_t step = 0;
  llvm::Value* lanes = nullptr;  // where not null, a vector that stands for the whole number
  // base is known to be `rest` more than a multiple of `multiple`; where that is 0, to be `rest`.
  int64_t multiple = 1, rest = 0;
  llvm::Constant* pattern = nullptr;  // where not null, i64 of each lane that stand for lane·step

  bool is_uniform() const { return lanes == nullptr && pattern == nullptr && step == 0; }
  // What is added to base in a lane; `lanes` is null.
  int64_t AddedIn(int lane) const;
  auto operator<=>(const LaneNumber&) const = default;
};

// `first` in the first of `width` lanes, and one more in each lane behind it. `multiple`: what is
// known to divide `first`.
inline LaneNumber LanesFrom(llvm::Value* first, int width, int64_t multiple = 1) {
  return {first, width == 1 ? 0 : 1, nullptr, multiple};
}

// The dimensions from one on, as one row-major number.
struct IndexGroup {
  size_t count = 1;
  LaneNumber number;
  auto operator<=>(const IndexGroup&) const = default;
};

// Groups cover all dimensions of the array in order. Numbers of lanes outside the mask may lie
// outside the array.
struct Index {
  std::vector<IndexGroup> groups;
  llvm::Value* mask = nullptr;  // a vector of i1; null: all lanes

  bool is_uniform() const;
  auto operator<=>(const Index&) const = default;
};

// Arithmetic of lane numbers and indices. Sums of products with constants are kept as base and step
// where they can be.
class IndexMath {
 public:
  // Vectors of numbers are made of `lane_bits` wide integers.
  IndexMath(llvm::IRBuilder<>& builder, int width, int lane_bits)
      : b_(builder), width_(width), lane_bits_(lane_bits) {}

  int width() const { return width_; }
  int lane_bits() const { return lane_bits_; }
  llvm::IRBuilder<>& builder() { return b_; }

  LaneNumber Constant(int64_t value) const;
  LaneNumber Add(const LaneNumber& a, const LaneNumber& b);
  LaneNumber AddConstant(const LaneNumber& a, int64_t c) { return Add(a, Constant(c)); }
  LaneNumber Multiply(const LaneNumber& a, int64_t factor);
  // Of numbers that are not negative: the number or, where that is larger, `most`.
  LaneNumber AtMost(const LaneNumber& a, int64_t most);
  // Of such, whether each is below `end`: one bit where all lanes have the same number, else one
  // for each.
  llvm::Value* IsBelow(const LaneNumber& a, int64_t end);
  // Quotient and remainder of numbers that are not negative. Of a negative number the remainder by
  // a power of two is right, the quotient is not.
  std::pair<LaneNumber, LaneNumber> Divide(const LaneNumber& a, int64_t divisor);
  // The last of several numbers that `rest` is made of, row-major, where it runs below `size`;
  // `rest` becomes what the others make.
  LaneNumber TakeLast(llvm::Value*& rest, int64_t size);
  // As a vector of `lane_bits` integers, whether or not they differ.
  llvm::Value* Vector(const LaneNumber& a);
  LaneNumber FromVector(llvm::Value* lanes) const { return {nullptr, 0, lanes, 1}; }
  LaneNumber FromScalar(llvm::Value* scalar) const { return {scalar, 0, nullptr, 1}; }

  // Splits the group that reaches across the border before dimension `at`.
  void CutAt(Index& index, std::span<const int64_t> sizes, size_t at);
  // The number of dimension d alone.
  LaneNumber& Of(Index& index, std::span<const int64_t> sizes, size_t d);
  // Where the element lies in a dense array.
  LaneNumber Offset(const Index& index, std::span<const int64_t> sizes);
  // The index of an operand whose dimension j follows dimension from[j] of the result.
  Index Select(Index index, std::span<const int64_t> sizes, std::span<const int64_t> from);
  // The index of the same element in an array of other sizes and as many elements.
  Index Reshape(Index index, std::span<const int64_t> sizes, std::span<const int64_t> to);

 private:
  // base + what `of_lane` adds in each lane.
  LaneNumber WithPattern(LaneNumber base, const std::function<int64_t(int lane)>& of_lane);
  llvm::Value* Added(const LaneNumber& a);  // as a vector of `lane_bits` integers

  llvm::IRBuilder<>& b_;
  int width_, lane_bits_;
};

int64_t ProductOf(std::span<const int64_t> sizes);
// True if dimension d is in the list.
bool Contains(std::span<const int64_t> list, size_t d);

}  // namespace hloscope::codegen
