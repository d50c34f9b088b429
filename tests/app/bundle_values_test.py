#!/usr/bin/env python3
"""A bundle's module runs on the values that the bundle has: bundle_values_test.py HLOSCOPE."""
import json
import math
import os
import struct
import subprocess
import sys
import unittest

from command_tests import FolderTest, write_npz

HLOSCOPE = os.path.abspath(sys.argv[1])
MODULE = 'HloModule m\n\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  s = f32[4] add(x, y)\n  ROOT r = f32[4] multiply(s, s)\n}\n'
X = (1.0, math.nan, 3.0, -2.0)
Y = (0.5, 1.0, -math.inf, 8.0)


def call(*arguments):
    done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


def record(*arguments):
    status, out, err = call(*arguments, '--json')
    assert out.count('\n') == 1, (arguments, status, out, err)
    return status, json.loads(out)


def floats(*values):
    return ('<f4', (len(values),), struct.pack(f'<{len(values)}f', *values))


class BundleValues(FolderTest):
    def setUp(self):
        super().setUp()
        self.module = self.path('m.hlo', MODULE)
        self.inputs, self.expected = self.path('in.npz'), self.path('exp.npz')
        write_npz(self.inputs, {'in0': floats(*X), 'in1': floats(*Y)})
        write_npz(self.expected, {'out0': floats(*(a + b for a, b in zip(X, Y)))})

    def bundle(self, *options):
        path = self.path('b.hlob')
        status, _, err = call('run', self.module, '--platform', 'interpreter', '--bundle', path, *options)
        self.assertTrue(os.path.exists(path), (status, err))
        return path

    def results(self, *arguments):
        out = self.path('out.npz')
        status, found = record(*arguments, '--outputs', out)
        import zipfile
        with zipfile.ZipFile(out) as archive:
            data = archive.read('out0.npy')
        return status, found, struct.unpack('<4f', data[-16:])

    def test_only_the_owner_reads_a_new_bundle(self):
        bundle = self.bundle('--inputs', self.inputs, '--values', 'all')
        self.assertEqual(os.stat(bundle).st_mode & 0o777, 0o600)
        os.chmod(bundle, 0o640)
        self.bundle('--inputs', self.inputs, '--values', 'all')
        self.assertEqual(os.stat(bundle).st_mode & 0o777, 0o640)
        # A bundle of a bundle has a name of its own.
        done = subprocess.run([HLOSCOPE, 'bundle', 'create', bundle, '--json'], capture_output=True, text=True, cwd=self.folder, timeout=120)
        self.assertTrue(json.loads(done.stdout)['file'].endswith('b.again.hlob'), done.stdout + done.stderr)

    def test_inputs_of_the_bundle(self):
        bundle = self.bundle('--inputs', self.inputs, '--values', 'all')
        status, found, values = self.results('run', bundle)
        self.assertEqual((status, found['status']), (0, 'ran'))
        self.assertEqual([str(v) for v in values], [str((a + b) ** 2) for a, b in zip(X, Y)])
        self.assertTrue(any('inputs are the values in the bundle' in text for text in found['warnings']), found['warnings'])
        status, found = record('run', bundle, '--find', 'nan')
        self.assertIsNotNone(found['first_nonfinite'])
        # Others where they are asked for.
        other = self.path('other.npz')
        write_npz(other, {'in0': floats(1, 1, 1, 1), 'in1': floats(1, 1, 1, 1)})
        self.assertEqual(self.results('run', bundle, '--inputs', other)[2], (4, 4, 4, 4))

    def test_expected_results_of_the_bundle(self):
        bundle = self.bundle('--inputs', self.inputs, '--expect', self.expected, '--values', 'all')
        status, found = record('run', bundle)
        self.assertEqual((status, found['status']), (0, 'ran'))
        status, found = record('run', bundle, '--expect', bundle)
        self.assertEqual((status, found['status'], found['outputs'][0]['mismatched']), (1, 'differs', 3))  # all but the NaN
        status, found = record('run', bundle, '--inputs', bundle, '--expect', bundle)
        self.assertEqual((status, found['status'], found['outputs'][0]['mismatched']), (1, 'differs', 3))

    def test_extract_takes_them_too(self):
        bundle = self.bundle('--inputs', self.inputs, '--values', 'all')
        status, _ = record('extract', bundle, 's', '-o', self.path('s.hlo'))
        self.assertEqual(status, 0)
        status, found = record('run', self.path('s.hlo'), '--inputs', self.path('s.inputs.npz'), '--expect', self.path('s.expected.npz'))
        self.assertEqual((status, found['status']), (0, 'equal'))
        status, found = record('compare', self.path('s.expected.npz'), self.expected)
        self.assertEqual((status, found['status']), (0, 'equal'))

    def test_reduce_fails_on_them(self):
        bundle = self.bundle('--inputs', self.inputs, '--values', 'all')
        status, found = record('reduce', bundle, '--platform', 'interpreter', '--find', 'nan', '-o', self.path('r.hlo'))
        self.assertEqual((status, found['status']), (0, 'reduced'), found)

    def test_what_is_not_there_is_said(self):
        bundle = self.bundle('--inputs', self.inputs, '--values', 'shapes')
        _, found = record('run', bundle)
        self.assertTrue(any('does not contain the values of its inputs' in text for text in found['warnings']), found['warnings'])
        status, _, err = call('run', bundle, '--inputs', bundle)
        self.assertEqual(status, 2)
        self.assertIn('the bundle does not contain the values of the parameters', err)
        # Generated ones are those of the bundle's seed, or of another that is asked for.
        bundle = self.path('seed.hlob')
        call('run', self.module, '--platform', 'interpreter', '--bundle', bundle, '--seed', '7', '--values', 'none')
        self.assertEqual(self.results('run', bundle)[2], self.results('run', self.module, '--seed', '7')[2])
        self.assertEqual(self.results('run', bundle, '--seed', '8')[2], self.results('run', self.module, '--seed', '8')[2])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
