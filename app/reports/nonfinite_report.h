// Printing where a NaN or an infinity first appears.
#pragma once

#include <string>

#include "core/base/json.h"
#include "core/debug/explain/nonfinite/find_nonfinite.h"

namespace hloscope::app {

// The object behind `first_nonfinite`.
void WriteNonFiniteJson(JsonWriter& json, const debug::NonFinite& found);
// A few indented lines.
std::string NonFiniteText(const debug::NonFinite& found);
// What is said where none was found. `arrive`: inputs or constants hold some, which instructions
// may have passed on.
std::string NoNonFiniteText(debug::NonFiniteKind kind, bool arrive);

}  // namespace hloscope::app
