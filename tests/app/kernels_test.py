#!/usr/bin/env python3
"""Kernels of XLA:GPU on the simulated GPU: `diverge`, `run --trace`, `extract`: kernels_test.py HLOSCOPE SAMPLES."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from command_tests import FolderTest, dump_without_launches

HLOSCOPE, SAMPLES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
STEM = 'module_0000.jit_attention_block'
SAMPLE = os.path.join(SAMPLES, 'attention_block_h100')
ON = ['--platform', 'xla-gpu-sim', '--as_dumped']


def run(*arguments):
    done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


class Kernels(FolderTest):
    def changed_dump(self, file, old, new):
        """A copy of the sample with one place of its PTX changed."""
        folder = os.path.join(self.folder, 'dump')
        shutil.copytree(SAMPLE, folder)
        path = os.path.join(folder, f'{STEM}.{file}.ptx')
        with open(path, encoding='utf-8') as ptx:
            text = ptx.read()
        self.assertIn(old, text)
        with open(path, 'w', encoding='utf-8') as ptx:
            ptx.write(text.replace(old, new, 1))
        line = text[:text.index(old)].count('\n') + 1
        return os.path.join(folder, f'{STEM}.before_optimizations.txt'), line

    def diverge(self, module, *more):
        status, out, error = run('diverge', module, *ON, '--reference_platform', 'interpreter', '--json', *more)
        found, = objects(out)
        return status, found, error

    def test_kernels_that_agree_are_counted(self):
        status, found, _ = self.diverge(os.path.join(SAMPLE, f'{STEM}.before_optimizations.txt'))
        self.assertEqual((status, found['status']), (0, 'equal'))
        kernels = found['kernels']
        self.assertEqual(kernels['same_bits'] + kernels['within_bounds'], 14)
        self.assertEqual(kernels['differing'], 0)
        self.assertGreater(kernels['same_bits'], 0)

    def test_passes_are_those_of_xla_gpu(self):
        module = os.path.join(SAMPLE, f'{STEM}.before_optimizations.txt')
        status, out, error = run('diverge', module, '--passes', '--platform', 'xla-gpu-sim')
        self.assertNotEqual(status, 0, out)  # no device is named, which XLA:CPU would not need
        self.assertRegex(error, 'xla-gpu (needs --target|plugin)|no .*xla-gpu')

    def test_a_launch_size_that_no_file_has_is_unsupported(self):
        on = ['--platform', 'xla-gpu-sim', '--reference_platform', 'interpreter', '--json']
        module = dump_without_launches(SAMPLES, self.folder)
        status, out, error = run('run', module, *on)
        self.assertEqual((status, objects(out)[0]['status']), (3, 'unsupported'), out + error)
        self.assertIn('the launch size of kernel triton_softmax_2 is in no file of the dump', out)
        self.assertIn('.ll', out)
        module = dump_without_launches(SAMPLES, self.folder, blocks=64)
        status, out, error = run('run', module, *on)
        self.assertEqual((status, objects(out)[0]['status']), (0, 'equal'), out + error)
        self.assertEqual(objects(out)[0]['executed']['kernels'], 1)

    def test_copies_are_no_library_calls(self):
        with open(os.path.join(os.path.dirname(__file__), '../fuzz/seeds/device_loop.dump')) as file:
            parts = re.split(r'^==== (.*)\n', file.read(), flags=re.MULTILINE)
        for name, text in zip(parts[1::2], parts[2::2]):
            self.path(name, text)
        status, out, error = run('run', self.path('module_0000.a.sm_9.0a_gpu_after_optimizations.txt'), '--platform', 'xla-gpu-sim', '--json')
        self.assertEqual(status, 0, error)
        executed = objects(out)[0]['executed']
        self.assertEqual([executed[key] for key in ('kernels', 'library_calls', 'copies', 'collectives')], [9, 0, 3, 0])

    def test_a_changed_line_is_found(self):
        module, line = self.changed_dump(1, 'add.rn.f32', 'sub.rn.f32')
        status, found, _ = self.diverge(module)
        self.assertEqual((status, found['status']), (1, 'differs'))
        # A plugin may compile it anew, which is right: then XLA is at fault, as far as one can tell.
        self.assertIn(found['cause'], ('unexplained', 'miscompile'))
        kernels = found['kernels']
        self.assertTrue(kernels['twin_agrees'], kernels['twin_difference'])
        self.assertEqual(found['kernel'], kernels['kernel'])
        steps = kernels['slice']
        self.assertIn(line, [step['line'] for step in steps])
        self.assertEqual(steps[-1]['line'], found['ptx_line'])
        self.assertTrue(steps[-1]['text'].lstrip('@%p!0123456789 ').startswith('st.global'))
        self.assertTrue(any(step['instruction'] for step in steps))
        closed = [attempt for attempt in found['tries'] if attempt['closes']]
        self.assertEqual(bool(closed), found['cause'] == 'miscompile')
        text = run('diverge', module, *ON, '--reference_platform', 'interpreter')[1]
        self.assertIn('stored by block', text)

    def test_a_thread_is_traced(self):
        module = os.path.join(SAMPLE, f'{STEM}.before_optimizations.txt')
        status, out, error = run('run', module, *ON, '--trace', 'fusion_32:3:17', '--json')
        self.assertEqual((status, error), (0, ''))
        *steps, report = objects(out)
        self.assertEqual(report['status'], 'ran')
        self.assertGreater(len(steps), 10)
        self.assertEqual([step['step'] for step in steps], list(range(len(steps))))
        self.assertEqual(steps[0]['block'], [3, 0, 0])
        self.assertEqual(steps[0]['thread'], [17, 0, 0])
        thread, = [o for s in steps for o in s['operands'] if o['name'] == '%tid.x'][:1]
        self.assertEqual(int(thread['bits'], 16), 17)
        reads = [o for s in steps for o in s['operands'] if not o['written'] and 'from_step' in o]
        self.assertTrue(reads)
        self.assertTrue(any(a['space'] == 'argument' for s in steps for a in s['accesses']))
        text = run('run', module, *ON, '--trace', 'fusion.32:3:17')[1]
        self.assertIn('%tid.x = 17', text)

    def test_what_cannot_be_traced_names_what_there_is(self):
        module = os.path.join(SAMPLE, f'{STEM}.before_optimizations.txt')
        for spec, words in (('nothing:0:0', 'fusion_32'), ('fusion_32:96:0', '96×1×1'),
                            ('fusion_32:0:32', '32×1×1'), ('fusion_32', 'KERNEL:BLOCK:THREAD'),
                            ('fusion_32:a:0', 'KERNEL:BLOCK:THREAD'), ('fusion_32:0:0:1', 'execution')):
            status, _, error = run('run', module, *ON, '--trace', spec)
            self.assertEqual(status, 2, spec)
            self.assertIn(words, error, spec)
        status, _, error = run('run', module, '--trace', 'fusion_32:0:0')
        self.assertEqual(status, 2)
        self.assertIn('xla-gpu-sim', error)

    def test_one_kernel_replays_by_itself(self):
        module, _ = self.changed_dump(1, 'add.rn.f32', 'sub.rn.f32')
        found = self.diverge(module)[1]
        for name, worst in ((found['kernel'], 1), ('triton_softmax_5', 0)):
            folder = self.path(f'one_{name}')
            status, out, error = run('extract', module, name, '-o', folder, '--platform', 'xla-gpu-sim', '--json')
            self.assertEqual(status, 0, error)
            made, = objects(out)
            replay = ['run', made['output'], *ON, '--inputs', made['inputs'], '--expect', made['expected']]
            status, out, error = run(*replay, '--json')
            self.assertEqual(status, worst, error)
            report, = objects(out)
            self.assertEqual(report['status'], 'differs' if worst else 'equal')
            self.assertEqual(report['executed']['kernels'], 1)
        status, _, error = run('extract', module, name, '-o', folder, '--platform', 'xla-gpu-sim')
        self.assertEqual(status, 2)
        self.assertIn('has files already', error)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
