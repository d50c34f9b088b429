// Rules for what reads an array at places that are known.
#include <algorithm>

#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;

namespace {

constexpr size_t kMaxSlices = 8;

}  // namespace

// A few numbers of one dimension, as of the channels of a picture, which stay where they are among
// the others: slices one behind the other.
InstructionId GatherAtConstants(Edit& edit, InstructionId id) {
  const hlo::GatherDims dims = hlo::GatherDimsOf(edit.values(), edit.rewriter().attributes(id));
  const InstructionId from = edit.operand(id, 0);
  const hlo::ElementType type = edit.shape(from).element_type();
  const std::vector<int64_t> sizes = SizesOf(edit.shape(from)), wanted = SizesOf(edit.shape(id));
  if (dims.start_index_map.size() != 1 || wanted.size() != sizes.size() ||
      !dims.operand_batching_dims.empty() ||
      !std::ranges::equal(dims.collapsed_slice_dims, dims.start_index_map)) {
    return kNoReplacement;
  }
  const auto d = static_cast<size_t>(dims.start_index_map[0]);
  for (size_t k = 0; k < sizes.size(); ++k) {
    const bool is_offset = std::ranges::count(dims.offset_dims, static_cast<int64_t>(k)) > 0;
    if (dims.slice_sizes[k] != (k == d ? 1 : sizes[k]) || is_offset == (k == d)) {
      return kNoReplacement;
    }
  }
  const auto places = IntegersOf(edit, edit.operand(id, 1));
  if (!places || places->empty() || sizes[d] == 0) return kNoReplacement;
  hlo::ModuleBuilder& builder = edit.rewriter().builder();
  std::vector<std::pair<int64_t, int64_t>> runs;  // begin and end of neighbours
  for (const int64_t place : *places) {
    const int64_t at = std::clamp<int64_t>(place, 0, sizes[d] - 1);
    if (!runs.empty() && runs.back().second == at) {
      ++runs.back().second;
    } else {
      runs.emplace_back(at, at + 1);
    }
    if (runs.size() > kMaxSlices) return kNoReplacement;
  }
  std::vector<InstructionId> parts;
  for (const auto& [begin, end] : runs) {
    std::vector<int64_t> slice, part = sizes;
    part[d] = end - begin;
    for (size_t k = 0; k < sizes.size(); ++k) {
      slice.insert(slice.end(), {k == d ? begin : 0, k == d ? end : sizes[k], 1});
    }
    parts.push_back(edit.Add(id, "slice", Opcode::kSlice, Shape::Array(type, part), {from},
                             {builder.MakeInts(AttributeKey::kSlice, slice)}));
  }
  if (parts.size() == 1) return parts[0];
  return edit.Add(
      id, "concatenate", Opcode::kConcatenate, Shape::Array(type, wanted), parts,
      {builder.MakeInts(AttributeKey::kDimensions, std::vector<int64_t>{static_cast<int64_t>(d)})});
}

}  // namespace hloscope::compile
