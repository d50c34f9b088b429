#!/usr/bin/env python3
"""Files of jax.export end to end: export_test.py HLOSCOPE FOLDER, with the files of make_exports.py. What takes a plugin or a jaxlib is
left out where there is none."""
import json
import os
import struct
import subprocess
import sys
import unittest

from command_tests import FolderTest, jaxlib_pythons, ready_platforms, write_npz

HLOSCOPE, EXPORTS = (os.path.abspath(path) for path in sys.argv[1:3])
READY = ready_platforms(HLOSCOPE)
PYTHONS = jaxlib_pythons(HLOSCOPE)
SYMBOLIC = '''module @grow attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x2xf32>) -> tensor<?x2xf32> {
    %0 = stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
    return %0 : tensor<?x2xf32>
  }
}
'''


FORMS = {'<f4': 'f', '<i4': 'i', '<u4': 'I', '|i1': 'b', '|u1': 'B', '|b1': '?'}


def array(kind, shape, values):
    return (kind, tuple(shape), struct.pack(f'<{len(values)}{FORMS[kind]}', *values))


def floats(shape, values):
    return array('<f4', shape, values)


FIXED_IN = {'arr_0': floats((2, 3), [1, 2, 3, 4, 5, 6]), 'arr_1': array('<i4', (5,), [0] * 5), 'arr_2': floats((3,), [10, 20, 30])}
# x * 2 + y, and the sum of y.
FIXED_OUT = {'out0': floats((2, 3), [12, 24, 36, 18, 30, 42]), 'out1': floats((), [60])}
SYMBOLIC_IN = {'arr_0': floats((2, 3), [1, 2, 3, 4, 5, 6]), 'arr_1': floats((5,), [1, 2, 3, 4, 5])}


def symbolic_out(added):
    return {'out0': floats((6,), [k + added for k in range(1, 7)]), 'out1': floats((5,), [2, 3, 4, 5, 6]), 'out2': floats((), [2])}


class Export(FolderTest):
    def call(self, command, *arguments, env=None):
        return subprocess.run([HLOSCOPE, command, *arguments], capture_output=True, text=True, check=False, timeout=300,
                              env={**os.environ, **(env or {})})

    def npz(self, name, arrays):
        write_npz(self.path(name), arrays)
        return self.path(name)

    def expect(self, name, inputs, outputs, *arguments, platforms=('interpreter', 'cpu', 'xla-cpu')):
        """Runs it on every platform that is there, and compares the results."""
        given = ('--inputs', self.npz('in.npz', inputs), '--expect', self.npz('out.npz', outputs))
        for platform in platforms:
            if platform == 'xla-cpu' and platform not in READY:
                continue
            done = self.call('run', '--json', os.path.join(EXPORTS, name + '.export'), *given, '--platform', platform, *arguments)
            report = json.loads(done.stdout.splitlines()[-1])
            self.assertEqual((done.returncode, report['status']), (0, 'equal'), (platform, done.stdout, done.stderr))
            yield report

    def need_plugin(self):
        if 'xla-cpu' not in READY:
            self.skipTest('no plugin translates StableHLO here')

    def test_info(self):
        done = self.call('info', '--json', os.path.join(EXPORTS, 'symbolic.export'))
        facts = json.loads(done.stdout)
        self.assertEqual((facts['kind'], facts['function'], facts['platforms']), ('jax-export', '<lambda>', ['cpu', 'cuda']))
        self.assertEqual((facts['parameters'], facts['dimension_variables']), (['f32[a,b]', 'f32[2*a + 1]'], ['a', 'b']))
        self.assertEqual((facts['results'], facts['calling_convention_version']), (['f32[a*b]', 'f32[2*a + 1]', 'f32[]'], 10))
        text = self.call('info', os.path.join(EXPORTS, 'fixed.export')).stdout
        for part in ('function <lambda>', 'for cpu on 1 device', 'unused parameters: 1', 'all shapes are fixed'):
            self.assertIn(part, text)

    def test_damaged(self):
        with open(os.path.join(EXPORTS, 'fixed.export'), 'rb') as file:
            data = bytearray(file.read())
        broken = self.path('broken.export')
        del data[data.index(b'ML\xefR') + 4:]
        with open(broken, 'wb') as file:
            file.write(data)
        for command in ('info', 'run', 'verify'):
            done = self.call(command, broken)
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn('broken.export', done.stdout + done.stderr)
            if command != 'verify':
                self.assertIn('damaged or cut off', done.stdout + done.stderr)

    def test_arguments_that_jax_dropped(self):
        self.need_plugin()
        for name in ('fixed', 'version_2'):
            list(self.expect(name, FIXED_IN, FIXED_OUT))
        out = self.path('fixed.hlo')
        self.assertEqual(self.call('convert', os.path.join(EXPORTS, 'fixed.export'), out).returncode, 0)
        parameters = json.loads(self.call('info', '--json', out).stdout)['parameters']
        self.assertEqual([shape.split('{')[0] for shape in parameters], ['f32[2,3]', 's32[5]', 'f32[3]'])
        wrong = {**FIXED_IN, 'arr_1': array('<i4', (4,), [0] * 4)}
        done = self.call('run', os.path.join(EXPORTS, 'fixed.export'), '--inputs', self.npz('wrong.npz', wrong))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn('expected s32[5]', done.stdout + done.stderr)

    def test_platforms(self):
        self.need_plugin()
        list(self.expect('platforms', {'in0': floats((3,), [1, 2, 3])}, {'out0': floats((3,), [2, 3, 4])}))
        done = self.call('run', '--json', os.path.join(EXPORTS, 'platforms.export'), '--inputs', self.npz('in.npz', {'in0': floats((3,), [1, 2, 3])}),
                         '--expect', self.npz('out.npz', {'out0': floats((3,), [3, 4, 5])}), '--platform', 'gpu-sim')
        self.assertEqual(json.loads(done.stdout)['status'], 'equal', done.stdout + done.stderr)

    def test_random_numbers_of_two_platforms(self):
        self.need_plugin()
        # jax.random.uniform(jax.random.key(1), (4,)) of jax 0.10.2.
        values = [0.4386324882507324, 0.5337529182434082, 0.44591832160949707, 0.4383963346481323]
        list(self.expect('random', {'in0': floats((4,), [0] * 4)}, {'out0': floats((4,), values)}))

    def test_types_and_gradient(self):
        self.need_plugin()
        inputs = {'in0': array('|i1', (3,), [1, -2, 7]), 'in1': array('|b1', (2,), [True, False]), 'in2': array('|u1', (2,), [0x38, 0xc0]),
                  'in3': array('<u4', (2,), [5, 6])}
        outputs = {'out0': array('|i1', (3,), [2, -1, -8]), 'out1': array('|b1', (2,), [False, True]), 'out2': floats((2,), [1, -2]),
                   'out3': array('<u4', (2,), [5, 6])}
        list(self.expect('types', inputs, outputs))
        list(self.expect('gradient', {'in0': floats((3,), [1, 2, 3])}, {'out0': floats((), [14])}))

    def test_devices(self):
        self.need_plugin()
        # Rows k of x are k, so sums of columns of x @ y are 28 times the sums of y's columns.
        inputs = {'in0': floats((8, 4), [k for k in range(8) for _ in range(4)]), 'in1': floats((4, 2), [1, 2, 3, 4, 5, 6, 7, 8])}
        list(self.expect('devices', inputs, {'out0': floats((2,), [28 * 16, 28 * 20])}))
        out = self.path('devices.hlo')
        self.assertEqual(self.call('convert', os.path.join(EXPORTS, 'devices.export'), out).returncode, 0)
        self.assertEqual(json.loads(self.call('info', '--json', out).stdout)['num_partitions'], 4)

    def test_symbolic_without_shapes(self):
        name = os.path.join(EXPORTS, 'symbolic.export')
        done = self.call('run', name)
        self.assertEqual(done.returncode, 2, done.stdout)
        for part in ('in0 is f32[a,b]', 'dimension variable a has no value', '--shape NAME=N', '--inputs'):
            self.assertIn(part, done.stdout + done.stderr)
        for wrong in ('a', 'a=', '=3', 'a=-1', 'a=3x'):
            self.assertIn('expected NAME=N', self.call('run', name, '--shape', wrong).stderr)
        self.assertIn('contradict', self.call('run', name, '--shape', 'a=1', '--shape', 'a=2').stderr)
        done = self.call('run', name, '--shape', 'c=1')
        self.assertIn('it has a, b', done.stdout + done.stderr)
        done = self.call('run', self.path('grow.mlir', SYMBOLIC))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn('--inputs', done.stdout + done.stderr)
        hlo = self.path('plain.hlo', 'HloModule plain\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n')
        done = self.call('run', hlo, '--shape', 'a=2')
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn('the shapes of HLO are fixed', done.stdout + done.stderr)

    def test_symbolic(self):
        if not PYTHONS:
            self.skipTest('no jaxlib here')
        for python in PYTHONS:
            use = ('--python', python)
            list(self.expect('symbolic', SYMBOLIC_IN, symbolic_out(1), *use, platforms=('interpreter', 'cpu', 'jaxlib')))
            list(self.expect('symbolic', SYMBOLIC_IN, symbolic_out(2), *use, platforms=('gpu-sim',)))
            name = os.path.join(EXPORTS, 'symbolic.export')
            done = self.call('run', '--json', name, *use, '--shape', 'a=2', '--shape', 'b=4', '--outputs', self.path('o.npz'))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            # What the function was exported for: a >= 2.
            done = self.call('run', name, *use, '--shape', 'a=1', '--shape', 'b=4')
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn('do not match the symbolic shape constraint a >= 2', done.stdout + done.stderr)
            out = self.path('s.hlo')
            done = self.call('convert', name, out, *use, '--shape', 'a=3', '--shape', 'b=2')
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([s.split('{')[0] for s in json.loads(self.call('info', '--json', out).stdout)['parameters']], ['f32[3,2]', 'f32[7]'])
            mlir = self.path('grow.mlir', SYMBOLIC)
            given = ('--inputs', self.npz('in.npz', {'arr_0': floats((1, 2), [1, 2])}), '--expect', self.npz('out.npz', {'out0': floats((2, 2), [1, 2, 1, 2])}))
            done = self.call('run', '--json', mlir, *given, *use)
            self.assertEqual(json.loads(done.stdout)['status'], 'equal', done.stdout + done.stderr)
            wrong = ('--inputs', self.npz('wrong.npz', {'arr_0': floats((1, 3), [1, 2, 3])}))
            done = self.call('run', mlir, *wrong, *use)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn('argument 0 is of the shape [1, 3], expected tensor<?x2xf32>', done.stdout + done.stderr)

if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
