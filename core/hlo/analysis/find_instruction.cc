// Looking through all names, for the one asked for and for the one that is meant.
#include "core/hlo/analysis/find_instruction.h"

#include <fmt/format.h>

#include "core/hlo/text/closest_text.h"

namespace hloscope::hlo {
namespace {

std::string_view WithoutPercent(std::string_view name) {
  if (name.starts_with('%')) name.remove_prefix(1);
  return name;
}

}  // namespace

Result<InstructionId> FindInstruction(const Module& module, std::string_view name,
                                      std::string_view computation) {
  if (size_t colon = name.find(':'); colon != std::string_view::npos && computation.empty()) {
    computation = name.substr(0, colon);
    name.remove_prefix(colon + 1);
  }
  name = WithoutPercent(name);
  computation = WithoutPercent(computation);
  ClosestText closest(name);
  InstructionId found;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const Instruction& instruction = module.instructions()[i];
    if (!computation.empty() && module[module[instruction.computation].name] != computation)
      continue;
    if (module[instruction.name] != name) {
      if (!found.valid()) closest.Offer(module[instruction.name]);
    } else if (!found.valid() || instruction.computation == module.entry_id()) {
      found = InstructionId(i);
    }
  }
  if (found.valid()) return found;
  const std::string hint = closest.Hint();
  return InputError(fmt::format("no instruction {}", name),
                    hint.empty() ? "`hloscope find` searches names" : hint);
}

}  // namespace hloscope::hlo
