"""True values of HLO's functions of real numbers, with the special values of C's mathematics library (Annex F)."""
from mpmath import mp, mpf

from element_types import INF, NAN, is_inf, is_nan, is_special, is_zero, neg, negative, number, real

HUGE = mp.ldexp(1, 30000)
TINY = mp.ldexp(1, -30000)


def signed(magnitude, like):
    return -magnitude if negative(like) else magnitude


def _finite(function, at_inf, at_minus_inf, at_zero):
    """A function of finite nonzero numbers with its values elsewhere; at_zero 'x' means the zero itself."""

    def of(x):
        if is_nan(x):
            return NAN
        if is_inf(x):
            return at_inf if x > 0 else at_minus_inf
        if is_zero(x):
            return x if at_zero == "x" else at_zero(x) if callable(at_zero) else at_zero
        return function(x)

    return of


def _odd(function, at_inf):
    return _finite(function, at_inf, neg(at_inf), "x")


def _within(low, high, function):
    return lambda x: function(x) if low <= x <= high else NAN


def _exp(x):
    return mp.exp(x) if abs(x) < 20000 else HUGE if x > 0 else TINY


def _expm1(x):
    if x > 20000:
        return HUGE
    if x < -20000:
        return mpf(-1)
    return mp.expm1(x)


def _cosh(x):
    return mp.cosh(x) if abs(x) < 20000 else HUGE


def _sinh(x):
    return mp.sinh(x) if abs(x) < 20000 else signed(HUGE, x)


def _tanh(x):
    return mp.tanh(x) if abs(x) < 20000 else signed(mpf(1), x)


def _asinh(x):
    return signed(mp.asinh(abs(x)), x)


def _atanh(x):
    if abs(x) > 1:
        return NAN
    return signed(INF, x) if abs(x) == 1 else mp.atanh(x)


def _log(x):
    return NAN if x < 0 else real(mp.log(x))


def _log1p(x):
    if x < -1:
        return NAN
    return -INF if x == -1 else mp.log1p(x) if abs(x) < 1 else mp.log(1 + x)


def _logistic(x):
    return 1 / (1 + _exp(-x))


def _erf(x):
    if abs(x) > 30:
        return signed(mpf(1), x)
    return mp.erf(x)


def _round(how):
    def of(x):
        if abs(x) >= mp.ldexp(1, 60):
            return x
        return real(how(x), -1 if x < 0 else 1)

    return _odd(of, INF)


def _afz(x):
    return signed(mp.floor(abs(x) + mpf(1) / 2), x)


def _rsqrt(x):
    return NAN if x < 0 else 1 / mp.sqrt(x)


HALF_PI = mp.pi / 2
UNARY = {
    "abs": lambda x: NAN if is_nan(x) else abs(x),
    "acos": _finite(_within(-1, 1, lambda x: real(mp.acos(x))), NAN, NAN, HALF_PI),
    "acosh": _finite(lambda x: NAN if x < 1 else real(mp.acosh(x)), INF, NAN, NAN),
    "asin": _finite(_within(-1, 1, mp.asin), NAN, NAN, "x"),
    "asinh": _odd(_asinh, INF),
    "atan": _odd(mp.atan, +HALF_PI),
    "atanh": _finite(_atanh, NAN, NAN, "x"),
    "cbrt": _odd(lambda x: signed(mp.cbrt(abs(x)), x), INF),
    "ceil": _round(mp.ceil),
    "cosine": _finite(mp.cos, NAN, NAN, mpf(1)),
    "cosh": _finite(_cosh, INF, INF, mpf(1)),
    "erf": _odd(_erf, mpf(1)),
    "exponential": _finite(_exp, INF, 0.0, mpf(1)),
    "exponential-minus-one": _finite(_expm1, INF, mpf(-1), "x"),
    "floor": _round(mp.floor),
    "log": _finite(_log, INF, NAN, -INF),
    "log-plus-one": _finite(_log1p, INF, NAN, "x"),
    "logistic": _finite(_logistic, mpf(1), 0.0, mpf(1) / 2),
    "negate": lambda x: NAN if is_nan(x) else neg(x),
    "real": lambda x: x,
    "round-nearest-afz": _round(_afz),
    "round-nearest-even": _round(mp.nint),
    "rsqrt": _finite(_rsqrt, 0.0, NAN, lambda x: signed(INF, x)),
    "sign": _odd(lambda x: signed(mpf(1), x), mpf(1)),
    "sine": _finite(mp.sin, NAN, NAN, "x"),
    "sinh": _odd(_sinh, INF),
    "sqrt": _finite(lambda x: NAN if x < 0 else mp.sqrt(x), INF, NAN, "x"),
    "tan": _finite(mp.tan, NAN, NAN, "x"),
    "tanh": _odd(_tanh, mpf(1)),
    "copy": lambda x: x,
}


def _sum(x, y):
    if is_nan(x) or is_nan(y):
        return NAN
    if is_inf(x) or is_inf(y):
        return NAN if is_inf(x) and is_inf(y) and x != y else x if is_inf(x) else y
    if is_zero(x) and is_zero(y):
        return x + y
    return real(number(x) + number(y))


def _product(x, y):
    if is_nan(x) or is_nan(y):
        return NAN
    sign = -1 if negative(x) != negative(y) else 1
    if is_inf(x) or is_inf(y):
        return NAN if is_zero(x) or is_zero(y) else sign * INF
    return sign * 0.0 if is_zero(x) or is_zero(y) else x * y


def _quotient(x, y):
    if is_nan(x) or is_nan(y):
        return NAN
    sign = -1 if negative(x) != negative(y) else 1
    if is_inf(x):
        return NAN if is_inf(y) else sign * INF
    if is_inf(y):
        return sign * 0.0
    if is_zero(y):
        return NAN if is_zero(x) else sign * INF
    return sign * 0.0 if is_zero(x) else x / y


def _remainder(x, y):
    """The sign is the dividend's (C's fmod); exact, by integers of a common unit."""
    if is_nan(x) or is_nan(y) or is_inf(x) or is_zero(y):
        return NAN
    if is_inf(y) or is_zero(x):
        return x
    (xm, xe), (ym, ye) = abs(x).man_exp, abs(y).man_exp
    unit = min(xe, ye)
    rest = (int(xm) << (xe - unit)) % (int(ym) << (ye - unit))
    return real(signed(mp.ldexp(rest, unit), x), -1 if negative(x) else 1)


def _extreme(larger):
    def of(x, y):
        if is_nan(x) or is_nan(y):
            return NAN
        if x == y:
            return x if negative(x) != larger else y
        return x if (x > y) == larger else y

    return of


def _is_odd(y):
    return not is_special(y) and y == mp.floor(y) and abs(y) < mp.ldexp(1, 70) and int(y) % 2 == 1


def _is_integer(y):
    return not is_special(y) and y == mp.floor(y)


def _power_of_special(x, y):
    """x is zero or infinite, y neither zero nor NaN."""
    up = (is_inf(x)) == (not negative(y))
    size = INF if up else 0.0
    return -size if negative(x) and _is_odd(y) else size


def power(x, y):
    if (not is_special(x) and x == 1) or is_zero(y):
        return mpf(1)
    if is_nan(x) or is_nan(y):
        return NAN
    if is_inf(y):
        size = abs(number(x)) if not is_inf(x) else INF
        if size == 1:
            return mpf(1)
        return INF if (size > 1) == (y > 0) else 0.0
    if is_special(x):
        return _power_of_special(x, y)
    if x < 0 and not _is_integer(y):
        return NAN
    exponent = y * mp.log(abs(x), 2)
    size = HUGE if exponent > 20000 else TINY if exponent < -20000 else mp.power(abs(x), y)
    return -size if x < 0 and _is_odd(y) else size


def atan2(y, x):
    if is_nan(x) or is_nan(y):
        return NAN
    if is_zero(y):
        return signed(+mp.pi, y) if negative(x) else y
    if is_zero(x):
        return signed(mp.pi / 2, y)
    if is_inf(y):
        return signed(mp.pi / 4 * (3 if negative(x) else 1) if is_inf(x) else mp.pi / 2, y)
    if is_inf(x):
        return signed(+mp.pi, y) if negative(x) else signed(0.0, y)
    return mp.atan2(y, x)


BINARY = {
    "add": _sum,
    "subtract": lambda x, y: _sum(x, neg(y)),
    "multiply": _product,
    "divide": _quotient,
    "remainder": _remainder,
    "maximum": _extreme(True),
    "minimum": _extreme(False),
    "power": power,
    "atan2": atan2,
}


def clamp(low, x, high):
    if is_nan(low) or is_nan(x) or is_nan(high):
        return NAN
    raised = low if x < low else x
    return high if raised > high else raised


COMPARE = {
    "EQ": lambda x, y: x == y,
    "NE": lambda x, y: x != y,
    "GE": lambda x, y: x >= y,
    "GT": lambda x, y: x > y,
    "LE": lambda x, y: x <= y,
    "LT": lambda x, y: x < y,
}


def total_order_key(t, bits):
    """Orders the bit patterns of a float type: -NaN < -inf < … < -0 < +0 < … < inf < NaN.

    The one NaN of the fnuz formats comes first (XLA: ToSignMagnitude)."""
    sign = 1 << (t.bits - 1)
    if t.specials == "fnuz" and bits == sign:
        return -2 * sign
    return -1 - (bits & (sign - 1)) if bits & sign and t.specials != "scale" else bits


def reduce_precision(t, value, exponent_bits, mantissa_bits):
    """Rounds to a format with these widths: too large is infinity, too small for its normal numbers zero.

    Open for denormals of types narrower than f16, which are rounded as f16 on some backends."""
    if t.bits < 16 and not is_special(value) and abs(value) < mp.ldexp(1, 1 - t.bias):
        return None
    if is_special(value):
        return value
    man, exp = abs(value).man_exp
    top = int(man).bit_length() - 1 + int(exp)
    # The mantissa of t's denormals is shorter than t's: bits are dropped from the last place on.
    unit = max(top, 1 - t.bias) - min(mantissa_bits, t.mantissa_bits)
    rounded = mp.ldexp(mp.nint(mp.ldexp(value, -unit)), unit)
    if exponent_bits >= t.exponent_bits:
        return real(rounded, -1 if negative(value) else 1)
    bias = (1 << (exponent_bits - 1)) - 1
    if abs(rounded) >= mp.ldexp(1, bias + 1):
        return signed(INF, value)
    return rounded if abs(rounded) >= mp.ldexp(1, 1 - bias) else signed(0.0, value)
