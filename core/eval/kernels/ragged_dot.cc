// ragged-dot: a dot one dimension of whose left side falls into groups of sizes known at run time,
// each of which meets its own part of the right side (rows), makes its own part of the result
// (contracted dimension), or is a group of batches, which changes nothing. What lies behind the
// last group counts as zero. Accumulates as dot does (XLA: expanders/ragged_dot_rewriter.cc).
#include <algorithm>

#include "core/eval/kernels/contraction.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::eval {
namespace {

using hlo::Shape;

using Dims = std::vector<int64_t>;

bool Contains(std::span<const int64_t> list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

Dims Joined(std::initializer_list<std::span<const int64_t>> parts) {
  Dims all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Dims SizesOf(const Shape& shape, std::span<const int64_t> dims) {
  Dims sizes;
  for (int64_t d : dims) sizes.push_back(shape.dimension(static_cast<size_t>(d)));
  return sizes;
}

int64_t Product(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

// The dimensions of both sides by what they are to the product.
struct Roles {
  hlo::DotDims dims;
  Dims left_free, right_free;
  int64_t ragged = 0;

  explicit Roles(const KernelCall& call)
      : dims(hlo::DotDimsOf(call.module(), call.id)),
        left_free(dims.lhs.Free(call.operand_shape(0).rank())),
        right_free(dims.rhs.Free(call.operand_shape(1).rank())),
        ragged(dims.lhs_ragged[0]) {}
};

// Which groups a position of the left side along some of its dimensions lies in.
class Groups {
 public:
  // `walked` are dimensions of the left side, the ragged one among them. Group sizes of more than
  // one dimension say them for each index of `walked` before the ragged one.
  Groups(const Value& sizes, const Shape& left, const Dims& walked, int64_t ragged)
      : ends_(ReadIndices(sizes)) {
    const Shape& shape = sizes.shape();
    count_ = shape.dimension(shape.rank() - 1);
    for (size_t i = 0; i < ends_.size(); ++i) {
      if (i % static_cast<size_t>(count_) != 0) {
        ends_[i] = static_cast<int64_t>(static_cast<uint64_t>(ends_[i]) +
                                        static_cast<uint64_t>(ends_[i - 1]));
      }
    }
    position_ = static_cast<size_t>(std::ranges::find(walked, ragged) - walked.begin());
    const size_t prefix = shape.rank() - 1;
    Dims sizes_before = SizesOf(left, std::span(walked).first(std::min(prefix, position_)));
    strides_ = RowMajorStrides(sizes_before);
  }

  int64_t count() const { return count_; }
  // True if the position, an index over `walked`, lies in group g.
  bool Has(std::span<const int64_t> index, int64_t g) const {
    int64_t row = 0;
    for (size_t d = 0; d < strides_.size(); ++d) row += index[d] * strides_[d];
    const int64_t* ends = ends_.data() + row * count_;
    const int64_t at = index[position_];
    return at < ends[g] && at >= (g == 0 ? 0 : ends[g - 1]);
  }

 private:
  Dims ends_;
  int64_t count_ = 0;
  size_t position_ = 0;
  Dims strides_;
};

// The sizes and arranged operands of one ragged dot: left [batch, rows, depth], right
// [group, batch, depth, columns], the group only where the rows are ragged.
template <typename A>
struct Sides {
  Buffer left, right;
  Dims batch_sizes, row_sizes, depth_sizes;
  int64_t batch, rows, depth, columns;

  static Result<Sides> Make(KernelCall& call, const Roles& roles) {
    const Shape& a = call.operand_shape(0);
    Sides s;
    s.batch_sizes = SizesOf(a, roles.dims.lhs.batch);
    s.row_sizes = SizesOf(a, roles.left_free);
    s.depth_sizes = SizesOf(a, roles.dims.lhs.contracting);
    s.batch = Product(s.batch_sizes);
    s.rows = Product(s.row_sizes);
    s.depth = Product(s.depth_sizes);
    s.columns = Product(SizesOf(call.operand_shape(1), roles.right_free));
    HLOSCOPE_ASSIGN_OR_RETURN(
        s.left,
        Arranged<A>(call, 0,
                    Joined({roles.dims.lhs.batch, roles.left_free, roles.dims.lhs.contracting})));
    HLOSCOPE_ASSIGN_OR_RETURN(s.right,
                              Arranged<A>(call, 1,
                                          Joined({roles.dims.rhs.group, roles.dims.rhs.batch,
                                                  roles.dims.rhs.contracting, roles.right_free})));
    return s;
  }
  const A* Row(int64_t b, int64_t r) const { return left.as<A>() + (b * rows + r) * depth; }
  const A* Matrix(int64_t g, int64_t b) const {
    return right.as<A>() + (g * batch + b) * depth * columns;
  }
};

// Steps an index over batch and one other set of dimensions.
template <typename Body>
Status ForEach(std::span<const int64_t> sizes, Body body) {
  if (Contains(sizes, 0)) return {};
  Dims index(sizes.size(), 0);
  int64_t at = 0;
  do {
    HLOSCOPE_TRY(body(std::span<const int64_t>(index), at++));
  } while (NextIndex(index, sizes));
  return {};
}

// Every row meets the right side of its group.
template <typename A>
Status RaggedRows(KernelCall& call, const Roles& roles, const Sides<A>& s, A* out) {
  const Dims walked = Joined({roles.dims.lhs.batch, roles.left_free});
  const Groups groups(call.operands[2], call.operand_shape(0), walked, roles.ragged);
  return ForEach(SizesOf(call.operand_shape(0), walked),
                 [&](std::span<const int64_t> index, int64_t at) -> Status {
                   for (int64_t g = 0; g < groups.count(); ++g) {
                     if (!groups.Has(index, g)) continue;
                     HLOSCOPE_TRY(call.machine.Charge(s.depth * s.columns));
                     const A* row = s.Row(at / s.rows, at % s.rows);
                     const A* matrix = s.Matrix(g, at / s.rows);
                     for (int64_t k = 0; k < s.depth; ++k) {
                       MultiplyAdd(row[k], matrix + k * s.columns, s.columns, out + at * s.columns);
                     }
                   }
                   return {};
                 });
}

// Every group sums over its own part of the contracted dimension: out is [group, batch, …].
template <typename A>
Status RaggedDepth(KernelCall& call, const Roles& roles, const Sides<A>& s, A* out) {
  const Dims walked = Joined({roles.dims.lhs.batch, roles.dims.lhs.contracting});
  const Groups groups(call.operands[2], call.operand_shape(0), walked, roles.ragged);
  return ForEach(SizesOf(call.operand_shape(0), walked),
                 [&](std::span<const int64_t> index, int64_t at) -> Status {
                   const int64_t b = at / s.depth, k = at % s.depth;
                   for (int64_t g = 0; g < groups.count(); ++g) {
                     if (!groups.Has(index, g)) continue;
                     HLOSCOPE_TRY(call.machine.Charge(s.rows * s.columns));
                     A* to = out + (g * s.batch + b) * s.rows * s.columns;
                     for (int64_t r = 0; r < s.rows; ++r) {
                       MultiplyAdd(s.Row(b, r)[k], s.Matrix(0, b) + k * s.columns, s.columns,
                                   to + r * s.columns);
                     }
                   }
                   return {};
                 });
}

template <typename A>
Result<Value> RaggedDot(KernelCall& call) {
  const Roles roles(call);
  HLOSCOPE_ASSIGN_OR_RETURN(const Sides<A> sides, Sides<A>::Make(call, roles));
  const int64_t count = ElementCount(call.shape());
  HLOSCOPE_ASSIGN_OR_RETURN(const Buffer sums,
                            call.machine.Allocate(count * static_cast<int64_t>(sizeof(A))));
  std::fill_n(sums.as<A>(), count, A{});
  if (count != 0) {
    HLOSCOPE_TRY(Contains(roles.dims.lhs.contracting, roles.ragged)
                     ? RaggedDepth(call, roles, sides, sums.as<A>())
                     : RaggedRows(call, roles, sides, sums.as<A>()));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(call.shape()));
  if constexpr (std::is_same_v<A, double>) {
    const std::span values(sums.as<double>(), static_cast<size_t>(count));
    if (const auto type = ProductRounding(call)) RoundTo(*type, values);
  }
  StoreFrom<A>(call.shape().element_type(), sums.as<A>(), out.data(), count);
  return Value::Array(call.shape(), std::move(out));
}

}  // namespace

Result<Value> RaggedDotKernel(KernelCall& call) {
  if (call.operands.size() != 3) return Unsupported(call, "expected two operands and group sizes");
  if (Contains(Roles(call).dims.lhs.batch, Roles(call).ragged)) return DotKernel(call);
  // The group sizes have no say in what to accumulate in.
  const bool complex = hlo::IsComplex(call.operand_shape(0).element_type()) ||
                       hlo::IsComplex(call.shape().element_type());
  if (complex) return RaggedDot<Complex>(call);
  return AccumulatorOf(call) == Accumulator::kInteger ? RaggedDot<int64_t>(call)
                                                      : RaggedDot<double>(call);
}

}  // namespace hloscope::eval
