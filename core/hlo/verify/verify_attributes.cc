// Attributes: those an opcode must have are there, unknown and misplaced ones are named, and
// output_to_operand_aliasing fits.
#include <algorithm>

#include "core/hlo/verify/verify_context.h"

namespace hloscope::hlo {
namespace {

// Attributes that are no list in opcodes.def: what stands between the parentheses.
bool HasOperandText(const Module& module, const Instruction& i) {
  if (i.opcode == Opcode::kParameter) {
    return module.Find(i, AttributeKey::kParameterNumber) != nullptr;
  }
  if (i.opcode == Opcode::kConstant) {
    return module.Find(i, AttributeKey::kConstantValue) != nullptr;
  }
  return true;
}

void CheckRequired(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  for (const AttributeUse& use : Info(i.opcode).attributes) {
    if (!use.required || module.Find(i, use.key) != nullptr) continue;
    context.Error(id, "missing-attribute",
                  context.Name(id) + ": " + std::string(ToString(i.opcode)) + " needs attribute " +
                      std::string(Info(use.key).text));
  }
  if (HasOperandText(module, i)) return;
  context.Error(id, "missing-attribute",
                context.Name(id) + ": " + std::string(ToString(i.opcode)) + " has no value");
}

void CheckUnknown(VerifyContext& context, InstructionId id, const RawAttribute& raw) {
  const Module& module = context.module();
  std::string name(module[raw.name].substr(0, 100));
  uint64_t offset = raw.offset == 0 ? Diagnostic::kNoOffset : raw.offset;
  // The words of the text parser, so that what both say is shown once.
  std::string message = "attribute " + name;
  message += raw.misplaced ? " does not belong to " + std::string(ToString(module[id].opcode))
                           : std::string(" is unknown");
  context.StrictAt(offset, id, raw.misplaced ? "misplaced-attribute" : "unknown-attribute",
                   message + " and is kept as written");
}

}  // namespace

void VerifyAttributes(VerifyContext& context) {
  const Module& module = context.module();
  bool required[kOpcodeCount] = {};
  for (int o = 0; o < kOpcodeCount; ++o) {
    Opcode opcode = static_cast<Opcode>(o);
    auto uses = Info(opcode).attributes;
    required[o] = opcode == Opcode::kParameter || opcode == Opcode::kConstant ||
                  std::any_of(uses.begin(), uses.end(), [](auto& use) { return use.required; });
  }
  for (uint32_t k = 0; k < module.instructions().size() && !context.full(); ++k) {
    InstructionId id(k);
    const Instruction& i = module[id];
    if (required[static_cast<int>(i.opcode)]) CheckRequired(context, id);
    auto attributes = module.attributes(i);
    for (size_t a = attributes.size(); a-- > 0;) {
      if (attributes[a].key != AttributeKey::kUnknown) break;
      CheckUnknown(context, id, module.Of<RawAttribute>(attributes[a]));
    }
  }
}

}  // namespace hloscope::hlo
