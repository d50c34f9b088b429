"""The cells of the conformance table: for an opcode and an element type its cases, each a module, inputs and truth."""
from dataclasses import dataclass

import numpy as np

import complex_truth
import edge_values
import integer_truth
import real_truth
from element_types import BY_NAME, TYPES, ElementType, decode, is_inf, is_nan, mpf, real

PRED = BY_NAME["pred"]


@dataclass
class Array:
    type: ElementType
    dims: tuple
    bits: np.ndarray = None  # flat; (count, 2) for complex

    @property
    def shape(self):
        return f"{self.type.name}[{','.join(map(str, self.dims))}]"


@dataclass
class Case:
    opcode: str
    type: ElementType
    variant: str
    text: str
    inputs: list
    outputs: list  # Arrays without bits
    truth: object  # () -> per output a list of true values; for elementwise ones see Elementwise
    bound: float = 0.0  # ULP; 0 is exact
    norm: bool = False  # ULP at the largest element of the result, not at each
    function: object = None  # of an elementwise operation: the true value from the operands' values
    attributes: str = ""

    @property
    def name(self):
        return f"{self.opcode}.{self.type.name}.{self.variant}"



def module(body, computations=""):
    return f"HloModule m\n{computations}\nENTRY e {{\n{body}\n}}\n"


def one_op(opcode, operands, result, attributes=""):
    lines = [f"  p{i} = {a.shape} parameter({i})" for i, a in enumerate(operands)]
    names = ", ".join(f"p{i}" for i in range(len(operands)))
    lines.append(f"  ROOT r = {result.shape} {opcode}({names}){', ' + attributes if attributes else ''}")
    return module("\n".join(lines))


def decoded(array):
    """True values of an array's elements."""
    if array.type.kind == "complex":
        return [tuple(decode(array.type.part, b) for b in pair) for pair in array.bits.reshape(-1, 2)]
    return [decode(array.type, b) for b in array.bits]


def elementwise(opcode, t, arrays, result, function, bound, attributes="", label="edges"):
    """Cases of one elementwise operation: the inputs given, for some types also one as a scalar, and none at all."""
    cases = []
    count = len(arrays[0])
    sizes = ((label, count, (count,)), (label + "-scalar", 1, ()), (label + "-empty", 0, (0, 3)))
    for variant, n, dims in sizes if t.name in SIZED_TYPES else sizes[:1]:
        operands = [Array(t if not isinstance(a, Array) else a.type, dims, (a.bits if isinstance(a, Array) else a)[:n])
                    for a in arrays]
        out = Array(result, dims)
        text = one_op(opcode, operands, out, attributes)

        def truth(operands=operands):
            return [[function(*values) for values in zip(*(decoded(a) for a in operands))]]

        cases.append(Case(opcode, t, variant, text, operands, [out], truth, bound, function=function,
                          attributes=attributes))
    return cases


SIZED_TYPES = ("pred", "s4", "s32", "bf16", "f32", "c64")  # whose cases have sizes 0 and 1 too

EXACT_UNARY = {"abs", "ceil", "floor", "negate", "real", "round-nearest-afz", "round-nearest-even", "sign", "copy",
               "not", "popcnt", "count-leading-zeros", "imag", "is-finite"}
EXACT_BINARY = {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum"}


def transcendental_bound(t):
    return 4.0 if t.kind == "complex" else 2.0 if t.name == "f64" else 0.501


def unary_function(opcode, t):
    """(function, result type) or None where the table has no truth for it."""
    if opcode == "is-finite":
        return (lambda x: int(not is_nan(x) and not is_inf(x))), PRED
    if opcode == "imag" and t.kind == "float":
        return (lambda x: 0.0), t
    if opcode in ("real", "imag") and t.kind == "complex":
        return (lambda z: z[opcode == "imag"]), t.part
    if t.is_integral:
        function = integer_truth.UNARY.get(opcode)
        return (lambda x: function(t, x), t) if function else None
    if t.kind == "complex":
        if opcode == "abs":
            return complex_truth.absolute, t.part
        known = opcode in complex_truth.FINITE or opcode in ("negate", "copy")
        return (lambda z: complex_truth.unary(opcode, z), t) if known else None
    function = real_truth.UNARY.get(opcode)
    return (function, t) if function else None


def unary_cases(opcode):
    def cases(t):
        found = unary_function(opcode, t)
        arrays = [edge_values.unary(t)]
        function, result = found if found else (lambda x: None, t)
        exact = opcode in EXACT_UNARY and not (t.kind == "complex" and opcode in ("abs", "sign"))
        bound = 0.0 if exact or t.is_integral else transcendental_bound(t)
        return elementwise(opcode, t, arrays, result, function, bound)
    return cases


def binary_function(opcode, t):
    if t.is_integral:
        function = integer_truth.BINARY.get(opcode)
        return (lambda x, y: function(t, x, y)) if function else None
    if t.kind == "complex":
        known = opcode in complex_truth.BINARY or opcode in ("add", "subtract", "multiply", "maximum", "minimum")
        return (lambda x, y: complex_truth.binary(opcode, x, y)) if known else None
    return real_truth.BINARY.get(opcode)


def binary_cases(opcode):
    def cases(t):
        function = binary_function(opcode, t) or (lambda x, y: None)
        bound = 0.0 if opcode in EXACT_BINARY or t.is_integral else transcendental_bound(t)
        if t.kind == "complex" and opcode in ("multiply", "divide"):
            bound = 4.0
        return elementwise(opcode, t, edge_values.binary(t), t, function, bound)
    return cases


def complex_cases(t):
    if t.name not in ("f32", "f64"):
        arrays = edge_values.binary(t)
        return elementwise("complex", t, arrays, t, lambda x, y: None, 0.0)
    return elementwise("complex", t, edge_values.binary(t), BY_NAME["c64" if t.name == "f32" else "c128"],
                       lambda x, y: (x, y), 0.0)


def compare_cases(t):
    cases = []
    arrays = edge_values.binary(t, 600)
    for direction, function in real_truth.COMPARE.items():
        if t.kind == "complex" and direction not in ("EQ", "NE"):
            continue
        if t.kind == "complex":
            equal = lambda x, y: x[0] == y[0] and x[1] == y[1]
            of = (lambda x, y: int(equal(x, y))) if direction == "EQ" else (lambda x, y: int(not equal(x, y)))
        else:
            of = lambda x, y, f=function: int(f(x, y))
        found = elementwise("compare", t, arrays, PRED, of, 0.0, f"direction={direction}", direction)
        cases += found if direction == "EQ" else found[:1]
        if t.kind == "float":
            cases.append(total_order_case(t, arrays, direction, function))
    return cases


def total_order_case(t, arrays, direction, function):
    dims = (len(arrays[0]),)
    operands = [Array(t, dims, a) for a in arrays]
    key = lambda b: real_truth.total_order_key(t, int(b))
    truth = lambda: [[int(function(key(x), key(y))) for x, y in zip(*arrays)]]
    text = one_op("compare", operands, Array(PRED, dims), f"direction={direction}, type=TOTALORDER")
    return Case("compare", t, direction + "-total", text, operands, [Array(PRED, dims)], truth)


def clamp_cases(t):
    if t.kind == "complex":
        function = complex_truth.clamp
    else:
        function = integer_truth.clamp if t.is_integral else real_truth.clamp
    return elementwise("clamp", t, edge_values.ternary(t), t, function, 0.0)


def select_cases(t):
    values = edge_values.unary(t, 200)[:2000]
    flags = Array(PRED, (len(values),), (np.arange(len(values)) % 3 == 0).astype("u1"))
    return movement_elementwise("select", t, [flags, values, np.roll(values, 3, axis=0)],
                                lambda f, x, y: np.where(f.reshape(-1, *[1] * (x.ndim - 1)) != 0, x, y))


def movement_elementwise(opcode, t, arrays, function):
    cases = []
    count = len(arrays[-1])
    sizes = (("edges", count, (count,)), ("scalar", 1, ()), ("empty", 0, (0, 3)))
    for variant, n, dims in sizes if t.name in SIZED_TYPES else sizes[:1]:
        operands = [Array(a.type, dims, a.bits[:n]) if isinstance(a, Array) else Array(t, dims, a[:n]) for a in arrays]
        truth = lambda operands=operands: [Bits(function(*(a.bits for a in operands)))]
        cases.append(Case(opcode, t, variant, one_op(opcode, operands, Array(t, dims)), operands, [Array(t, dims)],
                          truth))
    return cases


@dataclass
class Bits:
    """Expected bits themselves, of data that is only moved."""
    bits: np.ndarray


def reduce_precision_cases(t):
    cases = []
    values = edge_values.unary(t, 600)
    for e, m in ((5, 10), (8, 7), (4, 3), (2, 1), (1, 0), (8, 23), (11, 52)):
        dims = (len(values),)
        operand = Array(t, dims, values)
        function = lambda v, e=e, m=m: real_truth.reduce_precision(t, v, e, m)
        truth = lambda function=function: [[function(decode(t, b)) for b in values]]
        attributes = f"exponent_bits={e}, mantissa_bits={m}"
        text = one_op("reduce-precision", [operand], operand, attributes)
        cases.append(Case("reduce-precision", t, f"e{e}m{m}", text, [operand], [Array(t, dims)], truth,
                          function=function, attributes=attributes))
    return cases


def convert_value(source, target, value):
    """What `value` of type `source` becomes in `target`, before rounding."""
    if source.kind == "complex" and target.kind != "complex":
        if target.kind == "pred":
            return int(any(is_nan(v) or v != 0 for v in value))
        value = value[0]
    if target.kind == "complex":
        return value if source.kind == "complex" else (_as_real(source, value), 0.0)
    if target.kind == "float":
        return _as_real(source, value)
    if source.is_integral:
        return int(value != 0) if target.kind == "pred" else value
    if target.kind == "pred":
        return int(is_nan(value) or value != 0)
    low = -(1 << (target.bits - 1)) if target.kind == "signed" else 0
    high = low + (1 << target.bits) - 1
    if is_nan(value):
        return 0
    if is_inf(value):
        return high if value > 0 else low
    return min(max(int(value), low), high)


def _as_real(source, value):
    return real(mpf(value)) if source.is_integral else value


def convert_cases(t):
    cases = []
    values = edge_values.conversion(t)
    for target in TYPES:
        dims = (len(values),)
        operand, out = Array(t, dims, values), Array(target, dims)
        function = lambda v, target=target: convert_value(t, target, v)
        truth = lambda operand=operand, function=function: [[function(v) for v in decoded(operand)]]
        cases.append(Case("convert", t, target.name, one_op("convert", [operand], out), [operand], [out], truth,
                          function=function))
    return cases


UNARY = ["abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "copy", "cosine", "cosh",
         "count-leading-zeros", "erf", "exponential", "exponential-minus-one", "floor", "imag", "is-finite", "log",
         "log-plus-one", "logistic", "negate", "not", "popcnt", "real", "round-nearest-afz", "round-nearest-even",
         "rsqrt", "sign", "sine", "sinh", "sqrt", "tan", "tanh"]
BINARY = ["add", "and", "atan2", "divide", "maximum", "minimum", "mulhi", "multiply", "or", "power", "remainder",
          "shift-left", "shift-right-arithmetic", "shift-right-logical", "subtract", "xor"]

CELLS = {name: unary_cases(name) for name in UNARY} | {name: binary_cases(name) for name in BINARY} | {
    "clamp": clamp_cases,
    "compare": compare_cases,
    "complex": complex_cases,
    "convert": convert_cases,
    "reduce-precision": reduce_precision_cases,
    "select": select_cases,
}
