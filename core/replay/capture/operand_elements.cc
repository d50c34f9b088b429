// Indices of results carried back to indices of operands.
#include "core/replay/capture/operand_elements.h"

#include <algorithm>

#include "core/eval/machine/indices.h"
#include "core/eval/machine/strided_copy.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::replay {

using hlo::AttributeKey;
using hlo::Opcode;
using hlo::Shape;
using runtime::Value;

namespace {

// More are not listed: what they are made of is looked at element by element.
constexpr int64_t kMaxListed = int64_t{1} << 20;

int64_t Flat(std::span<const int64_t> index, const Shape& shape) {
  return eval::Offset(index, eval::RowMajorStrides(shape.dimensions()));
}

bool Holds(std::span<const int64_t> list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

// All elements whose index has the fixed values, -1 standing for any.
std::optional<std::vector<int64_t>> ListFixed(const Shape& shape,
                                              const std::vector<int64_t>& fixed) {
  std::vector<int64_t> open;
  int64_t count = 1;
  for (size_t d = 0; d < fixed.size(); ++d) {
    open.push_back(fixed[d] < 0 ? shape.dimension(d) : 1);
    count *= open.back();
    if (count == 0 || count > kMaxListed) {
      return count == 0 ? std::optional(std::vector<int64_t>()) : std::nullopt;
    }
  }
  std::vector<int64_t> all, at(fixed.size(), 0);
  do {
    std::vector<int64_t> index = at;
    for (size_t d = 0; d < fixed.size(); ++d) index[d] = fixed[d] < 0 ? at[d] : fixed[d];
    all.push_back(Flat(index, shape));
  } while (eval::NextIndex(at, open));
  return all;
}

bool SameDimensions(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.dimensions(), b.dimensions());
}

}  // namespace

OperandElements::OperandElements(const hlo::Module& module, hlo::InstructionId id,
                                 std::span<const Value> operands, const Shape& result)
    : module_(module), id_(id), operands_(operands), result_(result) {}

OperandElements::Elements OperandElements::Of(size_t slot, int64_t at) const {
  if (slot >= operands_.size() || !operands_[slot].is_array()) return std::nullopt;
  const Opcode opcode = module_[id_].opcode;
  if (hlo::HasFlag(opcode, hlo::kFlagElementwise)) return OfElementwise(slot, at);
  if (opcode == Opcode::kReshape || opcode == Opcode::kCopy) return std::vector{at};
  const bool is_empty = Holds(result_.dimensions(), 0);
  if (is_empty) return std::nullopt;
  return OfMovement(slot, eval::IndexAt(at, result_.dimensions()));
}

OperandElements::Elements OperandElements::OfElementwise(size_t slot, int64_t at) const {
  if (module_[id_].opcode == Opcode::kSelect && slot > 0) {
    const int64_t chosen = shape(0).IsScalar() ? 0 : at;
    if ((operands_[0].as<uint8_t>()[chosen] != 0) != (slot == 1)) return std::vector<int64_t>();
  }
  if (SameDimensions(shape(slot), result_)) return std::vector{at};
  if (shape(slot).ElementCount() == 1) return std::vector<int64_t>{0};
  return std::nullopt;
}

OperandElements::Elements OperandElements::OfMovement(size_t slot, const Index& index) const {
  const size_t rank = shape(slot).rank();
  Index from(rank, 0);
  switch (module_[id_].opcode) {
    case Opcode::kBroadcast: {
      const auto dimensions = Ints(AttributeKey::kDimensions);
      if (dimensions.size() != rank) return std::nullopt;
      for (size_t d = 0; d < rank; ++d) from[d] = index[static_cast<size_t>(dimensions[d])];
      return std::vector{Flat(from, shape(slot))};
    }
    case Opcode::kTranspose: {
      const auto dimensions = Ints(AttributeKey::kDimensions);
      if (dimensions.size() != rank) return std::nullopt;
      for (size_t d = 0; d < rank; ++d) from[static_cast<size_t>(dimensions[d])] = index[d];
      return std::vector{Flat(from, shape(slot))};
    }
    case Opcode::kReverse:
      for (size_t d = 0; d < rank; ++d) {
        const bool is_reversed = Holds(Ints(AttributeKey::kDimensions), static_cast<int64_t>(d));
        from[d] = is_reversed ? result_.dimension(d) - 1 - index[d] : index[d];
      }
      return std::vector{Flat(from, shape(slot))};
    case Opcode::kSlice: {
      const auto slices = Ints(AttributeKey::kSlice);
      for (size_t d = 0; d < rank; ++d) from[d] = slices[3 * d] + index[d] * slices[3 * d + 2];
      return std::vector{Flat(from, shape(slot))};
    }
    case Opcode::kDynamicSlice: {
      if (slot > 0) return std::vector<int64_t>();
      const auto starts = Starts(1, shape(0), result_);
      if (!starts) return std::nullopt;
      for (size_t d = 0; d < rank; ++d) from[d] = (*starts)[d] + index[d];
      return std::vector{Flat(from, shape(slot))};
    }
    case Opcode::kDynamicUpdateSlice:
      return OfUpdate(slot, index);
    case Opcode::kPad:
      return OfPad(slot, index);
    case Opcode::kConcatenate:
      return OfConcatenate(slot, index);
    case Opcode::kReduce:
      return OfReduce(slot, index);
    case Opcode::kDot:
      return OfDot(slot, index);
    default:
      return std::nullopt;
  }
}

// Where a part of `whole` begins, moved so that it lies within.
std::optional<OperandElements::Index> OperandElements::Starts(size_t first, const Shape& whole,
                                                              const Shape& part) const {
  const auto given = eval::IntegerScalars(operands_.subspan(std::min(first, operands_.size())));
  if (given.size() != whole.rank()) return std::nullopt;
  Index starts;
  for (size_t d = 0; d < given.size(); ++d) {
    if (!given[d]) return std::nullopt;
    starts.push_back(std::clamp<int64_t>(
        *given[d], 0, std::max<int64_t>(whole.dimension(d) - part.dimension(d), 0)));
  }
  return starts;
}

OperandElements::Elements OperandElements::OfUpdate(size_t slot, const Index& index) const {
  if (slot > 1) return std::vector<int64_t>();
  const auto starts = Starts(2, result_, shape(1));
  if (!starts) return std::nullopt;
  Index inside = index;
  bool is_updated = true;
  for (size_t d = 0; d < index.size(); ++d) {
    inside[d] -= (*starts)[d];
    is_updated &= inside[d] >= 0 && inside[d] < shape(1).dimension(d);
  }
  if (is_updated != (slot == 1)) return std::vector<int64_t>();
  return std::vector{Flat(slot == 1 ? inside : index, shape(slot))};
}

OperandElements::Elements OperandElements::OfPad(size_t slot, const Index& index) const {
  const auto padding = Ints(AttributeKey::kPadding);
  Index from = index;
  bool is_inside = true;
  for (size_t d = 0; d < index.size(); ++d) {
    const int64_t step = padding[3 * d + 2] + 1;
    from[d] -= padding[3 * d];
    is_inside &= from[d] >= 0 && from[d] % step == 0 && from[d] / step < shape(0).dimension(d);
    from[d] /= step;
  }
  if (is_inside != (slot == 0)) return std::vector<int64_t>();
  return std::vector{slot == 0 ? Flat(from, shape(0)) : 0};
}

OperandElements::Elements OperandElements::OfConcatenate(size_t slot, Index index) const {
  const auto d = static_cast<size_t>(Ints(AttributeKey::kDimensions)[0]);
  for (size_t k = 0; k < slot; ++k) index[d] -= operands_[k].shape().dimension(d);
  if (index[d] < 0 || index[d] >= shape(slot).dimension(d)) return std::vector<int64_t>();
  return std::vector{Flat(index, shape(slot))};
}

// Of the same array, and of its initial value.
OperandElements::Elements OperandElements::OfReduce(size_t slot, const Index& index) const {
  if (operands_.size() != 2) return std::nullopt;
  if (slot == 1) return std::vector<int64_t>{0};
  Index fixed;
  size_t next = 0;
  for (size_t d = 0; d < shape(0).rank(); ++d) {
    const bool is_reduced = Holds(Ints(AttributeKey::kDimensions), static_cast<int64_t>(d));
    fixed.push_back(is_reduced ? -1 : index[next++]);
  }
  return ListFixed(shape(0), fixed);
}

// The result has the batch dimensions, then the free ones of both sides.
OperandElements::Elements OperandElements::OfDot(size_t slot, const Index& index) const {
  const hlo::DotDims dims = hlo::DotDimsOf(module_, id_);
  if (slot > 1) return std::nullopt;
  const hlo::DotSide& side = dims.side(slot);
  Index fixed(shape(slot).rank(), -1);
  for (size_t b = 0; b < side.batch.size(); ++b) {
    fixed[static_cast<size_t>(side.batch[b])] = index[b];
  }
  size_t next = side.batch.size() + (slot == 0 ? 0 : dims.lhs.Free(shape(0).rank()).size());
  for (const int64_t d : side.Free(fixed.size())) fixed[static_cast<size_t>(d)] = index[next++];
  return ListFixed(shape(slot), fixed);
}

}  // namespace hloscope::replay
