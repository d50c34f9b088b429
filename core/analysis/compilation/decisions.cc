// From the files of priority fusion, of our own compiler, and from XLA's logs.
#include "core/analysis/compilation/decisions.h"

#include <fmt/format.h>

#include "core/analysis/compilation/logged_fusion.h"
#include "core/analysis/compilation/recorded_fusion.h"
#include "core/dump/own_compilation.h"

namespace hloscope::analysis {
namespace {

using dump::DumpModel;
using dump::FusionStep;

DecisionList OfPriorityFusion(RecordedFusion& recorded) {
  DecisionList out;
  out.made_by = kPriorityFusion;
  for (size_t k = 0; k < recorded.read.steps.size(); ++k) {
    FusionStep& step = recorded.read.steps[k];
    const auto number = static_cast<int64_t>(k) + 1;
    if (step.kind == FusionStep::Kind::kPriority) {
      out.estimates.try_emplace(step.producer, step.us_fused, step.us_unfused,
                                std::move(step.consumers));
    } else {
      out.decisions.push_back(
          {step.producer, step.consumer, step.fusion, std::move(step.reason), number});
    }
  }
  out.before = recorded.before;
  out.with_sources = recorded.with_sources ? recorded.with_sources : recorded.before;
  out.device = std::move(recorded.read.device);
  out.notes = std::move(recorded.notes);
  return out;
}

Result<DecisionList> OfOwnCompiler(const DumpModel& model, int32_t module) {
  HLOSCOPE_ASSIGN_OR_RETURN(const dump::FusionDecisions read,
                            dump::FusionDecisionsOf(model, module));
  DecisionList out;
  out.made_by = "hloscope fusion";
  if (!read.why_no_plan.empty()) out.notes.push_back(read.why_no_plan);
  for (const dump::FusionDecision& one : read.decisions) {
    out.decisions.push_back(
        {one.producer, one.consumer, one.is_fused ? one.consumer : "", one.reason, one.line});
  }
  const int32_t stage = model.FindStage(module, read.stage);
  if (stage < 0) return out;
  HLOSCOPE_ASSIGN_OR_RETURN(out.before, model.Module(module, stage));
  out.with_sources = out.before;
  return out;
}

// The stage that a pass of this name was given; null where the dump has none.
std::shared_ptr<const hlo::Module> GivenTo(const DumpModel& model, int32_t module,
                                           std::string_view pass) {
  const auto& stages = model.modules()[static_cast<size_t>(module)].stages;
  for (size_t s = 1; s < stages.size(); ++s) {
    if (stages[s].pass != pass) continue;
    const auto read = model.Module(module, static_cast<int32_t>(s) - 1);
    return read ? *read : nullptr;
  }
  return nullptr;
}

}  // namespace

Result<DecisionList> DecisionsOf(const DumpModel& model, int32_t module) {
  if (dump::IsOwnCompilation(model, module)) return OfOwnCompiler(model, module);
  HLOSCOPE_ASSIGN_OR_RETURN(auto recorded, ReadRecordedFusion(model, module));
  if (recorded) return OfPriorityFusion(*recorded);
  DecisionList out;
  out.made_by = "fusion";
  LoggedFusions logged = LoggedFusionsOf(model, module);
  for (LoggedFusion& one : logged.decisions) {
    out.decisions.push_back({std::move(one.producer), std::move(one.consumer),
                             std::move(one.fusion), std::move(one.reason), one.line});
  }
  if (out.decisions.empty()) return NoDecisions(model, module);
  if (!logged.is_of_module) {
    out.of_all_modules = true;
    out.notes.emplace_back("the log does not say of which module a decision is");
    return out;
  }
  out.before = GivenTo(model, module, "fusion");
  out.with_sources = out.before;
  return out;
}

}  // namespace hloscope::analysis
