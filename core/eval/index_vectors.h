// IndexVectors: the start indices of gather and scatter, one vector per batch position.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/eval/value.h"

namespace hloscope::eval {

// How index vectors address an operand: component k of a vector is the start in dimension map[k];
// batching dimensions of the operand follow dimensions of the index array.
struct IndexMap {
  int64_t vector_dimension;
  std::span<const int64_t> map;
  std::span<const int64_t> operand_batching, index_batching;
};

class IndexVectors {
 public:
  IndexVectors(const Value& indices, const IndexMap& how, size_t operand_rank);

  // Sizes of the batch: all dimensions of the index array but the vector's.
  const std::vector<int64_t>& batch_sizes() const { return batch_sizes_; }
  // Start in each dimension of the operand at a batch position; 0 where nothing says otherwise.
  std::span<const int64_t> StartAt(std::span<const int64_t> batch);

 private:
  std::vector<int64_t> indices_;
  IndexMap how_;
  std::vector<int64_t> batch_sizes_, batch_strides_;
  std::vector<size_t> batching_positions_;  // where in the batch each index_batching dimension is
  int64_t vector_stride_ = 0;
  std::vector<int64_t> start_;
};

}  // namespace hloscope::eval
