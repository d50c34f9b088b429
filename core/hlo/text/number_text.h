// Floating-point numbers as XLA's literals spell them.
#pragma once

#include <cstdint>
#include <string>

#include "core/hlo/float_types.h"

namespace hloscope::hlo {

// C's %.<precision>g.
void AppendGeneral(std::string& out, double value, int precision);

// As few digits as read back: 6 or else 9 for f32, 15 or else 17 for f64, in the style of %g. NaNs
// with their sign and, unless it is the usual one, their payload: "-nan", "nan(0x401234)".
void AppendLiteralNumber(std::string& out, float value);
void AppendLiteralNumber(std::string& out, double value);
// A narrow float: %g with the digits that tell all numbers of its type apart.
void AppendLiteralNumber(std::string& out, const FloatFormat& format, uint32_t bits);

}  // namespace hloscope::hlo
