// Results of a run's devices, put together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/dump/tensors/tensor_values.h"
#include "core/replay/device_values.h"
#include "core/replay/platform.h"

namespace hloscope::debug {

using Leaves = std::vector<Result<hlo::Literal>>;

struct RunReport;

// Keeps results and what a search found; warnings, faults and fallbacks go to the report, progress
// to who asked for it.
class ResultCollector : public replay::RunStream {
 public:
  using Progress = std::function<void(const replay::RunProgress&)>;
  explicit ResultCollector(RunReport& report, Progress on_progress = {})
      : report_(report), on_progress_(std::move(on_progress)) {}
  void Take(replay::RunEvent event) override;
  const std::optional<replay::SearchFinding>& finding() const { return finding_; }

  // Each leaf of all devices together, in the form the expected values have, if there are any; the
  // error of the first device that has none. `leaves` are remembered as Placement::Gather does.
  // `shapes`: of the results, where they are wider than those of `leaves`; empty: the same.
  Result<Leaves> Gather(const replay::Placement& placement,
                        std::vector<replay::LeafPlacement>& leaves,
                        const dump::TensorFiles* expected, std::span<const hlo::Shape> shapes = {});

 private:
  void Keep(replay::LeafResult result);
  void KeepFinding(replay::RunFinding finding);

  std::vector<Leaves> lists_;
  std::optional<replay::SearchFinding> finding_;
  RunReport& report_;
  Progress on_progress_;
};

}  // namespace hloscope::debug
