// The library's entry.
#include "core/codegen/library/library_calls.h"

// As C++: both sides are of one build.
extern "C" const hloscope::compile::MakeLibraryCallsFunction hloscope_make_library_calls =
    &hloscope::codegen::MakeLibraryCalls;
