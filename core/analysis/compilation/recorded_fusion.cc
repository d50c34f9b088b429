// The steps, the module before the pass that is in the same file, and the check of the one after
// it.
#include "core/analysis/compilation/recorded_fusion.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/text/text.h"

namespace hloscope::analysis {

using dump::DumpModel;
using dump::FusionStep;

std::string EstimateText(double us_fused, double us_unfused) {
  return fmt::format("{:.3f} us fused, {:.3f} us apart", us_fused, us_unfused);
}

std::string RecordedFusion::SourceOf(const std::string& name) const {
  for (const auto& module : {with_sources, before}) {
    if (module == nullptr) continue;
    const hlo::InstructionId id = hlo::FindInstruction(*module, name);
    if (id.valid()) return hlo::ToString(hlo::SourceLineOf(*module, id));
  }
  return {};
}

RecordedFusion::Estimates RecordedFusion::EstimatesOf(std::string_view producer,
                                                      size_t position) const {
  Estimates out;
  for (size_t k = 0; k < std::min(position, read.steps.size()); ++k) {
    const FusionStep& step = read.steps[k];
    if (step.kind == FusionStep::Kind::kFusion && step.fusion == producer) out = {};
    if (step.kind != FusionStep::Kind::kPriority || step.producer != producer) continue;
    (out.whole == nullptr ? out.whole : out.latest) = &step;
  }
  return out;
}

Result<std::optional<RecordedFusion>> ReadRecordedFusion(const DumpModel& model, int32_t module) {
  const int32_t file = model.FindFile(module, dump::FileRole::kPriorityFusion);
  if (file < 0) return std::optional<RecordedFusion>();
  RecordedFusion out;
  HLOSCOPE_ASSIGN_OR_RETURN(out.read, model.ReadFile(file, dump::ReadFusionProcess));
  if (!out.read.why.empty())
    out.notes.push_back(fmt::format("{}: {}", model.FullPath(file), out.read.why));
  const hlo::ParseResult parsed = hlo::ParseText(out.read.module_before, model.limits());
  if (!parsed.ok())
    return InputError(model.FullPath(file) +
                          ": the module before fusion in it cannot be read, expected HLO text in "
                          "hlo_module_before_fusion",
                      "the file may be cut off: dump again");
  out.before = parsed.module;
  out.replay = std::make_unique<FusionReplay>(*out.before, out.read.steps);
  if (out.replay->lost() != 0)
    out.notes.push_back(fmt::format("{} an instruction that is not in the module before",
                                    Counted(out.replay->lost(), "step names", "steps name")));
  const auto& stages = model.modules()[static_cast<size_t>(module)].stages;
  for (size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].pass == kPriorityFusion) out.stage_after = static_cast<int32_t>(s);
  }
  if (out.stage_after < 0) return std::optional(std::move(out));
  if (const auto after = model.Module(module, out.stage_after)) {
    const FusionReplay::Check check = out.replay->Against(**after);
    out.agrees = check.ok();
    for (const std::string& text : check.differing)
      out.notes.push_back("the steps do not explain the module after the pass: " + text);
  }
  for (int32_t s = out.stage_after - 1; s >= 0 && out.with_sources == nullptr; --s) {
    if (model.ModuleFile(module, s) < 0) continue;
    const auto read = model.Module(module, s);
    if (!read) continue;
    out.with_sources = *read;
    out.stage_before = s;
  }
  return std::optional(std::move(out));
}

std::unexpected<Error> NoDecisions(const DumpModel& model, int32_t module) {
  const dump::ModuleEntry& entry = model.modules()[static_cast<size_t>(module)];
  if (entry.device == "cpu")
    return UnsupportedError(
        fmt::format("{}: XLA:CPU writes no fusion decisions into its dump", entry.name),
        "with TF_CPP_MIN_LOG_LEVEL=0 TF_CPP_VMODULE=instruction_fusion=3 `hloscope record` keeps "
        "them in its log; our own compiler writes them: hloscope compile MODULE --dump DIR");
  return UnsupportedError(
      fmt::format("{}: the dump has no fusion decisions (*.priority_fusion_dump.txt)", entry.name),
      "XLA:GPU writes them with --xla_dump_hlo_pass_re=priority-fusion, or .* for all passes");
}

}  // namespace hloscope::analysis
