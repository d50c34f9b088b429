#!/usr/bin/env python3
"""Packing the program with modules for another machine: carry_test.py HLOSCOPE SCRIPTS/CARRY."""
import os
import re
import subprocess
import sys
import tarfile
import unittest

from command_tests import FolderTest

HLOSCOPE, CARRY = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MODULE = 'HloModule {0}\nENTRY e {{\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] {0}(x)\n}}\n'


class Carry(FolderTest):
    def carry(self, *arguments, **variables):
        return subprocess.run([CARRY, *arguments], env={**os.environ, 'CARRY_PROGRAM': HLOSCOPE, 'XZ_OPT': '-0', **variables},
                              capture_output=True, text=True, check=False, timeout=300)

    def test_runs_elsewhere_and_leaves_out_what_does_not_run(self):
        archive = self.path('out.tar.xz')
        good = [self.path(f'{name}.hlo', MODULE.format(name)) for name in ('negate', 'sine')]
        broken = self.path('broken.hlo', 'HloModule broken\nENTRY e { x = f32[8] nothing() }\n')
        done = self.carry(archive, good[0], broken, good[1])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f'{broken}: left out', done.stderr)
        self.assertIn('2 cases', done.stdout)

        elsewhere = self.path('elsewhere')
        with tarfile.open(archive) as packed:
            packed.extractall(elsewhere)
        ran = subprocess.run([os.path.join(elsewhere, 'carry/run'), 'gpu-sim'], env={'PATH': os.environ['PATH'], 'HOME': self.folder},
                             capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn('== negate on gpu-sim', ran.stdout)
        self.assertIn('== sine on gpu-sim', ran.stdout)

        # The table, in the words of other platforms; nothing there has a compiler.
        table = [os.path.join(elsewhere, 'carry/measure'), '--gpu', 'gpu-sim', '--xla', 'interpreter', '--simulated', 'interpreter']
        ran = subprocess.run(table, env={'PATH': os.environ['PATH'], 'HOME': self.folder}, capture_output=True, text=True, check=False,
                             timeout=300)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        rows = {row[1]: row[2:-1] for row in (re.split(r' *\| *', line) for line in ran.stdout.splitlines()) if len(row) > 3}
        self.assertEqual(rows['negate'][0], 'equal')
        for name in ('negate', 'sine'):
            self.assertTrue(all(re.match('[+-]?[0-9.]+', cell) for cell in rows[name][1:]), rows)
        ran = subprocess.run([*table, '--budget', '1'], env={'PATH': os.environ['PATH'], 'HOME': self.folder}, capture_output=True, text=True,
                             check=False, timeout=300)
        self.assertEqual(ran.returncode, 1)
        self.assertIn('bits: not begun, the budget is spent', ran.stdout)

    def test_limit_and_nothing_left_are_errors(self):
        good = self.path('negate.hlo', MODULE.format('negate'))
        done = self.carry(self.path('out.tar.xz'), good, CARRY_LIMIT='1000')
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn('the limit is 1000', done.stderr)
        broken = self.path('broken.hlo', 'HloModule broken\n')
        done = self.carry(self.path('out.tar.xz'), broken)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('no module is left', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
