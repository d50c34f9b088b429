#!/usr/bin/env python3
"""`info --compile-time` of dumps and logs whose times are known: compile_time_test.py HLOSCOPE."""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])

STAGE = 'HloModule m\n\nENTRY e {{\n  p = f32[4]{{0}} parameter(0)\n{}  ROOT r = f32[4]{{0}} add({}, p)\n}}\n'


def stage(lines):
    """A module with `lines[k]` instructions of line k of a program."""
    text, last = '', 'p'
    for line, count in sorted(lines.items()):
        for k in range(count):
            text += f'  n{line}_{k} = f32[4]{{0}} add({last}, p), metadata={{op_name="x" source_file="model.py" source_line={line}}}\n'
            last = f'n{line}_{k}'
    return STAGE.format(text, last)


class Pipelines:
    """Random passes in pipelines in passes, with the time that each takes by itself."""

    def __init__(self, seed):
        self.random, self.now, self.records, self.own = random.Random(seed), 1_700_000_000_000_000, [], {}
        self.between, self.start = 0, self.now
        for k in range(self.random.randint(1, 4)):
            self.pipeline(f'pipeline{k}', 0, True)

    def spend(self, name, most=50):
        us = self.random.choice((0, 0, 1, self.random.randint(0, most)))
        self.now += us
        if name:
            self.own[name] = self.own.get(name, 0) + us
        return us

    def pipeline(self, name, depth, outside, owner=None):
        for k in range(self.random.randint(1, 5)):
            # Between passes: of the pass around them, or of none.
            us = self.spend(owner) if self.records else 0
            self.between += us if owner is None else 0
            if k == 0:
                self.run('pipeline-start', name, depth, inner=False)
            else:
                self.run(f'pass{self.random.randint(0, 6)}', name, depth, inner=depth < 3 and self.random.random() < 0.2)

    def run(self, name, pipeline, depth, inner):
        unique = f'{name}-of-{len(self.records)}' if inner else name
        record = {'name': unique, 'pipeline': pipeline, 'start': self.now}
        self.records.append(record)
        self.spend(unique)
        if inner:
            self.pipeline(unique, depth + 1, False, owner=unique)
            self.spend(unique)
        record['end'] = self.now

    def text(self):
        out = 'canonical_module_id: 3\n'
        for k, r in enumerate(self.records):
            out += (f'pass_metadata {{\n  pass_id: {k + 1}\n  pass_name: "{r["name"]}"\n  pipeline_name: "{r["pipeline"]}"\n  module_id: 3\n'
                    f'  start_timestamp_usec: {r["start"]}\n  end_timestamp_usec: {r["end"]}\n}}\n')
        return out


def alarm(name, took):
    """XLA's alarm about the folding of an instruction, and the line with its time, behind which XLA prints the alarm once more."""
    text = f"Constant folding an instruction is taking > 1s:\n\n  %{name} = f32[4]{{0}} sort(%c), dimensions={{0}}\n\nThis isn't necessarily a bug; it may be.\n"
    head = 'E1130 06:03:29.868529   28244 slow_operation_alarm.cc:'
    return f'{head}73] {text}', f'{head}140] The operation took {took}\n{text}'


class CompileTime(FolderTest):
    def times(self, path, status=0):
        done = subprocess.run([HLOSCOPE, 'info', '--json', '--compile-time', path], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        text = subprocess.run([HLOSCOPE, 'info', '--compile-time', path], capture_output=True, text=True, timeout=60)
        self.assertEqual(text.returncode, status)
        return json.loads(done.stdout)

    def test_damaged_lines_are_named(self):
        """Of a log whose lines lost bytes: how many, and the first."""
        head = 'I1129 05:31:49.108193   7 x.cc:176] '
        lines = [head + one for one in ('Running HLO pass pipeline on module jit_f: outer', '  HLO pass dce',
                                        'HLO pass: dce time: 1 us (1 us) (cumulative: 9 us, max: 5 us, #called: 2)')]
        for damaged in ('HLO pa\x01\x02: dce time: 1 us (1 us) (cumulative: 9 us, max: 5 us, #called: 2)', 'HLO pass: dce time: 1 us (1 us) (cumul',
                        'HLO pass: dce time: 1 us (1 us)'):
            path = os.path.join(self.folder, 'stderr.log')
            for text, count in (('\n'.join(lines) + '\n', 0), ('\n'.join([*lines, head + damaged, head + damaged]) + '\n', 2)):
                with open(path, 'w', encoding='utf-8') as file:
                    file.write('progress \x08\x08 50 %\r\n' + text)
                warnings = self.times(path)['warnings']
                self.assertEqual(warnings, [] if count == 0 else [f'{path}:5: a damaged line, the first of 2: times that it may have held are not counted'])
        # A log that breaks off with the first bytes of a line.
        for end, count in (('', 0), ('I', 1), ('I11', 1), ('W1129 0', 1), ('Done', 0), ('42', 0)):
            path = self.path('stderr.log', '\n'.join(lines) + '\n' + end)
            self.assertEqual(len(self.times(path)['warnings']), count, end)

    def dump(self, files):
        os.makedirs(self.path('dump'), exist_ok=True)
        for name, text in files.items():
            self.path(os.path.join('dump', name), text)
        return self.path('dump')

    def metadata(self, text, **stages):
        return self.dump({'module_0003.m.before_optimizations.txt': stage({1: 3}), 'module_0003.metadata.textproto': text})

    def test_self_times_sum_to_the_span(self):
        for seed in range(60):
            passes = Pipelines(seed)
            module, = self.times(self.metadata(passes.text()))['modules']
            us = {p['pass']: round(p['ms'] * 1000) for p in module['slowest']}
            self.assertEqual(us, {name: passes.own.get(name, 0) for name in us}, seed)
            self.assertEqual(set(us), {r['name'] for r in passes.records})
            span = passes.records and max(r['end'] for r in passes.records) - passes.start
            self.assertEqual(round(module['span_ms'] * 1000), span, seed)
            self.assertEqual(sum(us.values()) + round(module['between_ms'] * 1000), span, seed)
            self.assertEqual(round(module['between_ms'] * 1000), passes.between, seed)
            self.assertIsNone(module['backend_ms'])

    def test_records_that_overlap_or_break_off(self):
        text = ('pass_metadata { pass_name: "a" pipeline_name: "p" start_timestamp_usec: 10 end_timestamp_usec: 30 }\n'
                'pass_metadata { pass_name: "autotuner" pipeline_name: "p" start_timestamp_usec: 20 end_timestamp_usec: 50 }\n'
                'pass_metadata { pass_name: "c" pipeline_name: "p" start_timestamp_usec: 60 }\n'
                'pass_metadata { pass_name: "d" pipeline_name: "p" start_timesta')
        module, = self.times(self.metadata(text))['modules']
        self.assertEqual((module['span_ms'], module['passes_ms'], module['autotuner_ms'], module['between_ms']), (0.04, 0.02, 0.02, 0))
        notes = '\n'.join(module['notes'])
        for part in ('line 4', '1 record overlaps', '2 records without times'):
            self.assertIn(part, notes)

    def test_growth_names_pass_and_line(self):
        dump = self.dump({
            'module_0003.m.before_optimizations.txt': stage({1: 3, 2: 40}),
            'module_0003.m.0001.first.after_unroller.before_dce.txt': stage({1: 63, 2: 40}),
            'module_0003.m.0002.first.after_dce.before_algsimp.txt': stage({1: 63, 2: 30}),
            'module_0003.m.0003.second.after_unroller.before_cse.txt': stage({1: 65, 2: 30}),
            'module_0003.m.sm_9.0_gpu_after_optimizations.txt': stage({1: 65, 2: 30})})
        found = self.times(dump)
        module, = found['modules']
        by_pass = {p['pass']: p for p in module['slowest']}
        self.assertEqual((by_pass['unroller']['runs'], by_pass['unroller']['pipeline']), (2, 'first'))
        self.assertEqual((by_pass['unroller']['instructions_before'], by_pass['unroller']['instructions_after']), (45, 105))
        self.assertEqual(by_pass['unroller']['source'], 'model.py:1')
        self.assertEqual(by_pass['dce']['source'], None)
        self.assertIsNone(by_pass['dce']['ms'])
        self.assertEqual(module['growth'], [{'source': 'model.py:1', 'before': 3, 'after': 65}])
        self.assertEqual(module['largest_lines'], [{'source': 'model.py:2', 'before': 40, 'after': 30}])
        self.assertIn('times of passes', [m['what'] for m in found['missing']])

    def test_added_instructions_without_a_line_are_their_users(self):
        bare = STAGE.format('  n = f32[4]{0} tanh(p)\n  s = f32[4]{0} sine(n), metadata={op_name="x" source_file="model.py" source_line=9}\n', 's')
        more = bare.replace('sine(n)', 'sine(k)').replace('tanh(p)\n', 'tanh(p)\n  j = f32[4]{0} negate(n)\n  k = f32[4]{0} negate(j)\n')
        dump = self.dump({'module_0003.m.before_optimizations.txt': bare, 'module_0003.m.0001.first.after_expander.before_dce.txt': more,
                          'module_0003.m.sm_9.0_gpu_after_optimizations.txt': more})
        module, = self.times(dump)['modules']
        self.assertEqual(module['growth'], [{'source': 'model.py:9', 'before': 2, 'after': 4}])
        self.assertEqual(module['slowest'][0]['source'], 'model.py:9')

    def test_what_a_pass_rewrites_keeps_its_line(self):
        """Without a line itself it has that of the operation whose place it takes, not that of its user."""
        line = ', metadata={{op_name="x" source_file="model.py" source_line={}}}'
        bare = STAGE.format('  n = f32[4]{0} tanh(p)' + line.format(7) + '\n  s = f32[4]{0} sine(n)' + line.format(9) + '\n', 's').replace('{{', '{').replace('}}', '}')
        more = re.sub(r'  n = .*\n', '  j = f32[4]{0} negate(p)\n  i = f32[4]{0} negate(j)\n  k = f32[4]{0} negate(i)\n', bare).replace('sine(n)', 'sine(k)')
        module, = self.times(self.dump({'module_0003.m.before_optimizations.txt': bare, 'module_0003.m.0001.first.after_rewriter.before_dce.txt': more,
                                        'module_0003.m.cpu_after_optimizations.txt': more}))['modules']
        self.assertEqual(module['growth'], [{'source': 'model.py:7', 'before': 1, 'after': 3}])
        self.assertEqual(module['slowest'][0]['source'], 'model.py:7')

    def test_folded_constants(self):
        """What constant folding computed, with its line; of less than 64 KiB nothing is said."""
        given = ('HloModule m\n\nENTRY e {{\n  a = f32[512,{0}]{{1,0}} constant({{...}})\n  b = f32[{0},512]{{1,0}} constant({{...}})\n'
                 '  p = f32[512,512]{{1,0}} parameter(0)\n{1}'
                 '  ROOT r = f32[512,512]{{1,0}} add(d, p), metadata={{op_name="x" source_file="model.py" source_line=5}}\n}}\n')
        product = ('  d = f32[512,512]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, '
                   'metadata={op_name="x" source_file="model.py" source_line=4}\n')
        constant = '  d = f32[512,512]{1,0} constant({...})\n'
        dump = self.dump({'module_0003.m.before_optimizations.txt': given.format(8, product),
                          'module_0003.m.0001.simplification.after_constant_folding.before_dce.txt': given.format(8, constant),
                          'module_0003.m.cpu_after_optimizations.txt': given.format(8, constant)})
        folding, = [one for one in self.times(dump)['modules'][0]['slowest'] if one['pass'] == 'constant_folding']
        self.assertEqual((folding['folded_bytes'], folding['source']), (4 * (512 * 512 + 2 * 512 * 8), 'model.py:4'))
        small = {'module_0003.m.before_optimizations.txt': given.format(8, product).replace('512', '64'),
                 'module_0003.m.0001.simplification.after_constant_folding.before_dce.txt': given.format(8, constant).replace('512', '64'),
                 'module_0003.m.cpu_after_optimizations.txt': given.format(8, constant).replace('512', '64')}
        folding, = [one for one in self.times(self.dump(small))['modules'][0]['slowest'] if one['pass'] == 'constant_folding']
        self.assertEqual((folding['folded_bytes'], folding['source']), (None, None))

    def test_timer_lines(self):
        head = 'I1129 05:31:49.108193   {} x.cc:176] '
        lines = [(7, 'Running HLO pass pipeline on module jit_f: outer'), (7, '  HLO pass simplification'),
                 (7, 'Running HLO pass pipeline on module jit_f: simplification'), (7, '  HLO pass algsimp'),
                 (8, 'Running HLO pass pipeline on module jit_g: outer'), (8, '  HLO pass dce'),
                 (8, 'HLO pass: dce time: 1 us (1 us) (cumulative: 9 us, max: 5 us, #called: 2)'),
                 (7, 'HLO pass: algsimp time: 5 us (5 us) (cumulative: 5 us, max: 5 us, #called: 1)'),
                 (7, 'HLO pass: simplification time: 9 us (9 us) (cumulative: 9 us, max: 9 us, #called: 1)'),
                 (7, 'Running HLO passes on [jit_f] for CPU time: 20 us (20 us) (cumulative: 20 us, max: 20 us, #called: 1)'),
                 (9, 'Compiled LLVM module: k time: 1.5 ms (1500 us) (cumulative: 3 ms, max: 2 ms, #called: 2)'),
                 (7, 'Running HLO pass pipeline on module jit_f: late'), (7, '  HLO pass dce'),
                 (7, 'HLO pass: dce time: 2 us (2 us) (cumulative: 9 us, max: 5 us, #called: 2)'),
                 (7, 'Compiling [jit_f] for CPU using JIT time: 2 ms (2000 us) (cumulative: 2 ms, max: 2 ms, #called: 1)')]
        log = self.path('stderr.log', ''.join(head.format(thread) + text + '\n' for thread, text in lines))
        module = {m['module']: m for m in self.times(log)['modules']}['jit_f']
        self.assertEqual({p['pass']: (p['ms'], p['pipeline']) for p in module['slowest']},
                         {'algsimp': (0.005, 'simplification'), 'simplification': (0.004, 'outer'), 'dce': (0.002, 'late')})
        self.assertEqual((module['total_ms'], module['passes_ms'], module['backend_ms'], module['llvm_ms'], module['rest_ms']),
                         (2.02, 0.011, 1.998, 1.5, 0.011))

    def test_a_module_that_a_pass_compiles(self):
        head = 'I1129 05:31:49.108193   7 x.cc:176] '
        lines = ['Running HLO pass pipeline on module jit_f: outer', '  HLO pass autotuner', 'Running HLO pass pipeline on module gemm: post', '  HLO pass dce',
                 'HLO pass: dce time: 1 ms (1000 us) (cumulative: 1 us, max: 1 us, #called: 1)',
                 'HLO pass: autotuner time: 5 ms (5000 us) (cumulative: 5 ms, max: 5 ms, #called: 1)',
                 'Running HLO passes on [jit_f] for CPU time: 6 ms (6000 us) (cumulative: 20 us, max: 20 us, #called: 1)']
        modules = {m['module']: m for m in self.times(self.path('stderr.log', ''.join(head + line + '\n' for line in lines)))['modules']}
        self.assertEqual({name: [(p['pass'], p['ms']) for p in m['slowest']] for name, m in modules.items()},
                         {'jit_f': [('autotuner', 4)], 'gemm': [('dce', 1)]})
        self.assertFalse([note for m in modules.values() for note in m['notes'] if 'did not end' in note])

    def test_a_compilation_that_stopped_and_was_started_again(self):
        def run(module, *passes):
            yield f'Running HLO pass pipeline on module {module}: outer'
            for name, ms in passes:
                yield f'  HLO pass {name}'
                if ms: yield f'HLO pass: {name} time: {ms} ms ({ms}000 us) (cumulative: 1 us, max: 1 us, #called: 1)'
        def passed(module, ms): return [f'Running HLO passes on [{module}] for CPU time: {ms} ms ({ms}000 us) (cumulative: 20 us, max: 20 us, #called: 1)']
        def compiled(module, ms): return [f'Compiling [{module}] for CPU using JIT time: {ms} ms ({ms}000 us) (cumulative: 2 ms, max: 2 ms, #called: 1)']
        def log(*parts):  # each (thread, lines)
            return self.path('stderr.log', ''.join(f'I1129 05:31:49.108193   {thread} x.cc:176] {line}\n' for thread, lines in parts for line in lines))
        whole = [*run('jit_f', ('cse', 4), ('dies', 9)), *passed('jit_f', 13)]
        other = [*run('jit_g', ('a', 1), ('b', 2)), *passed('jit_g', 3), *compiled('jit_g', 2)]
        f = lambda found: [(m['total_ms'], m['passes_ms'], m['rest_ms'], len([n for n in m['notes'] if 'did not end' in n])) for m in found['modules'] if m['module'] == 'jit_f']
        stopped = list(run('jit_f', ('cse', 4), ('dies', 0)))
        for thread in (7, 8):  # in a pass, started again in the same thread or in another
            self.assertEqual(f(self.times(log((7, stopped), (7, other), (thread, whole)))), [(13, 13, 0, 0), (4, 4, 0, 1)], thread)
        # In the backend, after all passes.
        found = f(self.times(log((7, whole), (7, whole), (7, compiled('jit_f', 2)))))
        self.assertEqual(found, [(15, 13, 0, 0), (13, 13, 0, 0)])
        # A pipeline that is a pass of one, and one that a pass runs twice, begin nothing.
        inner = ['Running HLO pass pipeline on module jit_f: outer', '  HLO pass outer', *whole[:-1], 'HLO pass: outer time: 14 ms (14000 us) (cumulative: 1 us)', *passed('jit_f', 14)]
        self.assertEqual(f(self.times(log((7, inner)))), [(14, 14, 0, 0)])
        # Parts that seem longer than the whole.
        self.assertEqual(f(self.times(log((7, [*whole[:-1], *passed('jit_f', 12)])))), [(12, 13, 0, 0)])

    def test_passes_that_do_not_end(self):
        head = 'I1129 05:31:49.108193   7 x.cc:176] '
        lines = ['Running HLO pass pipeline on module jit_f: outer', '  HLO pass a', 'HLO pass: a time: 5 us (5 us) (cumulative: 5 us, max: 5 us, #called: 1)',
                 '  HLO pass b', 'HLO pass: b time: 5 us (5']
        first = '1 pass began and did not end in the log, first `b`'
        for count, expected in ((5, [first]), (4, [first]), (3, [])):
            module, = self.times(self.path('stderr.log', ''.join(head + line + '\n' for line in lines[:count])))['modules']
            self.assertEqual([note.split(':')[0].replace(self.folder + '/', '') for note in module['notes'] if 'did not end' in note], expected, count)

    def test_a_whole_time_alone(self):
        frame = '*' * 32 + '\n[Compiling module loop] Very slow compile? If you want to file a bug, …\n' + '*' * 32 + '\n'
        log = self.path('slow.log', frame + '2025-03-19 07:30:14.895694: E slow_operation_alarm.cc:140] The operation took 2m12.85s\n' + frame)
        module, = self.times(log)['modules']
        self.assertEqual((module['module'], module['total_ms'], module['slowest']), ('loop', 132850, []))
        log = self.path('jax.log', 'Finished XLA compilation of jit(step) in 1.25 sec\n')
        module, = self.times(log)['modules']
        self.assertEqual((module['module'], module['total_ms']), ('jit_step', 1250))
        self.times(self.path('other.txt', 'nothing\n'), status=2)
        dump = self.dump({'module_0003.jit_f.before_optimizations.txt': stage({1: 3}).replace('HloModule m', 'HloModule jit_f'),
                          'module_0003.jit_f.cpu_after_optimizations.txt': stage({1: 2}).replace('HloModule m', 'HloModule jit_f'),
                          'stderr.log': 'Finished XLA compilation of jit(f) in 1.25 sec\n'})
        found = self.times(dump)
        self.assertEqual([(m['total_ms'], m['measured_by']) for m in found['modules']], [(1250, 'the whole time in stderr.log')])
        self.assertIn('only with these variables (`hloscope record` passes them on and keeps the log, `hloscope compile --timers` sets them)', json.dumps(found['missing']))

    def test_alarms_about_folding(self):
        """The times of XLA's alarm are those of constant folding, in the compilation that ends next, with the line of the instruction."""
        first, second = ''.join(alarm('sort.7', '1m26.5s')), ''.join(alarm('b.2', '2s'))
        jax = 'Finished XLA compilation of jit(f) in 97.5 sec\nFinished XLA compilation of jit(g) in 1 sec\n'
        modules = self.times(self.path('fold.log', first + second + jax))['modules']
        f, g = modules
        self.assertEqual((f['module'], f['total_ms'], f['passes_ms'], f['rest_ms']), ('jit_f', 97500, 88500, 9000))
        self.assertEqual([(one['pass'], one['ms']) for one in f['slowest']], [('constant_folding', 88500)])
        self.assertIn("constant_folding computed sort.7 for 86.5 s, as XLA's alarm says", f['notes'])
        self.assertEqual((g['module'], g['total_ms'], g['slowest']), ('jit_g', 1000, []))
        # Inside of the alarm about the compilation; XLA prints each once more behind its time.
        frame = '*' * 32 + '\n[Compiling module jit_f] Very slow compile?\n' + '*' * 32 + '\n'
        begins, ends = alarm('sort.7', '90s')
        log = 'x.cc:1] \n' + frame + begins + ends + 'x.cc:2] The operation took 2m5s\n' + frame
        module, = self.times(self.path('both.log', log))['modules']
        self.assertEqual((module['total_ms'], module['passes_ms'], module['slowest'][0]['ms']), (125000, 90000, 90000))
        text = stage({1: 3}).replace('HloModule m', 'HloModule jit_f')
        name = next(line.split(' = ')[0].strip().lstrip('%') for line in text.splitlines() if 'source_line' in line)
        dump = self.dump({'module_0003.jit_f.before_optimizations.txt': text, 'module_0003.jit_f.cpu_after_optimizations.txt': text,
                          'module_0003.jit_f.0001.simplification.after_cse.before_constant_folding.txt': text,
                          'module_0003.jit_f.0002.simplification.after_constant_folding.before_dce.txt': text.replace('negate(', 'abs('),
                          'stderr.log': ''.join(alarm(name, '5s')) + 'Finished XLA compilation of jit(f) in 9 sec\n'})
        module, = self.times(dump)['modules']
        self.assertEqual((module['slowest'][0]['pass'], module['slowest'][0]['ms'], module['slowest'][0]['source'] != ''), ('constant_folding', 5000, True))

    def test_alarms_of_several_threads(self):
        """The text behind a time says whose it is, whichever alarm came last."""
        (a, a_ends), (b, b_ends), (c, c_ends) = alarm('sort.7', '2s'), alarm('b.2', '29s'), alarm('c', '4s')
        whole = 'Finished XLA compilation of jit(f) in 60 sec\n'
        for log in (a + b + a_ends + b_ends, a + b + b_ends + a_ends, b + a + b_ends + a_ends, a + b + a_ends + c + c_ends + b_ends,
                    a + c + b + c_ends + a_ends + b_ends):
            module, = self.times(self.path('fold.log', log + whole))['modules']
            notes = [note for note in module['notes'] if 'alarm' in note]
            names = [('b.2', 29), ('c', 4), ('sort.7', 2)] if c in log else [('b.2', 29), ('sort.7', 2)]
            self.assertEqual(notes, [f"constant_folding computed {name} for {s:.1f} s, as XLA's alarm says" for name, s in names])
        # Begun before the log.
        module, = self.times(self.path('fold.log', c_ends + a + b + a_ends + b_ends + whole))['modules']
        self.assertEqual(module['passes_ms'], 35000)
        frames = {name: '*' * 32 + f'\n[Compiling module {name}] Very slow compile?\n' + '*' * 32 + '\n' for name in ('jit_f', 'jit_g')}
        ends = {name: f'x.cc:2] The operation took {s}s\n{frames[name]}' for name, s in (('jit_f', 10), ('jit_g', 20))}
        for order in (('jit_f', 'jit_g'), ('jit_g', 'jit_f')):
            found = self.times(self.path('both.log', frames['jit_f'] + frames['jit_g'] + ''.join(ends[name] for name in order)))
            self.assertEqual([(m['module'], m['total_ms']) for m in found['modules']], [('jit_g', 20000), ('jit_f', 10000)])

    def test_foldings_beyond_the_compilation(self):
        """A log of several compilations does not say of which one a folding is: no more is taken than it took."""
        for whole, passes, left in ((60, 34000, []), (30, 29000, ['2 foldings of 5.0 s', 'are', 'them', 'they are']), (5, 5000, ['1 folding of 29.0 s', 'is', 'it', 'it is']),
                                    (1, None, ['3 foldings of 34.0 s', 'are', 'them', 'they are'])):
            log = ''.join(''.join(alarm(name, took)) for name, took in (('a', '2s'), ('b', '29s'), ('c', '3s')))
            module, = self.times(self.path('fold.log', f'{log}Finished XLA compilation of jit(f) in {whole} sec\n'))['modules']
            self.assertEqual((module['total_ms'], module['passes_ms'], len(module['slowest'])), (1000 * whole, passes, int(passes is not None)))
            self.assertEqual([note for note in module['notes'] if 'left out' in note], left and [
                "{} that XLA's alarm timed {} left out: with {} constant_folding would take longer than the whole compilation, "
                'and the log does not say of which compilation {}'.format(*left)])

    def test_many_foldings(self):
        """The longest are named, the others counted."""
        for count, more in ((5, []), (6, ['1 more instruction for 1.0 s']), (40, ['35 more instructions for 630.0 s'])):
            log = ''.join(''.join(alarm(f'c.{s}', f'{s}s')) for s in range(1, count + 1))
            module, = self.times(self.path('fold.log', f'{log}Finished XLA compilation of jit(f) in 1000 sec\n'))['modules']
            self.assertEqual(module['notes'], [f"constant_folding computed {what}, as XLA's alarm says"
                                               for what in [*(f'c.{s} for {s:.1f} s' for s in range(count, count - 5, -1)), *more]])
            self.assertEqual(module['passes_ms'], 500 * count * (count + 1))

    def test_compilations_of_one_name(self):
        """JAX's lines alone: each ends another compilation, also where the name of the module is not that of the function."""
        seconds = [0.4, 0.2, 0.3]
        for function, name in (('f', 'jit_f'), ('<lambda>', 'jit__lambda'), ('<lambda>', 'jit__lambda_'), ('f.<locals>.g', 'jit_f._locals_.g')):
            with self.subTest(name):
                shutil.rmtree(self.path('dump'), ignore_errors=True)
                files = {f'module_{2 * k:04}.{name}.cpu_after_optimizations.txt': stage({1: 3}) for k in range(3)}
                files['stderr.log'] = ''.join(f'Finished XLA compilation of jit({function}) in {one} sec\n' for one in seconds)
                found = self.times(self.dump(files))
                self.assertEqual({m['module']: m['total_ms'] for m in found['modules']}, {f'module_{2 * k:04}.{name}': 1e3 * one for k, one in enumerate(seconds)})
                self.assertAlmostEqual(found['total_ms'], 900)
                self.assertNotIn('by their order', json.dumps(found))
                # One that came from a cache left no module.
                files['stderr.log'] += f'Finished XLA compilation of jit({function}) in 0.1 sec\n'
                found = self.times(self.dump(files))
                self.assertIn('the dump has 3 modules of this name, its logs 4 compilations: times are by their order', json.dumps(found['modules'][0]['notes']))

    def test_timers_and_whole_times_of_one_name(self):
        runs = ''.join('I1129 05:31:49.1 7 a.cc:1] Running HLO pass pipeline on module jit_f: p\n'
                       f'I1129 05:31:49.1 7 a.cc:2] HLO pass dce\nI1129 05:31:49.1 7 a.cc:3] HLO pass: dce time: {k} us ({k} us) (cumulative: 9 us)\n'
                       f'Finished XLA compilation of jit(f) in 0.00{k} sec\n' for k in (5, 3))
        found = self.times(self.path('two.log', runs))
        self.assertEqual([(m['passes_ms'], m['total_ms']) for m in found['modules']], [(0.005, 5), (0.003, 3)])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
