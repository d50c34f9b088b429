#!/usr/bin/env python3
"""The cache of compiled modules: results are the same with it, however it is treated.

  object_cache_test.py HLOSCOPE"""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HLOSCOPE = sys.argv[1]

# Runs a command with a disk of one page mounted on the folder that comes first.
ON_A_FULL_DISK = ['unshare', '--map-root-user', '--mount', 'sh', '-c',
                  'mount -t tmpfs -o size=4k none "$0" && exec "$@"']

MODULE = """HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
turn { p = (s32[], f32[16]) parameter(0) i = s32[] get-tuple-element(p), index=0
  v = f32[16] get-tuple-element(p), index=1 one = s32[] constant(1) j = s32[] add(i, one)
  w = f32[16] multiply(v, v) ROOT t = (s32[], f32[16]) tuple(j, w) }
goes_on { p.1 = (s32[], f32[16]) parameter(0) i.1 = s32[] get-tuple-element(p.1), index=0
  n = s32[] constant(3) ROOT c = pred[] compare(i.1, n), direction=LT }
ENTRY e {
  x = f32[16,16] parameter(0)
  z = f32[] constant(0)
  k = f32[16] constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
  d = f32[16,16] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[16,16] exponential(d)
  s = f32[16] reduce(y, z), dimensions={1}, to_apply=add
  u = f32[16] divide(k, s)
  zero = s32[] constant(0)
  start = (s32[], f32[16]) tuple(zero, u)
  loop = (s32[], f32[16]) while(start), condition=goes_on, body=turn
  l = f32[16] get-tuple-element(loop), index=1
  ROOT t.1 = (f32[16], f32[16], f32[16,16]) tuple(u, l, y)
}
"""


class ObjectCacheTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.cache = os.path.join(self.temporary.name, 'cache')
        self.module = os.path.join(self.temporary.name, 'm.hlo')
        with open(self.module, 'w', encoding='utf-8') as f:
            f.write(MODULE)
        self.expected = self.run_module('--no-cache')
        self.assertEqual(self.entries(), {})

    def run_module(self, *options, before=(), program=HLOSCOPE, status=0, platform='cpu'):
        done = subprocess.run(
            [*before, program, 'run', self.module, '--platform', platform, '--print_literals', '--threads', '1', *options],
            env={**os.environ, 'XDG_CACHE_HOME': self.cache}, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        if status != 0:
            return None
        text = done.stdout.decode()
        values = text[text.index('input 0'):]  # what stands before tells how long it took
        self.assertGreater(len(values), 1000)
        return values

    def entries(self):
        """{path: inode} of what is kept; an entry that is written again has another inode."""
        folder = os.path.join(self.cache, 'hloscope', 'objects')
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return {os.path.join(folder, name): os.stat(os.path.join(folder, name)).st_ino for name in names}

    def test_kernels_for_a_gpu_are_kept(self):
        meant = self.run_module('--no-cache', platform='gpu-sim')
        self.assertEqual(self.run_module(platform='gpu-sim'), meant)
        first = self.entries()
        self.assertEqual(len(first), 1)
        self.assertEqual(self.run_module(platform='gpu-sim'), meant)
        self.assertEqual(self.entries(), first)  # it was not written again
        self.assertEqual(self.run_module('--target', 'a100', platform='gpu-sim'), meant)
        self.assertEqual(len(self.entries()), 2)  # other code
        path, = first
        with open(path, 'r+b') as file:
            file.seek(os.stat(path).st_size // 2)
            file.write(b'damage')
        self.assertEqual(self.run_module(platform='gpu-sim'), meant)
        self.assertNotEqual(self.entries()[path], first[path])

    def test_the_second_start_takes_what_the_first_left(self):
        self.assertEqual(self.run_module(), self.expected)
        first = self.entries()
        self.assertEqual(len(first), 1)
        self.assertEqual(self.run_module(), self.expected)
        self.assertEqual(self.entries(), first)
        self.assertEqual(self.run_module('--no-cache'), self.expected)
        self.assertEqual(self.entries(), first)

    def test_the_second_start_loads_no_code_generation(self):
        """Its library is there, but for another kind of processor: it cannot be loaded."""
        self.run_module()
        first = self.entries()
        folder = os.path.join(self.temporary.name, 'program')
        os.mkdir(folder)
        for name in ('hloscope', 'libhloscope_library_calls.so', 'libhloscope_codegen.so'):
            shutil.copy(os.path.join(os.path.dirname(HLOSCOPE), name), folder)
        with open(os.path.join(folder, 'libhloscope_codegen.so'), 'r+b') as f:
            f.seek(18)  # e_machine
            f.write(b'\xff\xff')
        program = os.path.join(folder, 'hloscope')
        self.assertEqual(self.run_module(program=program), self.expected)
        self.assertEqual(self.entries(), first)
        self.run_module('--no-cache', program=program, status=2)

    def test_broken_entries_are_made_again(self):
        self.run_module()
        (path, inode), = self.entries().items()
        size = os.path.getsize(path)
        for at in (0, 20, 64, size // 3, size // 2, size - 1):
            with open(path, 'r+b') as f:
                f.seek(at)
                byte = f.read(1)[0]
                f.seek(at)
                f.write(bytes([byte ^ 0x10]))
            self.assertEqual(self.run_module(), self.expected, at)
            (path, now), = self.entries().items()
            self.assertNotEqual(now, inode, at)
            inode = now
        os.truncate(path, size - 1)
        self.assertEqual(self.run_module(), self.expected)
        self.assertEqual(os.path.getsize(path), size)

    def test_a_full_disk(self):
        os.mkdir(self.cache)
        full = [*ON_A_FULL_DISK, self.cache]
        if subprocess.run([*full, 'true'], capture_output=True).returncode != 0:
            self.skipTest('this user may not mount')
        self.assertEqual(self.run_module(before=full), self.expected)
        self.run_module()
        (path, _), = self.entries().items()
        self.assertGreater(os.path.getsize(path), 4096)

    def test_no_folder(self):
        with open(self.cache, 'w', encoding='utf-8') as f:
            f.write('not a folder')
        self.assertEqual(self.run_module(), self.expected)

    def test_room_for_little(self):
        self.assertEqual(self.run_module('--limit', 'object-cache=100'), self.expected)
        self.assertEqual(self.entries(), {})

    def test_fifty_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            for values in pool.map(lambda _: self.run_module(), range(50)):
                self.assertEqual(values, self.expected)
        self.assertEqual(len(self.entries()), 1)
        self.assertEqual(self.run_module(), self.expected)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
