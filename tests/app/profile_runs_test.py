#!/usr/bin/env python3
"""Runs of a profile are executions of the module, whatever its loops do: profile_runs_test.py HLOSCOPE."""
import json
import os
import struct
import subprocess
import sys
import unittest

from command_tests import FolderTest, write_npz

HLOSCOPE = os.path.abspath(sys.argv[1])

# A loop of n iterations around one of m.
LOOPS = '''HloModule loops{config}
inner_body {{
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] subtract(i, one)
  inner = f32[64] cosine(v)
  ROOT t = (s32[], f32[64]) tuple(j, inner)
}}
inner_cond {{
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  zero = s32[] constant(0)
  ROOT p = pred[] compare(i, zero), direction=GT
}}
body {{
  s = (s32[], s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  m = s32[] get-tuple-element(s), index=1
  v = f32[64] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] subtract(i, one)
  w = f32[64] sine(v)
  in = (s32[], f32[64]) tuple(m, w)
  l = (s32[], f32[64]) while(in), condition=inner_cond, body=inner_body
  x = f32[64] get-tuple-element(l), index=1
  ROOT t = (s32[], s32[], f32[64]) tuple(j, m, x)
}}
cond {{
  s = (s32[], s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  zero = s32[] constant(0)
  ROOT p = pred[] compare(i, zero), direction=GT
}}
ENTRY main {{
  n = s32[] parameter(0)
  m = s32[] parameter(1)
  v = f32[64] parameter(2)
  first = f32[64] exponential(v)
  t = (s32[], s32[], f32[64]) tuple(n, m, first)
  outer = (s32[], s32[], f32[64]) while(t), condition=cond, body=body
  w = f32[64] get-tuple-element(outer), index=2
  ROOT last = f32[64] negate(w)
}}
'''


def call(*arguments):
    done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


def record(*arguments):
    return json.loads(call(*arguments, '--json'))


class Runs(FolderTest):
    def profile(self, name, iterations, inner, runs, platform='interpreter', config=''):
        module = self.path(f'loops{len(config)}.hlo', LOOPS.format(config=config))
        inputs = self.path(name + '.npz')
        write_npz(inputs, {'arg0': ('<i4', (), struct.pack('<i', iterations)), 'arg1': ('<i4', (), struct.pack('<i', inner)),
                           'arg2': ('<f4', (64,), struct.pack('<64f', *[0.5] * 64))})
        out = self.path(name)
        call('profile', module, '--platform', platform, '--inputs', inputs, '--repeat', str(runs), '-o', out,
             *(('--loop_steps',) if platform == 'cpu' else ()))
        return out

    def compared(self, a, b):
        found = record('compare', a, b)
        return found, {row['instruction']: row for row in found['instructions']}

    def check(self, a, b, runs, often):
        """`often`: of a run, how much more often instructions ran in b."""
        found, rows = self.compared(a, b)
        self.assertEqual(found['modules'], [{'module': 'loops', 'a_runs': runs[0], 'b_runs': runs[1]}])
        self.assertEqual(found['runs'], runs[1] / runs[0])
        for name, expected in often.items():
            self.assertAlmostEqual(rows[name]['often'], expected, 12, name)
            # What it took for as many runs as the first side has.
            change = rows[name]['b_ns'] / found['runs'] - rows[name]['a_ns']
            self.assertAlmostEqual(rows[name]['change_ns'], change, delta=1, msg=name)
        if found['runs'] != 1:
            self.assertIn(f'the second ran {found["runs"]:.2f} times as often', call('compare', a, b))
        return found, rows

    def test_kernels_of_a_simulated_gpu_are_a_line_each(self):
        text = call('profile', self.path('one.hlo', 'HloModule one\nENTRY e {\n  p = f32[64] parameter(0)\n  ROOT s = f32[64] sine(p)\n}\n'), '--platform', 'gpu-sim')
        self.assertRegex(text, r'; means per kernel:\n +model bound by .*  instruction\n( +[\d.]+ .?s .*  one:s\n)\n')

    def test_modules_of_one_name_and_devices_are_told_apart(self):
        text = 'HloModule one\nENTRY e {{\n  p = f32[{0}] parameter(0)\n  ROOT s = f32[{0}] sine(p)\n}}\n'
        modules = [self.path(f'{size}.hlo', text.format(size)) for size in (64, 65)]
        out = self.path('both.hloprof')
        call('run', *modules, '--platform', 'interpreter', '--profile', out)
        text = call('profile', out)
        programs = [m['program'] for m in record('profile', out)['module_runs']]
        self.assertEqual(len(set(programs)), 2)
        for program in programs:
            self.assertIn(f'one({program}) ran 1 time\n', text)
            self.assertEqual(len([line for line in text.splitlines() if f'  one({program}):s (sine)' in line]), 1, text)
        self.assertNotIn('one:', text)
        several = call('profile', self.path('four.hlo', 'HloModule four, replica_count=4\nENTRY e {\n  p = f32[64] parameter(0)\n  ROOT s = f32[64] sine(p)\n}\n'),
                       '--platform', 'cpu')
        self.assertIn('four ran 4 times, 1 time on each of 4 devices\n', several)

    def test_iterations(self):
        for platform in ('interpreter', 'cpu'):
            with self.subTest(platform):
                a = self.profile(f'a{platform}.hloprof', 20, 2, 8, platform)
                b = self.profile(f'b{platform}.hloprof', 100, 2, 8, platform)
                found = record('profile', a)
                self.assertEqual([(m['module'], m['runs']) for m in found['module_runs']], [('loops', 8)])
                self.assertIn('loops ran 8 times\n', call('profile', a))
                compared, rows = self.compared(a, b)
                self.assertEqual(compared['runs'], 1)
                loop = [row for row in compared['instructions'] if row['a_count'] == 8 * 20]
                self.assertGreaterEqual(len(loop), 1)
                for row in loop:
                    self.assertEqual((row['b_count'], row['often']), (800, 5), row['instruction'])
                if platform == 'interpreter':
                    self.check(a, b, (8, 8), {'w': 5, 'inner': 5, 'outer': 1, 'first': 1, 'last': 1})
                    self.assertGreater(rows['w']['change_ns'], 0)
                    self.assertGreater(compared['total']['change_ns'], 0)
                    self.assertIn('loops:w (sine), ran 5.00 times as often a run', call('compare', a, b))

    def test_runs_and_iterations(self):
        a, b = self.profile('a.hloprof', 6, 2, 5), self.profile('b.hloprof', 6, 10, 15)
        often = {'inner': 5, 'w': 1, 'outer': 1, 'first': 1, 'last': 1}
        self.check(a, b, (5, 15), often)
        self.check(a, a, (5, 5), dict.fromkeys(often, 1))
        # Other formats say the same.
        for ending in ('.xplane.pb', '.pftrace'):
            other = [self.path(name + ending) for name in ('a', 'b')]
            for source, out in zip((a, b), other):
                call('profile', source, '-o', out)
            modules = ['--module', self.path('loops0.hlo')] if ending == '.pftrace' else []
            found = json.loads(call('compare', *other, *modules, '--json'))
            rows = {row['instruction']: row for row in found['instructions']}
            self.assertEqual(found['runs'], 3, ending)
            self.assertEqual({name: rows[name]['often'] for name in often}, often)

    def test_several_devices(self):
        config = ', replica_count=2'
        a, b = self.profile('a.hloprof', 4, 1, 6, config=config), self.profile('b.hloprof', 12, 1, 12, config=config)
        self.check(a, b, (12, 24), {'w': 3, 'outer': 1, 'first': 1})


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
