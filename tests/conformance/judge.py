"""Compares results with the truth: how far, in ULP, and which elements are wrong."""
import hashlib
import os
import pickle
from dataclasses import dataclass, field

import numpy as np
from mpmath import mp

import fast_truth
from cells import Bits
from element_types import INF, decode, encode, is_inf, is_nan, is_nan_bits, is_zero, number, ulp_exponent, ulps

TINIEST = mp.ldexp(1, -1075)


@dataclass
class Verdict:
    worst: float = 0.0  # ULP; 0 where everything is exact, 0.5 where it is rounded to nearest
    checked: int = 0
    wrong: list = field(default_factory=list)  # (output, element, ulps), the first few
    wrong_count: int = 0
    within: float = 0.0  # the worst of those that are not wrong


def _parts(t, values):
    return [v for pair in values for v in (pair if pair is not None else (None, None))] if t.kind == "complex" else values


def expected(case):
    """Per output: bits of the true values rounded to nearest, which of them are exact, which are open, the values."""
    if fast_truth.applies(case):
        return [_fast(case)]
    found = []
    for array, truth in zip(case.outputs, case.truth()):
        part = array.type.part
        if isinstance(truth, Bits):
            bits = np.asarray(truth.bits, dtype=part.storage).reshape(-1)
            found.append((bits, np.zeros(len(bits), bool), np.zeros(len(bits), bool), None))
            continue
        values = _parts(array.type, list(truth))
        is_open = np.array([v is None or _says_nothing(part, v) for v in values], bool)
        bits = np.array([0 if v is None else encode(part, v) for v in values], dtype=np.uint64).astype(part.storage)
        rounded = np.zeros(len(bits), bool)
        if part.kind == "float":
            rounded = np.array([v is not None and not _same(decode(part, b), v) for b, v in zip(bits, values)], bool)
        found.append((bits, rounded, is_open, values))
    return found


def _says_nothing(t, value):
    """A NaN in a format without one becomes a zero of either sign; e8m0 has no zero for what f64 cannot hold."""
    if t.specials == "finite":
        return is_nan(value)
    return t.specials == "scale" and not isinstance(value, float) and 0 < value < TINIEST


def _fast(case):
    bits, inexact, slow = fast_truth.rounded(case)
    for i in np.flatnonzero(slow):
        value = case.function(decode(case.type, case.inputs[0].bits[i]))
        bits[i] = encode(case.type, value)
        inexact[i] = not _same(decode(case.type, bits[i]), value)
    return bits, inexact, np.zeros(len(bits), bool), None


def true_value(case, truths, output, element):
    """The true value of one element, None for data that only moves."""
    values = truths[output][3]
    if values is not None:
        return values[element]
    if fast_truth.applies(case):
        return case.function(decode(case.type, case.inputs[0].bits[element]))
    return None


def _same(x, y):
    return (is_nan(x) and is_nan(y)) or x == y


def cached_expected(case, folder):
    """expected(), kept by module and inputs; the values themselves as text of their bits are not needed twice."""
    digest = hashlib.sha256((case.text + repr(case.bound)).encode())
    for a in case.inputs:
        digest.update(a.bits.tobytes())
    path = folder / f"{case.name}.truth.{digest.hexdigest()[:12]}"
    if path.exists():
        return pickle.loads(path.read_bytes())
    found = expected(case)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(pickle.dumps(found))
    part.rename(path)
    return found


def _nan_mask(t, bits):
    if t.kind != "float":
        return np.zeros(len(bits), bool)
    if t.specials == "ieee":
        top = ((1 << t.exponent_bits) - 1) << t.mantissa_bits
        return (bits & np.array((1 << (t.bits - 1)) - 1, bits.dtype)) > top
    return np.array([is_nan_bits(t, int(b)) for b in bits], bool)


def judge(case, truths, results, bound=None):
    """`bound` in ULP, the case's own where it is not given."""
    bound, verdict = case.bound if bound is None else bound, Verdict()
    for k, (array, (bits, rounded, is_open, values)) in enumerate(zip(case.outputs, truths)):
        part = array.type.part
        got = results[k].reshape(-1)
        if part.kind == "float" and part.bits == 6:
            got = got & 0x3f
        if len(got) != len(bits):
            verdict.wrong_count += 1
            verdict.wrong.append((k, -1, INF))
            verdict.worst = INF
            continue
        verdict.checked += int((~is_open).sum())
        same = (got == bits) | (_nan_mask(part, got) & _nan_mask(part, bits)) | is_open
        if rounded.any():
            verdict.worst = verdict.within = max(verdict.worst, 0.5)
        largest = None
        if case.norm and values is not None:
            finite = [abs(number(v)) for v in values if v is not None and not is_nan(v) and not is_inf(v)]
            largest = max(finite) if finite else None
        for i in np.flatnonzero(~same):
            distance = _distance(part, int(got[i]), true_value(case, truths, k, i), largest)
            verdict.worst = max(verdict.worst, distance)
            if distance <= bound:
                verdict.within = max(verdict.within, distance)
            else:
                verdict.wrong_count += 1
                if len(verdict.wrong) < 4000:
                    verdict.wrong.append((k, int(i), distance))
    return verdict


def _distance(t, bits, value, largest):
    if t.kind != "float" or value is None:
        return INF
    if largest:
        got = decode(t, bits)
        if is_nan(got) or is_nan(value) or is_inf(got) or is_inf(value):
            return ulps(t, bits, value)
        return float(abs(number(got) - number(value)) / 2.0 ** ulp_exponent(t, largest))
    distance = ulps(t, bits, value)
    # Where the format saturates instead of overflowing, the encoding says what is right.
    return distance if t.specials == "ieee" else max(distance, 0.501 if distance <= 0.5 else distance)
