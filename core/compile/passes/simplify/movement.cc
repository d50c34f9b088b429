// Rules of data movement.
#include <algorithm>
#include <numeric>

#include "core/compile/passes/simplify/rules.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;

namespace {

using Sizes = std::vector<int64_t>;

bool IsIota(const Sizes& list) {
  for (size_t k = 0; k < list.size(); ++k) {
    if (std::cmp_not_equal(list[k], k)) return false;
  }
  return true;
}

int64_t CountOf(const Shape& shape) { return shape.ElementCount().value_or(-1); }

InstructionId Reshape(Edit& edit, InstructionId like, InstructionId operand) {
  const Shape shape = edit.shape(like);
  return edit.Add(like, "reshape", Opcode::kReshape, shape, {operand});
}

InstructionId Broadcast(Edit& edit, InstructionId like, InstructionId operand,
                        const Sizes& dimensions) {
  return WithInts(edit, like, Opcode::kBroadcast, edit.shape(like), operand,
                  AttributeKey::kDimensions, dimensions);
}

bool IsOfScalar(Edit& edit, InstructionId id) {
  return edit.opcode(id) == Opcode::kBroadcast && edit.shape(edit.operand(id, 0)).IsScalar();
}

// The same operation on other sizes.
InstructionId Again(Edit& edit, InstructionId id, const Sizes& sizes,
                    std::span<const InstructionId> operands) {
  std::vector<hlo::Attribute> attributes;
  for (const hlo::Attribute& a : edit.rewriter().attributes(id)) {
    if (!IsCommon(a.key)) attributes.push_back(a);
  }
  return edit.Add(id, ToString(edit.opcode(id)), edit.opcode(id),
                  Shape::Array(edit.shape(id).element_type(), sizes), operands, attributes);
}

// The operand under all broadcasts of a scalar.
InstructionId OfScalar(Edit& edit, InstructionId id) {
  const InstructionId operand = edit.operand(id, 0);
  return IsOfScalar(edit, operand) ? Broadcast(edit, id, edit.operand(operand, 0), {})
                                   : kNoReplacement;
}

}  // namespace

InstructionId ChainOfReshapes(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  if (SameArray(edit.shape(from), edit.shape(id))) return from;
  return edit.opcode(from) == Opcode::kReshape ? Reshape(edit, id, edit.operand(from, 0))
                                               : kNoReplacement;
}

InstructionId ReshapeOfScalarBroadcast(Edit& edit, InstructionId id) { return OfScalar(edit, id); }

InstructionId ChainOfTransposes(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  const Sizes order = edit.Ints(id, AttributeKey::kDimensions);
  if (IsIota(order)) return from;
  if (edit.opcode(from) != Opcode::kTranspose) return kNoReplacement;
  const Sizes first = edit.Ints(from, AttributeKey::kDimensions);
  Sizes both;
  for (const int64_t d : order) both.push_back(first[static_cast<size_t>(d)]);
  if (IsIota(both)) return edit.operand(from, 0);
  return WithInts(edit, id, Opcode::kTranspose, edit.shape(id), edit.operand(from, 0),
                  AttributeKey::kDimensions, both);
}

InstructionId TransposeOfBroadcast(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  if (edit.opcode(from) != Opcode::kBroadcast) return kNoReplacement;
  const Sizes order = edit.Ints(id, AttributeKey::kDimensions);
  Sizes dimensions = edit.Ints(from, AttributeKey::kDimensions);
  for (int64_t& d : dimensions) d = std::ranges::find(order, d) - order.begin();
  return Broadcast(edit, id, edit.operand(from, 0), dimensions);
}

// Only dimensions of one element change places.
InstructionId TransposeThatReshapes(Edit& edit, InstructionId id) {
  int64_t last = -1;
  for (const int64_t d : edit.Ints(id, AttributeKey::kDimensions)) {
    if (edit.shape(edit.operand(id, 0)).dimension(static_cast<size_t>(d)) == 1) continue;
    if (d < last) return kNoReplacement;
    last = d;
  }
  return Reshape(edit, id, edit.operand(id, 0));
}

InstructionId ChainOfBroadcasts(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  const Sizes outer = edit.Ints(id, AttributeKey::kDimensions);
  if (IsIota(outer) && SameArray(edit.shape(from), edit.shape(id))) return from;
  if (edit.opcode(from) != Opcode::kBroadcast) return kNoReplacement;
  Sizes both;
  for (const int64_t d : edit.Ints(from, AttributeKey::kDimensions)) {
    both.push_back(outer[static_cast<size_t>(d)]);
  }
  return Broadcast(edit, id, edit.operand(from, 0), both);
}

// Of a reshape that puts in or takes out dimensions of one element, where the operand has none.
InstructionId BroadcastOfReshape(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  if (edit.opcode(from) != Opcode::kReshape) return kNoReplacement;
  const InstructionId first = edit.operand(from, 0);
  const Sizes sizes = SizesOf(edit.shape(first)), reshaped = SizesOf(edit.shape(from));
  const Sizes dimensions = edit.Ints(id, AttributeKey::kDimensions);
  if (std::ranges::find(sizes, 1) != sizes.end()) return kNoReplacement;
  Sizes kept_sizes, kept;
  for (size_t d = 0; d < reshaped.size(); ++d) {
    if (reshaped[d] == 1) continue;
    kept_sizes.push_back(reshaped[d]);
    kept.push_back(dimensions[d]);
  }
  return kept_sizes == sizes ? Broadcast(edit, id, first, kept) : kNoReplacement;
}

// Puts in dimensions of one element alone.
InstructionId BroadcastThatReshapes(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  const bool ascending = std::ranges::is_sorted(edit.Ints(id, AttributeKey::kDimensions));
  return ascending && CountOf(edit.shape(from)) == CountOf(edit.shape(id)) ? Reshape(edit, id, from)
                                                                           : kNoReplacement;
}

InstructionId SliceOfEverything(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  return SameArray(edit.shape(from), edit.shape(id)) ? from : kNoReplacement;
}

InstructionId ChainOfSlices(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  if (edit.opcode(from) != Opcode::kSlice) return kNoReplacement;
  Sizes slice = edit.Ints(id, AttributeKey::kSlice);
  const Sizes first = edit.Ints(from, AttributeKey::kSlice);
  for (size_t d = 0; d < slice.size(); d += 3) {
    const int64_t size = edit.shape(id).dimension(d / 3);
    const int64_t start = first[d] + slice[d] * first[d + 2], stride = slice[d + 2] * first[d + 2];
    // The last element taken has to stay below the limit; strides may pass it.
    slice[d] = size == 0 ? 0 : start;
    slice[d + 1] = size == 0 ? 0 : start + (size - 1) * stride + 1;
    slice[d + 2] = size == 0 ? 1 : stride;
  }
  return WithInts(edit, id, Opcode::kSlice, edit.shape(id), edit.operand(from, 0),
                  AttributeKey::kSlice, slice);
}

InstructionId SliceOfScalarBroadcast(Edit& edit, InstructionId id) { return OfScalar(edit, id); }

// Of one part of it.
InstructionId SliceOfConcatenate(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  if (edit.opcode(from) != Opcode::kConcatenate) return kNoReplacement;
  const auto d = static_cast<size_t>(edit.Ints(from, AttributeKey::kDimensions).at(0));
  Sizes slice = edit.Ints(id, AttributeKey::kSlice);
  const int64_t begin = slice[3 * d], end = slice[3 * d + 1];
  int64_t offset = 0;
  for (size_t k = 0; k < edit.rewriter().operand_count(from); ++k) {
    const InstructionId part = edit.operand(from, k);
    const int64_t size = edit.shape(part).dimension(d);
    if (begin >= offset && end <= offset + size && end > begin) {
      slice[3 * d] -= offset;
      slice[3 * d + 1] -= offset;
      return WithInts(edit, id, Opcode::kSlice, edit.shape(id), part, AttributeKey::kSlice, slice);
    }
    offset += size;
  }
  return kNoReplacement;
}

// Starts that are known, held within the operand.
InstructionId SliceAtConstants(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  const Sizes sizes = SizesOf(edit.shape(from)), taken = SizesOf(edit.shape(id));
  if (edit.rewriter().operand_count(id) != sizes.size() + 1) return kNoReplacement;
  Sizes slice;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto start = NumberOf(edit, edit.operand(id, d + 1));
    if (!start) return kNoReplacement;
    const bool is_large = IsUnsigned(start->type) && start->integer < 0;
    const int64_t last = sizes[d] - taken[d];
    const int64_t at = is_large ? last : std::clamp<int64_t>(start->integer, 0, last);
    slice.insert(slice.end(), {at, at + taken[d], 1});
  }
  return WithInts(edit, id, Opcode::kSlice, edit.shape(id), from, AttributeKey::kSlice, slice);
}

InstructionId UpdateOfEverything(Edit& edit, InstructionId id) {
  const InstructionId update = edit.operand(id, 1);
  return SameArray(edit.shape(update), edit.shape(id)) ? update : kNoReplacement;
}

InstructionId PadOfNothing(Edit& edit, InstructionId id) {
  const Sizes padding = edit.Ints(id, AttributeKey::kPadding);
  for (size_t d = 0; d + 2 < padding.size(); d += 3) {
    const bool has_gaps =
        padding[d + 2] != 0 && edit.shape(edit.operand(id, 0)).dimension(d / 3) > 1;
    if (padding[d] != 0 || padding[d + 1] != 0 || has_gaps) return kNoReplacement;
  }
  return edit.operand(id, 0);
}

// Negative padding alone is a slice.
InstructionId PadThatCuts(Edit& edit, InstructionId id) {
  const Sizes padding = edit.Ints(id, AttributeKey::kPadding);
  Sizes slice;
  for (size_t d = 0; d + 2 < padding.size(); d += 3) {
    const int64_t size = edit.shape(edit.operand(id, 0)).dimension(d / 3);
    const int64_t begin = -padding[d], end = size + padding[d + 1];
    if (padding[d] > 0 || padding[d + 1] > 0 || padding[d + 2] != 0 || begin > end) {
      return kNoReplacement;
    }
    slice.insert(slice.end(), {begin, end, 1});
  }
  return WithInts(edit, id, Opcode::kSlice, edit.shape(id), edit.operand(id, 0),
                  AttributeKey::kSlice, slice);
}

InstructionId ConcatenateOfOne(Edit& edit, InstructionId id) {
  return edit.rewriter().operand_count(id) == 1 ? edit.operand(id, 0) : kNoReplacement;
}

// Along the same dimension, and without parts that have no elements.
// The last of a chain takes the parts of all, so that they are gone through once.
InstructionId ChainOfConcatenates(Edit& edit, InstructionId id) {
  const Sizes dimensions = edit.Ints(id, AttributeKey::kDimensions);
  const auto is_alike = [&](InstructionId other) {
    return edit.opcode(other) == Opcode::kConcatenate &&
           edit.Ints(other, AttributeKey::kDimensions) == dimensions;
  };
  const auto users = edit.rewriter().users(id);
  if (users.size() == 1 && is_alike(users[0]) && !edit.IsPinned(id)) return kNoReplacement;
  std::vector<InstructionId> parts, open;
  const auto open_operands = [&](InstructionId of) {
    const auto operands = edit.rewriter().operands(of);
    open.insert(open.end(), operands.rbegin(), operands.rend());
  };
  bool changes = false;
  open_operands(id);
  while (!open.empty()) {
    const InstructionId part = open.back();
    open.pop_back();
    const bool is_chain = is_alike(part) && edit.rewriter().users(part).size() == 1;
    const bool is_empty = CountOf(edit.shape(part)) == 0;
    changes |= is_chain || is_empty;
    if (is_chain) {
      open_operands(part);
    } else if (!is_empty) {
      parts.push_back(part);
    }
  }
  if (!changes || parts.empty()) return kNoReplacement;
  const Shape shape = edit.shape(id);
  const hlo::Attribute list =
      edit.rewriter().builder().MakeInts(AttributeKey::kDimensions, dimensions);
  return edit.Add(id, "concatenate", Opcode::kConcatenate, shape, parts, {list});
}

InstructionId ChainOfReverses(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  Sizes reversed = edit.Ints(id, AttributeKey::kDimensions);
  if (std::ranges::all_of(reversed, [&](int64_t d) {
        return edit.shape(id).dimension(static_cast<size_t>(d)) == 1;
      })) {
    return from;
  }
  if (edit.opcode(from) != Opcode::kReverse) return kNoReplacement;
  Sizes inner = edit.Ints(from, AttributeKey::kDimensions);
  std::ranges::sort(reversed);
  std::ranges::sort(inner);
  return reversed == inner ? edit.operand(from, 0) : kNoReplacement;
}

// Computed before the broadcasts, where all are of the same kind or of scalars.
InstructionId ElementwiseOfBroadcasts(Edit& edit, InstructionId id) {
  const size_t count = edit.rewriter().operand_count(id);
  if (count == 0 || edit.shape(id).IsScalar()) return kNoReplacement;
  InstructionId model;  // a broadcast of an array
  for (size_t k = 0; k < count; ++k) {
    const InstructionId operand = edit.operand(id, k);
    if (edit.opcode(operand) != Opcode::kBroadcast ||
        SizesOf(edit.shape(operand)) != SizesOf(edit.shape(id))) {
      return kNoReplacement;
    }
    if (IsOfScalar(edit, operand)) continue;
    if (!model.valid()) model = operand;
    if (edit.Ints(operand, AttributeKey::kDimensions) !=
            edit.Ints(model, AttributeKey::kDimensions) ||
        !std::ranges::equal(edit.shape(edit.operand(operand, 0)).dimensions(),
                            edit.shape(edit.operand(model, 0)).dimensions())) {
      return kNoReplacement;
    }
  }
  Sizes sizes, dimensions;
  if (model.valid()) {
    sizes = SizesOf(edit.shape(edit.operand(model, 0)));
    dimensions = edit.Ints(model, AttributeKey::kDimensions);
    if (CountOf(edit.shape(edit.operand(model, 0))) >= CountOf(edit.shape(id))) {
      return kNoReplacement;
    }
  }
  std::vector<InstructionId> operands;
  for (size_t k = 0; k < count; ++k) {
    const InstructionId operand = edit.operand(id, k), inner = edit.operand(operand, 0);
    if (edit.shape(inner).IsScalar() && model.valid()) {
      const Shape shape = Shape::Array(edit.shape(inner).element_type(), sizes);
      operands.push_back(
          WithInts(edit, operand, Opcode::kBroadcast, shape, inner, AttributeKey::kDimensions, {}));
    } else {
      operands.push_back(inner);
    }
  }
  return Broadcast(edit, id, Again(edit, id, sizes, operands), dimensions);
}

// Computed before reshapes that put in or take out dimensions of one element.
InstructionId ElementwiseOfReshapes(Edit& edit, InstructionId id) {
  const size_t count = edit.rewriter().operand_count(id);
  InstructionId model;
  for (size_t k = 0; k < count; ++k) {
    const InstructionId operand = edit.operand(id, k);
    if (SizesOf(edit.shape(operand)) != SizesOf(edit.shape(id))) return kNoReplacement;
    if (IsOfScalar(edit, operand)) continue;
    if (edit.opcode(operand) != Opcode::kReshape) return kNoReplacement;
    if (!model.valid()) model = edit.operand(operand, 0);
    if (SizesOf(edit.shape(edit.operand(operand, 0))) != SizesOf(edit.shape(model))) {
      return kNoReplacement;
    }
  }
  if (!model.valid()) return kNoReplacement;
  const Sizes sizes = SizesOf(edit.shape(model));
  Sizes before = sizes, after = SizesOf(edit.shape(id));
  std::erase(before, 1);
  std::erase(after, 1);
  if (before != after) return kNoReplacement;
  std::vector<InstructionId> operands;
  for (size_t k = 0; k < count; ++k) {
    const InstructionId operand = edit.operand(id, k), inner = edit.operand(operand, 0);
    const bool is_scalar = IsOfScalar(edit, operand);
    const Shape shape = Shape::Array(edit.shape(operand).element_type(), sizes);
    operands.push_back(is_scalar ? WithInts(edit, operand, Opcode::kBroadcast, shape, inner,
                                            AttributeKey::kDimensions, {})
                                 : inner);
  }
  return Reshape(edit, id, Again(edit, id, sizes, operands));
}

}  // namespace hloscope::compile
