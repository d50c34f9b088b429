#!/usr/bin/env python3
"""`lint`: each rule on a module that has its pattern, one that looks alike, and the first with the fix: lint_test.py HLOSCOPE."""
import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'app'))
from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])

# What XLA:GPU writes around values that a stage of a partitioned module moves; of no rule as they are.
LOOP = '''HloModule m

body {
  t = (s32[], f32[8]{0}) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[8]{0} get-tuple-element(t), index=1
  %s
  ROOT r = (s32[], f32[8]{0}) tuple(i, y)
}

condition {
  t = (s32[], f32[8]{0}) parameter(0)
  ROOT p = pred[] constant(true)
}

ENTRY e {
  p = (s32[], f32[8]{0}) parameter(0)
  ROOT w = (s32[], f32[8]{0}) while(p), condition=condition, body=body
}
'''
INDICES = '''HloModule m
ENTRY e {
  x = f32[100,8]{1,0} parameter(0)
  i = s32[4]{0} constant({%s})
  r = s32[4,1]{1,0} reshape(i)
  ROOT g = %s
}
'''
SLOT = '''HloModule m, is_scheduled=true
ENTRY e {
  x = f32[1024,1024]{1,0} parameter(0)
  y = f32[1024,1024]{1,0} tanh(x)
  ROOT c = f32[1024,1024]{%s} %s
}
'''


def run(*arguments):
    return subprocess.run([HLOSCOPE, 'lint', *arguments], capture_output=True, text=True, timeout=60)


class Lint(FolderTest):
    def findings(self, *arguments, status=0):
        done = run('--json', *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def rules_of(self, text):
        return [f['rule'] for f in self.findings(self.path('m.hlo', text))]

    def test_each_rule(self):
        rules = [json.loads(line) for line in run('--rules', '--json').stdout.splitlines()]
        self.assertEqual(len(rules), 12)
        for rule in rules:
            file = os.path.join(HERE, rule['rule'] + '.{}.hlo')
            found = self.findings(file.format('bad'))
            self.assertEqual({f['rule'] for f in found}, {rule['rule']}, found)
            for finding in found:
                self.assertTrue(finding['cost'])
                self.assertEqual((finding['severity'], finding['fix']), (rule['severity'], rule['fix']))
                with open(file.format('bad'), encoding='utf-8') as text:
                    self.assertIn(finding['instruction'] + ' = ', text.read())
            self.assertEqual(self.findings(file.format('good')), [], rule)
            self.assertEqual(self.findings(file.format('fixed')), [], rule)

    def test_the_page_has_each_rule_with_its_bounds(self):
        with open(os.path.join(HERE, '..', '..', 'docs', 'lint.md'), encoding='utf-8') as page:
            rows = page.read()
        rules = [json.loads(line) for line in run('--rules', '--json').stdout.splitlines()]
        for rule in rules:
            self.assertIn(f"| `{rule['rule']}` | {rule['severity']} | {rule['pattern']} | {rule['fix']} |", rows)
        patterns = {rule['rule']: rule['pattern'] for rule in rules}
        for name, bound in (('accidental-f64', '1024 or more'), ('missed-f8', 'for a GPU'), ('upcast-reduce', '1 MiB or more'), ('copied-cache', 'a 16th')):
            self.assertIn(bound, patterns[name])
        module = 'HloModule m\n\nENTRY e {\n  x = f32[%d]{0} parameter(0)\n  ROOT y = f64[%d]{0} convert(x)\n}\n'
        self.assertEqual(self.rules_of(module % (1023, 1023)), [])
        self.assertEqual(self.rules_of(module % (1024, 1024)), ['accidental-f64'])

    def test_costs(self):
        def cost(rule):
            return self.findings(os.path.join(HERE, rule + '.bad.hlo'))[0]['cost_bytes']
        mib = 1 << 20
        self.assertEqual(cost('copied-cache'), 2 * 16 * mib)  # f32[4096,1024] read and written
        self.assertEqual(cost('layout-copy'), 2 * 4 * mib)
        self.assertEqual(cost('large-constant'), 4 * mib)
        self.assertEqual(cost('upcast-reduce'), 2 * 4 * mib - 2 * mib)
        self.assertEqual(cost('refused-donation'), mib)  # half of f32[512,1024] on each of two devices

    def test_hosts_in_loops(self):
        for text, expected in (('y = f32[8]{0} negate(x)', []),
                               ('y = f32[8]{0} custom-call(x), custom_call_target="xla_ffi_python_cpu_callback"', ['host-transfer-in-loop']),
                               ('y = f32[8]{0} copy(x)', []),
                               ('z = f32[8]{0:S(5)} copy(x)\n  y = f32[8]{0} negate(z)', ['host-transfer-in-loop'])):
            self.assertEqual(self.rules_of(LOOP % text), expected, text)

    def test_progressions(self):
        rows = 'f32[4,8]{1,0} gather(x, r), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}'
        windows = ('f32[4,3,8]{2,1,0} gather(x, r), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, '
                   'slice_sizes={3,8}')
        self.assertEqual(self.rules_of(INDICES % ('3, 5, 7, 9', windows)), [])
        for values, expected in (('3, 5, 7, 9', ['gather-slice']), ('3, 5, 7, 8', []), ('9, 7, 5, 3', []), ('4, 4, 4, 4', [])):
            self.assertEqual(self.rules_of(INDICES % (values, rows)), expected, values)

    def test_copies_that_keep_or_change_the_order(self):
        for layout, text, expected in (('1,0', 'copy(y)', []), ('0,1', 'copy(y)', ['layout-copy']),
                                       ('0,1', 'transpose(y), dimensions={1,0}', []), ('1,0', 'transpose(y), dimensions={1,0}', ['layout-copy']),
                                       ('0,1', 'copy(x)', ['transposed-parameter'])):
            self.assertEqual(self.rules_of(SLOT % (layout, text)), expected, (layout, text))

    def test_a_dump_is_looked_at_as_given_and_as_compiled(self):
        os.makedirs(self.path('dump'))
        for stage, rule in (('before_optimizations', 'lost-cast'), ('cpu_after_optimizations', 'copied-cache')):
            with open(os.path.join(HERE, rule + '.bad.hlo'), encoding='utf-8') as file:
                self.path(f'dump/module_0002.jit__lambda.{stage}.txt', file.read())
        self.path('dump/stderr.txt', "a.py:3: UserWarning: Some donated buffers were not usable: float32[512,1024].\n"
                  '  warnings.warn("Some donated buffers were not usable: x")\n')
        found = self.findings(self.path('dump'))
        self.assertEqual([(f['rule'], f['stage']) for f in found],
                         [('lost-cast', 'before_optimizations'), ('copied-cache', 'cpu_after_optimizations'), ('refused-donation', 'stderr.txt')])
        self.assertIn('float32[512,1024]', found[2]['cost'])

    def test_exit_status_and_baseline(self):
        warns, informs = (os.path.join(HERE, rule + '.bad.hlo') for rule in ('lost-cast', 'gather-slice'))
        self.findings(warns, '--fail-on', 'warning', status=1)
        self.findings(warns, '--fail-on', 'error')
        self.findings(informs, '--fail-on', 'info', status=1)
        self.findings(informs, '--fail-on', 'warning')
        baseline = self.path('known.json', run('--json', warns).stdout)
        self.assertEqual(self.findings(warns, '--baseline', baseline, '--fail-on', 'info'), [])
        self.assertEqual(len(self.findings(warns, informs, '--baseline', baseline)), 1)
        # Lines about files that could not be read are no findings.
        broken = self.path('known_too.json', run('--json', warns, self.path('absent')).stdout)
        self.assertEqual(self.findings(warns, '--baseline', broken), [])
        # One place more than the baseline has.
        with open(warns, encoding='utf-8') as file:
            text = file.read()
        twice = re.sub(r'(?m)^  (convert_element_type\.[23]) = (.*)$', lambda m: m[0] + '\n  again.' + m[1][-1] + ' = ' + m[2], text)
        self.assertEqual(len(self.findings(self.path('twice.hlo', twice), '--baseline', baseline)), 2)
        bad = self.path('bad.json', '{"file": "x"}\n')
        self.assertEqual(run(warns, '--baseline', bad).returncode, 2)
        self.assertEqual(run(warns, '--baseline', self.path('absent')).returncode, 2)
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run(self.path('broken.hlo', 'HloModule m\nENTRY e {')).returncode, 2)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
