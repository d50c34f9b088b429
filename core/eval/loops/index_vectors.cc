// IndexVectors: starts of many windows at once, one component after the other.
#include "core/eval/loops/index_vectors.h"

#include <algorithm>
#include <array>

#include "core/eval/machine/indices.h"
#include "core/eval/machine/strided_copy.h"

namespace hloscope::eval {
namespace {

constexpr size_t kBlock = 1024;  // windows at once

std::vector<int64_t> Without(std::span<const int64_t> values, int64_t position) {
  std::vector<int64_t> rest;
  for (size_t i = 0; i < values.size(); ++i) {
    if (static_cast<int64_t>(i) != position) rest.push_back(values[i]);
  }
  return rest;
}

}  // namespace

RowMajorOffsets::RowMajorOffsets(std::vector<int64_t> sizes, std::vector<int64_t> strides)
    : sizes_(std::move(sizes)), strides_(std::move(strides)) {
  bool is_even = true;
  for (size_t d = sizes_.size(); d-- > 0;) {
    if (sizes_[d] != 1) {
      if (step_ == 0) step_ = strides_[d];
      is_even &= strides_[d] == step_ * count_;
    }
    count_ *= sizes_[d];
  }
  if (!is_even) step_ = 0;
  if (count_ == 1) step_ = 1;
}

void RowMajorOffsets::At(int64_t begin, std::span<int64_t> offsets) const {
  if (step_ != 0) {
    for (size_t i = 0; i < offsets.size(); ++i) {
      offsets[i] = (begin + static_cast<int64_t>(i)) * step_;
    }
    return;
  }
  std::vector<int64_t> index = IndexAt(begin, sizes_);
  for (int64_t& offset : offsets) {
    offset = Offset(index, strides_);
    NextIndex(index, sizes_);
  }
}

IndexVectors::IndexVectors(const Value& indices, const IndexMap& how, const hlo::Shape& operand,
                           std::span<const int64_t> live, std::span<const int64_t> extent)
    : indices_(indices),
      bases_(Without(indices.shape().dimensions(), how.vector_dimension),
             Without(RowMajorStrides(indices.shape().dimensions()), how.vector_dimension)) {
  const auto dimensions = indices.shape().dimensions();
  const auto index_strides = RowMajorStrides(dimensions);
  const auto strides = RowMajorStrides(operand.dimensions());
  const auto vector_dimension = static_cast<size_t>(how.vector_dimension);
  const int64_t step = vector_dimension < dimensions.size() ? index_strides[vector_dimension] : 0;
  const auto component = [&](int64_t dimension) {
    const auto d = static_cast<size_t>(dimension);
    return Component{live[d] - extent[d], strides[d]};
  };
  for (size_t k = 0; k < how.map.size(); ++k) {
    // The batch alone decides where a batching dimension begins.
    if (std::ranges::find(how.operand_batching, how.map[k]) != how.operand_batching.end()) continue;
    read_.push_back(component(how.map[k]));
    read_.back().at = static_cast<int64_t>(k) * step;
  }
  for (size_t i = 0; i < how.operand_batching.size(); ++i) {
    batching_.push_back(component(how.operand_batching[i]));
    const auto follows = static_cast<size_t>(how.index_batching[i]);
    batching_.back().size = dimensions[follows];
    for (size_t d = follows + 1; d < dimensions.size(); ++d) {
      if (d != vector_dimension) batching_.back().inner *= dimensions[d];
    }
  }
}

void IndexVectors::Add(const Component& component, Outside outside, std::span<const int64_t> starts,
                       std::span<int64_t> offsets) {
  for (size_t i = 0; i < offsets.size(); ++i) {
    const int64_t inside = std::max<int64_t>(0, std::min(starts[i], component.limit));
    const bool stays = outside == Outside::kMoved || (inside == starts[i] && component.limit >= 0);
    offsets[i] = stays && offsets[i] >= 0 ? offsets[i] + inside * component.stride : -1;
  }
}

// Element `at` of the vectors at `bases`.
void IndexVectors::StartsAt(std::span<const int64_t> bases, int64_t at,
                            std::span<int64_t> starts) const {
  const hlo::ElementType type = indices_.shape().element_type();
  const int bytes = hlo::StorageBytes(type);
  if (bases_.step() == 1) {
    return LoadIndices(type, indices_.data() + (bases[0] + at) * bytes, starts);
  }
  WithBytes(bytes, [&]<typename T>(T) {
    std::array<T, kBlock> picked;
    for (size_t i = 0; i < bases.size(); ++i) picked[i] = indices_.as<T>()[bases[i] + at];
    LoadIndices(type, reinterpret_cast<const std::byte*>(picked.data()), starts);
  });
}

void IndexVectors::BlockAt(int64_t begin, Outside outside, std::span<int64_t> offsets) const {
  std::array<int64_t, kBlock> all_bases, all_starts;
  const auto bases = std::span(all_bases).first(offsets.size());
  const auto starts = std::span(all_starts).first(offsets.size());
  bases_.At(begin, bases);
  std::ranges::fill(offsets, 0);
  for (const Component& component : read_) {
    StartsAt(bases, component.at, starts);
    Add(component, outside, starts, offsets);
  }
  for (const Component& component : batching_) {
    for (size_t i = 0; i < starts.size(); ++i) {
      starts[i] = (begin + static_cast<int64_t>(i)) / component.inner % component.size;
    }
    Add(component, outside, starts, offsets);
  }
}

void IndexVectors::OffsetsAt(int64_t begin, Outside outside, std::span<int64_t> offsets) const {
  for (size_t done = 0; done < offsets.size(); done += kBlock) {
    BlockAt(begin + static_cast<int64_t>(done), outside,
            offsets.subspan(done, std::min(kBlock, offsets.size() - done)));
  }
}

}  // namespace hloscope::eval
