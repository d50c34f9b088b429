#!/usr/bin/env python3
"""The Python package with jax: functions, structures, unused arguments, recording. python_jax_test.py HLOSCOPE SAMPLES"""
import os
import subprocess
import sys
import threading
import unittest

from command_tests import FolderTest, jaxlib_pythons
from python_tests import SOURCE, has, need, own_python, use

need([own_python(), os.path.join(SOURCE, '.venv', 'bin', 'python'), *jaxlib_pythons(os.path.abspath(sys.argv[1]))], 'jax', 'numpy')
use(sys.argv[1])
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import hloscope  # noqa: E402
from hloscope import _record  # noqa: E402

EXAMPLES = os.path.join(SOURCE, 'docs', 'examples')
TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)


def step(x, w, unused, settings, nothing=None):
    y = jnp.tanh(x @ w) * settings['scale'] + TABLE[0, 1]
    return {'y': y, 'rest': (y.sum(), [y.astype(jnp.bfloat16)]), 'count': jnp.int32(3)}


def arguments():
    random = np.random.default_rng(0)
    return (random.normal(size=(4, 8)).astype('f'), random.normal(size=(8, 3)).astype('f'), np.zeros(7, 'f'), {'other': np.ones(2, 'f'), 'scale': 2.0})


class Functions(FolderTest):
    def check(self, module, function, *given):
        result = hloscope.run(module, *given, reference='interpreter')
        self.assertEqual(result.status, 'equal')
        self.assertFalse(any('generated' in warning for warning in result.warnings), result.warnings)
        want = function(*given)
        self.assertEqual(jax.tree.structure(result.value), jax.tree.structure(want))
        for ours, theirs in zip(jax.tree.leaves(result.value), jax.tree.leaves(want)):
            self.assertEqual(ours.dtype, theirs.dtype)
            np.testing.assert_allclose(np.asarray(ours, np.float64), np.asarray(theirs, np.float64), rtol=2e-2 if ours.dtype == jnp.bfloat16 else 1e-5, atol=1e-6)

    def test_lowered_compiled_and_functions(self):
        given = arguments()
        function = jax.jit(step)
        lowered = function.lower(*given)
        for module in (function, lowered, lowered.compile()):
            self.check(module, function, *given)

    def test_unused_arguments_kept_by_jax(self):
        self.check(jax.jit(step, keep_unused=True).lower(*arguments()), step, *arguments())

    def test_only_the_used_arguments(self):
        def second(a, b):
            return b + 1
        lowered = jax.jit(second).lower(np.ones(3, 'f'), np.ones(2, 'f'))
        np.testing.assert_array_equal(hloscope.run(lowered, np.ones(3, 'f'), np.zeros(2, 'f')).value, [1, 1])
        np.testing.assert_array_equal(hloscope.run(lowered, np.zeros(2, 'f')).value, [1, 1])

    def test_the_private_names_of_another_version(self):
        """Where jax does not say which arguments are used, a wrong count is an error of the program, never a wrong pairing without a word."""
        given = (np.ones(3, 'f'), np.ones(2, 'f'))
        lowered = jax.jit(lambda a, b: b + 1).lower(*given)
        from hloscope import _modules
        original, _modules._private = _modules._private, lambda *_: None
        try:
            with self.assertRaises(hloscope.BadInput):
                hloscope.run(lowered, *given)
        finally:
            _modules._private = original

    def test_keys_scalars_and_statics(self):
        self.check(jax.jit(lambda key: jax.random.normal(key, (3,))), lambda key: jax.random.normal(key, (3,)), jax.random.key(3))
        self.check(jax.jit(lambda x, n: x * n), lambda x, n: x * n, np.ones(2, 'f'), 3)
        power = jax.jit(lambda x, n: x ** n, static_argnums=1)
        np.testing.assert_array_equal(hloscope.run(power.lower(np.full(2, 2, 'f'), 3), np.full(2, 2, 'f')).value, [8, 8])
        self.check(jax.jit(lambda: jnp.arange(3)), lambda: jnp.arange(3))

    def test_expected_values_in_their_structure(self):
        given = arguments()
        function = jax.jit(step)
        want = function(*given)
        self.assertEqual(hloscope.run(function, *given, expect=want, rel=1e-5).status, 'equal')
        wrong = {**want, 'y': want['y'] + 1}
        result = hloscope.run(function, *given, expect=wrong)
        self.assertEqual([output.mismatched for output in result.outputs], [0, 0, 0, 12])
        self.assertEqual(hloscope.run(function.lower(*given), inputs=given, expect=want).status, 'equal')

    def test_stablehlo(self):
        lowered = jax.jit(lambda x: x + 1).lower(np.ones(2, 'f'))
        try:
            self.assertEqual(hloscope.run(lowered.as_text(), np.ones(2, 'f')).value.tolist(), [2, 2])
        except hloscope.HloscopeError as error:
            self.assertIn('plugin', str(error))

    def test_wrong_counts(self):
        lowered = jax.jit(step).lower(*arguments())
        with self.assertRaisesRegex(TypeError, 'lowered for 5 arrays, got 1'):
            hloscope.run(lowered, np.ones(2, 'f'))
        with self.assertRaisesRegex(TypeError, 'jax.jit'):
            hloscope.run(step, *arguments())

    def test_other_commands(self):
        lowered = jax.jit(step).lower(*arguments())
        self.assertEqual(hloscope.verify(lowered).status, 'ok')
        self.assertEqual(hloscope.diverge(lowered, *arguments(), platform='cpu', reference='interpreter').status, 'equal')
        self.assertIn('<svg', hloscope.show(lowered, format='svg').text)


class Examples(FolderTest):
    def test_the_script(self):
        done = subprocess.run([sys.executable, os.path.join(EXAMPLES, 'quick_start.py'), self.folder], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertIn("equal {'result': (8, 16), 'weights': (8, 8)}", lines)
        self.assertEqual((lines[2], lines[-1]), ('both agree within the bounds', 'reproduced'))
        # Whoever gets the bundle has the kernels' times.
        unpacked = self.path('unpacked')
        hloscope.bundle('open', self.path('attention.hlob'), into=unpacked)
        names = [name for _, _, files in os.walk(unpacked) for name in files]
        self.assertIn('profile.json', names)
        with open(os.path.join(unpacked, 'report.md'), encoding='utf-8') as file:
            self.assertRegex(file.read(), r'## Where the time goes\n\n(?s:.*)\| [\w.\\\\]+ \| \w+ \| 3 \| [\d.]+ ms \|')
        picture = hloscope.open(self.path('attention.hlob'), screenshot=self.path('picture.png'), screen='kernels', errors='return')
        if picture.code == 0:
            self.assertGreater(os.path.getsize(self.path('picture.png')), 10000)

    def test_the_notebook(self):
        if not has(sys.executable, 'nbclient', 'ipykernel'):
            self.skipTest('no nbclient')
        import nbclient
        import nbformat
        notebook = nbformat.read(os.path.join(EXAMPLES, 'notebook.ipynb'), as_version=4)
        nbclient.NotebookClient(notebook, timeout=300, kernel_name='python3').execute(cwd=self.folder)
        answers = [cell['outputs'][-1]['data'] for cell in notebook.cells if cell['cell_type'] == 'code' and cell['outputs']]
        self.assertIn('<table>', answers[0]['text/html'])
        self.assertIn('equal', answers[0]['text/html'])
        self.assertIn('<svg', answers[1]['image/svg+xml'])
        self.assertIn('%x is not defined', answers[2]['text/html'])


class Recording(FolderTest):
    def test_everything_inside_and_nothing_outside(self):
        before = jax.jit(lambda x: jnp.sin(x) + 1)
        before(np.ones(3, 'f'))  # compiled before
        with hloscope.record(self.path('dump')) as dump:
            before(np.ones(3, 'f'))

            @jax.jit
            def inner(x):
                return x * 2
            inner(np.ones(5, 'f'))
        names = {module['name'] for module in hloscope.info(dump).modules}
        self.assertLessEqual({'jit__lambda', 'jit_inner'}, {name.rstrip('_') for name in names})
        count = len(os.listdir(dump))
        inner(np.ones(5, 'f'))
        jax.jit(lambda x: x - 1)(np.ones(3, 'f'))
        self.assertEqual(len(os.listdir(dump)), count)
        self.assertEqual(hloscope.run(os.path.join(dump, next(n for n in sorted(os.listdir(dump)) if 'inner' in n and 'before_opt' in n and n.endswith('.txt')))).status, 'ran')

    def test_passes(self):
        with hloscope.record(self.path('dump'), passes=True) as dump:
            jax.jit(lambda x: x @ x.T)(np.ones((3, 4), 'f'))
        self.assertGreater(len([name for name in os.listdir(dump) if '.after_' in name]), 10)

    def test_settings_come_back_after_an_error(self):
        from jax._src import compiler
        original, cached = compiler.get_compile_options, jax.config.jax_enable_compilation_cache
        with self.assertRaises(ZeroDivisionError), hloscope.record(self.path('dump')):
            with self.assertRaisesRegex(RuntimeError, 'already running'), hloscope.record(self.path('other')):
                pass
            1 / 0
        self.assertIs(compiler.get_compile_options, original)
        self.assertEqual(jax.config.jax_enable_compilation_cache, cached)

    def test_threads_inside(self):
        with hloscope.record(self.path('dump')) as dump:
            thread = threading.Thread(target=lambda: jax.jit(lambda x: x + 5)(np.ones(2, 'f')))
            thread.start()
            thread.join()
        self.assertTrue(hloscope.info(dump).modules)

    def test_another_jax(self):
        original, _record._compiler = _record._compiler, lambda: None
        try:
            jax.devices()
            with self.assertRaisesRegex(RuntimeError, 'XLA_FLAGS'), hloscope.record(self.path('dump')):
                pass
        finally:
            _record._compiler = original
        code = ('import os, sys, hloscope._record as r; r._compiler = lambda: None\nimport jax, numpy as np, hloscope\n'
                'with hloscope.record(sys.argv[1]) as d: jax.jit(lambda x: x + 1)(np.ones(2, "f"))\nprint(len(hloscope.info(d).modules) > 0, os.environ.get("XLA_FLAGS"))')
        environment = {name: value for name, value in os.environ.items() if name != 'XLA_FLAGS'}
        done = subprocess.run([sys.executable, '-c', code, self.path('fresh')], capture_output=True, text=True, timeout=300, env=environment)
        self.assertEqual(done.stdout, 'True None\n', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=1)
