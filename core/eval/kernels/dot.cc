// dot: products of floats up to f32 accumulate in f64 in order of the contracted index and are
// rounded once; integers accumulate modulo 2^64 and wrap to the result's type.
#include <algorithm>
#include <utility>

#include "core/eval/kernels/contraction.h"
#include "core/eval/loops/float_product.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/strided_copy.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::eval {
namespace {

using hlo::Shape;

// The sizes, and the dimensions of both operands by what they are to the product.
struct Sides {
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  std::vector<int64_t> left_batch, left_free, left_depth;
  std::vector<int64_t> right_batch, right_free, right_depth;
};

constexpr int64_t kBlockRows = 32;  // of a block of the result
constexpr int64_t kBlockPanels = 32;
constexpr int64_t kGrain = 1 << 21;  // multiplications

void AppendAll(std::vector<int64_t>& to, std::span<const int64_t> from) {
  to.insert(to.end(), from.begin(), from.end());
}

int64_t SizeOf(const Shape& shape, std::span<const int64_t> dimensions) {
  int64_t size = 1;
  for (int64_t d : dimensions) size *= shape.dimension(static_cast<size_t>(d));
  return size;
}

std::vector<int64_t> ToVector(std::span<const int64_t> values) {
  return {values.begin(), values.end()};
}

Sides SidesOf(const KernelCall& call) {
  const hlo::DotDims dims = hlo::DotDimsOf(call.module(), call.id);
  const Shape& left = call.operand_shape(0);
  const Shape& right = call.operand_shape(1);
  Sides s;
  s.left_batch = ToVector(dims.lhs.batch);
  s.right_batch = ToVector(dims.rhs.batch);
  s.left_depth = ToVector(dims.lhs.contracting);
  s.right_depth = ToVector(dims.rhs.contracting);
  s.left_free = dims.lhs.Free(left.rank());
  s.right_free = dims.rhs.Free(right.rank());
  s.batch = SizeOf(left, s.left_batch);
  s.rows = SizeOf(left, s.left_free);
  s.columns = SizeOf(right, s.right_free);
  s.depth = SizeOf(left, s.left_depth);
  return s;
}

std::vector<int64_t> Concatenated(const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                                  const std::vector<int64_t>& c) {
  std::vector<int64_t> all = a;
  AppendAll(all, b);
  AppendAll(all, c);
  return all;
}

// Integers and complex numbers, four rows at a time.
template <typename A>
Result<Value> Dot(KernelCall& call) {
  const Sides s = SidesOf(call);
  HLOSCOPE_ASSIGN_OR_RETURN(
      const Buffer left,
      Arranged<A>(call, 0, Concatenated(s.left_batch, s.left_free, s.left_depth)));
  // The right side is [batch, contracted, columns], so that inner loops run along columns.
  HLOSCOPE_ASSIGN_OR_RETURN(
      const Buffer right,
      Arranged<A>(call, 1, Concatenated(s.right_batch, s.right_depth, s.right_free)));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(call.shape()));
  const hlo::ElementType type = call.shape().element_type();
  const int bytes = hlo::StorageBytes(type);
  const int64_t strips = (s.rows + kRowsAtOnce - 1) / kRowsAtOnce;
  const int64_t work = kRowsAtOnce * s.depth * s.columns;
  const int64_t grain = std::max<int64_t>(1, kGrain / 4 / std::max<int64_t>(work, 1));
  const Status done =
      call.machine.ForRanges(s.batch * strips, grain, [&](IndexRange range) -> Status {
        std::vector<A> row(static_cast<size_t>(kRowsAtOnce * s.columns));
        for (int64_t i = range.begin; i < range.end; ++i) {
          const int64_t b = i / strips, r = i % strips * kRowsAtOnce;
          const int64_t count = std::min(kRowsAtOnce, s.rows - r);
          HLOSCOPE_TRY(call.machine.Charge(work));
          MultiplyRows(left.as<A>() + (b * s.rows + r) * s.depth, count, s.depth,
                       right.as<A>() + b * s.depth * s.columns, s.columns, row.data());
          StoreFrom<A>(type, row.data(), out.data() + (b * s.rows + r) * s.columns * bytes,
                       count * s.columns);
        }
        return {};
      });
  HLOSCOPE_TRY(done);
  return Value::Array(call.shape(), std::move(out));
}

// The blocks of one product of real matrices.
class FloatDot {
 public:
  FloatDot(KernelCall& call, Sides sides) : call_(call), s_(std::move(sides)) {
    if (s_.columns != 1 || s_.rows == 1) return;
    // A matrix times a vector is the vector times the transposed matrix, which has more columns.
    swapped_ = true;
    std::swap(s_.rows, s_.columns);
    std::swap(s_.left_batch, s_.right_batch);
    std::swap(s_.left_free, s_.right_free);
    std::swap(s_.left_depth, s_.right_depth);
  }

  Result<Value> Run() {
    const size_t left_at = swapped_ ? 1 : 0, right_at = swapped_ ? 0 : 1;
    const hlo::ElementType right_type = call_.operand_shape(right_at).element_type();
    exact_ = HasExactProducts(call_.operand_shape(left_at).element_type(), right_type);
    HLOSCOPE_ASSIGN_OR_RETURN(
        left_,
        Arranged<double>(call_, left_at, Concatenated(s_.left_batch, s_.left_free, s_.left_depth)));
    HLOSCOPE_ASSIGN_OR_RETURN(
        const Ordered right,
        InOrder(call_, right_at, Concatenated(s_.right_batch, s_.right_depth, s_.right_free)));
    const int64_t packed = PackedCount(s_.depth, s_.columns);
    HLOSCOPE_ASSIGN_OR_RETURN(
        right_, call_.machine.Allocate(s_.batch * packed * static_cast<int64_t>(sizeof(double))));
    const int64_t matrix_bytes = s_.depth * s_.columns * hlo::StorageBytes(right_type);
    for (int64_t b = 0; b < s_.batch; ++b) {
      HLOSCOPE_TRY(PackRight(call_.machine, right_type, right.data + b * matrix_bytes, s_.depth,
                             s_.columns, 0, s_.columns, right_.as<double>() + b * packed));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(out_, call_.machine.Allocate(call_.shape()));
    HLOSCOPE_TRY(Blocks());
    return Value::Array(call_.shape(), std::move(out_));
  }

 private:
  Status Blocks() {
    const int64_t down = (s_.rows + kBlockRows - 1) / kBlockRows;
    const int64_t across = (PanelCount(s_.columns) + kBlockPanels - 1) / kBlockPanels;
    const int64_t work = std::min(s_.rows, kBlockRows) * s_.depth *
                         std::min(s_.columns, kBlockPanels * kPanelColumns);
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1));
    return call_.machine.ForRanges(
        s_.batch * down * across, grain, [&](IndexRange range) -> Status {
          std::vector<double> block(
              static_cast<size_t>(std::min(s_.rows, kBlockRows) * kPanelColumns *
                                  std::min(PanelCount(s_.columns), kBlockPanels)));
          for (int64_t i = range.begin; i < range.end; ++i) {
            HLOSCOPE_TRY(call_.machine.Charge(work));
            Block(i / (down * across), i / across % down * kBlockRows, i % across * kBlockPanels,
                  block);
          }
          return {};
        });
  }

  void Block(int64_t b, int64_t row, int64_t panel, std::vector<double>& block) {
    const int64_t rows = std::min(kBlockRows, s_.rows - row);
    const int64_t panel_end = std::min(panel + kBlockPanels, PanelCount(s_.columns));
    const int64_t packed = PackedCount(s_.depth, s_.columns);
    Multiply({left_.as<double>() + (b * s_.rows + row) * s_.depth, rows, s_.depth,
              right_.as<double>() + b * packed, panel, panel_end, block.data(), exact_});
    const hlo::ElementType type = call_.shape().element_type();
    const int64_t column = panel * kPanelColumns, stride = (panel_end - panel) * kPanelColumns;
    if (rounded_) RoundTo(*rounded_, std::span(block.data(), static_cast<size_t>(rows * stride)));
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t to = (b * s_.rows + row + r) * s_.columns + column;
      StoreFrom<double>(type, block.data() + r * stride, out_.data() + to * hlo::StorageBytes(type),
                        std::min(stride, s_.columns - column));
    }
  }

  KernelCall& call_;
  Sides s_;
  bool swapped_ = false, exact_ = false;
  Buffer left_, right_, out_;
  std::optional<hlo::ElementType> rounded_ = ProductRounding(call_);
};

}  // namespace

Result<Value> DotKernel(KernelCall& call) {
  switch (AccumulatorOf(call)) {
    case Accumulator::kComplex:
      return Dot<Complex>(call);
    case Accumulator::kFloat:
      return FloatDot(call, SidesOf(call)).Run();
    case Accumulator::kInteger:
      return Dot<int64_t>(call);
  }
  return Unsupported(call, "its result has no numeric element type");
}

}  // namespace hloscope::eval
