#!/usr/bin/env python3
"""The modes of `run`, and what they leave behind: repeating, finding NaNs, limits, cancelling.

  run_modes_test.py HLOSCOPE"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

HLOSCOPE = sys.argv[1]

ENDLESS = '''HloModule endless
cond {
  s = f32[1000] parameter(0)
  ROOT c = pred[] constant(true)
}
body {
  s = f32[1000] parameter(0)
  ROOT t = f32[1000] add(s, s)
}
ENTRY e {
  x = f32[1000] parameter(0)
  ROOT w = f32[1000] while(x), condition=cond, body=body
}
'''
RANDOM = '''HloModule random
ENTRY e {
  zero = f32[] constant(0)
  one = f32[] constant(1)
  ROOT r = f32[100] rng(zero, one), distribution=rng_uniform
}
'''
SQUARE = '''HloModule square
ENTRY e {
  x = f32[10] parameter(0)
  ROOT y = f32[10] multiply(x, x)
}
'''


class RunModes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def file(self, name, text):
        with open(self.path(name), 'w', encoding='utf-8') as f:
            f.write(text)
        return self.path(name)

    def run_json(self, *arguments, stdin=None, command='run'):
        p = subprocess.run([HLOSCOPE, command, '--json', *arguments], input=stdin, capture_output=True, timeout=100)
        return p.returncode, [json.loads(line) for line in p.stdout.decode().splitlines()], p.stderr.decode()

    def test_repeated_runs_agree_in_every_bit(self):
        for text in (SQUARE, RANDOM):
            status, (report,), _ = self.run_json('--repeat', '5', '--bits', self.file('m.hlo', text))
            self.assertEqual((status, report['status']), (0, 'equal'))
            self.assertEqual(report['repeat'], {'runs': 5, 'bits': True, 'differing_run': None})
            self.assertEqual(len(report['timing']['run_us']), 5)

    def test_iterations_have_inputs_of_their_own(self):
        module = self.file('m.hlo', SQUARE)
        outs = [self.path(f'{i}.npz') for i in range(3)]
        for seed, out in enumerate(outs):
            self.run_json('--seed', str(seed), '--outputs', out, module)
        # The results of seed 0 are those of iteration 0, and of no other seed.
        self.assertEqual(self.run_json('--iterations', '3', '--expect', outs[0], module)[0], 0)
        self.assertEqual(self.run_json('--seed', '1', '--expect', outs[0], '--abs_error_bound', '0', '--rel_error_bound', '0',
                                       module)[0], 1)
        status, (report,), _ = self.run_json('--iterations', '3', '--reference_platform', 'interpreter', module)
        self.assertEqual((status, report['status'], len(report['timing']['run_us'])), (0, 'equal', 3))
        self.assertEqual(len(report['reference_timing']['run_us']), 3)

    def test_different_seeds_make_iterations_differ(self):
        module = self.file('m.hlo', RANDOM)
        first, again, other = (self.path(n) for n in ('a.npz', 'b.npz', 'c.npz'))
        self.run_json('--outputs', first, module)
        self.run_json('--outputs', again, module)
        self.run_json('--different_random_seeds', '--outputs', other, module)
        self.assertEqual(self.run_json('--expect', again, module)[0], 0)
        self.assertEqual(self.run_json('--expect', other, module)[0], 1)

    def test_a_deadline_and_the_memory_limit_exit_with_4(self):
        module = self.file('m.hlo', ENDLESS)
        status, (report,), _ = self.run_json('--deadline', '0.3', module)
        self.assertEqual((status, report['status']), (4, 'died'))
        self.assertIn('deadline', report['error'])
        status, (report,), _ = self.run_json('--memory', '1K', module)
        self.assertEqual((status, report['status']), (4, 'died'))
        self.assertIn('memory limit of 1024 bytes', report['error'])
        for wrong in (['--memory', '1Q'], ['--memory', '0'], ['--memory', '99999999999T'], ['--deadline', '0'],
                      ['--iterations', '0'], ['--repeat', '0'], ['--threads', '-1']):
            self.assertEqual(self.run_json(*wrong, module)[0], 2, wrong)

    def test_an_interrupt_ends_the_run_with_4(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([HLOSCOPE, 'run', '--json', self.file('m.hlo', SQUARE), self.file('n.hlo', ENDLESS)],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            # The first module's line is out only when the second one is done: wait for the threads instead.
            while len(os.listdir(f'/proc/{process.pid}/task')) < 2:
                pass
            process.send_signal(number)
            out, err = process.communicate(timeout=100)
            self.assertEqual(process.returncode, 4, out)
            self.assertIn(b'stopping', err)

    def test_worst_status_wins_and_nothing_stops_the_others(self):
        wrong = self.file('wrong.npz', '')
        good, bad = self.file('m.hlo', SQUARE), self.file('bad.hlo', 'HloModule')
        status, reports, _ = self.run_json(good, bad, good)
        self.assertEqual((status, [r['status'] for r in reports]), (2, ['ran', 'error', 'ran']))
        self.assertEqual(self.run_json('--expect', wrong, good)[0], 2)
        for report in reports:
            self.assertIn('first_nonfinite', report)
            self.assertEqual(report['fallbacks'], [])

    def test_standard_input(self):
        status, (report,), _ = self.run_json('-', stdin=SQUARE.encode())
        self.assertEqual((status, report['module'], report['status']), (0, '-', 'ran'))

    def test_flags_of_compiling_platforms_are_taken_and_said_to_be_idle(self):
        options = self.file('options.txt', '')
        status, (report,), _ = self.run_json('--run_test_hlo_passes', '--debug_options_file', options, '--profile',
                                             self.path('p'), '--fallback', 'error', self.file('m.hlo', SQUARE))
        self.assertEqual((status, len(report['warnings'])), (0, 3))
        self.assertFalse(os.path.exists(self.path('p')))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
