#!/usr/bin/env python3
"""Files that answers are read from, cut, emptied, overwritten or with bytes taken out: nothing dies, and what is lost is named.

  mutated_files_test.py HLOSCOPE SAMPLES [--mutations N] [--seed S] [--only KIND] [--report]

A kind of file is a row of kinds(): the files of a dump, the one that is changed, the command, and how many things its answer has. An answer with
fewer has to say so: in a warning, note or error that the answer from the intact file has not. A cut between two records leaves a complete file."""
import argparse
import collections
import concurrent.futures
import gzip
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

parser = argparse.ArgumentParser()
parser.add_argument('hloscope')
parser.add_argument('samples')
parser.add_argument('--mutations', type=int, default=4)
parser.add_argument('--seed', type=int, default=48)
parser.add_argument('--only', help='kinds of files with this in their name')
parser.add_argument('--report', action='store_true')
ARGS = parser.parse_args()

import autotuning_test
import compile_time_test
import why_test

HLOSCOPE = os.path.abspath(ARGS.hloscope)
Kind = collections.namedtuple('Kind', 'name files changed command count')  # changed: a name, or several of which one is chosen


def sample(name):
    """The files of a sample, unpacked."""
    out = {}
    folder = os.path.join(ARGS.samples, name)
    for file in sorted(os.listdir(folder)):
        if os.path.isfile(os.path.join(folder, file)):
            with (gzip.open if file.endswith('.gz') else open)(os.path.join(folder, file), 'rb') as data:
                out[file.removesuffix('.gz')] = data.read()
    return out


def one_with(files, end):
    return next(name for name in files if name.endswith(end))


def packed(files, kind):
    out = io.BytesIO()
    if kind == '.zip':
        with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    else:
        with tarfile.open(fileobj=out, mode='w:gz') as archive:
            for name, text in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


def fusion_log():
    line = 'I1129 08:58:58.57 7 instruction_fusion.cc:{}] {}\n'
    return ''.join(line.format(*one) for one in [
        (1142, "Evaluating fusion: producer 'b' into consumer 'c'."), (848, 'Fusing %b = f32[64]{0} exponential(%a) into %c = f32[64]{0} tanh(%b)'),
        (855, '       created new fusion: %fusion.1 = f32[64]{0} fusion(%a), kind=kLoop, calls=%fused'),
        (848, 'Fusing %a = f32[64]{0} negate(%x) into %fusion.1 = f32[64]{0} fusion(%a), kind=kLoop, calls=%fused')])


def timer_log():
    head = 'I1129 05:31:49.108193   7 x.cc:176] '
    lines = ['Running HLO pass pipeline on module jit_f: outer', '  HLO pass algsimp', 'HLO pass: algsimp time: 5 us (5 us) (cumulative: 5 us, max: 5 us, #called: 1)',
             '  HLO pass dce', 'HLO pass: dce time: 1 us (1 us) (cumulative: 9 us, max: 5 us, #called: 2)',
             'Running HLO passes on [jit_f] for CPU time: 20 us (20 us) (cumulative: 20 us, max: 20 us, #called: 1)',
             'Compiling [jit_f] for CPU using JIT time: 2 ms (2000 us) (cumulative: 2 ms, max: 2 ms, #called: 1)']
    return ''.join(head + line + '\n' for line in lines)


def kinds():
    module = 'module_0001.m.'
    tuned = {'module_0001.jit_f.before_optimizations.txt': autotuning_test.MODULE.format(m=16, k=16, split=1, cublas=0),
             'module_0001.jit_f.sm_9.0_gpu_after_optimizations.txt': autotuning_test.MODULE.format(m=64, k=16, split=1, cublas=0)}
    records = 'version: 3\n' + ''.join(autotuning_test.RECORD.format(hlo=body, time='nanos: 12500', version=45)
                                       for body in [autotuning_test.BODY] + [f'{{\\n  other{k}\\n}}' for k in range(6)])
    passes = compile_time_test.Pipelines(3)
    stages = {module.replace('0001', '0003') + 'before_optimizations.txt': compile_time_test.stage({1: 3})}
    escaped = why_test.BEFORE.replace('"', '\\"').replace('\n', '\\n')
    fused = {module + 'before_optimizations.txt': why_test.BEFORE, module + 'sm_9.0_gpu_after_optimizations.txt': why_test.AFTER,
             module + '0001.fusion.after_pipeline-start.before_priority-fusion.txt': why_test.BEFORE,
             module + '0002.fusion.after_priority-fusion.before_cse.txt': why_test.AFTER}
    attention, trained = sample('attention_block_h100'), sample('mlp_train_step')
    texts = {name: data for name, data in attention.items() if not name.endswith('_after_optimizations.hlo.pb')}  # the proto has the buffers too
    reports = {name: data for name, data in texts.items() if 'buffer-assignment' not in name and 'live-range' not in name}
    tpu = {f'module_0021.jit_f.{name}': text for name, text in (
        ('before_optimizations.txt', why_test.BEFORE), ('tpu_comp_env.txt', 'xla_tpu_spmd_threshold: 8\nxla_jf_rematerialization: true\n'),
        ('target_arguments.txt', 'platform: "v6e"\ntopology: "2x2"\n'), ('execution_options.txt', 'num_replicas: 1\nnum_partitions: 4\n'),
        ('flagfile', '--xla_tpu_enable_async=true\n'), ('hlo_module_config.txt', 'seed: 5\nreplica_count: 1\n'))}
    plane = sample('gpt_train_step')
    with gzip.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'profiler', 'compilation.xplane.pb.gz')) as file:
        compilation = file.read()

    def times(found):
        return sum(len(one['slowest']) for one in found['modules'])

    def memory(found):
        return sum(len(one['holders']) + one['left_out'] for one in found['modules']) + sum(one['peak_bytes'] is not None for one in found['modules'])

    def described(found):
        return len(found['files']) + sum(one['instructions'] or 0 for m in found['modules'] for one in m['stages']) + sum(m['peak_bytes'] is not None for m in found['modules'])

    def thunks(found):
        """All that is told of them and of the kernels that they launch."""
        told = [one for m in found['modules'] for one in (m['thunks'] or []) + (m['kernels'] or [])]
        return sum(value is not None for one in told for value in one.values())

    info = ['info', '.', '--json', '--no-cache']
    for name, files, changed, command, count in (
            ('autotune results', tuned | {'module_0001.jit_f.autotune_results.pbtxt': records}, 'module_0001.jit_f.autotune_results.pbtxt', [*info[:3], '--autotuning'],
             lambda found: len(found['records']) + sum(c['record'] != 'module only' for c in found['choices'])),
            ('autotune logs', {'logs.txt': autotuning_test.LOGS}, 'logs.txt', ['info', 'logs.txt', '--json', '--autotuning'],
             lambda found: sum(len(r['config']) > 0 for r in found['records']) + sum(r['candidates'] + r['failed'] for r in found['records'])),
            ('autotune cache', {'cache.txt': autotuning_test.CACHE + autotuning_test.CACHE.split('\n', 1)[1]}, 'cache.txt', ['info', 'cache.txt', '--json', '--autotuning'],
             lambda found: len(found['records'])),
            ('pass metadata', stages | {'module_0003.metadata.textproto': passes.text()}, 'module_0003.metadata.textproto', [*info[:3], '--compile-time'], times),
            ('timer log', {'stderr.log': timer_log()}, 'stderr.log', ['info', 'stderr.log', '--json', '--compile-time'], times),
            ('priority fusion', fused | {module + 'priority_fusion_dump.txt': ''.join(why_test.STEPS) + f'hlo_module_before_fusion: "{escaped}"\n'},
             module + 'priority_fusion_dump.txt', ['why', '.', 'fusion.1', '--json'], lambda found: len(found['because'])),
            ('fusion log', {module + 'before_optimizations.txt': why_test.BEFORE, module + 'cpu_after_optimizations.txt': why_test.AFTER, 'stderr.log': fusion_log()},
             'stderr.log', ['why', '.', 'fusion.1', '--json'], lambda found: len(found['because'])),
            ('buffer assignment', texts, one_with(texts, '-buffer-assignment.txt'), [*info[:3], '--memory'], memory),
            ('buffer values', texts, one_with(texts, '-buffer-assignment-values.txt'), [*info[:3], '--memory'], memory),
            ('live ranges', texts, one_with(texts, '-live-range.txt'), [*info[:3], '--memory'], lambda found: sum(m['live_peak_bytes'] is not None for m in found['modules'])),
            ('buffer assignment proto', trained, one_with(trained, 'after_optimizations.hlo.pb'), info, described),
            ('memory report', reports, one_with(reports, 'memory-usage-report.txt'), info, described),
            ('XSpace', {'t.xplane.pb': plane[one_with(plane, '.xplane.pb')]}, 't.xplane.pb', ['profile', 't.xplane.pb', '--json'], lambda found: len(found['instructions'])),
            ('thunk sequence', attention, one_with(attention, 'thunk_sequence.txt'), info, thunks),
            ('thunk metadata', attention, one_with(attention, 'thunk_metadata.txt'), info, thunks),
            ('XSpace of a compilation', {'t.xplane.pb': compilation}, 't.xplane.pb', ['info', 't.xplane.pb', '--json', '--compile-time'],
             lambda found: sum(one['runs'] for m in found['modules'] for one in m['slowest'])),
            ('several modules', {'all.hlo': (why_test.BEFORE + '\n// -----\n') * 3}, 'all.hlo', ['verify', 'all.hlo', '--json'], lambda found: found['modules']),
            ('zip', {'dump.zip': packed(tuned, '.zip')}, 'dump.zip', ['info', 'dump.zip', '--json', '--no-cache'], described),
            ('tar.gz', {'dump.tar.gz': packed(tuned, '.tar.gz')}, 'dump.tar.gz', ['info', 'dump.tar.gz', '--json', '--no-cache'], described),
            ('files of XLA:TPU', tpu, list(tpu)[1:], info, described)):
        yield Kind(name, files, changed, command, count)


def is_complete(name, data):
    """Whether a cut file looks whole: after a line or a message, and no brace is open."""
    if not data or name.endswith(('.pb', '.zip', '.gz')):
        return False
    if name.endswith('.hlo') and data.rstrip(b'-/ \n').endswith(b'}'):
        data = data.rstrip(b'-/ \n') + b'\n'  # in the mark between two modules
    text = re.sub(rb'"(?:[^"\\\n]|\\.)*"', b'', data)
    return data.endswith((b'\n', b'}')) and text.count(b'{') <= text.count(b'}')


def mutated(rng, data):
    """What was done, and the bytes."""
    at = rng.randrange(len(data))
    how = rng.choice(('cut', 'cut', 'hole', 'noise', 'noise', 'empty', 'foreign', 'twice'))
    size = rng.randint(1, 200)
    return how, {'cut': data[:at], 'hole': data[:at] + data[at + size:], 'noise': data[:at] + rng.randbytes(16) + data[at + 16:], 'empty': b'',
                 'foreign': rng.randbytes(len(data)), 'twice': data[:at + size] + data[at:]}[how]


def answer(kind, folder):
    """Exit status, what the answer counts (None: it has none), and its words without numbers."""
    done = subprocess.run([HLOSCOPE, *kind.command], cwd=folder, capture_output=True, timeout=120, check=False)
    text = done.stdout.decode('utf-8', 'strict')
    try:
        rows = [json.loads(line) for line in text.splitlines()]
        found = rows[0] if len(rows) == 1 and kind.command[0] != 'verify' else {'modules': sum('error' not in row for row in rows)}
        count = kind.count(found)
    except (KeyError, IndexError):
        rows, count = [], None
    words = [done.stderr.decode('utf-8', 'replace')]

    def collect(value, key=''):
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            name = name if isinstance(value, dict) else key
            if isinstance(one, (dict, list)):
                collect(one, name)
            elif key == 'unattributed':  # events without an instruction
                words.append(f'{name} {one}')
            elif name in ('notes', 'warnings', 'error', 'errors', 'message', 'what', 'why', 'status', 'hint', 'reason'):
                words.append(str(one))
    collect(rows)
    return done.returncode, count, {re.sub(r'\d+', '', word) for word in words if word}


class Mutated(unittest.TestCase):
    def test_what_is_lost_is_named(self):
        unnamed, table = [], collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            chosen = [kind for kind in kinds() if (ARGS.only or '') in kind.name]
            list(pool.map(lambda kind: self.changes(kind, unnamed, table), chosen))
        self.assertEqual(unnamed, [])

    def changes(self, kind, unnamed, table):
        rng = random.Random(f'{ARGS.seed} {kind.name}')
        with tempfile.TemporaryDirectory() as folder:
            for name, data in kind.files.items():
                with open(os.path.join(folder, name), 'wb') as file:
                    file.write(data.encode() if isinstance(data, str) else data)
            status, all_of_it, known = answer(kind, folder)
            self.assertIn(status, (0, 1), kind.name)
            self.assertTrue(all_of_it, kind.name)
            for k in range(ARGS.mutations):
                name = kind.changed if isinstance(kind.changed, str) else rng.choice(kind.changed)
                path = os.path.join(folder, name)
                with open(path, 'rb') as file:
                    whole = file.read()
                how, data = mutated(rng, whole)
                with open(path, 'wb') as file:
                    file.write(data)
                status, count, words = answer(kind, folder)
                self.assertIn(status, (0, 1, 2, 3), f'{kind.name} {k}: {how}: {words}')
                lost = count is None or count < all_of_it
                table[kind.name, 'lost' if lost else 'same'] += 1
                may_be_silent = how in ('hole', 'twice') or how == 'cut' and is_complete(name, data)
                if lost and not words - known and not may_be_silent:
                    unnamed.append(f'{kind.name} {k}: {how}: {count} of {all_of_it}')
                    if ARGS.report:
                        shutil.copy(path, os.path.join(tempfile.gettempdir(), f'unnamed_{len(unnamed)}'))
                with open(path, 'wb') as file:
                    file.write(whole)
        if ARGS.report:
            print(f'{kind.name}: {table[kind.name, "lost"]} lost something, {table[kind.name, "same"]} nothing', *unnamed, sep='\n', flush=True)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
