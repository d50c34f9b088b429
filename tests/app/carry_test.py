#!/usr/bin/env python3
"""Packing the program with modules for another machine: carry_test.py HLOSCOPE SCRIPTS/CARRY FAKE_DRIVER."""
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

from command_tests import FolderTest

HLOSCOPE, CARRY, DRIVER = map(os.path.abspath, sys.argv[1:4])
PARTS = ['doctor', 'results', 'gpu', 'bits', 'xla', 'profile', 'traces', 'counters', 'sampling', 'autotune', 'ranks']
MODULE = 'HloModule {0}\nENTRY e {{\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] {0}(x)\n}}\n'

# By tensor cores.
PRODUCT = """HloModule product
ENTRY e {
  a = bf16[64,64] parameter(0)
  b = bf16[64,64] parameter(1)
  ROOT r = f32[64,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


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
        table = ['--gpu', 'gpu-sim', '--xla', 'interpreter', '--simulated', 'interpreter', '--only', 'results,gpu,bits,xla,profile']
        ran, _ = self.measure(elsewhere, *table)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        rows = {row[1]: row[2:-1] for row in (re.split(r' *\| *', line) for line in ran.stdout.splitlines()) if len(row) > 8}
        self.assertEqual(rows['negate'][:2], ['equal', 'equal'])
        for name in ('negate', 'sine'):
            self.assertTrue(all(re.match('[+-]?[0-9.]+', cell) for cell in rows[name][2:]), rows)

    def measure(self, elsewhere, *arguments, **variables):
        """What it said, and the files of its report."""
        ran = subprocess.run([os.path.join(elsewhere, 'carry/measure'), *arguments], capture_output=True, text=True, check=False, timeout=300,
                             env={'PATH': os.environ['PATH'], 'HOME': self.folder, **variables})
        report = os.path.join(elsewhere, 'carry', 'report.tar.xz')
        if not os.path.exists(report):
            return ran, {}
        with tarfile.open(report) as packed:
            return ran, {os.path.basename(name): packed.extractfile(name).read() for name in packed.getnames()}

    def unpacked(self, *modules):
        archive, elsewhere = self.path('out.tar.xz'), self.path('elsewhere')
        done = self.carry(archive, *modules)
        self.assertEqual(done.returncode, 0, done.stderr)
        with tarfile.open(archive) as packed:
            packed.extractall(elsewhere)
        return elsewhere

    def test_which_bits_may_differ(self):
        elsewhere = self.unpacked(self.path('negate.hlo', MODULE.format('negate')), self.path('product.hlo', PRODUCT))
        sys.path.insert(0, os.path.join(elsewhere, 'carry'))
        self.addCleanup(sys.path.remove, sys.path[0])
        bits = importlib.import_module('measure_gpu').Bits(os.path.join(elsewhere, 'carry'))
        for ulp, lost, name, is_expected in ((0, 0, 'negate', True), (1, 0, 'negate', False), (0, 0, 'product', True), (9, 0, 'product', True),
                                             (9, 1, 'product', False)):
            said, expected = bits.of(name, {'outputs': [{'max_ulp': ulp, 'mismatched': lost}]})
            self.assertEqual(expected, is_expected, (name, said))
        self.assertEqual(bits.of('negate', {'outputs': [{'max_ulp': 1, 'mismatched': 0}]})[0], '1 ULP, and no row of gpu-bits.md allows it')
        self.assertEqual(bits.of('negate', {'status': 'died'}), ('died', False))

    def test_measures_everything_on_a_device(self):
        elsewhere = self.unpacked(self.path('negate.hlo', MODULE.format('negate')))
        two = {'CUDA_FAKE': 'devices=2', 'LD_LIBRARY_PATH': DRIVER}
        ran, report = self.measure(elsewhere, '--xla', 'interpreter', '--only', ','.join(PARTS), **two)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        outcomes = {part['part']: part['outcome'] for part in json.loads(report['parts.json'])}
        self.assertEqual(outcomes, dict.fromkeys(PARTS, 'ok'))
        self.assertEqual(report['report.md'].decode(), ran.stdout[:-1])
        self.assertIn(b'cuLaunchKernel 0 ', report['driver.log'])
        self.assertGreater(len(report['cupti.bin']), 100)
        self.assertEqual([json.loads(line)['status'] for line in report['ranks.jsonl'].splitlines()][:1], ['equal'])
        # Its calls go the same way again, but not on a driver that answers otherwise.
        kept = os.path.join(self.folder, 'kept.tar.xz')
        shutil.copy(os.path.join(elsewhere, 'carry', 'report.tar.xz'), kept)
        again, _ = self.measure(elsewhere, '--replay', kept, **two)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.assertRegex(again.stdout, r'negate: \d+ calls, the same')
        again, _ = self.measure(elsewhere, '--replay', kept, **{**two, 'CUDA_FAKE': 'devices=2,cuStreamBeginCapture=801'})
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertIn('recorded `cuStreamBeginCapture_v2 0 ', again.stdout)
        self.assertIn('now `cuStreamBeginCapture_v2 801 ', again.stdout)

    def test_a_part_that_fails_leaves_the_others(self):
        elsewhere = self.unpacked(self.path('negate.hlo', MODULE.format('negate')))
        # One hangs, one dies, one is nonsense; the last is too long.
        program = self.path('program', f'''#!/bin/sh
case "$*" in
  bench*interpreter*) exec sleep 100;;
  *--metrics*) kill -11 $$;;
  *--autotune*) echo '{{'; exit 3;;
  *--pc_sampling*) head -c 300000 /dev/urandom | od; exit 0;;
esac
exec {HLOSCOPE} "$@"
''')
        os.chmod(program, 0o755)
        ran, report = self.measure(elsewhere, '--program', program, '--xla', 'interpreter', '--budget', '30', '--limit', '100000',
                                   CUDA_FAKE='devices=1', LD_LIBRARY_PATH=DRIVER)
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        outcomes = {part['part']: part['outcome'] for part in json.loads(report['parts.json'])}
        self.assertEqual(outcomes, {**dict.fromkeys(PARTS, 'ok'), 'xla': 'stopped: the time of the part is over', 'counters': 'ended by signal 11',
                                    'autotune': 'exit status 3', 'ranks': 'left out: it needs two GPUs'})
        self.assertLessEqual(os.path.getsize(os.path.join(elsewhere, 'carry', 'report.tar.xz')), 100000)
        self.assertIn(b'more bytes]', report['sampling.jsonl'])
        self.assertIn('| negate | equal | equal | ', ran.stdout)

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
