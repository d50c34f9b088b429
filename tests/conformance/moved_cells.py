"""Cells of operations that move data or pass it on: their truth is where each element comes from."""
import numpy as np

import edge_values
from cells import Array, Bits, Case, decoded, module, one_op
from element_types import BY_NAME, TYPES, decode, encode, is_inf, is_nan, mpf, real

S32, PRED, U32 = BY_NAME["s32"], BY_NAME["pred"], BY_NAME["u32"]


def pool(t, count, seed=0):
    """`count` elements of a type: its edges, round and round."""
    values = edge_values.unary(t, 40) if t.kind == "complex" else edge_values.edges(t)
    rng = np.random.default_rng(seed + count)
    return values[rng.permutation(np.resize(np.arange(len(values)), count))]


def s32(values, dims=()):
    return Array(S32, dims, np.array(values, dtype=np.int64).astype(np.int32).view("<u4").reshape(-1))


def moved(opcode, t, variant, dims, move, out_dims, attributes="", others=(), more=(), text=None):
    """One operation on operands of `dims` of type t (then `others`); `move` maps arrays of element numbers."""
    dims = [dims] if not dims or isinstance(dims[0], int) else list(dims)
    sizes = [int(np.prod(d, dtype=int)) for d in dims]
    values = pool(t, sum(sizes), len(opcode))
    ids, operands, at = [], [], 0
    for d, n in zip(dims, sizes):
        ids.append(np.arange(at, at + n).reshape(d))
        operands.append(Array(t, tuple(d), values[at:at + n]))
        at += n
    out = Array(t, tuple(out_dims))
    inputs = operands + list(others)
    truth = lambda: [Bits(values[np.asarray(move(*ids), dtype=int).reshape(-1)])]
    return Case(opcode, t, variant, text or one_op(opcode, inputs, out, attributes), inputs, [out], truth, *more)


def broadcast_cases(t):
    return [moved("broadcast", t, "two", (2, 3), lambda a: np.broadcast_to(a[:, None, :], (2, 4, 3)), (2, 4, 3),
                  "dimensions={0,2}"),
            moved("broadcast", t, "scalar", (), lambda a: np.broadcast_to(a, (3,)), (3,), "dimensions={}"),
            moved("broadcast", t, "empty", (0,), lambda a: np.zeros((2, 0)), (2, 0), "dimensions={1}")]


def simple(opcode, *rows):
    """rows: (variant, dims, move, result dims, attributes)"""
    return lambda t: [moved(opcode, t, *row) for row in rows]


def _pad(a, value):
    wide = np.full((3 + 2 * 2, 4), value)
    wide[::3] = a
    out = np.full((10, 3), value)
    out[1:8] = wide[:, 1:]
    return out


def dynamic_slice_cases(t):
    cases = []
    for variant, starts in (("below", (-3, 1)), ("above", (99, 2147483647)), ("inside", (2, 1))):
        at = [min(max(s, 0), limit) for s, limit in zip(starts, (3, 1))]
        cases.append(moved("dynamic-slice", t, variant, (5, 4), lambda a, at=at: a[at[0]:at[0] + 2, at[1]:at[1] + 3],
                           (2, 3), "dynamic_slice_sizes={2,3}", [s32([s]) for s in starts]))
    return cases


def _updated(at):
    def move(a, b):
        out = a.copy()
        out[at[0]:at[0] + 2, at[1]:at[1] + 3] = b
        return out

    return move


def dynamic_update_slice_cases(t):
    cases = []
    for variant, starts in (("below", (-3, 1)), ("above", (99, 2147483647)), ("inside", (2, 1))):
        at = [min(max(s, 0), limit) for s, limit in zip(starts, (3, 1))]
        cases.append(moved("dynamic-update-slice", t, variant, [(5, 4), (2, 3)], _updated(at), (5, 4), "",
                           [s32([s]) for s in starts]))
    return cases


def gather_cases(t):
    rows = [-3, 0, 4, 99, 2]
    at = [min(max(r, 0), 4) for r in rows]
    attributes = "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes="
    return [moved("gather", t, "edges", (5, 3), lambda a: a[at], (5, 3), attributes + "{1,3}", [s32(rows, (5, 1))]),
            moved("gather", t, "empty", (5, 3), lambda a: a[:0], (0, 3), attributes + "{1,3}", [s32([], (0, 1))])]


def scatter_cases(t):
    """Updates out of bounds are dropped."""
    body = f"f {{\n  a = {t.name}[] parameter(0)\n  ROOT b = {t.name}[] parameter(1)\n}}\n"
    out, cases = Array(t, (5, 3)), []
    for variant, rows in (("edges", [-1, 2, 7, 0]), ("empty", [])):
        def move(a, b, rows=rows):
            result = a.copy()
            for row, update in zip(rows, b):
                if 0 <= row < 5:
                    result[row] = update
            return result

        dims = [(5, 3), (len(rows), 3)]
        indices = s32(rows, (len(rows), 1))
        entry = (f"  p0 = {out.shape} parameter(0)\n  p1 = {t.name}[{len(rows)},3] parameter(1)\n"
                 f"  p2 = {indices.shape} parameter(2)\n"
                 f"  ROOT r = {out.shape} scatter(p0, p2, p1), update_window_dims={{1}}, inserted_window_dims={{0}}, "
                 "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f")
        cases.append(moved("scatter", t, variant, dims, move, (5, 3), "", [indices], text=module(entry, body)))
    return cases


def within(opcode, entry, computations="", dims=((4,),), out=(4,), move=lambda *a: a[0], variant="plain"):
    """A module written out, with T for the element type; operands p0, p1 … are declared."""

    def cases(t):
        shapes = [f"{t.name}[{','.join(map(str, d))}]" for d in dims]
        lines = "\n".join(f"  p{i} = {s} parameter({i})" for i, s in enumerate(shapes))
        text = module(lines + "\n" + entry.replace("T[", t.name + "["), computations.replace("T[", t.name + "["))
        return [moved(opcode, t, variant, list(dims), move, out, text=text)]

    return cases


IDENTITY = "f {\n  ROOT a = T[4] parameter(0)\n}\n"
COPY = "f {\n  a = T[4] parameter(0)\n  ROOT b = T[4] copy(a)\n}\n"
SWAP = """body {
  p = (s32[], T[4], T[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = T[4] get-tuple-element(p), index=1
  y = T[4] get-tuple-element(p), index=2
  one = s32[] constant(1)
  n = s32[] add(i, one)
  ROOT t = (s32[], T[4], T[4]) tuple(n, y, x)
}
condition {
  p = (s32[], T[4], T[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}
"""
WHILE = """  zero = s32[] constant(0)
  t = (s32[], T[4], T[4]) tuple(zero, p0, p1)
  w = (s32[], T[4], T[4]) while(t), condition=condition, body=body
  ROOT r = T[4] get-tuple-element(w), index=1"""
BRANCHES = "f {\n  ROOT a = T[4] parameter(0)\n}\ng {\n  b = T[4] parameter(0)\n  ROOT c = T[4] reverse(b), dimensions={0}\n}\n"


def bitcast_convert_cases(t):
    """To the unsigned type of the same width and back, and to and from bytes."""
    cases = []
    if t.kind == "complex":
        return cases
    unsigned = BY_NAME.get(f"u{t.bits}") or BY_NAME["pred"]
    values = pool(t, 12)
    if t.bits != 6 and t.kind != "pred":
        for variant, source, target in (("to-bits", t, unsigned), ("from-bits", unsigned, t)):
            operand, out = Array(source, (12,), values), Array(target, (12,))
            cases.append(Case("bitcast-convert", t, variant, one_op("bitcast-convert", [operand], out), [operand],
                              [out], lambda: [Bits(values)]))
    if t.bits > 8:
        count = t.bits // 8
        for variant, source, target in (("to-bytes", Array(t, (12,), values),
                                         Array(BY_NAME["u8"], (12, count), values.view("u1"))),
                                        ("from-bytes", Array(BY_NAME["u8"], (12, count), values.view("u1")),
                                         Array(t, (12,), values))):
            cases.append(Case("bitcast-convert", t, variant, one_op("bitcast-convert", [source], target), [source],
                              [target], lambda target=target: [Bits(target.bits)]))
    if t.bits < 6 and t.kind != "pred":
        count = 8 // t.bits
        packed = np.zeros(12 // count, "u1")
        for i, v in enumerate(values[:12 // count * count]):
            packed[i // count] |= np.uint8(int(v) << (i % count * t.bits))
        few = len(packed)
        pair = (Array(t, (few, count), values[:few * count]), Array(BY_NAME["u8"], (few,), packed))
        for variant, source, target in (("to-bytes", *pair), ("from-bytes", *reversed(pair))):
            cases.append(Case("bitcast-convert", t, variant, one_op("bitcast-convert", [source], target), [source],
                              [target], lambda target=target: [Bits(target.bits)]))
    return cases


def iota_cases(t):
    cases = []
    for variant, dims, dimension in (("line", (20,), 0), ("plane", (3, 4), 1), ("empty", (0,), 0)):
        numbers = np.broadcast_to(np.arange(dims[dimension]).reshape([-1 if i == dimension else 1 for i in
                                                                      range(len(dims))]), dims).reshape(-1)
        def truth(numbers=numbers):
            if t.kind == "complex":
                return [[(real(mpf(int(n))), 0.0) for n in numbers]]
            return [[int(n) if t.is_integral else real(mpf(int(n))) for n in numbers]]
        out = Array(t, dims)
        cases.append(Case("iota", t, variant, one_op("iota", [], out, f"iota_dimension={dimension}"), [], [out], truth,
                          0.5))
    return cases


def _literal(t, bits):
    value = decode(t.part, bits)
    if t.kind == "pred":
        return "true" if value else "false"
    if t.is_integral or is_nan(value):
        return str(value)
    if is_inf(value):
        return "inf" if value > 0 else "-inf"
    return repr(float(value)) if isinstance(value, float) or t.part.name != "f64" else f"{float(value)!r}"


def constant_cases(t):
    values = pool(t, 12)
    if t.kind == "complex":
        elements = [f"({_literal(t, a)}, {_literal(t, b)})" for a, b in values]
    else:
        elements = [_literal(t, b) for b in values]
    out = Array(t, (12,))
    text = module(f"  ROOT r = {out.shape} constant({{{', '.join(elements)}}})")
    return [Case("constant", t, "edges", text, [], [out], lambda: [Bits(values)])]


def sort_cases(t):
    if t.kind == "complex":
        return []
    cases = []
    total = ", type=TOTALORDER" if t.kind == "float" else ""
    from real_truth import total_order_key
    for variant, direction, dims in (("up", "LT", (3, 17)), ("down", "GT", (3, 17)), ("one", "LT", (3, 1)),
                                     ("none", "LT", (3, 0))):
        values = pool(t, dims[0] * dims[1])
        keys, places = Array(t, dims, values), s32(np.arange(len(values)), dims)
        computations = (f"f {{\n  a = {t.name}[] parameter(0)\n  b = {t.name}[] parameter(1)\n  c = s32[] parameter(2)\n"
                        f"  d = s32[] parameter(3)\n  ROOT r = pred[] compare(a, b), direction={direction}{total}\n}}\n")
        text = module(f"  p0 = {keys.shape} parameter(0)\n  p1 = {places.shape} parameter(1)\n  ROOT r = ({keys.shape}, "
                      f"{places.shape}) sort(p0, p1), dimensions={{1}}, is_stable=true, to_apply=f", computations)

        def truth(values=values, dims=dims, direction=direction):
            order = []
            for row in range(dims[0]):
                key = lambda i: total_order_key(t, int(values[i])) if t.kind == "float" else decode(t, values[i])
                order += sorted(range(row * dims[1], (row + 1) * dims[1]),
                                key=(lambda i: -key(i)) if direction == "GT" else key)
            order = np.array(order, dtype=int)
            return [Bits(values[order]), Bits(order)]

        cases.append(Case("sort", t, variant, text, [keys, places], [Array(t, dims), Array(S32, dims)], truth))
    return cases


def topk_cases(t):
    if t.kind == "complex":
        return []
    dims = (2, 11)
    values = pool(t, 22)
    from real_truth import total_order_key
    cases = []
    for variant, largest in (("largest", "true"), ("smallest", "false")):
        operand = Array(t, dims, values)
        text = module(f"  p0 = {operand.shape} parameter(0)\n  ROOT r = ({t.name}[2,3], s32[2,3]) topk(p0), k=3, "
                      f"largest={largest}")

        def truth(largest=largest):
            found = []
            for row in range(2):
                key = lambda i: total_order_key(t, int(values[i])) if t.kind == "float" else decode(t, values[i])
                found += sorted(range(row * 11, row * 11 + 11),
                                key=(lambda i: -key(i)) if largest == "true" else key)[:3]
            found = np.array(found)
            return [Bits(values[found]), Bits(found % 11)]

        cases.append(Case("topk", t, variant, text, [operand], [Array(t, (2, 3)), Array(S32, (2, 3))], truth))
    return cases


def size_cases(t):
    operand = Array(t, (3, 5), pool(t, 15))
    return [Case("get-dimension-size", t, "plain", one_op("get-dimension-size", [operand], Array(S32, ()),
                                                          "dimensions={1}"), [operand], [Array(S32, ())],
                 lambda: [Bits(np.array([5]))])]


def set_size_cases(t):
    dims = (5,)
    operand, size = Array(t, dims, pool(t, 5)), s32([3])
    text = module(f"  p0 = {operand.shape} parameter(0)\n  p1 = s32[] parameter(1)\n"
                  f"  d = {t.name}[<=5] set-dimension-size(p0, p1), dimensions={{0}}\n"
                  "  ROOT r = s32[] get-dimension-size(d), dimensions={0}")
    return [Case("set-dimension-size", t, "plain", text, [operand, size], [Array(S32, ())],
                 lambda: [Bits(np.array([3]))])]


ONE_DEVICE = "replica_groups={{0}}"
ADD = "add {\n  a = T[] parameter(0)\n  b = T[] parameter(1)\n  ROOT r = T[] add(a, b)\n}\n"

CELLS = {
    "broadcast": broadcast_cases,
    "reshape": simple("reshape", ("plain", (2, 3, 4), lambda a: a, (6, 4)), ("empty", (0, 4), lambda a: a, (2, 0))),
    "transpose": simple("transpose", ("turn", (2, 3, 4), lambda a: a.transpose(2, 0, 1), (4, 2, 3),
                                      "dimensions={2,0,1}"),
                        ("empty", (0, 4), lambda a: a.T, (4, 0), "dimensions={1,0}"),
                        ("one", (1, 1), lambda a: a, (1, 1), "dimensions={1,0}")),
    "slice": simple("slice", ("strided", (7, 5), lambda a: a[1:6:2, :4:3], (3, 2), "slice={[1:6:2], [0:4:3]}"),
                    ("empty", (7, 5), lambda a: a[3:3], (0, 5), "slice={[3:3], [0:5]}")),
    "reverse": simple("reverse", ("two", (2, 3, 4), lambda a: a[::-1, :, ::-1], (2, 3, 4), "dimensions={0,2}")),
    "pad": simple("pad", ("all", [(3, 4), ()], _pad, (10, 3), "padding=1_2_2x-1_0_0"),
                  ("empty", [(0,), ()], lambda a, v: np.full(3, v), (3,), "padding=1_2_4")),
    "concatenate": simple("concatenate", ("three", [(2, 3), (0, 3), (1, 3)], lambda *a: np.concatenate(a), (3, 3),
                                          "dimensions={0}")),
    "dynamic-slice": dynamic_slice_cases,
    "dynamic-update-slice": dynamic_update_slice_cases,
    "gather": gather_cases,
    "scatter": scatter_cases,
    "bitcast": simple("bitcast", ("plain", (2, 3), lambda a: a, (6,))),
    "bitcast-convert": bitcast_convert_cases,
    "iota": iota_cases,
    "constant": constant_cases,
    "sort": sort_cases,
    "topk": topk_cases,
    "get-dimension-size": size_cases,
    "set-dimension-size": set_size_cases,
    "parameter": within("parameter", "  ROOT r = T[4] copy(p0)"),
    "tuple": within("tuple", "  t = (T[4], T[4]) tuple(p0, p1)\n  ROOT r = T[4] get-tuple-element(t), index=1",
                    dims=((4,), (4,)), move=lambda a, b: b),
    "get-tuple-element": within("get-tuple-element",
                                "  t = (T[4], (T[4])) tuple(p0, u)\n  v = (T[4]) get-tuple-element(t), index=1\n"
                                "  ROOT r = T[4] get-tuple-element(v), index=0".replace("  t =", "  u = (T[4]) tuple(p1)\n  t ="),
                                dims=((4,), (4,)), move=lambda a, b: b),
    "while": within("while", WHILE, SWAP, ((4,), (4,)), move=lambda a, b: b),
    "conditional": within("conditional", "  i = s32[] constant(9)\n  ROOT r = T[4] conditional(i, p0, p0), "
                          "branch_computations={f, g}", BRANCHES, move=lambda a: a[::-1]),
    "call": within("call", "  ROOT r = T[4] call(p0), to_apply=f", COPY),
    "fusion": within("fusion", "  ROOT r = T[4] fusion(p0), kind=kLoop, calls=f",
                     "f {\n  a = T[4] parameter(0)\n  ROOT b = T[4] reverse(a), dimensions={0}\n}\n",
                     move=lambda a: a[::-1]),
    "map": within("map", "  ROOT r = T[4] map(p0, p1), dimensions={0}, to_apply=f",
                  "f {\n  a = T[] parameter(0)\n  b = T[] parameter(1)\n  t = pred[] constant(false)\n"
                  "  ROOT r = T[] select(t, a, b)\n}\n", ((4,), (4,)), move=lambda a, b: b),
    "opt-barrier": within("opt-barrier", "  ROOT r = T[4] opt-barrier(p0)"),
    "domain": within("domain", "  ROOT r = T[4] domain(p0), domain={kind=\"sharding\", entry={maximal device=0}, "
                     "exit={maximal device=0}}"),
    "add-dependency": within("add-dependency", "  k = token[] after-all()\n  ROOT r = T[4] add-dependency(p0, k)"),
    "after-all": within("after-all", "  k = token[] after-all()\n  l = token[] after-all(k)\n"
                        "  ROOT r = T[4] add-dependency(p0, l)"),
    "copy-start": within("copy-start", "  s = (T[4], T[4], u32[]) copy-start(p0)\n  ROOT r = T[4] copy-done(s)"),
    "copy-done": within("copy-done", "  s = (T[4], T[4], u32[]) copy-start(p0)\n  ROOT r = T[4] copy-done(s)"),
    "async-start": within("async-start", "  s = ((T[4]), T[4], s32[]) async-start(p0), calls=f\n"
                          "  u = ((T[4]), T[4], s32[]) async-update(s)\n  ROOT r = T[4] async-done(u)", COPY),
    "async-update": within("async-update", "  s = ((T[4]), T[4], s32[]) async-start(p0), calls=f\n"
                           "  u = ((T[4]), T[4], s32[]) async-update(s)\n  ROOT r = T[4] async-done(u)", COPY),
    "async-done": within("async-done", "  s = ((T[4]), T[4], s32[]) async-start(p0), calls=f\n"
                         "  ROOT r = T[4] async-done(s)", COPY),
    "dynamic-reshape": within("dynamic-reshape", "  n = s32[] constant(2)\n  m = s32[] constant(2)\n"
                              "  d = T[<=2,<=2] dynamic-reshape(p0, n, m)\n"
                              "  ROOT r = T[4] reshape(d)".replace("T[4] reshape(d)", "T[4] copy(p0)")),
    "all-gather": within("all-gather", f"  ROOT r = T[4] all-gather(p0), dimensions={{0}}, {ONE_DEVICE}"),
    "all-gather-start": within("all-gather-start", f"  s = (T[4], T[4]) all-gather-start(p0), dimensions={{0}}, "
                               f"{ONE_DEVICE}\n  ROOT r = T[4] all-gather-done(s)"),
    "all-gather-done": within("all-gather-done", f"  s = (T[4], T[4]) all-gather-start(p0), dimensions={{0}}, "
                              f"{ONE_DEVICE}\n  ROOT r = T[4] all-gather-done(s)"),
    "all-reduce": within("all-reduce", f"  ROOT r = T[4] all-reduce(p0), to_apply=add, {ONE_DEVICE}", ADD),
    "all-reduce-start": within("all-reduce-start", f"  s = T[4] all-reduce-start(p0), to_apply=add, {ONE_DEVICE}\n"
                               "  ROOT r = T[4] all-reduce-done(s)", ADD),
    "all-reduce-done": within("all-reduce-done", f"  s = T[4] all-reduce-start(p0), to_apply=add, {ONE_DEVICE}\n"
                              "  ROOT r = T[4] all-reduce-done(s)", ADD),
    "all-to-all": within("all-to-all", f"  ROOT r = T[4] all-to-all(p0), dimensions={{0}}, {ONE_DEVICE}"),
    "collective-broadcast": within("collective-broadcast", f"  ROOT r = T[4] collective-broadcast(p0), {ONE_DEVICE}"),
    "collective-permute": within("collective-permute",
                                 "  ROOT r = T[4] collective-permute(p0), source_target_pairs={{0,0}}"),
    "collective-permute-start": within(
        "collective-permute-start", "  s = (T[4], T[4]) collective-permute-start(p0), source_target_pairs={{0,0}}\n"
        "  ROOT r = T[4] collective-permute-done(s)"),
    "collective-permute-done": within(
        "collective-permute-done", "  s = (T[4], T[4]) collective-permute-start(p0), source_target_pairs={{0,0}}\n"
        "  ROOT r = T[4] collective-permute-done(s)"),
    "collective-reduce": within("collective-reduce", f"  ROOT r = T[4] collective-reduce(p0), to_apply=add, {ONE_DEVICE}",
                                ADD),
    "reduce-scatter": within("reduce-scatter", f"  ROOT r = T[4] reduce-scatter(p0), dimensions={{0}}, to_apply=add, "
                             f"{ONE_DEVICE}", ADD),
}
