// Operands that tell: of every sum or maximum a few elements are far larger than the others, so
// that a reduction which loses one, or takes one twice, gives something else by far.
#pragma once

#include <optional>

#include "core/backends/gpusim/kernel_case.h"
#include "core/debug/explain/kernels/explain_kernel.h"

namespace hloscope::debug {

// The question's case with one float in about 64 of its operands replaced: 512 to 1024 (f16 and
// narrower: 64 to 128), with the sign that it had. The same on every machine. Nothing where the
// instruction reduces no floats, or arrays of its operands share bytes without being the same.
std::optional<replay::KernelCase> WithTellingOperands(const KernelQuestion& question);

}  // namespace hloscope::debug
