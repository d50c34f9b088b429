#include "viewer/facts/error_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/navigation.h"
#include "viewer/model/pass_search.h"

namespace hloscope::viewer {
namespace {

using debug::DivergeVerdict;
using debug::WalkPoint;
using hlo::InstructionId;

// The verdict on a module, once it is there.
const DivergeVerdict* ReadyVerdict(Context& context, int32_t module) {
  const Pending<DivergeVerdict>* verdict = VerdictOn(context, module);
  return verdict != nullptr && verdict->ready() ? verdict->value.get() : nullptr;
}

bool RanThis(const Experiment& experiment, int32_t module) {
  return experiment.module() != nullptr && experiment.request().module_index == module &&
         !experiment.findings().empty();
}

WalkPoint PointOf(const Finding& finding, const hlo::Module& module) {
  const InstructionId id = finding.instruction;
  WalkPoint point;
  point.instruction = module.name(id);
  point.computation = module[module[module[id].computation].name];
  point.opcode = hlo::ToString(module[id].opcode);
  point.executions = 1;
  point.differing = finding.verdict > Verdict::kSameBits;
  point.diverging = StandsOut(finding.verdict);
  point.max_abs_error = finding.max_abs_error;
  point.max_rel_error = finding.max_rel_error;
  point.max_ulp = finding.max_ulp;
  if (finding.verdict == Verdict::kNotFinite) point.max_abs_error = INFINITY;
  return point;
}

ErrorCurve CurveOfRun(const Experiment& experiment) {
  ErrorCurve curve;
  std::vector<Finding> findings(experiment.findings().begin(), experiment.findings().end());
  std::ranges::sort(findings, {}, [](const Finding& f) { return f.instruction.index; });
  for (const Finding& finding : findings) {
    if (!IsCompared(finding.verdict)) continue;
    ++curve.compared;
    if (finding.verdict == Verdict::kSameBits) {
      ++*curve.same_bits;
    } else {
      curve.points.push_back(PointOf(finding, *experiment.module()));
    }
  }
  if (const debug::RunReport* report = experiment.report()) {
    for (size_t i = 0; i < report->outputs.size(); ++i) {
      const auto* const leaf = debug::WithReference(report->outputs[i], report->reference);
      if (leaf != nullptr && !leaf->equal()) {
        curve.reached.push_back(static_cast<int64_t>(i));
      }
    }
  }
  curve.source = fmt::format("each instruction alone, {} against {}",
                             experiment.request().test.name, experiment.request().reference.name);
  return curve;
}

// Instructions by name, or by computation and name.
InstructionId Named(const hlo::Module& module, const std::string& computation,
                    const std::string& name) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    if (module.name(id) != name) continue;
    if (computation.empty() || module[module[module[id].computation].name] == computation) {
      return id;
    }
  }
  return {};
}

void Warm(Heat& heat, InstructionId id, Verdict verdict) {
  Verdict& slot = heat.try_emplace(id.index, verdict).first->second;
  slot = std::max(slot, verdict);
}

}  // namespace

CurveVersion CurveVersionOf(Context& context, int32_t module) {
  if (RanThis(context.experiment, module)) {
    return {context.experiment.report(), context.experiment.findings().size()};
  }
  return {ReadyVerdict(context, module), 0};
}

ErrorCurve CurveOfVerdict(const DivergeVerdict& verdict) {
  if (!verdict.walk) return {};
  const debug::ValueWalk& walk = *verdict.walk;
  return {
      .points = walk.curve,
      .reached = walk.reached,
      .compared = walk.compared,
      .same_bits = walk.one_at_a_time ? std::nullopt : std::optional(walk.same_bits),
      .inner = walk.inner ? walk.inner->instruction : "",
      .source = fmt::format("the verdict of {} against {}", verdict.platform, verdict.reference)};
}

ErrorCurve CurveOf(Context& context, int32_t module) {
  if (RanThis(context.experiment, module)) return CurveOfRun(context.experiment);
  const DivergeVerdict* verdict = ReadyVerdict(context, module);
  if (verdict == nullptr) return {};
  return CurveOfVerdict(*verdict);
}

Verdict VerdictOf(const WalkPoint& point) {
  // Errors are of pairs of finite elements: where none is left, NaN or infinity is on one side.
  const bool one_sided = point.diverging > 0 && point.max_abs_error == 0;
  if (one_sided || !std::isfinite(point.max_abs_error)) return Verdict::kNotFinite;
  if (point.diverging > 0) return Verdict::kBeyond;
  if (point.differing == 0 && point.max_abs_error == 0) return Verdict::kSameBits;
  return point.max_ulp <= kFewUlp ? Verdict::kWithinUlp : Verdict::kWithinBound;
}

double HeightOf(const WalkPoint& point, bool relative) {
  constexpr double kMax = 1e300, kMin = 1e-300;
  const double error = relative ? point.max_rel_error : point.max_abs_error;
  if (!std::isfinite(error) || VerdictOf(point) == Verdict::kNotFinite) return kMax;
  return std::clamp(std::abs(error), kMin, kMax);
}

Selection FindPoint(Context& context, int32_t module, const WalkPoint& point) {
  const dump::DumpModel& dump = *context.document.dump();
  for (const int32_t stage : {context.navigation.stage(), dump.FinalStage(module), 0}) {
    if (stage < 0) continue;
    const Pending<hlo::Module>& read = context.data.Module(module, stage);
    if (!read.ready()) continue;
    const InstructionId id = Named(*read, point.computation, point.instruction);
    if (id.valid()) return Selection::OfInstruction(module, stage, id);
  }
  return {};
}

VerdictCounts CountsOf(const Heat& heat) {
  VerdictCounts counts;
  for (const auto& [instruction, verdict] : heat) counts.Add(verdict);
  return counts;
}

VerdictCounts CountsOf(const ErrorCurve& curve) {
  VerdictCounts counts;
  counts.Add(Verdict::kSameBits, curve.same_bits.value_or(0));
  for (const WalkPoint& point : curve.points) counts.Add(VerdictOf(point));
  return counts;
}

Heat HeatOf(Context& context, int32_t module, int32_t stage, const hlo::Module& read) {
  Heat heat;
  if (context.experiment.module() == &read) {
    for (const Finding& finding : context.experiment.findings()) {
      heat[finding.instruction.index] = finding.verdict;
    }
    return heat;
  }
  const DivergeVerdict* verdict = ReadyVerdict(context, module);
  if (verdict == nullptr) return heat;
  std::unordered_map<std::string_view, std::vector<InstructionId>> named;
  for (uint32_t i = 0; i < read.instructions().size(); ++i) {
    named[read.name(InstructionId(i))].push_back(InstructionId(i));
  }
  const auto warm = [&](const std::string& computation, const std::string& name, Verdict how) {
    const auto found = named.find(name);
    if (found == named.end()) return;
    for (const InstructionId id : found->second) {
      const bool fits = computation.empty() || read[read[read[id].computation].name] == computation;
      if (fits) Warm(heat, id, how);
    }
  };
  if (verdict->walk) {
    for (const WalkPoint& point : verdict->walk->curve) {
      warm(point.computation, point.instruction, VerdictOf(point));
    }
    if (verdict->walk->inner) warm("", verdict->walk->inner->instruction, Verdict::kBeyond);
  }
  if (verdict->place) {
    warm(verdict->place->computation, verdict->place->instruction, Verdict::kBeyond);
  }
  for (const debug::PassBlame& blame : verdict->passes) {
    const bool is_here = StageOfFile(*context.document.dump(), module, blame.file_after) == stage;
    if (blame.place && is_here) {
      warm(blame.place->computation, blame.place->instruction, Verdict::kBeyond);
    }
  }
  return heat;
}

}  // namespace hloscope::viewer
