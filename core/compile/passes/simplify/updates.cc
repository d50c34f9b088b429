// Rules for what writes a part of an array at places that are known.
#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;

namespace {

using Sizes = std::vector<int64_t>;

// How far an update is followed to what it is made of.
constexpr size_t kMaxFollowed = 256;

// What a computation of two scalars of that type applies to its parameters, in this order: an
// opcode, or kParameter where it yields the second; nullopt for all else.
std::optional<Opcode> CombinerOf(Edit& edit, ComputationId id, hlo::ElementType type) {
  const InstructionId root = edit.rewriter().root(id);
  const auto is_of_type = [&](InstructionId i) {
    return edit.shape(i).IsScalar() && edit.shape(i).element_type() == type;
  };
  if (!is_of_type(root) || !std::ranges::all_of(edit.rewriter().operands(root), is_of_type)) {
    return std::nullopt;
  }
  const auto number = [&](InstructionId i) {
    return edit.opcode(i) == Opcode::kParameter ? edit.Int(i, AttributeKey::kParameterNumber) : -1;
  };
  if (number(root) == 1) return Opcode::kParameter;
  const bool is_plain = edit.rewriter().operand_count(root) == 2 &&
                        Info(edit.opcode(root)).category == hlo::Category::kElementwise &&
                        edit.rewriter().attributes(root).size() <=
                            (edit.Find(root, AttributeKey::kMetadata) != nullptr ? 1U : 0U);
  if (!is_plain || number(edit.operand(root, 0)) != 0 || number(edit.operand(root, 1)) != 1) {
    return std::nullopt;
  }
  return edit.opcode(root);
}

// Whether `update` is made of elements of `array` by what a kernel computes on the way.
bool Reads(const Edit& edit, InstructionId update, InstructionId array) {
  std::vector<InstructionId> open = {update};
  std::unordered_set<InstructionId> seen;
  while (!open.empty() && seen.size() < kMaxFollowed) {
    const InstructionId at = open.back();
    open.pop_back();
    if (at == array) return true;
    if (!seen.insert(at).second) continue;
    const Opcode opcode = edit.opcode(at);
    const bool is_followed = Info(opcode).category == hlo::Category::kElementwise ||
                             opcode == Opcode::kSlice || opcode == Opcode::kReshape ||
                             opcode == Opcode::kBroadcast || opcode == Opcode::kConvert ||
                             opcode == Opcode::kPad;
    if (!is_followed) continue;
    for (const InstructionId operand : edit.rewriter().operands(at)) open.push_back(operand);
  }
  return false;
}

// Where the window of a scatter with one index begins, by dimension of the operand, and its sizes;
// nullopt where that is not known, or not within the operand: then nothing is written.
struct Window {
  Sizes begin, sizes;
};
std::optional<Window> OnlyWindow(Edit& edit, InstructionId scatter) {
  const hlo::ScatterDims dims =
      hlo::ScatterDimsOf(edit.values(), edit.rewriter().attributes(scatter));
  const Sizes array = SizesOf(edit.shape(edit.operand(scatter, 0)));
  const Sizes update = SizesOf(edit.shape(edit.operand(scatter, 2)));
  const auto named = dims.scatter_dims_to_operand_dims.size();
  const auto indices = edit.shape(edit.operand(scatter, 1)).ElementCount();
  if (!dims.input_batching_dims.empty() || indices != static_cast<int64_t>(named)) {
    return std::nullopt;
  }
  const auto starts = IntegersOf(edit, edit.operand(scatter, 1));
  if (!starts) return std::nullopt;
  Window window{Sizes(array.size(), 0), Sizes(array.size(), 1)};
  for (size_t k = 0; k < named; ++k) {
    window.begin[static_cast<size_t>(dims.scatter_dims_to_operand_dims[k])] = (*starts)[k];
  }
  int64_t elements = 1;
  size_t next = 0;
  for (const size_t d : dims.WindowDims(array.size())) {
    window.sizes[d] = update[static_cast<size_t>(dims.update_window_dims[next++])];
    elements *= window.sizes[d];
  }
  // Indices that name no dimension are any number of windows.
  if (edit.shape(edit.operand(scatter, 2)).ElementCount() != elements) return std::nullopt;
  for (size_t d = 0; d < array.size(); ++d) {
    if (window.begin[d] < 0 || window.begin[d] > array[d] - window.sizes[d]) return std::nullopt;
  }
  return window;
}

}  // namespace

// One window at a known place is an update of what lies there.
InstructionId ScatterOfOneWindow(Edit& edit, InstructionId id) {
  if (edit.rewriter().operand_count(id) != 3) return kNoReplacement;
  const InstructionId array = edit.operand(id, 0), values = edit.operand(id, 2);
  if (edit.shape(values).element_type() != edit.shape(array).element_type()) return kNoReplacement;
  const std::optional<Window> window = OnlyWindow(edit, id);
  const hlo::Attribute* called = edit.Find(id, AttributeKey::kToApply);
  const auto combiner = window && called != nullptr ? CombinerOf(edit, ComputationId(called->value),
                                                                 edit.shape(array).element_type())
                                                    : std::nullopt;
  if (!combiner) return kNoReplacement;
  const Shape whole = edit.shape(id);
  const Shape part = PlainArray(whole.element_type(), window->sizes);
  InstructionId update = values;
  if (!SameArray(edit.shape(values), part)) {
    update = edit.Add(id, "reshape", Opcode::kReshape, part, {values});
  }
  if (*combiner != Opcode::kParameter) {
    Sizes slice;
    for (size_t d = 0; d < window->sizes.size(); ++d) {
      slice.insert(slice.end(), {window->begin[d], window->begin[d] + window->sizes[d], 1});
    }
    const InstructionId there =
        WithInts(edit, id, Opcode::kSlice, part, array, AttributeKey::kSlice, slice);
    update = edit.Add(id, ToString(*combiner), *combiner, part, {there, update});
  }
  std::vector<InstructionId> operands = {array, update};
  const Shape index = Shape::Scalar(hlo::ElementType::kS64);
  for (const int64_t begin : window->begin) {
    operands.push_back(Filled(edit, id, index, static_cast<double>(begin)));
  }
  return edit.Add(id, "dynamic-update-slice", Opcode::kDynamicUpdateSlice, whole, operands);
}

// An update of most of an array by what is made of its elements (u[1:-1] += u[2:] + u[:-2]) is made
// element by element: a kernel that wrote it in place could read none of them.
InstructionId UpdateByItself(Edit& edit, InstructionId id) {
  const InstructionId array = edit.operand(id, 0), update = edit.operand(id, 1);
  const Sizes sizes = SizesOf(edit.shape(array)), part = SizesOf(edit.shape(update));
  if (edit.rewriter().operand_count(id) != sizes.size() + 2) return kNoReplacement;
  const auto elements = edit.shape(update).ElementCount().value_or(0);
  if (elements == 0 || elements < edit.shape(array).ElementCount().value_or(0) / 2) {
    return kNoReplacement;
  }
  Sizes padding;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto start = IntegersOf(edit, edit.operand(id, d + 2));
    if (!start) return kNoReplacement;
    const int64_t begin = std::clamp<int64_t>((*start)[0], 0, sizes[d] - part[d]);
    padding.insert(padding.end(), {begin, sizes[d] - part[d] - begin, 0});
  }
  if (!Reads(edit, update, array)) return kNoReplacement;
  const Shape whole = edit.shape(id);
  const auto padded = [&](InstructionId value, InstructionId fill) {
    const Shape shape = PlainArray(edit.shape(value).element_type(), sizes);
    const hlo::Attribute list = edit.rewriter().builder().MakeInts(AttributeKey::kPadding, padding);
    return edit.Add(id, "pad", Opcode::kPad, shape, {value, fill}, {list});
  };
  const Shape is_inside = PlainArray(hlo::ElementType::kPred, part);
  const InstructionId inside = padded(Filled(edit, id, is_inside, 1),
                                      Filled(edit, id, Shape::Scalar(hlo::ElementType::kPred), 0));
  const InstructionId made =
      padded(update, ZeroBytes(edit, id, Shape::Scalar(whole.element_type())));
  return edit.Add(id, "select", Opcode::kSelect, whole, {inside, made, array});
}

}  // namespace hloscope::compile
