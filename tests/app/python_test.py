#!/usr/bin/env python3
"""The Python package without numpy: functions, errors, processes. python_test.py HLOSCOPE SAMPLES"""
import ast
import dataclasses
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from command_tests import FolderTest, write_npz
from python_tests import PACKAGE, processes_with, use

HLOSCOPE, SAMPLES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
HERE = os.path.dirname(os.path.abspath(__file__))
use(HLOSCOPE)
import hloscope  # noqa: E402

MODULE = '''HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = f32[4] add(x, x)
}
'''
BAD = 'HloModule m\nENTRY e {\n  ROOT a = f32[4] add(b, b)\n}\n'
ENDLESS = os.path.join(HERE, 'endless.hlo')


def python(code, *words, **options):
    return subprocess.run([sys.executable, '-c', code, *words], capture_output=True, text=True, timeout=120, **options)


class Import(unittest.TestCase):
    def test_it_is_small(self):
        code = 'import sys; before = set(sys.modules); import hloscope; print(*sorted(set(sys.modules) - before))'
        # What importlib brings, which most interpreters have loaded at their start.
        brought = {'importlib', 'importlib._bootstrap', 'importlib._bootstrap_external', 'types', 'warnings', '_weakrefset', 'weakref'}
        self.assertEqual(set(python(code).stdout.split()) - brought, {'hloscope'})

    def test_calls_need_no_numpy(self):
        code = ('import sys; sys.modules["numpy"] = None; import hloscope; '
                f'print(hloscope.run({MODULE!r}).status, hloscope.verify({MODULE!r}).status)')
        done = python(code)
        self.assertEqual(done.stdout, 'ran ok\n', done.stderr)

    def test_what_is_not_there(self):
        with self.assertRaises(AttributeError):
            hloscope.rum


class Functions(FolderTest):
    def test_every_command(self):
        names = set(hloscope.commands()) - {'open', 'record', 'mcp', 'skill', 'help', 'serve'}
        self.assertLessEqual(names | {'open', 'record', 'map'}, set(dir(hloscope)))
        for name in names:
            self.assertIn('keywords', getattr(hloscope, name).__doc__)

    def test_stubs_have_every_function_and_option(self):
        done = subprocess.run([sys.executable, os.path.join(PACKAGE, 'make_stubs.py'), HLOSCOPE], capture_output=True, text=True, check=True)
        defined = {node.name: node for node in ast.parse(done.stdout).body if isinstance(node, ast.FunctionDef)}
        for name, command in hloscope.commands().items():
            if name in ('open', 'record', 'mcp', 'skill', 'help', 'serve'):
                continue
            keywords = {argument.arg for argument in defined[name].args.kwonlyargs}
            for option in command.options:
                if not option.positional and option.name != '--json' and '*' not in option.name:
                    self.assertTrue({option.keyword, option.keyword + '_'} & keywords, (name, option.name))
        self.assertIn('reference', {argument.arg for argument in defined['run'].args.kwonlyargs})

    def test_modules_from_text_bytes_and_paths(self):
        path = self.path('m.hlo', MODULE)
        proto = self.path('m.hlo.pb')
        hloscope.convert(path, proto)
        with open(proto, 'rb') as file:
            data = file.read()
        for module in (MODULE, MODULE.encode(), path, data, bytearray(data)):
            self.assertEqual(hloscope.run(module, seed=3).raw['seed'], 3)

    def test_keywords_are_options(self):
        result = hloscope.run(MODULE, reference='interpreter', abs=0.5, rel=0.25, random_init_input_literals=False)
        self.assertEqual((result.status, result.reference, result.platform), ('equal', 'interpreter', 'cpu'))
        self.assertEqual(result.raw['bounds']['f32']['abs'] if 'f32' in result.raw['bounds'] else result.raw['bounds'][0]['abs'], 0.5)
        self.assertIn('--random_init_input_literals=false', result.words)
        small = self.path('asm.s')
        hloscope.compile(MODULE, emit='asm', out=small)
        self.assertTrue(os.path.getsize(small))
        with self.assertRaisesRegex(TypeError, 'has no option `platfrom`; did you mean `platform`'):
            hloscope.run(MODULE, platfrom='cpu')
        with self.assertRaises(hloscope.BadInput) as caught:
            hloscope.compile(MODULE, with_="xla-gpu", target="h100", dump=self.path("d"), python=self.folder)
        self.assertIn('plugin', str(caught.exception))

    def test_show(self):
        self.assertTrue(hloscope.show(MODULE, format='svg')._repr_svg_().lstrip().startswith('<'))
        self.assertIsNone(hloscope.verify(MODULE)._repr_svg_())
        self.assertIn('HloModule m', hloscope.show(MODULE, format='hlo').text)
        self.assertIn('<pre>', hloscope.show(MODULE, format='hlo')._repr_html_())
        self.assertEqual(hloscope.show(MODULE)['module'], 'm')

    def test_html_holds_no_markup_of_the_input(self):
        problem = hloscope.verify(BAD.replace('b, b', '<script>, b'), errors='return')._repr_html_()
        self.assertNotIn('<script', problem)
        self.assertIn('<table>', hloscope.run(MODULE)._repr_html_())
        self.assertIn('iframe sandbox', hloscope.show(MODULE, format='html')._repr_html_())

    def test_html_names_what_results_differ_from(self):
        with tempfile.TemporaryDirectory() as folder:
            expected = os.path.join(folder, 'e.npz')
            write_npz(expected, {'out0': ('<f4', (4,), bytes(16))})
            run = hloscope.run(MODULE, platform='cpu', reference='interpreter', expect=expected, errors='return')
        self.assertIn('on cpu and interpreter and the expected values; output', run._repr_html_())
        self.assertIn('4 of 4 elements differ from the expected values', run._repr_html_())

    def test_results_are_frozen_and_travel(self):
        result = hloscope.run(MODULE, reference='interpreter')
        with self.assertRaises(dataclasses.FrozenInstanceError):
            result.code = 1
        self.assertEqual(pickle.loads(pickle.dumps(result)).raw, result.raw)
        result.assert_equal()
        with self.assertRaisesRegex(AssertionError, 'compared with nothing'):
            hloscope.run(MODULE).assert_equal()

    def test_nothing_is_left_behind(self):
        folder = '/dev/shm' if os.path.isdir('/dev/shm') else '/tmp'
        environment = dict(os.environ, TMPDIR=self.folder)
        code = ('import os, hloscope, hloscope._api as a; f = a._Folder(); p = f.__enter__(); f.__exit__(); '
                f'hloscope.run({MODULE!r}); print(os.path.dirname(p), [n for n in os.listdir(os.path.dirname(p)) if n == os.path.basename(p)])')
        self.assertEqual(python(code, env=environment).stdout, f'{folder} []\n')

    def test_names_that_look_like_options(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.path('--strict', MODULE)
        self.assertEqual(hloscope.verify('--strict')['file'], './--strict')

    def test_a_folder_of_several_modules(self):
        os.mkdir(self.path('d'))
        for k in range(2):
            self.path(f'd/module_000{k}.m{k}.before_optimizations.txt', MODULE.replace('HloModule m', f'HloModule m{k}'))
        with self.assertRaisesRegex(ValueError, 'several modules'):
            hloscope.run(self.path('d'))


class Errors(FolderTest):
    def test_bad_input(self):
        with self.assertRaises(hloscope.BadInput) as caught:
            hloscope.verify(BAD)
        error = caught.exception
        self.assertEqual((error.status, error.report[0]['status'], error.result.errors[0].line), (2, 'error', 3))
        self.assertRegex(str(error), r'^module0\.hlo:3:\d+: ')
        self.assertEqual(pickle.loads(pickle.dumps(error)).report, error.report)
        self.assertEqual(hloscope.verify(BAD, errors='return').code, 2)

    def test_what_differs_is_an_answer(self):
        other = hloscope.compare(MODULE, MODULE.replace('add', 'multiply'))
        self.assertEqual((other.code, other.status, other.equal), (1, 'differs', False))

    def test_unsupported(self):
        with self.assertRaises(hloscope.Unsupported) as caught:
            hloscope.run('HloModule u\nENTRY e {\n  ROOT c = f32[3] custom-call(), custom_call_target="absent"\n}\n')
        self.assertEqual((caught.exception.status, caught.exception.report[0]['status']), (3, 'unsupported'))

    def test_a_deadline(self):
        with self.assertRaises(hloscope.Died) as caught:
            hloscope.run(ENDLESS, deadline=1)
        self.assertEqual((caught.exception.status, caught.exception.report[0]['error_kind']), (4, 'deadline'))

    def test_a_crash_of_the_program(self):
        program = self.path('program', f'#!/bin/sh\n[ "$1" = help ] && exec {HLOSCOPE} "$@"\nkill -SEGV $$\n')
        os.chmod(program, 0o755)
        done = python(f'import hloscope\ntry:\n  hloscope.run({MODULE!r})\nexcept hloscope.Died as e: print(e.status, e)', env=dict(os.environ, HLOSCOPE_PROGRAM=program))
        self.assertEqual(done.stdout, '-11 hloscope run was ended by signal 11\n', done.stderr)

    def test_a_program_that_is_not_there(self):
        done = python('import hloscope; hloscope.verify', env=dict(os.environ, HLOSCOPE_PROGRAM='/absent'))
        self.assertIn("No such file or directory: '/absent'", done.stderr)

    def test_values_that_are_no_modules(self):
        for value in (3, None, print, [1, 2]):
            with self.assertRaises(TypeError):
                hloscope.run(value)


class Processes(FolderTest):
    def assert_gone(self, mark):
        for _ in range(600):
            left = processes_with(mark)
            if not left:
                return
            time.sleep(0.1)
        self.fail(f'processes are left: {left}')

    def start(self):
        """A Python that runs a module that never ends; the mark in the environment of all that it starts."""
        mark = f'HLOSCOPE_TEST_MARK={self.folder}'
        code = f'import hloscope\ntry:\n  hloscope.run({ENDLESS!r})\nexcept KeyboardInterrupt:\n  print("interrupted")'
        child = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, text=True, env=dict(os.environ, HLOSCOPE_TEST_MARK=self.folder))
        while len(processes_with(mark)) < 3:  # Python, the program, its worker
            self.assertIsNone(child.poll())
            time.sleep(0.05)
        return child, mark

    def test_interrupt(self):
        child, mark = self.start()
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=120)[0], 'interrupted\n')
        self.assert_gone(mark)

    def test_a_killed_parent(self):
        child, mark = self.start()
        child.kill()
        child.communicate()
        self.assert_gone(mark)

    def commands_of(self, mark):
        """The resident program of a Python that this started, and the commands in it."""
        pids = processes_with(mark)
        parents = {}
        for pid in pids:
            with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
                parents[pid] = int(file.read().rpartition(')')[2].split()[1])
        python_pid = next(pid for pid in pids if parents[pid] == os.getpid())
        server, = (pid for pid in pids if parents[pid] == python_pid)
        return server, [pid for pid in pids if parents[pid] == server]

    def outlive(self, victim, expected):
        """Kills the command or its server in the middle of a call: an exception, and the next call works."""
        code = (f'import hloscope\ntry:\n  hloscope.run({ENDLESS!r})\nexcept hloscope.Died as error:\n  print(error.status)\n'
                f'print(hloscope.verify({MODULE!r}).status)')
        mark = f'HLOSCOPE_TEST_MARK={self.folder}'
        child = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, text=True, env=dict(os.environ, HLOSCOPE_TEST_MARK=self.folder))
        while len(processes_with(mark)) < 4:  # Python, the resident program, the command, its worker
            self.assertIsNone(child.poll())
            time.sleep(0.05)
        server, commands = self.commands_of(mark)
        os.kill(server if victim == 'server' else commands[0], signal.SIGKILL if victim == 'server' else signal.SIGSEGV)
        self.assertEqual(child.communicate(timeout=120)[0], f'{expected}\nok\n')
        self.assert_gone(mark)

    def test_a_crash_of_a_command(self):
        self.outlive('command', -11)

    def test_a_crash_of_the_resident_program(self):
        self.outlive('server', -9)

    def test_calls_see_the_folder_and_the_variables_of_now(self):
        self.addCleanup(os.chdir, os.getcwd())
        for name in ('a', 'b'):
            os.mkdir(self.path(name))
            self.path(f'{name}/m.hlo', MODULE.replace('HloModule m', f'HloModule {name}'))
            os.chdir(self.path(name))
            self.assertEqual(hloscope.show('m.hlo')['module'], name)
        os.environ['COLUMNS'] = '41'
        self.addCleanup(os.environ.pop, 'COLUMNS')
        narrow = hloscope.call('help', 'run', json=False).text
        self.assertLessEqual(max(len(line) for line in narrow.splitlines() if 'hloscope run' not in line), 41)

    def test_a_long_command_line(self):
        """More than a message to the resident program takes."""
        modules = [self.path(f'{"x" * 100}{k}.hlo', MODULE) for k in range(3000)]
        self.assertEqual(len(hloscope.verify(*modules).lines), 3000)

    def test_no_resident_program(self):
        code = f'import hloscope; print(hloscope.verify({MODULE!r}).status)'
        self.assertEqual(python(code, env=dict(os.environ, HLOSCOPE_RESIDENT='0')).stdout, 'ok\n')

    def test_a_timeout(self):
        with self.assertRaises(subprocess.TimeoutExpired):
            hloscope.run(ENDLESS, timeout=1)

    def test_threads(self):
        found = []
        threads = [threading.Thread(target=lambda k=k: found.append((k, hloscope.verify(MODULE.replace('[4]', f'[{k}]'))['instructions']))) for k in range(1, 101)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(found), [(k, 2) for k in range(1, 101)])

    def test_forks(self):
        hloscope.verify(MODULE)
        children = []
        for k in range(4):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    status = 0 if hloscope.run(MODULE, seed=k)['seed'] == k else 2
                finally:
                    os._exit(status)
            children.append(child)
        self.assertEqual([os.waitpid(child, 0)[1] for child in children], [0] * 4)
        self.assertEqual(hloscope.verify(MODULE).status, 'ok')

    def test_opening_a_window_returns(self):
        environment = {key: value for key, value in os.environ.items() if key not in ('DISPLAY', 'WAYLAND_DISPLAY')}
        done = python(f'import hloscope; print(hloscope.open({SAMPLES + "/mlp_train_step"!r}).wait())', env=environment)
        self.assertEqual((done.stdout, 'DISPLAY' in done.stderr or 'viewer' in done.stderr), ('2\n', True), done.stderr)


class Map(FolderTest):
    def modules(self, count):
        return [MODULE.replace('[4]', f'[{k + 1}]') for k in range(count)]

    def test_every_module_once(self):
        modules = self.modules(60) + [BAD]
        items = list(hloscope.map(modules, 'verify', ordered=True))
        self.assertEqual([item.index for item in items], list(range(61)))
        self.assertEqual({item.result.status for item in items[:60]}, {'ok'})
        self.assertEqual((items[60].error.status, items[60].attempts), (2, 1))
        self.assertEqual(sorted(item.index for item in hloscope.map(modules, 'verify')), list(range(61)))

    def test_results_are_streamed(self):
        taken = []

        def endless():
            for k in range(10 ** 9):
                taken.append(k)
                yield MODULE

        items = hloscope.map(endless(), 'verify', in_flight=4)
        self.assertEqual(len([next(items) for _ in range(10)]), 10)
        items.close()
        self.assertLess(len(taken), 30)

    def test_a_wrong_option_is_an_error_at_once(self):
        item, = hloscope.map([MODULE], 'verify', wrong=1)
        self.assertIsInstance(item.error, TypeError)
        self.assertEqual(item.attempts, 1)

    def test_a_journal(self):
        journal, modules = self.path('journal'), self.modules(20)
        items = hloscope.map(modules, 'verify', journal=journal)
        for _ in range(8):
            next(items)
        items.close()
        with open(journal, 'a', encoding='utf-8') as file:
            file.write('{"task": "cut sho')
        again = list(hloscope.map(modules, 'verify', journal=journal, ordered=True))
        self.assertEqual([item.index for item in again], list(range(20)))
        self.assertGreaterEqual(sum(item.attempts == 0 for item in again), 8)
        last = list(hloscope.map(modules, 'verify', journal=journal))
        self.assertEqual([item.attempts for item in last], [0] * 20)
        strict = list(hloscope.map(modules[:2], 'verify', journal=journal, strict=True))
        self.assertEqual([item.attempts for item in strict], [1, 1])  # other options, another question

    def test_a_hunt_is_shared(self):
        items = list(hloscope.map(range(2), 'hunt', seeds=[self.path('m.hlo', MODULE)], out=self.path('found'), programs=6, platform='interpreter',
                                  reference='interpreter', ordered=True))
        self.assertEqual([item.error for item in items], [None, None])
        self.assertEqual(sum(item.result.raw['programs'] for item in items), 6)

    def test_a_worker_is_killed(self):
        """A broken pool is replaced; every module has one right result."""
        done = python(KILLED, HERE)
        self.assertEqual(done.stdout.strip(), 'True True', done.stderr)


KILLED = '''
import concurrent.futures as futures, os, signal, sys
import hloscope

def main():
    modules = ["HloModule m\\nENTRY e {\\n  ROOT x = f32[%d] parameter(0)\\n}\\n" % (k + 1) for k in range(200)]
    pool = futures.ProcessPoolExecutor(2)
    items, killed = [], False
    for item in hloscope.map(modules, "verify", executor=pool):
        items.append(item)
        if len(items) == 20 and not killed:
            os.kill(next(iter(pool._processes)), signal.SIGKILL)
            killed = True
    right = all(item.result and item.result.status == "ok" for item in items)
    print(sorted(item.index for item in items) == list(range(200)), right and any(item.attempts > 1 for item in items))

main()
'''

if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=1)
