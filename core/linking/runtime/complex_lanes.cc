// Functions of complex numbers, lane by lane.
#include "core/linking/runtime/complex_lanes.h"

#include "core/linking/runtime/functions.h"

using namespace hloscope::complex_functions;

extern "C" {

#define UNARY(opcode, function)
#define BINARY(opcode, function)
#define RUNTIME(name, type, function)
#define COMPLEX HLOSCOPE_COMPLEX
#include "core/linking/runtime/symbols.def"

}  // extern "C"
