// Dimensions of a dot, merged where their strides allow it.
#include "core/compile/dot_form.h"

#include <algorithm>
#include <utility>

#include "core/hlo/dimension_numbers.h"
#include "core/hlo/row_major.h"

namespace hloscope::compile {

using hlo::InstructionId;
using hlo::Module;
using hlo::Shape;

namespace {

using Loop = DotForm::Loop;

// The free dimensions of an operand, outermost first; `side` is the stride of it that they move.
std::vector<Loop> FreeLoops(const Shape& shape, const hlo::DotSide& dims, int64_t Loop::* side) {
  const std::vector<int64_t> strides = hlo::RowMajorStrides(shape.dimensions());
  std::vector<Loop> loops;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (!dims.IsFree(static_cast<int64_t>(d)) || shape.dimension(d) == 1) continue;
    Loop& loop = loops.emplace_back();
    loop.size = shape.dimension(d);
    loop.*side = strides[d];
  }
  return loops;
}

// Dimensions that two operands share, outermost first as they are listed.
std::vector<Loop> SharedLoops(const Shape& left, std::span<const int64_t> of_left,
                              const Shape& right, std::span<const int64_t> of_right) {
  const std::vector<int64_t> left_strides = hlo::RowMajorStrides(left.dimensions()),
                             right_strides = hlo::RowMajorStrides(right.dimensions());
  std::vector<Loop> loops;
  for (size_t i = 0; i < of_left.size(); ++i) {
    const auto l = static_cast<size_t>(of_left[i]), r = static_cast<size_t>(of_right[i]);
    if (left.dimension(l) == 1) continue;
    loops.push_back({left.dimension(l), left_strides[l], right_strides[r], 0});
  }
  return loops;
}

// Joins neighbours that are one dimension in every array.
void Merge(std::vector<Loop>& loops) {
  std::vector<Loop> merged;
  for (const Loop& inner : loops) {
    if (!merged.empty()) {
      Loop& outer = merged.back();
      const int64_t size = inner.size;
      if (outer.left == inner.left * size && outer.right == inner.right * size &&
          outer.out == inner.out * size) {
        outer = {outer.size * size, inner.left, inner.right, inner.out};
        continue;
      }
    }
    merged.push_back(inner);
  }
  loops = std::move(merged);
}

void SetOutStrides(std::span<Loop> outermost_first, int64_t& stride) {
  for (size_t i = outermost_first.size(); i-- > 0;) {
    outermost_first[i].out = stride;
    stride *= outermost_first[i].size;
  }
}

Loop TakeInnermost(std::vector<Loop>& loops) {
  if (loops.empty()) return {};
  const Loop inner = loops.back();
  loops.pop_back();
  return inner;
}

// Sums in the shortest vector of the instruction that adds up products of bytes.
constexpr int64_t kMinSums = 4;

// Of the last free dimensions of an operand that are neighbours; of all, where they will be.
int64_t FreeBlockSize(const Shape& shape, const hlo::DotSide& dims, bool all) {
  const auto free = dims.Free(shape.rank());
  int64_t size = 1;
  for (size_t k = free.size(); k-- > 0;) {
    if (!all && k + 1 < free.size() && free[k] + 1 != free[k + 1]) break;
    size *= shape.dimension(static_cast<size_t>(free[k]));
  }
  return size;
}

}  // namespace

int64_t DotForm::products() const {
  int64_t turns = 1;
  for (const Loop& loop : loops) turns *= loop.size;
  return turns;
}

bool FillsTiles(const DotForm& form) {
  constexpr int64_t kMinOfDeep = 4, kMinSide = 16, kDeep = 32;
  const int64_t shorter = std::min(form.rows, form.columns);
  return shorter >= (form.depth >= kDeep ? kMinOfDeep : kMinSide);
}

std::optional<DotForm> DotFormOf(const Module& module, InstructionId dot) {
  const Shape& left = module.shape(module.operands(dot)[0]);
  const Shape& right = module.shape(module.operands(dot)[1]);
  const auto [lhs, rhs, ragged] = hlo::DotDimsOf(module, dot);
  std::vector<Loop> batch = SharedLoops(left, lhs.batch, right, rhs.batch);
  std::vector<Loop> rows = FreeLoops(left, lhs, &Loop::left);
  std::vector<Loop> columns = FreeLoops(right, rhs, &Loop::right);
  std::vector<Loop> sums = SharedLoops(left, lhs.contracting, right, rhs.contracting);
  std::ranges::sort(sums, std::greater(), &Loop::left);
  Merge(sums);
  if (sums.size() > 1 || lhs.contracting.empty()) return std::nullopt;
  int64_t stride = 1;
  SetOutStrides(columns, stride);
  SetOutStrides(rows, stride);
  SetOutStrides(batch, stride);
  for (std::vector<Loop>* loops : {&batch, &rows, &columns}) Merge(*loops);
  const Loop row = TakeInnermost(rows), column = TakeInnermost(columns), sum = TakeInnermost(sums);
  DotForm form;
  form.rows = row.size;
  form.columns = column.size;
  form.depth = sum.size;
  form.left_row = row.left;
  form.left_depth = sum.left;
  form.right_depth = sum.right;
  form.right_column = column.right;
  form.out_row = row.out;
  form.out_column = column.out;
  for (const std::vector<Loop>* loops : {&batch, &rows, &columns}) {
    form.loops.insert(form.loops.end(), loops->begin(), loops->end());
  }
  return form;
}

bool TakesByteProducts(const Module& module, InstructionId dot) {
  const auto operands = module.operands(dot);
  const auto is_byte = [&](InstructionId operand) {
    const hlo::ElementType type = module.shape(operand).element_type();
    return type == hlo::ElementType::kS8 || type == hlo::ElementType::kU8;
  };
  if (!std::ranges::all_of(operands, is_byte)) return false;
  if (SumTypeOf(module, dot) != hlo::ElementType::kS32) return false;
  const hlo::DotDims dims = hlo::DotDimsOf(module, dot);
  const Shape &left = module.shape(operands[0]), &right = module.shape(operands[1]);
  const auto sums = dims.lhs.contracting;
  if (sums.empty() || std::cmp_not_equal(sums.back() + 1, left.rank())) return false;
  const bool are_moved = !dims.rhs.IsFree(std::ssize(right.dimensions()) - 1);
  return left.dimension(left.rank() - 1) >= kByteGroup &&
         FreeBlockSize(left, dims.lhs, false) >= kDotFewRows &&
         FreeBlockSize(right, dims.rhs, are_moved) >= kMinSums;
}

hlo::ElementType SumTypeOf(const hlo::Module& module, hlo::InstructionId contraction) {
  using hlo::ElementType;
  const auto operands = module.operands(contraction);
  const ElementType out = module.shape(contraction).element_type();
  const ElementType types[] = {module.shape(operands[0]).element_type(),
                               module.shape(operands[1]).element_type(), out};
  const auto fits_f32 = [](ElementType type) {
    return hlo::IsFloat(type) && hlo::BitWidth(type) <= 32 && type != ElementType::kF8E8M0FNU;
  };
  if (std::ranges::any_of(types, hlo::IsComplex)) return ElementType::kC128;
  if (std::ranges::all_of(types, fits_f32)) return ElementType::kF32;
  if (std::ranges::any_of(types, hlo::IsFloat)) return ElementType::kF64;
  const bool is_wide = out == ElementType::kPred || hlo::BitWidth(out) > 32;
  return is_wide ? ElementType::kS64 : ElementType::kS32;
}

bool IsExactInSingle(const hlo::Module& module, hlo::InstructionId contraction, int64_t depth) {
  constexpr int64_t kLargest = int64_t{1} << 24;
  int64_t product = 1;
  for (const hlo::InstructionId operand : module.operands(contraction)) {
    const hlo::ElementType type = module.shape(operand).element_type();
    const int bits = hlo::BitWidth(type);
    if (!hlo::IsInteger(type) || bits > 8) return false;
    product *= hlo::IsSigned(type) ? int64_t{1} << (bits - 1) : (int64_t{1} << bits) - 1;
  }
  return module.shape(contraction).element_type() == hlo::ElementType::kS32 &&
         depth <= kLargest / product;
}

}  // namespace hloscope::compile
