#!/usr/bin/env python3
"""Each cause of core/debug/explain/diverge/causes.def by a fault that is planted and, where XLA's plugin is there, by a real one: causes_test.py HLOSCOPE.

Planted: planted_xla.py stands for a jaxlib, and does one thing to the results unless the flag is set that cures it.
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'app'))
from command_tests import FolderTest, ready_platforms  # noqa: E402

HLOSCOPE = os.path.abspath(sys.argv[1])
PLANTED_XLA = pathlib.Path(__file__).parent.resolve() / 'planted_xla.py'
EXACTLY = ('--abs_error_bound', '0', '--rel_error_bound', '0')


def entry(*lines, before=''):
    return f'HloModule m\n{before}ENTRY e {{\n  ' + '\n  '.join(lines) + '\n}\n'


SUM = 'sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n'
ONE = entry('x = f32[4] parameter(0)', 'ROOT r = f32[4] negate(x)')
TANH = entry('x = f32[4] parameter(0)', 'ROOT r = f32[4] tanh(x)')
MAPPED = entry('x = f32[4] parameter(0)', 'ROOT r = f32[4] map(x), dimensions={0}, to_apply=applied',
               before='applied {\n  a = f32[] parameter(0)\n  b = f32[] tanh(a)\n  ROOT c = f32[] negate(b)\n}\n')
SQUARE = entry('x = f32[4] parameter(0)', 'ROOT r = f32[4] multiply(x, x)')
DOT = entry('x = f32[4] parameter(0)', 'ROOT r = f32[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}')
REDUCED = entry('x = f32[8,512] parameter(0)', 'zero = f32[] constant(0)', 'ROOT r = f32[8] reduce(x, zero), dimensions={1}, to_apply=sum', before=SUM)
RUNNING = entry('x = f32[8,512] parameter(0)', 'zero = f32[] constant(0)',
                'ROOT r = f32[8,512] reduce-window(x, zero), window={size=1x512 pad=0_0x0_511}, to_apply=sum', before=SUM)
ROOTS = entry('x = f32[8,512] parameter(0)', 'ROOT r = f32[8] call(x), to_apply=inside',
              before=SUM + 'inside {\n  x = f32[8,512] parameter(0)\n  zero = f32[] constant(0)\n  s = f32[8] reduce(x, zero), dimensions={1}, to_apply=sum\n'
                           '  ROOT q = f32[8] sqrt(s)\n}\n')
CANCELLED = entry('x = f32[4] parameter(0)', 'y = f32[4] parameter(1)', 'd = f32[4] subtract(x, y)', 'k = f32[] constant(1e6)',
                  'm = f32[4] broadcast(k), dimensions={}', 'ROOT r = f32[4] multiply(d, m)')
LOST = entry('x = f32[16] parameter(0)', 'y = f32[16] parameter(1)', 't = f32[16] tanh(x)', 's = f32[16] add(t, y)', 'ROOT r = f32[16] subtract(s, y)')
DRAWN = entry('zero = f32[] constant(0)', 'one = f32[] constant(1)', 'ROOT r = f32[4] rng(zero, one), distribution=rng_uniform')
PRODUCT = entry('x = f32[4] parameter(0)', 'y = f32[4] parameter(1)', 'z = f32[4] parameter(2)', 'm = f32[4] multiply(x, y)',
                'ROOT r = f32[4] subtract(m, z)')
FUSED = entry('x = f32[4] parameter(0)', 'y = f32[4] parameter(1)', 'z = f32[4] parameter(2)', 'ROOT r = f32[4] fusion(x, y, z), kind=kLoop, calls=f',
              before='f {\n  a = f32[4] parameter(0)\n  b = f32[4] parameter(1)\n  c = f32[4] parameter(2)\n  m = f32[4] multiply(a, b)\n'
                     '  ROOT s = f32[4] subtract(m, c)\n}\n')
ORDER = entry('x = f32[5] parameter(0)', 's = f32[5] sine(x)', 'i = s32[5] iota(), iota_dimension=0',
              't = (f32[5], s32[5]) sort(s, i), dimensions={0}, is_stable=true, to_apply=greater', 'ROOT o = s32[5] get-tuple-element(t), index=1',
              before='greater {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n'
                     '  ROOT r = pred[] compare(a, b), direction=GT\n}\n')
FLOOR = entry('x = f32[6] parameter(0)', 'l = f32[6] log(x)', 'e = f32[6] exponential(l)', 'ROOT r = f32[6] floor(e)')
UNDONE = entry('x = f32[3] parameter(0)', 'y = f32[3] exponential(x)', 'ROOT r = f32[3] log(y)')
COPIED = entry('x = f32[3] parameter(0)', 'ROOT r = f32[3] copy(x)')
NUMBERS = ('<f4', [4], [0.3, 1.7, 2.9, 5.1])
MANY = ('<f4', [8, 512], [0.1 + 0.37 * (n % 11) for n in range(4096)])


class Planted(FolderTest):
    def check(self, cause, fault, cure, module, *inputs, optimised=None, bounds=(), blamed=None):
        for number, text in enumerate((module, optimised or module)):
            self.path(f'module_0001.m.{number:04}.p.after_pass-{number}.before_next.txt', text)
        settings = {'PLANTED_HLOSCOPE': HLOSCOPE, 'PLANTED_FAULT': fault, 'PLANTED_CURE': cure}
        python = self.path('python', f'#!{sys.executable}\nimport os, runpy\nos.environ.update({settings})\n'
                                     f'runpy.run_path({str(PLANTED_XLA)!r}, run_name="__main__")\n')
        os.chmod(python, 0o700)
        arguments = self.npy_inputs(*inputs)
        done = subprocess.run([HLOSCOPE, 'diverge', '--passes', self.folder, '--platform', 'jaxlib', '--python', python, *arguments,
                               *bounds, '--json'], capture_output=True, text=True, timeout=300, check=False)
        verdict = json.loads(done.stdout)
        self.assertEqual((done.returncode, verdict['status'], verdict['pass'], verdict['cause']), (1, 'differs', blamed, cause),
                         done.stdout + done.stderr)
        if cure:
            self.assertTrue(any(cured.endswith(cure.split('=')[-1]) or cure in cured for cured in verdict['cured_by']), verdict['cured_by'])
        return verdict

    def test_library(self):
        self.check('library', 'one percent', 'xla_disable_hlo_passes=dot-library-rewriter', DOT, NUMBERS)

    def test_code_generation(self):
        self.check('code_generation', 'one percent', 'xla_backend_optimization_level=0', ONE, NUMBERS)
        self.check('code_generation', 'one percent', '', ONE, NUMBERS)

    def test_excess_precision(self):
        self.check('excess_precision', 'one percent', 'xla_allow_excess_precision=false', ONE, NUMBERS)

    def test_fma(self):
        verdict = self.check('fma', 'contracted', '', PRODUCT, NUMBERS, ('<f4', [4], [0.7, 1 / 3, 1.1, 0.9]), ('<f4', [4], [0.21, 0.5666, 3.19, 4.59]),
                             optimised=FUSED, bounds=EXACTLY)
        self.assertIn({'what': 'products rounded with the sums, on the reference', 'closes': True, 'detail': '', 'compares': False}, verdict['tries'])

    def test_fast_math(self):
        self.check('fast_math', 'no NaN', 'xla_cpu_enable_fast_min_max=false', ONE, ('<f4', [4], [1, float('nan'), 2, 3]))

    def test_denormals(self):
        self.check('denormals', 'flushed', '', SQUARE, ('<f4', [4], [1e-20, 2e-20, 1, 2]), bounds=EXACTLY)

    def test_reduction_order(self):
        self.check('reduction_order', 'a step', '', REDUCED, MANY, bounds=EXACTLY)
        self.check('reduction_order', 'one percent', 'xla_disable_hlo_passes=tree_reduction_rewriter', REDUCED, MANY)

    def test_a_running_sum_is_a_sum(self):
        # Functions that are not computed where the difference is are no reason.
        self.check('reduction_order', 'a step', '', RUNNING, MANY, bounds=EXACTLY)
        self.check('reduction_order', 'a step', '', ROOTS, MANY, bounds=EXACTLY)

    def test_approximation(self):
        self.check('approximation', 'three steps', '', TANH, NUMBERS, bounds=EXACTLY)
        # A map is off by what it applies.
        self.check('approximation', 'three steps', '', MAPPED, NUMBERS, bounds=EXACTLY)

    def test_random_numbers(self):
        self.check('random_numbers', 'one percent', '', DRAWN)

    def test_uninitialised(self):
        self.check('uninitialised', 'noise', '', ONE, NUMBERS)

    def test_ill_conditioned(self):
        self.check('ill_conditioned', 'a tenth', '', CANCELLED, ('<f4', [4], [1.0000001, 1.5, 1.25, 1.75]), ('<f4', [4], [1, 1.5, 1.25, 1.75]))
        # A function is off by steps, but the sum loses more of it on either side.
        halfway = [0.5499571 + step * 2**-24 for step in range(-7, 8)]
        self.check('ill_conditioned', 'three steps', '', LOST, ('<f4', [16], [1e-6, *halfway]), ('<f4', [16], [1e4] * 16), bounds=EXACTLY)

    def test_an_overflow_that_a_pass_removes_is_of_that_pass(self):
        # exp(89) is above all of f32; double precision, where it is not, says nothing of roundings.
        self.check(None, 'its argument', '', UNDONE, ('<f4', [3], [1, 89, 200]), optimised=COPIED, blamed='pass-1')

    def test_a_choice_among_near_ties_is_ill_conditioned(self):
        # Sines of 1 and of pi - 1 are a step apart. Of what is far apart another order is a fault, however near others are.
        self.check('ill_conditioned', 'first two swapped', '', ORDER, ('<f4', [5], [1.0, 2.1415927, 0.5, 0.4, 0.1]))
        self.check('code_generation', 'first two swapped', '', ORDER, ('<f4', [5], [1.0, 0.7, 0.2, 2.9415927, 0.1]))

    def test_a_choice_that_roundings_inside_make_is_ill_conditioned(self):
        # Whole numbers that inputs moved by one ULP may leave: exp(log(n)) is n or the number below it.
        verdict = self.check('ill_conditioned', 'other side', '', FLOOR, ('<f4', [6], [3, 5, 6, 7, 11, 13]))
        self.assertTrue(any(tried['closes'] and 'moved by one ULP' in tried['what'] and tried['what'].endswith(', on the reference') for tried in verdict['tries']))
        self.check('code_generation', 'one more', '', FLOOR, ('<f4', [6], [3.5, 5.5, 6.5, 7.5, 11.5, 13.5]))

    def test_a_fault_beside_choices_is_none(self):
        for halves in ([3.5], [3.5, 5.5], [3.5, 4.5, 5.5]):
            inputs = [3, 5, 6, 7, 11, 13][:6 - len(halves)] + halves
            verdict = self.check('code_generation', 'other side, one more', '', FLOOR, ('<f4', [6], inputs))
            self.assertTrue(any('hardly move' in tried['detail'] for tried in verdict['tries']) or len(halves) == 3, verdict['tries'])


@unittest.skipUnless('xla-cpu' in ready_platforms(HLOSCOPE), 'XLA\'s CPU plugin is not installed')
class OnXla(FolderTest):
    def check(self, cause, module, *inputs, bounds=EXACTLY):
        arguments = self.npy_inputs(*inputs)
        done = subprocess.run([HLOSCOPE, 'diverge', '--passes', self.path('m.hlo', module), '--platform', 'xla-cpu', *arguments, *bounds, '--json'],
                              capture_output=True, text=True, timeout=300, check=False)
        verdict = json.loads(done.stdout)
        if verdict['status'] == 'equal':
            self.skipTest('this XLA gives the reference\'s values')
        self.assertEqual((verdict['pass'], verdict['cause']), (None, cause), done.stdout)
        return verdict

    def test_library(self):
        module = entry('x = f32[64,64] parameter(0)', 'y = f32[64,64] parameter(1)',
                       'ROOT r = f32[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}')
        self.check('library', module, ('<f4', [64, 64], [3e38] * 4096), ('<f4', [64, 64], ([2] * 64 + [-2] * 64) * 32))

    def test_code_generation(self):
        self.check('code_generation', entry('x = s32[3] parameter(0)', 'ROOT r = s32[3] divide(x, x)'), ('<i4', [3], [0, 5, -3]))

    def test_excess_precision(self):
        module = entry('p = f32[4] parameter(0)', 'x = bf16[4] convert(p)', 'a = bf16[4] add(x, x)', 'm = bf16[4] multiply(a, x)',
                       'ROOT r = f32[4] convert(m)')
        self.check('excess_precision', module, ('<f4', [4], [1.234375, 0.3125, 2.71875, 3.140625]))

    def test_fma(self):
        verdict = self.check('fma', entry('x = f32[64] parameter(0)', 'y = f32[64] parameter(1)', 'm = f32[64] multiply(x, y)',
                                          'ROOT r = f32[64] subtract(m, y)'))
        self.assertIn({'what': 'products rounded with the sums, on the reference', 'closes': True, 'detail': '', 'compares': False}, verdict['tries'])

    def test_fast_math(self):
        module = entry('x = f32[64] parameter(0)', 'low = f32[] constant(-inf)', 'ROOT r = f32[] reduce(x, low), dimensions={0}, to_apply=max',
                       before=SUM.replace('sum', 'max').replace('add', 'maximum'))
        self.check('fast_math', module, ('<f4', [64], [1.0] * 10 + [float('nan')] + [1.0] * 53))

    def test_denormals(self):
        self.check('denormals', SQUARE, ('<f4', [4], [1e-20, 2e-20, 1, 2]))

    def test_reduction_order(self):
        verdict = self.check('reduction_order', REDUCED.replace('[8', '[64').replace('512]', '4096]'))
        self.assertTrue(any(t['what'].startswith('sums taken in blocks') and t['closes'] for t in verdict['tries']))

    def test_approximation(self):
        verdict = self.check('approximation', TANH.replace('[4]', '[64]'))
        self.assertTrue(any('ULP from it' in t['detail'] for t in verdict['tries']), verdict['tries'])

    def test_random_numbers(self):
        self.check('random_numbers', DRAWN, bounds=())

    def test_uninitialised(self):
        verdict = self.check('uninitialised', entry('x = s1[129] parameter(0)', 'y = s32[129] convert(x)', 'ROOT r = s32[129] negate(y)'))
        self.assertTrue(any('a bit for each' in warning for warning in verdict['warnings']), verdict['warnings'])

    def test_ill_conditioned(self):
        module = entry('x = f32[4] parameter(0)', 'y = f32[4] exponential(x)', 'k = f32[] constant(1e7)', 'm = f32[4] broadcast(k), dimensions={}',
                       'z = f32[4] multiply(y, m)', 'ROOT r = f32[4] cosine(z)')
        self.check('ill_conditioned', module, ('<f4', [4], [0.3, 1.2, 2.3, 3.1]), bounds=())

    def test_elided_constants(self):
        values = ', '.join(str(k / 4) for k in range(16))
        module = self.path('table.hlo', entry('x = f32[16] parameter(0)', f'c = f32[16] constant({{{values}}})', 'ROOT r = f32[16] multiply(x, c)'))
        dump = pathlib.Path(self.folder) / 'dump'
        subprocess.run([HLOSCOPE, 'compile', module, '--with', 'xla-cpu', '--passes', '--dump', dump], capture_output=True, check=True)
        for proto in dump.glob('*.pb'):
            proto.unlink()
        done = subprocess.run([HLOSCOPE, 'diverge', '--passes', dump, '--json'], capture_output=True, text=True, check=False)
        self.assertEqual(json.loads(done.stdout)['cause'], 'elided_constants', done.stdout)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
