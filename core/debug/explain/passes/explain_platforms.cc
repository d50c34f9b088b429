// Two platforms: where they diverge, then which pass or cause.
#include "core/debug/explain/passes/explain_platforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/debug/explain/diverge/diverge_alone.h"
#include "core/debug/explain/diverge/diverge_platforms.h"
#include "core/debug/explain/kernels/diverge_kernels.h"
#include "core/debug/explain/passes/own_passes.h"
#include "core/debug/explain/passes/stage_values.h"
#include "core/replay/platform_table.h"
#include "core/replay/run_targets.h"

namespace hloscope::debug {
namespace {

// The first instruction of the entry that differs by itself, and the results.
DivergeVerdict VerdictOfIsolated(const RunReport& report) {
  DivergeVerdict verdict;
  verdict.status = report.status;
  verdict.warnings = report.warnings;
  if (report.error) verdict.errors.push_back(*report.error);
  for (const RunOutput& output : report.outputs) {
    if (output.compared && !output.comparison.equal() && !verdict.worst) {
      verdict.worst = output.comparison;
    }
  }
  if (const auto& first = report.first_divergent) {
    verdict.place = {first->instruction, first->computation, ""};
    for (const LeafComparison& leaf : first->outputs) {
      if (leaf.equal()) continue;
      verdict.worst = leaf;
      verdict.worst_is_of_place = true;
    }
  }
  WriteSentence(verdict);
  return verdict;
}

DivergeVerdict InstructionByInstruction(const std::shared_ptr<const hlo::Module>& module,
                                        const RunSpec& request, std::string_view why,
                                        const std::stop_token& stop, const RunSinks& sinks) {
  RunSpec isolating = request;
  isolating.compare.isolate = true;
  isolating.notes.push_back(fmt::format("{}: each instruction was run alone", why));
  return VerdictOfIsolated(RunModule(module, isolating, sinks, stop));
}

// What switching things off showed, to a finding of which the place may be known already.
void AddTries(DivergeVerdict tried, DivergeFinding& finding) {
  for (DivergeTry& attempt : tried.tries) {
    const auto same = std::ranges::find(finding.tries, attempt.what, &DivergeTry::what);
    if (same == finding.tries.end()) finding.tries.push_back(std::move(attempt));
  }
  finding.cured_by = std::move(tried.cured_by);
  if (finding.kernel.empty()) {
    finding.kernel = std::move(tried.kernel);
    finding.kernel_opcode = std::move(tried.kernel_opcode);
  }
  const bool is_vague = !finding.cause || finding.cause == Cause::kUnexplained ||
                        finding.cause == Cause::kCodeGeneration;
  if (tried.cause && is_vague) {
    finding.cause = tried.cause;
    finding.confirmed = tried.confirmed;
  }
}

bool HasPasses(const std::string& platform) {
  const replay::PlatformRow* row = replay::FindPlatform(platform);
  return row != nullptr && (row->Has(replay::kDumps) || replay::IsOwnCompiler(platform));
}

// The same run on the reference platform alone.
RunSpec OnReference(const RunSpec& request) {
  RunSpec swapped = request;
  swapped.test = ReferenceOptions(request).platform;
  return swapped;
}

// Neither a pass nor the run is wrong, as far as they can be judged.
bool FindsNothing(const DivergeVerdict& verdict) {
  return verdict.status == RunStatus::kEqual || verdict.status == RunStatus::kUnsupported;
}

// For each set of results in `judged` the passes of the side that is wrong there: of the first that
// has passes, unless what it gives is right and the other one has some too. Fewer where time is
// over; none where neither has.
std::vector<DivergeVerdict> ExplainSides(const std::shared_ptr<const hlo::Module>& module,
                                         const RunSpec& request, std::span<const JudgedSet> judged,
                                         const std::stop_token& stop) {
  std::vector<DivergeVerdict> explained;
  const bool tests = HasPasses(request.test.name);
  if (tests) explained = ExplainEachByOwnPasses(module, request, judged, stop);
  if (!HasPasses(request.reference.name)) return explained;
  std::vector<JudgedSet> open;
  std::vector<size_t> places;
  for (size_t i = 0; i < (tests ? explained.size() : judged.size()); ++i) {
    if (tests && !FindsNothing(explained[i])) continue;
    open.push_back(judged[i]);
    places.push_back(i);
  }
  if (open.empty()) return explained;
  std::vector<DivergeVerdict> others =
      ExplainEachByOwnPasses(module, OnReference(request), open, stop);
  for (size_t i = 0; i < others.size(); ++i) {
    if (tests && FindsNothing(others[i])) continue;
    others[i].warnings.push_back("passes and what was switched off are those of the reference, " +
                                 request.reference.name);
    if (tests) {
      explained[places[i]] = std::move(others[i]);
    } else {
      explained.push_back(std::move(others[i]));
    }
  }
  return explained;
}

void AddWarnings(const DivergeVerdict& from, DivergeVerdict& to) {
  for (const std::string& warning : from.warnings) {
    if (std::ranges::find(to.warnings, warning) == to.warnings.end())
      to.warnings.push_back(warning);
  }
}

// Of the instruction at a place that the walk found; empty: none is known.
std::string OpcodeAt(const ValueWalk& walk, const std::optional<DivergePlace>& place) {
  if (!place) return {};
  const auto at = std::ranges::find(walk.curve, place->instruction, &WalkPoint::instruction);
  return at == walk.curve.end() ? std::string() : at->opcode;
}

// Of a verdict on values: the pass that makes the difference, or what cures it, for each finding.
DivergeVerdict WithPasses(DivergeVerdict verdict, const std::shared_ptr<const hlo::Module>& module,
                          const RunSpec& request, const std::stop_token& stop) {
  std::vector<JudgedSet> judged(1);
  if (!verdict.findings.empty()) judged.clear();
  for (const DivergeFinding& finding : verdict.findings) {
    judged.push_back({finding.results, OpcodeAt(*verdict.walk, finding.place)});
  }
  const auto& inner = verdict.walk->inner;
  judged[0].opcode = inner ? inner->opcode : OpcodeAt(*verdict.walk, verdict.place);
  std::vector<DivergeVerdict> explained = ExplainSides(module, request, judged, stop);
  if (explained.empty()) return verdict;
  if (!explained[0].passes.empty() && verdict.walk->passes_differ) {
    DivergeVerdict& of_passes = explained[0];
    of_passes.walk = std::move(verdict.walk);
    of_passes.warnings.insert(of_passes.warnings.begin(), verdict.warnings.begin(),
                              verdict.warnings.end());
    return std::move(of_passes);
  }
  for (const DivergeVerdict& tried : explained) AddWarnings(tried, verdict);
  DivergeFinding first = OnlyFinding(verdict);
  first.results = judged[0].numbers;
  AddTries(std::move(explained[0]), first);
  SetFirstFinding(verdict, std::move(first));
  for (size_t i = 1; i < verdict.findings.size(); ++i) {
    DivergeFinding& finding = verdict.findings[i];
    if (i >= explained.size()) {
      finding.not_tried = "those before took all the time";
      continue;
    }
    if (!finding.place) finding.place = explained[i].place;
    AddTries(std::move(explained[i]), finding);
  }
  WriteSentence(verdict);
  return verdict;
}

// To a verdict on two platforms whose kernels all give what the reference makes of the same
// operands: whether the results are as uncertain as they differ.
void MeasureConditioning(DivergeVerdict& verdict, const std::shared_ptr<const hlo::Module>& module,
                         const RunSpec& request, const std::stop_token& stop) {
  RunSpec both = request;
  both.compare.isolate = false;
  StageValues values(request, stop);
  const Result<Leaves> expected = values.Begin(module);
  const Result<Leaves> actual = expected ? LeavesOf(RunModule(module, both, stop)) : expected;
  DivergeTry attempt{"inputs moved by one ULP of the finest type, on the reference", {}, ""};
  if (actual) {
    attempt = values.TryConditioning(module, *actual, *expected);
  } else {
    attempt.detail = actual.error().message;
  }
  const bool closes = attempt.closes == true;
  if (closes) verdict.confirmed = true;
  // What is measured leaves room for other causes.
  if (!closes) verdict.cause = Cause::kUnexplained;
  verdict.tries.push_back(std::move(attempt));
  WriteSentence(verdict);
}

}  // namespace

std::string CompilerOf(std::string_view platform) {
  const replay::PlatformRow* row = replay::FindPlatform(platform);
  const bool dumps = row != nullptr && (row->Has(replay::kDumps) || row->Has(replay::kRunsDumps));
  if (dumps || replay::IsOwnCompiler(platform)) return std::string(platform);
  const replay::PlatformRow* other = replay::PlatformWith(replay::kDumps);
  return std::string(other == nullptr ? platform : other->name);
}

DivergeVerdict ExplainPlatforms(const std::shared_ptr<const hlo::Module>& module,
                                const RunSpec& request, const std::stop_token& stop,
                                const RunSinks& sinks) {
  if (RunsSimulatedKernels(request)) {
    DivergeVerdict verdict = DivergeKernels(module, request, stop, sinks);
    if (verdict.cause == Cause::kIllConditioned) {
      MeasureConditioning(verdict, module, request, stop);
    }
    return verdict;
  }
  const bool alone = RunsKernelsAlone(request);
  for (const std::string& name : {request.test.name, request.reference.name}) {
    const replay::PlatformRow* row = replay::FindPlatform(name);
    if (row == nullptr || row->Has(replay::kCaptures) || alone) continue;
    return InstructionByInstruction(module, request,
                                    name + " cannot capture values inside a module", stop, sinks);
  }
  DivergeVerdict verdict = alone ? DivergeAlone(module, request, stop, sinks)
                                 : DivergePlatforms(module, request, stop, kKeptValueBytes, sinks);
  // No part of it can run on the host in a module that is compiled as a whole.
  if (verdict.status == RunStatus::kUnsupported && !verdict.errors.empty() &&
      request.execution.host_fallback) {
    return InstructionByInstruction(
        module, request, "the module cannot be compiled: " + verdict.errors.front().message, stop,
        sinks);
  }
  // Tries are judged by the results.
  if (verdict.status != RunStatus::kDiffers || !verdict.walk || verdict.walk->reached.empty())
    return verdict;
  // Nothing computes anything else than the reference does on the same operands.
  if (verdict.cause == Cause::kIllConditioned) {
    MeasureConditioning(verdict, module, request, stop);
    if (verdict.cause == Cause::kIllConditioned) return verdict;
  }
  return WithPasses(std::move(verdict), module, request, stop);
}

}  // namespace hloscope::debug
