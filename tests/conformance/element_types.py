"""The element types of HLO for the conformance table: exact decoding of bit patterns, correct rounding into them.

A real number is a float where it is special (nan, inf, -inf, 0.0, -0.0) and a nonzero mpf otherwise; a complex
number is a pair of those; integers and pred are Python ints.
"""
import math
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf

mp.prec = 200


@dataclass(frozen=True)
class ElementType:
    name: str
    kind: str  # pred, signed, unsigned, float, complex
    bits: int
    pjrt: int | None  # PJRT_Buffer_Type, None where there is none
    exponent_bits: int = 0
    mantissa_bits: int = 0
    bias: int = 0
    specials: str = "ieee"  # ieee, fn, fnuz, finite, scale: what there is beside finite numbers

    @property
    def storage(self):
        """numpy type of one element's bits (of one component's for complex numbers)."""
        width = self.bits // 2 if self.kind == "complex" else self.bits
        return np.dtype({1: "u1", 2: "<u2", 4: "<u4", 8: "<u8"}[max(1, width // 8)])

    @property
    def part(self):
        """The real type of a complex number's parts."""
        return BY_NAME["f32" if self.name == "c64" else "f64"] if self.kind == "complex" else self

    @property
    def is_integral(self):
        return self.kind in ("pred", "signed", "unsigned")


def _float(name, bits, pjrt, exponent_bits, mantissa_bits, bias, specials="ieee"):
    return ElementType(name, "float", bits, pjrt, exponent_bits, mantissa_bits, bias, specials)


TYPES = [
    ElementType("pred", "pred", 1, 1),
    ElementType("s1", "signed", 1, 30), ElementType("s2", "signed", 2, 24), ElementType("s4", "signed", 4, 21),
    ElementType("s8", "signed", 8, 2), ElementType("s16", "signed", 16, 3), ElementType("s32", "signed", 32, 4),
    ElementType("s64", "signed", 64, 5),
    ElementType("u1", "unsigned", 1, 31), ElementType("u2", "unsigned", 2, 25), ElementType("u4", "unsigned", 4, 22),
    ElementType("u8", "unsigned", 8, 6), ElementType("u16", "unsigned", 16, 7), ElementType("u32", "unsigned", 32, 8),
    ElementType("u64", "unsigned", 64, 9),
    _float("f16", 16, 10, 5, 10, 15), _float("bf16", 16, 13, 8, 7, 127), _float("f32", 32, 11, 8, 23, 127),
    _float("f64", 64, 12, 11, 52, 1023),
    _float("f8e5m2", 8, 16, 5, 2, 15), _float("f8e4m3", 8, 26, 4, 3, 7), _float("f8e3m4", 8, 27, 3, 4, 3),
    _float("f8e4m3fn", 8, 17, 4, 3, 7, "fn"), _float("f8e4m3b11fnuz", 8, 18, 4, 3, 11, "fnuz"),
    _float("f8e5m2fnuz", 8, 19, 5, 2, 16, "fnuz"), _float("f8e4m3fnuz", 8, 20, 4, 3, 8, "fnuz"),
    _float("f8e8m0fnu", 8, 28, 8, 0, 127, "scale"), _float("f6e2m3fn", 6, None, 2, 3, 1, "finite"),
    _float("f6e3m2fn", 6, None, 3, 2, 3, "finite"), _float("f4e2m1fn", 4, 29, 2, 1, 1, "finite"),
    ElementType("c64", "complex", 64, 14), ElementType("c128", "complex", 128, 15),
]
BY_NAME = {t.name: t for t in TYPES}
NAN, INF = math.nan, math.inf


def is_special(value):
    return isinstance(value, float)


def is_nan(value):
    return isinstance(value, float) and value != value


def is_inf(value):
    return isinstance(value, float) and value in (INF, -INF)


def is_zero(value):
    return isinstance(value, float) and value == 0


def negative(value):
    """The sign bit."""
    return math.copysign(1, value) < 0 if isinstance(value, float) else value < 0


def neg(value):
    return -value


def real(value, sign=0):
    """An mpf as a real number; a zero gets the sign given."""
    if value == 0:
        return -0.0 if sign < 0 else 0.0
    return value


def number(value):
    """A finite real number as mpf."""
    return mpf(value) if isinstance(value, float) else value


def _nan_bits(t):
    infinity = ((1 << t.exponent_bits) - 1) << t.mantissa_bits
    if t.specials == "ieee":
        return infinity | 1 << (t.mantissa_bits - 1)
    if t.specials == "fn":
        return (1 << (t.bits - 1)) - 1
    if t.specials == "scale":
        return 0xff
    return 1 << (t.bits - 1)  # fnuz; for finite formats -0, as NaN converts to


def is_nan_bits(t, bits):
    magnitude = bits & ((1 << (t.bits - 1)) - 1)
    if t.specials == "ieee":
        return magnitude > ((1 << t.exponent_bits) - 1) << t.mantissa_bits
    if t.specials == "fn":
        return magnitude == (1 << (t.bits - 1)) - 1
    if t.specials == "scale":
        return bits == 0xff
    return t.specials == "fnuz" and bits == 1 << (t.bits - 1)


def decode(t, bits):
    """The value of one element's bits (of a part's for complex types)."""
    bits = int(bits)
    if t.kind in ("pred", "unsigned"):
        return bits & ((1 << t.bits) - 1)
    if t.kind == "signed":
        low = bits & ((1 << t.bits) - 1)
        return low - (1 << t.bits) if low >> (t.bits - 1) else low
    if is_nan_bits(t, bits):
        return NAN
    if t.specials == "scale":
        return mp.ldexp(1, bits - t.bias)
    sign = -1 if bits >> (t.bits - 1) else 1
    magnitude = bits & ((1 << (t.bits - 1)) - 1)
    exponent, mantissa = magnitude >> t.mantissa_bits, magnitude & ((1 << t.mantissa_bits) - 1)
    if t.specials == "ieee" and exponent == (1 << t.exponent_bits) - 1:
        return sign * INF
    if magnitude == 0:
        return sign * 0.0
    if exponent == 0:
        return sign * mp.ldexp(mantissa, 1 - t.bias - t.mantissa_bits)
    return sign * mp.ldexp(mantissa | 1 << t.mantissa_bits, exponent - t.bias - t.mantissa_bits)


def max_finite_bits(t):
    magnitude = (1 << t.bits) - 1 if t.specials == "scale" else (1 << (t.bits - 1)) - 1
    if t.specials == "ieee":
        return (((1 << t.exponent_bits) - 1) << t.mantissa_bits) - 1
    return magnitude - (1 if t.specials in ("fn", "scale") else 0)


def _overflow(t, sign):
    if t.specials == "ieee":
        return sign | ((1 << t.exponent_bits) - 1) << t.mantissa_bits
    return sign | max_finite_bits(t) if t.specials == "finite" else _nan_bits(t)


def _round_scale(t, value):
    """e8m0: nearest power of two, ties up (a significand of 1 is odd); no zero, nothing negative."""
    if is_zero(value) or negative(value):
        return _nan_bits(t)
    man, exp = value.man_exp
    exponent = int(man).bit_length() - 1 + exp + t.bias
    fraction = mp.ldexp(value, -(exponent - t.bias))  # in [1, 2)
    up = fraction >= 1.5
    if exponent < 0:
        return 0
    if exponent == 0:  # between the two smallest the larger, as XLA has it
        up = fraction > 1
    return min(exponent + up, 0xff)


def encode(t, value):
    """Bits of the number of `t` nearest to `value`, ties to even; overflow and NaN as the format has them."""
    if t.is_integral:
        return int(value) & ((1 << t.bits) - 1)
    if is_nan(value):
        return _nan_bits(t)
    sign = 1 << (t.bits - 1) if negative(value) and t.specials != "scale" else 0
    if is_inf(value):
        return _nan_bits(t) if t.specials == "scale" else _overflow(t, sign)
    if t.specials == "scale":
        return _round_scale(t, value)
    if is_zero(value):
        return 0 if t.specials == "fnuz" else sign
    man, exp = value.man_exp
    man, exp = abs(int(man)), int(exp)
    top = man.bit_length() - 1 + exp
    unit = max(top, 1 - t.bias) - t.mantissa_bits  # exponent of the last place
    shift = unit - exp
    if shift <= 0:
        units = man << -shift
    elif shift > man.bit_length() + 1:
        units = 0
    else:
        units, rest, half = man >> shift, man & ((1 << shift) - 1), 1 << (shift - 1)
        units += rest > half or (rest == half and units & 1)
    if units == 0:
        return 0 if t.specials == "fnuz" else sign
    base = max(top, 1 - t.bias) + t.bias - 1
    bits = (base << t.mantissa_bits) + units
    return _overflow(t, sign) if bits > max_finite_bits(t) else sign | bits


def ulp_exponent(t, value):
    """log2 of the spacing of `t` at a nonzero finite `value`."""
    man, exp = value.man_exp
    top = abs(int(man)).bit_length() - 1 + int(exp)
    top = min(top, (1 << t.exponent_bits) - 2 - t.bias)
    return max(top, 1 - t.bias) - t.mantissa_bits


def ulps(t, bits, value):
    """Distance of the number with `bits` from the true `value` in units of the last place at `value`."""
    got = decode(t, bits)
    if is_nan(got) or is_nan(value):
        return 0.0 if is_nan(got) and is_nan(value) else INF
    if is_inf(got) or is_inf(value):
        if is_inf(got) and is_inf(value):
            return 0.0 if got == value else INF
        if is_inf(value):
            return INF
        # An infinity for a number whose rounding is the largest: as far as the next number would be.
        limit = mp.ldexp(1, (1 << t.exponent_bits) - 1 - t.bias)
        if abs(number(value)) < limit * 0.999 or negative(got) != negative(value):
            return INF
        got = limit if got > 0 else -limit
    if is_zero(value):
        return 0.0 if is_zero(got) and (negative(got) == negative(value) or t.specials == "fnuz") else INF
    return float(abs(number(got) - value) * mp.ldexp(1, -ulp_exponent(t, value)))
