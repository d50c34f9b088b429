// The verifier: after it finds nothing, evaluating or compiling the module cannot crash. XLA's
// rules (service/hlo_verifier.cc), each with a stable rule name.
#pragma once

#include <vector>

#include "core/base/limits.h"
#include "core/hlo/diagnostic.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

struct VerifyOptions {
  // Adds the layout-sensitive, no-mixed-precision and backend checks as errors; otherwise they are
  // warnings.
  bool strict = false;
  Limits limits;
};

// Everything wrong with `module`, in program order, at most limits.diagnostics errors. Offsets are
// those of the source text where it was read from one.
std::vector<Diagnostic> Verify(const Module& module, const VerifyOptions& options = {});

}  // namespace hloscope::hlo
