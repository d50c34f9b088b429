// Options of a run that have no effect on what is run, in notes.
#include <fmt/format.h>

#include <algorithm>

#include "app/run_options.h"
#include "core/hlo/analysis/summary.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {

// Options that run_hlo_module has too are no errors where they have no effect.
void RunOptionSet::AddUnusedOptions(bool is_mlir, std::vector<std::string>& notes) const {
  const std::string& reference = request_.reference.name;
  const auto has = [](std::string_view platform, uint32_t flags) {
    const replay::PlatformRow* const row = replay::FindPlatform(platform);
    return row == nullptr || (row->flags & flags) != 0;  // one that is a file is a plugin
  };
  if (!request_.test.run_passes && !has(PlatformName(), replay::kXlaFlags)) {
    notes.push_back(fmt::format("--run_test_hlo_passes has no effect: {} runs no passes of XLA",
                                PlatformName()));
  }
  if (!request_.reference.run_passes && (reference.empty() || !has(reference, replay::kXlaFlags))) {
    notes.push_back(reference.empty()
                        ? "--run_reference_hlo_passes has no effect without --reference_platform"
                        : fmt::format("--run_reference_hlo_passes has no effect: {} runs no passes "
                                      "of XLA",
                                      reference));
  }
  constexpr uint32_t kFromPython = replay::kNeedsPlugin | replay::kNeedsPython | replay::kRunsDumps;
  const bool needs_python = is_mlir || has(PlatformName(), kFromPython) ||
                            (!reference.empty() && has(reference, kFromPython));
  if (!pythons_.empty() && !needs_python) {
    notes.push_back(fmt::format("--python has no effect: {} needs nothing of a Python environment",
                                PlatformName()));
  }
}

namespace {

// Why the run has nothing that is needed; empty: it has.
std::string WhyUnused(ModuleNeed need, const LoadedRun& run) {
  const hlo::Module& module = *run.module;
  const debug::InputSpec& inputs = run.request.inputs;
  const auto lacks = [&](hlo::Opcode opcode) {
    return std::ranges::find(module.instructions(), opcode, &hlo::Instruction::opcode) ==
           module.instructions().end();
  };
  const auto has_no = [&](hlo::Opcode opcode) {
    return lacks(opcode) ? fmt::format("the module has no {} instruction", hlo::ToString(opcode))
                         : std::string();
  };
  const bool are_given =
      !inputs.files.empty() || !inputs.literals_file.empty() || !inputs.arguments.empty();
  switch (need) {
    case ModuleNeed::kNone:
      break;
    case ModuleNeed::kGeneratedValues:
      if (inputs.infeed.empty() && !lacks(hlo::Opcode::kInfeed)) break;
      [[fallthrough]];
    case ModuleNeed::kGeneratedInputs:
      return are_given ? "no input is generated" : "";
    case ModuleNeed::kInfeed:
      return has_no(hlo::Opcode::kInfeed);
    case ModuleNeed::kOutfeed:
      return has_no(hlo::Opcode::kOutfeed);
    case ModuleNeed::kElidedConstants:
      return hlo::ElidedConstants(module).empty() ? "the module has no elided constant" : "";
  }
  return {};
}

}  // namespace

void RunOptionSet::AddUnusedOfModule(LoadedRun& run) const {
  for (const auto& [name, need] : needs_) {
    const bool is_given = std::ranges::any_of(
        given_, [&](const std::string& one) { return one == name || one == name + "="; });
    if (!is_given) continue;
    const bool is_of_values =
        need.module == ModuleNeed::kGeneratedInputs || need.module == ModuleNeed::kGeneratedValues;
    if (is_of_values && generates_values_) continue;
    const std::string why = WhyUnused(need.module, run);
    if (!why.empty()) run.request.notes.push_back(fmt::format("{} has no effect: {}", name, why));
  }
}

}  // namespace hloscope::app
