// Dot decomposition: dots that no library takes become transposes before one that it takes or that
// our kernel runs through well, or products that are summed up.
#include <algorithm>

#include "core/compile/dot_form.h"
#include "core/compile/kernel_rules.h"
#include "core/compile/library_rules.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

using Dimensions = std::vector<int64_t>;

// Of matrices with fewer rows or columns nothing is read often: each product is a sum of its own.
constexpr int64_t kFewRows = 4, kFewColumns = 8;
// Sums of so few products, along rows that are too short for vectors of their own, are written out.
constexpr int64_t kFewSummed = 4;

class Dot {
 public:
  Dot(Edit& edit, InstructionId id) : edit_(edit), id_(id) {
    const hlo::DotDims dims = hlo::DotDimsOf(edit.original(), id);
    for (size_t side = 0; side < 2; ++side) {
      const auto& [batch, sums, group] = dims.side(side);
      batch_[side].assign(batch.begin(), batch.end());
      sums_[side].assign(sums.begin(), sums.end());
      operands_[side] = edit.operand(id, side);
      free_[side] = dims.side(side).Free(edit.shape(operands_[side]).rank());
    }
    result_ = Plain(edit.shape(id));
  }

  int64_t Rows() const { return FreeSize(0); }
  int64_t Columns() const { return FreeSize(1); }
  bool sums() const { return !sums_[0].empty(); }

  // Operands and result in the type that is summed up in.
  void Widen(ElementType type) {
    for (InstructionId& operand : operands_) operand = Converted(operand, type);
    result_ = Shape::Array(type, SizesOf(result_));
  }

  // Batch dimensions, free ones, those that are summed up, in this order on both sides.
  void OrderForLibrary() { Order({true, true}); }

  // Columns innermost, along which vectors run.
  void OrderForKernel() {
    const auto rank = static_cast<int64_t>(edit_.shape(operands_[1]).rank());
    if (std::ranges::find(free_[1], rank - 1) == free_[1].end()) Order({false, false});
  }

  // The dot with its operands as they are now, if they are others.
  void Rebuild() {
    if (operands_[0] == edit_.operand(id_, 0) && operands_[1] == edit_.operand(id_, 1)) return;
    const InstructionId made =
        edit_.Add(id_, "dot", Opcode::kDot, result_, operands_,
                  hlo::MakeDotDims(edit_.rewriter().builder(),
                                   {{batch_[0], sums_[0]}, {batch_[1], sums_[1]}}));
    edit_.Replace(id_, Converted(made, edit_.shape(id_).element_type()));
  }

  bool AreSumsShort() const {
    const int64_t innermost = Columns() > 1 ? Columns() : Rows();
    return sums() && SummedSize() <= kFewSummed && innermost < kFewColumns;
  }

  // One product after the other, each of all results, added in the order of what is summed up.
  void WriteOut() {
    const Shape result = Plain(edit_.shape(id_));
    const ElementType type = SumTypeOf(edit_.original(), id_);
    const Shape products = Shape::Array(type, SizesOf(result));
    const InstructionId zero = edit_.AddScalar(
        id_, type, std::vector<std::byte>(static_cast<size_t>(hlo::BitWidth(type) + 7) / 8));
    InstructionId sum =
        edit_.Add(id_, "broadcast", Opcode::kBroadcast, products, {zero},
                  {edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, Dimensions())});
    const InstructionId whole[] = {Converted(operands_[0], type), Converted(operands_[1], type)};
    for (int64_t number = 0; number < SummedSize(); ++number) {
      InstructionId sides[2];
      for (size_t side = 0; side < 2; ++side)
        sides[side] = Term(side, whole[side], number, products);
      const InstructionId product =
          edit_.Add(id_, "multiply", Opcode::kMultiply, products, {sides[0], sides[1]});
      sum = edit_.Add(id_, "add", Opcode::kAdd, products, {sum, product});
    }
    edit_.Replace(id_, Converted(sum, result.element_type()));
  }

  // The sum over products of both sides, each broadcast along the free dimensions of the other.
  void Expand() {
    const Shape result = Plain(edit_.shape(id_));
    const ElementType type = SumTypeOf(edit_.original(), id_);
    const size_t first = PlaceOfSums();
    Dimensions sizes = SizesOf(result), summed;
    for (const int64_t d : sums_[0]) {
      const size_t place = first + summed.size();
      summed.push_back(static_cast<int64_t>(place));
      sizes.insert(sizes.begin() + static_cast<int64_t>(place),
                   edit_.shape(operands_[0]).dimension(static_cast<size_t>(d)));
    }
    const Shape products = Shape::Array(type, sizes);
    InstructionId sides[2];
    for (size_t side = 0; side < 2; ++side) sides[side] = Broadcast(side, products, first);
    const InstructionId product =
        edit_.Add(id_, "multiply", Opcode::kMultiply, products, {sides[0], sides[1]});
    const InstructionId made = summed.empty() ? product : Sum(product, summed, result, type);
    edit_.Replace(id_, Converted(made, result.element_type()));
  }

 private:
  // Where among the dimensions of the products those come that are summed up: last, or where the
  // larger side has them, so that nobody has to transpose it.
  size_t PlaceOfSums() const {
    const size_t batch = batch_[0].size(), rows = free_[0].size(), columns = free_[1].size();
    const size_t large = Columns() > Rows() ? 1 : 0;
    // Vectors run along what is then innermost.
    const bool is_wide = large == 1 ? Columns() >= kFewColumns : Columns() == 1;
    if (!is_wide || !IsFreeInnermost(large)) return batch + rows + columns;
    return large == 1 ? batch + rows : batch;
  }

  // Whether the dimension in which a side's neighbours in memory differ is not summed up.
  bool IsFreeInnermost(size_t side) const {
    const auto sizes = edit_.shape(operands_[side]).dimensions();
    for (int64_t d = std::ssize(sizes); d-- > 0;) {
      if (sizes[static_cast<size_t>(d)] != 1)
        return std::ranges::find(free_[side], d) != free_[side].end();
    }
    return false;
  }

  int64_t SummedSize() const {
    int64_t size = 1;
    for (const int64_t d : sums_[0]) {
      size *= edit_.shape(operands_[0]).dimension(static_cast<size_t>(d));
    }
    return size;
  }

  // What one side gives to the products of that number, as all results have it.
  InstructionId Term(size_t side, InstructionId operand, int64_t number, const Shape& products) {
    hlo::ModuleBuilder& builder = edit_.rewriter().builder();
    const Dimensions sizes = SizesOf(edit_.shape(operand));
    Dimensions first(sizes.size()), kept, slices, cut = sizes;
    for (size_t i = sums_[side].size(); i-- > 0;) {
      const auto d = static_cast<size_t>(sums_[side][i]);
      first[d] = number % sizes[d];
      number /= sizes[d];
      cut[d] = 1;
    }
    for (size_t d = 0; d < sizes.size(); ++d) {
      slices.insert(slices.end(), {first[d], first[d] + cut[d], 1});
      if (std::ranges::count(sums_[side], static_cast<int64_t>(d)) == 0) kept.push_back(sizes[d]);
    }
    operand = edit_.Add(id_, "slice", Opcode::kSlice, Shape::Array(products.element_type(), cut),
                        {operand}, {builder.MakeInts(AttributeKey::kSlice, slices)});
    operand = edit_.Add(id_, "reshape", Opcode::kReshape,
                        Shape::Array(products.element_type(), kept), {operand});
    // Places without the dimensions that are gone.
    const auto place = [&](int64_t d) {
      return d - std::ranges::count_if(sums_[side], [&](int64_t sum) { return sum < d; });
    };
    Dimensions to(kept.size());
    for (size_t i = 0; i < batch_[side].size(); ++i) {
      to[static_cast<size_t>(place(batch_[side][i]))] = static_cast<int64_t>(i);
    }
    const size_t before = batch_[0].size() + (side == 0 ? 0 : free_[0].size());
    for (size_t i = 0; i < free_[side].size(); ++i) {
      to[static_cast<size_t>(place(free_[side][i]))] = static_cast<int64_t>(before + i);
    }
    return BroadcastTo(operand, std::move(to), products);
  }

  int64_t FreeSize(size_t side) const {
    int64_t size = 1;
    for (const int64_t d : free_[side]) {
      size *= edit_.shape(operands_[side]).dimension(static_cast<size_t>(d));
    }
    return size;
  }

  struct Ordered {
    bool left = true;       // dimensions of the left side are put in order too
    bool sums_last = true;  // on the right side: behind the free ones
  };
  void Order(Ordered how) {
    for (size_t side = 0; side < 2; ++side) {
      const bool is_left = side == 0;
      if (is_left && !how.left) continue;
      const Dimensions order = OrderOf(side, is_left || how.sums_last);
      operands_[side] = Transposed(operands_[side], order);
      batch_[side] = PlacesIn(order, batch_[side]);
      sums_[side] = PlacesIn(order, sums_[side]);
    }
  }
  Dimensions OrderOf(size_t side, bool sums_last) const {
    Dimensions order = batch_[side];
    const Dimensions& middle = sums_last ? free_[side] : sums_[side];
    const Dimensions& last = sums_last ? sums_[side] : free_[side];
    order.insert(order.end(), middle.begin(), middle.end());
    order.insert(order.end(), last.begin(), last.end());
    return order;
  }
  static Dimensions PlacesIn(const Dimensions& order, const Dimensions& dimensions) {
    Dimensions places;
    for (const int64_t d : dimensions) {
      places.push_back(std::ranges::find(order, d) - order.begin());
    }
    return places;
  }

  static Shape Plain(const Shape& shape) {
    return Shape::Array(shape.element_type(), SizesOf(shape));
  }

  InstructionId Converted(InstructionId operand, ElementType type) {
    const Shape& shape = edit_.shape(operand);
    if (shape.element_type() == type) return operand;
    return edit_.Add(id_, "convert", Opcode::kConvert, Shape::Array(type, SizesOf(shape)),
                     {operand});
  }

  InstructionId Transposed(InstructionId operand, const Dimensions& order) {
    if (std::ranges::is_sorted(order)) return operand;
    Dimensions sizes;
    for (const int64_t d : order) {
      sizes.push_back(edit_.shape(operand).dimension(static_cast<size_t>(d)));
    }
    return edit_.Add(id_, "transpose", Opcode::kTranspose,
                     Shape::Array(edit_.shape(operand).element_type(), sizes), {operand},
                     {edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, order)});
  }

  // The operand, of the products' type and dimensions: batch, free ones of the left, of the right,
  // and somewhere between them those that are summed up.
  InstructionId Broadcast(size_t side, const Shape& products, size_t place_of_sums) {
    InstructionId operand = Converted(operands_[side], products.element_type());
    Dimensions to(edit_.shape(operand).rank());
    const auto place = [&](const Dimensions& dimensions, size_t first) {
      for (size_t i = 0; i < dimensions.size(); ++i) {
        to[static_cast<size_t>(dimensions[i])] = static_cast<int64_t>(first + i);
      }
    };
    const size_t free = batch_[0].size() + (side == 0 ? 0 : free_[0].size());
    place(batch_[side], 0);
    place(free_[side], free < place_of_sums ? free : free + sums_[side].size());
    place(sums_[side], place_of_sums);
    return BroadcastTo(operand, std::move(to), products);
  }

  // A broadcast whose dimensions may come in any order.
  InstructionId BroadcastTo(InstructionId operand, Dimensions to, const Shape& products) {
    if (!std::ranges::is_sorted(to)) {
      Dimensions order(to.size()), sorted = to;
      std::ranges::sort(sorted);
      for (size_t d = 0; d < to.size(); ++d) {
        order[static_cast<size_t>(std::ranges::find(sorted, to[d]) - sorted.begin())] =
            static_cast<int64_t>(d);
      }
      operand = Transposed(operand, order);
      to = sorted;
    }
    return edit_.Add(id_, "broadcast", Opcode::kBroadcast, products, {operand},
                     {edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, to)});
  }

  InstructionId Sum(InstructionId product, const Dimensions& summed, const Shape& result,
                    ElementType type) {
    const ComputationId sum = edit_.AddReducer(id_, "dot_sum", Opcode::kAdd, type);
    const InstructionId zero = edit_.AddScalar(
        id_, type, std::vector<std::byte>(static_cast<size_t>(hlo::BitWidth(type) + 7) / 8));
    return edit_.Add(id_, "reduce", Opcode::kReduce, Shape::Array(type, SizesOf(result)),
                     {product, zero},
                     {edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, summed),
                      edit_.rewriter().builder().MakeComputation(AttributeKey::kToApply, sum)});
  }

  Edit& edit_;
  InstructionId id_;
  InstructionId operands_[2];
  Shape result_;
  Dimensions batch_[2], sums_[2], free_[2];
};

// Products of floats that are summed up in wider ones: each operand is read many times, and what is
// read is converted once. Of integers where a library then takes them.
bool IsNarrow(const Module& module, InstructionId id, const Compilation& out) {
  const auto depth = static_cast<int64_t>(ProductsOf(module, id) /
                                          static_cast<double>(*module.shape(id).ElementCount()));
  const bool has_kernel = out.byte_kernels && TakesByteProducts(module, id);
  if (out.library_calls && !has_kernel && IsExactInSingle(module, id, depth)) return true;
  const ElementType sum = SumTypeOf(module, id);
  const auto is_narrow = [&](InstructionId operand) {
    return hlo::BitWidth(module.shape(operand).element_type()) < hlo::BitWidth(sum);
  };
  return (sum == ElementType::kF32 || sum == ElementType::kF64) &&
         std::ranges::any_of(module.operands(id), is_narrow);
}

}  // namespace

Result<PassResult> DecomposeDots(const std::shared_ptr<const Module>& module, Compilation& out) {
  return EditEach(module, Opcode::kDot, [&](Edit& edit, InstructionId id) {
    const auto operands = module->operands(id);
    const auto is_whole = [&](InstructionId each) { return IsWholeArray(module->shape(each)); };
    if (operands.size() != 2 || !is_whole(id) || !std::ranges::all_of(operands, is_whole)) return;
    Dot dot(edit, id);
    if (dot.AreSumsShort() && !out.gpu_kernels) return dot.WriteOut();
    const bool has_vector = dot.Rows() == 1 || dot.Columns() == 1;
    const bool is_library_type = out.library_calls && HasLibraryTypes(*module, id) &&
                                 !IsSmallDot(*module, id) && !has_vector;
    if (is_library_type && IsLibraryCall(*module, id)) return;
    // Kernels of a GPU read any layout.
    const auto form = DotFormOf(*module, id);
    if (out.gpu_kernels && dot.sums() && dot.Rows() >= kFewRows && dot.Columns() >= kFewColumns &&
        form.has_value() && FillsTiles(*form)) {
      return;
    }
    // Complex products alone are computed more closely than sums of them need.
    const bool is_complex = SumTypeOf(*module, id) == ElementType::kC128 && !out.gpu_kernels;
    const bool is_few =
        !dot.sums() || (!is_complex && (dot.Rows() < kFewRows || dot.Columns() < kFewColumns));
    if (is_few && !(is_library_type && dot.sums())) return dot.Expand();
    const bool is_widened = !is_library_type && !out.gpu_kernels && !IsSmallDot(*module, id) &&
                            IsNarrow(*module, id, out);
    const bool is_double = SumTypeOf(*module, id) == ElementType::kF64;
    if (is_widened) dot.Widen(is_double ? ElementType::kF64 : ElementType::kF32);
    if (is_library_type || (is_widened && !is_double && out.library_calls)) {
      if (!form.has_value()) dot.OrderForLibrary();
    } else {
      dot.OrderForKernel();
    }
    dot.Rebuild();
  });
}

// Simplification has folded transposes into dots by then. A kernel of a CPU would gather its right
// operand again for every kDotUnitRows rows.
Result<PassResult> TransposeDotOperands(const std::shared_ptr<const Module>& module,
                                        Compilation& out) {
  if (out.gpu_kernels) return PassResult{};
  return EditEach(module, Opcode::kDot, [&](Edit& edit, InstructionId id) {
    const auto operands = module->operands(id);
    const auto is_whole = [&](InstructionId each) { return IsWholeArray(module->shape(each)); };
    if (operands.size() != 2 || !is_whole(id) || !std::ranges::all_of(operands, is_whole)) return;
    if (out.library_calls && IsLibraryCall(*module, id)) return;
    Dot dot(edit, id);
    if (!dot.sums() || dot.Rows() <= kDotUnitRows || dot.Columns() < kFewColumns) return;
    dot.OrderForKernel();
    dot.Rebuild();
  });
}

}  // namespace hloscope::compile
