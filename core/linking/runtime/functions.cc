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

// By repeated squaring, modulo 2^64; a negative exponent is 1/x^|y| rounded towards zero.
template <typename T>
T IntegerPower(T x, T y) {
  if constexpr (std::is_signed_v<T>) {
    if (y < 0) return x == 1 ? T{1} : x == -1 ? T{(y & 1) != 0 ? -1 : 1} : T{0};
  }
  uint64_t result = 1, base = static_cast<uint64_t>(x);
  for (auto e = static_cast<uint64_t>(y); e != 0; e >>= 1, base *= base) {
    if ((e & 1) != 0) result *= base;
  }
  return static_cast<T>(result);
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

void hloscope_kPower_s64(const int64_t* x, const int64_t* y, int64_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = IntegerPower(x[i], y[i]);
}
void hloscope_kPower_u64(const uint64_t* x, const uint64_t* y, uint64_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = IntegerPower(x[i], y[i]);
}

}  // extern "C"
