#!/usr/bin/env python3
"""The modes of `run`, and what they leave behind: repeating, finding NaNs, limits, cancelling.

  run_modes_test.py HLOSCOPE SAMPLES"""
import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import unittest
import zipfile

from command_tests import FolderTest, write_npz

HLOSCOPE, SAMPLES = sys.argv[1], sys.argv[2]
MLP = os.path.join(SAMPLES, 'mlp_train_step')
BEFORE = os.path.join(MLP, 'module_0000.jit_mlp_train_step.before_optimizations.txt')
AFTER = os.path.join(MLP, 'module_0000.jit_mlp_train_step.cpu_after_optimizations.txt')

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'endless.hlo')) as file:
    ENDLESS = file.read()
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
DEADLOCK = '''HloModule deadlock, replica_count=2
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
sum { x = f32[2] parameter(0) ROOT r = f32[2] all-reduce(x), replica_groups={{0,1}}, to_apply=add }
same { ROOT x = f32[2] parameter(0) }
ENTRY e {
  x = f32[2] parameter(0)
  id = u32[] replica-id()
  zero = u32[] constant(0)
  first = pred[] compare(id, zero), direction=EQ
  ROOT c = f32[2] conditional(first, x, x), true_computation=sum, false_computation=same
}
'''
CANCEL = '''HloModule cancel
ENTRY e {
  x = f32[2] parameter(0)
  big = f32[] constant(1e8)
  bigs = f32[2] broadcast(big), dimensions={}
  up = f32[2] add(x, bigs)
  down = f32[2] subtract(up, bigs)
  narrow = bf16[2] convert(down)
  wide = f32[2] convert(narrow)
  bits = s32[2] bitcast-convert(wide)
  ROOT t = (f32[2], bf16[2], s32[2]) tuple(wide, narrow, bits)
}
'''
ROUNDED = '''HloModule rounded
ENTRY e {
  x = f32[2] parameter(0)
  narrow = bf16[2] convert(x)
  wide = f32[2] convert(narrow)
  bits = s32[2] bitcast-convert(wide)
  ROOT t = (f32[2], bf16[2], s32[2]) tuple(wide, narrow, bits)
}
'''
TWICE = ROUNDED.replace('convert(x)', 'convert(scaled)').replace(
    '  narrow', '  factor = f32[] constant(1.9)\n  factors = f32[2] broadcast(factor), dimensions={}\n  scaled = f32[2] multiply(x, factors)\n  narrow', 1)
BEFORE_PARTITIONING = '''HloModule m, num_partitions=2
ENTRY e {
  x = s32[4] parameter(0), sharding={devices=[2]<=[2]}
  ROOT n = s32[4] negate(x), sharding={devices=[2]<=[2]}
}
'''
PARTITIONED = '''HloModule m, is_scheduled=true, num_partitions=2
ENTRY e_spmd {
  p = s32[2] parameter(0)
  ROOT n = s32[2] negate(p)
}
'''
PARTS = '''HloModule parts
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}
cond {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  doubled = f32[4] add(v, v)
  ROOT t = (s32[], f32[4]) tuple(j, doubled)
}
ENTRY e {
  x = f32[4] parameter(0)
  mystery = f32[4] custom-call(x), custom_call_target="nobody knows"
  behind = f32[4] negate(mystery)
  zero = s32[] constant(0)
  start = (s32[], f32[4]) tuple(zero, x)
  loop = (s32[], f32[4]) while(start), condition=cond, body=body
  v = f32[4] get-tuple-element(loop), index=1
  z = f32[] constant(0)
  total = f32[] reduce(v, z), dimensions={0}, to_apply=add
  ROOT all = (f32[4], f32[]) tuple(behind, total)
}
'''


class RunModes(FolderTest):
    def run_json(self, *arguments, stdin=None, command='run', **environment):
        p = subprocess.run([HLOSCOPE, command, '--json', *arguments], input=stdin, capture_output=True, timeout=100,
                           env={**os.environ, **environment})
        return p.returncode, [json.loads(line) for line in p.stdout.decode().splitlines()], p.stderr.decode()

    def test_repeated_runs_agree_in_every_bit(self):
        for text in (SQUARE, RANDOM):
            status, (report,), _ = self.run_json('--repeat', '5', '--bits', self.path('m.hlo', text))
            self.assertEqual((status, report['status']), (0, 'equal'))
            self.assertEqual(report['repeat'], {'runs': 5, 'bits': True, 'differing_run': None})
            self.assertEqual(len(report['timing']['run_us']), 5)

    def test_iterations_have_inputs_of_their_own(self):
        module = self.path('m.hlo', SQUARE)
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
        module = self.path('m.hlo', RANDOM)
        first, again, other = (self.path(n) for n in ('a.npz', 'b.npz', 'c.npz'))
        self.run_json('--outputs', first, module)
        self.run_json('--outputs', again, module)
        self.run_json('--different_random_seeds', '--outputs', other, module)
        self.assertEqual(self.run_json('--expect', again, module)[0], 0)
        self.assertEqual(self.run_json('--expect', other, module)[0], 1)

    def run_past_deadline(self, *arguments):
        """`run` under deadlines that grow until the module had begun to run when its deadline passed."""
        for deadline in ('0.5', '2', '8', '32'):
            status, (report,), errors = self.run_json('--deadline', deadline, *arguments)
            self.assertEqual((status, report['status']), (4, 'died'), (arguments, report))
            self.assertIn(f'the deadline of {deadline} s passed', report['error'])
            if 'had run' in report['error']:
                return report, errors
        self.fail(f'{arguments}: not one iteration in any deadline: {report}')

    def test_a_deadline_and_the_memory_limit_exit_with_4(self):
        module = self.path('m.hlo', ENDLESS)
        status, (report,), _ = self.run_json('--deadline', '0.3', module)
        self.assertEqual((status, report['status'], report['error_kind']), (4, 'died', 'deadline'))
        self.assertIn('deadline', report['error'])
        status, (report,), _ = self.run_json('--memory', '1K', module)
        self.assertEqual((status, report['status'], report['error_kind']), (4, 'died', 'memory'))
        self.assertIn('memory limit of 1024 bytes', report['error'])
        for wrong in (['--memory', '1Q'], ['--memory', '0'], ['--memory', '99999999999T'], ['--deadline', '0'],
                      ['--iterations', '0'], ['--repeat', '0'], ['--threads', '-1']):
            self.assertEqual(self.run_json(*wrong, module)[0], 2, wrong)

    def test_an_interrupt_ends_the_run_with_4(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([HLOSCOPE, 'run', '--json', self.path('m.hlo', SQUARE), self.path('n.hlo', ENDLESS)],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            # The first module's line is out only when the second one is done: wait for the threads instead.
            while len(os.listdir(f'/proc/{process.pid}/task')) < 2:
                pass
            process.send_signal(number)
            out, err = process.communicate(timeout=100)
            self.assertEqual(process.returncode, 4, out)
            self.assertIn(b'Stopping', err)
            died = [r for r in map(json.loads, out.splitlines()) if r['status'] == 'died']
            self.assertEqual({r['error_kind'] for r in died}, {'cancelled'}, out)

    def test_a_crash_has_its_kind(self):
        module, crash = self.path('m.hlo', SQUARE), {'HLOSCOPE_WORKER_FAULT': 'SEGV@run'}
        status, (report,), _ = self.run_json(module, **crash)
        self.assertEqual((status, report['status'], report['error_kind']), (4, 'died', 'crashed'))
        status, lines, _ = self.run_json('--isolate_instructions', module, **crash)
        self.assertEqual([(status, r['status'], r['error_kind']) for r in lines], [(4, 'died', 'crashed')] * 2, lines)
        self.assertIn('died (crashed)', subprocess.run([HLOSCOPE, 'run', '--isolate_instructions', module], capture_output=True, text=True,
                                                       env={**os.environ, **crash}, timeout=100).stdout)
        for command, options in (('diverge', ['--reference_platform', 'interpreter']), ('bench', ['run'])):
            status, lines, _ = self.run_json(*options, module, command=command, **crash)
            self.assertEqual((status, lines[-1]['error_kind']), (4, 'crashed'), (command, lines))
        self.assertNotIn('error_kind', self.run_json(module)[1][0])

    def test_a_collective_that_not_every_device_reaches_is_a_deadlock(self):
        status, (report,), _ = self.run_json(self.path('m.hlo', DEADLOCK))
        self.assertEqual((status, report['status'], report['error_kind']), (4, 'died', 'deadlock'), report)
        self.assertIn('deadlock: device 0 waits', report['error'])

    def test_groups_that_do_not_fit_the_devices_are_named_on_each(self):
        module = self.path('g.hlo', 'HloModule g, num_partitions=2\nENTRY e {\n  x = f32[4] parameter(0)\n'
                                    '  ROOT all = f32[8] all-gather(x), replica_groups={{0,1}}, dimensions={0}\n}\n')
        _, (report,), errors = self.run_json(module, '--platform', 'interpreter')
        told = json.dumps(report) + errors
        self.assertIn('all: its replica groups name device 1 of 1', told)
        self.assertNotIn('malformed', told)

    def test_worst_status_wins_and_nothing_stops_the_others(self):
        wrong = self.path('wrong.npz', '')
        good, bad = self.path('m.hlo', SQUARE), self.path('bad.hlo', 'HloModule')
        status, reports, _ = self.run_json(good, bad, good)
        self.assertEqual((status, [r['status'] for r in reports]), (2, ['ran', 'error', 'ran']))
        self.assertEqual(self.run_json('--expect', wrong, good)[0], 2)
        for report in reports:
            self.assertIn('first_nonfinite', report)

    def test_standard_input(self):
        status, (report,), _ = self.run_json('-', stdin=SQUARE.encode())
        self.assertEqual((status, report['module'], report['status']), (0, '-', 'ran'))

    def test_flags_of_compiling_platforms_are_taken_and_said_to_be_idle(self):
        options = self.path('options.txt', 'xla_cpu_enable_fast_math: true')
        status, (report,), _ = self.run_json('--run_test_hlo_passes', '--debug_options_file', options,
                                             '--fallback', 'error', self.path('m.hlo', SQUARE))
        self.assertEqual((status, len(report['warnings'])), (0, 1))

    def test_targets_that_cannot_be_had_are_refused_by_name(self):
        module = self.path('m.hlo', SQUARE)
        for options, message in ((['--target', 'AVX2'], '--target AVX2: cpu compiles nothing for a target'),
                                 (['--platform', 'jaxlib', '--target', 'z80'], '--target z80: jaxlib does not know it'),
                                 (['--platform', 'xla-gpu', '--target', 'h100'], '--target h100: xla-gpu runs on the device that is there'),
                                 (['--reference_target', 'AVX2'], 'need --reference_platform'),
                                 (['--xla_no_such_flag=1'], '--xla_no_such_flag: cpu reads no flag but --xla_disable_hlo_passes'),
                                 (['--platform', 'xla-cpu', '--target', 'AVX', '--xla_cpu_max_isa=SSE4_2'], 'contradict one another')):
            status, _, errors = self.run_json(*options, module)
            self.assertEqual(status, 2, errors)
            self.assertIn(message, errors)
        status, _, errors = self.run_json('--target', 'native', module)
        self.assertEqual(status, 0, errors)

    def test_isolated_instructions_stream_before_the_module(self):
        module = self.path('m.hlo', PARTS)
        status, lines, _ = self.run_json('--isolate_instructions', '--reference_platform', 'interpreter', module)
        self.assertEqual(status, 3)
        self.assertEqual([(r['instruction'], r['opcode'], r['status']) for r in lines[:-1]],
                         [('mystery', 'custom-call', 'unsupported'), ('behind', 'negate', 'unsupported'), ('loop', 'while', 'equal'),
                          ('total', 'reduce', 'equal')])
        self.assertIn('mystery has no value', lines[1]['error'])
        self.assertEqual(lines[-1]['first_divergent'], None)
        self.assertEqual([r['status'] for r in self.run_json('--isolate_instructions', module)[1]],
                         ['unsupported', 'unsupported', 'ran', 'ran', 'unsupported'])
        for sample in (BEFORE, AFTER):
            status, lines, _ = self.run_json('--isolate_instructions', '--reference_platform', 'interpreter', sample)
            self.assertEqual((status, {r['status'] for r in lines}), (0, {'equal'}))
            self.assertGreater(len(lines), 3)

    def extract(self, module, instruction, *options, form='.hlo'):
        out = self.path('cut' + form)
        status, (report,), err = self.run_json(module, instruction, '-o', out, *options, command='extract')
        self.assertEqual((status, err), (0, ''), (instruction, report))
        words = report['command'].split()
        self.assertEqual(words[:3], ['hloscope', 'run', out])
        status, (ran,), _ = self.run_json(*words[2:], '--abs_error_bound', '0', '--rel_error_bound', '0')
        self.assertEqual((status, ran['status']), (0, 'equal'), (instruction, ran))
        return report, ran

    def test_extracted_instructions_give_the_same_values(self):
        for sample in (BEFORE, AFTER):
            text = subprocess.run([HLOSCOPE, 'show', '--json', sample], capture_output=True, check=True).stdout
            entry = json.loads(text)['computations'][-1]
            names = [i['name'] for i in entry['instructions'] if i['opcode'] != 'parameter']
            self.assertGreater(len(names), 3)
            for k, name in enumerate(names[::7]):
                self.extract(sample, name, '--depth', str(k % 3), form=('.hlo', '.hlo.pb', '.txt')[k % 3])

    def test_extract_reaches_into_loops_and_reducers(self):
        module = self.path('m.hlo', PARTS)
        inputs = self.path('in.npz')
        self.run_json('--save_inputs', inputs, module)
        report, first = self.extract(module, 'doubled', '--inputs', inputs)
        self.assertEqual((report['instructions'], report['parameters']), (1, 1))
        self.extract(module, '%doubled', '--iteration', '4')
        self.extract(module, 'sum', '--iteration', '2')
        self.extract(module, 'loop', '--depth', '5')
        devices = self.path('devices.hlo', 'HloModule m, replica_count=3\nadd {\n  a = f32[] parameter(0)\n'
                                           '  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\nENTRY e {\n'
                                           '  r = u32[] replica-id()\n  f = f32[] convert(r)\n  w = f32[2] broadcast(f), dimensions={}\n'
                                           '  x = f32[2] parameter(0)\n  y = f32[2] add(x, w)\n'
                                           '  all = f32[2] all-reduce(y), replica_groups={}, to_apply=add\n  ROOT n = f32[2] negate(all)\n}\n')
        report, _ = self.extract(devices, 'all')
        self.assertEqual((report['instructions'], report['parameters']), (1, 1))
        with zipfile.ZipFile(report['inputs']) as archive:
            self.assertEqual(archive.namelist(), ['in0@0.npy', 'in0@1.npy', 'in0@2.npy'])
            ys = [struct.unpack('<2f', archive.read(name)[-8:]) for name in archive.namelist()]
        self.assertEqual(len(set(ys)), 3)
        self.assertEqual(self.run_json(devices, 'all', '--iteration', '1', '-o', self.path('no.hlo'), command='extract')[0], 2)
        elided = self.path('elided.hlo', 'HloModule m\nENTRY e {\n  c = f32[100] constant({...})\n'
                                         '  s = f32[100] sine(c)\n  ROOT n = f32[100] negate(s)\n}\n')
        self.extract(elided, 'n', '--depth', '1', '--fill_elided', '3')
        for wrong, words in ((['doubled', '--iteration', '5'], 'runs 5 times'), (['doubld'], 'did you mean'),
                             (['behind'], 'custom-call'), (['x'], 'is a parameter')):
            status, _, err = self.run_json(module, *wrong, '-o', self.path('no.hlo'), command='extract')
            self.assertIn(status, (2, 3), wrong)
            self.assertIn(words, err)
        self.assertEqual(self.run_json(module, 'loop', '-o', self.path('no.what'), command='extract')[0], 2)

    def test_an_input_for_one_device_goes_before_that_for_all(self):
        module = self.path('own.hlo', 'HloModule m, replica_count=3\nENTRY e {\n  x = f32[2] parameter(0)\n'
                                      '  ROOT g = f32[6] all-gather(x), replica_groups={}, dimensions={0}\n}\n')

        def archive(**arrays):
            path = self.path('own.npz', '')
            header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
            header += b' ' * (-(10 + len(header) + 1) % 64) + b'\n'
            with zipfile.ZipFile(path, 'w') as out:
                for name, values in arrays.items():
                    out.writestr(name.replace('_of_', '@') + '.npy',
                                 b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header + struct.pack('<2f', *values))
            return path

        status, out, err = self.run_text(module, '--inputs', archive(in0=(1, 2), in0_of_2=(5, 6)), '--print_literals')
        self.assertEqual(status, 0, err)
        self.assertIn('{ 1, 2, 1, 2, 5, 6 }', out)
        for arrays, words in (({'in0': (1, 2), 'in0_of_3': (5, 6)}, 'in0@3 is of no device'),
                              ({'in0': (1, 2), 'in1_of_0': (5, 6)}, 'in1@0 is of no device'),
                              ({'in0_of_2': (5, 6)}, 'not for device 0')):
            status, _, err = self.run_text(module, '--inputs', archive(**arrays))
            self.assertEqual(status, 2, arrays)
            self.assertIn(words, err)
        one = self.path('one.hlo', 'HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT n = f32[2] negate(x)\n}\n')
        status, _, err = self.run_text(one, '--inputs', archive(in0=(1, 2), in0_of_2=(5, 6)))
        self.assertEqual(status, 2)
        self.assertIn('in0@2 is of no device: the module takes one list', err)

    def run_text(self, *arguments, command='run'):
        p = subprocess.run([HLOSCOPE, command, *arguments], capture_output=True, text=True, timeout=100)
        return p.returncode, p.stdout, p.stderr

    def test_errors_go_to_standard_error_alone(self):
        good, gone = self.path('m.hlo', SQUARE), self.path('gone.npz')
        status, out, err = self.run_text('--inputs', gone, good)
        self.assertEqual((status, out), (2, ''))
        self.assertEqual(err, f'{gone}: no such file\n')
        status, out, err = self.run_text(good, self.path('bad.hlo', 'HloModule'))
        self.assertEqual(status, 2)
        self.assertRegex(out.splitlines()[-1], r'^ran: loaded in [0-9.]+ ms, compiled in [0-9.]+ ms, ran in [0-9.]+ ms$')
        self.assertTrue(err.startswith(self.path('bad.hlo')), err)
        status, out, err = self.run_text('--outputs', self.path('no/such/o.npz'), good)
        self.assertEqual(status, 2)
        self.assertIn(f"folder {self.path('no/such')} does not exist", err)

    def test_each_of_several_modules_writes_its_own_files(self):
        os.mkdir(self.path('other'))
        modules = [self.path('a.hlo', SQUARE), self.path('b.hlo', SQUARE.replace('multiply', 'add')), self.path('other/a.hlo', SQUARE)]
        status, _, err = self.run_text('--outputs', self.path('o.npz'), '--save_inputs', self.path('i.npz'), *modules)
        self.assertEqual((status, err), (0, ''))
        names = [f'{f}.{m}.npz' for f in 'io' for m in ('a', 'a.2', 'b')]
        self.assertEqual(sorted(n for n in os.listdir(self.folder) if n.endswith('.npz')), sorted(names))
        for module, stem in zip(modules, ('a', 'b', 'a.2')):
            status, (report,), _ = self.run_json('--inputs', self.path(f'i.{stem}.npz'), '--expect', self.path(f'o.{stem}.npz'), module)
            self.assertEqual((status, report['status']), (0, 'equal'), stem)
        status, _, _ = self.run_text('--outputs', self.path('results'), *modules)
        self.assertEqual(sorted(os.listdir(self.path('results'))), ['a', 'a.2', 'b'])
        self.assertEqual(os.listdir(self.path('results/b')), ['output_0.npy'])

    def test_names_of_own_files_never_meet(self):
        for folder in ('one', 'two'):
            os.mkdir(self.path(folder))
        modules = [self.path('one/m.hlo', SQUARE), self.path('two/m.hlo', SQUARE), self.path('m.2.hlo', SQUARE)]
        self.assertEqual(self.run_text('--outputs', self.path('o.npz'), *modules)[0], 0)
        self.assertEqual(sorted(n for n in os.listdir(self.folder) if n.startswith('o.')), ['o.m.2.2.npz', 'o.m.2.npz', 'o.m.npz'])
        self.assertEqual(self.run_text('--output_literals_file', self.path('lit'), *modules)[::2], (0, ''))

    def test_an_extract_takes_the_infeed_of_the_run(self):
        module = self.path('m.hlo', '''HloModule m
ENTRY e {
  p = f32[3] parameter(0)
  t = token[] after-all()
  i = (f32[3], token[]) infeed(t)
  g = f32[3] get-tuple-element(i), index=0
  ROOT a = f32[3] add(g, p)
}
''')
        self.assertEqual(self.run_text('--seed', '5', '--outputs', self.path('whole.npz'), module)[0], 0)
        cut = self.path('cut.hlo')
        status, (report,), _ = self.run_json(module, 'a', '-o', cut, '--seed', '5', command='extract')
        self.assertEqual(status, 0)
        status, (report,), _ = self.run_json('--inputs', report['inputs'], '--expect', self.path('whole.npz'), cut)
        self.assertEqual((status, report['status']), (0, 'equal'))

    def test_random_numbers_that_nobody_reaches_end_no_run(self):
        module = self.path('m.hlo', '''HloModule m
tb {
  a = f32[4] parameter(0)
  lo = f32[] constant(0)
  hi = f32[] constant(1)
  r = f32[4] rng(lo, hi), distribution=rng_uniform
  ROOT s = f32[4] add(a, r)
}
fb {
  a = f32[4] parameter(0)
  ROOT s = f32[4] add(a, a)
}
ENTRY e {
  p = f32[4] parameter(0)
  c = pred[] custom-call(p), custom_call_target="unknown_thing"
  x = f32[4] conditional(c, p, p), true_computation=tb, false_computation=fb
  y = f32[4] multiply(p, p)
  ROOT t = (f32[4], f32[4]) tuple(x, y)
}
''')
        status, (report,), _ = self.run_json('--outputs', self.path('o'), module)
        self.assertEqual((status, len(report['outputs'])), (3, 2), report)
        self.assertEqual(os.listdir(self.path('o')), ['output_1.npy'])

    def test_a_platform_that_hands_over_by_itself_needs_no_flag(self):
        module = self.path('m.hlo', SQUARE)
        for how in ('cpu', 'error'):
            status, (report,), _ = self.run_json('--fallback', how, module)
            self.assertEqual((status, report['fallbacks']), (0, []), report)

    def test_what_a_plugin_refuses_is_named_and_runs_on_the_host(self):
        module = self.path('m.hlo', '''HloModule m
ENTRY e {
  p = f32[4,4] parameter(0)
  t = f32[4,4] transpose(p), dimensions={1,0}
  d = f32[4,4] dot(p, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = (f32[4,4], s32[]) custom-call(d), custom_call_target="lapack_spotrf_ffi", api_version=API_VERSION_TYPED_FFI, backend_config="{uplo = 76 : ui8}"
  g = f32[4,4] get-tuple-element(c), index=0
  ROOT r = f32[4,4] add(g, t)
}
''')
        on = ('--platform', 'xla-cpu')
        if self.run_json(*on, self.path('s.hlo', SQUARE))[0] != 0:
            self.skipTest('no plugin for xla-cpu')
        status, out, err = self.run_text(*on, module)
        self.assertEqual((status, out), (3, ''))
        self.assertIn('c (custom-call): custom call that the platform does not implement: ', err)
        self.assertIn('--fallback cpu runs it on the host', err)
        status, (report,), _ = self.run_json(*on, '--fallback', 'cpu', '--reference_platform', 'interpreter', module)
        self.assertEqual((status, report['status']), (0, 'equal'), report)
        (fallback,) = report['fallbacks']
        self.assertEqual((fallback['instruction'], fallback['opcode'], fallback['reason'], fallback['bytes_moved']),
                         ('c', 'custom-call', 'custom call that the platform does not implement', 128))
        self.assertGreater(fallback['time_us'], 0)
        status, out, _ = self.run_text(*on, '--fallback', 'cpu', '--profile', self.path('p.hloprof'), module)
        self.assertEqual(status, 0)
        self.assertIn('on the host: c (custom-call): custom call that the platform does not implement; 128 B moved', out)
        told = subprocess.run([HLOSCOPE, 'profile', self.path('p.hloprof')], capture_output=True, text=True, check=True).stdout
        self.assertIn('host: fallbacks', told)
        self.assertIn('on the host: c of program 1: custom-call: custom call that the platform does not implement, 128 bytes moved', told)

    def test_what_a_scan_applies_is_a_kernel(self):
        module = self.path('m.hlo', '''HloModule m
step {
  x = f32[4] parameter(0)
  sum = f32[4] parameter(1)
  next = f32[4] add(x, sum)
  ROOT r = (f32[4], f32[4]) tuple(next, next)
}
ENTRY e {
  x = f32[5,4] parameter(0)
  sum = f32[4] parameter(1)
  ROOT s = (f32[5,4], f32[4]) scan(x, sum), dimensions={0}, is_reverse=false, is_associative=false, num_carries=1, to_apply=step
}
''')
        status, (report,), err = self.run_json('--reference_platform', 'interpreter', module)
        self.assertEqual((status, report['status']), (0, 'equal'), err)
        self.assertEqual((report['executed']['kernels'], report['executed']['evaluated']), (2, 0))

    def test_communication_between_devices_is_the_runs_own(self):
        module = self.path('m.hlo', '''HloModule m, replica_count=2
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY e {
  x = f32[3] parameter(0)
  all = f32[3] all-reduce(x), replica_groups={}, to_apply=add
  device = u32[] replica-id()
  ROOT r = (f32[3], u32[]) tuple(all, device)
}
''')
        status, (report,), err = self.run_json('--reference_platform', 'interpreter', module)
        self.assertEqual((status, report['status']), (0, 'equal'), err)
        counts = [report['executed'][key] for key in ('library_calls', 'collectives', 'evaluated')]
        self.assertEqual(counts, [0, 2, 0])
        self.assertIn('0 library calls, 2 collectives\n', self.run_text(module)[1])
        self.assertEqual(report['fallbacks'], [])

    def test_find_says_that_it_found_nothing(self):
        module = self.path('m.hlo', SQUARE)
        for what, words in (('nan', 'no NaN was found'), ('inf', 'no infinity was found')):
            status, out, _ = self.run_text('--find', what, module)
            self.assertEqual(status, 0)
            self.assertIn(words, out)
        # Not where a constant holds one, which others pass on.
        module = self.path('c.hlo', 'HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  low = f32[] constant(-inf)\n'
                                    '  b = f32[3] broadcast(low), dimensions={}\n  ROOT r = f32[3] maximum(x, b)\n}\n')
        _, out, _ = self.run_text('--find', 'inf', module)
        self.assertNotIn('no infinity was found', out)
        self.assertIn('no instruction produces an infinity from finite operands', out)
        self.assertIn('constant low is infinite in the module', out)

    def test_a_loop_inside_that_never_ends_looks_at_the_clock(self):
        text = ('HloModule m\nforever { s = s32[] parameter(0) ROOT go = pred[] constant(true) }\nsame { ROOT s = s32[] parameter(0) }\n'
                'count { s = s32[] parameter(0) one = s32[] constant(1) ROOT n = s32[] add(s, one) }\n'
                'again { s = s32[] parameter(0) ROOT w = s32[] while(s), condition=forever, body=BODY }\n'
                'ENTRY e { a = s32[] parameter(0) ROOT w.1 = s32[] while(a), condition=forever, body=again }\n')
        for body in ('same', 'count'):
            module = self.path(f'{body}.hlo', text.replace('BODY', body))
            for platform in ('interpreter', 'cpu'):
                if (body, platform) == ('same', 'interpreter'):
                    # It sees that the values stay the same, sooner or later than a deadline.
                    status, (report,), _ = self.run_json('--platform', platform, module)
                    self.assertEqual((status, report['status']), (3, 'unsupported'), report)
                    self.assertIn('infinite loop', report['outputs'][0]['error'])
                    continue
                # It ends by itself: a worker that is killed does not say how far it got.
                self.run_past_deadline('--platform', platform, module)

    def test_a_deadline_says_what_ran(self):
        report, _ = self.run_past_deadline('--iterations', '3', self.path('m.hlo', ENDLESS))
        self.assertRegex(report['error'], r'the deadline of \S+ s passed; w had run [1-9]\d* iterations; 0 of 3 iterations ran')
        status, out, err = self.run_text('--deadline', '0.3', '--iterations', '3', self.path('m.hlo', ENDLESS))
        self.assertEqual(status, 4)
        self.assertTrue(out.startswith('to report this: ') and out.count('\n') == 1, out)
        self.assertRegex(err, 'the deadline of 0.3 s passed')
        _, (report,), _ = self.run_json('--iterations', '3', self.path('m.hlo', SQUARE))
        self.assertEqual(report['iterations'], 3)

    def test_the_verifier_can_be_left_out(self):
        self.assertEqual(self.run_json('--no-verify', self.path('good.hlo', SQUARE))[0], 0)
        two = self.path('two.hlo', SQUARE.replace('ROOT y = f32[10] multiply(x, x)', 'ROOT y = f32[9] multiply(x, x)'))
        self.assertEqual(self.run_json(two)[0], 2)
        status, (report,), _ = self.run_json('--no-verify', two)
        self.assertNotIn('rule', report['error'] or '')

    def test_what_differs_is_said_in_its_own_terms(self):
        module = self.path('m.hlo', 'HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  ROOT s = f32[3] sqrt(x)\n}\n')
        whole = self.path('w.hlo', 'HloModule w\nENTRY e {\n  x = s32[3] parameter(0)\n  ROOT s = s32[3] negate(x)\n}\n')
        self.npz('in.npz', in0=('<f4', (3,), struct.pack('<3f', 1, -1, 4)))
        self.npz('out.npz', out0=('<f4', (3,), struct.pack('<3f', 1, 0, 2)))
        status, out, _ = self.run_text('--inputs', self.path('in.npz'), '--expect', self.path('out.npz'), module)
        self.assertEqual(status, 1)
        self.assertIn('1 of 3 differs; 1 NaN on one side (actual 1, expected 0)', out)
        self.assertNotIn('ULP', out)
        self.npz('in.npz', in0=('<i4', (3,), struct.pack('<3i', 1, -1, 4)))
        self.npz('out.npz', out0=('<i4', (3,), struct.pack('<3i', -1, 1, 4)))
        status, out, _ = self.run_text('--inputs', self.path('in.npz'), '--expect', self.path('out.npz'), whole)
        self.assertEqual(status, 1)
        self.assertIn('largest error 8 absolute', out)
        self.assertNotIn('ULP', out)

    def npz(self, name, **arrays):
        write_npz(self.path(name), arrays)

    def test_narrow_floats_keep_their_type_on_disk(self):
        module = self.path('m.hlo', 'HloModule m\nENTRY e {\n  x = bf16[2] parameter(0)\n  ROOT n = bf16[2] negate(x)\n}\n')
        self.npz('in.npz', in0=('<V2', (2,), b'\x00\x00\x80\x3f'))
        self.assertEqual(self.run_json('--inputs', self.path('in.npz'), '--outputs', self.path('o.npz'), module)[0], 0)
        self.assertIn(b"'descr': 'bfloat16'", zipfile.ZipFile(self.path('o.npz')).read('out0.npy'))
        # -0 and 0 are one number; integers of the same width are older files' way of saying so.
        for name, descr in (('typed.npz', 'bfloat16'), ('raw.npz', '<V2'), ('old.npz', '<u2')):
            self.npz(name, out0=(descr, (2,), b'\x00\x00\x80\xbf'))
            status, (report,), _ = self.run_json(self.path('o.npz'), self.path(name), command='compare')
            self.assertEqual((status, report['outputs'][0]['shape']), (0, 'bf16[2]'), name)

    def test_no_file_of_inputs_is_left_over(self):
        module, ten = self.path('square.hlo', SQUARE), ('<f4', [10], range(10))
        for files, status in (((ten,), 0), ((ten, ten), 2)):
            done = subprocess.run([HLOSCOPE, 'run', module, *self.npy_inputs(*files)], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn('2 .npy files given for 1 array', done.stderr)

    def test_arrays_of_other_names_are_taken_in_order(self):
        module = self.path('m.hlo', 'HloModule m\nENTRY e {\n  x = s8[1] parameter(0)\n  y = s8[1] parameter(1)\n  ROOT d = s8[1] subtract(x, y)\n}\n')
        self.npz('in.npz', weights=('|i1', (1,), b'\5'), bias=('|i1', (1,), b'\3'))
        self.npz('out.npz', out0=('|i1', (1,), b'\2'))
        status, (report,), _ = self.run_json('--inputs', self.path('in.npz'), '--expect', self.path('out.npz'), module)
        self.assertEqual((status, report['status']), (0, 'equal'))
        self.assertTrue(any("taken in the file's order: weights, bias" in w for w in report['warnings']), report['warnings'])

    def test_elided_constants_come_from_a_proto_that_names_elements_of_tuples(self):
        numbers = ', '.join(str(i) for i in range(20))
        text = (f'HloModule m\nENTRY e {{\n  p = (s32[], s32[20]) parameter(0)\n  x = s32[20] get-tuple-element(p), index=1\n'
                f'  c = s32[20] constant({{{numbers}}})\n  ROOT s = s32[20] add(x, c)\n}}\n')
        whole, stem = self.path('whole.hlo', text), 'module_0001.m.sm_9.0a_gpu_after_optimizations'
        subprocess.run([HLOSCOPE, 'convert', whole, self.path(stem + '.hlo.pb')], check=True, stdout=subprocess.DEVNULL)
        short = ''.join(line for line in text.splitlines(True) if 'get-tuple' not in line).replace('{' + numbers + '}', '{...}')
        for element, expected in (('p#1', 0), ('p#0', 2)):
            elided = self.path(stem + '.txt', short.replace('add(x', f'add({element}'))
            self.assertEqual(self.run_json('--no-verify', elided)[0], expected, element)

    def test_elided_constants_come_from_the_proto_beside(self):
        numbers = ', '.join(str(i) for i in range(20))
        text = f'HloModule m\nENTRY e {{\n  x = s32[20] parameter(0)\n  c = s32[20] constant({{{numbers}}})\n  ROOT s = s32[20] add(x, c)\n}}\n'
        whole, proto, elided = self.path('whole.hlo', text), self.path('module_0001.m.cpu_after_optimizations.hlo.pb'), self.path('module_0001.m.cpu_after_optimizations.txt')
        subprocess.run([HLOSCOPE, 'convert', whole, proto], check=True, stdout=subprocess.DEVNULL)
        self.path(os.path.basename(elided), text.replace('{' + numbers + '}', '{...}'))
        self.run_json('--outputs', self.path('o.npz'), whole)
        status, (report,), _ = self.run_json('--expect', self.path('o.npz'), elided)
        self.assertEqual((status, report['status']), (0, 'equal'), report)
        self.assertEqual([w for w in report['warnings'] if proto in w], [f'the values of 1 elided constant are read from {proto}'])
        out = self.path('sum.hlo')
        status, (report,), _ = self.run_json(elided, 's', '-o', out, command='extract')
        self.assertEqual((status, report['warnings']), (0, [f'the values of 1 elided constant are read from {proto}']), report)
        self.assertIn('constant({0, 1, 2', open(out, encoding='utf-8').read())
        # Another module's are not taken.
        subprocess.run([HLOSCOPE, 'convert', self.path('other.hlo', text.replace('add', 'subtract')), proto], check=True, stdout=subprocess.DEVNULL)
        status, (report,), _ = self.run_json(elided)
        self.assertEqual(status, 2)
        self.assertTrue(any('it is a different module (s)' in w for w in report['warnings']), report)

    def test_lost_shardings_come_from_the_module_before(self):
        self.path('module_0001.m.before_optimizations.txt', BEFORE_PARTITIONING)
        after = self.path('module_0001.m.cpu_after_optimizations.txt', PARTITIONED)
        self.npz('in.npz', in0=('<i4', (4,), struct.pack('<4i', 1, 2, 3, 4)))
        self.npz('out.npz', out0=('<i4', (4,), struct.pack('<4i', -1, -2, -3, -4)))
        status, (report,), _ = self.run_json('--inputs', self.path('in.npz'), '--expect', self.path('out.npz'), after)
        self.assertEqual((status, report['status']), (0, 'equal'), report)
        self.assertTrue(any('before_optimizations.txt' in w for w in report['warnings']), report['warnings'])

    def test_lost_shardings_come_from_the_proto_of_the_stage(self):
        self.path('module_0001.m.before_optimizations.txt', BEFORE_PARTITIONING.replace(', sharding={devices=[2]<=[2]}', ''))
        after = self.path('module_0001.m.gpu_after_optimizations.txt', PARTITIONED)
        sharding = '{ type: OTHER tile_assignment_dimensions: 2 iota_reshape_dims: 2 iota_transpose_perm: 0 }'
        message, proto = self.path('m.pbtxt'), self.path('module_0001.m.gpu_after_optimizations.hlo.pb')
        subprocess.run([HLOSCOPE, 'convert', after, message], check=True, stdout=subprocess.DEVNULL)
        with open(message, encoding='utf-8') as f:
            text = f.read()
        at = text.rindex('}')  # of `hlo_module {`
        with open(message, 'w', encoding='utf-8') as f:
            f.write(f'{text[:at]}  spmd_output_sharding {sharding}\n  spmd_parameters_shardings {sharding}\n{text[at:]}')
        subprocess.run([HLOSCOPE, 'convert', message, proto], check=True, stdout=subprocess.DEVNULL)
        self.npz('in.npz', in0=('<i4', (4,), struct.pack('<4i', 1, 2, 3, 4)))
        self.npz('out.npz', out0=('<i4', (4,), struct.pack('<4i', -1, -2, -3, -4)))
        for file in (after, proto):
            status, (report,), _ = self.run_json('--inputs', self.path('in.npz'), '--expect', self.path('out.npz'), file)
            self.assertEqual((status, report['status']), (0, 'equal'), report)
            self.assertTrue(any('gpu_after_optimizations.hlo.pb' in w for w in report['warnings']), report['warnings'])

    def test_precise_of_several_devices(self):
        module = self.path('replicas.hlo', 'HloModule m, replica_count=2\nENTRY e {\n  a = f32[4] parameter(0)\n  ROOT r = f32[4] sine(a)\n}\n')
        out = self.path('replicas.npz')
        for flags, sides in (('--outputs', out), ['cpu']), (('--expect', out), ['cpu', 'expected']), (('--reference_platform', 'interpreter'), ['cpu', 'interpreter']):
            _, (report,), errors = self.run_json('--precise', '--platform', 'cpu', *flags, module)
            self.assertEqual((report['error'], report['outputs'][0]['shape']), (None, 'f32[2,4]'), errors)
            told = report['outputs'][0]['precise']['sides']
            self.assertEqual([side['side'] for side in told], sides)
            self.assertTrue(all(0 < side['max_ulp'] < 4 for side in told), told)

    def test_precise_names_the_element(self):
        """The one with the largest distance, where everything is within the bounds, too."""
        module = self.path('wide.hlo', 'HloModule m\nENTRY e {\n  a = f32[3,64] parameter(0)\n  ROOT r = f32[3,64] tan(a)\n}\n')
        _, (report,), _ = self.run_json('--precise', '--platform', 'cpu', module)
        side, = report['outputs'][0]['precise']['sides']
        text = subprocess.run([HLOSCOPE, 'run', '--precise', '--platform', 'cpu', module], capture_output=True, text=True, check=False).stdout
        place = ','.join(map(str, side['index']))
        self.assertRegex(text, r'cpu [0-9.]+ ULP at \[' + place + r'\] \(-?[0-9.e-]+, precise -?[0-9.e-]+\)')

    def test_precise_of_three_sides_says_which_are_far(self):
        module = self.path('three.hlo', 'HloModule m\nENTRY e {\n  a = f32[4] parameter(0)\n  ROOT r = f32[4] exponential(a)\n}\n')
        self.npz('three_in.npz', in0=('<f4', (4,), struct.pack('<4f', 1, 2, 3, 4)))
        exact = [math.exp(one) for one in (1, 2, 3, 4)]
        for more, is_far in ((1, True), (0, False)):
            self.npz('three.npz', out0=('<f4', (4,), struct.pack('<4f', *(one + more for one in exact))))
            arguments = ('--precise', '--platform', 'cpu', '--reference_platform', 'interpreter', '--inputs', self.path('three_in.npz'), '--expect', self.path('three.npz'))
            _, (report,), errors = self.run_json(*arguments, module)
            self.assertEqual(len(report['outputs'][0]['precise']['sides']), 3, errors)
            self.assertIsNone(report['outputs'][0]['precise']['closer'])
            text = subprocess.run([HLOSCOPE, 'run', *arguments, module], capture_output=True, text=True, check=False).stdout
            self.assertEqual(' ULP: expected is far\n' in re.sub(r' at \[[0-9,]*\]( \([^)]*\))?', '', text), is_far, text)

    def test_large_distances_are_whole(self):
        # The sine of what was rounded to f32 before is far from that of what was not.
        module = self.path('far.hlo', 'HloModule m\nENTRY e {\n  a = f32[64] parameter(0)\n  k = f32[] constant(123456.7)\n'
                           '  b = f32[64] broadcast(k), dimensions={}\n  c = f32[64] multiply(a, b)\n  ROOT r = f32[64] sine(c)\n}\n')
        text = subprocess.run([HLOSCOPE, 'run', '--precise', '--platform', 'cpu', module], capture_output=True, text=True, check=False).stdout
        self.assertRegex(text, r'cpu [0-9]{4,} ULP at \[')

    def test_precise_of_narrower_types_says_what_it_leaves_out(self):
        text = 'HloModule m\nENTRY e {{\n  a = f32[64] parameter(0)\n  b = {0}[64] convert(a)\n  ROOT r = f32[64] convert(b)\n}}\n'
        for middle, is_told in (('bf16', True), ('f32', False)):
            _, (report,), _ = self.run_json('--precise', self.path(middle + '.hlo', text.format(middle)))
            told = [one for one in report['warnings'] if 'none of the roundings that the module asks for' in one]
            self.assertEqual(len(told), is_told, report['warnings'])
            self.assertEqual(report['outputs'][0]['precise']['sides'][0]['max_ulp'] > 1000, is_told)

    def test_nothing_is_more_precise_than_double(self):
        """The precise value of f64 would be what the reference gives: no side is nearer to it."""
        text = 'HloModule m\nENTRY e {{\n  a = {0}[64] parameter(0)\n  ROOT r = {0}[64] tan(a)\n}}\n'
        for element, is_judged in (('f64', False), ('c128', False), ('f32', True), ('s32', True)):
            module = self.path(element + '.hlo', text.format(element).replace('tan', 'negate' if element == 's32' else 'tan'))
            _, (report,), _ = self.run_json('--precise', '--platform', 'cpu', '--reference_platform', 'interpreter', '--iterations', '2', module)
            told = [one for one in report['warnings'] if 'computes in double precision already' in one]
            self.assertEqual((len(told), 'precise' in report['outputs'][0]), (0 if is_judged else 1, is_judged), report['warnings'])
        text = 'HloModule m\nENTRY e {{\n  a = {0}[256] parameter(0)\n  t = {0}[256] tan(a)\n  ROOT r = {0}[256] exponential(t)\n}}\n'
        for element, is_judged in (('f64', False), ('f32', True)):
            done = subprocess.run([HLOSCOPE, 'diverge', self.path('d.hlo', text.format(element)), '--platform', 'cpu', '--reference_platform', 'interpreter',
                                   '--abs_error_bound', '0', '--rel_error_bound', '0', '--json'], capture_output=True, text=True, timeout=120)
            verdict = json.loads(done.stdout)
            if element == 'f32':  # f64 may be equal to the last bit
                self.assertEqual(verdict['status'], 'differs', verdict)
            if verdict['status'] == 'differs':
                self.assertEqual('from the value in double precision' in verdict['verdict'] or 'nearer to' in verdict['verdict'], is_judged, verdict)

    def test_precise_of_complex_numbers_is_that_of_their_parts(self):
        text = 'HloModule m\nENTRY e {\n  a = c64[64] parameter(0)\n  ROOT r = c64[64] sine(a)\n}\n'
        _, (report,), _ = self.run_json('--precise', self.path('c.hlo', text))
        side, = report['outputs'][0]['precise']['sides']
        self.assertTrue(0 < side['max_ulp'] < 8, side)

    def test_precise_says_which_side_is_right(self):
        module, true = self.path('m.hlo', CANCEL), self.path('true.npz')
        inputs = self.path('in.npz')
        self.run_json('--save_inputs', inputs, module)
        plain, precise = self.path('plain.npz'), self.path('precise.npz')
        status, (report,), _ = self.run_json('--precise', '--inputs', inputs, '--outputs', precise, module)
        self.assertEqual((status, report['status']), (0, 'ran'))
        # 1e8 swallows what is below 4 in f32.
        self.assertGreater(report['outputs'][0]['precise']['sides'][0]['max_ulp'], 1000)
        # The values themselves are those of the platform all the same.
        self.run_json('--inputs', inputs, '--outputs', plain, module)
        self.assertEqual(self.run_json(plain, precise, command='compare')[0], 0)
        self.run_json('--inputs', inputs, '--outputs', true, self.path('true.hlo', ROUNDED))
        status, (report,), _ = self.run_json('--precise', '--inputs', inputs, '--expect', true, module)
        self.assertEqual((status, report['status']), (1, 'differs'))
        precise = report['outputs'][0]['precise']
        self.assertEqual([s['side'] for s in precise['sides']], ['cpu', 'expected'])
        self.assertLessEqual(precise['sides'][1]['max_ulp'], 1 << 16)
        self.assertEqual(precise['closer'], 'expected')
        # Errors of like size decide nothing.
        half = self.path('half.npz')
        self.run_json('--inputs', inputs, '--outputs', half, self.path('half.hlo', TWICE))
        status, (report,), _ = self.run_json('--precise', '--inputs', inputs, '--expect', half, module)
        self.assertEqual((status, report['outputs'][0]['precise']['closer']), (1, None))
        self.assertEqual(self.run_json('--inputs', inputs, '--expect', true, module)[0], 1)
        for sample in (BEFORE, AFTER):
            status, (report,), _ = self.run_json('--precise', '--reference_platform', 'interpreter', sample)
            self.assertEqual((status, report['status']), (0, 'equal'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
