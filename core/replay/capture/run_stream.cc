#include "core/replay/capture/run_stream.h"

#include <utility>

namespace hloscope::replay {

void PhaseRecorder::Enter(std::string_view name, std::string_view lane) {
  if (!records_) return;
  End();
  phase_ = {std::string(name), std::string(lane), runtime::SteadyNanoseconds(), 0};
}

void PhaseRecorder::End() {
  if (phase_.name.empty()) return;
  phase_.duration_ns = runtime::SteadyNanoseconds() - phase_.start_ns;
  stream_.Take(std::exchange(phase_, {}));
}

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
