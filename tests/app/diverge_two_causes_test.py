#!/usr/bin/env python3
"""A run that differs for two reasons has two findings: diverge_two_causes_test.py HLOSCOPE."""
import json
import os
import struct
import subprocess
import sys
import unittest

from command_tests import FolderTest, ready_platforms, write_npz

HLOSCOPE = os.path.abspath(sys.argv[1])

# XLA's simplifier makes a product of the division, and its code contracts the product with the sum.
BOTH = '''HloModule both, entry_computation_layout={(f32[3]{0}, f32[3]{0})->f32[3]{0}}

ENTRY main {
  x = f32[3]{0} parameter(0)
  r = f32[3]{0} parameter(1)
  y = f32[] constant(3)
  ys = f32[3]{0} broadcast(y), dimensions={}
  q = f32[3]{0} divide(x, ys)
  fq = f32[3]{0} floor(q)
  back = f32[3]{0} multiply(fq, ys)
  ROOT sum = f32[3]{0} add(back, r)
}
'''


def array(*values):
    return ('<f4', (len(values),), b''.join(struct.pack('<f', value) for value in values))


class TwoCauses(FolderTest):
    def diverge(self, name, x, r, text=BOTH):
        module, inputs = self.path('both.hlo', text), self.path(name)
        write_npz(inputs, {'in0': array(*x), 'in1': array(*r)})
        done = subprocess.run([HLOSCOPE, 'diverge', module, '--passes', '--platform', 'xla-cpu', '--inputs', inputs, '--abs_error_bound', '0',
                               '--rel_error_bound', '0', '--json'], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 1, done.stderr)
        return json.loads(done.stdout)

    def test_two_findings(self):
        found = self.diverge('two.npz', (1e10, 1e9, 6), (1, 1, 0))
        first, second = found['findings']
        self.assertEqual((found['pass'], found['cured_by']), ('algsimp', []))
        self.assertEqual((first['pass'], first['cause'], first['instruction'], first['cured_by'], first['left']),
                         ('algsimp', None, found['instruction'], ['algsimp'], 1))
        self.assertEqual(second['pass'], None)
        self.assertIn(second['cause'], ('fma', 'code_generation'))
        self.assertTrue(second['cured_by'])
        self.assertNotIn('algsimp', second['cured_by'])
        # The control of the second: without its cure, only the first's, an element differs.
        without = [one for one in found['tries'] if one['what'] == '--xla_disable_hlo_passes=algsimp'][0]
        self.assertFalse(without['closes'])
        self.assertTrue(any(one['what'].endswith(', without algsimp') and one['closes'] for one in found['tries']))
        self.assertIn('a second finding: without algsimp 1 element still differs', found['verdict'])

    def test_elements_of_all_results_are_counted(self):
        two = BOTH.replace('->f32[3]{0}}', '->(f32[3]{0}, f32[3]{0})}').replace('  ROOT sum =', '  sum =').replace(
            'add(back, r)\n', 'add(back, r)\n  again = f32[3]{0} negate(sum)\n  ROOT both = (f32[3]{0}, f32[3]{0}) tuple(sum, again)\n')
        found = self.diverge('results.npz', (1e10, 1e9, 6), (1, 1, 0), two)
        self.assertEqual(found['findings'][0]['left'], 2, found['verdict'])
        self.assertIn('without algsimp 2 elements still differ', found['verdict'])

    def test_one_finding(self):
        found = self.diverge('one.npz', (1e10, 12345, 6), (1, 0, 0))
        self.assertEqual([(one['pass'], one['instruction']) for one in found['findings']], [('algsimp', found['instruction'])])
        self.assertNotIn('second finding', found['verdict'])


if __name__ == '__main__':
    if 'xla-cpu' not in ready_platforms(HLOSCOPE):
        print('no plugin for xla-cpu: skipped')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
