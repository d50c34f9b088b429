// Instructions by name, and names that come close.
#include "core/hlo/analysis/find_instruction.h"

#include "core/base/closest_text.h"

namespace hloscope::hlo {
namespace {

struct Name {
  std::string_view computation;  // empty: any
  std::string_view instruction;
};

Name Split(std::string_view text) {
  Name name{{}, text};
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    name = {text.substr(0, colon), text.substr(colon + 1)};
  }
  if (name.computation.starts_with('%')) name.computation.remove_prefix(1);
  if (name.instruction.starts_with('%')) name.instruction.remove_prefix(1);
  return name;
}

}  // namespace

InstructionId FindInstruction(const Module& module, std::string_view name) {
  const Name wanted = Split(name);
  const StringId id = module.strings().Find(wanted.instruction);
  InstructionId found;
  for (uint32_t i = 0; id.valid() && i < module.instructions().size(); ++i) {
    const Instruction& instruction = module.instructions()[i];
    if (instruction.name != id) continue;
    const std::string_view computation = module[module[instruction.computation].name];
    if (!wanted.computation.empty() && computation != wanted.computation) continue;
    if (!found.valid() || instruction.computation == module.entry_id()) found = InstructionId(i);
  }
  return found;
}

std::string SimilarInstruction(const Module& module, std::string_view name) {
  ClosestText closest(Split(name).instruction);
  for (const Instruction& instruction : module.instructions())
    closest.Offer(module[instruction.name]);
  return closest.Hint();
}

}  // namespace hloscope::hlo
