"""The table's pages: coverage.md, coverage.tsv, known_xla_faults.md, and core/eval/coverage.def for `hloscope ops`."""
import collections
import math

import numpy as np

from cells import Array, Bits, Case, one_op
from element_types import INF, TYPES, decode, encode, is_inf, is_nan, is_zero, number

DENORMAL = {"f64": 2.0 ** -1022, "c128": 2.0 ** -1022}


def xla_bound(case):
    """What a backend is allowed: rounding where one rounding does, 2 ULP for functions of f32 and f64, 1 narrower."""
    if case.bound == 0:
        return 0.0
    if case.norm or case.type.kind == "complex":
        return max(case.bound, 4.0)
    return 2.0 if case.type.name in ("f32", "f64") else 1.0


def _flush(t, value):
    """Denormals as XLA:CPU sees them: zero of the same sign."""
    if isinstance(value, tuple):
        return tuple(_flush(t, v) for v in value)
    if isinstance(value, (int, float)):
        return value
    return math.copysign(0.0, float(value)) if abs(value) < DENORMAL.get(t.name, 2.0 ** -126) else value


def explained_by_flushing(case, output, element, bits, truth):
    """True if zeros for denormals, in the operands or the result, make the element right."""
    t = case.outputs[output].type
    if t.part.kind != "float" and case.function is None:
        return False
    got = decode(t.part, bits)
    if truth is not None and is_zero(got) and not isinstance(truth, (int, float)) and is_zero(_flush(t, truth)):
        return True
    if case.function is None:
        return False
    at = element // (2 if t.kind == "complex" else 1)
    operands = [_value(a, at) for a in case.inputs]
    for flushed in _flushings(case, operands):
        value = case.function(*flushed)
        if value is None:
            continue
        if t.kind == "complex":
            value = value[element % 2]
        if value is None:
            continue
        if encode(t.part, value) == bits or (is_nan(value) and is_nan(got)):
            return True
        if is_zero(got) and t.part.kind == "float" and is_zero(_flush(t, value)):
            return True
    return False


def _flushings(case, operands):
    whole = [_flush(a.type, v) for a, v in zip(case.inputs, operands)]
    return [whole] if whole != operands or any(map(_has_zero, whole)) else []


def _has_zero(value):
    return any(is_zero(v) for v in value) if isinstance(value, tuple) else is_zero(value)


def _value(array, at):
    if array.type.kind == "complex":
        return tuple(decode(array.type.part, b) for b in array.bits[at])
    return decode(array.type, array.bits[at])


def show(t, bits):
    """A number with its bits."""
    value = decode(t, bits)
    if t.is_integral:
        return str(value)
    text = "nan" if is_nan(value) else repr(value) if isinstance(value, float) else f"{float(value):.9g}"
    return f"{text} (0x{int(bits):0{max(1, t.bits // 4)}x})"


def number_text(worst):
    return "exact" if worst == 0 else "wrong" if worst == INF else f"{worst:.3f}" if worst < 100 else f"{worst:.3g}"


class Fault:
    """Elements of one case that XLA:CPU has wrong; what a page needs of the first of them."""

    def __init__(self, case, wrong, truths, results, ours):
        self.opcode, self.type, self.name, self.count = case.opcode, case.type, case.name, len(wrong)
        self.output, self.element, self.distance = max(wrong, key=lambda w: w[2])
        self.text, self.case_inputs = case.text, [(a.type.name, a.dims) for a in case.inputs]
        out = case.outputs[self.output].type.part
        self.result_type = out
        if self.element < 0:
            self.true = self.xla = self.mine = "another number of elements"
            self.operands = []
            return
        self.true = show(out, truths[self.output][0][self.element])
        self.xla_bits = int(results[self.output].reshape(-1)[self.element])
        self.xla = "varies" if 1 in (case.type.bits, out.bits) and "pred" not in (case.type.name, out.name) else show(out, self.xla_bits)
        self.mine = ours if isinstance(ours, str) else show(out, ours[self.output].reshape(-1)[self.element])
        self.minimal = None
        if case.function is not None:
            at = self.element // (2 if case.outputs[self.output].type.kind == "complex" else 1)
            self.part = self.element % 2 if case.outputs[self.output].type.kind == "complex" else 0
            self.operands = [_show_operand(a, at) for a in case.inputs]
            self.minimal = minimal_text(case, at)
        else:
            self.operands = [" ".join(_show_operand(a, k) for k in range(min(24, len(a.bits)))) for a in case.inputs]


def _show_operand(array, at):
    if array.type.kind == "complex":
        return "(" + ", ".join(show(array.type.part, b) for b in array.bits[at]) + ")"
    return show(array.type, array.bits[at])


class Cell:
    """What all cases of an opcode and a type gave."""

    def __init__(self, opcode, t):
        self.opcode, self.type = opcode, t
        self.cases = self.elements = 0
        self.ours, self.ours_wrong, self.ours_missing = 0.0, 0, set()
        self.xla, self.xla_wrong, self.xla_flushed, self.xla_missing = 0.0, 0, 0, set()
        self.xla_ran = self.ours_ran = 0

    @property
    def ours_text(self):
        if not self.ours_ran:
            return "unsupported"
        return number_text(self.ours)

    @property
    def xla_text(self):
        if self.died:
            return "died"
        if not self.xla_ran:
            return "rejected"
        return number_text(self.xla) + ("*" if self.xla_flushed else "")

    @property
    def died(self):
        return any(m.startswith("died") for m in self.xla_missing)

    @property
    def xla_off(self):
        return self.xla_wrong > 0 or self.died


def write_tsv(cells, path):
    with open(path, "w") as file:
        file.write("opcode\ttype\tcases\telements\tinterpreter\txla_cpu\txla_wrong\txla_flushed\n")
        for cell in cells:
            file.write(f"{cell.opcode}\t{cell.type.name}\t{cell.cases}\t{cell.elements}\t{cell.ours_text}\t"
                       f"{cell.xla_text}\t{cell.xla_wrong}\t{cell.xla_flushed}\n")


LEGEND = """# What every opcode gives on every element type

Made by `tests/conformance/conformance.py`; do not edit. A cell is there where shape inference accepts the operation on
the type. It holds two figures: how far the interpreter is from the true value at worst, then how far XLA:CPU is
(`{xla}`), in units of the last place, over edge values (signed zeros, denormals, infinities, NaN, extremes, indices out
of bounds, no elements, one element) and random bits; every value of the 8- and 16-bit types for functions of one operand.

`=` every element exact · `½` each rounded once to nearest · a number: ULP at worst · `!` wrong in kind (NaN for a number,
a wrong integer, a zero of the wrong sign) · `*` after leaving out what XLA's flushing of denormals to zero explains ·
`-` not run (rejected, unsupported, or open by definition) · `+` the process died. Elements of sums, products of matrices and
the like are measured against the largest element of the result.

True values: mpmath for functions, correctly rounded; Python's integers; positions for data that only moves. C's Annex F and
G say what special values give; where they leave it open nothing is checked.

"""


def _short(text):
    star = "*" if text.endswith("*") else ""
    text = text.rstrip("*")
    fixed = {"exact": "=", "wrong": "!", "rejected": "-", "unsupported": "-", "died": "+", "0.500": "½"}
    return fixed.get(text, text) + star


def write_markdown(cells, path, xla_name):
    by_opcode = collections.defaultdict(dict)
    for cell in cells:
        by_opcode[cell.opcode][cell.type.name] = cell
    groups = [[t.name for t in TYPES if t.is_integral], [t.name for t in TYPES if t.kind != "pred" and not t.is_integral]]
    with open(path, "w") as file:
        file.write(LEGEND.format(xla=xla_name))
        for title, names in zip(("Integers and pred", "Floats and complex numbers"), groups):
            file.write(f"## {title}\n\n| opcode | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n")
            for opcode in sorted(by_opcode):
                row = by_opcode[opcode]
                if not any(n in row for n in names):
                    continue
                shown = [f"{_short(row[n].ours_text)} {_short(row[n].xla_text)}" if n in row else "" for n in names]
                file.write(f"| {opcode} | {' | '.join(shown)} |\n")
            file.write("\n")


def write_def(cells, path):
    by_opcode = collections.defaultdict(lambda: collections.defaultdict(list))
    for cell in cells:
        by_opcode[cell.opcode][cell.ours_text].append(cell.type.name)
    with open(path, "w") as file:
        file.write("// How far the interpreter is from the true value at worst, in ULP: COVERAGE(opcode, distance, types).\n"
                   "// Made by tests/conformance/conformance.py from what it measured; do not edit.\n")
        for opcode in sorted(by_opcode):
            for distance, names in sorted(by_opcode[opcode].items()):
                lines, line = [], ""
                for name in names:
                    if len(line) + len(name) > 80:
                        lines.append(line + " ")
                        line = ""
                    line += (" " if line else "") + name
                lines.append(line)
                joined = "\n         ".join(f'"{part}"' for part in lines)
                file.write(f'COVERAGE("{opcode}", "{distance}",\n         {joined})\n')


def minimal_text(case, at):
    """The module and the operands that show one element alone: (text, inputs, result)."""
    operands = [Array(a.type, (1,), a.bits[at:at + 1]) for a in case.inputs]
    out = Array(case.outputs[0].type, (1,))
    return one_op(case.opcode, operands, out, case.attributes), operands, out


def confirm(faults, run_xla):
    """Runs the one-element modules; the set of names of those that show their fault."""
    cases = []
    for fault in faults:
        if fault.minimal is not None:
            text, operands, out = fault.minimal
            cases.append(Case(fault.opcode, fault.type, f"fault.{fault.name}", text, operands, [out], None))
    results = run_xla(cases)
    shown = set()
    for fault, case in zip((f for f in faults if f.minimal is not None), cases):
        found = results[case.name]
        if not isinstance(found, str) and show(fault.result_type, found[0].reshape(-1)[fault.part]) == fault.xla:
            shown.add(fault.name)
    return shown


FAULTS = """# Where XLA:CPU is off

Made by `tests/conformance/conformance.py`; do not edit. Every cell of `coverage.md` where XLA:CPU ({xla}) is further from
the true value than rounding allows (integers, data movement, comparisons, + - x /, rounding: any difference; functions: 2 ULP
in f32 and f64, 1 in narrower types, 4 per part of complex numbers; sums and products of matrices: {steps:.0f} ULP of the largest
element), with its worst element. What flushing denormals to zero explains is left out: XLA:CPU does that by design.

A row's module is the one of its heading with its own types; `[n]` in the last column: the fault shows in an array of n
elements and not in one of a single element, because vector and scalar code differ. `varies`: the element is read from memory
that nothing has written (arrays of 1-bit integers), and may be right by chance.
`tests/conformance/fault_rows.py` runs the rows again.

"""


def write_faults(faults, deaths, path, xla_name, run_xla):
    shown = confirm(faults, run_xla)
    by_opcode = collections.defaultdict(list)
    for fault in faults:
        by_opcode[fault.opcode].append(fault)
    with open(path, "w") as file:
        file.write(FAULTS.format(xla=xla_name, steps=8.0))
        for opcode in sorted(by_opcode):
            _write_opcode(file, opcode, by_opcode[opcode], shown)
        _write_deaths(file, deaths)


class Death:
    """A case whose module kills the process."""

    def __init__(self, case):
        self.opcode, self.type, self.text = case.opcode, case.type, case.text
        self.result_type = case.outputs[0].type


def _write_deaths(file, deaths):
    file.write("## Modules that crash the process\n\n")
    by_opcode = collections.defaultdict(list)
    for death in deaths:
        by_opcode[death.opcode].append(death)
    for opcode in sorted(by_opcode):
        some = by_opcode[opcode]
        types = dict.fromkeys(d.type.name if opcode != "convert" else f"{d.type.name} to {d.result_type.name}" for d in some)
        file.write(f"{opcode}: {', '.join(types)}\n\n```\n{some[0].text.strip()}\n```\n\n")


def _worst_per_type(faults):
    """The worst fault of each pair of operand and result type and attributes, and how many elements are wrong."""
    best = {}
    for fault in faults:
        key = (fault.type.name, fault.result_type.name if fault.opcode == "convert" else "",
               fault.name.split(".")[2] if fault.opcode == "compare" else "")
        if key not in best or fault.distance > best[key].distance:
            best[key] = fault
    return best.values()


def _shows_in(fault, shown):
    if fault.minimal is None:
        return "as it stands"
    return "[1]" if fault.name in shown else "[" + ",".join(map(str, fault.case_inputs[-1][1])) + "]"


def _variant(fault):
    """What a case does besides its types: another reducer, other attributes. Those of convert and compare are in the types of a row."""
    return "" if fault.opcode in ("convert", "compare") else fault.name.split(".", 2)[2]


def _write_opcode(file, opcode, faults, shown):
    by_variant = collections.defaultdict(list)
    for fault in _worst_per_type(faults):
        by_variant[_variant(fault)].append(fault)
    file.write(f"## {opcode}\n\n")
    for k, (variant, some) in enumerate(by_variant.items()):
        _write_variant(file, f"### {variant}\n\n" if k > 0 else "", some, shown)


def _write_variant(file, heading, faults, shown):
    first = faults[0]
    file.write(f"{heading}```\n{(first.minimal[0] if first.minimal else first.text).strip()}\n```\n\n"
               "| types | operands | true | XLA:CPU | interpreter | ULP | elements | shows in |\n|---|---|---|---|---|---|---|---|\n")
    for fault in faults:
        types = fault.type.name if fault.opcode != "convert" else f"{fault.type.name} to {fault.result_type.name}"
        if fault.opcode == "compare":
            types += " " + fault.name.split(".")[2]
        size = _shows_in(fault, shown)
        operands = "; ".join(fault.operands) if fault.operands else ""
        file.write(f"| {types} | {operands} | {fault.true} | {fault.xla} | {fault.mine} | {number_text(fault.distance)} | "
                   f"{fault.count} | {size} |\n")
    file.write("\n")


def summary(cells):
    """The figures of the closing note."""
    ran = [c for c in cells if c.ours_ran]
    print(f"{len(cells)} cells: {sum(c.ours == 0 for c in ran)} exact, {sum(c.ours > 0 and not c.ours_wrong for c in ran)} "
          f"within bound, {sum(c.ours_wrong > 0 for c in ran)} failing, {len(cells) - len(ran)} unsupported; "
          f"{sum(c.elements for c in cells)} elements")
    print(f"XLA: {sum(c.xla_ran > 0 for c in cells)} cells run, {sum(c.xla_off for c in cells)} off, "
          f"{sum(c.xla_flushed > 0 and not c.xla_off for c in cells)} right but for denormals")
    for title, chosen in (("f32 and narrower", lambda t: t.kind == "float" and t.name != "f64"),
                          ("f64", lambda t: t.name == "f64"), ("complex", lambda t: t.kind == "complex")):
        worst = sorted(((c.ours, c.opcode, c.type.name) for c in ran if chosen(c.type)), reverse=True)[:5]
        print(title, worst)
    for cell in cells:
        if cell.ours_wrong or cell.ours_missing:
            print("not good:", cell.opcode, cell.type.name, cell.ours_text, cell.ours_wrong, sorted(cell.ours_missing)[:1])
