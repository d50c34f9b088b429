"""True values of HLO's functions of complex numbers: pairs of real numbers with signed zeros.

Finite arguments: textbook formulas of real functions in enough precision for any cancellation, on the side of a
branch cut that the zeros' signs name. Others: C's Annex G, from Python's cmath; None where C leaves the value open.
"""
import cmath
import math

from mpmath import mp, mpf

import real_truth
from element_types import INF, NAN, is_inf, is_nan, is_special, is_zero, neg, negative, number, real
from real_truth import signed

LIMIT = 20000     # beyond, exponentials overflow or vanish in every type

mul = real_truth.BINARY["multiply"]
add = real_truth.BINARY["add"]
_sin, _cos = real_truth.UNARY["sine"], real_truth.UNARY["cosine"]


def _clipped(x):
    return signed(mpf(LIMIT), x) if not is_special(x) and abs(x) > LIMIT else x


def exp(x, y):
    size = real_truth.UNARY["exponential"](_clipped(x))
    return mul(size, _cos(y)), mul(size, _sin(y))


def expm1(x, y):
    re, im = exp(x, y)
    return real(number(re) - 1, -1 if negative(x) else 1), im


def sinh(x, y):
    x = _clipped(x)
    return mul(real_truth.UNARY["sinh"](x), _cos(y)), mul(real_truth.UNARY["cosh"](x), _sin(y))


def cosh(x, y):
    x = _clipped(x)
    return mul(real_truth.UNARY["cosh"](x), _cos(y)), mul(real_truth.UNARY["sinh"](x), _sin(y))


def tanh(x, y):
    """(sinh 2x + i sin 2y) / (cosh 2x + cos 2y), whose denominator is 2 (sinh²x + cos²y)."""
    x = _clipped(x)
    s, c = real_truth.UNARY["sinh"](x), real_truth.UNARY["cosh"](x)
    denominator = number(s) ** 2 + number(_cos(y)) ** 2
    return (real(number(s) * number(c) / denominator, -1 if negative(x) else 1),
            _over(mul(_sin(y), _cos(y)), denominator))


def _over(x, denominator):
    return x if is_zero(x) else x / denominator


def log(x, y):
    square = number(x) ** 2 + number(y) ** 2
    return (-INF if square == 0 else real(mp.log(square) / 2)), real_truth.atan2(y, x)


def log1p(x, y):
    re, im = log(real(1 + number(x)), y)
    return (x, im) if is_zero(x) and is_zero(y) else (re, im)


def sqrt(x, y):
    size = mp.hypot(number(x), number(y))
    if size == 0:
        return 0.0, y
    if x > 0 or is_zero(x):
        re = mp.sqrt((size + number(x)) / 2)
        return re, signed(0.0, y) if is_zero(y) else y / (2 * re)
    im = mp.sqrt((size - number(x)) / 2)
    return (0.0 if is_zero(y) else abs(y) / (2 * im)), signed(im, y)


def _asinh_positive(x, y):
    """asinh in the first quadrant: log(z + sqrt(1 + z²))."""
    if is_zero(x) and is_zero(y):
        return 0.0, 0.0
    if is_zero(x) and y <= 1:
        return 0.0, mp.asin(y)
    square = real(1 + number(x) ** 2 - number(y) ** 2), mul(mul(mpf(2), x), y)
    a, b = sqrt(*square)
    re, im = log(add(x, a), add(y, b))
    return abs(re), abs(im)


def _quadrant(function):
    """An odd function with f(conj z) = conj f(z) from its values in the first quadrant."""

    def of(x, y):
        re, im = function(abs(x), abs(y))
        return signed(re, x), signed(im, y)

    return of


def _turned(function):
    """-i f(iz) for an odd f of that kind: of the swapped parts, swapped."""

    def of(x, y):
        im, re = function(y, x)
        return re, im

    return of


def _atanh_positive(x, y):
    a, b = number(x), number(y)
    top, bottom = (1 + a) ** 2 + b ** 2, (1 - a) ** 2 + b ** 2
    re = INF if bottom == 0 else real(mp.log(top / bottom) / 4)
    im = real_truth.atan2(mul(mpf(2), y), real((1 - a) * (1 + a) - b ** 2))
    return re, im if is_zero(im) else im / 2


asinh = _quadrant(_asinh_positive)
asin = _turned(asinh)
atanh = _quadrant(_atanh_positive)
atan = _turned(atanh)
tan = _turned(tanh)
sin = _turned(sinh)


def cos(x, y):
    return cosh(neg(y), x)


def acos(x, y):
    re, im = asin(x, y)
    return real(mp.pi / 2 - number(re)), neg(im)


def acosh(x, y):
    """i acos z above the real axis, -i acos z below."""
    re, im = acos(x, y)
    return (im, neg(re)) if negative(y) else (neg(im), re)


def _quotient(top, size):
    return top if is_zero(top) else top / size


def divide(x, y):
    (a, b), (c, d) = x, y
    if all(is_zero(v) for v in (c, d)):
        return None
    size = number(c) ** 2 + number(d) ** 2
    return (_quotient(add(mul(a, c), mul(b, d)), size), _quotient(add(mul(b, c), neg(mul(a, d))), size))


def reciprocal(x, y):
    if is_zero(x) and is_zero(y):
        return None
    size = number(x) ** 2 + number(y) ** 2
    return _quotient(x, size), _quotient(neg(y), size)


def logistic(x, y):
    re, im = exp(neg(x), neg(y))
    return reciprocal(real(1 + number(re)), im)


def rsqrt(x, y):
    if is_zero(x) and is_zero(y):
        return None
    return reciprocal(*sqrt(x, y))


def sign(x, y):
    size = mp.hypot(number(x), number(y))
    return (0.0, 0.0) if size == 0 else (_over(x, size), _over(y, size))


def multiply(x, y):
    (a, b), (c, d) = x, y
    return add(mul(a, c), neg(mul(b, d))), add(mul(a, d), mul(b, c))


def power(x, y):
    """e^(y log x); open where the angle of the result is so large that no wider type holds enough of its digits."""
    if all(is_zero(v) for v in x):
        return None
    if all(is_zero(v) for v in y):
        return mpf(1), None
    re, im = multiply(log(*x), y)
    return exp(re, im) if abs(number(im)) < 256 else None


def atan2(y, x):
    """-i log((x + iy) / sqrt(x² + y²)) = -i (log(x + iy) - log(x² + y²) / 2)."""
    i = (0.0, mpf(1))
    plus = lambda p, q: (add(p[0], q[0]), add(p[1], q[1]))
    squares = plus(multiply(x, x), multiply(y, y))
    top = plus(x, multiply(i, y))
    if any(all(is_zero(v) for v in z) for z in (squares, top)):
        return None
    re, im = log(*divide(top, sqrt(*squares)))
    return tuple(None if is_zero(v) else v for v in (im, neg(re)))  # the signs of zeros follow from no formula


FINITE = {
    "acos": acos, "acosh": acosh, "asin": asin, "asinh": asinh, "atan": atan, "atanh": atanh, "cosine": cos,
    "cosh": cosh, "exponential": exp, "exponential-minus-one": expm1, "log": log, "log-plus-one": log1p,
    "logistic": logistic, "rsqrt": rsqrt, "sign": sign, "sine": sin, "sinh": sinh, "sqrt": sqrt, "tan": tan,
    "tanh": tanh,
}
ANNEX_G = {
    "acos": cmath.acos, "acosh": cmath.acosh, "asin": cmath.asin, "asinh": cmath.asinh, "atan": cmath.atan,
    "atanh": cmath.atanh, "cosine": cmath.cos, "cosh": cmath.cosh, "exponential": cmath.exp, "log": cmath.log,
    "sine": cmath.sin, "sinh": cmath.sinh, "sqrt": cmath.sqrt, "tan": cmath.tan, "tanh": cmath.tanh,
}
BINARY = {"divide": divide, "power": power, "atan2": atan2}


def precision(*numbers):
    """Bits that lose nothing where 1 and the squares of these are added."""
    sizes = [abs(mp.mag(v)) for z in numbers for v in z if not is_special(v)]
    return 300 + 2 * int(max(sizes, default=0))


def finite(z):
    return not any(is_nan(v) or is_inf(v) for v in z)


def unary(name, z):
    """The pair of true parts; None for one, or for both, where there is no one right answer."""
    if name == "negate":
        return tuple(neg(v) for v in z)
    if name == "copy":
        return z
    if finite(z):
        with mp.workprec(precision(z)):
            return FINITE[name](*z)
    if name not in ANNEX_G or (name == "exponential" and not finite((0.0, z[1]))):  # signs left open
        return None
    try:
        value = ANNEX_G[name](complex(*(float(v) for v in z)))
    except (ValueError, OverflowError):
        return None
    parts = tuple(v if math.isnan(v) or math.isinf(v) or v == 0 else _exact_part(v) for v in (value.real, value.imag))
    if not any(is_nan(v) for v in z):
        turning = {"tan": z[0], "tanh": z[1]}.get(name)
        return tuple(None if is_zero(v) and turning is not None and is_inf(turning) else v for v in parts)
    # With a NaN the signs of zeros and infinities are open, and what C17 has otherwise than C11 (acosh, tanh at 0 + NaN i).
    return tuple(v if is_nan(v) and name not in ("acosh", "tan", "tanh") else None for v in parts)


def _exact_part(value):
    """Finite parts at non-finite arguments are multiples of a quarter of pi, ones, or the argument's own."""
    for n in (1, 2, 3, 4):
        if abs(abs(value) - float(n * mp.pi / 4)) < 1e-15:
            return signed(n * mp.pi / 4, value)
    return mpf(value)


def absolute(z):
    if any(is_inf(v) for v in z):
        return INF
    if any(is_nan(v) for v in z):
        return NAN
    with mp.workprec(precision(z)):
        return real(mp.hypot(number(z[0]), number(z[1])))


def extreme(which, x, y):
    """By the real parts, then by the imaginary ones, x of equals; open where a NaN is."""
    return None if any(is_nan(v) for v in (*x, *y)) else which(x, y)


def clamp(low, x, high):
    raised = extreme(max, x, low)
    return None if raised is None else extreme(min, raised, high)


def binary(name, x, y):
    if name == "add":
        return tuple(add(a, b) for a, b in zip(x, y))
    if name == "subtract":
        return tuple(add(a, neg(b)) for a, b in zip(x, y))
    if name in ("maximum", "minimum"):
        return extreme(max if name == "maximum" else min, x, y)
    if name == "multiply":
        with mp.workprec(precision(x, y) if finite(x) and finite(y) else 300):
            return multiply(x, y)
    if not (finite(x) and finite(y)):
        return None
    with mp.workprec(precision(x, y)):
        return BINARY[name](x, y)
