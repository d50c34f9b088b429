// Layout normalization. Values are row-major whatever layouts say, so layouts matter to bitcasts
// alone; those become the reshapes and transposes they are.
#include <algorithm>
#include <numeric>

#include "core/compile/passes/edit.h"
#include "core/hlo/permutation.h"
#include "core/hlo/rewrite/copy_module.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

using Order = std::vector<int64_t>;

// The dimensions as the layout keeps them, outermost first; row-major without a layout.
Order PhysicalOrder(const Shape& shape) {
  Order order(shape.rank());
  std::iota(order.begin(), order.end(), 0);
  if (!shape.has_layout() || !hlo::IsPermutation(shape.layout().minor_to_major, shape.rank())) {
    return order;
  }
  std::ranges::reverse_copy(shape.layout().minor_to_major, order.begin());
  return order;
}

bool IsIdentity(const Order& order) { return std::ranges::is_sorted(order); }

Shape Permuted(const Shape& shape, const Order& order) {
  std::vector<int64_t> sizes;
  for (const int64_t d : order) sizes.push_back(shape.dimension(static_cast<size_t>(d)));
  return Shape::Array(shape.element_type(), sizes);
}

Order Inverse(const Order& order) {
  Order inverse(order.size());
  for (size_t k = 0; k < order.size(); ++k) inverse[static_cast<size_t>(order[k])] = int64_t(k);
  return inverse;
}

// Types whose elements have the same bytes, and between which there is a bitcast-convert.
bool HaveSameBytes(ElementType a, ElementType b) {
  const auto is_number = [](ElementType t) {
    return (hlo::IsInteger(t) || hlo::IsFloat(t)) && hlo::BitWidth(t) >= 8;
  };
  return a == b || (is_number(a) && is_number(b) && hlo::BitWidth(a) == hlo::BitWidth(b));
}

bool IsPlainBitcast(const Shape& from, const Shape& to) {
  return from.IsArray() && to.IsArray() && from.is_static() && to.is_static() &&
         HaveSameBytes(from.element_type(), to.element_type()) && from.ElementCount().has_value() &&
         from.ElementCount() == to.ElementCount();
}

void ExpandBitcast(Edit& edit, InstructionId id) {
  // As declared: what takes the operand's place has no layout.
  const Shape& declared = edit.original().shape(edit.original().operands(id)[0]);
  if (!IsPlainBitcast(declared, edit.shape(id))) return;
  const Order from_order = PhysicalOrder(declared), to_order = PhysicalOrder(edit.shape(id));
  const Shape physical = Permuted(declared, from_order);
  const Order sizes(edit.shape(id).dimensions().begin(), edit.shape(id).dimensions().end());
  const Shape to = Shape::Array(declared.element_type(), sizes);
  const Shape to_physical = Permuted(to, to_order);
  auto transpose = [&](InstructionId of, const Shape& shape, const Order& order) {
    const auto dimensions = edit.rewriter().builder().MakeInts(AttributeKey::kDimensions, order);
    return edit.Add(id, "transpose", Opcode::kTranspose, shape, {of}, {dimensions});
  };
  InstructionId made = edit.operand(id, 0);
  if (!IsIdentity(from_order)) made = transpose(made, physical, from_order);
  if (!std::ranges::equal(physical.dimensions(), to_physical.dimensions())) {
    made = edit.Add(id, "reshape", Opcode::kReshape, to_physical, {made});
  }
  if (!IsIdentity(to_order)) made = transpose(made, to, Inverse(to_order));
  if (const ElementType type = edit.shape(id).element_type(); type != to.element_type()) {
    const Shape converted = Shape::Array(type, sizes);
    made = edit.Add(id, "convert", Opcode::kBitcastConvert, converted, {made});
  }
  edit.Replace(id, made);
  edit.rewriter().Remove(id);
}

// By instruction: those whose layout means something: custom calls, whose code may ask for it, and
// bitcasts that are left with their operands.
std::vector<bool> WithMeaning(const Module& module) {
  std::vector<bool> result(module.instructions().size());
  for (uint32_t k = 0; k < result.size(); ++k) {
    const Opcode opcode = module.instructions()[k].opcode;
    if (opcode != Opcode::kCustomCall && opcode != Opcode::kBitcast) continue;
    result[k] = true;
    if (opcode == Opcode::kCustomCall) continue;
    for (const InstructionId operand : module.operands(InstructionId(k))) {
      result[operand.index] = true;
    }
  }
  return result;
}

bool HasOtherLayout(const Shape& shape) {
  if (shape.IsTuple()) return std::ranges::any_of(shape.elements(), HasOtherLayout);
  return shape.IsArray() && shape.has_layout() && !IsIdentity(PhysicalOrder(shape));
}

}  // namespace

Result<PassResult> NormalizeLayouts(const std::shared_ptr<const Module>& module, Compilation&) {
  Edit edit(module);
  for (uint32_t k = 0; k < module->instructions().size(); ++k) {
    const InstructionId id(k);
    if ((*module)[id].opcode == Opcode::kBitcast && !edit.IsPinned(id)) ExpandBitcast(edit, id);
  }
  for (uint32_t k = 0; k < module->instructions().size(); ++k) {
    const InstructionId id(k);
    if ((*module)[id].opcode != Opcode::kCopy) continue;
    if (edit.MayReplace(id, edit.operand(id, 0))) edit.Replace(id, edit.operand(id, 0));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(PassResult result, edit.Finish());
  const std::shared_ptr<const Module> before = result.module ? result.module : module;
  std::vector<bool> is_other(before->shape_count());
  bool any = false;
  for (size_t s = 0; s < is_other.size(); ++s) {
    is_other[s] = HasOtherLayout((*before)[hlo::ShapeId(s)]);
    any |= is_other[s];
  }
  if (!any) return result;
  const std::vector<bool> keeps = WithMeaning(*before);
  hlo::ModuleBuilder builder = CopyModule(*before);
  for (uint32_t k = 0; k < before->instructions().size(); ++k) {
    const hlo::Instruction& i = before->instructions()[k];
    if (!is_other[i.shape.index] || keeps[k]) continue;
    builder.instruction(InstructionId(k)).shape =
        builder.InternShape((*before)[i.shape].WithDefaultOrder());
  }
  builder.header().entry_layout.reset();
  result.module = builder.Build();
  if (result.new_id.empty()) {
    for (uint32_t k = 0; k < module->instructions().size(); ++k) {
      result.new_id.emplace_back(k);
      result.origins.push_back({InstructionId(k), InstructionId(k), hlo::OriginKind::kSame});
    }
  }
  return result;
}

}  // namespace hloscope::compile
