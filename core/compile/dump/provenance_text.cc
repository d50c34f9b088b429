// Where the instructions of each stage come from, as a text.
#include <fmt/format.h>

#include <iterator>

#include "core/compile/dump/dump_texts.h"
#include "core/hlo/rewrite/named_order.h"

namespace hloscope::compile {

namespace {

// How many origins from `at` on go on as it does: next instruction, next origin, same kind.
size_t RunLength(const std::vector<hlo::Origin>& origins, size_t at) {
  size_t count = 1;
  for (; at + count < origins.size(); ++count) {
    const hlo::Origin &first = origins[at], &next = origins[at + count];
    if (next.kind != first.kind || next.after.index != first.after.index + count ||
        next.before.index != first.before.index + count) {
      break;
    }
  }
  return count;
}

std::string StageText(std::string_view name, const hlo::Module& module) {
  const hlo::ModuleMark mark = hlo::MarkOf(module);
  return fmt::format("{} ({} instructions, names {:016x})", name, mark.instructions, mark.names);
}

// By id.
std::vector<hlo::InstructionId> PlacesOf(const hlo::Module& module) {
  return hlo::PlacesIn(hlo::ByName(module));
}

}  // namespace

std::string ProvenanceText(std::string_view module, std::span<const StageOrigins> stages) {
  std::string text = fmt::format(
      "Provenance of {}: where the instructions of each stage come from, as the passes recorded "
      "it\n"
      "KIND AFTER BEFORE COUNT: so many instructions from position AFTER on come from as many from "
      "position BEFORE on; positions count from 0 in the order of names, computations first\n",
      module);
  const auto out = std::back_inserter(text);
  for (const StageOrigins& stage : stages) {
    fmt::format_to(out, "\n{} from {}\n", StageText(stage.after, *stage.after_module),
                   StageText(stage.before, *stage.before_module));
    const std::vector<hlo::Origin> origins = hlo::Renumbered(
        stage.origins, PlacesOf(*stage.before_module), PlacesOf(*stage.after_module));
    for (size_t at = 0; at < origins.size();) {
      const hlo::Origin& origin = origins[at];
      const size_t count = RunLength(origins, at);
      fmt::format_to(out, "  {} {} {} {}\n", WordOf(origin.kind), origin.after.index,
                     origin.before.index, count);
      at += count;
    }
  }
  return text;
}

}  // namespace hloscope::compile
