// Source lines of Julia and Elixir in the stack traces that they write behind an error.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/dump/errors/traceback.h"

namespace hloscope::dump {

// The innermost line of the program itself in the trace behind `lines[error]`: Reactant's, EXLA's
// and the languages' own files are passed over. Without a file where there is no such line.
SourceLine FindOtherSourceLine(const std::vector<std::string_view>& lines, size_t error);

}  // namespace hloscope::dump
