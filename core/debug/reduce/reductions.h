// The reductions: what makes a module smaller. reductions.def is the table of them.
#pragma once

#include "core/debug/reduce/search.h"

namespace hloscope::debug {

#define REDUCTION(function, name) void function(Search& search);
#include "core/debug/reduce/reductions.def"
#undef REDUCTION

// Every reduction in order, again and again until none makes it smaller or the search is stopped.
void RunReductions(Search& search);

}  // namespace hloscope::debug
