#!/usr/bin/env python3
"""Arrays of two sides are paired by the names that number them: named_values_test.py HLOSCOPE."""
import json
import os
import struct
import subprocess
import sys
import unittest

from command_tests import FolderTest, npy, write_npz

HLOSCOPE = os.path.abspath(sys.argv[1])


def array(*values):
    return ('<f4', (len(values),), struct.pack(f'<{len(values)}f', *values))


class NamedValues(FolderTest):
    def side(self, name, arrays):
        """A folder of .npy where the name has no ending, else an archive."""
        path = self.path(name)
        if name.endswith('.npz'):
            write_npz(path, arrays)
        elif name.endswith('.npy'):
            with open(path, 'wb') as file:
                file.write(npy(*next(iter(arrays.values()))))
        else:
            os.makedirs(path)
            for key, value in arrays.items():
                with open(os.path.join(path, key + '.npy'), 'wb') as file:
                    file.write(npy(*value))
        return path

    def compare(self, a, b):
        done = subprocess.run([HLOSCOPE, 'compare', a, b, '--json'], capture_output=True, text=True, check=False)
        return done.returncode, json.loads(done.stdout)

    def test_conventions(self):
        values = [array(1, 2), array(3, 4, 5), array(6)]
        forms = {'output_{}': 'folder', 'out{}': 'plain', 'arr_{}': 'numpy'}
        sides = []
        for form, name in forms.items():
            arrays = {form.format(k): value for k, value in enumerate(values)}
            sides += [self.side(name, arrays), self.side(name + '.npz', arrays)]
        for a in sides:
            for b in sides:
                status, found = self.compare(a, b)
                self.assertEqual((status, found['status'], len(found['outputs'])), (0, 'equal', 3), (a, b))
                self.assertEqual((found['added'], found['removed']), ([], []))
        # The numbers count, not the order of the names.
        other = self.side('other.npz', {f'arr_{k}': value for k, value in ((2, array(6)), (0, array(1, 2)), (1, array(3, 4, 9)))})
        status, found = self.compare(sides[0], other)
        self.assertEqual((status, [(o['name'], o['name_b'], o['mismatched']) for o in found['outputs']]),
                         (1, [('output_0', 'arr_0', 0), ('output_1', 'arr_1', 1), ('output_2', 'arr_2', 0)]))
        text = subprocess.run([HLOSCOPE, 'compare', sides[0], other], capture_output=True, text=True, check=False).stdout
        self.assertIn('output_1 and arr_1 ', text)

    def test_inputs_and_results_are_not_each_other(self):
        status, found = self.compare(self.side('in.npz', {'in0': array(1), 'in1': array(2)}),
                                     self.side('out.npz', {'out0': array(1), 'out1': array(2)}))
        self.assertEqual((status, found['outputs'], found['removed']), (1, [], ['in0', 'in1']))
        status, found = self.compare(self.path('in.npz'), self.side('folder', {'input_0': array(1), 'input_1': array(2)}))
        self.assertEqual((status, found['status']), (0, 'equal'))
        status, found = self.compare(self.side('device.npz', {'in0@0': array(1), 'in0@1': array(2)}),
                                     self.side('device_too.npz', {'arr_0@1': array(2), 'arr_0@0': array(1)}))
        self.assertEqual((status, found['status'], len(found['outputs'])), (0, 'equal', 2))

    def test_names_come_first(self):
        status, found = self.compare(self.side('a.npz', {'out0': array(1), 'output_0': array(2)}),
                                     self.side('b.npz', {'output_0': array(2), 'arr_0': array(1)}))
        self.assertEqual((status, found['status']), (0, 'equal'))
        self.assertEqual({(o['name'], o['name_b']) for o in found['outputs']}, {('out0', 'arr_0'), ('output_0', 'output_0')})

    def test_one_array_on_each_side(self):
        status, found = self.compare(self.side('value.npy', {'': array(1, 2)}), self.side('result.npz', {'loss': array(1, 2)}))
        self.assertEqual((status, found['status'], found['outputs'][0]['name_b']), (0, 'equal', 'loss'))


ELIDED = '''HloModule m

ENTRY e {
  x = f32[2] parameter(0)
  c.1 = f32[2] constant({...})
  d.2 = f32[2] constant({...})
  k = f32[2] constant({10, 20})
  a = f32[2] add(x, c.1)
  b = f32[2] add(a, k)
  ROOT r = (f32[2], f32[2]) tuple(b, d.2)
}
'''


class GivenConstants(FolderTest):
    def setUp(self):
        super().setUp()
        self.module = self.path('m.hlo', ELIDED)
        self.inputs = self.path('in.npz')
        write_npz(self.inputs, {'in0': array(1, 2)})

    def given(self, **arrays):
        path = self.path('c.npz')
        write_npz(path, {name.replace('__', '.'): value for name, value in arrays.items()})
        return path

    def tool(self, *arguments):
        return subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, check=False, timeout=120)

    def run_it(self, *arguments):
        return self.tool('run', self.module, '--inputs', self.inputs, '--print_literals', *arguments)

    def test_values_by_name(self):
        for arrays in ({'c__1': array(100, 200), 'd__2': array(7, 8)}, {'c_1': array(100, 200), 'd_2': array(7, 8)}):
            for platform in ('interpreter', 'cpu'):
                done = self.run_it('--constants', self.given(**arrays), '--platform', platform)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn('{111, 222}', done.stdout)
                self.assertIn('{7, 8}', done.stdout)
                self.assertIn('the values of 2 elided constants are those of', done.stdout + done.stderr)

    def test_the_rest_is_generated_or_missing(self):
        one = self.given(c__1=array(100, 200), other=array(1))
        done = self.run_it('--constants', one)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('{111, 222}', done.stdout)
        self.assertIn('1 is still elided; other is of no constant', done.stdout + done.stderr)
        self.assertIn('d.2: the value of constant f32[2] is elided', done.stdout + done.stderr)
        done = self.run_it('--constants', one, '--fill-elided', '3')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('{111, 222}', done.stdout)
        self.assertIn('1 elided constant is generated from seed 3', done.stdout + done.stderr)

    def test_what_does_not_fit(self):
        for arrays, error in (({'c__1': array(1, 2, 3)}, 'c.1'), ({'c__9': array(1, 2)}, 'no array is of a constant of module m (it has c.9)'),
                              ({'c__9': array(1, 2)}, 'did you mean `c.1`'), ({'k': array(1, 2)}, 'k: the constant has its values in the module')):
            done = self.run_it('--constants', self.given(**arrays))
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(error, done.stderr)
            self.assertIn(self.path('c.npz'), done.stderr)

    def test_other_commands(self):
        constants = self.given(c__1=array(100, 200), d__2=array(7, 8))
        done = self.tool('extract', self.module, 'a', '--depth', '1', '--constants', constants, '-o', self.path('a.hlo'))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path('a.hlo'), encoding='utf-8') as file:
            self.assertIn('{100, 200}', file.read())
        bundle = self.path('m.hlob')
        done = self.tool('bundle', 'create', self.module, '--constants', constants, '-o', bundle)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('the module of the bundle would hold its values', done.stderr)
        self.assertFalse(os.path.exists(bundle))
        with open(constants, 'rb') as file:
            given = file.read()
        done = self.tool('bundle', 'create', self.module, '--constants', constants, '--values', 'all', '-o', constants)
        self.assertIn('that is an input', done.stderr)
        with open(constants, 'rb') as file:
            self.assertEqual(file.read(), given)
        done = self.tool('compile', self.module, '--constants', 'nothere.npz', '--emit', 'llvm', '-o', self.path('m.ll'))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('--constants', done.stderr)
        done = self.tool('bundle', 'create', self.module, '--constants', constants, '--values', 'all', '-o', bundle)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.tool('run', bundle, '--inputs', self.inputs, '--print_literals')
        self.assertIn('{111, 222}', done.stdout)
        # Stage by stage.
        os.makedirs(self.path('dump'))
        for name in ('before_optimizations', 'cpu_after_optimizations'):
            self.path(f'dump/module_0001.m.{name}.txt', ELIDED)
        done = self.tool('diverge', '--passes', self.path('dump'), '--constants', constants)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotEqual(self.tool('diverge', '--passes', self.path('dump')).returncode, 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
