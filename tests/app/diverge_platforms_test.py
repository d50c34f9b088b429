#!/usr/bin/env python3
"""`hloscope diverge MODULE --platform A --reference_platform B` end to end: diverge_platforms_test.py HLOSCOPE. Needs XLA's CPU plugin; exit status 77 where there is none."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from command_tests import ready_platforms

HLOSCOPE = os.path.abspath(sys.argv[1])

LOOP = '''HloModule loop
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
body {
  p = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[64] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  k = f32[] constant(0.5)
  kb = f32[64] broadcast(k), dimensions={}
  m = f32[64] multiply(x, kb)
  ROOT out = (s32[], f32[64]) tuple(next, m)
}
condition {
  p = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] parameter_or_constant
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  a = f32[64] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[64]) tuple(zero, a)
  w = (s32[], f32[64]) while(t), condition=condition, body=body
  g = f32[64] get-tuple-element(w), index=1
  z = f32[] constant(0)
  ROOT r = f32[] reduce(g, z), dimensions={0}, to_apply=add
}
'''.replace('parameter_or_constant', 'constant(5)')

TANH = '''HloModule tanh
ENTRY e {
  p = f32[4] constant({-0.0292556528, 0.1, 0.2, 0.3})
  q = f32[4] parameter(0)
  s = f32[4] multiply(p, q)
  ROOT r = f32[4] tanh(s)
}
'''

# XLA:CPU's maximum loses a NaN of the first row, which no result has.
ASIDE = '''HloModule aside
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}
ENTRY e {
  k = f32[4] constant({-0.0292556528, 0.1, 0.2, 0.3})
  y = f32[4] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[2,100] broadcast(zero), dimensions={}
  y0 = f32[1] slice(y), slice={[0:1]}
  one = f32[1] constant({1})
  size = f32[1] abs(y0)
  above = f32[1] add(size, one)
  below = f32[1] negate(above)
  bad = f32[1] sqrt(below)
  first = f32[1,1] reshape(bad)
  at = s32[] constant(0)
  x = f32[2,100] dynamic-update-slice(zeros, first, at, at)
  low = f32[] constant(-inf)
  w = f32[2,4] reduce-window(x, low), window={size=1x32 stride=1x32 pad=0_0x14_14}, to_apply=max
  last = f32[1,4] slice(w), slice={[1:2], [0:4]}
  s = f32[4] multiply(k, y)
  t = f32[4] tanh(s)
  ROOT r = (f32[1,4], f32[4]) tuple(last, t)
}
'''

# XLA:CPU's arctangent of a broadcast 1 is wrong where the two are fused; its tanh rounds otherwise.
INDEPENDENT = '''HloModule independent
ENTRY e {
  z = f32[1125] parameter(0)
  y = f32[1125] parameter(1)
  one = f32[] constant(1)
  ones = f32[1125] broadcast(one), dimensions={}
  a = f32[1125] atan2(z, ones)
  n = f32[1125] negate(y)
  t = f32[1125] tanh(y)
  ROOT r = (f32[1125], f32[1125], f32[1125]) tuple(a, n, t)
}
'''

# Of whole numbers exp(log(n)) is n or next to it, which no change of x by one ULP alters.
CHOSEN = '''HloModule chosen
ENTRY e {
  x = f32[256] parameter(0)
  k = f32[] constant(0.1)
  b = f32[256] broadcast(k), dimensions={}
  m = f32[256] multiply(x, b)
  n = f32[256] round-nearest-afz(m)
  a = f32[256] abs(n)
  i = f32[256] iota(), iota_dimension=0
  one = f32[] constant(1)
  ones = f32[256] broadcast(one), dimensions={}
  j = f32[256] add(i, ones)
  s = f32[256] add(a, j)
  l = f32[256] log(s)
  p = f32[256] exponential(l)
  ROOT r = s32[256] convert(p)
}
'''

REFUSED = '''HloModule refused
ENTRY e {
  p = f32[2,2] parameter(0)
  t = f32[2,2] tanh(p)
  d = f32[2,2] constant({{9,1},{1,9}})
  c = (f32[2,2], s32[]) custom-call(d), custom_call_target="lapack_spotrf_ffi", api_version=API_VERSION_TYPED_FFI, backend_config="{uplo = 76 : ui8}"
  g = f32[2,2] get-tuple-element(c), index=0
  ROOT r = f32[2,2] add(g, t)
}
'''

REDUCE_OF_ONE = '''HloModule reduce_of_one
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}
ENTRY e {
  x = f32[3,1] parameter(0)
  c = f32[3,1] cosine(x)
  n = f32[3,1] negate(c)
  zero = f32[] constant(0)
  ROOT r = f32[3] reduce(n, zero), dimensions={1}, to_apply=max
}
'''

REPLICAS = '''HloModule replicas, replica_count=2
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  a = f32[8] parameter(0)
  n = f32[8] negate(a)
  s = f32[8] all-reduce(n), replica_groups={}, to_apply=add
  ROOT r = f32[8] add(s, a)
}
'''


# What rounds in one kernel is a phase in the next.
ILL = '''HloModule ill
ENTRY e {
  x = f32[64,4] parameter(0)
  y = f32[4,64] parameter(1)
  d = f32[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  k = f32[] constant(1e5)
  b = f32[64,64] broadcast(k), dimensions={}
  m = f32[64,64] multiply(d, b)
  ROOT r = f32[64,64] cosine(m)
}
'''


def diverge(text, *options, platform='xla-cpu', reference='interpreter'):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'm.hlo')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        done = subprocess.run([HLOSCOPE, 'diverge', path, '--platform', platform, '--reference_platform', reference,
                               '--json', *options], capture_output=True, text=True, timeout=300, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stdout + done.stderr
    return done.returncode, json.loads(lines[0])


class Diverge(unittest.TestCase):

    def test_one_platform_agrees_with_itself(self):
        code, verdict = diverge(LOOP, platform='interpreter')
        self.assertEqual((code, verdict['status']), (0, 'equal'))
        self.assertEqual(verdict['walk']['compared'], verdict['walk']['same_bits'])
        self.assertGreater(verdict['walk']['compared'], 10)

    def test_capture_keeps_every_bit(self):
        for text in (LOOP, TANH, REDUCE_OF_ONE, REPLICAS):
            code, verdict = diverge(text, reference='xla-cpu')
            self.assertEqual((code, verdict['status']), (0, 'equal'), verdict['verdict'])
            self.assertIs(verdict['walk']['capture_keeps_bits'], True)
            self.assertEqual(verdict['walk']['compared'], verdict['walk']['same_bits'])

    def test_a_loop_agrees_in_every_iteration(self):
        code, verdict = diverge(LOOP)
        self.assertEqual((code, verdict['status']), (0, 'equal'), verdict['verdict'])
        self.assertGreater(verdict['walk']['compared'], 0)
        self.assertEqual(verdict['walk']['diverging'], 0)

    def test_a_kernel_is_named_and_looked_into(self):
        code, verdict = diverge(TANH, '--abs_error_bound', '0', '--rel_error_bound', '0')
        if code == 0:
            self.skipTest('this plugin rounds tanh as the interpreter does')
        walk = verdict['walk']
        self.assertEqual((code, verdict['status'], verdict['cause']), (1, 'differs', 'approximation'))
        self.assertIn('tanh', verdict['instruction'])
        self.assertEqual(walk['inner']['opcode'], 'tanh')
        self.assertEqual(walk['reached'], [0])
        self.assertGreater(walk['platform_distance']['max_ulp'], walk['reference_distance']['max_ulp'])
        self.assertIn('interpreter is nearer', verdict['verdict'])

    def test_a_kernel_that_differs_where_no_result_does(self):
        code, verdict = diverge(ASIDE)
        if code == 0:
            self.skipTest('this plugin has no such fault')
        self.assertEqual((code, verdict['walk']['reached'], verdict['walk']['inner']['opcode']), (1, [], 'reduce-window'))
        self.assertIn('; no result differs; the cause is', verdict['verdict'])
        # Nothing that is tried changes a result.
        self.assertFalse([one for one in verdict['tries'] if 'as it is' in one['what']], verdict['tries'])

    def test_results_that_differ_for_other_reasons_are_findings(self):
        code, verdict = diverge(INDEPENDENT, '--abs_error_bound', '0', '--rel_error_bound', '1.2e-7')
        if code == 0 or verdict['walk']['reached'] != [0, 2] or verdict['walk']['inner']['opcode'] != 'atan2':
            self.skipTest('this plugin has no such faults')
        first, second = verdict['findings']
        self.assertEqual((first['results'], second['results']), ([0], [2]))
        self.assertIn('atan2', first['instruction'])
        self.assertIn('tanh', second['instruction'])
        self.assertEqual(second['cause'], 'approximation')
        # Without the fusion out0 is right, and out2 differs as before.
        self.assertEqual(first['cured_by'], verdict['cured_by'])
        self.assertIn('fusion', first['cured_by'])
        self.assertIn(', for 1 of 2 results that differ (out0)', verdict['verdict'])
        self.assertIn('; out2 differs for another reason, first at wrapped_tanh in e, the cause is', verdict['verdict'])
        # What is tried is judged by the results of each: without the fusion out2 differs as before.
        for finding, closes in ((first, True), (second, False)):
            tries = {one['what']: one['closes'] for one in finding['tries']}
            self.assertIs(tries['--xla_disable_hlo_passes=fusion'], closes, finding)
            self.assertIsNone(finding['not_tried'])
        self.assertNotIn('fusion', second['cured_by'])
        self.assertEqual(first['tries'], verdict['tries'])

    def test_a_pass_is_named_where_only_the_passes_differ(self):
        code, verdict = diverge(REDUCE_OF_ONE)
        if code == 0:
            self.skipTest('this plugin has no such fault')
        self.assertEqual((code, verdict['status'], verdict['pass']), (1, 'differs', 'algsimp'))
        self.assertIs(verdict['walk']['passes_differ'], True)
        self.assertEqual(verdict['walk']['diverging'], 0)

    def test_a_third_platform_votes(self):
        code, verdict = diverge(REDUCE_OF_ONE, '--vote', 'interpreter')
        if code == 0:
            self.skipTest('this plugin has no such fault')
        vote = verdict['tries'][-1]
        self.assertEqual((vote['what'], vote['closes']), ('a vote of three: interpreter', True))
        self.assertIn('interpreter and interpreter agree, xla-cpu is alone', verdict['verdict'])
        code, verdict = diverge(LOOP, '--vote', 'nothing')
        self.assertEqual((code, verdict['status']), (2, 'error'))

    def test_an_ill_conditioned_result_is_measured(self):
        code, verdict = diverge(ILL)
        self.assertEqual((code, verdict['cause'], verdict['confirmed']), (1, 'ill_conditioned', True), verdict['verdict'])
        self.assertIs(verdict['tries'][-1]['closes'], True)

    def test_a_choice_inside_of_a_kernel_is_ill_conditioned(self):
        code, verdict = diverge(CHOSEN)
        self.assertEqual((code, verdict['cause'], verdict['confirmed']), (1, 'ill_conditioned', True), verdict)
        self.assertEqual([tried['what'] for tried in verdict['tries'] if tried['closes']], ['results of functions moved by one ULP, on the reference'])

    def test_what_is_refused_runs_on_the_host_where_that_is_allowed(self):
        code, verdict = diverge(REFUSED)
        self.assertEqual((code, verdict['status']), (3, 'unsupported'))
        code, verdict = diverge(REFUSED, '--fallback', 'cpu')
        self.assertEqual((code, verdict['status']), (0, 'equal'), verdict)
        self.assertIn('each instruction was run alone', verdict['warnings'][0])
        code, verdict = diverge(REFUSED, '--fallback', 'cpu', '--abs_error_bound', '0', '--rel_error_bound', '0')
        self.assertEqual((code, verdict['status'], verdict['instruction']), (1, 'differs', 't'), verdict)

    def test_devices_are_compared_one_by_one(self):
        code, verdict = diverge(REPLICAS)
        self.assertEqual((code, verdict['status']), (0, 'equal'), verdict['verdict'])
        self.assertIs(verdict['walk']['capture_keeps_bits'], True)
        self.assertEqual(verdict['walk']['compared'] % 2, 0)


if __name__ == '__main__':
    if 'xla-cpu' not in ready_platforms(HLOSCOPE):
        print('no XLA:CPU plugin')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
