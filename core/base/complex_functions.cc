// The powers of complex numbers that need more bits than long double has.
#include "core/base/complex_functions.h"

// Of libquadmath, whose header g++ alone finds.
extern "C" {
__float128 atan2q(__float128 y, __float128 x);
__float128 cosq(__float128 x);
__float128 expq(__float128 x);
int finiteq(__float128 x);
__float128 hypotq(__float128 x, __float128 y);
__float128 logq(__float128 x);
__float128 sinq(__float128 x);
}

namespace hloscope::complex_functions {

Pair<long double> PowerInQuad(Pair<long double> x, Pair<long double> y) {
  const __float128 a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  const __float128 length = logq(hypotq(a, b)), turn = atan2q(b, a);
  const __float128 size = expq(c * length - d * turn), angle = d * length + c * turn;
  if (!finiteq(size) || !finiteq(angle)) return std::pow(x, y);
  return {static_cast<long double>(size * cosq(angle)),
          static_cast<long double>(size * sinq(angle))};
}

}  // namespace hloscope::complex_functions
