// Fusions, custom calls and output_to_operand_aliasing.
#include "core/base/counted.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/verify/verify_context.h"
#include "core/hlo/verify/verify_layout.h"

namespace hloscope::hlo {
namespace {

using enum Opcode;
using std::to_string;

void CheckFusedBody(VerifyContext& context, InstructionId id, ComputationId c) {
  const Module& module = context.module();
  const Computation& computation = module[c];
  if (context.UserSlots(computation.root) != 0) {
    context.Error(id, "fusion-root",
                  "the root of " + context.Name(c) + ", " + context.Name(computation.root) +
                      ", has users inside the fused computation, expected none");
  }
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    InstructionId inner(computation.first_instruction + k);
    if (inner == computation.root || context.UserSlots(inner) != 0) continue;
    const Instruction& i = module[inner];
    if (EffectsOf(module).Has(inner) || HasFlag(i.opcode, kFlagCollective)) continue;
    context.Error(
        inner, "fusion-unused",
        context.Name(inner) + " in the fused computation " + context.Name(c) + " is not used",
        "remove it");
    if (context.full()) return;
  }
}

void CheckFusion(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  ComputationId c = module.GetComputation(i, AttributeKey::kCalls);
  if (!c.valid()) return;
  auto callers = context.callers(c);
  if (callers.size() != 1 && callers[0] != id) {
    context.Error(id, "fusion-caller",
                  context.Name(c) + " is called by " + context.Name(id) + " and by " +
                      context.Name(callers[0]) + ", expected one caller for a fused computation",
                  "give each fusion its own computation");
    return;
  }
  if (!context.Same(i.shape, module[module[c].root].shape)) {
    context.Error(id, "fusion-root",
                  context.Name(id) + " is " + context.Text(id) + ", but the root of " +
                      context.Name(c) + " is " + context.Text(module[c].root));
  }
  auto operands = module.operands(i);
  auto parameters = context.parameters(c);
  if (parameters.size() != operands.size()) {
    context.Error(id, "fusion-operands",
                  context.Name(id) + " has " + Counted(operands.size(), "operand") + ", but " +
                      context.Name(c) + " has " + Counted(parameters.size(), "parameter"));
    return;
  }
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (context.Same(module[operands[p]].shape, module[parameters[p]].shape)) continue;
    context.Error(id, "fusion-operands",
                  context.Name(id) + ": operand " + context.Name(operands[p]) + " is " +
                      context.Text(operands[p]) + ", but parameter " + to_string(p) + " of " +
                      context.Name(c) + " is " + context.Text(parameters[p]));
    return;
  }
  CheckFusedBody(context, id, c);
}

// How aliased shapes are compared: custom calls that pin a buffer compare what is inside.
const Shape& Unwrapped(const Shape& shape, bool through_buffers) {
  return through_buffers && shape.IsBuffer() && !shape.elements().empty() ? shape.elements()[0]
                                                                          : shape;
}

bool LooksPastBuffers(const Module& module, const Instruction& i) {
  std::string_view target = module.GetString(i, AttributeKey::kCustomCallTarget);
  return target == "Pin" || target == "Unpin";
}

void CheckAlias(VerifyContext& context, InstructionId id, const OutputOperandAlias& alias) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  auto operands = module.operands(i);
  std::string what = context.Name(id) + ": output_to_operand_aliasing " +
                     IndexText(alias.output_index) + ": (" + to_string(alias.operand) + ", " +
                     IndexText(alias.operand_index) + ")";
  if (alias.operand < 0 || static_cast<size_t>(alias.operand) >= operands.size()) {
    context.Error(id, "alias",
                  what + " names an operand that does not exist, it has " +
                      Counted(operands.size(), "operand"));
    return;
  }
  const Shape& whole = module.shape(operands[static_cast<size_t>(alias.operand)]);
  const Shape* input = Subshape(whole, alias.operand_index);
  const Shape* output = Subshape(module.shape(id), alias.output_index);
  if (input == nullptr || output == nullptr) {
    context.Error(id, "alias",
                  what + " names a part that does not exist of " +
                      context.Text(input == nullptr ? whole : module.shape(id)));
    return;
  }
  if (i.opcode == kCustomCall &&
      FrontendAttributeOf(module, i, "xla_skip_custom_call_alias_shape_check")) {
    return;
  }
  bool past_buffers = LooksPastBuffers(module, i);
  const Shape& from = Unwrapped(*input, past_buffers);
  const Shape& to = Unwrapped(*output, past_buffers);
  if (!SameShape(from, to)) {
    context.Error(
        id, "alias",
        what + " puts " + context.Text(*output) + " into the buffer of " + context.Text(*input));
    return;
  }
  bool scalar = from.IsArray() && from.ElementCount() == 1;
  unsigned ignore = scalar && i.opcode == kCustomCall ? kIgnoreMemorySpace : 0u;
  if (i.opcode == kFusion && context.IsFusion(i.computation)) {
    ignore = kIgnoreMemorySpace | kIgnoreTiles;
  }
  if (SameLayout(from, to, ignore)) return;
  context.Strict(id, "layout",
                 what + " puts " + context.Text(*output, true) + " into the buffer of " +
                     context.Text(*input, true));
}

void CheckAliasing(VerifyContext& context, InstructionId id) {
  const auto* aliasing = context.module().Get<OutputOperandAliasing>(
      context.module()[id], AttributeKey::kOutputToOperandAliasing);
  if (aliasing == nullptr) return;
  for (const OutputOperandAlias& alias : aliasing->entries) {
    if (context.full()) return;
    CheckAlias(context, id, alias);
  }
}

void CheckLayoutConstraints(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  const Attribute* constraints = module.Find(i, AttributeKey::kOperandLayoutConstraints);
  if (constraints == nullptr) return;
  if (module.GetString(i, AttributeKey::kCustomCallTarget) == "LayoutConstraint") return;
  auto shapes = module.IdsOf(*constraints);
  auto operands = module.operands(i);
  if (shapes.size() != operands.size()) {
    context.Error(id, "custom-call-layout",
                  context.Name(id) + " has operand_layout_constraints for " +
                      Counted(shapes.size(), "operand") + ", but has " +
                      to_string(operands.size()));
    return;
  }
  for (size_t o = 0; o < shapes.size(); ++o) {
    if (context.Same(ShapeId(shapes[o]), module[operands[o]].shape)) continue;
    context.Error(id, "custom-call-layout",
                  context.Name(id) + " constrains operand " + to_string(o) + " to " +
                      context.Text(module[ShapeId(shapes[o])], true) + ", but it is " +
                      context.Text(operands[o]));
    return;
  }
}

void CheckRngSeed(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  if (module.GetString(i, AttributeKey::kCustomCallTarget) != "GetRngSeed") return;
  const Shape& shape = module.shape(id);
  bool seed = shape.IsScalar() && shape.element_type() == ElementType::kU64;
  if (i.operand_count == 0 && seed) return;
  context.Error(id, "rng-seed",
                context.Name(id) + " is a custom-call to GetRngSeed with " +
                    Counted(i.operand_count, "operand") + " and result " + context.Text(shape) +
                    ", expected no operands and u64[]");
}

// XLA aborts on such a call without them; a translation through StableHLO loses all three.
void CheckDynamicConvolution(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  const std::string_view target = module.GetString(i, AttributeKey::kCustomCallTarget);
  if (!target.starts_with("DynamicConvolution")) return;
  std::string absent;
  for (const auto& [key, name] :
       {std::pair{AttributeKey::kWindow, "window"}, {AttributeKey::kDimLabels, "dim_labels"}}) {
    if (module.Find(i, key) == nullptr)
      absent += (absent.empty() ? "" : " and ") + std::string(name);
  }
  if (absent.empty()) return;
  context.Error(id, "dynamic-convolution",
                context.Name(id) + " is a custom-call to " + std::string(target) + " without " +
                    absent + ", expected window, dim_labels and padding_type");
}

}  // namespace

void VerifyFusions(VerifyContext& context) {
  for (InstructionId id : context.with_callees()) {
    if (context.full()) return;
    if (context.module()[id].opcode != kFusion) continue;
    CheckFusion(context, id);
    CheckAliasing(context, id);
  }
  for (InstructionId id : context.custom_calls()) {
    if (context.full()) return;
    CheckLayoutConstraints(context, id);
    CheckAliasing(context, id);
    CheckRngSeed(context, id);
    CheckDynamicConvolution(context, id);
  }
}

}  // namespace hloscope::hlo
