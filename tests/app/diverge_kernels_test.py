#!/usr/bin/env python3
"""`hloscope diverge` on a simulated GPU where several kernels are wrong: diverge_kernels_test.py HLOSCOPE."""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])
STEM = 'module_0000.jit_two.'
HLO = '''HloModule jit_two, is_scheduled=true, entry_computation_layout={(f32[64]{0}, f32[64]{0})->(f32[64]{0}, f32[64]{0})}

%fused_add (p: f32[64], q: f32[64]) -> f32[64] {
  %p = f32[64]{0} parameter(0)
  %q = f32[64]{0} parameter(1)
  ROOT %a = f32[64]{0} add(%p, %q)
}

%fused_multiply (p.1: f32[64]) -> f32[64] {
  %p.1 = f32[64]{0} parameter(0)
  ROOT %m = f32[64]{0} multiply(%p.1, %p.1)
}

ENTRY %main (x: f32[64], y: f32[64]) -> (f32[64], f32[64]) {
  %x = f32[64]{0} parameter(0)
  %y = f32[64]{0} parameter(1)
  %loop_add_fusion = f32[64]{0} fusion(%x, %y), kind=kLoop, calls=%fused_add
  %loop_multiply_fusion = f32[64]{0} fusion(%y), kind=kLoop, calls=%fused_multiply
  ROOT %tuple = (f32[64]{0}, f32[64]{0}) tuple(%loop_add_fusion, %loop_multiply_fusion)
}
'''
BUFFERS = '''BufferAssignment:
allocation 0: size 256, page 0, parameter 0, shape |f32[64]| at ShapeIndex {}:
 value: <0 x @0> (size=256,offset=0): f32[64]{0}
allocation 1: size 256, page 0, parameter 1, shape |f32[64]| at ShapeIndex {}:
 value: <1 y @0> (size=256,offset=0): f32[64]{0}
allocation 2: size 256, page 0, output shape is |f32[64]|, maybe-live-out:
 value: <2 loop_add_fusion @0> (size=256,offset=0): f32[64]{0}
allocation 3: size 256, page 0, output shape is |f32[64]|, maybe-live-out:
 value: <3 loop_multiply_fusion @0> (size=256,offset=0): f32[64]{0}
allocation 4: size 16, page 0, output shape is |(f32[64], f32[64])|, maybe-live-out:
 value: <4 tuple{} @0> (size=16,offset=0): (f32[64]{0}, f32[64]{0})
'''
# Each thread reads an element of both arguments, if there are two, and stores one.
KERNEL = '''
.visible .entry NAME(
\t.param .u64 p0,
\t.param .u64 p1,
\t.param .u64 p2
)
.reqntid 64, 1, 1
{
\t.reg .f32 %f<4>;
\t.reg .b32 %r<2>;
\t.reg .b64 %rd<9>;
\tld.param.u64 %rd1, [p0];
\tld.param.u64 %rd2, [p1];
\tld.param.u64 %rd3, [p2];
\tmov.u32 %r1, %tid.x;
\tmul.wide.u32 %rd4, %r1, 4;
\tadd.s64 %rd5, %rd1, %rd4;
\tadd.s64 %rd6, %rd2, %rd4;
\tadd.s64 %rd7, %rd3, %rd4;
\tld.global.f32 %f1, [%rd5];
\tld.global.f32 %f2, [%rd6];
\tOPCODE %f3, %f1, %f2;
\tst.global.f32 [%rd7], %f3;
\tret;
}
'''
UNARY = KERNEL.replace('.param .u64 p1,\n\t.param .u64 p2', '.param .u64 p1').replace('%rd3, [p2]', '%rd3, [p1]').replace('%rd2, [p1]', '%rd2, [p0]')
LAUNCH = '00{}: kKernel\t {} grid: [1, 1, 1] threads: [64, 1, 1]  shared_memory: 0 bytes\n'


class Kernels(FolderTest):
    def diverge(self, add, multiply):
        """The verdict where kernels for the sum and for the square have these instructions."""
        names = ('loop_add_fusion', 'loop_multiply_fusion')
        code = '.version 8.0\n.target sm_80\n.address_size 64\n'
        for kernel, name, opcode in ((KERNEL, names[0], add), (UNARY, names[1], multiply)):
            code += kernel.replace('NAME', name).replace('OPCODE', opcode)
        module = self.path(STEM + 'sm_8.0_gpu_after_optimizations.txt', HLO)
        self.path(STEM + 'sm_8.0_gpu_after_optimizations-buffer-assignment.txt', BUFFERS)
        self.path(STEM + 'thunk_sequence.txt', ''.join(LAUNCH.format(k + 1, name) for k, name in enumerate(names)))
        self.path(STEM + 'ptx', code)
        done = subprocess.run([HLOSCOPE, 'diverge', module, '--platform', 'xla-gpu-sim', '--as_dumped', '--reference_platform', 'interpreter',
                               '--json'], capture_output=True, text=True, timeout=300, check=False)
        found, = [json.loads(line) for line in done.stdout.splitlines()]
        return done.returncode, found

    def test_right_kernels_agree(self):
        status, found = self.diverge('add.rn.f32', 'mul.rn.f32')
        self.assertEqual((status, found['status'], found['findings']), (0, 'equal', []), found)

    def test_one_wrong_kernel_is_one_finding(self):
        status, found = self.diverge('add.rn.f32', 'add.rn.f32')
        self.assertEqual((status, found['kernel']), (1, 'loop_multiply_fusion'), found)
        self.assertEqual([one['instruction'] for one in found['findings']], ['loop_multiply_fusion'])
        self.assertNotIn('another reason', found['verdict'])

    def test_each_wrong_kernel_of_a_result_of_its_own_is_a_finding(self):
        status, found = self.diverge('sub.rn.f32', 'add.rn.f32')
        first, second = found['findings']
        self.assertEqual((status, first['results'], second['results']), (1, [0], [1]), found)
        self.assertEqual((first['instruction'], second['instruction']), ('loop_add_fusion', 'loop_multiply_fusion'))
        self.assertEqual(second['kernel'], 'loop_multiply_fusion')
        self.assertIn('; out1 differs for another reason, first at loop_multiply_fusion in main, the cause is', found['verdict'])
        # What is tried is tried for both.
        self.assertEqual([one['what'] for one in first['tries']], [one['what'] for one in second['tries']])
        self.assertTrue(second['tries'])
        self.assertIsNone(second['not_tried'])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
