"""`hloscope diverge`: two modules, planted edits in a pass series, and real faults on XLA where its plugin is there."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import unittest
import zipfile

from command_tests import NESTED_SLICES, FolderTest, npy, ready_platforms

HLOSCOPE, SAMPLES = sys.argv[1], pathlib.Path(sys.argv[2])
PLANTED = pathlib.Path(__file__).parent.parent / 'passes' / 'planted.py'

MODULE = '''HloModule m
f { a = f32[8] parameter(0)
 b = f32[8] parameter(1)
 s = f32[8] subtract(a, b)
 ROOT t = f32[8] multiply(s, s) }
sum { p = f32[] parameter(0)
 q = f32[] parameter(1)
 ROOT u = f32[] add(p, q) }
ENTRY e {
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  z = f32[8] exponential(x)
  g = f32[8] fusion(z, y), kind=kLoop, calls=f
  h = f32[8] tanh(g)
  zero = f32[] constant(0)
  ROOT r = f32[] reduce(h, zero), dimensions={0}, to_apply=sum
}
'''
MAXIMUM_OF_NAN = '''HloModule reduce_max_of_nan
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}
ENTRY e {
  x = f32[64] parameter(0)
  low = f32[] constant(-inf)
  ROOT r = f32[] reduce(x, low), dimensions={0}, to_apply=max
}
'''
NESTED_RESULT = '''HloModule m
add {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}
ENTRY e {
  p = s32[1,4] parameter(0)
  k = s32[] constant(7)
  r = s32[4] reduce(p, k), dimensions={0}, to_apply=add
  t = (s32[4]) tuple(r)
  ROOT u = ((s32[4]), s32[1,4]) tuple(t, p)
}
'''
# A loop in a called computation, and the same inlined and with the conversion hoisted out of it: no name is kept, and the state of
# the loop has another type. FLIPPED are the dimensions of the first reverse.
CALLED_LOOP = '''HloModule m
step {
  k.2 = s32[] parameter(0)
  x.2 = f32[4] parameter(1)
  kf.2 = f32[] convert(k.2)
  kb.2 = f32[4] broadcast(kf.2), dimensions={}
  r.2 = f32[4] reverse(x.2), dimensions={0}
  ROOT y.2 = f32[4] multiply(r.2, kb.2)
}
body {
  p = (s32[], f32[4], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1
  k = s32[] get-tuple-element(p), index=2
  y = f32[4] call(k, x), to_apply=step
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[4], s32[]) tuple(j, y, k)
}
cond {
  p.1 = (s32[], f32[4], s32[]) parameter(0)
  i.1 = s32[] get-tuple-element(p.1), index=0
  n = s32[] constant(3)
  ROOT lt = pred[] compare(i.1, n), direction=LT
}
inner {
  a.1 = f32[4] parameter(0)
  k.0 = s32[] constant(2)
  r = f32[4] reverse(a.1), dimensions={0}
  zero = s32[] constant(0)
  init = (s32[], f32[4], s32[]) tuple(zero, r, k.0)
  w = (s32[], f32[4], s32[]) while(init), condition=cond, body=body
  ROOT out = f32[4] get-tuple-element(w), index=1
}
ENTRY e {
  a = f32[4] parameter(0)
  ROOT called = f32[4] call(a), to_apply=inner
}
'''
WIDE_LOOP = '''HloModule m
wide.body {
  wide.p = (s32[], f32[4], f32[]) parameter(0)
  get.0 = s32[] get-tuple-element(wide.p), index=0
  get.1 = f32[4] get-tuple-element(wide.p), index=1
  rev.9 = f32[4] reverse(get.1), dimensions={0}
  get.2 = f32[] get-tuple-element(wide.p), index=2
  bro.1 = f32[4] broadcast(get.2), dimensions={}
  mul.1 = f32[4] multiply(rev.9, bro.1)
  con.1 = s32[] constant(1)
  add.1 = s32[] add(get.0, con.1)
  ROOT tup.1 = (s32[], f32[4], f32[]) tuple(add.1, mul.1, get.2)
}
wide.cond {
  wide.p.1 = (s32[], f32[4], f32[]) parameter(0)
  get.5 = s32[] get-tuple-element(wide.p.1), index=0
  con.5 = s32[] constant(3)
  ROOT cmp.5 = pred[] compare(get.5, con.5), direction=LT
}
ENTRY e {
  a = f32[4] parameter(0)
  rev.3 = f32[4] reverse(a), dimensions={FLIPPED}
  con.6 = s32[] constant(0)
  con.7 = s32[] constant(2)
  cvt.7 = f32[] convert(con.7)
  tup.7 = (s32[], f32[4], f32[]) tuple(con.6, rev.3, cvt.7)
  whi.7 = (s32[], f32[4], f32[]) while(tup.7), condition=wide.cond, body=wide.body
  ROOT get.7 = f32[4] get-tuple-element(whi.7), index=1
}
'''
# A computation that is called three times, the same with each call inlined, and with two of the calls in another computation.
CALLED_THRICE = '''HloModule m
step {
  p = f32[4] parameter(0)
  two = f32[] constant(2)
  b = f32[4] broadcast(two), dimensions={}
  m = f32[4] multiply(p, b)
  ROOT s = f32[4] sine(m)
}
ENTRY e {
  x = f32[4] parameter(0)
  c1 = f32[4] call(x), to_apply=step
  n = f32[4] negate(c1)
  c2 = f32[4] call(n), to_apply=step
  e1 = f32[4] exponential(c2)
  ROOT c3 = f32[4] call(e1), to_apply=step
}
'''
CALLED_TWICE_DEEP = CALLED_THRICE.replace('''ENTRY e {
  x = f32[4] parameter(0)
  c1 = f32[4] call(x), to_apply=step
  n = f32[4] negate(c1)
  c2 = f32[4] call(n), to_apply=step
''', '''outer {
  x.1 = f32[4] parameter(0)
  c1 = f32[4] call(x.1), to_apply=step
  n = f32[4] negate(c1)
  ROOT c2 = f32[4] call(n), to_apply=step
}
ENTRY e {
  x = f32[4] parameter(0)
  c2 = f32[4] call(x), to_apply=outer
''')
INLINED = '''HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  t1 = f32[] constant(2)
  b1 = f32[4] broadcast(t1), dimensions={}
  m1 = f32[4] multiply(x, b1)
  sin1 = f32[4] sine(m1)
  n = f32[4] negate(sin1)
  t2 = f32[] constant(2)
  b2 = f32[4] broadcast(t2), dimensions={}
  m2 = f32[4] multiply(n, b2)
  sin2 = f32[4] sine(m2)
  e1 = f32[4] exponential(sin2)
  t3 = f32[] constant(2)
  b3 = f32[4] broadcast(t3), dimensions={}
  m3 = f32[4] multiply(e1, b3)
  ROOT sin3 = f32[4] sine(m3)
}
'''
# Each call as a fusion of its own.
FUSED = 'HloModule m\n' + ''.join(f'''fused{n} {{
  p{n} = f32[4] parameter(0)
  t{n} = f32[] constant(2)
  b{n} = f32[4] broadcast(t{n}), dimensions={{}}
  m{n} = f32[4] multiply(p{n}, b{n})
  ROOT sin{n} = f32[4] sine(m{n})
}}
''' for n in (1, 2, 3)) + '''ENTRY e {
  x = f32[4] parameter(0)
  f1 = f32[4] fusion(x), kind=kLoop, calls=fused1
  n = f32[4] negate(f1)
  f2 = f32[4] fusion(n), kind=kLoop, calls=fused2
  e1 = f32[4] exponential(f2)
  ROOT f3 = f32[4] fusion(e1), kind=kLoop, calls=fused3
}
'''
DIVIDED_BY_ITSELF = '''HloModule zero_by_itself
ENTRY e {
  x = s32[3] parameter(0)
  ROOT r = s32[3] divide(x, x)
}
'''


def run(*arguments):
    done = subprocess.run([HLOSCOPE, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def diverge(*arguments):
    """Exit status and the one line of JSON."""
    status, out, err = run('diverge', *arguments, '--json')
    lines = out.splitlines()
    assert len(lines) == 1, (out, err)
    return status, json.loads(lines[0])


class TwoModules(FolderTest):
    def check(self, old, new, instruction, computation, what):
        self.assertIn(old, MODULE)
        a, b = self.path('a.hlo', MODULE.replace(old, new)), self.path('b.hlo', MODULE)
        status, verdict = diverge(a, b)
        self.assertEqual((status, verdict['status'], verdict['instruction'], verdict['computation']),
                         (1, 'differs', instruction, computation), verdict)
        edit = verdict['edit']  # the first module is what was, the second what it became
        self.assertIn(what, edit['what'])
        self.assertIn(what, verdict['verdict'])
        self.assertEqual(edit['diff'], f"- {edit['before']}\n+ {edit['after']}\n")

    def test_inside_a_fusion(self):
        self.check('subtract(a, b)', 'add(a, b)', 's', 'f', 'add became subtract')

    def test_operand(self):
        self.check('multiply(s, s)', 'multiply(s, a)', 't', 'f', 'operand 1 was a and became s')

    def test_operand_of_a_fusion(self):
        self.check('fusion(z, y)', 'fusion(x, y)', 'g', 'e', 'operand 0 was x and became z')

    def test_inside_a_reducer(self):
        self.check('add(p, q)', 'maximum(p, q)', 'u', 'sum', 'maximum became add')

    def test_constant(self):
        self.check('constant(0)', 'constant(2)', 'zero', 'e', 'value was 2 and became 0')

    def test_removed(self):
        a = self.path('a.hlo', MODULE.replace('  z = f32[8] exponential(x)\n', '').replace('(z, y)', '(x, y)'))
        _, verdict = diverge(a, self.path('b.hlo', MODULE))
        self.assertEqual((verdict['instruction'], verdict['computation']), ('z', 'e'), verdict)
        self.assertIsNone(verdict['edit']['before'])
        self.assertIn('exponential z was added', verdict['verdict'])

    def test_a_state_of_a_loop_with_other_elements(self):
        # Tuples only carry values: what made the one that differs is named, outside of the loop that reads it.
        a = self.path('a.hlo', CALLED_LOOP)
        status, verdict = diverge(a, self.path('b.hlo', WIDE_LOOP.replace('FLIPPED', '')))
        self.assertEqual((status, verdict['instruction'], verdict['computation'], verdict.get('calls')), (1, 'r', 'inner', None), verdict)
        self.assertIn('dimensions was {0} and became {}', verdict['verdict'])
        status, verdict = diverge(a, self.path('c.hlo', WIDE_LOOP.replace('FLIPPED', '0')))
        self.assertEqual((status, verdict['status']), (0, 'equal'), verdict)

    def test_what_one_side_calls_several_times_and_the_other_inlined(self):
        # One of three copies is another operation: each call is paired with its own copy.
        a = self.path('a.hlo', CALLED_THRICE)
        for number, call in ((1, 'c1'), (2, 'c2'), (3, 'c3')):
            b = self.path('b.hlo', INLINED.replace(f'm{number} = f32[4] multiply', f'm{number} = f32[4] add'))
            status, verdict = diverge(a, b)
            self.assertEqual((status, verdict['instruction'], verdict['computation'], verdict['calls']),
                             (1, 'm', 'step', f'called by {call}'), verdict)
            self.assertEqual(verdict['edit']['what'], 'multiply became add')
            self.assertIn(f'm{number} = ', verdict['edit']['after'])
            self.assertIn('first differs at m in step (called by ' + call, verdict['verdict'])
            status, verdict = diverge(b, a)
            self.assertEqual((status, verdict['instruction'], verdict['computation'], verdict.get('calls')), (1, f'm{number}', 'e', None), verdict)
            self.assertEqual(verdict['edit']['what'], 'add became multiply')
        # The same against fusions, in calls of calls, and in all three: one finding.
        inlined = INLINED.replace('m2 = f32[4] multiply', 'm2 = f32[4] add')
        for text, other in ((CALLED_THRICE, FUSED.replace('m2 = f32[4] multiply', 'm2 = f32[4] add')), (CALLED_TWICE_DEEP, inlined)):
            status, verdict = diverge(self.path('c.hlo', text), self.path('b.hlo', other))
            self.assertEqual((status, verdict['instruction'], verdict['computation']), (1, 'm', 'step'), verdict)
            self.assertIn('called by c2', verdict['calls'])
            self.assertNotIn('~', json.dumps(verdict))
        status, verdict = diverge(a, self.path('b.hlo', INLINED.replace('multiply', 'add')))
        self.assertEqual((verdict['instruction'], verdict['calls'], verdict['edit']['what']), ('m', 'called by c1', 'multiply became add'), verdict)

    def test_what_both_call_several_times(self):
        results = CALLED_THRICE.replace('ROOT c3 = f32[4] call(e1), to_apply=step', 'ROOT t = (f32[4], f32[4]) tuple(c2, c1)')
        a, b = self.path('a.hlo', results), self.path('b.hlo', results.replace('multiply', 'add'))
        status, verdict = diverge(a, b)
        self.assertEqual((status, verdict['instruction'], verdict['computation'], verdict['edit']['what'], verdict['findings'][1:]),
                         (1, 'm', 'step', 'multiply became add', []), verdict)

    def test_expected_values_are_not_of_two_modules(self):
        a = self.path('a.hlo', MODULE)
        status, verdict = diverge(a, a, '--expect', self.path('nowhere.npz'))
        self.assertEqual(status, 2, verdict)
        self.assertIn('compared with each other, not with expected values', verdict['error'])

    def test_two_edits_of_results_of_their_own(self):
        # Two faults: the sine of the first result, the constant of the second; the third is right.
        right = """HloModule m
ENTRY e {
  x = f32[64] parameter(0)
  y = f32[64] parameter(1)
  p = f32[64] multiply(x, y)
  s = f32[64] sine(x)
  c = f32[64] cosine(y)
  k = f32[] constant(2.5)
  kb = f32[64] broadcast(k), dimensions={}
  q = f32[64] multiply(c, kb)
  ROOT t = (f32[64], f32[64], f32[64]) tuple(s, q, p)
}
"""
        a, b = self.path('a.hlo', right.replace('sine(x)', 'tan(x)').replace('constant(2.5)', 'constant(2.75)')), self.path('b.hlo', right)
        status, verdict = diverge(a, b)
        first, second = verdict['findings']
        self.assertEqual((status, first['results'], second['results']), (1, [0], [1]), verdict)
        self.assertEqual((first['instruction'], second['instruction'], verdict['instruction']), ('s', 'k', 's'))
        self.assertEqual(verdict['worst']['index'], [0])  # what the first edit leads to
        self.assertIn('; out1 differs for another reason, first at k in e: value was 2.75 and became 2.5', verdict['verdict'])
        # One edit that both come from is one finding.
        both = right.replace('sine(x)', 'sine(p)').replace('cosine(y)', 'cosine(p)')
        a, b = self.path('a.hlo', both.replace('multiply(x, y)', 'add(x, y)')), self.path('b.hlo', both)
        status, verdict = diverge(a, b)
        self.assertEqual((status, [one['instruction'] for one in verdict['findings']]), (1, ['p']), verdict)
        self.assertNotIn('another reason', verdict['verdict'])

    def test_same_meaning(self):
        a = self.path('a.hlo', MODULE.replace('multiply(s, s)', 'power(s, two)').replace(
            ' s = f32[8]', ' one = f32[] constant(2)\n two = f32[8] broadcast(one), dimensions={}\n s = f32[8]'))
        status, verdict = diverge(a, self.path('b.hlo', MODULE))
        self.assertEqual((status, verdict['status'], verdict['instruction'], verdict['pass']), (0, 'equal', None, None))

    def test_attributes_are_written_as_in_the_text(self):
        text = """HloModule m, replica_count=2
ENTRY e {
  x = f32[8] parameter(0)
  p = f32[8] collective-permute(x), source_target_pairs={{0,1},{1,0}}
  ROOT s = f32[4] slice(p), slice={[0:4]}
}
"""
        for old, new, what in (('{{0,1},{1,0}}', '{{0,0},{1,1}}', 'source_target_pairs was {{0,0},{1,1}} and became {{0,1},{1,0}}'),
                               ('{[0:4]}', '{[4:8]}', 'slice was {[4:8]} and became {[0:4]}')):
            a, b = self.path('a.hlo', text.replace(old, new)), self.path('b.hlo', text)
            _, verdict = diverge(a, b)
            self.assertIn(what, verdict['verdict'])
            self.assertIn('; out0: ', verdict['verdict'])  # the counts are not those of p

    def test_other_parameters_are_named(self):
        a = self.path('a.hlo', 'HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  ROOT r = f32[3] negate(x)\n}\n')
        for shape, said in (('f32[4]', 'parameter 0 is f32[4], and f32[3] in'), ('s32[3]', 'parameter 0 is s32[3], and f32[3] in')):
            b = self.path('b.hlo', open(a).read().replace('f32[3]', shape))
            status, verdict = diverge(a, b)
            self.assertEqual((status, verdict['status']), (2, 'error'), verdict)
            self.assertIn(f'{b}: {said} {a}', verdict['errors'][0])

    def test_refusals(self):
        a = self.path('a.hlo', MODULE)
        for arguments, code in (((a,), 2), ((a, '--passes', a), 2), ((a, self.path('none.hlo')), 2)):
            status, verdict = diverge(*arguments)
            self.assertEqual((status, verdict['status']), (code, 'error'), verdict)
            self.assertTrue(verdict['errors'])


ROUNDED = '''HloModule m
ENTRY e {
  x = f32[64] parameter(0)
  w = f32[64,64] parameter(1)
  a = f32[64] tanh(x)
  r = f32[64] reduce-precision(a), exponent_bits=8, mantissa_bits=5
  h = bf16[64] convert(a)
  b = f32[64] convert(h)
  k = f32[] constant(1e-3)
  s = f32[64] broadcast(k), dimensions={}
  m = f32[64] multiply(r, s)
  n = f32[64] multiply(b, s)
  d = f32[64] dot(w, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}
  ROOT t = (f32[64], f32[64], f32[64]) tuple(m, n, d)
}
'''


class Roundings(FolderTest):
    """What the bounds of the results' type hide: the results are smaller than their absolute bound, or double precision hides it."""

    def series(self, edited, after):
        folder = pathlib.Path(self.path('series'))
        folder.mkdir()
        (folder / 'module_0000.m.before_optimizations.txt').write_text(ROUNDED)
        (folder / f'module_0000.m.0001.simplification.after_{after}.before_dce.txt').write_text(edited)
        return diverge('--passes', folder)

    def edit(self, old, new, after='reshape-mover'):
        self.assertIn(old, ROUNDED)
        return self.series(ROUNDED.replace(old, new), after)

    def test_dropped_reduce_precision(self):
        status, verdict = self.edit('reduce-precision(a), exponent_bits=8, mantissa_bits=5', 'copy(a)')
        self.assertEqual((status, verdict['pass'], verdict['instruction']), (1, 'reshape-mover', 'r'), verdict)

    def test_bits_of_reduce_precision(self):
        status, verdict = self.edit('mantissa_bits=5', 'mantissa_bits=23')
        self.assertEqual((status, verdict['pass'], verdict['instruction']), (1, 'reshape-mover', 'r'), verdict)
        self.assertIn('mantissa_bits', verdict['edit']['what'])

    def test_exponent_bits(self):
        _, verdict = self.edit('exponent_bits=8', 'exponent_bits=3')
        self.assertIn('r: exponent_bits 8 became 3', ' '.join(verdict['warnings']))

    def test_dropped_conversions(self):
        status, verdict = self.edit('multiply(b, s)', 'multiply(a, s)')
        self.assertEqual((status, verdict['pass'], verdict['instruction']), (1, 'reshape-mover', 'n'), verdict)

    def test_conversions_that_a_pass_may_drop(self):
        status, verdict = self.edit('multiply(b, s)', 'multiply(a, s)', 'simplify-fp-conversions')
        self.assertEqual(status, 0, verdict)
        self.assertIn('simplify-fp-conversions changed where values are rounded', ' '.join(verdict['warnings']))

    def test_no_pass_may_drop_reduce_precision(self):
        status, verdict = self.edit('reduce-precision(a), exponent_bits=8, mantissa_bits=5', 'copy(a)', 'simplify-fp-conversions')
        self.assertEqual((status, verdict['pass']), (1, 'simplify-fp-conversions'), verdict)

    def test_precision_of_a_dot(self):
        status, verdict = self.edit('operand_precision={highest,highest}', 'operand_precision={default,default}')
        self.assertEqual(status, 0, verdict)
        self.assertIn('d: operand_precision', ' '.join(verdict['warnings']))

    def test_order_of_sums_is_no_rounding(self):
        status, verdict = self.edit('n = f32[64] multiply(b, s)', 'n = f32[64] multiply(s, b)')
        self.assertEqual((status, verdict['warnings'][1:]), (0, []), verdict)

    def test_text_that_is_not_its_proto(self):
        folder = pathlib.Path(self.path('both'))
        folder.mkdir()
        name = 'module_0000.m.before_optimizations'
        (folder / f'{name}.txt').write_text(ROUNDED)
        self.assertEqual(run('convert', folder / f'{name}.txt', folder / f'{name}.hlo.pb')[0], 0)
        told = ' '.join(diverge('--passes', folder)[1]['warnings'])
        self.assertNotIn('differs from', told)
        (folder / f'{name}.txt').write_text(ROUNDED.replace('constant(1e-3)', 'constant(2e-3)'))
        told = ' '.join(diverge('--passes', folder)[1]['warnings'])
        self.assertIn(f'{name}.txt: differs from {name}.hlo.pb, which is used: k in e: constant value differs', told)


SMALL_TANH = '''HloModule m
ENTRY e {
  x = f32[64] parameter(0)
  y = bf16[64] convert(x)
  ROOT t = bf16[64] tanh(y)
}
'''
SCALED = '''HloModule m
ENTRY e {
  x = f32[64] parameter(0)
  k = f32[] constant(0.7)
  b = f32[64] broadcast(k), dimensions={}
  y = f32[64] multiply(x, b)
  m = f32[] constant(1.3)
  c = f32[64] broadcast(m), dimensions={}
  ROOT z = f32[64] multiply(y, c)
}
'''
FOLDED = '''HloModule m
ENTRY e {
  x = f32[64] parameter(0)
  n = f32[] constant(0.91)
  d = f32[64] broadcast(n), dimensions={}
  ROOT z = f32[64] multiply(x, d)
}
'''


class WithinTheBounds(FolderTest):
    """Another function is one, whatever the values of these inputs allow; rounding is none."""

    def series(self, before, after):
        folder = pathlib.Path(self.path('series'))
        folder.mkdir()
        (folder / 'module_0000.m.before_optimizations.txt').write_text(before)
        (folder / 'module_0000.m.0001.simplification.after_reshape-mover.before_dce.txt').write_text(after)
        return folder

    def inputs(self):
        return self.npy_inputs(('<f4', [64], [0.005 * n for n in range(64)]))

    def test_the_pass_is_blamed(self):
        folder = self.series(SMALL_TANH, SMALL_TANH.replace('tanh(', 'sine('))
        for bounds in ((), ('--abs_error_bound', '0', '--rel_error_bound', '0')):
            status, verdict = diverge('--passes', folder, *self.inputs(), *bounds)
            self.assertEqual((status, verdict['pass'], verdict['instruction'], verdict['cause']), (1, 'reshape-mover', 't', None), verdict)
            self.assertIn('tanh became sine', verdict['verdict'])
            self.assertEqual('agree within the bounds' in verdict['verdict'], not bounds, verdict['verdict'])
            self.assertIs(verdict['passes'][0]['within_bounds'], not bounds)

    def test_two_modules(self):
        a, b = self.path('a.hlo', SMALL_TANH.replace('tanh(', 'sine(')), self.path('b.hlo', SMALL_TANH)
        status, verdict = diverge(b, a, *self.inputs())
        self.assertEqual((status, verdict['status'], verdict['instruction']), (0, 'equal', 't'), verdict)
        self.assertIn('the results agree within the bounds (bf16: 0.04 absolute or relative): ', verdict['verdict'])
        self.assertIn('; the operations differ at t in e: tanh became sine', verdict['verdict'])

    def test_operations_that_differ_without_effect(self):
        module = 'HloModule m\nENTRY e {\n  x = f32[8] parameter(0)\n  y = f32[8] parameter(1)\n  m = f32[8] multiply(x, y)\n' \
                 '  n = f32[8] negate(x)\n  ROOT r = f32[8] subtract(m, n)\n}\n'
        a = self.path('a.hlo', module)
        status, verdict = diverge(a, self.path('b.hlo', module.replace('subtract(m, n)', 'add(m, x)')))
        self.assertEqual((status, verdict['status'], verdict['operations']['changed']), (0, 'equal', 1), verdict)
        self.assertEqual(verdict['verdict'], 'the results are equal on these inputs; the operations differ (1 changed): '
                                             'first r in e: opcode subtract became add')
        # Other bits, within the bounds, which are said.
        status, verdict = diverge(a, self.path('c.hlo', module.replace('subtract(m, n)', 'subtract(m, q)').replace(
            '  ROOT', '  k = f32[] constant(-1.0000001)\n  kb = f32[8] broadcast(k), dimensions={}\n  q = f32[8] multiply(x, kb)\n  ROOT')))
        self.assertEqual((status, verdict['status'], verdict['operations']['added']), (0, 'equal', 3), verdict)
        self.assertIn('the results agree within the bounds (f32: 0.0001 absolute or relative): ', verdict['verdict'])
        self.assertIn('; the operations differ (', verdict['verdict'])
        status, verdict = diverge(a, self.path('d.hlo', module.replace(' n =', ' other =').replace(', n)', ', other)')))
        self.assertEqual((status, verdict['verdict'], verdict['operations']['differences']),
                         (0, 'the results are equal on these inputs; the operations are the same', []))

    def test_the_bundle_has_both(self):
        module = 'HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  s = f32[4] multiply(x, x)\n  k = f32[] constant(SCALE)\n' \
                 '  kb = f32[4] broadcast(k), dimensions={}\n  ROOT z = f32[4] multiply(s, kb)\n}\n'
        out = self.path('f.hlob')
        # Errors that only bounds for small values show are a difference in the bundle too.
        for scale, values in (('1', 'shapes'), ('1e-6', 'all'), ('1e-6', 'none')):
            a = self.path('a.hlo', module.replace('SCALE', scale))
            b = self.path('b.hlo', module.replace('SCALE', scale).replace('multiply(x', 'add(x'))
            status, verdict = diverge(a, b, '--bundle', out, '--values', values)
            self.assertEqual((status, verdict['bundle']['replayed']), (1, 'reproduced'), verdict)
            with zipfile.ZipFile(out) as parts:
                self.assertIn(b'add(', parts.read('other.hlo'))
                self.assertNotIn(b'add(', parts.read('module.hlo'))
                self.assertIn(b'hloscope diverge module.hlo other.hlo', parts.read('report.md'))
                self.assertIn(b'other.hlo on the same inputs', parts.read('report.md'))
            self.assertEqual(json.loads(run('bundle', 'check', out, '--json')[1])['status'], 'reproduced')
        # Of two modules f64 is held to its own bounds, although one of them computes in f32.
        head = 'HloModule m\nENTRY e {\n  x = f64[4] parameter(0)\n  k3 = f64[] constant(3)\n  kb = f64[4] broadcast(k3), dimensions={}\n  p = f64[4] add(x, kb)\n'
        a = self.path('a.hlo', head + '  c = f32[4] convert(p)\n  d = f32[4] multiply(c, c)\n  ROOT m = f64[4] convert(d)\n}\n')
        b = self.path('b.hlo', head + '  ROOT m = f64[4] multiply(p, p)\n}\n')
        status, verdict = diverge(a, b, '--bundle', out)
        self.assertEqual((status, verdict['status'], verdict['bundle']['replayed']), (1, 'differs', 'reproduced'), verdict)
        check = json.loads(run('bundle', 'check', out, '--json')[1])
        self.assertIn('differs', check['replayed'] if isinstance(check.get('replayed'), str) else json.dumps(check))
        # What a constant of the second spells is said as well.
        spelled = 'ghp_' + 'a1B2c3D4e5F6g7H8i9J0' + 'k1L2m3N4o5P6q7R8'
        letters = ', '.join(str(ord(c)) for c in spelled)
        b = self.path('b.hlo', head + f'  k = u8[{len(spelled)}] constant({{{letters}}})\n  q = f64[{len(spelled)}] convert(k)\n'
                      '  s = f64[1] slice(q), slice={[0:1]}\n  t = f64[] reshape(s)\n  u = f64[4] broadcast(t), dimensions={}\n'
                      '  ROOT m = f64[4] multiply(p, u)\n}\n')
        status, out_text, err = run('diverge', a, b, '--bundle', out)
        self.assertIn('other.hlo: ', out_text + err)
        # `reduce` runs one module alone.
        status, _, err = run('reduce', out, '-o', self.path('small.hlo'))
        self.assertEqual(status, 2)
        self.assertIn('compared with other.hlo, which is not run here', err)
        status, verdict = diverge(a, a, '--bundle', out)
        self.assertEqual((status, verdict['bundle']['replayed']), (0, 'reproduced'), verdict)

    def test_platforms_are_not_of_two_modules(self):
        a = self.path('a.hlo', SMALL_TANH)
        for option in ('--platform', '--reference_platform'):
            status, verdict = diverge(a, a, option, 'cpu')
            self.assertEqual(status, 2, verdict)
            self.assertIn('compared on the interpreter alone, not on cpu', verdict['error'])

    def test_folded_constants_are_rounding(self):
        for before, after in ((SCALED, FOLDED), (SCALED.replace('f32', 'bf16'), FOLDED.replace('f32', 'bf16'))):
            folder = self.series(before, after)
            status, verdict = diverge('--passes', folder)
            self.assertEqual((status, verdict['pass']), (0, None), verdict)
            self.assertIn('2 stages agree on these inputs, 1 within the bounds and with other bits', verdict['verdict'])
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()


class Meant(FolderTest):
    def test_a_platform_without_passes_is_refused(self):
        module = self.path('m.hlo', MODULE)
        status, verdict = diverge(module, '--passes', '--platform', 'interpreter')
        self.assertEqual((status, verdict['status']), (2, 'error'))
        self.assertIn('--passes: interpreter has no passes whose stages could be compared', verdict['errors'][0])
        self.assertRegex(' '.join(run('diverge', '--help')[1].split()), 'by default interpreter, with --passes of a module without a dump xla-cpu')
        status, verdict = diverge(module, '--python', f'{self.folder},/', '--platform', 'interpreter')
        self.assertEqual(status, 2)
        self.assertIn('interpreter needs nothing of a Python environment', verdict['errors'][0])

    def test_the_sign_of_a_zero_is_a_difference(self):
        files = [self.path(f'{name}.hlo', f'HloModule z\nENTRY e {{\n  x = f32[3] parameter(0)\n  z = f32[] constant({zero})\n'
                           f'  b = f32[3] broadcast(z), dimensions={{}}\n  c = f32[3] constant({{{zero}, 1, nan}})\n'
                           '  ROOT t = (f32[3], f32[3], f32[]) tuple(b, c, z)\n}\n') for name, zero in (('neg', '-0'), ('negative', '-0.0'), ('pos', '0'))]
        self.assertEqual(run('compare', *files[:2])[0], 0)
        status, out, err = run('compare', files[0], files[2])
        self.assertEqual(status, 1, err)
        self.assertIn('constant value differs: -0 became 0', out)
        self.assertIn('constant value differs: element [0]: -0 became 0', out)
        self.assertNotIn('are the same', run('diverge', files[0], files[2])[1])


class OwnCompiler(FolderTest):
    """What is tried is tried on the platform that differs, with flags that it reads."""
    SINES = '''HloModule sines
ENTRY e {
  x = f32[64,64] parameter(0)
  y = f32[64,64] transpose(x), dimensions={1,0}
  s = f32[64,64] sine(y)
  ROOT r = f32[64,64] exponential(s)
}
'''

    def check(self, platform, *options):
        status, verdict = diverge(self.path('sines.hlo', self.SINES), *options, '--abs_error_bound', '0', '--rel_error_bound', '0')
        self.assertEqual((status, verdict['status']), (1, 'differs'), verdict)
        tries = [each['what'] for each in verdict['tries']]
        self.assertIn(platform + ' as it is', tries)
        self.assertEqual([what for what in tries if what.startswith('--xla')], ['--xla_disable_hlo_passes=fusion'])
        return verdict

    def test_our_passes_are_switched_off(self):
        for platform in ('cpu', 'gpu-sim'):
            self.check(platform, '--platform', platform, '--reference_platform', 'interpreter')
        self.check('cpu', '--platform', 'cpu', '--passes')

    def test_f64_that_is_made_of_f32_is_as_exact_as_that(self):
        module = """HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[64,64] parameter(0)
  y = f32[64,64] exponential(x)
  z = f32[64,64] sine(y)
  zero = f32[] constant(0)
  r = f32[64] reduce(z, zero), dimensions={1}, to_apply=sum
  c = f64[64] convert(r)
  k = f64[] constant(3)
  kb = f64[64] broadcast(k), dimensions={}
  m = f64[64] multiply(c, kb)
  ROOT out = (f64[64], f64[64]) tuple(c, m)
}
"""
        path = self.path('f64.hlo', module)
        for platform in ('cpu', 'xla-cpu'):
            if platform not in ready_platforms(HLOSCOPE):
                continue
            pair = ('--platform', platform, '--reference_platform', 'interpreter')
            self.assertEqual(run('run', path, *pair)[0], 0, platform)
            status, verdict = diverge(path, *pair)
            self.assertEqual((status, verdict['status'], verdict['walk']['diverging']), (0, 'equal', 0), verdict)
        # What was never rounded to f32 is held to the bounds of f64.
        wide = self.path('wide.hlo', module.replace('f32', 'f64').replace('ROOT out = (f64[64], f64[64]) tuple(c, m)', 'ROOT out = f64[64] copy(m)'))
        results = self.path('wide.npz')
        self.assertEqual(run('run', wide, '--outputs', results)[0], 0)
        nearly = self.path('nearly.hlo', pathlib.Path(wide).read_text().replace('constant(3)', 'constant(3.0000003)'))
        self.assertEqual(run('run', nearly, '--expect', results)[0], 1)

    def test_of_the_reference(self):
        verdict = self.check('cpu', '--platform', 'interpreter', '--reference_platform', 'cpu')
        self.assertIn('passes and what was switched off are those of the reference, cpu', verdict['warnings'])

    def test_simulated_gpu_reads_the_flag(self):
        status, out, err = run('run', self.path('sines.hlo', self.SINES), '--platform', 'gpu-sim', '--xla_disable_hlo_passes=fusion')
        self.assertEqual(status, 0, err)
        self.assertIn('executed: 3 kernels', out)


class Passes(FolderTest):
    def test_planted_edits(self):
        """Every planted pass is named; what is untouched or only rounded is not blamed."""
        done = subprocess.run([sys.executable, PLANTED, HLOSCOPE, self.folder, SAMPLES / 'softmax_passes_a100', '--planted', '8',
                               '--untouched', '1', '--rounding', '2', '--seed', '5'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_dump_without_module(self):
        status, verdict = diverge('--passes', SAMPLES / 'softmax_passes_a100')
        self.assertEqual((status, verdict['status'], verdict['pass'], verdict['confirmed']), (0, 'equal', None, None))
        self.assertGreater(verdict['stages'], 50)

    def test_stage_that_cannot_be_read(self):
        for number, text in enumerate((MODULE, 'HloModule m\nENTRY e { broken', MODULE.replace('tanh', 'sine'))):
            self.path(f'module_0001.m.{number:04}.simplification.after_p{number}.before_q.txt', text)
        status, verdict = diverge('--passes', self.folder)
        self.assertEqual((status, verdict['pass'], verdict['instruction']), (1, 'p2', 'h'))
        self.assertEqual(len(verdict['stepped_over']), 1)

    def test_elided_constants(self):
        elided = 'HloModule m\nENTRY e {\n  x = f32[12] parameter(0)\n  c = f32[12] constant({...})\n  ROOT r = f32[12] add(x, c)\n}\n'
        self.path('module_0001.m.0000.simplification.after_p.before_q.txt', elided)
        _, verdict = diverge('--passes', self.folder)
        self.assertNotEqual(verdict['status'], 'equal')
        self.assertEqual(verdict['cause'], 'elided_constants')

    def test_expected_values_that_the_module_does_not_give(self):
        module = 'HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] add(x, x)\n}\n'
        self.path('module_0001.m.0000.simplification.after_p.before_q.txt', module)
        for name, values in (('in0', (1, 2)), ('right', (2, 4)), ('wrong', (2, 5))):
            with open(self.path(name + '.npy'), 'wb') as file:
                file.write(npy('<f4', (2,), struct.pack('<2f', *values)))
        for name, cause in (('right', None), ('wrong', 'before_xla')):
            _, verdict = diverge('--passes', self.folder, '--inputs', self.path('in0.npy'), '--expect', self.path(name + '.npy'))
            self.assertEqual((verdict['status'], verdict['pass'], verdict['cause']), ('differs' if cause else 'equal', None, cause), verdict)
        # No pass of XLA where our own compiler runs it.
        _, verdict = diverge(self.path('module_0001.m.0000.simplification.after_p.before_q.txt'), '--platform', 'cpu', '--reference_platform',
                             'interpreter', '--inputs', self.path('in0.npy'), '--expect', self.path('wrong.npy'))
        self.assertEqual(verdict['cause'], 'before_xla', verdict)
        self.assertIn('whose results already differ: no pass made it so', verdict['verdict'])

    def test_results_of_a_partitioned_stage(self):
        """Texts do not say how they lie on devices: the stage before partitioning does, or the stage is left out."""
        head = ('HloModule m, num_partitions=2\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n'
                '  ROOT s = f32[] add(a, b)\n}\nENTRY e {\n')
        halves = 'sharding={devices=[2]<=[2]}'
        for said, expected in ((', ' + halves, (0, 0)), ('', (3, 1))):
            whole = f'  x = f32[8] parameter(0), {halves}\n  y = f32[8] custom-call(x), custom_call_target="Sharding", {halves}\n  ROOT r = f32[8] negate(y){said}\n}}\n'
            part = (f'  x = f32[4] parameter(0), {halves}\n  n = f32[4] negate(x)\n  ROOT r = f32[4] all-reduce(n), channel_id=1, '
                    'replica_groups={{0},{1}}, use_global_device_ids=true, to_apply=sum\n}\n')
            for number, text in enumerate((whole, part)):
                self.path(f'module_0001.m.{number:04}.spmd.after_p{number}.before_q.txt', head + text)
            status, verdict = diverge('--passes', self.folder)
            self.assertEqual((status, len(verdict['stepped_over'])), expected, verdict)

    def test_elements_of_large_constants(self):
        large = 'ENTRY e {\n  x = f32[12] parameter(0)\n  c = f32[12] constant({1,2,3,4,5,6,7,8,9,10,11,12})\n  ROOT r = f32[12] add(x, c)\n}\n'
        for number, text in enumerate((large, large.replace('12}', '14}'))):
            self.path(f'module_0001.m.{number:04}.simplification.after_p{number}.before_q.txt', 'HloModule m\n' + text)
        _, verdict = diverge('--passes', self.folder)
        self.assertEqual((verdict['pass'], verdict['instruction']), ('p1', 'c'))


@unittest.skipUnless('xla-cpu' in ready_platforms(HLOSCOPE), 'XLA\'s CPU plugin is not installed')
class OnXla(FolderTest):
    def test_guilty_pass(self):
        module = self.path('m.hlo', NESTED_SLICES)
        inputs = self.npy_inputs(('<i4', [], [12]), ('<i4', [], [3]))
        status, verdict = diverge(module, '--passes', '--platform', 'xla-cpu', *inputs)
        if verdict['status'] == 'equal':
            self.skipTest('this XLA does not have the fault')
        self.assertEqual((status, verdict['pass'], verdict['instruction'], verdict['confirmed']), (1, 'algsimp', 'b', True))
        self.assertIn('algsimp', verdict['cured_by'])

    def test_nested_tuples_of_the_result(self):
        """XLA takes none: its stages are those of the form that runs, not of one that it refuses."""
        module = NESTED_RESULT
        status, verdict = diverge(self.path('m.hlo', module), '--platform', 'xla-cpu', '--reference_platform', 'interpreter')
        self.assertEqual((status, verdict['pass']), (1, 'algsimp'), verdict)
        self.assertIn('became reshape', verdict['verdict'])
        self.assertIn('algsimp', verdict['cured_by'])

    def test_the_pass_that_kills_the_compiler(self):
        status, verdict = diverge('--passes', PLANTED.parent / 'version_faults' / 'clamp_of_reshape.hlo', '--platform', 'xla-cpu')
        if verdict['status'] == 'equal':
            self.skipTest('this plugin does not have the fault')
        self.assertEqual((status, verdict['status'], verdict['pass'], verdict['confirmed'], verdict['cured_by']),
                         (4, 'died', 'reshape-mover', True, ['reshape-mover']), verdict)
        self.assertEqual(verdict['error_kind'], 'crashed')
        self.assertIn('the compiler fails in pass reshape-mover', verdict['verdict'])

    def test_stablehlo_that_means_something_else(self):
        module = 'HloModule jit_m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] add(x, x)\n}\n'
        source = 'module @jit_m {{\n  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {{\n' \
                 '    %0 = stablehlo.{} %arg0, %arg0 : tensor<2xf32>\n    return %0 : tensor<2xf32>\n  }}\n}}\n'
        self.path('module_0001.jit_m.before_optimizations.txt', module)
        os.mkdir(self.path('module_0001.jit_m'))
        for operation, cause in (('add', None), ('multiply', 'before_xla')):
            self.path('module_0001.jit_m/module.mlir', source.format(operation))
            _, verdict = diverge('--passes', self.folder)
            self.assertEqual((verdict['pass'], verdict['cause'], verdict['tries'][-1]['closes']), (None, cause, cause is None), verdict)

    def test_tries_are_of_what_the_differing_results_need(self):
        chain = ''.join(f'  t{n} = f32[3] tanh(t{n - 1})\n' for n in range(1, 60))
        module = self.path('m.hlo', DIVIDED_BY_ITSELF.replace('  ROOT r = s32[3]', '  t0 = f32[3] parameter(1)\n' + chain + '  r = s32[3]').replace(
            '\n}', '\n  ROOT all = (f32[3], s32[3]) tuple(t59, r)\n}'))
        inputs = self.npy_inputs(('<i4', [3], [0, 1, 7]), ('<f4', [3], [0.1, 0.2, 0.3]))
        status, verdict = diverge(module, '--passes', '--platform', 'xla-cpu', *inputs)
        if verdict['status'] == 'equal':
            self.skipTest('this XLA does not have the fault')
        self.assertEqual((status, verdict['instruction']), (1, 'r'), verdict)
        self.assertTrue(any('tries and kernel are of the 2 instructions, of 63,' in w for w in verdict['warnings']), verdict['warnings'])

    def test_cause(self):
        for module, inputs, cause in ((MAXIMUM_OF_NAN, ('<f4', [64], [1.0] * 10 + [float('nan')] + [1.0] * 53), 'fast_math'),
                                      (DIVIDED_BY_ITSELF, ('<i4', [3], [0, 5, -3]), 'code_generation')):
            path = self.path('m.hlo', module)
            status, verdict = diverge(path, '--passes', '--platform', 'xla-cpu', *self.npy_inputs(inputs))
            if verdict['status'] == 'equal':
                continue  # this XLA does not have the fault
            self.assertEqual((status, verdict['pass'], verdict['cause'], verdict['instruction']), (1, None, cause, 'r'))
            self.assertTrue(verdict['tries'] and verdict['kernel'], verdict)

    def test_nothing_to_blame(self):
        module = next((SAMPLES / 'mlp_train_step').glob('*before_optimizations.txt'))
        status, verdict = diverge(module, '--passes', '--platform', 'xla-cpu')
        self.assertEqual((status, verdict['pass'], verdict['cause']), (0, None, None), verdict)
        self.assertGreater(verdict['evaluated'], 5)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
