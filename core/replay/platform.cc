// Of platforms and modules in general.
#include "core/replay/platform.h"

#include <fmt/format.h>

namespace hloscope::replay {

Status CheckCapture(const PlatformRow& platform, const CapturePlan& plan) {
  const bool searches = plan.search || plan.until;
  const PlatformFlag needed = searches ? kSearches : kCaptures;
  if (!plan.wants_more_than_results() || platform.Has(needed)) return {};
  const std::string_view what = plan.search  ? "search values"
                                : plan.until ? "end a run before its results"
                                             : "capture values inside a module";
  return UnsupportedError(fmt::format("{} cannot {}", platform.name, what),
                          fmt::format("run it on {}", PlatformNames(needed)));
}

std::vector<hlo::Shape> ParameterShapes(const hlo::Module& module) {
  std::vector<hlo::Shape> shapes;
  for (hlo::InstructionId parameter : module.Parameters(module.entry_id())) {
    shapes.push_back(parameter.valid() ? module.shape(parameter) : hlo::Shape());
  }
  return shapes;
}

}  // namespace hloscope::replay
