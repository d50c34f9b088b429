// Two independent reasons of one difference.
#pragma once

#include <stop_token>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/platform_tries.h"

namespace hloscope::debug {

// Where nothing alone closes the gap and the guilty pass, switched off, leaves fewer elements that
// differ: what is left then is explained as a run of its own, and both are findings.
void FindSecondFinding(DivergeVerdict& verdict, const PlatformTries& tries,
                       const std::stop_token& stop);

}  // namespace hloscope::debug
