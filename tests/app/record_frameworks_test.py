#!/usr/bin/env python3
"""`hloscope record` on real programs of one framework: a good one, one that crashes, one that is interrupted by Ctrl+C, one with a warm
compilation cache.

  record_frameworks_test.py HLOSCOPE FRAMEWORK PYTHON

FRAMEWORK is jax, tensorflow or pytorch, PYTHON the interpreter of an environment that has it. Exit status 77: it has it not."""
import collections
import fcntl
import glob
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import unittest
import zipfile

from command_tests import FolderTest

Framework = collections.namedtuple('Framework', 'name package part program cache again served')
HLOSCOPE, PYTHON = map(os.path.abspath, sys.argv[1:4:2])
FRAMEWORK = sys.argv[2]
# Each compiles its step once for every number of rows, and not again for one that it has seen. `cache`: variables that switch a
# persistent compilation cache on, in the folder {cache}. `again`: the sentence about a second compilation. `served`: whether the
# cache gives what it holds; PyTorch/XLA on CPU writes it and compiles again.
FRAMEWORKS = {
    'jax': Framework('JAX', 'jax', 'samples', '''
import jax, numpy
@jax.jit
def step(x, w): return (jax.nn.relu(x @ w) ** 2).mean()
for rows in ROWS: print(float(step(numpy.ones((rows, 8), 'f'), numpy.ones((8, 4), 'f'))), flush=True)
''', {'JAX_COMPILATION_CACHE_DIR': '{cache}', 'JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS': '0',
      'JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES': '-1'},
                     'the shape of argument `x` changed from f32[16,8] to f32[32,8], dimension 0 from 16 to 32', True),
    'tensorflow': Framework('TensorFlow', 'tensorflow', 'frameworks', '''
import tensorflow as tf
@tf.function(jit_compile=True)
def step(x, w): return tf.reduce_mean(tf.nn.relu(x @ w) ** 2)
for rows in ROWS: print(float(step(tf.ones((rows, 8)), tf.ones((8, 4)))), flush=True)
''', {'TF_XLA_FLAGS': '--tf_xla_persistent_cache_directory={cache}'},
                            'the shape of argument `0` changed from f32[16,8] to f32[32,8], dimension 0 from 16 to 32', True),
    'pytorch': Framework('PyTorch/XLA', 'torch_xla', 'frameworks', '''
import torch, torch_xla
def step(x, w): return (torch.relu(x @ w) ** 2).mean()
for rows in ROWS:
    loss = step(*(torch.ones(shape).to(torch_xla.device()) for shape in ((rows, 8), (8, 4))))
    torch_xla.sync()
    print(float(loss), flush=True)
''', {'XLA_PERSISTENT_CACHE_PATH': '{cache}'},
                         'the shape of argument `1` changed from f32[16,8] to f32[32,8], dimension 0 from 16 to 32', False),
}
THIS = FRAMEWORKS[FRAMEWORK]


class RecordFramework(FolderTest):
    def setUp(self):
        super().setUp()
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(('XLA_', 'JAX_', 'TF_', 'PT_XLA')) and key != 'PYTHONPATH'}
        self.environment['PJRT_DEVICE'] = 'CPU'

    def command(self, rows, end, options):
        self.path('program.py', f'ROWS = {rows}\n{THIS.program}{end}\n')
        return [HLOSCOPE, 'record', *options, '--', PYTHON, 'program.py']

    def record(self, dump, *options, rows=(16, 16, 32), end=''):
        """Exit status, output and messages of a run into a new folder."""
        done = subprocess.run(self.command(rows, end, ['--dump', dump, *options]), cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout, done.stderr

    def check_dump(self, dump, modules, out):
        """The dump holds that many modules, before and after optimisation, with kernels, and `out` says so."""
        self.assertIn(f'/{dump}: {modules} module{"s" if modules > 1 else ""}, ', out)
        for stage in ('before_optimizations.txt', 'before_optimizations.hlo.pb', 'cpu_after_optimizations.txt'):
            self.assertEqual(len(glob.glob(self.path(f'{dump}/*.{stage}'))), modules, stage)
        self.assertTrue(glob.glob(self.path(f'{dump}/*.ll')))
        with open(self.path(f'{dump}/hloscope-record.json'), encoding='utf-8') as file:
            record = json.load(file)
        self.assertEqual(record['framework'], THIS.name)
        self.assertTrue(record['version'])
        return record

    def test_good_and_again(self):
        status, out, err = self.record('good')
        self.assertEqual(status, 0, err)
        self.assertEqual(out.splitlines()[:3], ['64.0'] * 3)
        self.assertIn(f'records {THIS.name} ', err)
        self.assertNotIn('warning: ', err)
        self.check_dump('good', 2, out)
        # Once, for the call that was not cached.
        for text in (out, subprocess.run([HLOSCOPE, 'info', self.path('good')], capture_output=True, text=True, check=True).stdout):
            self.assertEqual(text.count('compiled again: '), 1, text)
            self.assertIn(THIS.again, text)

    def test_keras_models_that_are_not_compiled(self):
        """Keras logs nothing of it: the reason and the line of compile() come from the hook."""
        if FRAMEWORK != 'tensorflow':
            self.skipTest('Keras runs on TensorFlow here')
        self.path('keras_steps.py', """
import keras, numpy
x, y = numpy.ones((8, 4), 'f'), numpy.ones((8, 1), 'f')
for name, options in ('off', {'jit_compile': False}), ('on', {'jit_compile': True}), ('auto', {}), ('eager', {'run_eagerly': True}), ('by_hand', {'jit_compile': True}):
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)], name=name)
    model.compile('sgd', 'mse', **options)
    if name == 'by_hand': model.jit_compile = False
    model.fit(x, y, verbose=0)
""")
        subprocess.run([HLOSCOPE, 'record', '--dump', 'steps', '--json', '--', PYTHON, 'keras_steps.py'], cwd=self.folder,
                       env=self.environment, capture_output=True, text=True, timeout=600, check=True)
        with open(os.path.join(self.folder, 'steps', 'hloscope-record.json'), encoding='utf-8') as file:
            steps = json.load(file)['keras_steps']
        self.assertEqual([(one['model'], one['reason'], one['place'].rsplit(':', 1)[-1]) for one in steps],
                         [('off', 'off', '6'), ('auto', 'cpu', '6'), ('eager', 'eager', '6'), ('by_hand', 'unknown', '6')])

    def test_inputs_of_keras(self):
        """The compiled steps of fit (a whole batch and the rest) and predict, which are called inside of a graph."""
        if FRAMEWORK != 'tensorflow':
            self.skipTest('Keras runs on TensorFlow here')
        self.path('keras_program.py', """
import keras, numpy
model = keras.Sequential([keras.layers.Dense(8, activation='relu'), keras.layers.Dense(1)])
model.compile('sgd', 'mse', jit_compile=True)
model.fit(numpy.ones((70, 4), 'f'), numpy.ones((70, 1), 'f'), epochs=2, batch_size=64, verbose=0)
print(model.predict(numpy.ones((5, 4), 'f'), verbose=0).shape)
""")
        done = subprocess.run([HLOSCOPE, 'record', '--inputs', '--dump', 'keras', '--json', '--', PYTHON, 'keras_program.py'], cwd=self.folder,
                              env=self.environment, capture_output=True, text=True, timeout=600, check=True)
        report = json.loads(done.stdout)
        self.assertEqual([one['arrays'] for one in report['inputs']], [10, 10, 5])
        self.assertEqual(report['without_inputs'], [])

    def test_crash(self):
        status, out, err = self.record('crash', rows=(16,), end='import os; os.abort()')
        self.assertEqual(status, 4)
        self.assertIn('was killed by signal 6 (SIGABRT); the dump up to that point is kept', err)
        self.assertEqual(self.check_dump('crash', 1, out)['exit'], 134)

    def test_ctrl_c(self):
        """The key itself, on a terminal of their own."""
        keyboard, terminal = pty.openpty()

        def on_terminal():
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
            # Jobs in the background of a shell ignore it, and so do their children.
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        command = self.command((16,), 'import time\nprint("ready", flush=True)\ntime.sleep(200)', ['--dump', 'interrupted'])
        with subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=terminal, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=on_terminal) as process:
            self.assertEqual([process.stdout.readline() for _ in range(2)], ['64.0\n', 'ready\n'])
            os.write(keyboard, b'\x03')
            out, err = process.communicate(timeout=60)
        os.close(keyboard)
        os.close(terminal)
        self.assertEqual(process.returncode, 4)
        self.assertIn('the program was interrupted and ', err)
        self.assertTrue(self.check_dump('interrupted', 1, out)['interrupted'])

    def test_inputs(self):
        """From a program to a bundle with its inputs by two commands. The inputs give what the program printed."""
        status, out, err = self.record('inputs', '--inputs', rows=(16, 32))
        self.assertEqual(status, 0, err)
        self.assertIn('inputs of 2 modules saved', out)
        saved = glob.glob(self.path('inputs/*.inputs.npz'))
        self.assertEqual({os.stat(file).st_mode & 0o777 for file in saved}, {0o600})
        record = self.check_dump('inputs', 2, out)
        self.assertTrue(record['xla'])
        run = subprocess.run([HLOSCOPE, 'run', 'inputs', '--print_literals'], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(run.stdout.count('inputs are those that `record --inputs` saved'), 2, run.stdout + run.stderr)
        self.assertIn('64', run.stdout)
        subprocess.run([HLOSCOPE, 'bundle', 'create', 'inputs', '--values', 'all', '-o', 'bug.hlob'], cwd=self.folder, capture_output=True, check=True)
        with zipfile.ZipFile(self.path('bug.hlob')) as bundle:
            self.assertIn('inputs.npz', bundle.namelist())
            report = bundle.read('report.md').decode()
        self.assertIn(f"{THIS.name} {record['version']}", report)

    def test_warm_cache(self):
        self.environment.update({key: value.format(cache=self.path('cache')) for key, value in THIS.cache.items()})
        os.mkdir(self.path('cache'))
        status, out, err = self.record('cold')
        self.assertEqual(status, 0, err)
        self.assertIn('cold: 2 modules', out)
        self.assertTrue(os.listdir(self.path('cache')))
        status, out, err = self.record('warm')
        self.assertEqual(status, 0, err)
        self.assertIn(' keeps compilations' if FRAMEWORK != 'tensorflow' else 'tf_xla_persistent_cache_directory', err)
        if not THIS.served:
            self.check_dump('warm', 2, out)
            return
        self.assertIn('a compilation cache gave 2 of 2 compilations', err)
        self.assertIn('fix: --no-compilation-cache', err)
        self.assertNotIn('compiled again', out)
        status, out, err = self.record('off', '--no-compilation-cache')
        self.assertEqual(status, 0, err)
        self.check_dump('off', 2, out)
        self.assertNotIn('a compilation cache gave', err)


if __name__ == '__main__':
    if not os.path.exists(PYTHON) or subprocess.run([PYTHON, '-c', f'import importlib.util as u, sys; sys.exit(u.find_spec("{THIS.package}") is None)'],
                                                     check=False).returncode != 0:
        print(f'skipped: no {THIS.name} in {PYTHON}; fix: scripts/setup {THIS.part}')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
