#!/usr/bin/env python3
"""`hloscope record` on programs that write what XLA would, with packages that only say their version.

  record_test.py HLOSCOPE"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

import xspace
from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])
MODULE = '''HloModule jit_step
ENTRY main {
  x = f32[4]{0} parameter(0)
  ROOT y = f32[4]{0} tanh(x)
}
'''
# Does what XLA does with its flags: the last of a name counts.
COMPILES = f'''
import json, os, sys
def dump():
    flags = dict(f.lstrip('-').split('=', 1) for f in os.environ['XLA_FLAGS'].split())
    with open(os.path.join(flags['xla_dump_to'], 'module_0001.jit_step.before_optimizations.txt'), 'w') as file:
        file.write({MODULE!r})
with open('environment.json', 'w') as file:
    json.dump(dict(os.environ), file)
dump()
'''
LOG = '''
sys.stderr.write("Compiling jit(step) with global shapes and types (ShapedArray(float32[4]),). Argument mapping: (UnspecifiedValue,).\\n"
                 "Persistent compilation cache hit for 'jit_step' with key 'jit_step-1'\\n"
                 "Finished XLA compilation of jit(step) in 0.5 sec\\nmine\\n")
'''
FRAMEWORK_VARIABLES = ('XLA_FLAGS', 'JAX_COMPILATION_CACHE_DIR', 'JAX_LOG_COMPILES', 'TF_XLA_FLAGS', 'TF_CPP_VMODULE', 'PYTHONPATH')


class RecordTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.environment = {key: value for key, value in os.environ.items() if key not in FRAMEWORK_VARIABLES}

    def install(self, package, version, code=''):
        """A package in PYTHONPATH that says its version and does nothing else."""
        site = self.path('site')
        for other in glob.glob(os.path.join(site, f'{package}-*.dist-info')):
            shutil.rmtree(other)
        os.makedirs(os.path.join(site, f'{package}-{version}.dist-info'), exist_ok=True)
        os.makedirs(os.path.join(site, package), exist_ok=True)
        self.path(f'site/{package}-{version}.dist-info/METADATA', f'Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n')
        self.path(f'site/{package}/__init__.py', code)
        self.environment['PYTHONPATH'] = site

    def record(self, *arguments, program=COMPILES, command=None, **more):
        script = self.path('program.py', program)
        done = subprocess.run([HLOSCOPE, 'record', *arguments, '--', *(command or [sys.executable, script])], cwd=self.folder,
                              env=self.environment, capture_output=True, text=True, timeout=120, **more)
        return done.returncode, done.stdout, done.stderr

    def seen(self):
        with open(self.path('environment.json'), encoding='utf-8') as file:
            return json.load(file)

    def read(self, name):
        with open(self.path(name), encoding='utf-8') as file:
            return file.read()


class Record(RecordTest):
    def test_a_hook_that_cannot_be_written(self):
        os.makedirs(self.path('d'))
        self.path('d/hloscope-hook', 'a file where the hook has its folder')
        status, _, err = self.record('--dump', 'd', '--inputs')
        self.assertEqual(status, 0, err)
        line, = [line for line in err.splitlines() if 'hloscope-hook: cannot be made' in line]
        self.assertTrue(line.startswith('warning: '), line)
        self.assertIn(': without this file no inputs are saved, all processes of the program dump into ', line)
        self.assertNotIn('several processes', err)

    def test_a_dump_in_a_new_folder(self):
        status, out, err = self.record()
        self.assertEqual(status, 0, err)
        self.assertIn('/hloscope-dump: 1 module, ', out)
        self.assertIn('module_0001 jit_step', out)
        self.assertIn('next: hloscope info', out)
        self.assertIn('only flags that any XLA has are set', err)
        self.assertIn('/hloscope-dump-2: 1 module, ', self.record()[1])

    def test_a_launcher_of_a_python(self):
        """`nice -n 1 /env/python program.py` runs that Python, not the first of PATH."""
        self.install('jax', '0.10.2')
        site = self.environment.pop('PYTHONPATH')
        os.makedirs(self.path('env'))
        python = self.path('env/python9', f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" "$@"\n')
        os.chmod(python, 0o755)
        script = self.path('program.py', COMPILES)
        for launcher in (['nice', '-n', '1'], ['env', 'A=b']):
            status, out, err = self.record(command=[*launcher, python, script])
            self.assertEqual(status, 0, err)
            self.assertIn('records JAX 0.10.2 into ', out + err)
            self.assertNotIn('only flags that any XLA has are set', err)

    def test_no_flag_that_the_xla_may_not_have(self):
        """An unknown flag ends the program: without a library to look into, only versions that were tried get newer ones."""
        for version, has in (('0.10.2', True), ('0.4.1', False), (None, False)):
            if version is not None:
                self.install('jax', version)
            else:
                self.environment.pop('PYTHONPATH')
            self.record('--dump', f'd{version}', program='# import jax\n' + COMPILES)
            flags = self.seen()['XLA_FLAGS']
            self.assertIn('--xla_dump_hlo_as_text=true', flags)
            self.assertEqual('xla_dump_emitter_re' in flags, has, version)

    def test_flags_that_are_set_stay(self):
        self.install('jax', '0.10.2')
        self.environment['XLA_FLAGS'] = '--xla_mine=1 --xla_dump_hlo_as_text=false --xla_dump_hlo_module_re=step'
        status, _, err = self.record('--dump', 'd', '--passes')
        self.assertEqual(status, 0, err)
        flags = self.seen()['XLA_FLAGS'].split()
        self.assertEqual(flags[:3], self.environment['XLA_FLAGS'].split())
        self.assertIn(f'--xla_dump_to={os.path.realpath(self.path("d"))}', flags)
        self.assertIn('--xla_dump_hlo_pass_re=.*', flags)
        # Not of mlir-fusion: XLA:CPU crashes where it dumps those.
        self.assertIn('--xla_dump_emitter_re=^(llvm|ptx|triton-fusion)$', flags)
        self.assertEqual(sum('xla_dump_hlo_as_text' in flag for flag in flags), 1)
        self.assertIn('--xla_dump_hlo_module_re=step: only modules whose name matches are dumped; fix:', err)

    def test_flags_that_do_not_conflict_are_no_warning(self):
        """A program that adds to XLA_FLAGS or reads them keeps those of the dump, and a folder has many names."""
        self.install('jax', '0.10.2')
        adds = "import os\nos.environ['XLA_FLAGS'] = os.environ.get('XLA_FLAGS', '') + ' --xla_mine=1'\n"
        for k, (before, warns) in enumerate(((adds, False), ("import os\nos.environ.setdefault('XLA_FLAGS', '--xla_mine=1')\n", False),
                                             ("import os\nprint(os.environ['XLA_FLAGS'])\n", False),
                                             ("import os\nos.environ['XLA_FLAGS'] = '--xla_mine=1'\n", True),
                                             ("import os\nos.environ.update({'XLA_FLAGS': '--xla_mine=1'})\n", True))):
            self.assertEqual('the program sets XLA_FLAGS itself' in self.record('--dump', f'd{k}', program=before)[2], warns, before)
        self.environment['XLA_FLAGS'] = '--xla_mine=1 --xla_dump_to=' + self.path('same')
        self.assertNotIn('XLA_FLAGS dumps to', self.record('--dump', './same')[2])

    def test_the_hook_says_what_failed(self):
        self.install('jax', '0.10.2', 'class profiler:\n  start_trace = staticmethod(lambda to: None)\n'
                     '  def stop_trace():\n    raise OSError("disk")\nclass monitoring:\n'
                     '  register_event_duration_secs_listener = staticmethod(lambda f: f())\n')
        err = self.record('--profile', program='import jax\n')[2]
        self.assertIn('hloscope: the profile could not be written: OSError: disk', err)

    def test_flags_of_a_file(self):
        self.environment['XLA_FLAGS'] = self.path('flags', '--xla_mine=1\n--xla_dump_to=there\n')
        status, out, err = self.record()
        self.assertEqual(status, 0, err)
        self.assertEqual(self.seen()['XLA_FLAGS'].split()[0], '--xla_mine=1')
        self.assertIn('/there: 1 module', out)
        self.assertIn('dumps to there; this run dumps to d instead', self.record('--dump', 'd')[2])

    def test_streams_and_arguments(self):
        script = self.path('echo.py', 'import sys\nprint(sys.stdin.read(), sys.argv[1:])\nsys.stderr.write("half")\n')
        status, out, err = self.record('--dump', 'd', command=[sys.executable, script, '--json', 'a,b', '--'], input='in')
        self.assertEqual(status, 0)
        self.assertTrue(out.startswith("in ['--json', 'a,b', '--']\n"), out)
        self.assertEqual(self.read('d/stderr.log'), 'half')
        self.assertIn('half', err)
        self.assertIn('left no module', err)

    def test_how_it_ends(self):
        for end, code, words in (('sys.exit(3)', 3, 'ended with exit status 3'), ('os.abort()', 134, 'was killed by signal 6 (SIGABRT)')):
            status, out, err = self.record('--json', program=COMPILES + end)
            self.assertEqual(status, 4)
            report = json.loads(out)
            self.assertEqual(report['exit'], code)
            self.assertEqual(len(report['modules']), 1)
            self.assertTrue(any(words in text for text in report['warnings']), report['warnings'])
            self.assertIn(words + '; the dump up to that point is kept', err)
        status, out, err = self.record(program='raise SystemExit(1)')
        self.assertIn('left no module: ', err)
        self.assertIn('hloscope info', out)
        self.assertNotIn('bundle create', out)  # which needs a module

    def test_interrupted(self):
        script = self.path('program.py', COMPILES + 'import time\nprint("ready", flush=True)\ntime.sleep(100)\n')
        with subprocess.Popen([HLOSCOPE, 'record', '--dump', 'd', '--', sys.executable, script], cwd=self.folder, env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              # Jobs in the background of a shell ignore it, and so do their children.
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            self.assertEqual(process.stdout.readline(), 'ready\n')
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4)
        self.assertIn('was interrupted', err)
        self.assertIn('d: 1 module', out)
        self.assertTrue(json.loads(self.read('d/hloscope-record.json'))['interrupted'])

    def test_a_broken_environment(self):
        """Links that lead nowhere, a distribution without a version: the rest is listed."""
        self.install('jax', '0.10.2')
        self.install('jaxlib', '0.10.2')
        os.makedirs(self.path('site/numpy-1.0.dist-info'))
        self.path('site/numpy-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\nName: numpy\n')
        os.symlink('/nowhere/libjax.so', self.path('site/jaxlib/libjax.so'))
        status, _, err = self.record('--dump', 'd')
        self.assertEqual(status, 0, err)
        self.assertNotIn('did not list', err)
        self.assertIn('0.10.2', self.read('d/hloscope-record.json') if os.path.exists(self.path('d/hloscope-record.json')) else err)

    def test_what_cannot_be_run(self):
        for command, words in ((['no-such-program'], 'no-such-program: program not found or not executable'),
                               (['program.py'], 'fix: hloscope record -- python program.py')):
            status, out, err = self.record(command=command)
            self.assertEqual((status, out), (2, ''))
            self.assertIn(words, err)
        for arguments, words in ((['python', 'a.py'], 'unexpected argument `python` (put `--` before it)'), ([], '-- CMD is missing')):
            done = subprocess.run([HLOSCOPE, 'record', *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
        self.path('file', '')
        self.assertIn('--dump file: the folder cannot be made', self.record('--dump', 'file')[2])

    def test_a_recording_is_not_overwritten(self):
        script = self.path('program.py', COMPILES)
        self.assertEqual(self.record('--dump', 'd', command=[sys.executable, script])[0], 0)
        before = self.read('d/hloscope-record.json')
        status, _, err = self.record('--dump', 'd', command=[sys.executable, script])
        self.assertEqual((status, self.read('d/hloscope-record.json')), (2, before), err)
        self.assertIn('d: holds a recording, whose files this one would overwrite (--dump with a new folder)', err)
        os.makedirs(self.path('other'))
        self.path('other/notes.txt', '')
        self.assertIn('files of the names that XLA gives are overwritten', self.record('--dump', 'other', command=[sys.executable, script])[2])

    def test_secrets_stay_out(self):
        self.environment.update(JAX_API_TOKEN='hunter2secret', XLA_FLAGS='--xla_mine=1', MY_VARIABLE='unrelated')
        script = self.path('program.py', COMPILES)
        self.record('--dump', 'd', command=[sys.executable, script, '--api-key', 'swordfish', '--steps', '3'])
        text = self.read('d/hloscope-record.json')
        for secret in ('hunter2secret', 'swordfish', 'unrelated'):
            self.assertNotIn(secret, text)
        record = json.loads(text)
        self.assertEqual(record['command'][-2:], ['--steps', '3'])
        self.record('--dump', 'e', command=[sys.executable, script, '-p', 'hunter4', '-p', '8080', '-p', 'float32'])
        command = json.loads(self.read('e/hloscope-record.json'))['command']
        self.assertEqual(command[-6:], ['-p', '<token1>', '-p', '8080', '-p', 'float32'])
        self.record('--dump', 'glued', command=[sys.executable, script, '-phunter5', '-p8080', '-pfloat32', '-printing'])
        command = json.loads(self.read('glued/hloscope-record.json'))['command']
        self.assertEqual(command[-4:], ['-p<token1>', '-p8080', '-pfloat32', '-printing'])
        self.assertIn('--xla_mine=1', record['environment']['XLA_FLAGS'])


class Frameworks(RecordTest):
    def test_jax(self):
        self.install('jax', '9.8.7')
        status, out, err = self.record('--json', program='import jax\n' + COMPILES + LOG)
        self.assertEqual(status, 0, err)
        report = json.loads(out)
        self.assertEqual((report['framework'], report['version']), ('JAX', '9.8.7'))
        self.assertEqual(self.seen()['JAX_LOG_COMPILES'], '1')
        # Lines that were not asked for are kept, and not shown.
        self.assertIn('mine', err)
        self.assertNotIn('Compiling', err)
        self.assertIn('Compiling', self.read('hloscope-dump/stderr.log'))
        self.assertTrue(any('a compilation cache gave 1 of 1 compilation:' in text for text in report['warnings']), report['warnings'])
        self.environment['JAX_LOG_COMPILES'] = '1'
        self.assertIn('Compiling', self.record(program='import jax\n' + COMPILES + LOG)[2])

    def test_what_a_cache_gave_was_not_compiled_again(self):
        self.install('jax', '9.8.7')
        program = 'import jax\n' + COMPILES + f"""
flags = dict(f.lstrip('-').split('=', 1) for f in os.environ['XLA_FLAGS'].split())
with open(os.path.join(flags['xla_dump_to'], 'module_0002.jit_step.before_optimizations.txt'), 'w') as file:
    file.write({MODULE!r}.replace('[4]', '[5]'))
""" + LOG + LOG
        self.assertNotIn('compiled again', self.record(program=program)[1])
        compiled = program.replace('Persistent compilation cache hit', 'other')
        self.assertIn('compiled again: step (JAX), 2 compilations, 500 ms lost', self.record(program=compiled)[1])

    def test_caches(self):
        self.install('jax', '9.8.7')
        self.environment['JAX_COMPILATION_CACHE_DIR'] = self.path('cache')
        program = 'import jax\n' + COMPILES
        self.assertIn('keeps compilations', self.record(program=program)[2])
        self.assertNotIn('JAX_ENABLE_COMPILATION_CACHE', self.seen())
        self.assertNotIn('keeps compilations', self.record('--no-compilation-cache', program=program)[2])
        self.assertEqual(self.seen()['JAX_ENABLE_COMPILATION_CACHE'], 'false')

    def test_tensorflow(self):
        self.install('tensorflow', '2.99')
        self.environment.update(TF_XLA_FLAGS='--tf_xla_auto_jit=2 --tf_xla_persistent_cache_directory=/cache', TF_CPP_VMODULE='a=2')
        status, out, err = self.record('--no-compilation-cache', program='import tensorflow as tf\n' + COMPILES)
        self.assertEqual(status, 0, err)
        seen = self.seen()
        self.assertEqual(seen['TF_XLA_FLAGS'], '--tf_xla_auto_jit=2 --tf_xla_clustering_debug')
        self.assertEqual(seen['TF_CPP_VMODULE'], 'a=2,device_compilation_profiler=1,device_executable_persistor=1')
        self.assertEqual(seen['TF_DUMP_GRAPH_PREFIX'], os.path.realpath(self.path('hloscope-dump')))
        self.assertNotIn('JAX_LOG_COMPILES', seen)
        self.assertIn('records TensorFlow 2.99', err)
        err = self.record(program='import tensorflow as tf\nimport sys\nsys.stderr.write("] Dumped Graph to x\\n")')[2]
        self.assertNotIn('Dumped Graph', err)

    def test_a_flag_that_crashes_the_framework_is_left_out(self):
        """XLA:CPU of TensorFlow 2.21 has --xla_dump_hlo_snapshots, and dies of it."""
        program = 'import tensorflow as tf\n' + COMPILES
        for version, flag, words in (('2.21.0', False, '--snapshots is left out: --xla_dump_hlo_snapshots crashes TensorFlow 2.21'),
                                     ('2.22.0', False, 'and is untried with TensorFlow 2.22.0')):
            self.install('tensorflow', version)
            status, _, err = self.record('--snapshots', program=program)
            self.assertEqual(status, 0, err)
            self.assertEqual('xla_dump_hlo_snapshots' in self.seen()['XLA_FLAGS'], flag, version)
            self.assertIn(words, err)
        self.install('jax', '0.10.2')
        self.record('--snapshots', program='import jax\n' + COMPILES)
        self.assertIn('--xla_dump_hlo_snapshots=true', self.seen()['XLA_FLAGS'])

    def test_whose_crash_it_is(self):
        """A small program is tried with the flags and without; the user's own program runs once."""
        crash = COMPILES + "open('runs', 'a').write('x')\nos.abort()\n"
        jit = 'import os\nclass Array:\n    def block_until_ready(self): pass\ndef jit(f): return lambda x: Array()\n'
        for code, words in ((jit + "if 'xla_dump_to' in os.environ.get('XLA_FLAGS', ''): os.abort()\n",
                             'the crash is due to flags that hloscope set: a small JAX program was killed by signal 6 (SIGABRT) with them'),
                            (jit, 'a small JAX program runs with the flags that hloscope set; your program was not run again'),
                            ('raise ValueError', 'the flags that hloscope set could not be tried by themselves')):
            self.install('jax', '0.10.2', code)
            status, _, err = self.record(program='# import jax\n' + crash)
            self.assertEqual(status, 4)
            self.assertIn(words, err)
            self.assertEqual(self.read('runs'), 'x')
            os.remove(self.path('runs'))
        self.assertNotIn('could not be tried', self.record(program='raise SystemExit(3)')[2])

    def test_stablehlo_that_the_program_saves(self):
        """XLA_HLO_DEBUG, which is set for it, changes the text that torch_xla 2.9 writes."""
        self.install('torch_xla', '2.9.0')
        program = 'import torch_xla\n# torch_xla.stablehlo\n' + COMPILES
        self.assertIn('write StableHLO text with locations that MLIR cannot read back', self.record(program=program)[2])
        self.environment['XLA_HLO_DEBUG'] = '0'
        self.assertNotIn('MLIR', self.record(program=program)[2])

    def test_pytorch(self):
        self.install('torch_xla', '2.99')
        status, out, err = self.record(program='import sys, torch_xla\n' + COMPILES + 'sys.stderr.write("one\\n\\nCompilation Analysis: ===\\n\\ntwo\\n")')
        self.assertEqual(status, 0, err)
        self.assertEqual(self.seen()['PT_XLA_DEBUG_LEVEL'], '2')
        self.assertIn('one\ntwo\n', err)

    def test_each_process_has_a_folder(self):
        """Modules of one id and name from three processes: spawned, forked, and the first one; none is lost, none is compiled again."""
        self.install('jax', '0.10.2')
        self.install('jaxlib', '0.10.2')
        compiled = '\n'.join(line for line in LOG.splitlines() if 'cache hit' not in line) + '\n'
        worker = self.path('worker.py', 'import jax\n' + COMPILES + compiled)
        code, _, error = self.record('--dump', 'd', program='import jax\n' + COMPILES + compiled + f"""
import subprocess
subprocess.run([sys.executable, {worker!r}], check=True)
subprocess.run([sys.executable, '-c', 'import os'], check=True)  # compiles nothing: has no folder
child = os.fork()
if child == 0:
    dump()
    os._exit(0)
os.waitpid(child, 0)
child = os.fork()
if child == 0:
    os._exit(0)  # leaves nothing
os.waitpid(child, 0)
""")
        self.assertEqual(code, 0, error)
        found = sorted(glob.glob(self.path('d/**/module_0001*'), recursive=True))
        self.assertEqual([os.path.relpath(os.path.dirname(f), self.path('d')) for f in found], ['.', 'process-2', 'process-3'], found)
        self.assertEqual(sorted(os.listdir(self.path('d')))[0], 'hloscope-record.json')
        self.assertFalse(os.path.exists(self.path('d/process-4')), 'empty folders go')
        text = subprocess.run([HLOSCOPE, 'info', self.path('d')], capture_output=True, text=True).stdout
        self.assertIn('written by 3 processes, each into a folder of its own', text)
        self.assertNotIn('compiled again', text)
        self.assertIn('several processes compiled `step` and share one log', text)

    def keras(self):
        """A Keras 3 that decides alone, on a machine with a GPU, and compiles nothing."""
        self.install('tensorflow', '2.99', '''
class config:
    class experimental:
        is_on = False
        is_op_determinism_enabled = staticmethod(lambda: config.experimental.is_on)
    class gpu:
        device_type = 'GPU'
    list_physical_devices = staticmethod(lambda: [config.gpu])
''')
        self.install('keras', '3.99', 'class config:\n    backend = staticmethod(lambda: "tensorflow")\n')
        for folder in ('src', 'src/trainers', 'src/backend', 'src/backend/tensorflow'):
            os.makedirs(self.path('site/keras/' + folder))
            self.path(f'site/keras/{folder}/__init__.py', '')
        self.path('site/keras/src/trainers/trainer.py', '''
import tensorflow
class Trainer:
    _jit_compile, run_eagerly, _distribute_strategy = None, False, None
    def __init__(self, name):
        self.name = name
    def _flatten_layers(self):
        return []
    def compile(self, optimizer=None, jit_compile='auto'):
        self.jit_compile = not tensorflow.config.experimental.is_on if jit_compile == 'auto' else jit_compile
    @property
    def jit_compile(self):
        if self._jit_compile is None:
            self._jit_compile = not tensorflow.config.experimental.is_on
        return self._jit_compile
    @jit_compile.setter
    def jit_compile(self, value):
        self._jit_compile = value
''')
        self.path('site/keras/src/backend/tensorflow/trainer.py', '''
class TensorFlowTrainer:
    def make_train_function(self): pass
    def make_test_function(self): pass
    def make_predict_function(self): pass
''')

    KERAS = '''import tensorflow, keras
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
from keras.src.trainers.trainer import Trainer
class Model(TensorFlowTrainer, Trainer):
    pass
'''

    def keras_steps(self, program):
        status, _, err = self.record('--dump', 'd', program=self.KERAS + program + COMPILES)
        self.assertEqual(status, 0, err)
        with open(self.path('d/hloscope-record.json'), encoding='utf-8') as file:
            return [(one['model'], one['reason'], one['place']) for one in json.load(file)['keras_steps']], err

    def test_why_keras_compiles_nothing(self):
        """What is switched off by hand is no matter of determinism."""
        self.keras()
        steps, _ = self.keras_steps('''
def run(name, switch, *options):
    model = Model(name)
    if options: model.compile(None, *options)
    if switch: model.jit_compile = False
    model.make_train_function()
    model.make_predict_function()
run('asked', False, False)
run('auto', False, 'auto')
run('none', False, None)
run('never', False)
run('by_hand', True, 'auto')
run('on_and_by_hand', True, True)
run('never_and_by_hand', True)
tensorflow.config.experimental.is_on = True
run('deterministic', False, 'auto')
run('never_deterministic', False)
''')
        # One that was not compiled has the place of each call.
        self.assertEqual(list(dict.fromkeys((name, reason) for name, reason, _ in steps)),
                         [('asked', 'off'), ('by_hand', 'unknown'), ('on_and_by_hand', 'unknown'), ('never_and_by_hand', 'unknown'),
                          ('deterministic', 'determinism'), ('never_deterministic', 'determinism')])

    def test_many_models_of_keras(self):
        """Each once, whole: a line that was cut off names another place. The others are counted."""
        self.keras()
        steps, err = self.keras_steps('''
import hloscope_keras
for k in range(60):
    for name in ('m%d' % k, 'm%d' % k):
        model = Model(name)
        model.compile(jit_compile=False)
        model.make_train_function()
long = Model('x' * 3000)
long.compile(jit_compile=False)
long.make_train_function()
with open(os.path.join(os.path.dirname(hloscope_keras.__file__), 'keras'), 'a') as file: file.write('cut\\toff\\ttrain.py:1')
'''.replace('import hloscope_keras', 'import hloscope_keras, os'))
        self.assertEqual([name for name, *_ in steps], [f'm{k}' for k in range(50)])
        self.assertEqual({place.rsplit(':', 1)[-1] for *_, place in steps}, {'11'})
        self.assertIn('warning: 11 more steps of Keras models without jit_compile are not in the record\n', err)

    def profiler_that_writes(self, name, contents):
        self.install('tensorflow', '2.99', f'''
import os
class profiler:
    class experimental:
        def start(folder):
            os.makedirs(folder, exist_ok=True)
        def stop():
            with open(os.environ['HLOSCOPE_PROFILE_TO'] + '/{name}', 'wb') as file:
                file.write({contents!r})
''')

    def test_profile(self):
        self.profiler_that_writes('h.xplane.pb', xspace.space([[('a', 0, 1000)]]))
        status, out, err = self.record('--profile', '--dump', 'd', program='import tensorflow as tf\n' + COMPILES)
        self.assertEqual(status, 0, err)
        self.assertIn('\n        hloscope profile ', out)
        self.assertNotIn('no profile was written', err)
        self.assertEqual(subprocess.run([HLOSCOPE, 'profile', self.path('d')], capture_output=True).returncode, 0)
        self.assertFalse(os.path.exists(self.path('d/hloscope-hook')))
        self.assertEqual(self.seen()['PYTHONPATH'].split(':')[1], self.path('site'))
        err = self.record('--profile', program='import tensorflow as tf\n' + COMPILES + '# tf.profiler.experimental.start\n')[2]
        self.assertIn('--profile is left out: the program profiles itself', err)
        # What is advised works: what is no trace, and a trace of a former run, is no profile.
        self.profiler_that_writes('stopped', b'')
        os.makedirs(self.path('o'))
        shutil.copytree(self.path('d/profile'), self.path('o/profile'))
        for dump in ('n', 'o'):
            status, out, err = self.record('--profile', '--dump', dump, program='import tensorflow as tf\n' + COMPILES)
            self.assertEqual(status, 0, err)
            self.assertTrue(os.path.exists(self.path(dump + '/profile/stopped')))
            self.assertIn('no profile was written', err)
            self.assertNotIn('hloscope profile ', out)
        # It ends before its profiler is stopped.
        self.assertIn('no profile was written', self.record('--profile', program='import os\nos._exit(0)')[2])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
