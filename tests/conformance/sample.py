"""The sample of the table that the tests run: sample.tsv, a row per cell with a few elements and their true bits.

Columns: name, ULP allowed, module, inputs, expected results; arrays are the hexadecimal bytes of their elements.
"""
import numpy as np

import judge
from cells import Array, Bits, one_op
from element_types import BY_NAME, decode, is_nan_bits

TYPES = ["pred", "s4", "s32", "u8", "u64", "f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e5m2fnuz", "f4e2m1fn", "c64", "c128"]
MOVED_TYPES = ["u2", "f32", "c64"]
CONVERT_TARGETS = ["pred", "s4", "s64", "u16", "bf16", "f32", "f64", "f8e4m3fn", "f8e8m0fnu", "c64"]
ELEMENTS = 10
LONGEST = 1500  # characters of a row; longer ones are left out


def wanted(case):
    if case.opcode == "convert":
        return case.type.name in TYPES and case.variant in CONVERT_TARGETS
    if case.function is None:
        return case.type.name in MOVED_TYPES
    return case.type.name in TYPES and not case.variant.endswith(("-scalar", "-empty"))


def _bytes(t, bits):
    """As a literal has them: signed integers narrower than a byte are sign-extended."""
    if t.kind == "signed" and t.bits < 8:
        bits = np.array([decode(t, b) for b in bits.reshape(-1)], dtype=np.int64).astype("i1")
    return np.ascontiguousarray(bits).tobytes().hex() or "-"


def _allowed(case):
    if case.norm or case.bound > 8:
        return None
    return int(case.bound) if case.type.name in ("f64", "c64", "c128") else 0


def row(case, truths):
    """A line, or None where nothing of the case can be checked by bits."""
    allowed = _allowed(case)
    if allowed is None:
        return None
    if case.function is None:
        return _whole(case, truths, allowed)
    bits, _, is_open, _ = truths[0]
    out = case.outputs[0].type
    parts = 2 if out.kind == "complex" else 1
    hide = is_open | _nan(out.part, bits)
    usable = np.flatnonzero(~hide.reshape(-1, parts).any(axis=1))
    if not len(usable):
        return None
    rng = np.random.default_rng(len(case.name))
    chosen = np.sort(rng.choice(usable, min(ELEMENTS, len(usable)), replace=False))
    operands = [Array(a.type, (len(chosen),), a.bits[chosen]) for a in case.inputs]
    result = Array(out, (len(chosen),))
    text = one_op(case.opcode, operands, result, case.attributes)
    return _line(case.name, allowed, text, operands, [(out, bits.reshape(-1, parts)[chosen])])


def _nan(t, bits):
    if t.kind != "float" or t.name in ("f32", "f64"):
        return np.zeros(len(bits), bool)
    return np.array([is_nan_bits(t, int(b)) for b in bits], bool)


def _whole(case, truths, allowed):
    if any(t[2].any() or t[1].any() for t in truths):
        return None
    expected = [(a.type, t[0]) for a, t in zip(case.outputs, truths)]
    return _line(case.name, allowed, case.text, case.inputs, expected)


def _line(name, allowed, text, inputs, expected):
    one_line = " ".join(text.split())
    given = " ".join(_bytes(a.type, a.bits) for a in inputs) or "-"
    return "\t".join([name, str(allowed), one_line, given, " ".join(_bytes(t, b) for t, b in expected)])
