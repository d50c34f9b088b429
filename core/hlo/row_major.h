// Row-major order: how dense arrays lie in a Literal, whatever their layouts say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace hloscope::hlo {

// Elements between neighbours of each dimension of a dense row-major array.
inline std::vector<int64_t> RowMajorStrides(std::span<const int64_t> dimensions) {
  std::vector<int64_t> strides(dimensions.size());
  int64_t stride = 1;
  for (size_t i = dimensions.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(dimensions[i], 1);
  }
  return strides;
}

}  // namespace hloscope::hlo
