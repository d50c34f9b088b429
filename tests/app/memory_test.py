#!/usr/bin/env python3
"""`info --memory` and `--advise`: memory_test.py HLOSCOPE SAMPLES."""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE, SAMPLES = map(os.path.abspath, sys.argv[1:3])

# p and q can be donated: their last user writes a result of their bytes where it reads them, q's
# copy is needless then. y is
# read in another order than v is written, and w is read after the result that could take it.
MODULE = '''HloModule m, is_scheduled=true{alias}

ENTRY e {{
  p = f32[256]{{0}} parameter(0), metadata={{op_name="params['w']"}}
  q = f32[256]{{0}} parameter(1)
  y = f32[512]{{0}} parameter(2)
  w = f32[128]{{0}} parameter(3)
  d = f32[256]{{0}} reverse(p), dimensions={{0}}
  n = f32[256]{{0}} add(p, d)
  z = f32[256]{{0}} copy(q)
  r = f32[256]{{0}} negate(z)
  v = f32[512]{{0}} reverse(y), dimensions={{0}}
  u = f32[128]{{0}} constant({{...}})
  k = f32[128]{{0}} negate(u)
  s = f32[] slice(w)
  ROOT t = (f32[256]{{0}}, f32[256]{{0}}, f32[512]{{0}}, f32[128]{{0}}, f32[128]{{0}}) tuple(n, r, v, k, s)
}}
'''.replace('  s = f32[] slice(w)\n', '  s = f32[128]{{0}} sine(w)\n')
BUFFERS = '''BufferAssignment:
allocation 0: size 1024, page 0, parameter 0, shape |f32[256]| at ShapeIndex {}:
 value: <0 p @0> (size=1024,offset=0): f32[256]{0}
allocation 1: size 1024, page 0, parameter 1, shape |f32[256]| at ShapeIndex {}:
 value: <1 q @0> (size=1024,offset=0): f32[256]{0}
allocation 2: size 2048, page 0, parameter 2, shape |f32[512]| at ShapeIndex {}:
 value: <2 y @0> (size=2048,offset=0): f32[512]{0}
allocation 3: size 512, page 0, parameter 3, shape |f32[128]| at ShapeIndex {}:
 value: <3 w @0> (size=512,offset=0): f32[128]{0}
allocation 4: size 1024, page 0, maybe-live-out:
 value: <4 d @0> (size=1024,offset=0): f32[256]{0}
 value: <5 n @0> (size=1024,offset=0): f32[256]{0}
allocation 5: size 1024, page 0, maybe-live-out:
 value: <10 z @0> (size=1024,offset=0): f32[256]{0}
 value: <6 r @0> (size=1024,offset=0): f32[256]{0}
allocation 6: size 2048, page 0, maybe-live-out:
 value: <7 v @0> (size=2048,offset=0): f32[512]{0}
allocation 7: size 512, page 0, maybe-live-out:
 value: <8 k @0> (size=512,offset=0): f32[128]{0}
allocation 8: size 512, page 0, maybe-live-out:
 value: <9 s @0> (size=512,offset=0): f32[128]{0}

Total bytes used: 9728 (9.5KiB)
'''
LIVES = '''HloLiveRange (max 13):
  InstructionSequence:
    0:p
    1:q
    2:y
    3:w
    4:d
    5:n
    6:z
    7:r
    8:v
    9:u
    10:k
    11:s
    12:t
  BufferLiveRange:
    p{}:0-5
    q{}:0-6
    y{}:0-8
    w{}:0-11
    d{}:4-5
    n{}:5-12
    z{}:6-7
    r{}:7-12
    v{}:8-12
    k{}:10-12
    s{}:11-12
  Live ranges at 5 (peak):
'''


def run(*arguments):
    done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


class Memory(FolderTest):
    def dump(self, alias=''):
        folder = self.path('dump' + str(len(alias)))
        os.makedirs(folder)
        for name, text in (('txt', MODULE.format(alias=alias)), ('-buffer-assignment.txt', BUFFERS), ('-live-range.txt', LIVES)):
            with open(os.path.join(folder, 'module_0000.m.cpu_after_optimizations' + ('.' if name == 'txt' else '') + name), 'w') as file:
                file.write(text)
        return folder

    def report(self, *arguments):
        status, out, err = run('info', '--json', '--memory', *arguments)
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def test_arguments_that_a_result_can_take(self):
        report = self.report(self.dump(), '--advise')
        (module,), (advice,) = report['modules'], report['advice']
        self.assertEqual((module['peak_bytes'], module['result_bytes'], module['parameter_bytes']), (9728, 5120, 4608))
        # w goes to k or s; d, which lies in the memory of n, needs memory of its own.
        self.assertEqual([(one['parameter'], one['name'], one['result'], one['bytes']) for one in advice['donations']],
                         [(0, "params['w']", [0], 1024), (1, '', [1], 1024), (3, '', [4], 512)])
        self.assertEqual((advice['saves_bytes'], advice['new_peak_bytes'], advice['verified']), (1536, 8192, False))
        text = run('info', '--memory', '--advise', self.path('dump0'))[1]
        self.assertIn("advice: donate 3 arguments, the largest number 0 (params['w'])", text)
        self.assertIn('; not verified', text)

    def test_a_small_part_of_much_memory_is_said_to_the_byte(self):
        folder = self.dump()
        buffers = os.path.join(folder, 'module_0000.m.cpu_after_optimizations-buffer-assignment.txt')
        with open(buffers) as file:
            text = file.read()
        with open(buffers, 'w') as file:
            file.write(text.replace('BufferAssignment:\n', 'BufferAssignment:\nallocation 99: size 50000000, preallocated-temp:\n value: <99 u @0> (size=50000000,offset=0): u8[50000000]{0}\n', 1))
        report = self.report(folder, '--advise')
        after, before = report['advice'][0]['new_peak_bytes'], report['modules'][0]['peak_bytes']
        self.assertEqual((before - after, before // 1_000_000), (1536, 50))
        self.assertIn(f': 1536 B less, {after} B instead of {before} B; not verified', run('info', '--memory', '--advise', folder)[1])

    def test_arguments_that_are_aliased_are_not_advised(self):
        advice, = self.report(self.dump(', input_output_alias={ {0}: (0, {}, may-alias) }'), '--advise')['advice']
        self.assertEqual([one['parameter'] for one in advice['donations']], [1, 3])

    def test_holders_are_the_largest_first(self):
        module, = self.report(os.path.join(SAMPLES, 'mlp_train_step'))['modules']
        sizes = [holder['bytes'] for holder in module['holders']]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        whole = json.loads(run('info', '--json', os.path.join(SAMPLES, 'mlp_train_step'))[1])['modules'][0]
        self.assertEqual((module['peak_bytes'], module['live_peak_bytes']), (whole['peak_bytes'], whole['live_peak_bytes']))

    def test_elements_of_a_tuple_are_named_by_their_place(self):
        folder = self.dump()
        for name in ('buffer-assignment', 'live-range'):
            path = os.path.join(folder, f'module_0000.m.cpu_after_optimizations-{name}.txt')
            with open(path) as file:
                text = file.read()
            with open(path, 'w') as file:
                file.write(text.replace('y{}', 'y{1}').replace(' y @', ' y{1} @'))
        self.assertIn('y{1} 2048 B', run('info', folder)[1])
        self.assertIn('  y{1} f32[', run('info', '--memory', folder)[1])

    def test_a_module_alone_has_its_largest_values(self):
        path = self.path('m.hlo')
        with open(path, 'w') as file:
            file.write(MODULE.format(alias=''))
        module, = self.report(path)['modules']
        self.assertEqual((module['holders'][0]['instruction'], module['holders'][0]['bytes'], module['peak_bytes']), ('y', 2048, None))
        self.assertIn('do not live all at once', module['notes'][0])

    def test_what_needs_what(self):
        folder = self.dump()
        for words in (['--advise'], ['--memory', '--verify'], ['--memory', '--passes']):
            self.assertEqual(run('info', folder, *words)[0], 2, words)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
