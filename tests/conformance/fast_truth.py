"""True values of functions of one f16 or bf16 operand for all bit patterns at once.

Computed in f64 and rounded; elements whose f64 value lies within 2^-30 ULP of where rounding turns, and all that are not
finite numbers, are left to the slow way with mpmath.
"""
import math

import numpy as np

SURE = 2.0 ** -30  # f64 functions are right to 2^-40 of an ULP of f16

FUNCTIONS = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "cbrt": np.cbrt, "ceil": np.ceil, "copy": lambda x: x, "cosine": np.cos, "cosh": np.cosh,
    "erf": np.vectorize(math.erf, otypes=[float]), "exponential": np.exp, "exponential-minus-one": np.expm1,
    "floor": np.floor, "log": np.log, "log-plus-one": np.log1p, "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "negate": np.negative, "real": lambda x: x, "round-nearest-even": np.rint, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sign": np.sign, "sine": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
}


def applies(case):
    return (case.opcode in FUNCTIONS and case.type.name in ("f16", "bf16") and len(case.inputs) == 1 and
            case.outputs[0].type is case.type)


def values_of(t, bits):
    if t.name == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def bits_of(t, values):
    """Of numbers that t has, or that lie just beyond its largest."""
    if t.name == "f16":
        return values.astype(np.float16).view(np.uint16)
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def rounded(case):
    """(bits, which are inexact, which must be done the slow way)."""
    t = case.type
    with np.errstate(all="ignore"):
        x = values_of(t, case.inputs[0].bits)
        y = FUNCTIONS[case.opcode](x)
        sure = np.isfinite(y) & (y != 0) & np.isfinite(x) & (x != 0)
        y = np.where(sure, y, 1.0)
        exponent = np.maximum(np.frexp(y)[1] - 1, 1 - t.bias) - t.mantissa_bits
        scaled = np.ldexp(y, -exponent)
        nearest = np.rint(scaled)
        sure &= np.abs(np.abs(scaled - np.floor(scaled)) - 0.5) > SURE
        sure &= np.abs(scaled) > 0.5 + SURE  # nothing that rounds to zero
        bits = bits_of(t, np.ldexp(np.where(sure, nearest, 1.0), np.where(sure, exponent, 0)))
    return bits, nearest != scaled, ~sure
