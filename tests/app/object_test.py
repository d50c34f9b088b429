#!/usr/bin/env python3
"""Objects of `hloscope compile --emit object`: object_test.py HLOSCOPE CC CXX CMAKE.

Each module is compiled, linked with the runtime library alone into a program in C or C++, which runs it on several threads at once, and the
interpreter compares what comes out. Prints sizes and the time from a program's start to its first results in a file."""
import io
import json
import os
import re
import subprocess
import sys
import time
import unittest
import zipfile

from command_tests import FolderTest

HLOSCOPE, CC, CXX, CMAKE = os.path.abspath(sys.argv[1]), *sys.argv[2:5]
HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.environ.get('HLOSCOPE_CORPUS') or os.path.join(HERE, '../../../shared/corpus')
RUNTIME = os.path.join(os.path.dirname(HLOSCOPE), 'libhloscope_runtime.a')
LANGUAGES = {'c': [CC, '-std=c11', '-D_POSIX_C_SOURCE=200809L'], 'cc': [CXX, '-std=c++17']}
STRICT = ['-O1', '-Wall', '-Wextra', '-Wpedantic', '-Werror']
# What no library of ours has to define.
LIBC = set('memcpy memmove memset ceil ceilf floor floorf fma fmaf round roundf roundeven roundevenf rint rintf trunc truncf'.split())
BENCH = ['10_scatter_add_1M', '12b_sort_kv_1M', '13_cumsum_1M', '15_while_10k_small', '16_mlp_train_step_b128', '18_rng_bits_4M']


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)


def modules():
    """The modules of object_modules.hlo by name."""
    with open(os.path.join(HERE, 'object_modules.hlo'), encoding='utf-8') as f:
        texts = f.read().split('// -----\n')
    return {re.search(r'HloModule (\w+)', text)[1]: text for text in texts}


def split_npy(data):
    """Header and elements of a .npy file."""
    end = 10 + int.from_bytes(data[8:10], 'little')
    return data[:end], data[end:]


def number_in(name):
    return int(re.search(r'(\d+)\.npy$', name)[1])


class Objects(FolderTest):
    def compile(self, module, name, *more, status=0):
        done = run(HLOSCOPE, 'compile', module, '--emit', 'object', '-o', self.path(name + '.o'), '--json', *more)
        self.assertEqual(done.returncode, status, f'{name}: {done.stderr}')
        return json.loads(done.stdout) if status == 0 else done.stderr

    def link(self, program, sources, objects, language='c', libraries=()):
        done = run(*LANGUAGES[language], *STRICT, '-I', self.folder, '-o', program, *sources, *objects, RUNTIME, *libraries, '-lm', '-pthread')
        self.assertEqual(done.returncode, 0, done.stderr)
        linked = run('ldd', program).stdout
        for library in ('LLVM', 'dnnl', 'gomp', 'hloscope'):
            self.assertNotIn(library, linked)

    def libraries_of(self, name):
        """What the CMake file says the object needs beside the runtime and libm."""
        needed = re.findall(r'[;"](\w[\w+]*)', self.text(name + '.cmake'))
        return ['-l' + library for library in ('stdc++',) if library in needed]

    def text(self, name):
        with open(self.path(name), encoding='utf-8') as f:
            return f.read()

    def check_symbols(self, name):
        defined = {line.split()[-1] for line in run('nm', '--defined-only', RUNTIME).stdout.splitlines() if ' T ' in line}
        for line in run('nm', '-u', self.path(name + '.o')).stdout.splitlines():
            self.assertIn(line.split()[-1], defined | LIBC)
        shown = [line.split()[-1] for line in run('nm', '-g', '--defined-only', self.path(name + '.o')).stdout.splitlines()]
        self.assertEqual(shown, [name + '_entry'])

    def driver(self, name, language):
        with open(os.path.join(HERE, 'object_driver.c.in'), encoding='utf-8') as f:
            text = f.read().replace('@NAME@', name).replace('@UPPER@', name.upper())
        return self.path(f'{name}_driver.{language}', text)

    def arguments(self, module, name):
        """Made-up arguments as bytes, and the results of the interpreter by number as files."""
        inputs, outputs = self.path(name + '.npz'), self.path(name + '_expected')
        os.mkdir(outputs)
        done = run(HLOSCOPE, 'run', module, '--platform', 'interpreter', '--save_inputs', inputs, '--outputs', outputs)
        self.assertEqual(done.returncode, 0, done.stderr)
        with zipfile.ZipFile(inputs) as archive:
            parts = [split_npy(archive.read(n))[1] for n in sorted(archive.namelist(), key=number_in)]
        with open(self.path(name + '.arguments'), 'wb') as f:
            f.write(b''.join(parts))
        return inputs, outputs

    def check(self, module, name, language):
        report = self.compile(module, name)
        self.check_symbols(name)
        inputs, outputs = self.arguments(module, name)
        program = self.path(name)
        self.link(program, [self.driver(name, language)], [self.path(name + '.o')], language, self.libraries_of(name))
        begin = time.monotonic()
        done = run(program, self.path(name + '.arguments'), self.path(name + '.results'), '1', '1')
        first = time.monotonic() - begin
        self.assertEqual((done.returncode, done.stderr), (0, ''), name)
        done = run(program, self.path(name + '.arguments'), self.path(name + '.results'), '4', '3')
        self.assertEqual(done.returncode, 0, f'{name}: threads differ')
        self.compare(module, name, inputs, outputs)
        print(f'{name}: {report["object_bytes"]} bytes, {report["temp_bytes"]} of memory, compiled in {report["compile_ms"]:.0f} ms, '
              f'start to result {1e3 * first:.1f} ms', file=sys.stderr)

    def compare(self, module, name, inputs, outputs):
        files = sorted(os.listdir(outputs), key=number_in)
        with open(self.path(name + '.results'), 'rb') as f:
            results = io.BytesIO(f.read())
        own = self.path(name + '_own')
        os.mkdir(own)
        for file in files:
            with open(os.path.join(outputs, file), 'rb') as f:
                header, data = split_npy(f.read())
            with open(os.path.join(own, file), 'wb') as f:
                f.write(header + results.read(len(data)))
        self.assertEqual(results.read(), b'', 'more results than the interpreter has')
        given = ['--inputs', inputs] if os.path.getsize(self.path(name + '.arguments')) else []
        done = run(HLOSCOPE, 'run', module, '--platform', 'interpreter', *given, '--expect', own, '--json')
        self.assertEqual(json.loads(done.stdout)['status'], 'equal', f'{name}: {done.stdout[:2000]}')

    def test_modules(self):
        for k, (name, text) in enumerate(modules().items()):
            with self.subTest(name):
                self.check(self.path(name + '.hlo', text), name, 'cc' if k % 2 else 'c')

    def test_bench(self):
        for name in BENCH:
            module = os.path.join(CORPUS, 'bench', name + '.hlo')
            if not os.path.exists(module):
                self.skipTest('no corpus')
            with self.subTest(name):
                self.check(module, 'b' + name, 'c')

    def test_other_processors(self):
        for target in ('x86-64', 'x86-64-v3'):
            with self.subTest(target):
                name = 'softmax' + target[-2:].replace('6', '').replace('-', '')
                module = self.path(name + '.hlo', modules()['softmax'])
                self.compile(module, name, '--target', target)
                inputs, outputs = self.arguments(module, name)
                self.link(self.path(name), [self.driver(name, 'c')], [self.path(name + '.o')])
                done = run(self.path(name), self.path(name + '.arguments'), self.path(name + '.results'), '2', '2')
                self.assertEqual(done.returncode, 0)
                self.compare(module, name, inputs, outputs)

    def test_two_entries_and_typed_parameters(self):
        for name, text in (('twice', 'p = f32[4] parameter(0)\n  ROOT r = f32[4] add(p, p)'),
                           ('third', 'p = f32[4] parameter(0)\n  q = s32[4] parameter(1)\n  c = f32[4] convert(q)\n  ROOT r = f32[4] add(p, c)')):
            self.compile(self.path(name + '.hlo', f'HloModule same\nENTRY e {{\n  {text}\n}}\n'), name)
        source = '''#include <stdio.h>
#include "third.h"
#include "twice.h"
#define ALIGNED __attribute__((aligned(TWICE_ALIGNMENT)))
int main(void) {
  static ALIGNED float x[TWICE_ARG0_ELEMENTS] = {1, 2, 3, 4}, y[4], z[4];
  static ALIGNED int32_t n[THIRD_ARG1_ELEMENTS] = {10, 20, 30, 40};
  static ALIGNED char temp[TWICE_TEMP_BYTES + THIRD_TEMP_BYTES + 1];
  if (twice_run(x, y, temp) != 0 || third_run(y, n, z, temp) != 0) return 1;
  printf("%g %g %g %g\\n", (double)z[0], (double)z[1], (double)z[2], (double)z[3]);
  return 0;
}
'''
        for language in LANGUAGES:
            program = self.path('both_' + language)
            self.link(program, [self.path('both.' + language, source)], [self.path('twice.o'), self.path('third.o')], language)
            self.assertEqual(run(program).stdout, '12 24 36 48\n')

    def test_cmake(self):
        module = self.path('model.hlo', 'HloModule model\nENTRY e {\n  p = f32[] parameter(0)\n  ROOT r = f32[] cbrt(p)\n}\n')
        self.compile(module, 'model')
        self.path('main.c', '#include <stdio.h>\n#include "model.h"\nint main(void) {\n  _Alignas(64) float x = 27, y;\n'
                            '  if (model_run(&x, &y, 0)) return 1;\n  printf("%g\\n", (double)y);\n  return 0;\n}\n')
        self.path('CMakeLists.txt', 'cmake_minimum_required(VERSION 3.16)\nproject(p C)\ninclude(model.cmake)\nadd_executable(p main.c)\n'
                                    'target_link_libraries(p PRIVATE model)\n')
        build = self.path('build')
        for words in (['-S', self.folder, '-B', build, '-DCMAKE_C_COMPILER=' + CC], ['--build', build]):
            done = run(CMAKE, *words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(run(os.path.join(build, 'p')).stdout, '3\n')

    def test_what_is_no_code_is_refused_by_name(self):
        body = {'evaluated': ('p = f32[3] parameter(0)\n  ROOT r = f32[3] custom-call(p), custom_call_target="system"',
                              'our compiler has no code for r (custom-call of system)'),
                'waiting': ('p = f32[3] parameter(0)\n  t = token[] after-all()\n  o = token[] outfeed(p, t)\n  ROOT n = f32[3] negate(p)',
                            'cannot be compiled ahead of time: '),
                'elided': ('p = f32[16] parameter(0)\n  c = f32[16] constant({...})\n  ROOT r = f32[16] add(p, c)', 'the values of c are not in the file')}
        for name, (text, message) in body.items():
            with self.subTest(name):
                said = self.compile(self.path(name + '.hlo', f'HloModule {name}\nENTRY e {{\n  {text}\n}}\n'), name, status=3)
                self.assertIn(message, said)
                self.assertFalse(os.path.exists(self.path(name + '.o')))
        for output in ('-', self.path('model.h'), self.path('model.cmake')):
            done = run(HLOSCOPE, 'compile', self.path('elided.hlo'), '--emit', 'object', '-o', output)
            self.assertEqual(done.returncode, 2)
            self.assertIn('name the object: -o model.o', done.stderr)

    def test_names_that_are_no_words_of_c(self):
        module = self.path('m.hlo', 'HloModule int\nENTRY e {\n  int.1 = f32[2] parameter(0)\n  ROOT "a-b" = f32[2] add(int.1, int.1)\n}\n'.replace('"', ''))
        for file, name in (('2-layer mlp', 'm2_layer_mlp'), ('main', 'main'), ('a.b', 'a_b')):
            with self.subTest(file):
                self.compile(module, file)
                source = self.path('use.c', f'#include "{file}.h"\nint main(void) {{\n  static _Alignas(64) float x[2] = {{1, 2}}, y[2];\n'
                                            f'  return {name}_run(x, y, 0) != 0 || y[1] != 4;\n}}\n')
                self.link(self.path('use'), [source], [self.path(file + '.o')])
                self.assertEqual(run(self.path('use')).returncode, 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
