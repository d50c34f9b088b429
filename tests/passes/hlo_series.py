# A pass series as texts that can be edited: the stages of one module, and edits of single instructions in them.
import re
import subprocess

INSTRUCTION = re.compile(
    r'^(?P<indent>\s*)(?P<root>ROOT )?%?(?P<name>[\w.\-]+) = (?P<shape>[a-z]\w*\[[\d,]*\](?:\{[^}]*\})?) '
    r'(?P<opcode>[a-z][\w\-]*)\((?P<operands>[^()]*)\)(?P<rest>.*)$')
COMPUTATION = re.compile(r'^(ENTRY )?%?([\w.\-]+) .*\{\s*$')

BINARY = {'add': 'subtract', 'subtract': 'add', 'multiply': 'add', 'maximum': 'minimum', 'minimum': 'maximum',
          'divide': 'multiply', 'and': 'or', 'or': 'and'}
UNARY = {'exponential': 'tanh', 'tanh': 'sine', 'negate': 'exponential', 'sqrt': 'exponential', 'rsqrt': 'tanh',
         'log': 'negate', 'sine': 'cosine', 'cosine': 'sine', 'abs': 'negate', 'logistic': 'tanh'}
DIRECTIONS = {'LT': 'GE', 'GE': 'LT', 'GT': 'LE', 'LE': 'GT', 'EQ': 'NE', 'NE': 'EQ'}


class Line:
    """An instruction of a text: where it stands and its parts."""

    def __init__(self, number, computation, entry, match):
        self.number, self.computation, self.entry = number, computation, entry
        self.__dict__.update(match.groupdict())
        self.arguments = [a.strip().lstrip('%') for a in self.operands.split(',')] if self.operands.strip() else []

    def text(self, name=None, opcode=None, operands=None, rest=None):
        arguments = self.operands if operands is None else ', '.join('%' + a for a in operands)
        return (f'{self.indent}{self.root or ""}%{name or self.name} = {self.shape} {opcode or self.opcode}'
                f'({arguments}){self.rest if rest is None else rest}')


class Stage:
    def __init__(self, path, text):
        self.path, self.text = path, text
        self.lines = text.split('\n')
        self.instructions, computation, entry = [], '', False
        for number, line in enumerate(self.lines):
            heading = COMPUTATION.match(line)
            if heading and ' = ' not in line.split('{')[0]:
                computation, entry = heading.group(2), bool(heading.group(1))
            match = INSTRUCTION.match(line)
            if match:
                self.instructions.append(Line(number, computation, entry, match))
        self.by_name = {i.name: i for i in self.instructions}

    def shape_of(self, name):
        line = self.by_name.get(name)
        return re.sub(r'\{.*', '', line.shape) if line else None

    def with_line(self, number, line):
        lines = list(self.lines)
        if line is None:
            del lines[number]
        else:
            lines[number] = line
        return '\n'.join(lines)


def pass_of(file_name):
    """The pass that just ran, and its pipeline: NNNN.PIPELINE.after_PASS.before_NEXT."""
    match = re.search(r'\.\d{4}\.([^.]+)\.after_(.+?)(?:\.before_.*)?\.txt$', file_name)
    return (match.group(2), match.group(1)) if match else (None, None)


def read_series(hloscope, dump, into):
    """The numbered stages and the module before optimizations as full texts in `into`, in order."""
    into.mkdir(parents=True, exist_ok=True)
    by_stage = {}  # protos hold every constant in full
    for file in [*dump.glob('*.txt'), *dump.glob('*.hlo.pb')]:
        if is_stage(file.name):
            by_stage[file.name.removesuffix('.txt').removesuffix('.hlo.pb')] = file
    files = sorted(by_stage.values(), key=lambda p: ('before_optimizations' not in p.name, p.name))
    stages = []
    for file in files:
        target = into / file.name.replace('.hlo.pb', '.txt')
        if file.name.endswith('.txt'):
            target.write_text(file.read_text())
        else:
            done = subprocess.run([hloscope, 'convert', str(file), '-'], capture_output=True, text=True, check=True)
            target.write_text(done.stdout)
        stages.append(Stage(target, target.read_text()))
    return stages


def is_stage(name):
    return bool(re.search(r'\.\d{4}\.', name)) or 'before_optimizations.' in name


class Edit:
    """One change of the instruction `name`, as it can be made in every stage where that instruction is as it was."""

    def __init__(self, kind, name, make, expected):
        self.kind, self.name, self.make, self.expected = kind, name, make, expected

    def apply(self, stage):
        """The text of the stage with the edit; None where the instruction is not there in that form."""
        line = stage.by_name.get(self.name)
        return None if line is None else self.make(stage, line)


def edits_of(stage, line, rng):
    """All edits that can be made at an instruction."""
    made = []
    opcode, arguments = line.opcode, line.arguments

    def swap_opcode(table):
        def make(s, i):
            return s.with_line(i.number, i.text(opcode=table[opcode])) if i.opcode == opcode else None
        return make

    def swap_and_rename(table):
        """As a pass does that makes a new instruction: the name is new too."""
        def make(s, i):
            if i.opcode != opcode:
                return None
            text = s.with_line(i.number, i.text(opcode=table[opcode]))
            return re.sub(r'%' + re.escape(i.name) + r'(?![\w.\-])', '%' + new_name, text)
        new_name = f'{table[opcode]}.9{rng.randrange(1000)}'
        return make, new_name

    floats = line.shape.startswith(('f', 'bf'))
    if opcode in BINARY and (floats or opcode in ('add', 'subtract', 'maximum', 'minimum', 'and', 'or')):
        if floats or not line.shape.startswith('pred') or opcode in ('and', 'or'):
            made.append(Edit('opcode', line.name, swap_opcode(BINARY), line.name))
            made.append(Edit('renamed', line.name, *swap_and_rename(BINARY)))
    if opcode in UNARY and floats:
        made.append(Edit('opcode', line.name, swap_opcode(UNARY), line.name))
    if opcode == 'compare' and 'direction=' in line.rest:
        def turn(s, i):
            if i.opcode != 'compare':
                return None
            rest = re.sub(r'direction=(\w\w)', lambda m: 'direction=' + DIRECTIONS[m.group(1)], i.rest)
            return s.with_line(i.number, i.text(rest=rest))
        made.append(Edit('direction', line.name, turn, line.name))
    if opcode in ('subtract', 'divide', 'power') and len(set(arguments)) == 2:
        def swap(s, i):
            return s.with_line(i.number, i.text(operands=i.arguments[::-1])) if i.opcode == opcode else None
        made.append(Edit('swap', line.name, swap, line.name))
    if opcode == 'select' and len(set(arguments)) == 3:
        def exchange(s, i):
            return s.with_line(i.number, i.text(operands=[i.arguments[0], i.arguments[2], i.arguments[1]])) if i.opcode == opcode else None
        made.append(Edit('swap', line.name, exchange, line.name))
    if opcode == 'constant' and re.fullmatch(r'-?\d+\.?\d*(e-?\d+)?', line.operands.strip()) and floats:
        def change(s, i):
            if i.opcode != 'constant' or i.operands != line.operands:
                return None
            number = f'{float(i.operands) * 1.5 + 0.25:g}'
            return s.with_line(i.number, f'{i.indent}{i.root or ""}%{i.name} = {i.shape} constant({number}){i.rest}')
        made.append(Edit('constant', line.name, change, line.name))
    if opcode == 'slice':
        found = re.search(r'slice=\{\[(\d+):(\d+)\]', line.rest)
        if found and int(found.group(1)) > 0:
            def shift(s, i):
                if i.opcode != 'slice' or i.rest != line.rest:
                    return None
                low, high = int(found.group(1)) - 1, int(found.group(2)) - 1
                return s.with_line(i.number, i.text(rest=i.rest.replace(found.group(0), f'slice={{[{low}:{high}]')))
            made.append(Edit('slice', line.name, shift, line.name))
    droppable = opcode in ('multiply', 'add', 'subtract', 'divide', 'exponential', 'tanh', 'negate', 'sqrt', 'reverse', 'maximum')
    same = [a for a in arguments if stage.shape_of(a) == re.sub(r'\{.*', '', line.shape)]
    if droppable and same and not line.root:
        def drop(s, i):
            if i.opcode != opcode or i.root:
                return None
            kept = [a for a in i.arguments if s.shape_of(a) == re.sub(r'\{.*', '', i.shape)]
            if not kept:
                return None
            use = re.compile(r'%' + re.escape(i.name) + r'(?![\w.\-])')
            lines = list(s.lines)
            for k in range(len(lines)):
                if k != i.number and ' = ' in lines[k]:
                    head, tail = lines[k].split(' = ', 1)
                    lines[k] = head + ' = ' + use.sub('%' + kept[0], tail)
            del lines[i.number]
            return '\n'.join(lines)
        made.append(Edit('drop', line.name, drop, line.name))
    if len(arguments) == 2 and opcode in ('add', 'multiply', 'maximum', 'subtract'):
        earlier = [o.name for o in stage.instructions
                   if o.computation == line.computation and o.number < line.number and o.name not in arguments
                   and stage.shape_of(o.name) == stage.shape_of(arguments[1])]
        if earlier:
            other = rng.choice(earlier)
            def rewire(s, i):
                if i.opcode != opcode or other not in s.by_name:
                    return None
                o = s.by_name[other]
                if o.computation != i.computation or o.number > i.number or s.shape_of(other) != s.shape_of(i.arguments[1]):
                    return None
                return s.with_line(i.number, i.text(operands=[i.arguments[0], other]))
            made.append(Edit('rewire', line.name, rewire, line.name))
    return made


# Mantissa bits that are left where the last two are rounded away, and exponent bits, by element type.
SHORTER = {'f64': (50, 11), 'f32': (21, 8), 'f16': (8, 5), 'bf16': (5, 8)}


def rounding_edits(stage, line):
    """Edits that change no more than the last bits, as optimisations do that are allowed to."""
    element = line.shape.split('[')[0]
    if element not in SHORTER or line.root:
        return []
    mantissa, exponent = SHORTER[element]
    plain = re.sub(r'\{.*', '', line.shape)

    def instead(*parts, of=()):
        """The instruction made of others; {new} is its name, {shape} its shape, {0} and {1} its operands; the parts name `of` too."""
        def make(s, i):
            if i.opcode != line.opcode or i.root or i.arguments != line.arguments or not all(name in s.by_name for name in of):
                return None
            text = [i.indent + part.format(*('%' + a for a in i.arguments), new='%' + i.name, shape=i.shape, type=element, operation=i.opcode,
                                           operands=', '.join('%' + a for a in i.arguments), rest=i.rest) for part in parts]
            return s.with_line(i.number, '\n'.join(text))
        return make

    made = []
    if line.opcode in ('add', 'multiply', 'subtract', 'exponential', 'tanh', 'dot', 'divide', 'reduce'):
        made.append(Edit('last bits', line.name, instead(
            '{new}.full = {shape} {operation}({operands}){rest}',
            f'{{new}} = {{shape}} reduce-precision({{new}}.full), exponent_bits={exponent}, mantissa_bits={mantissa}'), line.name))
    one = ['{new}.one = {type}[] constant(1)', '{new}.ones = {shape} broadcast({new}.one), dimensions={{}}']
    if line.opcode in ('divide', 'multiply'):
        other = 'multiply' if line.opcode == 'divide' else 'divide'
        made.append(Edit('reciprocal', line.name, instead(
            *one, '{new}.reciprocal = {shape} divide({new}.ones, {1})', f'{{new}} = {{shape}} {other}({{0}}, {{new}}.reciprocal)'), line.name))
    if line.opcode in ('add', 'multiply') and line.arguments:
        inner = stage.by_name.get(line.arguments[0])
        if inner and inner.opcode == line.opcode and inner.computation == line.computation and stage.shape_of(inner.name) == plain:
            a, b = ('%' + name for name in inner.arguments)
            made.append(Edit('other order', line.name, instead(
                f'{{new}}.last = {{shape}} {{operation}}({b}, {{1}})', f'{{new}} = {{shape}} {{operation}}({a}, {{new}}.last)', of=inner.arguments), line.name))
    return made
