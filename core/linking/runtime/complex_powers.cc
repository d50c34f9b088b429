// Powers of complex numbers, which need libquadmath.
#include "core/linking/runtime/complex_lanes.h"
#include "core/linking/runtime/functions.h"

using namespace hloscope::complex_functions;

extern "C" {

#define UNARY(opcode, function)
#define BINARY(opcode, function)
#define RUNTIME(name, type, function)
#define QUAD HLOSCOPE_COMPLEX
#define COMPLEX(opcode, function)
#include "core/linking/runtime/symbols.def"

}  // extern "C"
