// The inputs moved by one ULP.
#include "core/debug/explain/passes/conditioning.h"

#include <algorithm>

#include "core/debug/explain/passes/meaning.h"
#include "core/debug/explain/passes/stage_values.h"

namespace hloscope::debug {

void MeasureConditioning(DivergeVerdict& verdict, const std::shared_ptr<const hlo::Module>& module,
                         const RunSpec& request, const std::stop_token& stop) {
  constexpr double kAsMuch = 0.25;
  RunSpec both = request;
  both.compare.isolate = false;
  const RunReport report = RunModule(module, both, stop);
  double differs = 0;
  for (const RunOutput& output : report.outputs) {
    if (output.compared) differs = std::max(differs, output.comparison.max_abs_error);
  }
  StageValues values(request, stop);
  DivergeTry attempt{"inputs moved by one ULP, on the reference", {}, ""};
  const Result<Leaves> results = values.Begin(module);
  const Result<Leaves> moved = results ? values.Moved(module) : results;
  if (!moved) {
    attempt.detail = moved.error().message;
  } else {
    const auto moves = WorstDifference(*moved, *results, request.compare.bounds);
    attempt.closes = moves && moves->max_abs_error >= kAsMuch * differs;
    attempt.detail = moves ? ErrorPhrase(*moves) : "the results stay within the bounds";
  }
  if (attempt.closes == true) verdict.confirmed = true;
  // What the kernels of a simulated GPU are held to leaves room for other causes.
  if (attempt.closes != true && verdict.finding) verdict.cause = Cause::kUnexplained;
  verdict.tries.push_back(std::move(attempt));
  WriteSentence(verdict);
}

}  // namespace hloscope::debug
