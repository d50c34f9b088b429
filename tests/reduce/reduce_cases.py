"""Failing modules of at least 300 instructions, each with one fault buried in it, and the fewest instructions known to show it.

  reduce_cases.py FOLDER   writes them as NAME.hlo"""
import dataclasses
import os
import sys


@dataclasses.dataclass
class Case:
    name: str
    text: str
    options: list        # of `hloscope reduce`
    smallest: int        # instructions of the smallest module known, in all computations
    kind: str            # of failure
    platform: str = ''   # '' : the interpreter, else what has to be there
    script: str = ''     # a shell script, its text
    environment: dict = dataclasses.field(default_factory=dict)


class Program:
    """A training step in the making: layers of a network around what is given."""

    def __init__(self, name):
        self.name, self.computations, self.lines, self.count = name, [], [], 0
        self.computations.append('sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}')
        self.add('x', 'f32[16,16] parameter(0)')
        self.add('w', 'f32[16,16] parameter(1)')
        self.add('bias', 'f32[16] parameter(2)')
        self.add('zero', 'f32[] constant(0)')
        self.add('rate', 'f32[] constant(0.01)')
        self.add('rates', 'f32[16,16] broadcast(rate), dimensions={}')
        self.add('zeros', 'f32[16,16] broadcast(zero), dimensions={}')
        self.value, self.results = 'x', []

    def add(self, name, text):
        self.lines.append(f'  {name} = {text}, metadata={{op_name="jit({self.name})/{name}" source_file="model.py" source_line={len(self.lines)}}}')
        return name

    def layers(self, count):
        for _ in range(count):
            n = self.count = self.count + 1
            v = self.value
            self.add(f'dot.{n}', f'f32[16,16] dot({v}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}')
            self.add(f'spread.{n}', 'f32[16,16] broadcast(bias), dimensions={1}')
            self.add(f'shifted.{n}', f'f32[16,16] add(dot.{n}, spread.{n})')
            self.add(f'tanh.{n}', f'f32[16,16] tanh(shifted.{n})')
            self.add(f'mean.{n}', f'f32[16] reduce(tanh.{n}, zero), dimensions={{1}}, to_apply=sum')
            self.add(f'means.{n}', f'f32[16,16] broadcast(mean.{n}), dimensions={{0}}')
            self.add(f'scaled.{n}', f'f32[16,16] multiply(means.{n}, rates)')
            self.add(f'centred.{n}', f'f32[16,16] subtract(tanh.{n}, scaled.{n})')
            self.add(f'turned.{n}', f'f32[16,16] transpose(centred.{n}), dimensions={{1,0}}')
            self.value = self.add(f'out.{n}', f'f32[16,16] add(turned.{n}, {v})')
            if n % 6 == 0:
                self.results.append(('f32[16]', f'mean.{n}'))

    def result(self, shape, name):
        self.results.append((shape, name))

    def text(self):
        self.result('f32[16,16]', self.value)
        shapes = ', '.join(s for s, _ in self.results)
        self.add('ROOT results', f'({shapes}) tuple({", ".join(v for _, v in self.results)})')
        inner = '\n'.join(self.computations)
        entry = '\n'.join(self.lines)
        return f'HloModule jit_{self.name}\n{inner}\nENTRY main {{\n{entry}\n}}\n'


def around(name, fill, before=16, after=16):
    program = Program(name)
    program.layers(before)
    fill(program)
    program.layers(after)
    return program.text()


MAXIMUM = 'largest {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT m = f32[] maximum(a, b)\n}'


def losing(p):
    """A reduction by maximum loses NaN."""
    p.computations.append(MAXIMUM)
    p.add('below', f'f32[16,16] abs({p.value})')
    p.add('lower', 'f32[16,16] subtract(zeros, below)')
    p.add('root', 'f32[16,16] sqrt(lower)')
    p.add('low', 'f32[] constant(-inf)')
    p.add('most', 'f32[16] reduce(root, low), dimensions={1}, to_apply=largest')
    p.result('f32[16]', 'most')


def sliced(p):
    """A dynamic-slice of a dynamic-slice that begins out of range."""
    p.add('row', f'f32[1,16] slice({p.value}), slice={{[0:1], [0:16]}}')
    p.add('flat', 'f32[16] reshape(row)')
    p.add('ramp', 'f32[16] iota(), iota_dimension=0')
    p.add('line', 'f32[16] add(flat, ramp)')
    p.add('three', 's32[] constant(3)')
    p.add('four', 's32[] constant(4)')
    p.add('less', f'f32[16,16] multiply(tanh.{p.count}, rates)')
    p.add('weight', 'f32[1,1] slice(less), slice={[0:1], [0:1]}')
    p.add('number', 'f32[] reshape(weight)')
    p.add('nothing', 's32[] convert(number)')
    p.add('third', 's32[] add(three, nothing)')
    p.add('twelfth', 's32[] multiply(third, four)')
    p.add('outer', 'f32[8] dynamic-slice(line, twelfth), dynamic_slice_sizes={8}')
    p.add('inner', 'f32[2] dynamic-slice(outer, third), dynamic_slice_sizes={2}')
    p.add('part', 'f32[] reduce(inner, zero), dimensions={0}, to_apply=sum')
    p.add('parts', 'f32[16,16] broadcast(part), dimensions={}')
    p.value = p.add('joined', f'f32[16,16] add(parts, {p.value})')


def single(p):
    """A reduction of one element forgets the initial value."""
    p.computations.append(MAXIMUM)
    p.add('column', f'f32[16,1] slice({p.value}), slice={{[0:16], [0:1]}}')
    p.add('below', 'f32[16,1] abs(column)')
    p.add('lower', 'f32[16,1] negate(below)')
    p.add('most', 'f32[16] reduce(lower, zero), dimensions={1}, to_apply=largest')
    p.result('f32[16]', 'most')


def summed(p):
    """The initial value of a long reduction is used several times."""
    p.add('long', 'f32[160] concatenate(' + ', '.join(f'mean.{i}' for i in range(1, 11)) + '), dimensions={0}')
    p.add('start', 'f32[] constant(100)')
    p.add('total', 'f32[] reduce(long, start), dimensions={0}, to_apply=sum')
    p.add('totals', 'f32[16,16] broadcast(total), dimensions={}')
    p.add('share', 'f32[16,16] multiply(totals, rates)')
    p.value = p.add('joined', f'f32[16,16] add(share, {p.value})')


def looped(p):
    """An integer divided by itself is one, also where it is zero: in the body of a loop in a called computation."""
    p.computations.append('''body {
  state = (s32[], s32[16,16], f32[16,16]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  v = s32[16,16] get-tuple-element(state), index=1
  kept = f32[16,16] get-tuple-element(state), index=2
  next = s32[] add(i, step)
  ratio = s32[16,16] divide(v, v)
  wide = f32[16,16] convert(ratio)
  more = f32[16,16] add(kept, wide)
  less = s32[16,16] subtract(v, v)
  ROOT all = (s32[], s32[16,16], f32[16,16]) tuple(next, less, more)
}'''.replace('  next =', '  step = s32[] constant(1)\n  next ='))
    p.computations.append('''condition {
  state = (s32[], s32[16,16], f32[16,16]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  most = s32[] constant(5)
  ROOT goes = pred[] compare(i, most), direction=LT
}''')
    p.computations.append('''called {
  given = f32[16,16] parameter(0)
  whole = s32[16,16] convert(given)
  begin = s32[] constant(0)
  init = (s32[], s32[16,16], f32[16,16]) tuple(begin, whole, given)
  loop = (s32[], s32[16,16], f32[16,16]) while(init), condition=condition, body=body
  ROOT got = f32[16,16] get-tuple-element(loop), index=2
}''')
    p.value = p.add('joined', f'f32[16,16] call({p.value}), to_apply=called')


def loop(p, name, body, iterations, value):
    """A loop over a counter `i` and a matrix `v`, which the lines of its body make `after`."""
    p.computations.append(f'''{name}.body {{
  state = (s32[], f32[16,16]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  v = f32[16,16] get-tuple-element(state), index=1
  step = s32[] constant(1)
  next = s32[] add(i, step)
{body}
  ROOT all = (s32[], f32[16,16]) tuple(next, after)
}}''')
    p.computations.append(f'''{name}.condition {{
  state = (s32[], f32[16,16]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  most = s32[] constant({iterations})
  ROOT goes = pred[] compare(i, most), direction=LT
}}''')
    p.computations.append(f'''{name} {{
  given = f32[16,16] parameter(0)
  begin = s32[] constant(0)
  init = (s32[], f32[16,16]) tuple(begin, given)
  turns = (s32[], f32[16,16]) while(init), condition={name}.condition, body={name}.body
  ROOT got = f32[16,16] get-tuple-element(turns), index=1
}}''')
    return f'f32[16,16] call({value}), to_apply={name}'


def grown(p):
    """An infinity: the product overflows in the thirteenth iteration."""
    body = '''  large = f32[] constant(1000)
  factors = f32[16,16] broadcast(large), dimensions={}
  size = f32[16,16] abs(v)
  more = f32[16,16] add(size, factors)
  after = f32[16,16] multiply(more, factors)'''
    p.value = p.add('joined', loop(p, 'growing', body, 40, p.value))


def switched(p):
    """A NaN: the branch that is taken in the last iteration takes the logarithm of what is below zero."""
    p.computations.append('ahead {\n  g = f32[16,16] parameter(0)\n  h = f32[16,16] abs(g)\n  k = f32[16,16] negate(h)\n'
                          '  two = f32[] constant(2)\n  twos = f32[16,16] broadcast(two), dimensions={}\n'
                          '  m = f32[16,16] subtract(k, twos)\n  ROOT l = f32[16,16] log(m)\n}')
    p.computations.append('same {\n  ROOT g = f32[16,16] parameter(0)\n}')
    body = '''  last = s32[] constant(9)
  is_last = pred[] compare(i, last), direction=EQ
  after = f32[16,16] conditional(is_last, v, v), true_computation=ahead, false_computation=same'''
    p.value = p.add('joined', loop(p, 'switching', body, 10, p.value))


def nested(p):
    """A loop in a loop, in whose second iteration an integer is divided by itself that is zero."""
    inner = '''  one = s32[] constant(1)
  left = s32[] subtract(one, i)
  whole = s32[16,16] broadcast(left), dimensions={}
  ratio = s32[16,16] divide(whole, whole)
  wide = f32[16,16] convert(ratio)
  after = f32[16,16] add(v, wide)'''
    inside = loop(p, 'inner', inner, 4, 'v')
    p.value = p.add('joined', loop(p, 'outer', f'  after = {inside}', 3, p.value))


def logged(p):
    """A NaN: the logarithm of what is below zero."""
    p.add('below', f'f32[16,16] abs({p.value})')
    p.add('negative', 'f32[16,16] negate(below)')
    p.add('lower', 'f32[16,16] subtract(negative, rates)')
    p.add('logged', 'f32[16,16] log(lower)')
    p.value = p.add('joined', f'f32[16,16] add(logged, {p.value})')


def crashing(p):
    """The plugin of the tests ends its process where it finds an erf."""
    p.add('error', f'f32[16,16] erf({p.value})')
    p.value = p.add('joined', f'f32[16,16] add(error, {p.value})')


def endless(p):
    """A loop that counts for too long."""
    p.computations.append('body {\n  s = (s32[], f32[16,16]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n'
                          '  one = s32[] constant(1)\n  j = s32[] add(i, one)\n'
                          '  v = f32[16,16] get-tuple-element(s), index=1\n  c = f32[16,16] cosine(v)\n'
                          '  ROOT n = (s32[], f32[16,16]) tuple(j, c)\n}')
    p.computations.append('condition {\n  s = (s32[], f32[16,16]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n'
                          '  most = s32[] constant(-1)\n  ROOT goes = pred[] compare(i, most), direction=NE\n}')
    p.add('begin', 's32[] constant(3)')
    p.add('init', f'(s32[], f32[16,16]) tuple(begin, {p.value})')
    p.add('loop', '(s32[], f32[16,16]) while(init), condition=condition, body=body')
    p.value = p.add('joined', 'f32[16,16] get-tuple-element(loop), index=1')


def huge(p):
    """More memory than there may be."""
    p.add('many', f'f32[16,16,4096,16] broadcast({p.value}), dimensions={{0,1}}')
    p.add('changed', 'f32[16,16,4096,16] negate(many)')
    p.add('folded', 'f32[16,16] reduce(changed, zero), dimensions={2,3}, to_apply=sum')
    p.value = p.add('joined', f'f32[16,16] add(folded, {p.value})')


def unknown_call(p):
    """A custom call that nobody has, in a conditional."""
    p.computations.append('taken {\n  g = f32[16,16] parameter(0)\n  h = f32[16,16] custom-call(g), custom_call_target="NoSuchCall"\n'
                          '  ROOT k = f32[16,16] negate(h)\n}')
    p.computations.append('other {\n  ROOT g = f32[16,16] parameter(0)\n}')
    p.add('first', f'f32[1,1] slice({p.value}), slice={{[0:1], [0:1]}}')
    p.add('one_number', 'f32[] reshape(first)')
    p.add('which', 'pred[] compare(one_number, rate), direction=GT')
    p.value = p.add('joined', f'f32[16,16] conditional(which, {p.value}, {p.value}), true_computation=taken, false_computation=other')


def unknown_random(p):
    """An error of the interpreter: it has no such custom call either."""
    p.add('strange', f'(f32[16,16], s32[4]) custom-call({p.value}, w), custom_call_target="AlsoMissing", custom_call_has_side_effect=true')
    p.value = p.add('joined', 'f32[16,16] get-tuple-element(strange), index=0')


def combined(p):
    """A script that wants a cosine of a sort."""
    p.computations.append('ahead {\n  l = f32[] parameter(0)\n  r = f32[] parameter(1)\n  ROOT c = pred[] compare(l, r), direction=LT\n}')
    p.add('sorted', f'f32[16,16] sort({p.value}), dimensions={{1}}, to_apply=ahead')
    p.add('cosine', 'f32[16,16] cosine(sorted)')
    p.value = p.add('joined', f'f32[16,16] add(cosine, {p.value})')


AGAINST = ['--platform', 'xla-cpu', '--reference_platform', 'interpreter']
SCRIPT = '#!/bin/sh\ngrep -q " sort(" "$1" && grep -q " cosine(" "$1"\n'
CASES = [
    Case('losing', around('losing', losing), AGAINST, 6, 'differs', 'xla-cpu'),
    Case('sliced', around('sliced', sliced), AGAINST, 5, 'differs', 'xla-cpu'),
    Case('single', around('single', single), AGAINST, 6, 'differs', 'xla-cpu'),
    Case('summed', around('summed', summed), AGAINST, 6, 'differs', 'xla-cpu'),
    Case('looped', around('looped', looped), AGAINST, 2, 'differs', 'xla-cpu'),
    Case('grown', around('grown', grown), ['--find', 'inf'], 2, 'nan'),
    Case('switched', around('switched', switched), ['--find', 'nan'], 2, 'nan'),
    Case('nested', around('nested', nested), AGAINST, 2, 'differs', 'xla-cpu'),
    Case('logged', around('logged', logged), ['--find', 'nan'], 2, 'nan'),
    Case('crashing', around('crashing', crashing), [], 2, 'signal', 'fault', '', {'HLOSCOPE_FAULT': 'erf=abort'}),
    Case('endless', around('endless', endless, 16, 15), ['--deadline', '1'], 8, 'deadline'),
    Case('huge', around('huge', huge), ['--memory', '32M'], 2, 'memory'),
    Case('unknown_call', around('unknown_call', unknown_call), ['--platform', 'xla-cpu'], 2, 'error', 'xla-cpu'),
    Case('unknown_random', around('unknown_random', unknown_random), [], 3, 'error'),
    Case('combined', around('combined', combined), [], 6, 'script', '', SCRIPT),
]

if __name__ == '__main__':
    os.makedirs(sys.argv[1], exist_ok=True)
    for case in CASES:
        with open(os.path.join(sys.argv[1], case.name + '.hlo'), 'w') as f:
            f.write(case.text)
