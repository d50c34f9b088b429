#include "core/linking/symbols.h"

#include <cmath>
#include <cstring>

#include "core/linking/runtime/fft.h"
#include "core/linking/runtime/functions.h"
#include "core/linking/runtime/linear_algebra.h"
#include "core/linking/runtime/sort.h"

namespace hloscope::linking {
namespace {

// Where the target has no instructions for half precision.
float HalfToFloat(_Float16 x) { return static_cast<float>(x); }
_Float16 FloatToHalf(float x) { return static_cast<_Float16>(x); }

#define SYMBOL(name) {#name, reinterpret_cast<void*>(&::name)},
#define UNARY(opcode, function) SYMBOL(hloscope_##opcode##_f32) SYMBOL(hloscope_##opcode##_f64)
#define BINARY UNARY
#define COMPLEX(opcode, function) SYMBOL(hloscope_##opcode##_c64) SYMBOL(hloscope_##opcode##_c128)
#define RUNTIME(name, type, function) {#name, reinterpret_cast<void*>(static_cast<type>(function))},
const Symbol kSymbols[] = {
#include "core/linking/runtime/symbols.def"
};
#undef SYMBOL
#undef UNARY
#undef BINARY
#undef COMPLEX
#undef RUNTIME

}  // namespace

std::span<const Symbol> Symbols() { return kSymbols; }

}  // namespace hloscope::linking
