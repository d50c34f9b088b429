// Telling results.
#include "core/replay/capture/run_stream.h"

#include <utility>

namespace hloscope::replay {

void TellResult(RunStream& stream, const CapturePlan& plan, hlo::InstructionId root,
                LeafResult result) {
  switch (plan.results) {
    case CaptureForm::kNone:
      return;
    case CaptureForm::kBytes:
      return stream.Take(std::move(result));
    default:
      stream.Take(CapturedValue{{plan.stage, result.device, {}, root, result.leaf},
                                FormOf(result.value, plan.results)});
  }
}

}  // namespace hloscope::replay
