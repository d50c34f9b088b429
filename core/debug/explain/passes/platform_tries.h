// PlatformTries: a module on a platform again and again, each time with something of XLA switched
// off, against results that are known to be right.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/stage_values.h"

namespace hloscope::debug {

using XlaFlagList = std::vector<std::pair<std::string, std::string>>;

// A row of its table.
struct KnownTry {
  Cause cause;
  XlaFlagList flags;
};
// Those that the platform's compiler may know.
std::vector<KnownTry> KnownTries(std::string_view platform);

class PlatformTries {
 public:
  // Runs `module` as `request` says, on the inputs of `values`; `expected` are the right results.
  PlatformTries(std::shared_ptr<const hlo::Module> module, const RunSpec& request,
                const StageValues& values, Leaves expected, std::stop_token stop);

  // As it is: how it differs; nullopt where it agrees. Fails as the run does. What is run behind it
  // may take some times as long. Where the results that differ need no more than half of the
  // instructions, or the right values of others are not known, and differ alone too, the module is
  // cut to those.
  Result<std::optional<LeafComparison>> AsItIs();
  // True if it was cut.
  bool is_cut() const { return values_.has_value(); }
  // As it is, `runs` times: true where two runs differ in a bit, or from the first of all. Fails as
  // the run does.
  Result<bool> DiffersFromItself(int64_t runs) const;
  // With denormals of results and right results taken for zero.
  DivergeTry FlushingDenormals() const;
  // Each with its flags, at once as far as there are workers; in the order given.
  std::vector<DivergeTry> Run(std::span<const XlaFlagList> tries) const;

  const RunSpec& request() const { return request_; }
  const Leaves& expected() const { return expected_; }
  // What the first run gave that differed.
  const Leaves& actual() const { return first_; }
  const std::shared_ptr<const hlo::Module>& module() const { return module_; }
  // Evaluates on the inputs of module().
  const StageValues& values() const { return values_ ? *values_ : given_; }

 private:
  void CutToDiffering(const Leaves& leaves);
  // Empty where no run of a few does.
  Leaves RunThatDiffers(const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
                        const Leaves& expected) const;
  // Does not close the gap where the same run without the flags does.
  DivergeTry With(const XlaFlagList& flags) const;
  bool AgreesAsItIs() const;

  std::shared_ptr<const hlo::Module> module_;
  const StageValues& given_;
  std::optional<StageValues> values_;  // of the module that was cut
  RunSpec request_;
  Leaves expected_;
  Leaves first_;  // of the first run that differed
  std::stop_token stop_;
};

// Adds flags in the place of others of their names; passes to disable come to those that are.
void AddFlags(const XlaFlagList& flags, XlaFlagList& to);

// "--xla_x=1 --xla_y=2".
std::string FlagsText(const XlaFlagList& flags);

}  // namespace hloscope::debug
