// DoubleDouble: an unevaluated sum of two long doubles, whose second is below half a unit in the
// last place of the first (double-double arithmetic: Dekker, "A floating-point technique for
// extending the available precision", 1971). With 64 bits each it has about 126; a result of an
// operation below is off by a few of its last bits.
#pragma once

namespace hloscope {

struct DoubleDouble {
  long double high = 0, low = 0;
};

DoubleDouble operator+(DoubleDouble x, DoubleDouble y);
DoubleDouble operator-(DoubleDouble x, DoubleDouble y);
DoubleDouble operator*(DoubleDouble x, DoubleDouble y);
DoubleDouble operator/(DoubleDouble x, DoubleDouble y);

struct SineCosine {
  DoubleDouble sine, cosine;
};

/// e^x for finite x; infinity where it has no long double.
DoubleDouble ExpOf(DoubleDouble x);
/// The natural logarithm of a finite positive number.
DoubleDouble LogarithmOf(DoubleDouble x);
/// Of a finite angle in radians; from 2^120 on of its first part alone.
SineCosine SinCos(DoubleDouble x);
/// The angle of the point (x, y), which is not the origin; its first part has atan2's sign.
DoubleDouble AngleOf(long double y, long double x);

}  // namespace hloscope
