// IndexVectors: the start indices of gather and scatter, one vector per batch position.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/runtime/value.h"

namespace hloscope::eval {

// Σ index·strides for the indices below `sizes`, numbered in row-major order.
class RowMajorOffsets {
 public:
  RowMajorOffsets(std::vector<int64_t> sizes, std::vector<int64_t> strides);

  int64_t count() const { return count_; }
  // How far each is from the one before it, if that is always the same; else 0.
  int64_t step() const { return step_; }
  // Those of indices number begin, begin + 1 …
  void At(int64_t begin, std::span<int64_t> offsets) const;

 private:
  std::vector<int64_t> sizes_, strides_;
  int64_t count_ = 1;
  int64_t step_ = 0;
};

// How index vectors address an operand: component k of a vector is the start in dimension map[k];
// batching dimensions of the operand follow dimensions of the index array.
struct IndexMap {
  int64_t vector_dimension;
  std::span<const int64_t> map;
  std::span<const int64_t> operand_batching, index_batching;
};

class IndexVectors {
 public:
  // Windows of `extent` elements along each dimension of `operand`, of which `live` elements count,
  // begin at the indices.
  IndexVectors(const runtime::Value& indices, const IndexMap& how, const hlo::Shape& operand,
               std::span<const int64_t> live, std::span<const int64_t> extent);

  // Positions of the batch: all dimensions of the index array but the vector's, in row-major order.
  int64_t count() const { return bases_.count(); }
  // What becomes of windows that do not lie inside the operand.
  enum class Outside : uint8_t { kMoved, kLeftOut };
  // Where the windows of batch positions begin, begin + 1 … are in the operand, as offsets of their
  // first elements; -1 for those left out.
  void OffsetsAt(int64_t begin, Outside outside, std::span<int64_t> offsets) const;

 private:
  struct Component {              // of a start
    int64_t limit;                // the largest that lies inside
    int64_t stride;               // of its dimension of the operand
    int64_t at = 0;               // in the index vector
    int64_t inner = 1, size = 1;  // a batching dimension's index is position / inner % size
  };
  void StartsAt(std::span<const int64_t> bases, int64_t at, std::span<int64_t> starts) const;
  void BlockAt(int64_t begin, Outside outside, std::span<int64_t> offsets) const;
  static void Add(const Component& component, Outside outside, std::span<const int64_t> starts,
                  std::span<int64_t> offsets);

  runtime::Value indices_;
  RowMajorOffsets bases_;  // of the vectors in the index array
  std::vector<Component> read_, batching_;
};

}  // namespace hloscope::eval
