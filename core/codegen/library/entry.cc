// The library's entry.
#include "core/base/own_library_entry.h"
#include "core/codegen/library/library_calls.h"

HLOSCOPE_OWN_LIBRARY

// As C++: both sides are of one build.
extern "C" const hloscope::compile::MakeLibraryCallsFunction hloscope_make_library_calls =
    &hloscope::codegen::MakeLibraryCalls;
