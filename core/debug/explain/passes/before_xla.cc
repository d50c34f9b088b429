// Holding a module before optimizations against what it should mean.
#include "core/debug/explain/passes/before_xla.h"

#include "core/debug/explain/passes/meaning.h"

namespace hloscope::debug {
namespace {

using hlo::Module;

// The first result that is not what the files of --expect hold.
Result<std::optional<LeafComparison>> AgainstExpected(const StageValues& values,
                                                      const RunSpec& given,
                                                      const std::shared_ptr<const Module>& module,
                                                      const std::stop_token& stop) {
  RunSpec request = values.request();
  request.compare.expect = given.compare.expect;
  request.compare.recorded = given.compare.recorded;
  const RunReport report = RunModule(module, request, stop);
  if (report.error) return std::unexpected(*report.error);
  for (const RunOutput& output : report.outputs) {
    if (output.compared && !output.comparison.equal()) return output.comparison;
  }
  return std::nullopt;
}

void Note(DivergeVerdict& verdict, Cause cause, std::string what,
          const Result<std::optional<LeafComparison>>& worst) {
  DivergeTry attempt{.what = std::move(what), .closes = {}, .detail = {}, .is_comparison = true};
  if (!worst) {
    attempt.detail = worst.error().message;
  } else {
    attempt.closes = !worst->has_value();
    if (*worst) attempt.detail = ErrorPhrase(**worst);
  }
  verdict.tries.push_back(std::move(attempt));
  if (!worst || !*worst) return;
  verdict.status = RunStatus::kDiffers;
  verdict.cause = cause;
  if (!verdict.worst) verdict.worst = **worst;
}

}  // namespace

void CheckBeforeXla(DivergeVerdict& verdict, const StageValues& values, const RunSpec& given,
                    const std::shared_ptr<const Module>& module, const Leaves& results,
                    const Result<std::shared_ptr<const Module>>& source,
                    const std::stop_token& stop) {
  if (!verdict.passes.empty() || verdict.cause || stop.stop_requested()) return;
  if (!given.compare.expect.empty() || given.compare.recorded) {
    Note(verdict, Cause::kBeforeXla, "the module before optimizations, against the expected values",
         AgainstExpected(values, given, module, stop));
  }
  if (!source || *source != nullptr) {
    const auto against_source = [&]() -> Result<std::optional<LeafComparison>> {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto made_of, source);
      HLOSCOPE_ASSIGN_OR_RETURN(const Leaves meant, values.Plain(made_of));
      return WorstDifference(results, meant, given.compare.bounds);
    };
    Note(verdict, Cause::kConversion,
         "the module before optimizations, against the StableHLO of the dump", against_source());
  }
  WriteSentence(verdict);
}

}  // namespace hloscope::debug
