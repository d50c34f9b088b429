// What dot and convolution share: accumulator types, operands converted and transposed for the
// inner loops, and the inner loop itself.
#pragma once

#include <optional>
#include <span>

#include "core/eval/machine/machine.h"
#include "core/eval/machine/strided_copy.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::eval {

// Wider than every element type it stands for; int64_t arithmetic is modulo 2^64.
enum class Accumulator { kInteger, kFloat, kComplex };
Accumulator AccumulatorOf(const KernelCall& call);

inline constexpr int64_t kRowsAtOnce = 4;

// The type to which products of the first two operands are rounded before they are converted to the
// result's.
std::optional<hlo::ElementType> ProductRounding(const KernelCall& call);
void RoundTo(hlo::ElementType type, std::span<double> values);

// Operand i, its dimensions in `order`, outermost first: its own bytes or those of a copy.
struct Ordered {
  Buffer copy;
  const std::byte* data;
};
Result<Ordered> InOrder(KernelCall& call, size_t i, std::span<const int64_t> order);

// Operand i as elements of A, its dimensions in `order`, outermost first.
template <typename A>
Result<Buffer> Arranged(KernelCall& call, size_t i, std::span<const int64_t> order);

// out[r][c] = Σ_k left[r][k]·right[k][c], in order of k, for up to kRowsAtOnce rows; integers wrap.
template <typename A>
void MultiplyRows(const A* left, int64_t rows, int64_t depth, const A* right, int64_t columns,
                  A* out);

// out[c] += x·row[c]
template <typename A>
void MultiplyAdd(A x, const A* row, int64_t columns, A* out);
// out[c] += x[c]·row[c]
template <typename A>
void MultiplyAddEach(const A* x, const A* row, int64_t columns, A* out);

}  // namespace hloscope::eval
