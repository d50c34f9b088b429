#!/usr/bin/env python3
"""Profiles that runs make: what is in them, whether times add up, and that results do not change.

  recording_test.py HLOSCOPE SAMPLES"""
import json
import os
import subprocess
import sys
import unittest
import zipfile

from command_tests import FolderTest

HLOSCOPE, SAMPLES = sys.argv[1], sys.argv[2]
TURNS = 5
LOOP = '''HloModule loop
fused {
  p = f32[64] parameter(0)
  t = f32[64] tanh(p)
  ROOT inside = f32[64] add(t, p)
}
body {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  step = f32[64] fusion(x), kind=kLoop, calls=fused
  ROOT r = (s32[], f32[64]) tuple(next, step)
}
condition {
  c = (s32[], f32[64]) parameter(0)
  n = s32[] get-tuple-element(c), index=0
  limit = s32[] constant(TURNS)
  ROOT less = pred[] compare(n, limit), direction=LT
}
ENTRY e {
  a = f32[64] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[64]) tuple(zero, a)
  loop = (s32[], f32[64]) while(start), condition=condition, body=body
  last = f32[64] get-tuple-element(loop), index=1
  ROOT out = f32[64] multiply(last, last)
}
'''
DEVICES = '''HloModule devices, replica_count=2
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}
ENTRY e {
  a = f32[8] parameter(0)
  b = f32[8] negate(a)
  ROOT all = f32[8] all-reduce(b), replica_groups={{0,1}}, to_apply=add
}
'''


def run(*arguments):
    # Which instructions there are to record does not depend on a compiler.
    if arguments[0] == 'run' and '--platform' not in arguments:
        arguments = (*arguments, '--platform', 'interpreter')
    done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


class Recording(FolderTest):
    def module(self, text, turns=TURNS):
        return self.path('m.hlo', text.replace('TURNS', str(turns)))

    def record(self, text, *options, turns=TURNS, out='p.hloprof'):
        """What `profile` says of the file that a run wrote."""
        out = os.path.join(self.folder, out)
        status, _, err = run('run', self.module(text, turns), '--profile', out, *options)
        self.assertEqual(status, 0, err)
        status, text, err = run('profile', out, '--json')
        self.assertEqual(status, 0, err)
        return json.loads(text)

    def events(self, text, **options):
        """(name, begin, end, arguments) of the steps in the lane of the device."""
        self.record(text, out='p.trace.json', **options)
        with open(os.path.join(self.folder, 'p.trace.json'), encoding='utf-8') as file:
            all_events = json.load(file)['traceEvents']
        return [(e['name'], e['ts'], e['ts'] + e['dur'], e.get('args', {})) for e in all_events
                if e['ph'] == 'X' and 'hlo_op' in e.get('args', {})]

    def test_every_execution_is_counted(self):
        told = self.record(LOOP)
        counts = {entry['instruction']: entry['count'] for entry in told['instructions']}
        self.assertEqual(counts['loop'], 1)
        self.assertEqual(counts['tanh' if 'tanh' in counts else 't'], TURNS)
        self.assertEqual(counts['step'], TURNS)
        self.assertEqual(counts['less'], TURNS + 1)
        self.assertEqual(told['attributed'], 1)
        self.assertEqual((told['losses'], told['status']), ([], 'ok'))
        self.assertEqual({counter['name'] for counter in told['counters']},
                         {'live bytes of values', 'resident memory', 'CPU time of all threads'})
        lanes = {(plane['name'], lane['name']) for plane in told['planes'] for lane in plane['lanes']}
        self.assertEqual(lanes, {('hloscope', 'command'), ('interpreter', 'worker'), ('interpreter', 'device 0')})

    def test_times_add_up_to_the_run(self):
        told = self.record(LOOP, turns=2000)
        in_the_run, = [name['total_ns'] for name in told['events_by_name'] if name['name'] == 'run of the module']
        of_instructions = sum(entry['self_ns'] for entry in told['instructions'])
        self.assertAlmostEqual(of_instructions + told['between_ns'], in_the_run, delta=1)

    def test_steps_lie_inside_what_calls_them(self):
        events = self.events(LOOP)
        loop, = [e for e in events if e[0] == 'loop']
        steps = [e for e in events if e[0] == 'step']
        self.assertEqual([e[3]['iteration'] for e in steps], list(range(TURNS)))
        self.assertEqual([e[3]['path'] for e in steps], [f'loop [{i}]' for i in range(TURNS)])
        self.assertTrue(all(e[3]['computation'] == 'body' and e[3]['bytes'] == 256 for e in steps))
        for step in steps:
            self.assertTrue(loop[1] <= step[1] and step[2] <= loop[2])
        for inner, step in zip([e for e in events if e[0] == 't'], steps):
            self.assertTrue(step[1] <= inner[1] and inner[2] <= step[2])
            self.assertEqual(inner[3]['path'], step[3]['path'] + ' > step')

    def test_results_are_the_same(self):
        module = self.module(LOOP)
        for name, options in (('plain.npz', ()), ('recorded.npz', ('--profile', self.folder + '/p.hloprof'))):
            self.assertEqual(run('run', module, '--outputs', os.path.join(self.folder, name), *options)[0], 0)
        with zipfile.ZipFile(self.folder + '/plain.npz') as a, zipfile.ZipFile(self.folder + '/recorded.npz') as b:
            self.assertEqual([a.read(n) for n in a.namelist()], [b.read(n) for n in b.namelist()])

    def test_what_is_too_much_is_summed(self):
        turns = 200_000
        told = self.record(LOOP, turns=turns)
        self.assertLess(told['events'], 2_200_000)
        counts = {entry['instruction']: entry['count'] for entry in told['instructions']}
        self.assertEqual((counts['next'], counts['less'], counts['t']), (turns, turns + 1, turns))
        self.assertTrue(any('summed' in warning for warning in told['warnings']), told['warnings'])
        in_the_run, = [name['total_ns'] for name in told['events_by_name'] if name['name'] == 'run of the module']
        of_instructions = sum(entry['self_ns'] for entry in told['instructions'])
        self.assertAlmostEqual((of_instructions + told['between_ns']) / in_the_run, 1, delta=0.001)

    def test_devices_have_lanes_and_wait(self):
        told = self.record(DEVICES)
        lanes = {lane['name'] for plane in told['planes'] for lane in plane['lanes'] if plane['name'] == 'interpreter'}
        self.assertEqual(lanes, {'worker', 'device 0', 'device 1'})
        self.assertIn('wait for other devices', {name['name'] for name in told['events_by_name']})
        self.assertEqual({e['count'] for e in told['instructions']}, {2})

    def test_a_reference_and_repetitions(self):
        told = self.record(LOOP, '--reference_platform', 'interpreter', '--repeat', '3')
        self.assertEqual([plane['name'] for plane in told['planes']],
                         ['interpreter', 'interpreter (reference)', 'hloscope'])
        self.assertEqual({entry['program']: entry['count'] for entry in told['instructions'] if entry['instruction'] == 'loop'},
                         {1: 3, 2: 1})

    def test_several_modules_in_a_folder(self):
        out = os.path.join(self.folder, 'profiles/')
        one, two = self.module(LOOP), self.path('two.hlo', DEVICES)
        self.assertEqual(run('run', one, two, '--profile', out)[0], 0)
        told = json.loads(run('profile', out, '--json')[1])
        self.assertEqual([module['name'] for module in told['modules']], ['loop', 'devices'])

    def test_a_name_of_no_format_is_refused_before_anything_runs(self):
        status, out, err = run('run', self.module(LOOP), '--profile', self.folder + '/p.txt')
        self.assertEqual((status, out), (2, ''))
        self.assertIn('unknown profile format', err)

    def test_profile_runs_a_module_and_measures_the_overhead(self):
        out = os.path.join(self.folder, 'p.hloprof')
        status, text, err = run('profile', self.module(LOOP), '--repeat', '3', '--json', '-o', out)
        self.assertEqual(status, 0, err)
        told = json.loads(text)
        self.assertEqual((len(told['run_us']), len(told['unrecorded_us'])), (3, 3))
        self.assertEqual((told['same_bits'], told['written'], told['platform']), (True, out, 'interpreter'))
        self.assertIsInstance(told['overhead'], float)
        step, = [entry for entry in told['instructions'] if entry['instruction'] == 'step']
        self.assertEqual(step['count'], 3 * TURNS)
        self.assertTrue(step['min_ns'] <= step['median_ns'] <= step['p90_ns'] <= step['max_ns'])
        self.assertEqual(json.loads(run('profile', out, '--json')[1])['events'], told['events'])
        status, text, _ = run('profile', self.module(LOOP))
        self.assertEqual(status, 0)
        self.assertIn('overhead of recording: ', text)

    def test_every_moment_of_a_run_is_of_an_instruction_or_of_a_step_with_a_name(self):
        for text, names in ((LOOP, {'set-up of the run', 'end of the run'}),
                            (DEVICES, {'set-up of the run', 'wait for other devices', 'end of the run'})):
            told = self.record(text)
            self.assertEqual({part['name'] for part in told['between']}, names)
            self.assertAlmostEqual(sum(part['self_ns'] for part in told['between']), told['between_ns'])
            run_ns, = [event['total_ns'] for event in told['events_by_name'] if event['name'] == 'run of the module']
            self.assertAlmostEqual(told['work_ns'] + told['between_ns'], run_ns)

    def test_one_run_measures_no_overhead(self):
        told = json.loads(run('profile', self.module(LOOP), '--json')[1])
        self.assertEqual((told['overhead'], told['same_bits']), (None, True))

    def test_of_a_plugin_it_is_said_what_was_timed(self):
        module = self.module(LOOP)
        if run('run', module, '--platform', 'xla-cpu')[0] != 0:
            self.skipTest('no CPU plugin')
        told = json.loads(run('profile', module, '--platform', 'xla-cpu', '--json')[1])
        self.assertEqual(told['instructions'], [])
        self.assertTrue(any('--isolate_instructions times each' in text for text in told['warnings']), told['warnings'])
        told = json.loads(run('profile', module, '--platform', 'xla-cpu', '--isolate_instructions', '--json')[1])
        self.assertEqual({entry['instruction']: entry['count'] for entry in told['instructions']}, {'loop': 1, 'out': 1})
        self.assertTrue(any('by itself' in text for text in told['warnings']), told['warnings'])
        # Where the run tells its instructions, what ran alone is not among them.
        told = json.loads(run('profile', module, '--isolate_instructions', '--json')[1])
        self.assertEqual([entry['count'] for entry in told['instructions'] if entry['instruction'] == 'out'], [1])
        self.assertEqual(told['warnings'], [])

    def test_what_is_compared_is_told_as_by_run(self):
        module, wrong = self.module(LOOP), self.path('wrong.npz')
        status, out, err = run('run', module, '--outputs', wrong, '--seed', '1', '--json')
        self.assertEqual(status, 0, err)
        for options, worst in ((['--expect', wrong], 1), (['--reference_platform', 'interpreter'], 0), (['--expect', wrong, '--seed', '1'], 0)):
            status, out, err = run('profile', module, *options, '--json')
            told, expected = json.loads(out.splitlines()[0]), json.loads(run('run', module, *options, '--json')[1])
            self.assertEqual((status, told['status'], told['run']['status']), (worst, 'differs' if worst else 'ok', expected['status']), err)
            self.assertEqual([o.get('mismatched') for o in told['run']['outputs']], [o.get('mismatched') for o in expected['outputs']])
            text = run('profile', module, *options)[1]
            self.assertIn(run('run', module, *options)[1].splitlines()[1], text.splitlines())
        self.assertIsNone(json.loads(run('profile', module, '--json')[1])['run'])
        told = json.loads(run('profile', module, '--find', 'nan', '--json')[1])
        self.assertIsNotNone(told['run'])

    def test_of_our_own_compiler_kernels_are_told(self):
        # Two results of one kernel: no instruction of the module as given has its value.
        module = self.module('HloModule m\nENTRY e {\n  p = f32[64,64] parameter(0)\n  q = f32[64,64] add(p, p)\n  n = f32[64,64] negate(q)\n'
                             '  d = f32[64,64] multiply(q, n)\n  ROOT t = (f32[64,64], f32[64,64]) tuple(n, d)\n}\n')
        told = json.loads(run('profile', module, '--platform', 'cpu', '--json')[1])
        names = [entry['instruction'] for entry in told['instructions']]
        self.assertTrue(any('fusion' in name for name in names), names)
        self.assertEqual(told['warnings'], [])

    def test_loops_of_compiled_code_run_as_they_do_unrecorded(self):
        module = self.module(LOOP)
        executed = [json.loads(run('run', module, '--platform', 'cpu', '--json', *more)[1])['executed']['kernels']
                    for more in ((), ('--profile', os.path.join(self.folder, 'p.hloprof')))]
        self.assertEqual(executed[0], executed[1])
        whole, inside = (json.loads(run('profile', module, '--platform', 'cpu', '--json', *more)[1]) for more in ((), ('--loop_steps',)))
        counts = [{entry['instruction']: entry['count'] for entry in told['instructions']} for told in (whole, inside)]
        self.assertEqual(counts[0]['loop'], 1)
        self.assertNotIn(TURNS, counts[0].values())
        self.assertEqual(counts[1]['loop'], 1)
        self.assertIn(TURNS, counts[1].values())
        self.assertIn(TURNS + 1, counts[1].values())
        # The report says what ran.
        text = run('profile', module, '--platform', 'cpu')[1]
        self.assertIn('loops of program 1 that ran as one function: loop; what is in them has no times of its own (--loop-steps gives them)\n', text)
        self.assertNotIn('as one function', run('profile', module, '--platform', 'cpu', '--loop_steps')[1])

    def test_several_recordings_of_each_are_compared(self):
        sides = [','.join(self.profile(f'{side}{i}.hloprof') for i in range(3)) for side in 'ab']
        status, text, err = run('compare', *sides, '--json')
        self.assertEqual((status, err), (0, ''))
        told = json.loads(text)
        self.assertEqual((told['a_recordings'], told['b_recordings'], told['a']), (3, 3, sides[0]))
        self.assertEqual((told['runs'], told['confidence'], told['notes']), (1, 0.99, []))
        rows = told['instructions'] + told['fusions'] + told['categories'] + [told['total']]
        self.assertEqual(told['judged'], len(rows))
        self.assertEqual([row['name'] for row in told['fusions']], ['loop:step'])
        for row in rows:
            self.assertIn(row['verdict'], ('slower', 'faster', 'within_noise'))
            self.assertTrue(row['ratio_low'] <= row['ratio'] <= row['ratio_high'], row)
            self.assertAlmostEqual(row['b_typical_ns'] / row['a_typical_ns'] / row['ratio'], 1, 9)
        step, = [row for row in told['instructions'] if row['instruction'] == 'step']
        self.assertEqual((step['a_count'], step['b_count'], step['often']), (3 * TURNS, 3 * TURNS, 1))
        status, text, _ = run('compare', *sides)
        self.assertEqual(status, 0)
        self.assertIn('changed beyond noise', text)

    def test_too_few_recordings_are_not_judged(self):
        one, two = self.profile('a.hloprof'), self.profile('b.hloprof')
        told = json.loads(run('compare', one, f'{two},{one}', '--json')[1])
        self.assertEqual((told['judged'], told['told_from']), (0, None))
        self.assertIn('3 of each side', told['notes'][0])
        self.assertIsNone(told['instructions'][0]['ratio'])
        self.assertIn('no change is distinguishable from noise', run('compare', one, f'{two},{one}')[1])
        status, _, err = run('compare', f'{one},{self.module(LOOP)}', two)
        self.assertEqual(status, 2)
        self.assertIn('expected one trace, found 0', err)

    def test_a_reference_is_not_mixed_with_what_is_compared(self):
        both = self.profile('r.hloprof', '--reference_platform', 'interpreter')
        told = json.loads(run('compare', both, self.profile('a.hloprof'), '--json')[1])
        step, = [row for row in told['instructions'] if row['instruction'] == 'step']
        self.assertEqual((step['a_count'], step['b_count']), (TURNS, TURNS))

    def test_recordings_are_files_and_sides_take_turns(self):
        out = os.path.join(self.folder, 'p.hloprof')
        status, text, err = run('profile', self.module(LOOP), '--repeat', '2', '--recordings', '3', '-o', out, '--json',
                                '--reference_platform', 'interpreter')
        self.assertEqual(status, 0, err)
        *each, compared = [json.loads(line) for line in text.splitlines()]
        files = [os.path.join(self.folder, f'p.{i}.hloprof') for i in (1, 2, 3)]
        self.assertEqual([one['written'] for one in each], files)
        self.assertTrue(all(os.path.exists(file) for file in files))
        for one in each:
            runs = [entry['count'] for entry in one['instructions'] if entry['instruction'] == 'loop']
            self.assertEqual(runs, [2, 2])
        self.assertEqual((compared['a_recordings'], compared['b_recordings'], compared['notes']), (3, 3, []))
        self.assertTrue(compared['a'].endswith('m.hlo on interpreter'), compared['a'])
        step, = [row for row in compared['instructions'] if row['instruction'] == 'step']
        self.assertEqual((step['a_count'], step['b_count']), (3 * 2 * TURNS, 3 * 2 * TURNS))
        self.assertIsNotNone(step['ratio'])
        self.assertEqual(run('profile', self.module(LOOP), '--recordings', '0')[0], 2)

    def test_what_it_would_take_on_devices_that_nobody_has(self):
        big = self.path('big.hlo', 'HloModule big\nENTRY e {\n  p = f32[65536] parameter(0)\n  ROOT r = f32[65536] add(p, p)\n}\n')
        told = json.loads(run('profile', big, '--platform', 'gpu-sim', '--what_if', 'h100,l4', '--json')[1])
        self.assertEqual([each['device'] for each in told['what_if']], ['NVIDIA H100 80GB HBM3', 'NVIDIA L4'])
        fast, slow = told['what_if']
        self.assertGreater(fast['multiprocessors'], slow['multiprocessors'])
        self.assertLess(fast['model_us'], slow['model_us'])
        self.assertEqual(slow['instructions'][0]['model_bound'], 'memory')
        for each in (fast, slow):
            times = [row['model_us'] for row in each['instructions']]
            self.assertEqual(times, sorted(times, reverse=True))
            self.assertAlmostEqual(sum(times), each['model_us'])
            self.assertAlmostEqual(sum(row['share'] for row in each['instructions']), 1)
            for row in each['instructions']:
                self.assertGreater(row['launches'], 0)
                self.assertTrue(0 < row['occupancy'] <= 1)
                self.assertFalse(row['occupancy_counts_registers'])
        status, text, _ = run('profile', self.module(LOOP), '--platform', 'gpu-sim', '--what_if', 'l4')
        self.assertEqual(status, 0)
        self.assertIn('on NVIDIA L4 (58 multiprocessors', text)
        status, text, _ = run('profile', self.module(LOOP), '--platform', 'interpreter', '--what_if', 'l4')
        self.assertIn('no launch was counted for NVIDIA L4; record on a simulated GPU', text)
        status, _, err = run('profile', self.module(LOOP), '--platform', 'gpu-sim', '--what_if', 'zx81')
        self.assertEqual(status, 2)
        self.assertIn('--what-if zx81: neither a device nor a file (devices: a100', err)

    def profile(self, name, *options):
        out = os.path.join(self.folder, name)
        status, _, err = run('run', self.module(LOOP), '--profile', out, *options)
        self.assertEqual(status, 0, err)
        return out

    def test_a_bundle_carries_it(self):
        bundle = os.path.join(self.folder, 'b.hlob')
        status, _, err = run('run', self.module(LOOP), '--profile', self.folder + '/p.hloprof', '--bundle', bundle)
        self.assertEqual(status, 0, err)
        with zipfile.ZipFile(bundle) as archive:
            self.assertTrue(any('profile' in name for name in archive.namelist()), archive.namelist())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
