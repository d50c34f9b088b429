// SpreadLeaves: values of a module that has yet to be partitioned, and those of the devices of the
// program that it was compiled to.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/replay/device_values.h"
#include "core/replay/platform.h"

namespace hloscope::replay {

class SpreadLeaves {
 public:
  // Input error: the program takes or gives arrays that are no parts of the module's.
  static Result<SpreadLeaves> Make(const hlo::Module& given, const hlo::Module& program,
                                   const Limits& limits);

  // The leaves of the module's one list, cut: one list per device.
  Result<std::vector<std::vector<hlo::Literal>>> Inputs(
      std::span<const std::vector<hlo::Literal>> lists) const;

  // Takes what the devices' run tells: results are kept, all else goes on to `stream`.
  class Results : public RunStream {
   public:
    Results(const SpreadLeaves& leaves, RunStream& stream) : leaves_(leaves), stream_(stream) {}
    void Take(RunEvent event) override;
    // Behind the run: tells the results put together, `root` being the module's.
    void Tell(const CapturePlan& plan, hlo::InstructionId root);

   private:
    const SpreadLeaves& leaves_;
    RunStream& stream_;
    std::vector<std::vector<Result<hlo::Literal>>> results_;  // by leaf, by device
  };

 private:
  explicit SpreadLeaves(Placement placement) : placement_(std::move(placement)) {}

  Placement placement_;             // of the program
  std::vector<hlo::Shape> shapes_;  // of the results, whole
  std::vector<LeafPlacement> results_;
};

}  // namespace hloscope::replay
