// Rounding legalization: what XLA rounds before its last step. Reduces that round each partial
// result get their windows as a dimension, products of narrow floats the type that they are rounded
// to, factors and solutions of narrow ones the type that they are computed in; kernels then need to
// know nothing of that.
#include <algorithm>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/analysis/reducer.h"
#include "core/hlo/float_types.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// The results of the windows over an array.
InstructionId FoldedInWindows(Edit& edit, InstructionId id, InstructionId values,
                              const hlo::Window& window, InstructionId neutral) {
  hlo::ModuleBuilder& builder = edit.rewriter().builder();
  const Shape shape = edit.shape(values);
  const auto reduced = edit.Ints(id, AttributeKey::kDimensions);
  std::vector<int64_t> padding, padded, split, inner, outer;
  for (size_t d = 0; d < shape.rank(); ++d) {
    const hlo::WindowDimension& w = window.dimensions[d];
    padding.insert(padding.end(), {w.padding_low, w.padding_high, 0});
    padded.push_back(shape.dimension(d) + w.padding_low + w.padding_high);
    outer.push_back(padded.back() / w.size);
    split.push_back(outer.back());
    if (std::ranges::find(reduced, static_cast<int64_t>(d)) == reduced.end()) continue;
    inner.push_back(std::ssize(split));
    split.push_back(w.size);
  }
  const Attribute applied = *edit.Find(id, AttributeKey::kToApply);
  const ElementType type = shape.element_type();
  const Attribute around = builder.MakeInts(AttributeKey::kPadding, padding);
  values = edit.Add(id, "pad", Opcode::kPad, PlainArray(type, padded), {values, neutral}, {around});
  values = edit.Add(id, "windows", Opcode::kReshape, PlainArray(type, split), {values});
  const Attribute dimensions = builder.MakeInts(AttributeKey::kDimensions, inner);
  return edit.Add(id, "reduce", Opcode::kReduce, PlainArray(type, outer), {values, neutral},
                  {dimensions, applied});
}

void ExpandFold(Edit& edit, InstructionId id) {
  const Module& module = edit.original();
  const auto fold = hlo::RoundedFoldOf(module, id);
  const auto operands = module.operands(id);
  const auto reduced = module.GetInts(module[id], AttributeKey::kDimensions);
  if (!fold || !IsWholeArray(module.shape(operands[0])) || !IsWholeArray(module.shape(id)) ||
      !hlo::FoldWindows(module.shape(operands[0]).dimensions(), reduced)) {
    return;
  }
  InstructionId values = edit.operand(id, 0);
  const InstructionId neutral = edit.AddScalar(id, module.shape(id).element_type(), fold->neutral);
  while (const auto window = hlo::FoldWindows(edit.shape(values).dimensions(), reduced)) {
    values = FoldedInWindows(edit, id, values, *window, neutral);
  }
  const auto attributes = module.attributes(module[id]);
  edit.Replace(id, edit.Add(id, "reduce", Opcode::kReduce, module.shape(id),
                            {values, edit.operand(id, 1)}, {attributes.begin(), attributes.end()}));
}

void ExpandProduct(Edit& edit, InstructionId id) {
  const Module& module = edit.original();
  const Shape& result = module.shape(id);
  std::vector<InstructionId> operands;
  for (size_t i = 0; i < module.operands(id).size(); ++i) {
    if (!IsWholeArray(module.shape(module.operands(id)[i]))) return;
    operands.push_back(edit.operand(id, i));
  }
  const ElementType left = module.shape(module.operands(id)[0]).element_type();
  const auto rounded = hlo::RoundedProduct(left, result.element_type());
  if (!rounded || !IsWholeArray(result) ||
      left != module.shape(module.operands(id)[1]).element_type()) {
    return;
  }
  const auto attributes = module.attributes(module[id]);
  const InstructionId product = edit.Add(id, ToString(module[id].opcode), module[id].opcode,
                                         PlainArray(*rounded, result.dimensions()), operands,
                                         {attributes.begin(), attributes.end()});
  edit.Replace(id, edit.Add(id, "convert", Opcode::kConvert,
                            PlainArray(result.element_type(), result.dimensions()), {product}));
}

// Computed in f64 and rounded once.
void ExpandMatrices(Edit& edit, InstructionId id) {
  const Module& module = edit.original();
  const Shape& result = module.shape(id);
  const ElementType type = result.element_type();
  if (!hlo::IsFloat(type) || hlo::BitWidth(type) >= 32) return;
  std::vector<InstructionId> operands;
  for (size_t i = 0; i < module.operands(id).size(); ++i) {
    const Shape& shape = module.shape(module.operands(id)[i]);
    if (!IsWholeArray(shape) || shape.element_type() != type) return;
    operands.push_back(edit.Add(id, "convert", Opcode::kConvert,
                                PlainArray(ElementType::kF64, shape.dimensions()),
                                {edit.operand(id, i)}));
  }
  const auto attributes = module.attributes(module[id]);
  const InstructionId wide = edit.Add(id, ToString(module[id].opcode), module[id].opcode,
                                      PlainArray(ElementType::kF64, result.dimensions()), operands,
                                      {attributes.begin(), attributes.end()});
  edit.Replace(
      id, edit.Add(id, "convert", Opcode::kConvert, PlainArray(type, result.dimensions()), {wide}));
}

}  // namespace

Result<PassResult> LegalizeRounding(const std::shared_ptr<const Module>& module, Compilation&) {
  const auto has = [&](Opcode opcode) { return HasOpcode(*module, opcode); };
  if (!has(Opcode::kReduce) && !has(Opcode::kDot) && !has(Opcode::kRaggedDot) &&
      !has(Opcode::kCholesky) && !has(Opcode::kTriangularSolve)) {
    return PassResult{};
  }
  Edit edit(module);
  edit.ForEachRunning([&](InstructionId id) {
    const Opcode opcode = (*module)[id].opcode;
    if (opcode == Opcode::kReduce) ExpandFold(edit, id);
    if (opcode == Opcode::kDot || opcode == Opcode::kRaggedDot) ExpandProduct(edit, id);
    if (opcode == Opcode::kCholesky || opcode == Opcode::kTriangularSolve) ExpandMatrices(edit, id);
  });
  return edit.Finish();
}

}  // namespace hloscope::compile
