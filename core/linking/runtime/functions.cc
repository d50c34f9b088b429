// Functions of real numbers, lane by lane.
#include "core/linking/runtime/functions.h"

#include <cmath>
#include <type_traits>

namespace {

// One step of Newton's method brings the library's 3 ULP to half of one.
double ExactCbrt(double x) {
  const double root = std::cbrt(x);
  if (root == 0 || !std::isfinite(root)) return root;
  const long double y = root;
  return static_cast<double>(y - (y * y * y - x) / (3 * y * y));
}

// Floats are computed in double.
template <typename F, typename T>
void Lanes(const F& function, const T* x, const T* y, T* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(
        function(static_cast<double>(x[i]), y == nullptr ? 0.0 : static_cast<double>(y[i])));
  }
}

}  // namespace

extern "C" {

#define LANES(name, type, function)                                                          \
  void hloscope_##name(const type* px, const type* py, type* out, int64_t count) {           \
    Lanes([](double x, [[maybe_unused]] double y) { return function; }, px, py, out, count); \
  }
#define UNARY(opcode, function) \
  LANES(opcode##_f32, float, function) LANES(opcode##_f64, double, function)
#define BINARY UNARY
#define COMPLEX(opcode, function)
#define RUNTIME(name, type, function)
#include "core/linking/runtime/symbols.def"

}  // extern "C"
