"""True values of HLO's operations on integers and pred, with Python's unbounded integers."""


def wrap(t, value):
    low = value & ((1 << t.bits) - 1)
    return low - (1 << t.bits) if t.kind == "signed" and low >> (t.bits - 1) else low


def _quotient(t, x, y):
    if y == 0:
        return -1
    size = abs(x) // abs(y)
    return size if (x < 0) == (y < 0) else -size


def _remainder(t, x, y):
    if y == 0:
        return x
    size = abs(x) % abs(y)
    return -size if x < 0 else size


def _power(t, x, y):
    if y >= 0:
        return pow(x, y, 1 << 64)
    return 1 if x == 1 else (-1 if y % 2 else 1) if x == -1 else 0


def _amount(t, y):
    return y & ((1 << t.bits) - 1)


def _left(t, x, y):
    return 0 if _amount(t, y) >= t.bits else x << _amount(t, y)


def _logical(t, x, y):
    return 0 if _amount(t, y) >= t.bits else (x & ((1 << t.bits) - 1)) >> _amount(t, y)


def _arithmetic(t, x, y):
    value = x - (1 << t.bits) if t.kind == "unsigned" and x >> (t.bits - 1) else x
    return value >> min(_amount(t, y), t.bits)


UNARY = {
    "abs": lambda t, x: abs(x),
    "copy": lambda t, x: x,
    "count-leading-zeros": lambda t, x: t.bits - (x & ((1 << t.bits) - 1)).bit_length(),
    "negate": lambda t, x: -x,
    "not": lambda t, x: 1 - x if t.kind == "pred" else ~x,
    "popcnt": lambda t, x: (x & ((1 << t.bits) - 1)).bit_count(),
    "sign": lambda t, x: (x > 0) - (x < 0),
}
BINARY = {
    "add": lambda t, x, y: x | y if t.kind == "pred" else x + y,
    "subtract": lambda t, x, y: x - y,
    "multiply": lambda t, x, y: x * y,
    "divide": _quotient,
    "remainder": _remainder,
    "maximum": lambda t, x, y: max(x, y),
    "minimum": lambda t, x, y: min(x, y),
    "power": _power,
    "and": lambda t, x, y: x & y,
    "or": lambda t, x, y: x | y,
    "xor": lambda t, x, y: x ^ y,
    "mulhi": lambda t, x, y: (x * y) >> t.bits,
    "shift-left": _left,
    "shift-right-arithmetic": _arithmetic,
    "shift-right-logical": _logical,
}


def clamp(low, x, high):
    return min(max(low, x), high)
