"""Cells of operations on random bits: the published generators, written again from their papers."""
import numpy as np

import edge_values
from cells import Array, Bits, Case, decoded, module, one_op
from element_types import BY_NAME, TYPES, is_inf, is_nan, number
from mpmath import mp

U64, U32 = BY_NAME["u64"], BY_NAME["u32"]
MASK = 0xffffffff


def threefry(counter, key):
    """ThreeFry 2x32, 20 rounds (Salmon et al. 2011)."""
    keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bda]
    x, y = (counter[0] + keys[0]) & MASK, (counter[1] + keys[1]) & MASK
    for n in range(20):
        r = (13, 15, 26, 6, 17, 29, 16, 24)[n % 8]
        x = (x + y) & MASK
        y = ((y << r | y >> (32 - r)) & MASK) ^ x
        if n % 4 == 3:
            k = n // 4 + 1
            x, y = (x + keys[k % 3]) & MASK, (y + keys[(k + 1) % 3] + k) & MASK
    return x, y


def philox(counter, key):
    """Philox 4x32, 10 rounds (same paper)."""
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        a, b = 0xd2511f53 * c[0], 0xcd9e8d57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & MASK, (a >> 32) ^ c[3] ^ k1, a & MASK]
        k0, k1 = (k0 + 0x9e3779b9) & MASK, (k1 + 0xbb67ae85) & MASK
    return c


def halves(x):
    return x & MASK, x >> 32 & MASK


def _philox_words(state, count):
    """XLA's use: the key is the state's first word, the counter 128 bits of the others (of the key again above)."""
    low, high = state[1], state[2] if len(state) > 2 else state[0]
    counter, words = high << 64 | low, []
    blocks = -(-count // 4)
    for b in range(blocks):
        at = (counter + b) & ((1 << 128) - 1)
        words += philox([*halves(at & (2**64 - 1)), *halves(at >> 64)], halves(state[0]))
    after = (counter + blocks) & ((1 << 128) - 1)
    return words, [state[0], after & (2**64 - 1)] + ([after >> 64] if len(state) > 2 else [])


def _philox_case(t, count, state):
    words, after = _philox_words(state, count * (2 if t.bits == 64 else 1))
    if t.bits == 64:
        elements = [words[2 * i] | words[2 * i + 1] << 32 for i in range(count)]
    else:
        elements = [w & ((1 << t.bits) - 1) for w in words[:count]]
    return elements, after


def _threefry_case(t, dims, state):
    """64-bit elements one counter each; others in pairs along the first even dimension, else the largest."""
    key, counter, count = halves(state[0]), state[1], int(np.prod(dims, dtype=int))
    if t.bits == 64:
        pairs = [threefry(halves((counter + i) & (2**64 - 1)), key) for i in range(count)]
        return [a | b << 32 for a, b in pairs], [state[0], (counter + count) & (2**64 - 1)]
    paired = next((d for d, n in enumerate(dims) if n % 2 == 0), int(np.argmax(dims)))
    half = [(n + 1) // 2 if d == paired else n for d, n in enumerate(dims)]
    elements = []
    for index in np.ndindex(*dims):
        at = list(index)
        at[paired] //= 2
        n = int(np.ravel_multi_index(at, half))
        bits = threefry(halves((counter + n) & (2**64 - 1)), key)
        elements.append(bits[index[paired] % 2] & ((1 << t.bits) - 1))
    return elements, [state[0], (counter + int(np.prod(half, dtype=int))) & (2**64 - 1)]


def rng_bit_generator_cases(t):
    cases = []
    for algorithm in ("rng_default", "rng_philox", "rng_three_fry"):
        for dims, words in (((3, 3), 2), ((2, 5), 3), ((1,), 2), ((9,), 3)):
            if algorithm == "rng_three_fry" and words == 3:
                words = 2
            state = [0x0123456789abcdef, 2**64 - 2, 2**64 - 1][:words]
            operand, out = Array(U64, (words,), np.array(state, dtype=np.uint64)), Array(t, dims)
            text = module(f"  p0 = {operand.shape} parameter(0)\n  ROOT r = ({operand.shape}, {out.shape}) "
                          f"rng-bit-generator(p0), algorithm={algorithm}")
            def truth(dims=dims, state=state, algorithm=algorithm):
                count = int(np.prod(dims, dtype=int))
                elements, after = _threefry_case(t, dims, state) if algorithm == "rng_three_fry" else \
                    _philox_case(t, count, state)
                return [Bits(np.array(after, dtype=np.uint64)), Bits(np.array(elements, dtype=np.uint64).astype(t.storage))]
            cases.append(Case("rng-bit-generator", t, f"{algorithm[4:]}-{'x'.join(map(str, dims))}", text, [operand],
                              [Array(U64, (words,)), out], truth))
    return cases


def stochastic_convert_cases(t):
    """|x| is rounded up where the random number, as a fraction of its range, lies below the fraction of |x|."""
    if t.kind != "float" or f"u{t.bits}" not in BY_NAME:
        return []
    cases = []
    for target in (v for v in TYPES if v.kind == "signed"):
        values = edge_values.edges(t)
        random = np.resize(edge_values.edges(BY_NAME[f"u{t.bits}"]), len(values))
        operands = [Array(t, (len(values),), values), Array(BY_NAME[f"u{t.bits}"], (len(values),), random)]
        def truth(target=target, operands=operands):
            return [[_stochastic(t, target, x, r) for x, r in zip(*(decoded(o) for o in operands))]]
        out = Array(target, (len(values),))
        cases.append(Case("stochastic-convert", t, target.name, one_op("stochastic-convert", operands, out), operands,
                          [out], truth))
    return cases


def _stochastic(t, target, x, r):
    low, high = -(1 << (target.bits - 1)), (1 << (target.bits - 1)) - 1
    if is_nan(x):
        return 0
    if is_inf(x):
        return high if x > 0 else low
    size = abs(number(x))
    whole = int(mp.floor(size))
    up = r < int(mp.floor(mp.ldexp(size - whole, t.bits)))
    value = whole + up
    return min(max(-value if x < 0 else value, low), high)


def rng_cases(t):
    """What comes out is open: only that it runs."""
    operands = [Array(t, (), edge_values.unary(t)[:1] * 0), Array(t, (), edge_values.unary(t)[:1] * 0)]
    out = Array(t, (5,))
    return [Case("rng", t, kind, one_op("rng", operands, out, f"distribution={kind}"), operands, [out],
                 lambda: [[None] * 5]) for kind in ("rng_uniform", "rng_normal")]


def rng_state_cases(t):
    if t.name != "u64":
        return []
    out = Array(t, (2,))
    return [Case("rng-get-and-update-state", t, "plain", one_op("rng-get-and-update-state", [], out, "delta=4"), [], [out],
                 lambda: [[None] * 2])]


def device_cases(opcode):
    def cases(t):
        if t.name != "u32":
            return []
        out = Array(t, ())
        return [Case(opcode, t, "plain", one_op(opcode, [], out), [], [out], lambda: [Bits(np.array([0]))])]
    return cases


CELLS = {
    "rng-bit-generator": rng_bit_generator_cases,
    "rng": rng_cases,
    "rng-get-and-update-state": rng_state_cases,
    "stochastic-convert": stochastic_convert_cases,
    "replica-id": device_cases("replica-id"),
    "partition-id": device_cases("partition-id"),
}
