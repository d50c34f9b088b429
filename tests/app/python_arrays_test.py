#!/usr/bin/env python3
"""The Python package with numpy and ml_dtypes: values in and out, types. python_arrays_test.py HLOSCOPE SAMPLES"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from command_tests import FolderTest
from python_tests import PACKAGE, SKIPPED, has, need, own_python, use

need([own_python()], 'numpy', 'ml_dtypes')
HLOSCOPE = os.path.abspath(sys.argv[1])
use(HLOSCOPE)
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import hloscope  # noqa: E402

TYPES = {'f16': np.float16, 'f32': np.float32, 'f64': np.float64, 'bf16': ml_dtypes.bfloat16, 's8': np.int8, 's32': np.int32, 's64': np.int64, 'u8': np.uint8,
         'u16': np.uint16, 'pred': np.bool_, 'c64': np.complex64, 'c128': np.complex128, 'f8e4m3fn': ml_dtypes.float8_e4m3fn, 'f8e5m2': ml_dtypes.float8_e5m2}


def module(kind, shape, body='copy(x)'):
    return f'HloModule m\nENTRY e {{\n  x = {kind}{shape} parameter(0)\n  ROOT r = {kind}{shape} {body}\n}}\n'


class Values(FolderTest):
    def test_every_type_comes_back(self):
        for name, kind in TYPES.items():
            array = np.array([0, 1, 1, 0, 1, 2]).astype(kind).reshape(2, 3)
            result = hloscope.run(module(name, '[2,3]'), array)
            self.assertEqual(result.values[0].dtype, array.dtype, name)
            np.testing.assert_array_equal(result.value.view(np.uint8), array.view(np.uint8), name)

    def test_against_numpy(self):
        text = ('HloModule m\nENTRY e {\n  x = f32[3,4] parameter(0)\n  y = f32[4,2] parameter(1)\n  d = f32[3,2] dot(x, y), lhs_contracting_dims={1}, '
                'rhs_contracting_dims={0}\n  n = f32[3,2] negate(d)\n  ROOT t = (f32[3,2], (f32[3,2])) tuple(d, (f32[3,2]) tuple(n))\n}\n'
                .replace('(f32[3,2]) tuple(n))', 'u)').replace('  ROOT', '  u = (f32[3,2]) tuple(n)\n  ROOT'))
        random = np.random.default_rng(1)
        x, y = random.normal(size=(3, 4)).astype('f'), random.normal(size=(4, 2)).astype('f')
        for inputs in ((x, y), ([x, y],), ((x, [y]),)):
            values = hloscope.run(text, *inputs).values
            np.testing.assert_allclose(values[0], x @ y, rtol=1e-5)
            np.testing.assert_array_equal(values[1], -values[0])
        np.testing.assert_allclose(hloscope.run(text, inputs={'in0': x, 'in1': y}).values[0], x @ y, rtol=1e-5)
        # Arrays of any strides and orders.
        np.testing.assert_allclose(hloscope.run(text, np.asfortranarray(x), y[::-1]).values[0], x @ y[::-1], rtol=1e-5)

    def test_scalars_and_empty_arrays(self):
        self.assertEqual(hloscope.run(module('f32', '[]', 'add(x, x)'), np.float32(2)).value, 4)
        self.assertEqual(hloscope.run(module('f32', '[0,3]'), np.zeros((0, 3), 'f')).value.shape, (0, 3))

    def test_expected_values(self):
        text, x = module('f32', '[2]', 'add(x, x)'), np.array([1, 2], 'f')
        equal = hloscope.run(text, x, expect=[2 * x])
        differs = hloscope.run(text, x, expect={'out0': x})
        self.assertEqual((equal.status, differs.status, differs.code), ('equal', 'differs', 1))
        self.assertEqual((differs.outputs[0].mismatched, differs.outputs[0].max_abs_error), (2, 2))
        with self.assertRaisesRegex(AssertionError, '2 of 2 elements differ, largest error 2'):
            differs.assert_equal()
        self.assertEqual(hloscope.run(text, x, expect=equal).status, 'equal')  # the values of another run

    def test_infinities_in_reports_are_numbers(self):
        result = hloscope.run(module('f32', '[1]'), np.array([1e38], 'f'), expect=[np.array([-3e38], 'f')])
        self.assertIsInstance(result.outputs[0].max_abs_error, float)

    def test_paths_are_inputs_too(self):
        path = self.path('x.npy')
        np.save(path, np.array([3, 4], 'f'))
        np.testing.assert_array_equal(hloscope.run(module('f32', '[2]', 'add(x, x)'), path).value, [6, 8])

    def test_other_commands_take_them(self):
        x = np.array([1, 0], 'f')
        self.assertEqual(hloscope.compare(x, [x]).status, 'equal')
        self.assertEqual(hloscope.compare([x], {'out0': x + 1}).code, 1)
        text = module('f32', '[2]', 'divide(x, x)')
        small = self.path('small.hlo')
        self.assertEqual(hloscope.reduce(text, x, find='nan', out=small).status, 'reduced')
        bundle = hloscope.bundle(text, x, values='all', out=self.path('b.hlob'))
        self.assertEqual((bundle.file, hloscope.bundle('check', bundle.file).code), (self.path('b.hlob'), 0))
        self.assertEqual(hloscope.diverge(text, text.replace('divide', 'multiply'), x).status, 'differs')

    def test_what_is_refused(self):
        text = module('f32', '[2]')
        with self.assertRaises(hloscope.BadInput):
            hloscope.run(text, np.zeros(3, 'f'))
        with self.assertRaisesRegex(TypeError, 'numbers'):
            hloscope.run(text, np.array([object(), object()]))
        with self.assertRaisesRegex(TypeError, 'given twice'):
            hloscope.run(text, np.zeros(2, 'f'), inputs=[np.zeros(2, 'f')])

    def test_values_of_many_modules(self):
        items = hloscope.map([module('f32', f'[{k}]') for k in range(1, 5)], 'run', ordered=True, values=True)
        self.assertEqual([item.result.values[0].shape for item in items], [(1,), (2,), (3,), (4,)])


class Types(unittest.TestCase):
    def test_mypy_finds_nothing(self):
        if not has(sys.executable, 'mypy'):
            self.skipTest('no mypy')
        with tempfile.TemporaryDirectory() as folder:
            package = shutil.copytree(os.path.join(PACKAGE, 'hloscope'), os.path.join(folder, 'hloscope'), ignore=shutil.ignore_patterns('__pycache__'))
            with open(os.path.join(package, '__init__.pyi'), 'w', encoding='utf-8') as file:
                subprocess.run([sys.executable, os.path.join(PACKAGE, 'make_stubs.py'), HLOSCOPE], stdout=file, check=True)
            with open(os.path.join(folder, 'user.py'), 'w', encoding='utf-8') as file:
                file.write('import hloscope\n\nresult = hloscope.run("m.hlo", reference="interpreter", denormals="flush")\n'
                           'error: float | None = result.outputs[0].max_abs_error\nfor item in hloscope.map(["a"], "verify"):\n    print(item.result)\n')
            done = subprocess.run([sys.executable, '-m', 'mypy', '--strict', '--cache-dir', os.path.join(folder, 'cache'), 'hloscope', 'user.py'], cwd=folder,
                                  capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(folder, 'wrong.py'), 'w', encoding='utf-8') as file:
                file.write('import hloscope\n\nhloscope.run("m.hlo", denormals="drop")\nhloscope.run("m.hlo", platfrom="cpu")\n')
            done = subprocess.run([sys.executable, '-m', 'mypy', '--strict', '--cache-dir', os.path.join(folder, 'cache'), 'wrong.py'], cwd=folder,
                                  capture_output=True, text=True, timeout=600)
            self.assertIn('Found 2 errors', done.stdout)


class Pytest(FolderTest):
    def test_the_fixture(self):
        if not has(sys.executable, 'pytest'):
            self.skipTest('no pytest')
        self.path('test_user.py', f'import numpy as np\nM = {module("f32", "[2]", "add(x, x)")!r}\nX = np.array([1, 2], "f")\n'
                  'def test_equal(hloscope_equal):\n    assert hloscope_equal(M, X).status == "equal"\n'
                  'def test_differs(hloscope_equal):\n    hloscope_equal(M, X, expect=[X])\n'
                  'def test_unsupported(hloscope_equal):\n    hloscope_equal(M.replace("add(x, x)", "custom-call(x), custom_call_target=\\"absent\\""), X)\n')
        done = subprocess.run([sys.executable, '-m', 'pytest', '-q', '-p', 'hloscope.pytest_plugin', '-p', 'no:cacheprovider', '--hloscope-bundles', 'found', 'test_user.py'],
                              cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertIn('2 failed, 1 passed', done.stdout, done.stderr)
        self.assertIn('2 of 2 elements differ', done.stdout)
        self.assertIn('absent', done.stdout)
        bundles = sorted(os.listdir(self.path('found')))
        self.assertEqual(bundles, ['test_user.py_test_differs.hlob', 'test_user.py_test_unsupported.hlob'])
        check = hloscope.bundle('check', self.path('found/test_user.py_test_differs.hlob'), errors='return')
        self.assertEqual(check.status, 'reproduced')


if __name__ == '__main__':
    if not has(sys.executable, 'numpy'):
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=1)
