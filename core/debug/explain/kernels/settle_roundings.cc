// Roundings drawn by chance, and those to a side done to nearest.
#include "core/debug/explain/kernels/settle_roundings.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/counted.h"
#include "core/debug/explain/kernels/switch_causes.h"
#include "core/eval/numbers/precise.h"

namespace hloscope::debug {

using replay::CaseMemory;

namespace {

bool Agrees(const RoundingBudget& budget, const Arrays& arrays, const Arrays& expected) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!budget.Compare(i, arrays[i], expected[i]).equal()) return false;
  }
  return true;
}

// The instruction's results in double precision, rounded once; empty where there are none.
Arrays InDoublePrecision(const KernelRuns& runs, const Arrays& actual) {
  auto arrays = runs.Evaluated(eval::WidenModule(*runs.question().alone));
  if (!arrays.has_value()) return {};
  for (size_t i = 0; i < arrays->size(); ++i)
    (*arrays)[i] = eval::ConvertLiteral((*arrays)[i], actual[i].shape());
  return *std::move(arrays);
}

// One that rounds otherwise than to nearest, which no instruction means; unless nearest is
// further from what is meant, by more elements than chance makes of as many.
Result<std::optional<KernelExplanation>> BlameDirectedRounding(
    const KernelRuns& runs, const replay::KernelDiagnosisAnswer& answer, const Arrays& actual,
    const Arrays& expected, const Arrays& precise) {
  constexpr double kSigmas = 4;
  for (const replay::DirectedRun& run : answer.directed) {
    HLOSCOPE_ASSIGN_OR_RETURN(const Arrays nearest, runs.ArraysIn(run.memory));
    const Nearer nearer = NearerTo(precise.empty() ? expected : precise, nearest, actual);
    if (nearer.first + nearer.second == 0 ||
        static_cast<double>(nearer.second - nearer.first) > kSigmas * nearer.chance)
      continue;
    KernelExplanation out;
    out.cause = Cause::kDirectedRounding;
    out.confirmed = true;
    out.finding.kernel = runs.question().kernels.launches[0].kernel;
    out.finding.file = run.file;
    out.finding.line = run.line;
    out.worst = CompareArrays(actual[0], expected[0], {.absolute = 0, .relative = 0});
    out.tries.push_back({fmt::format("line {}: `{}` to nearest", run.line, run.form), true,
                         fmt::format("{} come nearer to the exact value, {} move away",
                                     Counted(nearer.first, "element"), nearer.second)});
    return out;
  }
  return std::nullopt;
}

}  // namespace

Result<SettledRoundings> SettleByRoundings(const KernelRuns& runs, const Arrays& expected) {
  SettledRoundings out;
  replay::KernelDiagnosis diagnosis = runs.DiagnosisOf();
  diagnosis.directed = true;
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelDiagnosisAnswer plain, runs.Diagnose(diagnosis));
  HLOSCOPE_ASSIGN_OR_RETURN(const Arrays actual, runs.ArraysIn(plain.memory));
  const Arrays precise = InDoublePrecision(runs, actual);
  HLOSCOPE_ASSIGN_OR_RETURN(out.directed,
                            BlameDirectedRounding(runs, plain, actual, expected, precise));
  out.is_settled = true;
  if (out.directed) return out;
  const auto agrees = [&](const Arrays& arrays) {
    return Agrees(*out.budget, arrays, expected) ||
           (!precise.empty() && Agrees(*out.budget, arrays, precise));
  };
  out.budget.emplace(actual, std::vector<Arrays>());
  if (agrees(actual)) return out;
  diagnosis.directed = false;
  diagnosis.roundings = true;
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelDiagnosisAnswer drawn, runs.Diagnose(diagnosis));
  if (drawn.rounded.empty()) return out;
  std::vector<Arrays> rounded;
  for (const CaseMemory& draw : drawn.rounded) {
    HLOSCOPE_ASSIGN_OR_RETURN(Arrays arrays, runs.ArraysIn(draw));
    rounded.push_back(std::move(arrays));
  }
  out.budget.emplace(actual, rounded);
  if (agrees(actual)) return out;
  // Or with one thing done otherwise that may be.
  diagnosis.roundings = false;
  diagnosis.switches = true;
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelDiagnosisAnswer answer, runs.Diagnose(diagnosis));
  for (const replay::SwitchedRun& run : answer.switches) {
    if (!run.error.empty() || !CauseOf(static_cast<ptx::Switch>(run.which))) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(const Arrays arrays, runs.ArraysIn(run.memory));
    if (agrees(arrays)) return out;
  }
  out.is_settled = false;
  return out;
}

}  // namespace hloscope::debug
