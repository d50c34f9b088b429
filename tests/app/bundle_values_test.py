#!/usr/bin/env python3
"""A bundle's module runs on the values that the bundle has, and no bundle has others: bundle_values_test.py HLOSCOPE."""
import ctypes
import json
import math
import os
import struct
import subprocess
import sys
import unittest
import zipfile

from command_tests import FolderTest, npy, ready_platforms, write_npz

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

    def test_a_verdict_on_other_inputs_says_so(self):
        verdict = self.path('verdict.json', json.dumps({
            'module': self.module, 'platform': 'interpreter', 'reference': '', 'seed': 0, 'inputs_generated': False,
            'status': 'differs', 'verdict': 'pass algsimp changed add to subtract', 'cured_by': []}))
        for options, count in (([], 1), (['--inputs', self.inputs], 0)):
            status, made = record('bundle', 'create', verdict, '-o', self.path('v.hlob'), *options)
            with zipfile.ZipFile(self.path('v.hlob')) as bundle:
                notes = json.loads(bundle.read('manifest.json'))['notes']
            self.assertEqual((status, len(notes)), (0, count), (made, notes))
            if count:
                self.assertIn('the verdict was found on inputs that were given, and the run of this bundle has others', notes[0])

    def results(self, *arguments):
        out = self.path('out.npz')
        status, found = record(*arguments, '--outputs', out)
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

    def test_what_the_recorded_run_did_not_have_is_said(self):
        bundle = self.bundle('--inputs', self.inputs, '--values', 'all', '--reference_platform', 'cpu')
        status, _, err = call('run', bundle, '--expect', bundle)
        self.assertEqual(status, 2)
        self.assertIn('the run in the bundle had no expected results, it was compared with a reference platform', err)
        self.assertNotIn('--values', err)
        self.assertIn('was given no values for infeeds', call('run', bundle, '--infeed', bundle)[2])

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


class WhatGoesIn(FolderTest):
    def create(self, text, *options, status=0):
        """What a bundle of the module says, and its parts."""
        out = self.path('b.hlob')
        found, said, err = call('bundle', 'create', self.path('m.hlo', text), '-o', out, '--json', *options)
        self.assertEqual(found, status, err)
        if status != 0:
            self.assertFalse(os.path.exists(out))
            return err, {}
        with zipfile.ZipFile(out) as archive:
            return json.loads(said), {name: archive.read(name) for name in archive.namelist()}

    def test_expected_results_that_do_not_fit_are_no_report(self):
        expected = self.path('exp.npz')
        write_npz(expected, {'out0': floats(1, 2)})
        err, _ = self.create('HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] negate(x)\n}\n', '--expect', expected, status=2)
        self.assertIn('out0: the array is [2], expected f32[4]', err)
        folder = self.path('expected')
        os.makedirs(folder)
        with zipfile.ZipFile(expected) as archive, open(folder + '/output_0.npy', 'wb') as f:
            f.write(archive.read('out0.npy'))
        err, _ = self.create('HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] negate(x)\n}\n', '--expect', folder + '/', status=2)
        self.assertIn('the array is [2], expected f32[4]', err)

    def test_what_is_refused_has_its_inputs(self):
        """A platform that refuses the module does not get to its inputs."""
        module = 'HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  ROOT c = f32[3] custom-call(x), custom_call_target="nobody_has_this"\n}\n'
        write_npz(self.path('in.npz'), {'in0': floats(1, 2, 3)})
        for platform in ('interpreter', 'cpu', *(name for name in ready_platforms(HLOSCOPE) if name == 'xla-cpu')):
            made, parts = self.create(module, '--platform', platform, '--inputs', self.path('in.npz'), '--values', 'all')
            self.assertIn('inputs.npz', parts, platform)
            self.assertEqual((made['status'], made['replayed']), ('unsupported', 'reproduced'), platform)
            self.assertEqual(call('bundle', 'check', self.path('b.hlob'))[0], 0)
            # What is refused before it runs is refused without them, too.
            for policy in ('none', 'shapes') if platform == 'xla-cpu' else ():
                made, parts = self.create(module, '--platform', platform, '--inputs', self.path('in.npz'), '--values', policy)
                self.assertEqual((made['replayed'], 'inputs.npz' in parts), ('reproduced', False), (platform, made))
                self.assertEqual(call('bundle', 'check', self.path('b.hlob'))[0], 0)

    def test_what_infeeds_took_is_missing_without_parameters(self):
        """Nothing but what the infeed took decides here whether the run fails, and the bundle does not have it."""
        write_npz(self.path('f.npz'), {'in0': ('<i4', (), struct.pack('<i', 0))})
        for parameter in ('', '  p = () parameter(0)\n'):
            module = ('HloModule m\na {\n  x = s32[] parameter(0)\n  ROOT y = s32[] custom-call(x), custom_call_target="nobody_has_this"\n}\n'
                      'b {\n  x = s32[] parameter(0)\n  ROOT y = s32[] negate(x)\n}\nENTRY e {\n' + parameter +
                      '  t = token[] after-all()\n  i = (s32[], token[]) infeed(t)\n  v = s32[] get-tuple-element(i), index=0\n'
                      '  ROOT r = s32[] conditional(v, v, v), branch_computations={a, b}\n}\n')
            made, parts = self.create(module, '--platform', 'interpreter', '--infeed', self.path('f.npz'), '--values', 'none')
            self.assertEqual((made['status'], b'nobody_has_this' in parts['manifest.json']), ('unsupported', True), made)
            status, out, err = call('bundle', 'check', self.path('b.hlob'))
            self.assertEqual(status, 3, out + err)
            self.assertIn('cannot be replayed here, missing: the values that infeeds take', out)

    def test_a_nan_of_an_input_in_an_older_bundle(self):
        """Where a NaN came in was called otherwise up to 0.1.0: it is the same failure still."""
        write_npz(self.path('in.npz'), {'in0': floats(1, math.nan)})
        made, parts = self.create('HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] negate(x)\n}\n', '--find', 'nan', '--inputs',
                                  self.path('in.npz'), '--values', 'all')
        self.assertEqual((made['replayed'], made['status']), ('reproduced', 'ran'), made)
        parts['manifest.json'] = parts['manifest.json'].replace(b'nan of an input or a constant', b'nan of on arrival')
        self.assertIn(b'on arrival', parts['manifest.json'])
        with zipfile.ZipFile(self.path('b.hlob'), 'w') as archive:
            for name in sorted(parts, key=lambda each: each != 'manifest.json'):
                archive.writestr(name, parts[name])
        self.assertEqual(call('bundle', 'check', self.path('b.hlob'))[0], 0)

    def test_inputs_are_read_once_where_xla_refuses_the_module(self):
        """The run ends before it reads them, with an error of the class that mistakes in inputs have."""
        if 'xla-cpu' not in ready_platforms(HLOSCOPE):
            self.skipTest('no plugin for xla-cpu')
        array = self.path('in0.npy')
        with open(array, 'wb') as file:
            file.write(npy('|u1', (1, 1), b'\3'))
        libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(4096)
        watch = libc.inotify_init1(os.O_NONBLOCK)
        self.assertGreaterEqual(libc.inotify_add_watch(watch, array.encode(), 0x30), 0)  # IN_OPEN, IN_CLOSE_NOWRITE
        _, parts = self.create('HloModule m\nENTRY e {\n  x = u4[1,1] parameter(0)\n  ROOT r = (u4[1,1], s32[1,1]) topk(x), k=1, largest=false\n}\n',
                               '--platform', 'xla-cpu', '--inputs', array, '--values', 'all')
        self.assertIn('inputs.npz', parts)
        self.assertEqual(libc.read(watch, buffer, len(buffer)), 2 * 16)  # an event of each
        os.close(watch)

    def test_made_up_constants_are_said(self):
        module = 'HloModule m\nENTRY e {\n  x = f32[64] parameter(0)\n  c = f32[64] constant({...})\n  ROOT r = f32[64] add(x, c)\n}\n'
        report = self.create(module, '--fill-elided', '3')[1]['report.md'].decode()
        self.assertIn('1 elided constant is generated from seed 3', report)
        self.assertNotIn('every constant', report)
        self.assertIn('the values of 1 constant are elided in the file', self.create(module)[1]['report.md'].decode())

    def test_no_element_of_a_scalar_leaves(self):
        module = 'HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  ROOT y = s32[] add(x, x)\n}\n'
        write_npz(self.path('in.npz'), {'in0': ('<i4', (), struct.pack('<i', 1873))})
        write_npz(self.path('exp.npz'), {'out0': ('<i4', (), struct.pack('<i', 3745))})
        for policy in ('none', 'shapes'):
            _, parts = self.create(module, '--inputs', self.path('in.npz'), '--expect', self.path('exp.npz'), '--values', policy)
            self.assertIn(b'differs in 1 of 1 element', parts['manifest.json'])
            for number in (b'1873', b'3746', b'3745'):
                self.assertNotIn(number, b'\n'.join(parts.values()), policy)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
