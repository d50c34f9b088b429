// Products of matrices of doubles, the inner loop of dot and convolution: the right side is packed
// into panels of columns, tiles of the result are kept in registers.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/eval/machine/machine.h"

namespace hloscope::eval {

inline constexpr int64_t kPanelColumns = 16;
constexpr int64_t PanelCount(int64_t columns) {
  return (columns + kPanelColumns - 1) / kPanelColumns;
}
// Elements of a packed right side; its columns are padded with zeros to whole panels.
constexpr int64_t PackedCount(int64_t depth, int64_t columns) {
  return PanelCount(columns) * kPanelColumns * depth;
}

// Packs columns [first, first + columns) of a matrix of `depth` rows, `stride` elements of `type`
// apart, on all threads. `packed` has room for PackedCount and is aligned to 64 bytes.
Status PackRight(Machine& machine, hlo::ElementType type, const std::byte* data, int64_t depth,
                 int64_t stride, int64_t first, int64_t columns, double* packed);

// True if products of such elements are exact in f64: then fused operations round the same.
bool HasExactProducts(hlo::ElementType left, hlo::ElementType right);

// A block of a product: out[r][c] = Σ_k left[r][k]·right[k][c] in order of k, for `rows` rows of
// `left` and the columns of panels [panel, panel_end). A row of `out` has all of these columns,
// padding too. The result does not depend on the processor.
struct ProductBlock {
  const double* left;
  int64_t rows, depth;
  const double* packed;
  int64_t panel, panel_end;
  double* out;
  bool exact_products;
};
void Multiply(const ProductBlock& block);

}  // namespace hloscope::eval
