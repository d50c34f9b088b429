#!/usr/bin/env python3
"""Names in files cannot add lines to what the commands print: every field of every kind of input is planted with a line break, a
line of `verify` and control characters, and no command prints that line as one of its own.

  forged_lines_test.py HLOSCOPE"""
import json
import os
import subprocess
import sys
import unittest
import zipfile

from command_tests import FolderTest, npy

HLOSCOPE = os.path.abspath(sys.argv[1])
FORGED = 'M.hlo: ok, 31 instructions'
PLANT = f'x\n{FORGED}\tz\x1b[2J'
IN_PROTO = PLANT.replace('\n', r'\n').replace('\t', r'\t').replace('\x1b', r'\033')
MODULE = '''HloModule planted_module

planted_computation {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT planted_root = f32[] add(a, b)
}

ENTRY planted_entry {
  p = f32[8] parameter(0), metadata={op_name="planted_argument"}
  planted_sine = f32[8] sine(p), metadata={op_type="planted_type" op_name="jit(f)/planted_op" source_file="planted_source.py" source_line=3}, frontend_attributes={planted_key="planted_value"}
  zero = f32[] constant(0)
  reduced = f32[] reduce(planted_sine, zero), dimensions={0}, to_apply=planted_computation
  called = f32[] custom-call(reduced), custom_call_target="planted_target", backend_config="planted_config"
  ROOT out = (f32[], f32[]) tuple(reduced, called)
}
'''
FIELDS = ('module', 'computation', 'root', 'entry', 'argument', 'sine', 'type', 'op', 'source', 'key', 'value', 'target', 'config')
REPLAY = ('--platform', 'interpreter', '--deadline', '20')


def run(*arguments, cwd=None):
    done = subprocess.run([HLOSCOPE, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=100, cwd=cwd)
    return done.returncode, (done.stdout + b'\n' + done.stderr).decode('utf-8')


class ForgedLines(FolderTest):
    def holds(self, *arguments):
        status, out = run(*arguments, cwd=self.folder)
        self.assertIn(status, (0, 1, 2, 3, 4), out)
        for line in out.splitlines():
            self.assertFalse(line.lstrip().startswith(FORGED), f'{arguments}: {line!r} in\n{out}')
        self.assertNotIn('\x1b', out, arguments)
        return out

    def planted_modules(self):
        """A proto of each field with the plant in it, and one with all of them."""
        text = self.path('given.pbtxt')
        status, out = run('convert', self.path('given.hlo', MODULE), text)
        self.assertEqual(status, 0, out)
        with open(text, encoding='utf-8') as file:
            proto = file.read()
        whole = proto
        for field in FIELDS:
            name = f'planted_{field}'
            self.assertIn(name, proto)
            whole = whole.replace(name, name + IN_PROTO)
            yield field, self.path(f'{field}.pbtxt', proto.replace(name, name + IN_PROTO))
        yield 'all', self.path('all.pbtxt', whole)

    def test_modules(self):
        for field, path in self.planted_modules():
            for command in (['verify'], ['info'], ['info', '--memory'], ['show'], ['find', 'planted'], ['lint'], ['compare', 'given.hlo']):
                with self.subTest(field=field, command=command):
                    self.holds(*command, path)
        every = self.path('all.pbtxt')
        for command in (['run', *REPLAY], ['run', *REPLAY, '--print_literals', '--repeat', '2'], ['profile', *REPLAY],
                        ['diverge', *REPLAY, '--reference_platform', 'cpu'], ['reduce', *REPLAY, '-o', 'reduced.hlo'], ['show', '--format', 'dot'],
                        ['bundle', 'create', '--plan', *REPLAY], ['info', '--select', 'line=planted_source.py' + PLANT + ':3'],
                        ['info', '--select', 'kernel=' + PLANT], ['show', '--around', 'planted_sine' + PLANT],
                        ['compile', '--emit', 'plan', '-o', 'plan.txt'],
                        ['bench', 'parse'], ['bench', 'run', '--platform', 'interpreter'], ['explain']):
            with self.subTest(command=command[:2]):
                self.holds(*command, every)
        for command in (['extract', every, 'planted_sine' + PLANT, '-o', 'extracted.hlo'], ['why', every, 'planted_sine' + PLANT],
                        ['extract', every, 'other' + PLANT, '-o', 'extracted.hlo'], ['info', every, '--select', PLANT]):
            with self.subTest(command=command[:1]):
                self.holds(*command)

    def test_words_of_the_command_line_and_names_of_files(self):
        self.path('given.hlo', MODULE)
        for command in ('verify', 'info', 'show', 'run', 'profile', 'compare', 'find', 'explain', 'lint', 'diverge', 'reduce',
                        'extract', 'compile', 'convert', 'open', 'why', 'bench', 'hunt', 'ops', 'help', 'record'):
            for words in ([PLANT], [PLANT, PLANT], ['--' + PLANT], ['given.hlo', '--platform', PLANT], ['--limit', PLANT, 'given.hlo']):
                with self.subTest(command=command, words=words):
                    self.holds(command, *words)
        self.holds(PLANT)
        for command in ('create', 'check', 'unpack', PLANT):
            self.holds('bundle', command, PLANT)
        names = {'.hlo': MODULE, '.broken.hlo': 'HloModule m\nENTRY e {\n  x = f32[3] parameter(0), what=\n}\n', '.txt': 'no module\n',
                 '.log': 'error: out of memory\n', '.npz': 'PK', '.trace.json': '{"traceEvents": [', '.hlob': 'no bundle\n'}
        for ending, text in names.items():
            name = PLANT.replace('/', '') + ending
            self.path(name, text)
            for command in (['verify'], ['info'], ['show'], ['find', 'e'], ['lint'], ['explain'], ['run', *REPLAY], ['profile', *REPLAY],
                            ['compare', 'given.hlo'], ['bundle', 'check'], ['bench', *REPLAY], ['run', 'given.hlo', *REPLAY, '--inputs'],
                            ['bundle', 'create', *REPLAY, '-o', PLANT + '.out']):
                with self.subTest(command=command, ending=ending):
                    self.holds(*command, name)

    def test_dumps(self):
        dump = self.path('dump' + PLANT)
        os.mkdir(dump)
        for name in ('module_0001.jit_f.before_optimizations.txt', f'module_0001.jit_f.cpu_{PLANT}_after_optimizations.txt',
                     f'module_0002.jit_{PLANT}.before_optimizations.txt', f'module_0003.jit_g.{PLANT}.ptx', f'{PLANT}.log'):
            with open(os.path.join(dump, name), 'w', encoding='utf-8') as file:
                file.write(MODULE)
        for command in (['info'], ['find', 'planted'], ['lint'], ['verify'], ['compare', dump], ['explain'], ['info', '--passes'],
                        ['bundle', 'create', '--plan'], ['info', '--module', PLANT], ['info', '--compile-time']):
            with self.subTest(command=command):
                self.holds(*command, dump)

    def test_profiles(self):
        plain = {'traceEvents': [
            {'ph': 'M', 'name': 'process_name', 'pid': 1, 'args': {'name': 'planted process'}},
            {'ph': 'M', 'name': 'thread_name', 'pid': 1, 'tid': 1, 'args': {'name': 'planted thread'}},
            {'ph': 'X', 'name': 'planted event', 'cat': 'planted category', 'pid': 1, 'tid': 1, 'ts': 0, 'dur': 5,
             'args': {'planted argument': 'planted value', 'hlo_module': 'planted module', 'hlo_op': 'planted instruction'}},
            {'ph': 'X', 'name': 'other', 'pid': 1, 'tid': 1, 'ts': 10, 'dur': 5},
            {'ph': 'C', 'name': 'planted counter', 'pid': 1, 'ts': 0, 'args': {'planted series': 3}},
            {'ph': 'planted phase', 'name': 'odd', 'pid': 1, 'ts': 1}]}
        text = json.dumps(plain)
        path = self.path('planted.trace.json', text.replace('"planted ', '"' + json.dumps(PLANT)[1:-1] + ' '))
        self.path('plain.trace.json', text)
        for command in (['info'], ['profile'], ['compare', 'plain.trace.json'], ['profile', '-o', 'out.csv'], ['profile', '-o', 'out.pftrace'],
                        ['profile', '-o', PLANT + '.hloprof'], ['find', 'other']):
            with self.subTest(command=command):
                self.holds(*command, path)

    def test_arrays(self):
        def archive(name, members):
            with zipfile.ZipFile(self.path(name), 'w') as file:
                for member, data in members.items():
                    file.writestr(member, data)
        array = npy('<f4', (1,), b'\0\0\0\0')
        archive('a.npz', {'x.npy': array, PLANT + '.npy': array, 'y.npy': npy('<f4', (1,), b'\0\0\0\1')})
        archive('b.npz', {'x.npy': array, 'y.npy': array})
        archive('c.npz', {'x.npy': array.replace(b"'<f4'", b"'x\nM'"), 'y.npy': array})
        self.path('given.hlo', MODULE)
        for command in (['compare', 'a.npz', 'b.npz'], ['compare', 'b.npz', 'a.npz'], ['compare', 'c.npz', 'b.npz'], ['info', 'a.npz'],
                        ['info', 'c.npz'], ['run', 'given.hlo', *REPLAY, '--inputs', 'a.npz']):
            with self.subTest(command=command):
                self.holds(*command)

    def test_verdicts_and_bundles(self):
        self.path('given.hlo', 'HloModule m\n\nENTRY e {\n  p = f32[8] parameter(0)\n  ROOT s = f32[8] sine(p)\n}\n')
        diverge = subprocess.run([HLOSCOPE, 'diverge', 'given.hlo', *REPLAY, '--reference_platform', 'cpu', '--json'],
                                 capture_output=True, timeout=100, cwd=self.folder, check=True)
        verdict = json.loads(diverge.stdout)
        for field in (key for key, value in verdict.items() if value is None or isinstance(value, str)):
            with self.subTest(field=field):
                path = self.path('verdict.json', json.dumps(dict(verdict, **{field: PLANT})))
                self.holds('bundle', 'create', path, '--plan')
        self.assertIn('replayed', self.holds('bundle', 'create', 'given.hlo', *REPLAY, '-o', 'given.hlob'))
        with zipfile.ZipFile(self.path('given.hlob')) as bundle:
            parts = {name: bundle.read(name) for name in bundle.namelist()}
        manifest = json.loads(parts['manifest.json'])

        def strings(value, path=()):
            if isinstance(value, str):
                yield path
            for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
                yield from strings(inner, (*path, key))
        for path in strings(manifest):
            planted = json.loads(json.dumps(manifest))
            inner = planted
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = PLANT
            with zipfile.ZipFile(self.path('planted.hlob'), 'w') as bundle:
                for name, data in parts.items():
                    bundle.writestr(name, json.dumps(planted) if name == 'manifest.json' else data)
            with self.subTest(path=path):
                self.holds('info', 'planted.hlob')
                self.holds('bundle', 'check', 'planted.hlob', '--deadline', '20')

    def test_records(self):
        self.holds('record', '--dump', self.path('r'), '--', '/bin/sh', '-c', 'exit 3', PLANT)
        self.holds('record', '--dump', self.path('d' + PLANT), '--', '/bin/true', PLANT)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
