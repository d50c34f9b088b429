#!/usr/bin/env python3
"""What `cmake --install` leaves works from any place: install_test.py CMAKE BUILD SAMPLES.

The installed program runs a module in its worker, finds the viewer's library and draws the same picture as the one of the build."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib

CMAKE, BUILD, SAMPLES = sys.argv[1], *map(os.path.abspath, sys.argv[2:4])


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def rows_of(png):
    """Width and rows of a picture as hloscope writes it: RGB, each row as the difference to the one above."""
    at, packed, width = 8, b'', 0
    while at < len(png):
        size, kind = int.from_bytes(png[at:at + 4], 'big'), png[at + 4:at + 8]
        data, at = png[at + 8:at + 8 + size], at + 12 + size
        if kind == b'IHDR':
            width = int.from_bytes(data[:4], 'big')
        if kind == b'IDAT':
            packed += data
    flat, step = zlib.decompress(packed), 3 * width + 1
    rows, above = [], bytes(3 * width)
    for begin in range(0, len(flat), step):
        above = bytes((a + b) & 255 for a, b in zip(flat[begin + 1:begin + step], above))
        rows.append(above)
    return width, rows


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix='hloscope_install_')
        first = os.path.join(cls.folder, 'first')
        done = run(CMAKE, '--install', BUILD, '--prefix', first)
        assert done.returncode == 0, done.stderr[-1000:]
        # Nothing may count on where it was installed.
        cls.prefix = os.path.join(cls.folder, 'moved here')
        os.rename(first, cls.prefix)
        cls.program = os.path.join(cls.prefix, 'bin/hloscope')

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_it_runs_a_module(self):
        done = run(self.program, 'run', SAMPLES + '/mlp_train_step')
        self.assertEqual(done.returncode, 0, done.stderr[-500:])

    def test_it_needs_no_library_of_calls(self):
        """As a wheel has none: dots and convolutions are kernels of our own then, transforms calls of our own."""
        library, = glob.glob(os.path.join(self.prefix, 'lib/**/libhloscope_library_calls.so'), recursive=True)
        os.rename(library, library + '.away')
        self.addCleanup(os.rename, library + '.away', library)
        module = os.path.join(self.folder, 'transform.hlo')
        with open(module, 'w', encoding='utf-8') as f:
            f.write('HloModule m\nENTRY e {\n  x = f32[8,16] parameter(0)\n  y = f32[16,128] parameter(1)\n'
                    '  z = f32[8,128] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n'
                    '  ROOT t = c64[8,65] fft(z), fft_type=RFFT, fft_length={128}\n}\n')
        for what in (module, SAMPLES + '/conv_net'):
            done = run(self.program, 'run', what, '--platform', 'cpu', '--reference_platform', 'interpreter', '--no-cache')
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_its_python_part_comes_with_it(self):
        done = run(self.program, 'skill')
        self.assertIn('name: hloscope', done.stdout, done.stderr)

    def test_its_objects_link_with_its_runtime(self):
        module, model = os.path.join(self.folder, 'cube.hlo'), os.path.join(self.folder, 'cube.o')
        with open(module, 'w', encoding='utf-8') as f:
            f.write('HloModule cube\nENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] cbrt(p)\n}\n')
        done = run(self.program, 'compile', module, '--emit', 'object', '-o', model)
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        with open(os.path.join(self.folder, 'cube.cmake'), encoding='utf-8') as f:
            self.assertIn(os.path.dirname(self.program), f.read())
        runtime = os.path.join(self.prefix, 'lib/libhloscope_runtime.a')
        done = run('cc', '-shared', '-o', os.path.join(self.folder, 'cube.so'), model, runtime, '-lm', '-Wl,--no-undefined')
        self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_cmake_finds_the_package(self):
        folder = os.path.join(self.folder, 'user')
        os.mkdir(folder)
        files = {'cube.hlo': 'HloModule cube\nENTRY e {\n  p = f32[] parameter(0)\n  ROOT r = f32[] cbrt(p)\n}\n',
                 'main.c': '#include <stdio.h>\n#include "cube.h"\nint main(void) {\n  _Alignas(64) float x = 27, y;\n'
                           '  if (cube_run(&x, &y, 0)) return 1;\n  printf("%g\\n", (double)y);\n  return 0;\n}\n',
                 # The program of the package compiles the module; the object takes the runtime of the package.
                 'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.16)\nproject(user C)\nfind_package(hloscope 0.1 REQUIRED)\n'
                                   'get_target_property(program hloscope::hloscope IMPORTED_LOCATION)\n'
                                   'execute_process(COMMAND ${program} compile cube.hlo --emit object -o cube.o '
                                   'WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} RESULT_VARIABLE status)\n'
                                   'if(NOT status EQUAL 0)\n  message(FATAL_ERROR "compile: ${status}")\nendif()\n'
                                   'include(cube.cmake)\nif(NOT HLOSCOPE_RUNTIME STREQUAL hloscope::runtime)\n'
                                   '  message(FATAL_ERROR "${HLOSCOPE_RUNTIME}")\nendif()\n'
                                   'add_executable(user main.c)\ntarget_link_libraries(user PRIVATE cube)\n'}
        for name, text in files.items():
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
                f.write(text)
        build = os.path.join(folder, 'build')
        for words in (['-S', folder, '-B', build, '-DCMAKE_PREFIX_PATH=' + self.prefix], ['--build', build]):
            done = run(CMAKE, *words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(run(os.path.join(build, 'user')).stdout, '3\n')

    def test_it_needs_nothing_of_the_build(self):
        for root, _, files in os.walk(self.prefix):
            for name in files:
                with open(os.path.join(root, name), 'rb') as f:
                    if f.read(4) != b'\x7fELF':
                        continue
                path = os.path.join(root, name)
                self.assertNotIn(BUILD, run('ldd', path).stdout, path)

    def test_it_draws_the_same_picture(self):
        pictures = []
        for program in (self.program, os.path.join(BUILD, 'app/hloscope')):
            picture = os.path.join(self.folder, 'out.png')
            done = run(program, 'open', SAMPLES + '/conv_net', '--screenshot', picture, '--size', '800x600', '--screen', 'memory')
            self.assertEqual(done.returncode, 0, done.stderr[-500:])
            with open(picture, 'rb') as f:
                pictures.append(f.read())
        (width, one), (other_width, other) = map(rows_of, pictures)
        self.assertEqual((width, len(one)), (other_width, len(other)))
        self.assertEqual(one, other)
        self.assertGreater(len(set(one)), 100)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
