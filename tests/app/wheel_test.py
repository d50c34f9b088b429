"""The wheel of scripts/wheel, installed into an empty environment: wheel_test.py SOURCE SAMPLES.

Nightly: the program is linked again, with `ziglang` of the network or of .venv-wheel.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, SAMPLES = Path(sys.argv[1]), Path(sys.argv[2])
NEWEST = (2, 28)
MOST_BYTES = 45e6


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = Path(cls.folder.name)
        made = run(SOURCE / 'scripts/wheel', folder)
        assert made.returncode == 0, made.stdout + made.stderr
        cls.wheel, = folder.glob('hloscope-*-py3-none-manylinux_2_28_x86_64.whl')
        cls.environment = folder / 'env'
        subprocess.run([sys.executable, '-m', 'venv', cls.environment], check=True)
        subprocess.run([cls.environment / 'bin/python', '-m', 'pip', 'install', '-q', '--no-index', '--no-deps', cls.wheel], check=True)
        cls.program = cls.environment / 'bin/hloscope'

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_its_size(self):
        self.assertLess(self.wheel.stat().st_size, MOST_BYTES)

    def test_files_ask_for_glibc_2_28_and_nothing_of_other_packages(self):
        files = [self.program, *self.environment.rglob('hloscope/prefix/bin/hloscope'), *self.environment.rglob('libhloscope_*.so')]
        self.assertEqual(len(files), 4)
        for file in files:
            with self.subTest(file=file.name):
                text = run('readelf', '-V', file).stdout
                versions = {tuple(map(int, v.split('.'))) for v in re.findall(r'GLIBC_([0-9.]+)', text)}
                self.assertTrue(versions)
                self.assertLessEqual(max(versions)[:2], NEWEST)
                self.assertNotRegex(text, 'GLIBCXX|CXXABI|GCC_|GLIBC_ABI')
                # A relative one would load libraries from the working folder.
                self.assertNotRegex(run('readelf', '-d', file).stdout, r'R(UN)?PATH')
                needed = re.findall(r'NEEDED.*\[(.*?)\]', run('readelf', '-d', file).stdout)
                self.assertLessEqual(set(needed), {'libc.so.6', 'libm.so.6', 'libdl.so.2', 'libpthread.so.0', 'librt.so.1', 'ld-linux-x86-64.so.2'})

    def test_every_library_loads_and_catches_its_exceptions(self):
        out = run(self.program, 'doctor').stdout
        for library in ('codegen', 'viewer'):
            self.assertIn(f'libhloscope_{library}.so: loads', out)
        self.assertNotIn('no build id', out)

    def test_runs_a_sample_and_keeps_what_it_compiled(self):
        with tempfile.TemporaryDirectory() as cache:
            where = dict(os.environ, XDG_CACHE_HOME=cache)
            command = [self.program, 'run', SAMPLES / 'mlp_train_step', '--reference_platform', 'interpreter', '--json']
            first, second = run(*command, env=where), run(*command, env=where)
            for done in (first, second):
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn('"equal"', done.stdout)
            self.assertTrue(any(Path(cache).rglob('objects/*')))

    def test_python_finds_the_program(self):
        python = self.environment / 'bin/python'
        self.assertEqual(run(python, '-m', 'hloscope', '--version').stdout, run(self.program, '--version').stdout)
        self.assertEqual(run(python, '-c', 'import hloscope; print(hloscope.program().is_file(), hloscope.__version__)').stdout.split()[0], 'True')

    def test_commands_are_functions(self):
        python = self.environment / 'bin/python'
        code = 'import hloscope; print(hloscope.verify("HloModule m\\nENTRY e { ROOT x = f32[2] parameter(0) }").status)'
        done = run(python, '-c', code)
        self.assertEqual(done.stdout, 'ok\n', done.stderr)
        package, = self.environment.glob('lib/python3*/site-packages/hloscope')
        self.assertIn('def run(', (package / '__init__.pyi').read_text())
        self.assertFalse((package / 'prefix/share/hloscope/python').exists())
        for command in ([self.program, 'skill'], [python, '-m', 'hloscope', 'skill']):
            self.assertIn('name: hloscope', run(*command).stdout)

    def test_a_picture_uses_the_fonts_of_the_wheel(self):
        picture = Path(self.folder.name) / 'picture.png'
        done = run(self.program, 'open', SAMPLES / 'attention_block_h100', '--screenshot', picture)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertTrue(picture.read_bytes().startswith(b'\x89PNG'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
