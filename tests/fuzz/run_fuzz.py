#!/usr/bin/env python3
"""Runs every fuzz target under libFuzzer: run_fuzz.py BUILD RESULTS [--resume] [TARGET...].

Each runs for HLOSCOPE_FUZZ_SECONDS, 600 by default, one on each processor at a time. RESULTS gets the lines that tests/run_tests.py
writes, with the inputs tried and the edges covered; an input that fails is kept beside it as TARGET-crash-..., and the corpus of a
target, which grows with every run, in BUILD/corpus/TARGET."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import run_tests  # noqa: E402

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
SEEDS = [os.path.join(ROOT, folder) for folder in ('samples', 'tests/golden', 'tests/corpus', 'tests/fuzz/seeds', 'tests/dump/exports')]
SECONDS = int(os.environ.get('HLOSCOPE_FUZZ_SECONDS', '600'))
# Of an input, with everything it may ask of a machine shared with others.
INPUT_S, INPUT_MB, INPUT_BYTES = 60, 4096, 1 << 16


def targets(driver):
    """The names that the driver lists."""
    listed = subprocess.run([driver], capture_output=True, text=True, check=False).stderr
    return re.findall(r'^  (\w+)', listed.split('targets:\n')[1], re.M)


def last_number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def fuzz(build, results, target):
    """The record of one run of a target."""
    corpus, seeds = f'{build}/corpus/{target}', f'{build}/seeds/{target}'
    for folder in (corpus, seeds):
        os.makedirs(folder, exist_ok=True)
    subprocess.run([f'{build}/tests/fuzz_driver', target, '--seeds-to', seeds, *SEEDS], check=True)
    found = f'{os.path.dirname(os.path.abspath(results))}/{target}-'
    begin = time.monotonic()
    with open(found + 'fuzz.log', 'w', encoding='utf-8') as log:
        done = subprocess.run(
            [f'{build}/tests/libfuzzer', f'-max_total_time={SECONDS}', f'-timeout={INPUT_S}', f'-rss_limit_mb={INPUT_MB}',
             f'-max_len={INPUT_BYTES}', f'-artifact_prefix={found}', '-print_final_stats=1', '-verbosity=1', corpus, seeds],
            env={**os.environ, 'HLOSCOPE_FUZZ_TARGET': target}, stdout=log, stderr=log, check=False)
    with open(found + 'fuzz.log', encoding='utf-8', errors='replace') as log:
        text = log.read()
    state = 'failed' if done.returncode else 'passed'
    if state == 'failed':
        print(text[-4000:])
    runs, covered = last_number(r'number_of_executed_units: (\d+)', text), last_number(r'cov: (\d+)', text)
    print(f'{target}: {state}, {runs} inputs, {covered} edges covered', flush=True)
    return {**run_tests.record(f'libfuzzer_{target}', state, round(time.monotonic() - begin, 1), {}), 'inputs': runs, 'covered': covered}


def main(build, results, *options):
    earlier = run_tests.read(results) if '--resume' in options else {}
    named = [option for option in options if option != '--resume'] or targets(f'{build}/tests/fuzz_driver')
    left = [target for target in named if earlier.get(f'libfuzzer_{target}', {}).get('state') != 'passed']
    if '--resume' not in options and os.path.exists(results):
        os.remove(results)
    with concurrent.futures.ThreadPoolExecutor(run_tests.CPUS) as pool, open(results, 'a', encoding='utf-8') as kept:
        for future in concurrent.futures.as_completed([pool.submit(fuzz, build, results, target) for target in left]):
            kept.write(json.dumps(future.result()) + '\n')
            kept.flush()
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
