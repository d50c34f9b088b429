#include "core/debug/explain/passes/two_modules.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/counted.h"
#include "core/debug/explain/passes/result_sharding.h"
#include "core/debug/explain/passes/stage_values.h"
#include "core/hlo/analysis/summary.h"
#include "core/replay/device_values.h"

namespace hloscope::debug {
namespace {

using hlo::Module;

std::unexpected<Error> InTheFile(const std::string& file, std::string message, std::string hint) {
  Error error{ErrorClass::kInput, std::move(message), {}, std::move(hint)};
  error.place.file = file;
  return std::unexpected(std::move(error));
}

Status CheckElided(const Module& first, const Module& second, const RunSpec& spec,
                   const ModuleFiles& files) {
  const size_t own = hlo::ElidedConstants(first).size(),
               other = hlo::ElidedConstants(second).size();
  if (!spec.load.fill_elided || (own == 0) == (other == 0)) return {};
  const auto& [elided, whole] =
      own == 0 ? std::pair(files.second, files.first) : std::pair(files.first, files.second);
  return InTheFile(
      elided,
      fmt::format("the values of {} are elided, which --fill-elided generates, and {} has its own",
                  Counted(own + other, "constant"), whole),
      "use the .hlo.pb of both, or the HLO text of both in a folder of their own");
}

// Two modules run on the same inputs.
Status CheckSameParameters(const Module& first, const Module& second, const Limits& limits,
                           const ModuleFiles& files) {
  const replay::Placement of_first(first, limits), of_second(second, limits);
  const auto differ = [&](const std::string& in_second, const std::string& in_first) {
    return InTheFile(files.second,
                     fmt::format("{}, and {} in {}", in_second, in_first, files.first),
                     "two modules are compared on the same inputs: give them the same parameters");
  };
  const auto &expected = of_first.parameters(), &leaves = of_second.parameters();
  if (expected.size() != leaves.size()) {
    return differ("the parameters are " + Counted(leaves.size(), "array"),
                  std::to_string(expected.size()));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const hlo::Shape &own = leaves[i].shape, &other = expected[i].shape;
    const bool fits = own.IsArray() == other.IsArray() &&
                      own.element_type() == other.element_type() &&
                      (!own.IsArray() || of_second.Accepts(leaves[i], other.dimensions()));
    if (fits) continue;
    return differ(fmt::format("parameter {} is {}", i, hlo::ToString(own, false)),
                  hlo::ToString(other, false));
  }
  return {};
}

// As they can be compared.
struct Comparable {
  std::shared_ptr<const Module> first, second;
};

Result<Comparable> MakeComparable(const std::shared_ptr<const Module>& first,
                                  const std::shared_ptr<const Module>& second, const RunSpec& spec,
                                  const ModuleFiles& files) {
  ResultSharding results(spec.limits);
  (void)results.Complete(first);
  const auto meant = results.Complete(second), own = results.Complete(first);
  if (meant == nullptr || own == nullptr) {
    return std::unexpected(
        Error{ErrorClass::kUnsupported,
              "one module is partitioned, and the sharding of its results is unknown",
              {},
              "dump with --xla_dump_hlo_as_proto: the .hlo.pb says it"});
  }
  HLOSCOPE_TRY(CheckElided(*first, *second, spec, files));
  return Comparable{own, meant};
}

}  // namespace

DivergeVerdict ExplainTwoModules(const std::shared_ptr<const Module>& first,
                                 const std::shared_ptr<const Module>& second, const RunSpec& spec,
                                 const ModuleFiles& files, const std::stop_token& stop) {
  const Result<Comparable> both = MakeComparable(first, second, spec, files);
  if (!both) return RefusedVerdict(both.error());
  StageValues values(spec, stop);
  DivergeVerdict verdict = FindDifference(values, both->first, both->second, files, stop);
  if (verdict.status != RunStatus::kError) return verdict;
  const Status same = CheckSameParameters(*first, *second, spec.limits, files);
  return same ? verdict : RefusedVerdict(same.error());
}

Result<ResultsOfTwo> EvaluateTwoModules(const std::shared_ptr<const Module>& first,
                                        const std::shared_ptr<const Module>& second,
                                        const RunSpec& spec, const ModuleFiles& files,
                                        const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Comparable both, MakeComparable(first, second, spec, files));
  const StageValues values(spec, stop);
  const auto results_of = [&](const std::shared_ptr<const Module>& module,
                              const std::string& file) -> Result<Leaves> {
    Result<Leaves> results = values.Plain(module);
    if (results) return results;
    HLOSCOPE_TRY(CheckSameParameters(*first, *second, spec.limits, files));
    Error error = std::move(results).error();
    error.place.file = file;
    return std::unexpected(std::move(error));
  };
  ResultsOfTwo results;
  HLOSCOPE_ASSIGN_OR_RETURN(results.first, results_of(both.first, files.first));
  HLOSCOPE_ASSIGN_OR_RETURN(results.second, results_of(both.second, files.second));
  return results;
}

}  // namespace hloscope::debug
