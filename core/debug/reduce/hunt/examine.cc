// Cutting a failure out of a program, making it small, and looking at it.
#include "core/debug/reduce/hunt/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/debug/explain/diverge/open_meaning.h"
#include "core/debug/explain/passes/own_passes.h"
#include "core/debug/reduce/differing_results.h"
#include "core/debug/reduce/edit.h"
#include "core/debug/reduce/hunt/known_faults.h"
#include "core/debug/reduce/hunt/numerics.h"
#include "core/debug/reduce/reduce_module.h"
#include "core/replay/inputs/inputs.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

constexpr size_t kMaxResults = 6;   // of one program that are followed up
constexpr int64_t kMaxTries = 400;  // of a reduction
constexpr double kTrySeconds = 15;  // of one of them, however busy the machine was before

constexpr int kReduceJobs = 2;  // what comes of it does not depend on that

RunSpec On(const Candidate& candidate, const RunSpec& request) {
  RunSpec own = request;
  own.inputs.arguments = candidate.arguments;
  return own;
}

// As many tries as are worth it, always the same ones, in workers that nothing else ran in.
ReduceReport Reduce(const Candidate& candidate, const RunSpec& request,
                    const std::stop_token& stop) {
  ReduceRequest reduce;
  reduce.run = On(candidate, request);
  reduce.run.execution.workers = FreshWorkers(request);
  reduce.jobs = kReduceJobs;
  reduce.most_tries = kMaxTries;
  reduce.try_seconds = kTrySeconds;
  return ReduceModule(candidate.module, reduce, stop);
}

// What a run makes up.
std::vector<hlo::Literal> FromSeed(const hlo::Module& module, const RunSpec& request) {
  replay::InputOptions options;
  options.seed = request.inputs.seed;
  options.large_floats = request.inputs.large_floats;
  options.edge_values = request.inputs.edge_values;
  options.limits = request.limits;
  Result<replay::GeneratedInputs> inputs = replay::MakeInputs(module, options);
  return inputs.has_value() ? std::move(inputs->literals) : std::vector<hlo::Literal>();
}

// Made small, failures that come in the same way each time go to one list, others to the other.
std::optional<SmallFailure> MakeSmaller(const Candidate& candidate, const RunSpec& request,
                                        SmallFailures& found, const std::stop_token& stop) {
  ReduceReport report = Reduce(candidate, request, stop);
  if (report.status != ReduceStatus::kReduced || !report.failure) return std::nullopt;
  SmallFailure small{std::move(report.smallest), *std::move(report.failure), {}, {}};
  if (report.inputs_from_seed) {
    small.smallest.arguments = FromSeed(*small.smallest.module, request);
  }
  const Retried again =
      RunAgain(small.smallest.module, On(small.smallest, request), small.failure, stop);
  if (stop.stop_requested() || again.stability == Stability::kGone) return std::nullopt;
  // A failure of another kind that came to stay is not the one that was made small. Of values, some
  // of several devices' may have been looked at there, which get the same ones by themselves.
  const bool is_same =
      again.failure && again.failure->kind == small.failure.kind &&
      (small.failure.kind == FailureKind::kDiffers || IsSameFailure(small.failure, *again.failure));
  if (again.stability != Stability::kStable || !is_same) {
    found.unstable.push_back({std::move(small.smallest), again.outcomes});
    return std::nullopt;
  }
  small.failure = *again.failure;
  small.suspect = SuspectOf(*small.smallest.module);
  small.signature = SignatureOf(small.suspect, small.failure);
  return small;
}

// The first value inside that differs by itself: what is made of it (converted to another type,
// say) may be a failure of another kind, which a reduction keeps.
std::optional<Candidate> FirstThatDiffers(const SmallFailure& small, const RunSpec& request,
                                          const std::stop_token& stop) {
  const hlo::Module& module = *small.smallest.module;
  for (const hlo::InstructionId id : small.suspect.instructions) {
    const bool is_inside = module[id].computation == module.entry_id() && id != module.entry().root;
    if (!is_inside || !module.shape(id).IsArray()) continue;
    Edit edit(small.smallest);
    const hlo::InstructionId one[] = {id};
    edit.SetResults(one);
    std::optional<Candidate> alone = edit.Finish();
    if (!alone) continue;
    const RunReport report = RunModule(alone->module, On(*alone, request), stop);
    const auto failure = FailureOf(report, alone->module.get());
    if (failure && failure->kind == FailureKind::kDiffers) return alone;
  }
  return std::nullopt;
}

std::optional<SmallFailure> MakeSmall(const Candidate& candidate, const RunSpec& request,
                                      SmallFailures& found, const std::stop_token& stop) {
  std::optional<SmallFailure> small = MakeSmaller(candidate, request, found, stop);
  if (!small || small->failure.kind != FailureKind::kDiffers) return small;
  const std::optional<Candidate> inside = FirstThatDiffers(*small, request, stop);
  if (!inside) return small;
  std::optional<SmallFailure> smaller = MakeSmaller(*inside, request, found, stop);
  return smaller ? smaller : small;
}

bool IsSlight(const Failure& failure) {
  return failure.kind == FailureKind::kDiffers &&
         std::ranges::all_of(failure.classes,
                             [](const std::string& one) { return one.ends_with(" slight"); });
}

enum class Explains : uint8_t { kNever, kSlight, kConfirmed, kAlways };

Explains ExplanationBy(Cause cause) {
  switch (cause) {
#define EXPLAINED(name, where) \
  case Cause::name:            \
    return Explains::where;
#include "core/debug/reduce/hunt/explained.def"
#undef EXPLAINED
    default:
      return Explains::kNever;
  }
}

std::string ExplanationOf(const DivergeVerdict& verdict, const Failure& failure) {
  if (failure.kind != FailureKind::kDiffers || !verdict.cause || !verdict.passes.empty()) return "";
  const Explains explains = ExplanationBy(*verdict.cause);
  const bool is_explained = explains == Explains::kAlways ||
                            (explains == Explains::kSlight && IsSlight(failure)) ||
                            (explains == Explains::kConfirmed && verdict.confirmed == true);
  return is_explained ? std::string(KeyOf(*verdict.cause)) : "";
}

// Who is wrong, as far as somebody else says so: the values in double precision, or the platform
// itself with something switched off.
std::string WrongSide(const SmallFailure& small, const DivergeVerdict& verdict,
                      const PreciseSides& sides, const RunSpec& request,
                      const std::stop_token& stop) {
  if (small.failure.kind != FailureKind::kDiffers) {
    for (const std::string& side : {request.test.name, request.reference.name}) {
      if (small.failure.text.starts_with("the " + side + " worker")) return side;
    }
    const RunSpec alone =
        DerivedSpec(request, request.test, request.inputs.With(small.smallest.arguments));
    const bool fails = FailureOf(RunModule(small.smallest.module, alone, stop)).has_value();
    return fails ? request.test.name : request.reference.name;
  }
  if (!sides.wrong.empty()) return sides.wrong;
  if (!verdict.passes.empty() || !verdict.cured_by.empty()) return request.test.name;
  RunSpec plain = On(small.smallest, request);
  plain.test.run_passes = false;
  const RunReport report = RunModule(small.smallest.module, plain, stop);
  return report.status == RunStatus::kEqual ? request.test.name : "";
}

// What is blamed: the pass's edit, the place, or what computes the result.
std::string BlamedInstruction(const SmallFailure& small, const DivergeVerdict& verdict) {
  if (verdict.place) return verdict.place->instruction;
  if (small.suspect.instructions.empty()) return "";
  return std::string(small.smallest.module->name(small.suspect.instructions.back()));
}

bool HasPasses(const std::string& platform) {
  const replay::PlatformRow* row = replay::FindPlatform(platform);
  return row != nullptr && row->Has(replay::kDumps);
}

}  // namespace

SmallFailures SmallFailuresOf(const std::shared_ptr<const hlo::Module>& module,
                              const RunSpec& request, const RunReport& report,
                              const std::stop_token& stop) {
  const Candidate whole{module, report.arguments};
  std::vector<Candidate> parts;
  for (const int64_t result : DifferingResults(report)) {
    if (parts.size() >= kMaxResults) break;
    const int64_t one[] = {result};
    if (auto part = WithResults(whole, one)) parts.push_back(*part);
  }
  SmallFailures found;
  const auto add = [&](const Candidate& candidate) {
    if (stop.stop_requested()) return;
    std::optional<SmallFailure> small = MakeSmall(candidate, request, found, stop);
    if (!small) return;
    const bool is_there = std::ranges::any_of(
        found.stable, [&](const SmallFailure& one) { return one.signature == small->signature; });
    if (!is_there) found.stable.push_back(*std::move(small));
  };
  for (const Candidate& part : parts) add(part);
  // No result fails by itself, or there are none.
  if (found.stable.empty() && found.unstable.empty()) add(whole);
  return found;
}

Examined Examine(const SmallFailure& small, const RunSpec& request, const std::stop_token& stop) {
  Examined examined;
  const bool differs = small.failure.kind == FailureKind::kDiffers;
  if (HasPasses(request.test.name)) {
    examined.verdict = ExplainByOwnPasses(small.smallest.module, On(small.smallest, request), stop);
  }
  const DivergeVerdict& verdict = examined.verdict;
  Finding& finding = examined.finding;
  if (!verdict.passes.empty()) {
    finding.pass = verdict.passes[0].pass;
  } else if (verdict.cause) {
    finding.cause = KeyOf(*verdict.cause);
  }
  const PreciseSides sides = FindSides(small, request, stop);
  const bool is_blamed = !finding.pass.empty() || !finding.cause.empty();
  if (!differs && !is_blamed && HasPasses(request.test.name) &&
      FailsBehindPasses(small.smallest.module, On(small.smallest, request), stop)) {
    finding.cause = KeyOf(Cause::kCodeGeneration);
  }
  examined.explanation = ExplanationOf(verdict, small.failure);
  if (examined.explanation.empty() && differs) {
    const RunReport again = RunModule(small.smallest.module, On(small.smallest, request), stop);
    if (const auto open = OpenMeaning(small.smallest, small.suspect.instructions, request, stop,
                                      ResultLeaves(again))) {
      DivergeVerdict by_meaning;
      by_meaning.cause = open->cause;
      by_meaning.confirmed = open->is_shown;
      examined.explanation = ExplanationOf(by_meaning, small.failure);
    }
  }
  if (examined.explanation.empty()) {
    examined.explanation = NumericalExplanation(small, sides, request, stop);
  }
  finding.signature = small.signature;
  finding.types = small.suspect.type_class;
  finding.fault = small.signature;
  for (const std::string& who : {finding.pass, finding.cause}) {
    if (!who.empty()) finding.fault += " | " + who;
  }
  finding.instruction = BlamedInstruction(small, verdict);
  finding.failure = small.failure.text;
  finding.instructions = static_cast<int64_t>(small.smallest.module->instructions().size());
  const bool is_of_xla = std::ranges::any_of(
      std::array{request.test.name, request.reference.name}, [](const std::string& name) {
        const replay::PlatformRow* row = replay::FindPlatform(name);
        return row == nullptr || row->Has(replay::kNeedsPlugin) || row->Has(replay::kNeedsPython);
      });
  const KnownFault* row = !is_of_xla ? nullptr
                                     : FindKnownFault(*small.smallest.module, small.suspect,
                                                      small.failure, finding.pass);
  if (row != nullptr) {
    finding.known = row->heading;
    finding.page = row->page;
  }
  if (examined.explanation.empty()) finding.wrong = WrongSide(small, verdict, sides, request, stop);
  return examined;
}

}  // namespace hloscope::debug
