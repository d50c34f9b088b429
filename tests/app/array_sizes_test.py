#!/usr/bin/env python3
"""How much memory large arrays take: array_sizes_test.py HLOSCOPE"""
import json
import os
import sys
import unittest

from command_tests import FolderTest, write_npz

HLOSCOPE = os.path.abspath(sys.argv[1])
MEGA = 1 << 20
MODULE = '''HloModule m
most {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] maximum(x, y)
}
ENTRY e {
  a = f32[COUNT] parameter(0)
  b = f32[COUNT] parameter(1)
  z = f32[] constant(0)
  q = f32[] reduce(a, z), dimensions={0}, to_apply=most
  r = f32[] reduce(b, z), dimensions={0}, to_apply=most
  ROOT t = (f32[], f32[]) tuple(q, r)
}
'''


class ArraySizes(FolderTest):
    def apart(self, do):
        """A process of its own, and what it took: a child's largest memory begins with that of its parent."""
        child = os.fork()
        if child == 0:
            try:
                do()
            finally:
                os._exit(1)
        _, status, usage = os.wait4(child, 0)
        return os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10

    def resident(self, *arguments, status=0):
        """The output of a command, and the largest resident memory of one of its processes in bytes."""
        out, err = self.path('out'), self.path('err')

        def start():
            for number, path in ((1, out), (2, err)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
            os.environ['HLOSCOPE_CACHE_DIR'] = self.folder
            os.execv(HLOSCOPE, [HLOSCOPE, *arguments])

        code, most = self.apart(start)
        with open(out, encoding='utf-8') as text, open(err, encoding='utf-8') as errors:
            self.assertEqual(code, status, errors.read())
            return text.read(), most

    def arrays(self, name, elements, last=0):
        """An archive of two arrays in0 and in1 of so many floats, and its size in bytes."""
        path = self.path(name)

        def write():
            zeros = bytes(4 * elements)
            write_npz(path, {'in0': ('<f4', (elements,), zeros), 'in1': ('<f4', (elements,), zeros[:-1] + bytes([last]))})
            os._exit(0)

        self.assertEqual(self.apart(write)[0], 0)
        return path, os.path.getsize(path)

    def module(self, elements):
        return self.path(f'm{elements}.hlo', MODULE.replace('COUNT', str(elements)))

    def test_a_run_has_its_inputs_once(self):
        small, _ = self.arrays('small.npz', 16)
        large, size = self.arrays('large.npz', 16 * MEGA)
        for platform in ('interpreter', 'cpu'):
            with self.subTest(platform):
                _, before = self.resident('run', self.module(16), '--platform', platform, '--inputs', small)
                _, most = self.resident('run', self.module(16 * MEGA), '--platform', platform, '--inputs', large)
                self.assertLess(most - before, 1.3 * size)

    def test_saved_inputs_are_written_as_they_are_held(self):
        small, _ = self.arrays('small.npz', 16)
        large, size = self.arrays('large.npz', 16 * MEGA)
        out = self.path('out.npz')
        options = ('--platform', 'interpreter', '--save_inputs', out)
        _, before = self.resident('run', self.module(16), '--inputs', small, *options)
        _, most = self.resident('run', self.module(16 * MEGA), '--inputs', large, *options)
        self.assertLess(most - before, 1.3 * size)
        self.resident('compare', large, out)

    def test_arrays_are_compared_in_windows(self):
        def most(elements):
            a, b = self.arrays('a.npz', elements)[0], self.arrays('b.npz', elements, last=64)[0]
            out, resident = self.resident('compare', a, b, '--json', status=1)
            same, differs = json.loads(out)['outputs']
            self.assertEqual((same['mismatched'], differs['mismatched']), (0, 1))
            self.assertEqual(differs['first_mismatch']['index'], [elements - 1])
            return resident

        few, many, more = most(16), most(16 * MEGA), most(32 * MEGA)
        self.assertLess(many - few, 64 * MEGA)
        self.assertLess(more - many, 16 * MEGA)

    def test_a_plan_takes_sizes_from_headers(self):
        elements = 34 * MEGA  # above what goes in as literals too
        large, size = self.arrays('large.npz', elements)
        small, _ = self.arrays('small.npz', 16)
        for values in ('shapes', 'all'):
            with self.subTest(values):
                options = ('--plan', '--json', '--values', values)
                _, before = self.resident('bundle', 'create', self.module(16), '--inputs', small, *options)
                out, most = self.resident('bundle', 'create', self.module(elements), '--inputs', large, *options)
                self.assertLess(most - before, 32 * MEGA)
                parts = json.loads(out)['sizes']
                if values == 'all':
                    saved = self.path('saved.npz')
                    self.resident('run', self.module(elements), '--platform', 'interpreter', '--inputs', large, '--save_inputs', saved)
                    self.assertEqual(parts['inputs.npz'], os.path.getsize(saved))
                    self.assertAlmostEqual(parts['inputs.npz'], size, delta=1000)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
