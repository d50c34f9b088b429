#!/usr/bin/env python3
"""`hloscope hunt` end to end: hunt_test.py HLOSCOPE SAMPLES. What needs XLA's CPU plugin is skipped where there is none."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from command_tests import plugin_of, ready_platforms

HLOSCOPE = os.path.abspath(sys.argv[1])
SAMPLES = os.path.abspath(sys.argv[2])
FAULT_PLUGIN = os.path.abspath(sys.argv[3])
HAS_XLA = 'xla-cpu' in ready_platforms(HLOSCOPE)
PLUGIN = plugin_of(HLOSCOPE, 'xla-cpu') or ''

SQUARE = '''HloModule square
ENTRY e {
  x = s32[8] parameter(0)
  y = s32[8] parameter(1)
  a = s32[8] add(x, y)
  b = s32[8] multiply(a, x)
  c = s32[8] constant({1, 2, 3, 4, 5, 6, 7, 8})
  d = s32[8] maximum(b, c)
  ROOT r = s32[8] reverse(d), dimensions={0}
}
'''

# XLA dies in the pass reshape-mover (tests/conformance/xla_faults_in_modules.md).
CLAMP = '''HloModule clamp_of_reshape
ENTRY e {
  x = f32[6] parameter(0)
  y = f32[6] negate(x)
  g = f32[2,3] reshape(y)
  low = f32[] constant(0)
  high = f32[] constant(1)
  ROOT r = f32[2,3] clamp(low, g, high)
}
'''


def hunt(*arguments, environment=None):
    """Status, findings and counts."""
    ran = subprocess.run([HLOSCOPE, 'hunt', *arguments, '--json'], capture_output=True, text=True, timeout=300,
                         env={**os.environ, **(environment or {})})
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert lines, ran.stderr
    return ran.returncode, lines[:-1], lines[-1]


def itself(folder, *more, environment=None):
    return hunt('--platform', 'interpreter', '--reference_platform', 'interpreter', '-o', folder, *more,
                environment=environment)


class HuntTest(unittest.TestCase):
    WITH_XLA = ['--programs', '40', '--seed', '11']
    whole = None

    def whole_hunt(self):
        """A short hunt on XLA:CPU that nobody disturbed."""
        if HuntTest.whole is None:
            HuntTest.whole = hunt('-o', self.folder + '-whole', *self.WITH_XLA)
        return HuntTest.whole

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = os.path.join(self.scratch.name, 'findings')

    def test_a_platform_agrees_with_itself(self):
        status, findings, counts = itself(self.folder, '--programs', '200', '--seed', '3')
        self.assertEqual((status, findings), (0, []))
        self.assertEqual((counts['programs'], counts['differing'], counts['faults'], counts['known']), (200, 0, 0, 0))

    def test_checks_of_a_simulated_gpu(self):
        status, findings, counts = hunt('--platform', 'gpu-sim', '-o', self.folder, '--programs', '40', '--check', 'race,uninitialised')
        self.assertEqual((status, findings, counts['programs']), (0, [], 40))
        ran = subprocess.run([HLOSCOPE, 'hunt', '--platform', 'cpu', '-o', self.folder, '--check', 'race'], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 2)
        self.assertIn('cpu does not simulate a GPU', ran.stderr)
        # What XLA's kernels are compiled for has to be said: no program is a fault for the lack of it.
        ran = subprocess.run([HLOSCOPE, 'hunt', '--platform', 'xla-gpu-sim', '-o', self.folder, '--programs', '2'], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 2)
        self.assertIn('for example --target h100', ran.stderr)

    def test_no_deadline_where_the_reference_has_none(self):
        module = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'endless.hlo')
        status, findings, counts = hunt('--platform', 'cpu', module, '-o', self.folder, '--programs', '4', '--deadline', '0.3')
        self.assertEqual((status, findings), (0, []))
        reasons = [reason for reason in counts['reasons'] if 'that interpreter exceeds too (deadline)' in reason]
        self.assertEqual(len(reasons), 1, counts)

    def test_what_both_refuse_is_no_failure(self):
        module = os.path.join(self.scratch.name, 'elided.hlo')
        with open(module, 'w') as file:
            file.write('HloModule m\nENTRY e {\n  p = f32[] parameter(0)\n  k = f32[4] constant({...})\n  ROOT t = (f32[], f32[4]) tuple(p, k)\n}\n')
        status, findings, counts = hunt('--platform', 'cpu', module, '-o', self.folder, '--programs', '6')
        self.assertEqual((status, findings, counts['unstable']), (0, [], []), counts)
        self.assertGreater(counts['reasons'].get('modules that interpreter refuses in the same words', 0), 0, counts)

    def test_mutants(self):
        module = os.path.join(self.scratch.name, 'square.hlo')
        with open(module, 'w') as file:
            file.write(SQUARE)
        status, _, counts = itself(self.folder, module, '--programs', '200')
        self.assertEqual(status, 0)
        unsound = counts['reasons'].get('unsound mutants', 0)
        self.assertEqual(counts['programs'] + unsound, 200)
        self.assertLess(unsound, 60)
        again = subprocess.run([HLOSCOPE, 'hunt', '--platform', 'interpreter', '--reference_platform', 'interpreter', module, '-o', self.folder,
                                '--programs', '200'], capture_output=True, text=True, timeout=300)
        self.assertIn(f' {unsound} × unsound mutants\n', again.stdout)  # which reads right for 1, too

    def test_ranks_share_the_programs(self):
        for rank, environment in enumerate([{'OMPI_COMM_WORLD_RANK': '0', 'OMPI_COMM_WORLD_SIZE': '3'},
                                            {'SLURM_PROCID': '1', 'SLURM_NTASKS': '3'},
                                            {'PMI_RANK': '2', 'PMI_SIZE': '3'}]):
            counts = itself(self.folder, '--programs', '50', environment=environment)[2]
            self.assertEqual(counts['programs'], len(range(rank, 50, 3)))
        left = sorted(name for name in os.listdir(self.folder) if not name.startswith('.lock-'))
        self.assertEqual(left, [f'progress-{rank}.json' for rank in range(3)])

    def test_goes_on(self):
        self.assertEqual(itself(self.folder, '--programs', '40')[2]['programs'], 40)
        self.assertEqual(itself(self.folder, '--programs', '90')[2]['programs'], 90)
        status, _, counts = itself(self.folder, '--programs', '90', '--seed', '1')
        self.assertEqual(status, 2)
        self.assertIn('holds the findings of another run', counts['error'])

    def test_refuses(self):
        for arguments in (['--rank', '2', '--ranks', '2'], ['--minutes', '0'], ['--programs', '-1'],
                          ['--platform', 'abacus']):
            ran = subprocess.run([HLOSCOPE, 'hunt', '-o', self.folder, *arguments], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 2, arguments)

    def test_what_did_not_repeat_is_not_explained(self):
        """A program of four devices: the variance of large numbers overflows on the last one alone."""
        status, findings, counts = hunt('--platform', 'cpu', '-o', self.folder, '--seed', '45', '--programs', '5000', '--rank', '4500',
                                        '--ranks', '5000')
        self.assertEqual((status, findings, counts['differing'], counts['explained']), (0, [], 1, 0))
        self.assertEqual(counts['reasons'], {'differences of modules of several devices that did not repeat': 1})

    @unittest.skipUnless(HAS_XLA, 'no XLA CPU plugin')
    def test_finds_known_faults_of_xla(self):
        folder = self.folder + '-whole'
        status, findings, counts = HuntTest.whole = hunt('-o', folder, *self.WITH_XLA)
        self.assertEqual(status, 1)
        self.assertEqual(counts['faults'], len(findings))
        known = {finding['known'] for finding in findings} - {None}
        self.assertEqual(counts['known'], sum(finding['known'] is not None for finding in findings))
        self.assertIn('A clamp between scalars does not compile', known)
        for finding in findings:
            self.assertEqual(finding['wrong'], 'xla-cpu', finding)
            for name in ('bundle', 'module'):
                self.assertTrue(os.path.exists(os.path.join(folder, finding[name])), finding)

    @unittest.skipUnless(HAS_XLA, 'no XLA CPU plugin')
    def test_finds_the_same_after_kills(self):
        file = os.path.join(self.folder, 'findings-0.jsonl')
        for wanted in (1, 2, 3):
            self.kill_behind(file, wanted)
            with open(file, 'a') as findings:
                findings.write('{"fault":"half a li')
        after = hunt('-o', self.folder, *self.WITH_XLA)
        whole = self.whole_hunt()
        self.assertEqual([f['fault'] for f in after[1]], [f['fault'] for f in whole[1]])
        for count in ('programs', 'differing', 'faults', 'known', 'explained'):
            self.assertEqual(after[2][count], whole[2][count], count)
        self.assertEqual(*([program['origin'] for program in counts['unstable']] for counts in (after[2], whole[2])))

    def kill_behind(self, file, wanted):
        """Kills a hunt once it has so many findings."""
        killed = subprocess.Popen([HLOSCOPE, 'hunt', '-o', self.folder, *self.WITH_XLA, '--json'],
                                  stdout=subprocess.DEVNULL)
        for _ in range(1200):
            if killed.poll() is not None:
                break
            if os.path.exists(file):
                with open(file) as findings:
                    if findings.read().count('"signature"') >= wanted:
                        break
            time.sleep(0.1)
        killed.send_signal(signal.SIGKILL)
        killed.wait()

    @unittest.skipUnless(HAS_XLA, 'no XLA CPU plugin')
    def test_deaths_are_blamed_on_a_pass(self):
        module = os.path.join(self.scratch.name, 'clamp.hlo')
        with open(module, 'w') as file:
            file.write(CLAMP)
        _, findings, _ = hunt(module, '-o', self.folder, '--programs', '6')
        died = [f for f in findings if f['signature'].startswith('signal')]
        self.assertEqual([f['pass'] for f in died], ['reshape-mover'], findings)

    def with_fault(self, *more, turns=None):
        """A hunt where XLA's plugin takes each maximum for a minimum; with turns in every second process only."""
        module = os.path.join(self.scratch.name, 'square.hlo')
        with open(module, 'w') as file:
            file.write(SQUARE)
        environment = {'HLOSCOPE_FAULT_PLUGIN': PLUGIN, 'HLOSCOPE_FAULT': 'maximum=minimum'}
        if turns:
            environment['HLOSCOPE_FAULT_TURNS'] = turns
        return hunt('--platform', 'pjrt:' + FAULT_PLUGIN, module, '--jobs', '1', '-o', self.folder, *more,
                    environment=environment)

    @unittest.skipUnless(HAS_XLA, 'no XLA CPU plugin')
    def test_what_comes_each_time_is_a_finding(self):
        _, findings, counts = self.with_fault('--programs', '8')
        self.assertTrue([f for f in findings if 'maximum' in f['signature']])
        self.assertEqual(counts['unstable'], [])

    @unittest.skipUnless(HAS_XLA, 'no XLA CPU plugin')
    def test_what_comes_now_and_then_is_none(self):
        _, findings, counts = self.with_fault('--programs', '8', turns=os.path.join(self.scratch.name, 'turns'))
        self.assertEqual([f for f in findings if 'maximum' in f['signature']], [])
        self.assertTrue(counts['unstable'])
        for program in counts['unstable']:
            self.assertGreater(len(set(program['runs'])), 1)
            with open(os.path.join(self.folder, program['module'])) as module:
                self.assertIn('maximum(', module.read())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
