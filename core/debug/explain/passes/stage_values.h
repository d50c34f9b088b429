// StageValues: what modules that should mean the same give on the same inputs, on the platform that
// defines what is right.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/result.h"
#include "core/debug/explain/diverge/conditioning.h"
#include "core/debug/run/run_module.h"
#include "core/debug/run/run_results.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

class StageValues {
 public:
  // Inputs, limits and workers are those of `request`, whatever its platforms.
  explicit StageValues(const RunSpec& request, std::stop_token stop = {});

  // The results of the module whose parameters the inputs are given or made up for; first, once.
  Result<Leaves> Begin(const std::shared_ptr<const hlo::Module>& module);
  // Of any module on those inputs: as it is; with all floating point in double precision. Fails as
  // the run does.
  Result<Leaves> Plain(const std::shared_ptr<const hlo::Module>& module) const;
  Result<Leaves> Wide(const std::shared_ptr<const hlo::Module>& module) const;
  // In double precision, but rounded where the module asks for it (eval::Roundings::kAsked).
  Result<Leaves> Rounded(const std::shared_ptr<const hlo::Module>& module) const;

  // Whether `module`, whose results are `expected`, is ill-conditioned where `actual` differs.
  DivergeTry TryConditioning(const std::shared_ptr<const hlo::Module>& module, const Leaves& actual,
                             const Leaves& expected, double steps = kIllConditionedSteps) const;

  // The same on other inputs, one of each parameter.
  StageValues On(std::vector<hlo::Literal> arguments) const;

  // The request on those inputs in the form that the module's parameters have: where it takes no
  // tuples, as plugins want it (see pjrt/adapt.h), their leaves.
  static RunSpec RequestFor(const hlo::Module& module, RunSpec request);

  // A request that runs a module on those inputs on the reference platform, and nothing else.
  const RunSpec& request() const { return request_; }
  const RunReport& first() const { return first_; }

 private:
  Result<Leaves> Run(const std::shared_ptr<const hlo::Module>& module,
                     const RunSpec& request) const;

  RunSpec request_;
  RunReport first_;
  std::stop_token stop_;
};

// The results of those numbers; others are not known. All of them where there are no numbers.
Leaves OnlyResults(Leaves results, std::span<const int64_t> numbers);

// The first result without a value that `known` has one of, as the error "out1 has no value: why";
// nullopt: there is none.
std::optional<Error> FirstMissing(const Leaves& results, const Leaves& known);
// The same of any result.
std::optional<Error> FirstMissing(const Leaves& results);

// The leaves of a report's results; its error where it has none.
Result<Leaves> LeavesOf(const RunReport& report);

}  // namespace hloscope::debug
