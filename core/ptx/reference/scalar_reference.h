// A block of a kernel run twice at a time: by the machine, and beside it lane by lane with the
// second implementation (scalar.h, tensor_model.h) on registers and memory of its own. Where both
// give the same bits, what the kernel computes is what its PTX says and no fault of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/ptx/ptx.h"

namespace hloscope::ptx {

struct ScalarReferenceDifference {
  std::string what;  // "%r4 is 7 (0x00000007) on the machine, 8 (0x00000008) by the second …"
  Place place;       // in the PTX
  std::string form;
  uint32_t thread = 0;  // in the block, x first
};

struct ScalarReferenceReport {
  uint64_t checked = 0;  // instructions of lanes that both computed
  // The first that the second implementation has not; what follows from it is not checked.
  std::optional<Error> missing;
  std::optional<ScalarReferenceDifference> first;
  std::optional<Fault> fault;
  bool agrees() const { return !missing && !first && !fault && checked > 0; }
};

// Runs that one block of the launch, which writes to the arguments as a launch does. Errors: those
// of Launch.
Result<ScalarReferenceReport> RunScalarReference(const Module& module, const LaunchRequest& launch,
                                                 const std::array<uint32_t, 3>& block,
                                                 LaunchOptions options = {});

}  // namespace hloscope::ptx
