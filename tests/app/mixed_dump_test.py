#!/usr/bin/env python3
"""Two compilations that wrote into one folder under the same id and name: mixed_dump_test.py HLOSCOPE."""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])
PREFIX = 'module_0002.jit_f.'
TEXT = 'HloModule jit_f\n\nENTRY main {{\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] {op}(x)\n}}\n'
# What each compilation writes, in this order; steps 0001 and 0002 differ in their names.
FIRST = [('before_optimizations', 'negate'), ('0000.simplification.after_pipeline-start.before_algsimp', 'negate'),
         ('0001.expansion.after_comparison-expander.before_cholesky_expander', 'negate'),
         ('0002.simplification.after_dce.before_cse', 'negate'), ('0003.fusion.after_fusion.before_dce', 'negate'),
         ('cpu_after_optimizations', 'negate')]
SECOND = [('before_optimizations', 'cosine'), ('0000.simplification.after_pipeline-start.before_algsimp', 'cosine'),
          ('0001.simplification.after_algsimp.before_dce', 'cosine'), ('0002.fusion.after_fusion.before_dce', 'cosine'),
          ('cpu_after_optimizations', 'cosine')]


def record(*arguments):
    done = subprocess.run([HLOSCOPE, *arguments, '--json'], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.count('\n') == 1, (arguments, done.returncode, done.stdout, done.stderr)
    return done.returncode, json.loads(done.stdout)


class Mixed(FolderTest):
    def write(self, name, compilations, times=True):
        folder = self.path(name)
        os.makedirs(folder, exist_ok=True)
        now = 1_700_000_000
        for stages in compilations:
            now += 100
            for stage, op in stages:
                now += 1
                path = os.path.join(folder, f'{PREFIX}{stage}.txt')
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(TEXT.format(op=op))
                os.utime(path, (now, now if times else 1_700_000_000))
        return folder

    def module(self, folder):
        _, found = record('info', folder)
        self.assertEqual(len(found['modules']), 1)
        return found, found['modules'][0]

    def warned(self, texts, part):
        self.assertEqual(len([text for text in texts if 'module_0002.jit_f: ' in text and part in text]), 1, texts)

    def test_one_compilation(self):
        found, module = self.module(self.write('d', [SECOND]))
        self.assertEqual((module['mixed'], module['earlier_files'], found['warnings']), (False, [], []))
        # Dumped again into the folder: all is overwritten.
        found, module = self.module(self.write('again', [SECOND, SECOND]))
        self.assertEqual((module['mixed'], module['earlier_files'], found['warnings']), (False, [], []))

    def test_the_last_compilation_is_the_module(self):
        folder = self.write('d', [FIRST, SECOND])
        # Code of the first compilation, whose kernel the second does not have.
        code = os.path.join(folder, PREFIX + 'old_kernel.ir-with-opt.ll')
        with open(code, 'w', encoding='utf-8') as file:
            file.write('define ptr @old_kernel(ptr %0) {\n  ret ptr null\n}\n')
        os.utime(code, (1_700_000_107, 1_700_000_107))
        found, module = self.module(folder)
        self.assertEqual([stage['name'] for stage in module['stages']], [name for name, _ in SECOND])
        self.assertEqual(module['kernels'], [])
        self.assertEqual((module['mixed'], len(module['earlier_files'])), (False, 4))
        self.warned(found['warnings'], 'step 0001 is both')
        status, verdict = record('diverge', '--passes', folder)
        self.assertEqual((status, verdict['status']), (0, 'equal'))
        self.warned(verdict['warnings'], 'ignored')
        status, compared = record('compare', folder, self.write('clean', [SECOND]))
        self.assertEqual((status, compared['status']), (0, 'equal'))
        self.warned(compared['notes'], 'ignored')

    def test_what_cannot_be_separated_blames_no_pass(self):
        folder = self.write('d', [FIRST, SECOND], times=False)
        found, module = self.module(folder)
        self.assertEqual((module['mixed'], module['earlier_files']), (True, []))
        self.warned(found['warnings'], 'which stages are of which compilation is unknown')
        status, verdict = record('diverge', os.path.join(folder, PREFIX + 'before_optimizations.txt'), '--passes', folder)
        self.assertEqual((status, verdict['status'], verdict['pass']), (3, 'unsupported', None))
        self.assertIn('mixed', verdict['error'])
        _, compared = record('compare', folder, folder)
        self.assertEqual(compared['status'], 'equal')
        self.assertEqual(len(compared['notes']), 2)
        text = subprocess.run([HLOSCOPE, 'info', folder, '--module', 'jit_f', '--passes'], capture_output=True, text=True, check=False)
        self.assertIn('which stages are of which compilation is unknown', text.stdout + text.stderr)

    def test_times_alone(self):
        # Files copied in the order of their names: all steps are older than the input.
        folder = self.write('copied', [sorted(SECOND)])
        self.assertEqual(self.module(folder)[1]['earlier_files'], [])
        # Steps after the last of the second compilation can only be older by being of the first.
        more = SECOND[:-1] + [('0003.simplification.after_dce.before_cse', 'negate')] + SECOND[-1:]
        found, module = self.module(self.write('tail', [more, SECOND]))
        self.assertEqual([stage['name'] for stage in module['stages']], [name for name, _ in SECOND])
        self.warned(found['warnings'], 'older than the module they begin with')

    def test_two_results(self):
        gpu = SECOND[:-1] + [('sm_9.0_gpu_after_optimizations', 'cosine')]
        found, module = self.module(self.write('d', [SECOND, gpu], times=False))
        self.assertTrue(module['mixed'])
        self.warned(found['warnings'], 'cpu_after_optimizations and sm_9.0_gpu_after_optimizations')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
