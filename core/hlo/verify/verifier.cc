// The order of the verifier's passes: what a pass indexes without asking, an earlier one has made
// sure of.
#include "core/hlo/verify/verifier.h"

#include "core/base/progress/activity.h"
#include "core/hlo/verify/verify_context.h"

namespace hloscope::hlo {

std::vector<Diagnostic> Verify(const Module& module, const VerifyOptions& options) {
  const Activity activity("verifying", module.name());
  VerifyContext context(module, options);
  if (!VerifyStructure(context)) return context.Take();
  context.ComputeShapeFacts();
  VerifyAttributes(context);
  if (!context.sound() || !VerifyCalls(context)) return context.Take();
  VerifyHeader(context);
  VerifyShapes(context);
  VerifyControl(context);
  VerifyFusions(context);
  VerifyCollectives(context);
  VerifyAsync(context);
  VerifySharding(context);
  VerifyMetadata(context);
  if (!context.sound()) return context.Take();
  VerifyBuffers(context);
  VerifyLayouts(context);
  VerifySchedule(context);
  return context.Take();
}

}  // namespace hloscope::hlo
