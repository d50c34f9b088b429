// What a comparison of two platforms is asked for: stage, inputs, platforms, checks, tolerance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/debug/run/platforms_here.h"
#include "core/replay/platform_table.h"
#include "viewer/divergence/divergence_outcome.h"
#include "viewer/model/experiment.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

class DivergenceSettings {
 public:
  void Draw(Frame& frame, int32_t module);
  // A run on these platforms, or on the reference evaluator alone that looks for `find`.
  ExperimentRequest RequestFor(const Context& context, int32_t module,
                               std::optional<debug::NonFiniteKind> find) const;

  std::string platform, reference{replay::ReferencePlatform().name};
  InputsChoice inputs;
  int stage = 0;
  bool isolate = true, record = false, own_bounds = false;
  bool check_races = false, check_uninitialised = false;
  double absolute = 1e-4, relative = 1e-4;  // tolerances, where own_bounds

 private:
  void DrawChecks();
  void ChooseStage(Frame& frame, const dump::ModuleEntry& entry);
  void Choose(Frame& frame, const char* name, std::string& value, bool may_be_none);

  std::vector<debug::PlatformState> platforms_;
};

}  // namespace hloscope::viewer
