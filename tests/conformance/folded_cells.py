"""Cells of operations that combine many elements: reductions, contractions, linear algebra, normalization.

Where every step is rounded to the type the distance is counted in ULP of the result's largest element.
"""
import itertools

import numpy as np
from mpmath import mp, mpf

import edge_values
import integer_truth
import real_truth
from cells import Array, Case, decoded, module, one_op
from element_types import BY_NAME, encode, is_nan, number, real
from moved_cells import pool, s32

STEPS = 8.0  # ULP of the largest element that rounding at every step may cost


def sample(t, dims, seed=1):
    """Numbers of common size, none negative where that would cancel; integers of all kinds."""
    count = int(np.prod(dims, dtype=int))
    rng = np.random.default_rng([seed, count])
    if t.is_integral:
        return Array(t, tuple(dims), pool(t, count, seed))
    parts = 2 if t.kind == "complex" else 1
    values = [encode(t.part, mpf(float(v))) for v in rng.uniform(0.25, 1.5, count * parts)]
    bits = np.array(values, dtype=np.uint64).astype(t.storage)
    return Array(t, tuple(dims), bits.reshape(-1, 2) if parts == 2 else bits)


def fold(t, opcode, values, start):
    """Without rounding, one element after the other."""
    for value in values:
        if t.is_integral:
            function = integer_truth.BINARY[opcode]
            start = integer_truth.wrap(t, function(t, start, value))
        elif t.kind == "complex":
            start = _complex(opcode, start, value)
        else:
            start = real_truth.BINARY[opcode](start, value)
    return start


def _complex(opcode, x, y):
    from complex_truth import binary

    return binary(opcode, x, y)


def reducer(t, opcode):
    return (f"f {{\n  a = {t.name}[] parameter(0)\n  b = {t.name}[] parameter(1)\n"
            f"  ROOT r = {t.name}[] {opcode}(a, b)\n}}\n")


def grid(array):
    """Decoded elements as an object array."""
    values = decoded(array)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out.reshape(array.dims)


def neutral(t, opcode):
    bits = {"add": 0, "or": 0, "multiply": encode(t.part, mpf(1)) if not t.is_integral else 1,
            "and": (1 << t.bits) - 1}.get(opcode, 0)
    pair = [bits, 0] if t.kind == "complex" else bits
    return Array(t, (), np.array([pair], dtype=np.uint64).astype(t.storage))


def reducers(t):
    if t.kind == "pred":
        return ["and", "or", "maximum"]
    if t.is_integral:
        return ["add", "maximum", "minimum", "multiply", "and"]
    return ["add", "multiply"] if t.kind == "complex" else ["add", "maximum", "minimum"]


def exact(t, opcode):
    return t.is_integral or opcode in ("maximum", "minimum")


def folding_case(opcode, t, variant, reducer_name, arrays, out, attributes, truth):
    lines = [f"  p{i} = {a.shape} parameter({i})" for i, a in enumerate(arrays)]
    names = ", ".join(f"p{i}" for i in range(len(arrays)))
    text = module("\n".join(lines) + f"\n  ROOT r = {out.shape} {opcode}({names}), {attributes}",
                  reducer(t, reducer_name))
    bound = 0.0 if exact(t, reducer_name) else STEPS
    return Case(opcode, t, variant, text, arrays, [out], truth, bound, norm=bound > 0)


def reduce_cases(t):
    cases = []
    for name in reducers(t):
        data = Array(t, (4, 24), pool(t, 96)) if exact(t, name) else sample(t, (4, 24))
        if name == "multiply" and not t.is_integral:
            data = sample(t, (4, 6))
        for variant, array, dims, axes in (("rows", data, (4,), "{1}"), ("all", data, (), "{0,1}"),
                                           ("empty", Array(t, (3, 0), data.bits[:0]), (3,), "{1}")):
            start = neutral(t, name)
            def truth(array=array, start=start, dims=dims, name=name):
                values = grid(array)
                rows = values if dims else [values.reshape(-1)]
                return [[fold(t, name, row, decoded(start)[0]) for row in rows]]
            cases.append(folding_case("reduce", t, f"{name}-{variant}", name, [array, start], Array(t, dims),
                                      f"dimensions={axes}, to_apply=f", truth))
    return cases


def reduce_window_cases(t):
    cases = []
    for name in reducers(t):
        data = Array(t, (11,), pool(t, 11)) if exact(t, name) else sample(t, (11,))
        start = neutral(t, name)
        def truth(data=data, start=start, name=name):
            values, first = list(grid(data)), decoded(start)[0]
            # size 3, stride 2, one place of padding in front and two behind
            return [[fold(t, name, [values[p] for p in range(2 * i - 1, 2 * i + 2) if 0 <= p < 11], first)
                     for i in range(6)]]
        cases.append(folding_case("reduce-window", t, name, name, [data, start], Array(t, (6,)),
                                  "window={size=3 stride=2 pad=1_2}, to_apply=f", truth))
    return cases


def scan_cases(t):
    cases = []
    for name in reducers(t)[:2]:
        data = Array(t, (7, 2), pool(t, 14)) if exact(t, name) else sample(t, (7, 2))
        start = Array(t, (2,), np.repeat(neutral(t, name).bits, 2, axis=0))
        body = (f"f {{\n  a = {t.name}[2] parameter(0)\n  c = {t.name}[2] parameter(1)\n"
                f"  s = {t.name}[2] {name}(a, c)\n  ROOT r = ({t.name}[2], {t.name}[2]) tuple(s, s)\n}}\n")
        text = module(f"  p0 = {data.shape} parameter(0)\n  p1 = {start.shape} parameter(1)\n"
                      f"  ROOT r = ({data.shape}, {start.shape}) scan(p0, p1), dimensions={{0}}, num_carries=1, "
                      "to_apply=f", body)
        def truth(data=data, start=start, name=name):
            values, first = grid(data), decoded(start)
            prefixes = [[fold(t, name, values[:i + 1, k], first[k]) for k in range(2)] for i in range(7)]
            return [[v for row in prefixes for v in row], prefixes[-1]]
        bound = 0.0 if exact(t, name) else STEPS
        cases.append(Case("scan", t, name, text, [data, start], [Array(t, (7, 2)), Array(t, (2,))], truth, bound,
                          norm=bound > 0))
    return cases


def select_and_scatter_cases(t):
    """Of each window of two the larger element gets the source's value; the first of equals."""
    if t.kind == "complex" or t.kind == "pred":
        return []
    data, source, start = sample(t, (6,)), sample(t, (3,), 2), neutral(t, "add")
    text = module(f"  p0 = {data.shape} parameter(0)\n  p1 = {source.shape} parameter(1)\n  p2 = {start.shape} parameter(2)\n"
                  f"  ROOT r = {data.shape} select-and-scatter(p0, p1, p2), window={{size=2 stride=2}}, select=g, scatter=f",
                  reducer(t, "add") + f"g {{\n  a = {t.name}[] parameter(0)\n  b = {t.name}[] parameter(1)\n"
                  "  ROOT r = pred[] compare(a, b), direction=GE\n}\n")
    def truth():
        values, updates, out = decoded(data), decoded(source), [decoded(start)[0]] * 6
        for w in range(3):
            at = 2 * w if values[2 * w] >= values[2 * w + 1] else 2 * w + 1
            out[at] = fold(t, "add", [updates[w]], out[at])
        return [out]
    return [Case("select-and-scatter", t, "plain", text, [data, source, start], [Array(t, (6,))], truth, 0.0)]


def total(t, pairs):
    """The sum of products, exactly."""
    if t.is_integral:
        value = sum(x * y for x, y in pairs)
        return int(any(x and y for x, y in pairs)) if t.kind == "pred" else integer_truth.wrap(t, value)
    if t.kind == "complex":
        re, im = mpf(0), mpf(0)
        for (a, b), (c, d) in pairs:
            re += number(a) * number(c) - number(b) * number(d)
            im += number(a) * number(d) + number(b) * number(c)
        return real(re), real(im)
    return real(mp.fsum(number(x) * number(y) for x, y in pairs)) if not any(is_nan(v) for p in pairs for v in p) else \
        float("nan")


def contraction_bound(t):
    return 0.0 if t.is_integral else 0.501 if t.kind == "float" and t.name != "f64" else STEPS


def contraction(opcode, t, variant, left, right, dims, attributes, truth, others=()):
    arrays, out = [left, right, *others], Array(t, dims)
    bound = contraction_bound(t)
    return Case(opcode, t, variant, one_op(opcode, arrays, out, attributes), arrays, [out], truth, bound,
                norm=bound == STEPS)


def dot_cases(t):
    left, right = sample(t, (3, 9)), sample(t, (9, 4), 2)
    a, b = sample(t, (2, 3, 5)), sample(t, (2, 5), 2)
    def plain():
        x, y = grid(left), grid(right)
        return [[total(t, list(zip(x[i], y[:, j]))) for i in range(3) for j in range(4)]]
    def batched():
        x, y = grid(a), grid(b)
        return [[total(t, list(zip(x[n, i], y[n]))) for n in range(2) for i in range(3)]]
    return [contraction("dot", t, "matrix", left, right, (3, 4), "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                        plain),
            contraction("dot", t, "batch", a, b, (2, 3), "lhs_batch_dims={0}, rhs_batch_dims={0}, "
                        "lhs_contracting_dims={2}, rhs_contracting_dims={1}", batched),
            contraction("dot", t, "empty", Array(t, (3, 0), left.bits[:0]), Array(t, (0, 4), right.bits[:0]), (3, 4),
                        "lhs_contracting_dims={1}, rhs_contracting_dims={0}", lambda: [[total(t, [])] * 12])]


def ragged_dot_cases(t):
    left, right, sizes = sample(t, (5, 6)), sample(t, (2, 6, 3), 2), s32([2, 3], (2,))
    def truth():
        x, y = grid(left), grid(right)
        return [[total(t, list(zip(x[i], y[0 if i < 2 else 1, :, j]))) for i in range(5) for j in range(3)]]
    return [contraction("ragged-dot", t, "rows", left, right, (5, 3), "lhs_contracting_dims={1}, "
                        "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}", truth, [sizes])]


def convolution_cases(t):
    left, right = sample(t, (2, 7, 2)), sample(t, (3, 2, 4), 2)
    def truth():
        x, y = grid(left), grid(right)
        out = []
        for n, i, f in itertools.product(range(2), range(4), range(4)):
            pairs = [(x[n, 2 * i + k - 1, c], y[k, c, f]) for k in range(3) for c in range(2)
                     if 0 <= 2 * i + k - 1 < 7]
            out.append(total(t, pairs))
        return [out]
    return [contraction("convolution", t, "line", left, right, (2, 4, 4), "window={size=3 stride=2 pad=1_1}, "
                        "dim_labels=b0f_0io->b0f", truth)]


def fft_cases(t):
    cases = []
    if t.name not in ("f32", "f64", "c64", "c128"):
        operand = sample(t, (8,))
        return [Case("fft", t, "none", one_op("fft", [operand], operand, "fft_type=FFT, fft_length={8}"), [operand],
                     [operand], lambda: [[None] * 8], 0.0)]
    wide = BY_NAME["c64" if t.name in ("f32", "c64") else "c128"]
    for n in (8, 7, 1):
        if t.kind == "float":
            operand, out = sample(t, (2, n)), Array(wide, (2, n // 2 + 1))
            cases.append(_fft_case(t, "RFFT", n, operand, out, -1, n // 2 + 1))
            continue
        operand = sample(t, (2, n))
        cases.append(_fft_case(t, "FFT", n, operand, Array(wide, (2, n)), -1, n))
        cases.append(_fft_case(t, "IFFT", n, operand, Array(wide, (2, n)), 1, n))
    return cases


def _fft_case(t, kind, n, operand, out, sign, count):
    def truth():
        found = []
        with mp.workprec(200):
            for row in grid(operand):
                row = [mp.mpc(*(number(v) for v in x)) if isinstance(x, tuple) else mp.mpc(number(x)) for x in row]
                for k in range(count):
                    value = mp.fsum(x * mp.expjpi(mpf(2 * sign * k * j) / n) for j, x in enumerate(row))
                    value = value / n if kind == "IFFT" else value
                    found.append((real(value.real), real(value.imag)))
        return [found]
    return Case("fft", t, f"{kind}-{n}", one_op("fft", [operand], out, f"fft_type={kind}, fft_length={{{n}}}"), [operand],
                [out], truth, 4.0, norm=True)


def _matrix(array):
    values = grid(array)
    rows, columns = array.dims[-2:]
    return mp.matrix([[mp.mpc(*(number(p) for p in values[i, j])) if array.type.kind == "complex" else
                       number(values[i, j]) for j in range(columns)] for i in range(rows)])


def _elements(t, matrix, where=lambda i, j: True):
    def one(value):
        return (real(mp.mpc(value).real), real(mp.mpc(value).imag)) if t.kind == "complex" else real(mpf(value))
    zero = (0.0, 0.0) if t.kind == "complex" else 0.0
    return [one(matrix[i, j]) if where(i, j) else zero for i in range(matrix.rows) for j in range(matrix.cols)]


def _triangle(t, n, diagonal):
    """A lower triangular matrix with a heavy diagonal."""
    low = sample(t, (n, n))
    bits = low.bits.reshape(n, n, -1).copy()
    one = encode(t.part, mpf(diagonal)) if not t.is_integral else 1
    for i, j in itertools.product(range(n), range(n)):
        if i < j:
            bits[i, j] = 0
        if i == j:
            bits[i, j] = [one, 0] if t.kind == "complex" else one
    return Array(t, (n, n), bits.reshape(-1, 2) if t.kind == "complex" else bits.reshape(-1))


def cholesky_cases(t):
    lower = _triangle(t, 3, 2)
    if t.is_integral:
        product = lower
    else:
        m = _matrix(lower)
        m = m * m.H
        bits = [encode(t.part, p) for v in _elements(t, m) for p in (v if isinstance(v, tuple) else (v,))]
        product = Array(t, (3, 3), np.array(bits, dtype=np.uint64).astype(t.storage).reshape(
            (-1, 2) if t.kind == "complex" else -1))
    def truth():
        with mp.workprec(200):
            try:
                return [_elements(t, mp.cholesky(_matrix(product)))]
            except ValueError:
                return [[None] * 9]
    # What lies above the diagonal is left open; the lower triangle alone is the result.
    text = module(f"  p0 = {product.shape} parameter(0)\n  c = {product.shape} cholesky(p0), lower=true\n"
                  "  i = s32[3,3] iota(), iota_dimension=0\n  j = s32[3,3] iota(), iota_dimension=1\n"
                  f"  k = pred[3,3] compare(i, j), direction=GE\n  z = {t.name}[] constant({'(0, 0)' if t.kind == 'complex' else 0})\n"
                  f"  zz = {product.shape} broadcast(z), dimensions={{}}\n  ROOT r = {product.shape} select(k, c, zz)")
    return [Case("cholesky", t, "lower", text, [product], [Array(t, (3, 3))], truth, STEPS, norm=True)]


def triangular_solve_cases(t):
    a, b = _triangle(t, 3, 2), sample(t, (3, 2), 3)
    attributes = "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE"
    def truth():
        with mp.workprec(200):
            return [_elements(t, mp.lu_solve(_matrix(a), _matrix(b)) if False else _solve(_matrix(a), _matrix(b)))]
    return [Case("triangular-solve", t, "lower", one_op("triangular-solve", [a, b], Array(t, (3, 2)), attributes), [a, b],
                 [Array(t, (3, 2))], truth, STEPS, norm=True)]


def _solve(a, b):
    x = mp.matrix(b.rows, b.cols)
    for j in range(b.cols):
        for i in range(b.rows):
            x[i, j] = (b[i, j] - mp.fsum(a[i, k] * x[k, j] for k in range(i))) / a[i, i]
    return x


def _columns(array):
    """Elements of [n, features] by feature."""
    values = grid(array)
    return [[number(v) for v in values[:, f]] for f in range(array.dims[1])]


def _float_only(t):
    return t.kind != "float" or t.specials == "scale"


def batch_norm_inference_cases(t):
    x = sample(t, (4, 2))
    rest = [sample(t, (2,), seed) for seed in range(2, 6)]
    def truth():
        scale, offset, mean, variance = ([number(v) for v in decoded(a)] for a in rest)
        epsilon = mpf(float(np.float32(0.125)))
        rows = [[(v - mean[f]) * scale[f] / mp.sqrt(variance[f] + epsilon) + offset[f] for v in column]
                for f, column in enumerate(_columns(x))]
        return [[real(rows[f][n]) for n in range(4) for f in range(2)]]
    return [Case("batch-norm-inference", t, "plain", one_op("batch-norm-inference", [x, *rest], x,
                 "epsilon=0.125, feature_index=1"), [x, *rest], [Array(t, (4, 2))], truth if not t.is_integral else
                 (lambda: [[None] * 8]), STEPS, norm=True)]


def batch_norm_training_cases(t):
    x, scale, offset = sample(t, (4, 2)), sample(t, (2,), 2), sample(t, (2,), 3)
    text = module(f"  p0 = {x.shape} parameter(0)\n  p1 = {scale.shape} parameter(1)\n  p2 = {scale.shape} parameter(2)\n"
                  f"  ROOT r = ({x.shape}, {scale.shape}, {scale.shape}) batch-norm-training(p0, p1, p2), epsilon=0.125, "
                  "feature_index=1")
    def truth():
        s, o = ([number(v) for v in decoded(a)] for a in (scale, offset))
        means, variances, rows = [], [], []
        for f, column in enumerate(_columns(x)):
            means.append(mp.fsum(column) / 4)
            variances.append(mp.fsum((v - means[f]) ** 2 for v in column) / 4)
            rows.append([(v - means[f]) * s[f] / mp.sqrt(variances[f] + mpf(1) / 8) + o[f] for v in column])
        return [[real(rows[f][n]) for n in range(4) for f in range(2)], [real(v) for v in means],
                [real(v) for v in variances]]
    out = [Array(t, (4, 2)), Array(t, (2,)), Array(t, (2,))]
    return [Case("batch-norm-training", t, "plain", text, [x, scale, offset], out, truth, STEPS, norm=True)]


def batch_norm_grad_cases(t):
    x, gradient = sample(t, (4, 2)), sample(t, (4, 2), 7)
    scale, mean, variance = (sample(t, (2,), seed) for seed in (2, 3, 4))
    arrays = [x, scale, mean, variance, gradient]
    lines = "\n".join(f"  p{i} = {a.shape} parameter({i})" for i, a in enumerate(arrays))
    text = module(f"{lines}\n  ROOT r = ({x.shape}, {scale.shape}, {scale.shape}) batch-norm-grad(p0, p1, p2, p3, p4), "
                  "epsilon=0.125, feature_index=1")
    def truth():
        s, m, v = ([number(e) for e in decoded(a)] for a in (scale, mean, variance))
        rows, scales, offsets = [], [], []
        for f, (column, slope) in enumerate(zip(_columns(x), _columns(gradient))):
            root = mp.sqrt(v[f] + mpf(1) / 8)
            offsets.append(mp.fsum(slope))
            products = mp.fsum(g * (e - m[f]) for g, e in zip(slope, column))
            scales.append(products / root)
            rows.append([s[f] / root * (g - offsets[f] / 4 - (e - m[f]) * products / (4 * root ** 2))
                         for g, e in zip(slope, column)])
        return [[real(rows[f][n]) for n in range(4) for f in range(2)], [real(e) for e in scales],
                [real(e) for e in offsets]]
    out = [Array(t, (4, 2)), Array(t, (2,)), Array(t, (2,))]
    return [Case("batch-norm-grad", t, "plain", text, arrays, out, truth, 16.0, norm=True)]


CELLS = {
    "reduce": reduce_cases,
    "reduce-window": reduce_window_cases,
    "scan": scan_cases,
    "select-and-scatter": select_and_scatter_cases,
    "dot": dot_cases,
    "ragged-dot": ragged_dot_cases,
    "convolution": convolution_cases,
    "fft": fft_cases,
    "cholesky": cholesky_cases,
    "triangular-solve": triangular_solve_cases,
    "batch-norm-inference": batch_norm_inference_cases,
    "batch-norm-training": batch_norm_training_cases,
    "batch-norm-grad": batch_norm_grad_cases,
}
