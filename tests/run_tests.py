#!/usr/bin/env python3
"""Runs tests of a build through ctest and keeps what came of each: run_tests.py BUILD RESULTS [--resume] [CTEST_OPTION...].

RESULTS gets a line of JSON for each test as it ends: its name, state, seconds, and how many of its GoogleTest cases passed and which did
not. With --resume a test that passed by an earlier line is not run again. tests/summary.py adds the lines up."""
import json
import os
import re
import subprocess
import sys

# "  3/120 Test  #12: base_test ...........   Passed    1.23 sec", or "***Failed", "***Skipped", "***Timeout", "***Exception: SegFault" …
ENDED = re.compile(r'\s*\d+/\d+ Test\s+#\d+: (\S+) \.*\s*(\S.*?)\s+([\d.]+) sec$')
CPUS = len(os.sched_getaffinity(0))


def cases_of(path):
    """{case: passed, failed or skipped} of one program; empty where it wrote nothing readable."""
    try:
        with open(path, encoding='utf-8', errors='replace') as f:
            suites = json.load(f)['testsuites']
    except (OSError, ValueError):
        return {}
    states = {}
    for suite in suites:
        for case in suite['testsuite']:
            skipped = case.get('result') == 'SKIPPED' or case.get('status') == 'NOTRUN'
            states[f"{suite['name']}.{case['name']}"] = 'failed' if case.get('failures') else 'skipped' if skipped else 'passed'
    return states


def state_of(verdict):
    """Of what ctest prints. A test that cannot be started is a failed one."""
    if verdict == 'Passed':
        return 'passed'
    return 'skipped' if verdict.startswith(('***Skipped', '***Not Run (Disabled)')) else 'failed'


def record(test, state, seconds, cases):
    """What is kept of a test. A program that failed although none of its cases did, as when it died, counts as a failure besides."""
    passed = sum(case == 'passed' for case in cases.values())
    others = {name: case for name, case in cases.items() if case != 'passed'}
    if not cases or (state == 'failed' and 'failed' not in others.values()):
        passed += state == 'passed'
        others |= {'': state} if state != 'passed' else {}
    return {'test': test, 'state': state, 'seconds': seconds, 'passed': passed, 'others': others}


def read(results):
    """The last record of each test in a file of results."""
    records = {}
    if os.path.exists(results):
        with open(results, encoding='utf-8') as f:
            for line in f:
                if line.endswith('\n'):
                    kept = json.loads(line)
                    records[kept['test']] = kept
    return records


def selected(build, options):
    """Names of the tests that ctest would run with these options."""
    done = subprocess.run(['ctest', '--test-dir', build, '--show-only=json-v1', *options], capture_output=True, text=True, check=True)
    return [test['name'] for test in json.loads(done.stdout)['tests']]


def run(build, results, tests):
    """Runs the tests named, and gives a record of each as it ends."""
    for test in tests:
        cases = f'{build}/tests/results/{test}.json'
        if os.path.exists(cases):
            os.remove(cases)
    command = ['ctest', '--test-dir', build, '--output-on-failure', '-j', str(CPUS), '--timeout', '1200',
               '-R', '^(' + '|'.join(map(re.escape, tests)) + ')$']
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace') as ctest, \
            open(results, 'a', encoding='utf-8') as kept:
        for line in ctest.stdout:
            print(line, end='', flush=True)
            ended = ENDED.match(line.rstrip())
            if ended:
                test, verdict, seconds = ended.groups()
                made = record(test, state_of(verdict), float(seconds), cases_of(f'{build}/tests/results/{test}.json'))
                kept.write(json.dumps(made) + '\n')
                kept.flush()


def main(build, results, *options):
    resume = '--resume' in options
    tests = selected(build, [option for option in options if option != '--resume'])
    if not tests:
        print(f'run_tests.py: {build} has no such tests', file=sys.stderr)
        return 1
    if not resume and os.path.exists(results):
        os.remove(results)
    os.makedirs(os.path.dirname(os.path.abspath(results)), exist_ok=True)
    earlier = read(results)
    left = [test for test in tests if earlier.get(test, {}).get('state') != 'passed']
    print(f'{len(tests)} tests, {len(tests) - len(left)} of them passed before', flush=True)
    if left:
        run(build, results, left)
    ended = read(results)
    with open(results, 'a', encoding='utf-8') as kept:
        for test in left:
            if test not in ended:
                kept.write(json.dumps(record(test, 'failed', 0, {})) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
