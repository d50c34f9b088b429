// What helps against the error of a run.
#pragma once

#include <string>

#include "core/base/result.h"

namespace hloscope::debug {

// The error's own hint; without one what helps against the reason that its words name
// (refusal_words.def), else the fix of the table of error texts (error_texts.def). Empty: nothing
// is known.
std::string FixOf(const Error& error);

}  // namespace hloscope::debug
