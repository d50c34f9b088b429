#!/usr/bin/env python3
"""Reduces the modules of reduce_cases.py: to at most 1.5 times the smallest known, the same twice, and failing as before.

  reduce_test.py HLOSCOPE FAULT_PLUGIN [CASE…]   with cases named, a table of figures"""
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), 'app')]
from command_tests import plugin_of, write_npz
from reduce_cases import CASES

HLOSCOPE, FAULT_PLUGIN, NAMED = sys.argv[1], sys.argv[2], sys.argv[3:]
SLOW = ('sliced', 'single', 'summed', 'looped', 'nested', 'endless')  # of the table alone


def reduce(case, folder, plugin, jobs):
    module, out = os.path.join(folder, case.name + '.hlo'), os.path.join(folder, f'{case.name}.{jobs}.hlo')
    with open(module, 'w') as f:
        f.write(case.text)
    options = list(case.options)
    environment = dict(os.environ, **case.environment)
    if case.platform == 'fault':
        options += ['--platform', 'pjrt:' + FAULT_PLUGIN]
        environment['HLOSCOPE_FAULT_PLUGIN'] = plugin
    if case.script:
        script = os.path.join(folder, case.name + '.sh')
        with open(script, 'w') as f:
            f.write(case.script)
        os.chmod(script, 0o755)
        options += ['--script', script]
    done = subprocess.run([HLOSCOPE, 'reduce', module, '-o', out, '--json', '--jobs', str(jobs)] + options,
                          capture_output=True, text=True, env=environment)
    assert done.stdout.count('\n') == 1, done
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report['status'] == 'reduced', done
    with open(out) as f:
        text = f.read()
    return report, text, environment


def replay(report, case, environment):
    command = report['command'].replace('hloscope ', HLOSCOPE + ' ', 1)
    done = subprocess.run(['sh', '-c', command + ('' if case.script else ' --json')], capture_output=True, text=True, env=environment)
    status = done.returncode if case.script else json.loads(done.stdout.splitlines()[-1])
    expected = {'differs': lambda s: s['status'] == 'differs', 'nan': lambda s: s['first_nonfinite'],
                'script': lambda s: s == 0, 'error': lambda s: s['status'] in ('error', 'unsupported')}
    fails = expected.get(case.kind, lambda s: s['status'] == 'died')(status)
    assert fails, (command, done)


def check_stop(folder, bad):
    """Ctrl+C leaves the smallest so far, and says so."""
    module, out, script = (os.path.join(folder, name) for name in ('stop.hlo', 'stop.out.hlo', 'stop.sh'))
    with open(module, 'w') as f:
        f.write(CASES[0].text)
    with open(script, 'w') as f:
        f.write('#!/bin/sh\nsleep 0.1\ngrep -q " tanh(" "$1"\n')
    os.chmod(script, 0o755)
    child = subprocess.Popen([HLOSCOPE, 'reduce', module, '-o', out, '--json', '--jobs', '1', '--script', script],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not os.path.exists(out) and child.poll() is None:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    report = json.loads(child.communicate()[0])
    if child.returncode != 0 or report['status'] != 'reduced' or report['instructions'] >= report['instructions_before']:
        bad.append(f'stopped: {report}')
    done = subprocess.run([HLOSCOPE, 'verify', out], capture_output=True, text=True)
    if done.returncode != 0:
        bad.append(f'stopped: {done}')


def check_refusals(folder, bad):
    """What does not fail, and what cannot be asked for."""
    module, script = os.path.join(folder, 'sound.hlo'), os.path.join(folder, 'never.sh')
    with open(module, 'w') as f:
        f.write('HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\n')
    with open(script, 'w') as f:
        f.write('#!/bin/sh\nexit 1\n')
    os.chmod(script, 0o755)
    out = os.path.join(folder, 'none.hlo')
    for options, status, code in (([], 'not_failing', 1), (['--script', script], 'not_failing', 1),
                                  (['--script', os.path.join(folder, 'absent')], 'error', 2),
                                  (['--minutes', '0'], 'error', 2), (['--platform', 'nowhere'], 'error', 2)):
        done = subprocess.run([HLOSCOPE, 'reduce', module, '-o', out, '--json'] + options, capture_output=True, text=True)
        report = json.loads(done.stdout)
        if (report['status'], done.returncode) != (status, code) or os.path.exists(out):
            bad.append(f'{options}: {done}')
    # Expected results that do not fit, and some that no platform here gives.
    with open(module, 'w') as f:
        f.write('HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] negate(x)\n}\n')
    expected = os.path.join(folder, 'expected.npz')
    for count, words in ((3, f'{expected}: out0: the array is [3], expected f32[2]'),
                         (2, 'the expected results are not those of interpreter, which agrees with cpu: result {} differs')):
        write_npz(expected, {'out0': ('<f4', (count,), struct.pack(f'<{count}f', *[7] * count))})
        done = subprocess.run([HLOSCOPE, 'reduce', module, '-o', out, '--platform', 'cpu', '--expect', expected], capture_output=True, text=True)
        if done.returncode != 2 or words not in done.stderr or 'does not repeat' in done.stderr:
            bad.append(f'{words}: {done}')


def check_nonfinite(folder, bad):
    """What was looked for is named once: a NaN or an infinity."""
    module, out = os.path.join(folder, 'inf.hlo'), os.path.join(folder, 'inf.small.hlo')
    for find, root, words in (('inf', 'multiply(b, b)', 'fails with infinity of multiply\n'), ('nan', 'sqrt(n)', 'fails with nan of sqrt\n')):
        with open(module, 'w') as f:
            f.write('HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  k = f32[] constant(3e38)\n  b = f32[2] broadcast(k), dimensions={}\n'
                    f'  n = f32[2] negate(b)\n  ROOT r = f32[2] {root}\n}}\n')
        done = subprocess.run([HLOSCOPE, 'reduce', module, '-o', out, '--find', find], capture_output=True, text=True)
        if words not in done.stdout:
            bad.append(f'{find}: {done}')


def check_sentences(folder, bad):
    """The failure that is reported is that of the command, whose inputs come from the seed."""
    module, out, inputs = (os.path.join(folder, name) for name in ('exp.hlo', 'exp.small.hlo', 'x.npz'))
    with open(module, 'w') as f:
        f.write('HloModule m\nENTRY e {\n  x = f32[64]{0} parameter(0)\n  y = f32[64]{0} parameter(1)\n  s = f32[64]{0} add(x, y)\n'
                '  t = f32[64]{0} tanh(s)\n  ROOT c = f32[64]{0} cosine(t)\n}\n')
    values = [0.37 * k - 11 for k in range(64)]
    write_npz(inputs, {f'in{k}': ('<f4', (64,), struct.pack('<64f', *values)) for k in range(2)})
    options = ['--platform', 'cpu', '--reference_platform', 'interpreter', '--abs_error_bound', '0', '--rel_error_bound', '0']
    for given in ([], ['--inputs', inputs], ['--iterations', '3', '--seed', '5']):
        done = subprocess.run([HLOSCOPE, 'reduce', module, '-o', out, '--json', *options, *given], capture_output=True, text=True)
        report = json.loads(done.stdout)
        if report['status'] != 'reduced':
            bad.append(f'sentences: {done}')
            continue
        ran = subprocess.run(['sh', '-c', report['command'].replace('hloscope ', HLOSCOPE + ' ', 1) + ' --json'], capture_output=True, text=True)
        found = json.loads(ran.stdout.splitlines()[-1])['outputs'][0]
        first = found['first_mismatch']
        text = f"differs in {found['mismatched']} of {found['elements']} element{'s' * (found['elements'] != 1)}: {first['actual']} at {first['index']}, expected {first['expected']}"
        if text not in report['failure']['text']:
            bad.append(f'sentences {given}: {report["failure"]["text"]}, and {report["command"]} gives {text}')


def check_deadlines(folder, bad):
    """A script that needs too long is an error of the first try and is counted in the search; what it started goes with it."""
    module, out, script, pids = (os.path.join(folder, name) for name in ('slow.hlo', 'slow.out.hlo', 'slow.sh', 'pids'))
    with open(module, 'w') as f:
        f.write('HloModule m\nENTRY e {\n  x = f32[4]{0} parameter(0)\n  t = f32[4]{0} tanh(x)\n  ROOT n = f32[4]{0} negate(t)\n}\n')

    def run(body, *options):
        with open(script, 'w') as f:
            f.write(f'#!/bin/sh\n{body}\n')
        os.chmod(script, 0o755)
        return subprocess.run([HLOSCOPE, 'reduce', module, '-o', out, '--json', '--jobs', '1', '--script', script, *options],
                              capture_output=True, text=True)

    done = run(f'sleep 1000 & echo $! >> {pids}; wait', '--deadline', '0.2')
    report = json.loads(done.stdout)
    if report['status'] != 'error' or done.returncode != 4 or 'the deadline of 0.2 s' not in report['error'] or '--deadline' not in report['error']:
        bad.append(f'a slow script: {done}')
    with open(pids) as f:
        for pid in f.read().split():
            end = time.monotonic() + 30
            while time.monotonic() < end and os.path.exists(f'/proc/{pid}') and ') Z ' not in open(f'/proc/{pid}/stat').read():
                time.sleep(0.05)
            if time.monotonic() >= end:
                bad.append(f'a child of the script goes on: {pid}')
    done = run('grep -q " tanh(" "$1" || sleep 1000', '--deadline', '2')
    report = json.loads(done.stdout)
    if report['status'] != 'reduced' or report['timed_out'] == 0 or not any('longer than the deadline of 2 s' in w for w in report['warnings']):
        bad.append(f'a script slow on some: {done}')


def main():
    plugin = plugin_of(HLOSCOPE, 'xla-cpu')
    bad, skipped = [], 0
    if NAMED:
        print('| case | failure | before | after | smallest known | seconds | tries |\n|---|---|---|---|---|---|---|')
    for case in CASES:
        if (case.name not in NAMED and 'all' not in NAMED) if NAMED else case.name in SLOW:
            continue
        if case.platform and plugin is None:
            skipped += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            report, text, environment = reduce(case, folder, plugin, 2)
            replay(report, case, environment)
            # Those that compile take long: the second time only where a table is wanted.
            text_again = reduce(case, folder, plugin, 1)[1] if NAMED or not case.platform else text
            if text != text_again:
                bad.append(f'{case.name}: another result the second time:\n{text}\n{text_again}')
        if report['failure']['kind'] != case.kind:
            bad.append(f'{case.name}: {report["failure"]}')
        if report['instructions_before'] < 300 or report['instructions'] > 1.5 * case.smallest:
            bad.append(f'{case.name}: {report["instructions"]} of {report["instructions_before"]} instructions, {case.smallest} known:\n{text}')
        if NAMED:
            print(f'| {case.name} | {report["failure"]["fingerprint"]} | {report["instructions_before"]} | {report["instructions"]} | '
                  f'{case.smallest} | {report["seconds"]:.1f} | {report["tries"]} |', flush=True)
    if not NAMED:
        with tempfile.TemporaryDirectory() as folder:
            check_stop(folder, bad)
            check_refusals(folder, bad)
            check_nonfinite(folder, bad)
            check_sentences(folder, bad)
            check_deadlines(folder, bad)
    for line in bad:
        print(line)
    if skipped:
        print(f'{skipped} cases skipped: no XLA:CPU plugin')
    sys.exit(1 if bad else 0)


main()
