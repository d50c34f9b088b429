// Sharding rules used by other passes of the verifier.
#pragma once

#include <vector>

#include "core/hlo/verify/verify_context.h"

namespace hloscope::hlo {

// A finding unless all of `instructions` that have a sharding have the same one (XLA:
// VerifyConsistentSharding).
void VerifyConsistentSharding(VerifyContext& context, InstructionId at,
                              const std::vector<InstructionId>& instructions);

// True if an iota has `count` elements and is transposed by a permutation.
bool IsSoundIota(const IotaTile& iota, int64_t count);
// Devices along axes of a mesh, splits counted; nullopt if an axis does not exist or does not
// divide.
std::optional<int64_t> AxesSize(const Mesh& mesh, const std::vector<AxisRef>& axes);

}  // namespace hloscope::hlo
