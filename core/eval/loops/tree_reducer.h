// TreeReducer: folds elements with a reducer in one fixed pairwise tree, so that results depend on
// neither shapes of loops nor threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/eval/loops/vectorized_computation.h"

namespace hloscope::eval {

// The tree: neighbours are combined in pairs, (0 1)(2 3)…, an odd last one is carried over, and the
// same again with what came out. Order is kept, every step is rounded to the reducer's types. The
// initial value is combined once, in front of the tree's result; it alone is the result of nothing.
// A reducer that is not known to be associative folds from the left instead: to the initial value
// come the elements one by one.
class TreeReducer {
 public:
  // A reducer of k values takes 2k parameters. `init` has the k initial elements.
  TreeReducer(VectorizedComputation& reducer, std::span<const std::byte* const> init);

  size_t arity() const { return sizes_.size(); }
  int element_bytes(size_t i) const { return sizes_[i]; }

  // Folds `count` rows of `lanes` elements each, one behind the other in each of the k inputs, to
  // one row, written to out[i]. `lanes` is at most VectorizedComputation::kLanes.
  Status FoldDense(std::span<const std::byte* const> in, int64_t count, int64_t lanes,
                   std::span<std::byte* const> out);
  // The same without the initial value, for an associative reducer and at least one row. Folding
  // what it gives for pieces of 2^n rows is folding all rows.
  Status FoldTree(std::span<const std::byte* const> in, int64_t count, int64_t lanes,
                  std::span<std::byte* const> out);

  // Folds rows of `lanes` elements: row r of input i begins at rows[r * k + i]. Writes `lanes`
  // results each, lane by lane the same as FoldDense. `lanes` is at most
  // VectorizedComputation::kLanes.
  Status FoldColumns(std::span<const std::byte* const> rows, int64_t lanes,
                     std::span<std::byte* const> out);

  // The same without the initial value, for an associative reducer and at least one row.
  Status FoldColumnTrees(std::span<const std::byte* const> rows, int64_t lanes,
                         std::span<std::byte* const> out);
  // What FoldColumns gives for the first row, the first two, and so on, where the reducer is not
  // associative: `out` has one group of places per row.
  Status FoldPrefixes(std::span<const std::byte* const> rows, int64_t lanes,
                      std::span<std::byte* const> out);
  // One row more: the initial value combined with `in`, which is all there is to fold.
  Status CombineInit(std::span<const std::byte* const> in, std::span<std::byte* const> out,
                     int64_t lanes);
  // Rows of nothing but the initial value.
  void CopyInit(int64_t lanes, std::span<std::byte* const> out) const;

  bool is_associative() const { return reducer_.IsAssociative(); }
  VectorizedComputation& reducer() { return reducer_; }

 private:
  // A fold of 2^level rows.
  struct Entry {
    std::vector<const std::byte*> at;
    size_t level;
  };
  // Like adding one to a binary counter: rows are entries of level 0, two of a height become one at
  // once. Entries alternate between two places per level.
  Status Push(std::vector<Entry>& stack, std::span<const std::byte* const> row, int64_t lanes);
  Status CombineTop(std::vector<Entry>& stack, int64_t lanes);

  using Group = std::vector<std::byte*>;  // one place per value
  Status FoldLeft(std::span<const std::byte* const> rows, int64_t lanes,
                  std::span<std::byte* const> out);
  Result<Entry> FoldPairwise(std::span<const std::byte* const> rows, int64_t lanes);
  void CopyOut(std::span<const std::byte* const> from, int64_t lanes,
               std::span<std::byte* const> out) const;
  Group& Scratch(size_t i);
  Status Combine(const Group& left, const Group& right, std::span<std::byte* const> out,
                 int64_t lanes);
  Status FoldBlock(std::span<const std::byte* const> in, int64_t count, int64_t lanes,
                   std::span<std::byte* const> out);

  VectorizedComputation& reducer_;
  std::vector<int> sizes_;
  Group init_;  // kLanes copies of the initial elements
  std::vector<Group> scratch_;
  std::vector<std::unique_ptr<std::byte[]>> storage_;
  std::vector<const std::byte*> operands_;
};

}  // namespace hloscope::eval
