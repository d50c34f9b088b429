#!/usr/bin/env python3
"""`info --memory --advise` on values at the peak, our own layout of temporaries, and `compare --memory`: memory_advice_test.py HLOSCOPE."""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])

# w is converted, v copied into another layout, and m broadcast from a scalar long before it is read.
MODULE = '''HloModule m, is_scheduled=true, entry_computation_layout={(bf16[64,64]{1,0}, f32[64,64]{1,0}, f32[])->f32[64,64]{1,0}}

ENTRY e {
  w = bf16[64,64]{1,0} parameter(0), metadata={op_name="params['w']"}
  v = f32[64,64]{1,0} parameter(1)
  s = f32[] parameter(2)
  m = f32[64,64]{1,0} broadcast(s), dimensions={}
  c = f32[64,64]{1,0} convert(w), metadata={source_file="model.py" source_line=7}
  t = f32[64,64]{0,1} copy(v)
  d = f32[64,64]{1,0} dot(c, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[64,64]{1,0} dot(d, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[64,64]{1,0} add(g, m)
}
'''
LOOP = '''HloModule m, is_scheduled=true

body {
  s = (s32[], f32[64,64]{1,0}, f32[64,64]{1,0}) parameter(0)
  ROOT t = (s32[], f32[64,64]{1,0}, f32[64,64]{1,0}) copy(s)
}

condition {
  s = (s32[], f32[64,64]{1,0}, f32[64,64]{1,0}) parameter(0)
  ROOT p = pred[] constant(false)
}

ENTRY e {
  a = f32[64,64]{1,0} parameter(0)
  b = f32[64,64]{1,0} parameter(1)
  i = s32[] constant(0)
  a1 = f32[64,64]{1,0} copy(a)
  b1 = f32[64,64]{1,0} copy(b)
  s = (s32[], f32[64,64]{1,0}, f32[64,64]{1,0}) tuple(i, a1, b1)
  w = (s32[], f32[64,64]{1,0}, f32[64,64]{1,0}) while(s), condition=condition, body=body
  x2 = f32[64,64]{1,0} get-tuple-element(w), index=2
  x1 = f32[64,64]{1,0} get-tuple-element(w), index=1
  y = f32[1,1]{1,0} slice(%s), slice={[0:1], [0:1]}
  ROOT r = (f32[64,64]{1,0}, f32[64,64]{1,0}, f32[1,1]{1,0}) tuple(x1, x2, y)
}
'''
PROGRAM = ['w', 'v', 's', 'm', 'c', 't', 'd', 'g', 'r']
SIZE = 64 * 64 * 4
# name, size, allocation, offset, begin, end, shape; temporaries as XLA places them
VALUES = [('m', 16384, 16384 * 3, 3, 8), ('c', 16384, 0, 4, 7), ('t', 16384, 16384, 5, 6), ('d', 16384, 16384 * 2, 6, 7)]


def buffers(values=VALUES, size=16384 * 4):
    lines = ['BufferAssignment:', 'allocation 0: size 8192, page 0, parameter 0, shape |bf16[64,64]| at ShapeIndex {}:',
             ' value: <0 w @0> (size=8192,offset=0): bf16[64,64]{1,0}',
             'allocation 1: size 16384, page 0, parameter 1, shape |f32[64,64]| at ShapeIndex {}:',
             ' value: <1 v @0> (size=16384,offset=0): f32[64,64]{1,0}',
             'allocation 2: size 4, page 0, parameter 2, shape |f32[]| at ShapeIndex {}:', ' value: <2 s @0> (size=4,offset=0): f32[]',
             'allocation 3: size 16384, page 0, maybe-live-out:', ' value: <3 r @0> (size=16384,offset=0): f32[64,64]{1,0}',
             ' value: <4 g @0> (size=16384,offset=0): f32[64,64]{1,0}',
             f'allocation 4: size {size}, page 0, preallocated-temp:']
    for k, (name, bytes_, offset, *_) in enumerate(values):
        lines.append(f' value: <{10 + k} {name} @0> (size={bytes_},offset={offset}): f32[64,64]{{1,0}}')
    return '\n'.join(lines) + f'\n\nTotal bytes used: {8192 + 16384 * 2 + 4 + size}\n'


def lives(values=VALUES):
    ranges = [('w', 0, 9), ('v', 0, 9), ('s', 0, 9), ('g', 7, 8), ('r', 8, 9)] + [(one[0], one[3], one[4]) for one in values]
    return ('HloLiveRange (max 9):\n  InstructionSequence:\n' + ''.join(f'    {k}:{name}\n' for k, name in enumerate(PROGRAM)) + '  BufferLiveRange:\n' +
            ''.join(f'    {name}{{}}:{begin}-{end}\n' for name, begin, end in ranges) + '  Live ranges at 6 (peak):\n')


class Advice(FolderTest):
    def dump(self, name, module=MODULE, values=VALUES, size=16384 * 4):
        os.makedirs(self.path(name))
        for end, text in (('before_optimizations.txt', module), ('cpu_after_optimizations.txt', module),
                          ('cpu_after_optimizations-buffer-assignment.txt', buffers(values, size)),
                          ('cpu_after_optimizations-live-range.txt', lives(values))):
            self.path(f'{name}/module_0000.m.{end}', text)
        return self.path(name)

    def json(self, *arguments, status=0):
        done = subprocess.run([HLOSCOPE, *arguments, '--json'], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, (done.stdout, done.stderr))
        text = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(text.returncode, status, text.stderr)
        return json.loads(done.stdout), text.stdout

    def test_each_kind(self):
        report, text = self.json('info', self.dump('a'), '--memory', '--advise')
        module = report['modules'][0]
        self.assertEqual((module['peak_bytes'], module['simulated_bytes'], module['temporary_bytes']), (8192 + 16384 * 6 + 4, 16384 * 4, 16384 * 4))
        found = {one['kind']: one for one in report['advice']}
        # By hand: at d live m, c, t and d. Without t, or m, three buffers are left; c saves 16384 and w grows by 8192.
        self.assertEqual({kind: one['saves_bytes'] for kind, one in found.items() if kind != 'donation'},
                         {'layout': 16384, 'rematerialization': 16384, 'cast': 8192})
        self.assertEqual([found[kind]['instruction'] for kind in ('layout', 'rematerialization', 'cast')], ['t', 'm', 'c'])
        self.assertEqual((found['cast']['source'], found['cast']['new_peak_bytes']), ('model.py:7', module['peak_bytes'] - 8192))
        self.assertIn("pass argument 0 (params['w']) as f32 instead of bf16", found['cast']['what'])
        self.assertFalse(any(one['verified'] for one in report['advice']))
        self.assertIn('XLA merges what is equal', text)

    def test_a_layout_that_is_not_met(self):
        notes = self.json('info', self.dump('a', size=16384 * 5), '--memory', '--advise')[0]['modules'][0]['notes']
        self.assertEqual(notes, ["our layout of the temporaries takes 65536 bytes, XLA's 81920: predictions may be off by as much"])
        self.assertEqual(self.json('info', self.dump('b'), '--memory', '--advise')[0]['modules'][0]['notes'], [])

    def test_what_a_loop_carries_is_one_buffer(self):
        """XLA keeps it at one place also where other values live between the body's parameter and what the body returns."""
        module = ('HloModule m, is_scheduled=true\n\ncond {\n  q = (s32[], f32[64]{0}) parameter(0)\n  j = s32[] get-tuple-element(q), index=0\n'
                  '  two = s32[] constant(2)\n  ROOT k = pred[] compare(j, two), direction=LT\n}\n\nbody {\n  p = (s32[], f32[64]{0}) parameter(0)\n'
                  '  i = s32[] get-tuple-element(p), index=0\n  a = f32[64]{0} get-tuple-element(p), index=1\n  x1 = f32[16]{0} slice(a), slice={[0:16]}\n'
                  '  n = f32[64]{0} concatenate(x1, x1, x1, x1), dimensions={0}\n  ROOT t = (s32[], f32[64]{0}) tuple(i, n)\n}\n\nENTRY e {\n'
                  '  x = f32[64]{0} parameter(0)\n  z = s32[] constant(0)\n  c.1 = f32[64]{0} copy(x)\n  x2 = f32[32]{0} slice(x), slice={[0:32]}\n'
                  '  x0 = f32[16]{0} slice(x2), slice={[0:16]}\n  s = (s32[], f32[64]{0}) tuple(z, c.1)\n'
                  '  w = (s32[], f32[64]{0}) while(s), condition=cond, body=body\n  r = f32[64]{0} get-tuple-element(w), index=1\n'
                  '  y = f32[16]{0} slice(r), slice={[0:16]}\n  ROOT o = f32[16]{0} add(y, x0)\n}\n')
        values = [('c.1', 0, 256, 0, 3), ('p{1}', 0, 256, 3, 4), ('n', 0, 256, 8, 9), ('w{1}', 0, 256, 9, 11), ('x0', 256, 64, 2, 9), ('x1', 320, 64, 5, 8),
                  ('x2', 384, 128, 1, 5)]
        text = ('BufferAssignment:\nallocation 0: size 256, parameter 0, shape |f32[64]| at ShapeIndex {}:\n value: <0 x @0> (size=256,offset=0): f32[64]{0}\n'
                'allocation 1: size 64, maybe-live-out:\n value: <1 o @0> (size=64,offset=0): f32[16]{0}\nallocation 2: size 512, preallocated-temp:\n')
        for number, (name, offset, size, _, _) in enumerate(values, 2):
            phi = ' (phi)' if name in ('p{1}', 'w{1}') else ''
            text += f' value: <{number} {name}{phi} @0> (size={size},offset={offset}): f32[{size // 4}]{{0}}\n'
        text += '\nTotal bytes used: 832 (832B)\n'
        program = ['x', 'x2', 'x0', 'c.1', 'k', 'a', 'x1', 'x1', 'n', 't', 'r', 'o']
        ranges = ('HloLiveRange (max 12):\n  InstructionSequence:\n' + ''.join(f'    {at}:{name}\n' for at, name in enumerate(program)) + '  BufferLiveRange:\n    x{}:0-12\n    o{}:11-12\n' +
                  ''.join(f'    {name}{"" if name.endswith("}") else "{}"}:{begin}-{end}\n' for name, _, _, begin, end in values) + '  Live ranges at 3 (peak):\n')
        os.makedirs(self.path('loop'))
        for end, content in (('before_optimizations.txt', module), ('cpu_after_optimizations.txt', module),
                             ('cpu_after_optimizations-buffer-assignment.txt', text), ('cpu_after_optimizations-live-range.txt', ranges)):
            self.path(f'loop/module_0000.m.{end}', content)
        found = self.json('info', self.path('loop'), '--memory', '--advise')[0]['modules'][0]
        self.assertEqual((found['temporary_bytes'], found['simulated_bytes'], found['notes']), (512, 512, []))

    def test_what_is_no_advice(self):
        """A product is not cheap, and what is read at the peak cannot go."""
        module = MODULE.replace('broadcast(s), dimensions={}', 'dot(v, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}')
        kinds = [one['kind'] for one in self.json('info', self.dump('a', module), '--memory', '--advise')[0]['advice']]
        self.assertNotIn('rematerialization', kinds)
        module = MODULE.replace('dot(c, t)', 'dot(m, t)')
        kinds = [one['kind'] for one in self.json('info', self.dump('b', module), '--memory', '--advise')[0]['advice']]
        self.assertNotIn('rematerialization', kinds)

    def test_what_a_loop_makes_of_an_argument_takes_its_memory(self):
        """Also where the results are read in another order; not where the argument is read after the loop, and no other argument takes it."""
        for read, expected in (('x1', [(0, [0]), (1, [1])]), ('a', [(1, [1])])):
            module = LOOP % read
            report, _ = self.json('info', self.dump(read, module, [], 0), '--memory', '--advise')
            donations = [one for advice in report['advice'] for one in advice['donations']]
            self.assertEqual(sorted((one['parameter'], one['result']) for one in donations), expected, read)

    def test_a_transposed_copy(self):
        """Passed in the order of the copy it is not made; two transposes leave the order as it was."""
        module = MODULE.replace('f32[64,64]{0,1} copy(v)', 'f32[64,64]{1,0} fusion(v), kind=kLoop, calls=fused').replace('ENTRY e {', """fused {
  p = f32[64,64]{1,0} parameter(0)
  q = f32[64,64]{0,1} transpose(p), dimensions={1,0}
  ROOT o = f32[64,64]{1,0} copy(q)
}

ENTRY e {""")
        report, _ = self.json('info', self.dump('a', module), '--memory', '--advise')
        what, = [one['what'] for one in report['advice'] if one['kind'] == 'layout']
        self.assertIn('pass argument 1 transposed, with its dimensions in the order 1,0', what)
        same = module.replace('copy(q)', 'transpose(q), dimensions={1,0}')
        report, _ = self.json('info', self.dump('b', same), '--memory', '--advise')
        self.assertEqual([one for one in report['advice'] if one['kind'] == 'layout'], [])

    def test_compare(self):
        """Other names, one value twice as large, and one that only B has."""
        a = self.dump('a')
        other = MODULE.replace('ENTRY e', 'ENTRY z')
        values = [('m', 16384, 16384 * 4, 3, 8), ('c', 32768, 0, 4, 7), ('t', 16384, 32768, 5, 6), ('d', 16384, 49152, 6, 7)]
        report, text = self.json('compare', a, self.dump('b', other, values, 16384 * 5), '--memory', status=1)
        pair = report['memory'][0]
        self.assertEqual(pair['peak_bytes_b'] - pair['peak_bytes'], 16384)
        self.assertEqual([(one['bytes'], one['a']['instruction'], one['b']['instruction']) for one in pair['differences']], [(16384, 'c', 'c')])
        self.assertIn('+16', text)
        same, text = self.json('compare', a, a, '--memory')
        self.assertEqual((same['status'], same['memory'][0]['differences']), ('equal', []))
        renamed = MODULE.replace('c = f32', 'cc = f32').replace('(c, t)', '(cc, t)').replace('(d, c)', '(d, cc)')
        same, _ = self.json('compare', self.path('x.hlo', MODULE), self.path('y.hlo', renamed), '--memory')
        self.assertEqual(same['status'], 'equal')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
