// IndexVectors: reads start indices out of the index array.
#include "core/eval/index_vectors.h"

#include <algorithm>

#include "core/eval/indices.h"
#include "core/eval/strided_copy.h"

namespace hloscope::eval {

IndexVectors::IndexVectors(const Value& indices, const IndexMap& how, size_t operand_rank)
    : indices_(ReadIndices(indices)), how_(how), start_(operand_rank, 0) {
  const auto dimensions = indices.shape().dimensions();
  const auto strides = RowMajorStrides(dimensions);
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (static_cast<int64_t>(d) == how.vector_dimension) {
      vector_stride_ = strides[d];
      continue;
    }
    batch_sizes_.push_back(dimensions[d]);
    batch_strides_.push_back(strides[d]);
  }
  for (int64_t d : how.index_batching) {
    batching_positions_.push_back(static_cast<size_t>(d > how.vector_dimension ? d - 1 : d));
  }
}

std::span<const int64_t> IndexVectors::StartAt(std::span<const int64_t> batch) {
  const int64_t base = Offset(batch, batch_strides_);
  for (size_t k = 0; k < how_.map.size(); ++k) {
    start_[static_cast<size_t>(how_.map[k])] =
        indices_[static_cast<size_t>(base + static_cast<int64_t>(k) * vector_stride_)];
  }
  for (size_t i = 0; i < how_.operand_batching.size(); ++i) {
    start_[static_cast<size_t>(how_.operand_batching[i])] = batch[batching_positions_[i]];
  }
  return start_;
}

}  // namespace hloscope::eval
