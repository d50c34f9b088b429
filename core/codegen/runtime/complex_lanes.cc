// Functions of complex numbers, lane by lane.
#include "core/codegen/runtime/complex_lanes.h"
#include "core/codegen/runtime/functions.h"

using namespace hloscope::complex_functions;

extern "C" {

#define UNARY(opcode, function)
#define BINARY(opcode, function)
#define RUNTIME(name, type, function)
#define COMPLEX HLOSCOPE_COMPLEX
#define QUAD(opcode, function)
#include "core/codegen/runtime/symbols.def"

}  // extern "C"
