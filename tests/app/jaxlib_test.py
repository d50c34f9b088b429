#!/usr/bin/env python3
"""Platform jaxlib end to end: jaxlib_test.py HLOSCOPE SAMPLES. Runs on every jaxlib of HLOSCOPE_TEST_JAXLIB (interpreters, separated
by colons) and those that `hloscope doctor` lists; exit status 77 where there is none."""
import csv
import glob
import json
import os
import pathlib
import subprocess
import sys
import unittest

from command_tests import NESTED_SLICES, FolderTest, jaxlib_pythons

HLOSCOPE, SAMPLES = (os.path.abspath(path) for path in sys.argv[1:3])
TYPES = '''HloModule types
ENTRY main {
  a = f32[4] parameter(0)
  i = s4[3] parameter(1)
  e = f8e5m2[3] parameter(2)
  p = pred[2] parameter(3)
  d = f64[0,3] parameter(4)
  b = bf16[4] convert(a)
  c = c64[4] complex(a, a)
  inner = (bf16[4], s4[3]) tuple(b, i)
  ROOT r = (f32[4], (bf16[4], s4[3]), f8e5m2[3], c64[4], pred[2], f64[0,3]) tuple(a, inner, e, c, p, d)
}
'''
DEVICES = '''HloModule devices, replica_count=2
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  a = f32[4] parameter(0)
  id = u32[] replica-id()
  f = f32[] convert(id)
  b = f32[4] broadcast(f), dimensions={}
  c = f32[4] add(a, b)
  ROOT r = f32[4] all-reduce(c), replica_groups={}, to_apply=sum
}
'''
SHARDED = '''HloModule sharded, num_partitions=2
ENTRY main {
  p = f32[4,6] parameter(0), sharding={devices=[2,1]<=[2]}
  ROOT r = f32[6,4] transpose(p), dimensions={1,0}, sharding={devices=[1,2]<=[2]}
}
'''
DONATED = '''HloModule donated, input_output_alias={ {}: (0, {}, must-alias) }
ENTRY main {
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
  ROOT r = f32[4] add(p, q)
}
'''
LOOP = '''HloModule loop
body {
  s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[] sine(x)
  ROOT t = (s32[], f32[]) tuple(j, y)
}
cond {
  s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(2000000000)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[]) tuple(zero, x)
  w = (s32[], f32[]) while(t), condition=cond, body=body
  ROOT r = f32[] get-tuple-element(w), index=1
}
'''
# A reduction that loses NaN, in a loop: there is one from the third iteration on.
NAN_IN_A_LOOP = '''HloModule nan_in_a_loop
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}
body {
  s = (s32[], f32[64], f32[64], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  n = f32[64] get-tuple-element(s), index=2
  found = f32[4] get-tuple-element(s), index=3
  one = s32[] constant(1)
  two = s32[] constant(2)
  is_late = pred[] compare(i, two), direction=GE
  late = pred[64] broadcast(is_late), dimensions={}
  y = f32[64] select(late, n, x)
  low = f32[] constant(-inf)
  largest = f32[] reduce(y, low), dimensions={0}, to_apply=max
  one_found = f32[1] reshape(largest)
  all_found = f32[4] dynamic-update-slice(found, one_found, i)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[64], f32[64], f32[4]) tuple(j, x, n, all_found)
}
cond {
  s = (s32[], f32[64], f32[64], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[64] parameter(0)
  n = f32[64] parameter(1)
  zero = s32[] constant(0)
  zeros = f32[] constant(0)
  found = f32[4] broadcast(zeros), dimensions={}
  t = (s32[], f32[64], f32[64], f32[4]) tuple(zero, x, n, found)
  w = (s32[], f32[64], f32[64], f32[4]) while(t), condition=cond, body=body
  ROOT r = f32[4] get-tuple-element(w), index=3
}
'''
# Older versions take it as MHLO only.
TOKENS = '''HloModule tokens
ENTRY main {
  x = f32[4] parameter(0)
  tok = token[] after-all()
  xd = f32[4] add-dependency(x, tok)
  ROOT s = f32[4] add(xd, x), control-predecessors={tok}
}
'''
FAULTS = pathlib.Path(__file__).resolve().parent.parent / 'passes' / 'version_faults'
NEVER = '''HloModule never
ENTRY main {
  p = f32[4] parameter(0)
  ROOT r = f32[4] custom-call(p), custom_call_target="no_such_function"
}
'''


PYTHONS = jaxlib_pythons(HLOSCOPE)


class Jaxlib(FolderTest):
    def run_it(self, *arguments, command='run'):
        done = subprocess.run([HLOSCOPE, command, '--json', *arguments], capture_output=True, text=True, check=False, timeout=300, cwd=self.folder)
        return done.returncode, json.loads(done.stdout.splitlines()[-1])

    def expect(self, python, module, status, *arguments, reference=('--reference_platform', 'interpreter')):
        code, report = self.run_it(module, '--platform', 'jaxlib', '--python', python, *reference, *arguments)
        self.assertEqual(report['status'], status, report)
        return code, report

    def test_the_guilty_pass_is_named_and_confirmed(self):
        module = self.path('m.hlo', NESTED_SLICES)
        inputs = self.npy_inputs(('<i4', [], [12]), ('<i4', [], [3]))
        for python in PYTHONS:
            code, verdict = self.run_it(module, '--passes', '--platform', 'jaxlib', '--python', python, *inputs, command='diverge')
            if verdict['status'] == 'equal':
                continue  # this version does not have the fault
            self.assertEqual((code, verdict['pass'], verdict['confirmed']), (1, 'algsimp', True), verdict)
            self.assertFalse([t for t in verdict['tries'] if 'malformed' in t['detail']], verdict['tries'])

    def test_values_of_every_kind(self):
        module = self.path('types.hlo', TYPES)
        for python in PYTHONS:
            _, report = self.expect(python, module, 'equal')
            self.assertRegex(report['warnings'][0], r'^ran with jaxlib \d+\.\d+\.\d+\S*, Python 3\.\d+\.\d+, on (cpu|gpu|cuda)$')

    def test_what_old_stablehlo_has_not(self):
        module = self.path('tokens.hlo', TOKENS)
        for python in PYTHONS:
            self.expect(python, module, 'equal')

    def test_its_own_profiler_tells_the_thunks(self):
        module = self.path('profiled.hlo', 'HloModule profiled\nENTRY e {\n  x = f32[64,64] parameter(0)\n  s = f32[64,64] sine(x)\n'
                           '  ROOT y = f32[64,64] dot(s, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n')
        for python in PYTHONS:
            done = subprocess.run([HLOSCOPE, 'profile', module, '--platform', 'jaxlib', '--python', python, '--repeat', '2', '--json'],
                                  capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            told = json.loads(done.stdout)
            if any('its profiler cannot be started' in warning for warning in told['warnings']):
                continue
            self.assertTrue(told['instructions'], python)
            self.assertEqual({entry['program'] for entry in told['instructions']}, {2})
            self.assertEqual(told['attributed'], 1)
            # Its clock is that of all others: what it compiles and runs lies inside the command's own steps.
            out = os.path.join(self.folder, 'profiled.csv')
            subprocess.run([HLOSCOPE, 'profile', module, '--platform', 'jaxlib', '--python', python, '-o', out], check=True, capture_output=True)
            with open(out, newline='') as file:
                rows = [row for row in csv.DictReader(file) if row['kind'] == 'event']

            def spans(wanted):
                return [(float(row['start_ns']), float(row['start_ns']) + float(row['duration_ns'])) for row in rows if wanted(row)]
            load, run = (spans(lambda row, name=name: row['group'] == 'hloscope' and row['name'].split()[0] == name)[0] for name in ('load', 'run'))
            compiled = spans(lambda row: row['name'] == 'PjRtCpuClient::Compile')  # not told by the oldest
            ran = spans(lambda row: row['instruction'])
            self.assertTrue(ran, python)
            for (begin, end), inner in ((load, compiled), (run, ran)):
                self.assertTrue(all(begin <= start and stop <= end for start, stop in inner), (python, begin, end, inner))

    def test_samples(self):
        for python in PYTHONS:
            for module in glob.glob(os.path.join(SAMPLES, '*', '*before_optimizations.hlo.pb')):
                self.expect(python, module, 'equal')

    def test_several_devices(self):
        for name, text in (('devices', DEVICES), ('sharded', SHARDED)):
            module = self.path(name + '.hlo', text)
            for python in PYTHONS:
                self.expect(python, module, 'equal')

    def test_donated_inputs_can_be_used_again(self):
        module = self.path('donated.hlo', DONATED)
        for python in PYTHONS:
            self.expect(python, module, 'equal', '--repeat', '3')

    @unittest.skipIf(len(PYTHONS) < 2, 'one jaxlib only')
    def test_two_versions_and_two_flags(self):
        module, (python, other) = self.path('types.hlo', TYPES), (PYTHONS[0], PYTHONS[-1])
        reference = ('--reference_platform', 'jaxlib', '--reference_python', other, '--reference_flag', 'xla_cpu_enable_fast_math=true')
        _, report = self.expect(python, module, 'equal', reference=reference)
        said = [warning for warning in report['warnings'] if 'ran with jaxlib' in warning]
        self.assertEqual(len(said), 2, said)
        self.assertTrue(said[1].startswith('reference: '), said)
        _, report = self.expect(python, module, 'error', reference=(*reference, '--reference_flag', 'xla_no_such_flag=1'))
        self.assertIn('does not know the XLA flag --xla_no_such_flag', report['error'])
        done = subprocess.run([HLOSCOPE, 'run', module, '--reference_python', python], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertIn('need --reference_platform', done.stderr)
        done = subprocess.run([HLOSCOPE, 'run', module, '--python', f'{python},{other}'], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertIn('expected one Python environment', done.stderr)

    def test_what_goes_wrong_is_named(self):
        for python in PYTHONS:
            code, report = self.expect(python, self.path('loop.hlo', LOOP), 'died', '--deadline', '15', reference=())
            self.assertEqual(code, 4)
            self.assertRegex(report['error'], 'the deadline.* passed')
            code, report = self.expect(python, self.path('types.hlo', TYPES), 'error', '--xla_no_such_flag=1', reference=())
            self.assertIn('does not know the XLA flag --xla_no_such_flag', report['error'])
            code, report = self.run_it(self.path('never.hlo', NEVER), '--platform', 'jaxlib', '--python', python)
            self.assertIn(code, (2, 3), report)
            self.assertIn('no_such_function', report['error'])
            code, report = self.expect(python, self.path('types.hlo', TYPES), 'unsupported', '--run_test_hlo_passes=false', reference=())
            self.assertEqual(code, 3)
            self.assertIn('XLA\'s passes have to run', report['error'])
        code, report = self.run_it(self.path('types.hlo', TYPES), '--platform', 'jaxlib', '--python', '/bin/true')
        self.assertNotEqual(code, 0, report)

    def test_nothing_is_imported_from_here(self):
        self.path('json.py', 'raise SystemExit("imported from the working folder")\n')
        self.path('jaxlib.py', 'raise SystemExit("imported from the working folder")\n')
        self.expect(PYTHONS[0], self.path('types.hlo', TYPES), 'equal')

    def test_first_bad_version(self):
        module, expected = self.path('types.hlo', TYPES), self.path('expected')
        pythons = ','.join([PYTHONS[0], PYTHONS[-1]])
        code, verdict = self.run_it(module, '--python', pythons, command='diverge')
        self.assertEqual((code, verdict['status'], verdict['first_bad']), (0, 'equal', None), verdict)
        self.assertEqual([tried['closes'] for tried in verdict['tries']], [True, True])
        other = self.path('other.hlo', TYPES.replace('complex(a, a)', 'complex(a, n)').replace('  b =', '  n = f32[4] negate(a)\n  b ='))
        for file, outputs in ((module, 'in'), (other, 'out')):
            code, report = self.run_it(file, '--save_inputs', self.path('in.npz'), '--outputs', expected + outputs + '.npz')
            self.assertEqual(code, 0, report)
        values = ('--inputs', self.path('in.npz'), '--expect', expected + 'out.npz')
        code, verdict = self.run_it(module, '--python', pythons, *values, command='diverge')
        self.assertEqual((code, verdict['status'], verdict['first_bad']), (1, 'differs', PYTHONS[0]), verdict)
        self.assertIn('is the first bad version', verdict['verdict'])

    def test_faults_by_version(self):
        script = FAULTS.with_suffix('.py')
        done = subprocess.run([sys.executable, script, HLOSCOPE, self.path('work'), *PYTHONS, '--check', '--only', 'gather_of_constant',
                               'window_cropped', 'log_of_exponential'], capture_output=True, text=True, check=False, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count('\n'), 5, done.stdout)

    def test_first_bad_version_of_a_real_fault(self):
        module = str(FAULTS / 'gather_of_constant.hlo')
        _, verdict = self.run_it(module, '--python', ','.join([*PYTHONS, PYTHONS[0]]), command='diverge')
        bad = [python for python, tried in zip(PYTHONS, verdict['tries']) if tried['what'].startswith('0.6.')]
        self.assertEqual(verdict['first_bad'], bad[0] if bad else None, verdict)

    def test_a_front_end_that_folds_wrongly_or_dies(self):
        for name in ('total_order_of_constants', 'constant_divided_by_zero'):
            for python in PYTHONS:
                _, verdict = self.run_it(str(FAULTS / (name + '.hlo')), '--platform', 'jaxlib', '--python', python, '--passes', command='diverge')
                if verdict['status'] == 'equal':
                    continue  # not on this version
                self.assertEqual((verdict['pass'], verdict['cause']), (None, 'before_xla'), verdict)
                if verdict['status'] == 'differs':
                    self.assertEqual((verdict['confirmed'], verdict['edit']['before'][:3]), (True, '%r '), verdict)
                else:
                    self.assertIn('the compiler crashes before its first pass', verdict['verdict'])

    def test_kernels_run_one_at_a_time(self):
        module = self.path('loop.hlo', NAN_IN_A_LOOP)
        inputs = self.npy_inputs(('<f4', [64], [1] * 64), ('<f4', [64], [float('nan'), *[1] * 63]))
        for python in PYTHONS:
            code, verdict = self.run_it(module, '--platform', 'jaxlib', '--python', python, '--reference_platform', 'interpreter',
                                        *inputs, command='diverge')
            self.assertEqual((code, verdict['status'], verdict['pass'], verdict['cause']), (1, 'differs', None, 'fast_math'), verdict)
            self.assertIn('--xla_cpu_enable_fast_min_max=false', verdict['cured_by'])
            self.assertIn('iteration 2', verdict['calls'], verdict)
            self.assertIn('reduce', verdict['instruction'], verdict)
            self.assertTrue(verdict['walk']['one_at_a_time'])
            self.assertIsNone(verdict['walk']['same_bits'])
            self.assertIn('compiled and run as a module of its own', ' '.join(verdict['warnings']))
            _, verdict = self.run_it(module, '--platform', 'jaxlib', '--python', python, '--reference_platform', 'interpreter', command='diverge')
            self.assertEqual((verdict['status'], verdict['instruction']), ('equal', None), verdict)

    def test_kernels_of_results_of_their_own_are_findings(self):
        # A maximum that loses a NaN, and another one; no fusion computes both.
        text = """HloModule two
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}
ENTRY e {
  x = f32[64] parameter(0)
  y = f32[48] parameter(1)
  low = f32[] constant(-inf)
  r = f32[] reduce(x, low), dimensions={0}, to_apply=max
  n = f32[48] negate(y)
  s = f32[] reduce(y, low), dimensions={0}, to_apply=max
  ROOT t = (f32[], f32[48], f32[]) tuple(r, n, s)
}
"""
        module = self.path('two.hlo', text)
        inputs = self.npy_inputs(('<f4', [64], [float('nan'), *[1] * 63]), ('<f4', [48], [float('nan'), *[1] * 47]))
        for python in PYTHONS:
            code, verdict = self.run_it(module, '--platform', 'jaxlib', '--python', python, '--reference_platform', 'interpreter',
                                        *inputs, command='diverge')
            self.assertEqual((code, verdict['status']), (1, 'differs'), verdict)
            if verdict['walk']['reached'] != [0, 2]:
                continue  # this version keeps them
            first, second = verdict['findings']
            self.assertEqual((first['results'], second['results']), ([0], [2]), verdict)
            self.assertNotEqual(first['instruction'], second['instruction'])
            for finding in (first, second):
                self.assertEqual(finding['cause'], 'fast_math', finding)
                self.assertIn('--xla_cpu_enable_fast_min_max=false', finding['cured_by'])

    def test_two_targets(self):
        module = self.path('types.hlo', TYPES)
        for python in PYTHONS:
            reference = ('--reference_platform', 'jaxlib', '--reference_target', 'avx')
            _, report = self.expect(python, module, 'equal', '--target', 'SSE4_2', reference=reference)
            self.assertEqual(report['xla_flags'], {'xla_cpu_max_isa': 'SSE4_2'}, report)

    def test_dumps(self):
        module = glob.glob(os.path.join(SAMPLES, 'power_iteration', '*before_optimizations.hlo.pb'))[0]
        for number, python in enumerate(PYTHONS):
            dump = self.path(f'dump{number}')
            code, report = self.run_it(module, '--with', 'jaxlib', '--python', python, '--dump', dump, '--passes', command='compile')
            self.assertEqual(code, 0, report)
            self.assertRegex(report['plugin_version'], r'^\d+\.\d+')
            before = glob.glob(dump + '/*before_optimizations.txt')
            self.assertEqual(len(before), 1, os.listdir(dump))
            self.assertGreater(len(glob.glob(dump + '/*.after_*')), 3)
            out = self.path(f'out{number}.hlo')
            code, report = self.run_it(module, '--with', 'jaxlib', '--python', python, '--emit', 'hlo', '-o', out, command='compile')
            self.assertEqual(code, 0, report)
            subprocess.run([HLOSCOPE, 'verify', out], check=True, stdout=subprocess.DEVNULL)


if __name__ == '__main__':
    if not PYTHONS:
        print('skipped: no jaxlib in the active Python environments; HLOSCOPE_TEST_JAXLIB names interpreters')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
