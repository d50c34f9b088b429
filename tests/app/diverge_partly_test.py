#!/usr/bin/env python3
"""Verdicts on stages of which some cannot be compared, and of partitioned modules: diverge_partly_test.py HLOSCOPE."""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])
HEADER = 'num_partitions=3, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=3]>}}'
# A shard_map of three devices as JAX writes it, and partitioned.
BEFORE = f'''HloModule jit_f, {HEADER}

ENTRY e {{
  x = f32[12,5] parameter(0)
  l = f32[4,5] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape", custom_call_has_side_effect=true, frontend_attributes={{xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{{\\"x\\"}}, {{}}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{{\\"x\\"}}>"}}
  c = f32[4,5] collective-permute(l), channel_id=1, source_target_pairs={{{{0,1}},{{1,2}},{{2,0}}}}
  n = f32[4,5] OP(l, c)
  z = f32[] constant(2)
  g = (f32[12,5], f32[]) custom-call(n, z), custom_call_target="xla.sdy.LocalToGlobalShape", custom_call_has_side_effect=true, frontend_attributes={{xla.sdy.manual_axes="#sdy<manual_axes{{\\"x\\"}}>",xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{{\\"x\\"}}, {{}}]>, <@mesh, []>]>"}}
  g0 = f32[12,5] get-tuple-element(g), index=0
  g1 = f32[] get-tuple-element(g), index=1
  ROOT t = (f32[12,5], f32[]) tuple(g0, g1)
}}
'''
AFTER = '''HloModule jit_f, is_scheduled=true, num_partitions=3

ENTRY e {
  x = f32[4,5] parameter(0), sharding={devices=[3,1]<=[3]}
  c = f32[4,5] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,2},{2,0}}
  n = f32[4,5] OP(x, c)
  z = f32[] constant(2)
  ROOT t = (f32[4,5], f32[]) tuple(n, z)
}
'''
PLAIN = 'HloModule jit_f\n\nENTRY e {{\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] {op}(x)\n}}\n'
BROKEN = 'HloModule jit_f\n\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] custom-call(x), custom_call_target="unknown"\n}\n'


def diverge(*arguments):
    done = subprocess.run([HLOSCOPE, 'diverge', *arguments, '--json'], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.count('\n') == 1, (arguments, done.returncode, done.stdout, done.stderr)
    return done.returncode, json.loads(done.stdout)


class Partly(FolderTest):
    def dump(self, **stages):
        for name, text in stages.items():
            self.path(f'module_0000.jit_f.{name}.txt', text)
        return self.folder

    def test_nothing_compared_is_no_agreement(self):
        folder = self.dump(before_optimizations=PLAIN.format(op='negate'), cpu_after_optimizations=BROKEN)
        status, verdict = diverge('--passes', folder)
        self.assertEqual((status, verdict['status'], verdict['to_compare'], verdict['compared']), (3, 'unsupported', 1, 0))
        self.assertIn('0 of 1 stage could be compared', verdict['error'])
        done = subprocess.run([HLOSCOPE, 'diverge', '--passes', folder], capture_output=True, text=True, check=False)
        self.assertIn('stepped over module_0000.jit_f.cpu_after_optimizations.txt', done.stdout)
        os.remove(self.path('module_0000.jit_f.cpu_after_optimizations.txt'))
        status, verdict = diverge('--passes', folder)
        self.assertEqual((status, verdict['status']), (3, 'unsupported'))

    def test_some_compared(self):
        self.path('module_0000.jit_f.0001.a.after_b.before_c.txt', BROKEN)
        folder = self.dump(before_optimizations=PLAIN.format(op='negate'), cpu_after_optimizations=PLAIN.format(op='negate'))
        status, verdict = diverge('--passes', folder)
        self.assertEqual((status, verdict['status'], verdict['to_compare'], verdict['compared']), (0, 'equal', 2, 1))
        self.assertIn('only 1 of 2 stages could be compared, the passes around the others together', verdict['verdict'])
        os.remove(self.path('module_0000.jit_f.0001.a.after_b.before_c.txt'))
        status, verdict = diverge('--passes', folder)
        self.assertEqual((status, verdict['compared'], verdict['to_compare']), (0, 1, 1))
        self.assertNotIn('only', verdict['verdict'])

    def test_the_last_stages_are_not_compared(self):
        # What the passes behind the last stage that is compared did is not known: neither where they cannot run nor be read.
        for last, why in ((BROKEN, 'unknown'), ('HloModule jit_f\n\nENTRY e {\n  x = f32[4] para', 'para')):
            folder = self.dump(before_optimizations=PLAIN.format(op='negate'), cpu_after_optimizations=last)
            self.path('module_0000.jit_f.0001.a.after_b.before_c.txt', PLAIN.format(op='negate'))
            status, verdict = diverge('--passes', folder)
            self.assertEqual((status, verdict['status'], verdict['to_compare'], verdict['compared']), (3, 'unsupported', 2, 1), verdict)
            self.assertIn('the last of 2 stages could not be compared: module_0000.jit_f.cpu_after_optimizations.txt', verdict['error'])
            self.assertIn('no pass that could be compared changed the numbers', verdict['verdict'])
            self.assertIn(why, verdict['error'])
            # A difference before them is one all the same.
            self.path('module_0000.jit_f.0001.a.after_b.before_c.txt', PLAIN.format(op='cosine'))
            status, verdict = diverge('--passes', folder)
            self.assertEqual((status, verdict['status'], verdict['pass']), (1, 'differs', 'b'))
            self.assertIn('the last stage could not be compared', verdict['verdict'])

    def test_a_pass_behind_a_stage_that_is_not_compared(self):
        for middle in (BROKEN, 'HloModule jit_f\n\nENTRY e {\n  x = f32[4] para'):
            self.path('module_0000.jit_f.0001.a.after_b.before_c.txt', middle)
            self.path('module_0000.jit_f.0002.a.after_c.before_d.txt', PLAIN.format(op='cosine'))
            folder = self.dump(before_optimizations=PLAIN.format(op='negate'))
            status, verdict = diverge('--passes', folder)
            self.assertEqual((status, verdict['pass']), (1, 'c'), verdict)
            self.assertIn('it may as well have been b, whose stage could not be compared', verdict['verdict'])

    def test_a_result_without_a_value_is_no_agreement(self):
        # One of two results needs a constant whose elements the text leaves out.
        def two(op, table):
            return (f'HloModule jit_f\n\nENTRY e {{\n  x = f32[12] parameter(0)\n  c = f32[12] constant({table})\n  r = f32[12] {op}(x, c)\n'
                    '  n = f32[12] negate(x)\n  ROOT t = (f32[12], f32[12]) tuple(r, n)\n}\n')
        known, elided = '{' + ', '.join(str(k + 2) for k in range(12)) + '}', '{...}'
        a, b = self.path('a.hlo', two('add', known)), self.path('b.hlo', two('multiply', elided))
        for files in ((a, b), (b, a), (b, b)):
            status, verdict = diverge(*files)
            self.assertEqual((status, verdict['status'], verdict['cause']), (2, 'error', 'elided_constants'), files)
            self.assertIn(f'{b}: out0 has no value: c: the value of constant f32[12] is elided', verdict['error'])
            self.assertNotIn('equal', verdict['verdict'])
        # What differs in the others is said all the same.
        status, verdict = diverge(a, self.path('c.hlo', two('multiply', elided).replace('negate', 'cosine')))
        self.assertEqual((status, verdict['status']), (1, 'differs'))
        self.assertIn('out0 has no value', ' '.join(verdict['warnings']))
        # Of stages: the one that lacks a result is stepped over, and all of them are no agreement.
        folder = self.dump(before_optimizations=two('add', known), cpu_after_optimizations=two('add', known))
        self.path('module_0000.jit_f.0001.a.after_b.before_c.txt', two('multiply', elided))
        status, verdict = diverge('--passes', folder)
        self.assertEqual((status, verdict['compared'], verdict['to_compare']), (0, 1, 2))
        self.assertIn('only 1 of 2 stages could be compared', verdict['verdict'])
        self.assertIn('out0 has no value', verdict['stepped_over'][0])
        folder = self.dump(before_optimizations=two('add', elided), cpu_after_optimizations=two('multiply', elided))
        status, verdict = diverge('--passes', folder)
        self.assertEqual((status, verdict['status']), (2, 'error'))
        self.assertIn('out0 has no value', verdict['error'])

    def test_constants_made_up_on_one_side_are_no_difference(self):
        text = 'HloModule m\n\nENTRY e {{\n  x = f32[2] parameter(0)\n  c = f32[2] constant({})\n  ROOT r = f32[2] add(x, c)\n}}\n'
        a, b = self.path('a.hlo', text.format('{1, 2}')), self.path('b.hlo', text.format('{...}'))
        for files in ((a, b), (b, a)):
            status, verdict = diverge(*files, '--fill-elided', '1')
            self.assertEqual((status, verdict['status']), (2, 'error'))
            self.assertIn(f'{b}: the values of 1 constant are elided, which --fill-elided generates, and {a} has its own', verdict['error'])
        status, verdict = diverge(b, b, '--fill-elided', '1')
        self.assertEqual((status, verdict['status']), (0, 'equal'))

    def test_partitioned_stages_are_put_together(self):
        for op, status in (('subtract', 0), ('add', 1)):
            folder = self.dump(before_optimizations=BEFORE.replace('OP', 'subtract'), cpu_after_optimizations=AFTER.replace('OP', op))
            files = [self.path(f'module_0000.jit_f.{name}.txt') for name in ('before_optimizations', 'cpu_after_optimizations')]
            for arguments in (files, files[::-1], ['--passes', folder]):
                got, verdict = diverge(*arguments)
                self.assertEqual((got, verdict['errors']), (status, []), arguments)
            self.assertNotIn('the shape is', verdict['verdict'])

    def test_stages_within_the_partitioner(self):
        # Shardings are left on what is partitioned, and nothing needs another device.
        whole = '''HloModule jit_f, num_partitions=4

ENTRY main {
  x = f32[8,6] parameter(0), sharding={devices=[4,1]<=[4]}
  n = f32[8,6] negate(x), sharding={devices=[4,1]<=[4]}
  ROOT c = f32[8,6] cosine(n), sharding={devices=[4,1]<=[4]}
}
'''
        within = whole.replace('8,6', '2,6').replace('main', 'main_spmd')
        after = within.replace('c = f32[2,6] cosine(n), sharding={devices=[4,1]<=[4]}', 'c = f32[2,6] cosine(n)').replace(
            'n = f32[2,6] negate(x), sharding={devices=[4,1]<=[4]}', 'n = f32[2,6] negate(x)')
        self.path('module_0000.jit_f.0000.spmd-cleanup.after_pipeline-start.before_dce.txt', within)
        self.path('module_0000.jit_f.0001.spmd-partitioner.after_spmd-partitioning.before_cse.txt', after)
        folder = self.dump(before_optimizations=whole, cpu_after_optimizations=after.replace('jit_f,', 'jit_f, is_scheduled=true,'))
        status, verdict = diverge('--passes', folder)
        self.assertEqual((status, verdict['status'], verdict['stepped_over']), (0, 'equal', []))
        self.assertEqual((verdict['to_compare'], verdict['compared']), (3, 3))

    def test_unknown_sharding_is_unsupported(self):
        # The result is no longer that of the region, so that nothing says how it is sharded.
        before = BEFORE.replace('OP', 'subtract').replace('ROOT t = (f32[12,5], f32[]) tuple(g0, g1)',
                                                          'g2 = f32[12,5] negate(g0)\n  ROOT t = (f32[12,5], f32[]) tuple(g2, g1)')
        self.dump(before_optimizations=before, cpu_after_optimizations=AFTER.replace('OP', 'subtract'))
        status, verdict = diverge(*[self.path(f'module_0000.jit_f.{name}.txt') for name in ('before_optimizations', 'cpu_after_optimizations')])
        self.assertEqual((status, verdict['status']), (3, 'unsupported'))
        self.assertIn('the sharding of its results is unknown', verdict['error'])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
