// What XLA's printer forgets where bodies stand in place (HloPrintOptions::Canonical).
#pragma once

#include "core/hlo/opcode.h"

namespace hloscope::hlo {

/// Whether XLA prints the computation of `to_apply` as `calls=`, which its own parser refuses and
/// ours reads.
constexpr bool PrintsBodyAsCalls(Opcode opcode) {
  return opcode == Opcode::kReduceScatter || opcode == Opcode::kScan;
}

}  // namespace hloscope::hlo
