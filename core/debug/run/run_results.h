// Results of a run's devices, put together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dump/tensors/tensor_values.h"
#include "core/replay/device_values.h"
#include "core/replay/platform.h"

namespace hloscope::debug {

using Leaves = std::vector<Result<hlo::Literal>>;

class ResultCollector : public replay::RunSink {
 public:
  explicit ResultCollector(std::vector<std::string>& warnings) : warnings_(warnings) {}
  void OnResult(int64_t list, int64_t leaf, Result<hlo::Literal> value) override;
  void OnWarning(std::string_view text) override { warnings_.emplace_back(text); }

  // Each leaf of all devices together, in the form the expected values have, if there are any; the
  // error of the first device that has none. `leaves` are remembered as Placement::Gather does.
  Result<Leaves> Gather(const replay::Placement& placement,
                        std::vector<replay::LeafPlacement>& leaves,
                        const dump::TensorFiles* expected);

 private:
  std::vector<Leaves> lists_;
  std::vector<std::string>& warnings_;
};

}  // namespace hloscope::debug
