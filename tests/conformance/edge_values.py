"""Inputs for the conformance table: bit patterns by element type, edges first, then seeded random ones."""
import functools
import itertools

import numpy as np

from element_types import BY_NAME, encode, mpf

RANDOM = 1500


@functools.cache
def all_bits(t):
    """Every bit pattern of a type of at most 16 bits."""
    return np.arange(1 << t.bits, dtype=np.uint64).astype(t.storage)


def _float_edges(t):
    if t.specials == "scale":
        return [0, 1, 2, 3, 120, 126, 127, 128, 129, 130, 252, 253, 254, 255]
    sign = 1 << (t.bits - 1)
    exponent_ones = ((1 << t.exponent_bits) - 1) << t.mantissa_bits
    smallest_normal = 1 << t.mantissa_bits
    values = [0, 1, 2, smallest_normal - 1, smallest_normal, smallest_normal + 1, exponent_ones - 1, exponent_ones,
              exponent_ones | 1 << (t.mantissa_bits - 1)]
    exact = [1, 2, 3, 0.5, 1.5, 2.5, 0.25, 7, 10, 100, 0.1, 1e-3, 1e-5, 1e-10, 3.14159, 1.5707963, 0.693147, 88.7,
             -88, 709.7, 745.1, 103.9, 4503599627370497.5, 8388609, 1e15, 1e22, 1e30, 1e300, 1e-300, 0.99999, 1.00001]
    values += [encode(t, mpf(v)) for v in exact]
    values += [encode(t, mpf(1)) + d for d in (-2, -1, 1, 2)]
    return [v & (sign - 1) for v in values] + [v & (sign - 1) | sign for v in values]


def _integer_edges(t):
    mask = (1 << t.bits) - 1
    top = 1 << (t.bits - 1)
    values = [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65, top - 1, top, top + 1, top - 2, top >> 1, t.bits,
              t.bits - 1, t.bits + 1, 10, 100, 0x55555555_55555555, 0xaaaaaaaa_aaaaaaaa]
    return [v & mask for v in values] + [-v & mask for v in values]


@functools.cache
def edges(t):
    """Edge bit patterns of a real or integer type, without repeats."""
    values = list(range(1 << t.bits)) if t.bits <= 4 else _float_edges(t) if t.kind == "float" else _integer_edges(t)
    return np.array(list(dict.fromkeys(values)), dtype=t.storage)


@functools.cache
def few_edges(t):
    """At most 24 edges, for pairs and triples."""
    if t.kind != "float" or t.bits < 16:
        return edges(t)[:40] if t.bits > 4 else edges(t)
    wanted = ["0", "1", "0.5", "3", "2.5", "1e-3", "1e30", "1e300"]
    bits = [encode(t, mpf(v)) if v != "0" else 0 for v in wanted]
    bits += [1, ((1 << t.exponent_bits) - 1) << t.mantissa_bits, 1 << t.mantissa_bits,
             (((1 << t.exponent_bits) - 1) << t.mantissa_bits) - 1]
    nan = (((1 << t.exponent_bits) - 1) << t.mantissa_bits) | 1 << (t.mantissa_bits - 1)
    bits = list(dict.fromkeys(bits))
    return np.array(bits + [b | 1 << (t.bits - 1) for b in bits] + [nan], dtype=t.storage)


@functools.cache
def random_bits(t, count, seed):
    """Half of them any bits, half of them of common size (floats) or small (integers)."""
    rng = np.random.default_rng([seed, t.bits, TYPE_SEEDS[t.name]])
    any_bits = rng.integers(0, 1 << t.bits, count // 2, dtype=np.uint64, endpoint=False) if t.bits < 64 else \
        rng.integers(0, 2**64 - 1, count // 2, dtype=np.uint64, endpoint=True)
    if t.kind == "float" and t.name != "f8e8m0fnu":
        common = [encode(t, mpf(float(v))) for v in rng.normal(0, 3, count - count // 2)]
    else:
        common = [int(v) & ((1 << t.bits) - 1) for v in rng.integers(-40, 40, count - count // 2)]
    return np.concatenate([any_bits.astype(t.storage), np.array(common, dtype=np.uint64).astype(t.storage)])


TYPE_SEEDS = {name: i for i, name in enumerate(BY_NAME)}


@functools.cache
def unary(t, random=RANDOM):
    """Inputs of a unary operation: all values up to 16 bits, else edges and random ones."""
    if t.kind == "complex":
        edge = few_edges(t.part)
        pairs = np.array(list(itertools.product(edge, edge)), dtype=t.storage)
        parts = random_bits(t.part, 2 * random, 5).reshape(2, -1)
        return np.concatenate([pairs, np.stack([np.roll(parts[0], 7), parts[1]], axis=1)])
    if t.bits <= 16:
        return all_bits(t)
    return np.concatenate([edges(t), random_bits(t, random, 1)])


@functools.cache
def binary(t, random=RANDOM):
    """Two arrays: every pair of edges (every pair at all up to 4 bits), then random ones."""
    if t.kind == "complex":
        values = unary(t, random)
        keep = np.concatenate([values[:625:3], values[625:]])
        return keep, np.roll(keep, 17, axis=0)
    edge = all_bits(t) if t.bits <= 4 else few_edges(t)
    left, right = (np.array(v, dtype=t.storage) for v in zip(*itertools.product(edge, edge)))
    if t.bits <= 4:
        return left, right
    return (np.concatenate([left, random_bits(t, random, 2)]),
            np.concatenate([right, np.roll(random_bits(t, random, 3), 11)]))


@functools.cache
def ternary(t, random=400):
    edge = few_edges(t) if t.kind != "complex" else None
    if edge is None:
        values = unary(t, random)
        return values, np.roll(values, 5, axis=0), np.roll(values, 11, axis=0)
    if len(edge) > 14:
        edge = edge[::2]
    columns = [np.array(v, dtype=t.storage) for v in zip(*itertools.product(edge, edge, edge))]
    return tuple(np.concatenate([c, np.roll(random_bits(t, random, 7 + i), i)]) for i, c in enumerate(columns))


@functools.cache
def conversion(t):
    """Inputs of a conversion: those of a unary operation, and numbers next to what narrower floats round to even."""
    extra = []
    precisions = (2, 3, 4, 5, 8, 11, 24)
    if t.name in ("f32", "f64"):
        for p, scale in itertools.product(precisions, (0, 1, 15, -14, -24, 127, -126, -149)):
            for nudge in (0, 1, -1):
                value = mpf(2) ** scale * (1 + mpf(2) ** -p + nudge * mpf(2) ** -t.mantissa_bits)
                extra += [encode(t, value), encode(t, -value)]
        extra += [encode(t, mpf(v)) for v in (65519.99, 65520, 65535, 448, 464, 464.01, 240, 57344, 61440, 7.5, 28, 6, 7)]
    elif t.bits >= 32 and t.is_integral:
        for k, p in itertools.product((10, 14, 23, 25, 30, 40, 52, 54, 61, 62, 63), precisions + (53,)):
            if p <= k < t.bits:
                value = (1 << k) + (1 << (k - p))
                extra += [value + d & ((1 << t.bits) - 1) for d in (-1, 0, 1)]
    values = unary(t, 600)
    return np.concatenate([values, np.array(extra, dtype=np.uint64).astype(t.storage)]) if extra else values
