#!/usr/bin/env python3
"""Adds up what ctest and GoogleTest wrote: `summary.py FOLDER BUILD_FAILURES`; the last line is `N passed, N failed, N skipped`.

A test program counts by its GoogleTest cases; one without them, or that died before it wrote them, by its ctest verdict.
`summary.py --selftest` adds up made results of every kind."""
import collections
import glob
import json
import os
import sys
import tempfile
import xml.etree.ElementTree


def cases_of(folder, program):
    """{case: passed, failed or skipped} of one program; empty where it wrote nothing readable."""
    try:
        with open(f'{folder}/{program}.json', encoding='utf-8', errors='replace') as f:
            suites = json.load(f)['testsuites']
    except (OSError, ValueError):
        return {}
    states = {}
    for suite in suites:
        for case in suite['testsuite']:
            skipped = case.get('result') == 'SKIPPED' or case.get('status') == 'NOTRUN'
            states[f"{suite['name']}.{case['name']}"] = 'failed' if case.get('failures') else 'skipped' if skipped else 'passed'
    return states


def verdict_of(test):
    """A test that could not be started is no skipped one."""
    skipped = test.find('skipped')
    if test.get('status') == 'disabled' or (skipped is not None and skipped.get('message', '').startswith('SKIP_')):
        return 'skipped'
    return 'passed' if test.get('status') == 'run' else 'failed'


def read(junit):
    """(program, case or None, state) of every test that one run of ctest made."""
    for test in xml.etree.ElementTree.parse(junit).getroot().iter('testcase'):
        program, verdict = test.get('name'), verdict_of(test)
        cases = cases_of(junit.removesuffix('.xml'), program)
        yield from ((program, case, state) for case, state in cases.items())
        if not cases or (verdict == 'failed' and 'failed' not in cases.values()):
            yield program, None, verdict


def add_up(folder, build_failures):
    count = collections.Counter(failed=int(build_failures))
    for junit in sorted(glob.glob(folder + '/*.xml')):
        preset = os.path.basename(junit).removesuffix('.xml')
        for program, case, state in read(junit):
            count[state] += 1
            if state != 'passed':
                print(f'{state}: {preset} {program} {case or ""}')
    if int(build_failures):
        print('failed: a build')
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count['failed'] or not count['passed'] else 0


def selftest():
    """Programs: one with all three outcomes, one that died, one good but for a late failure, one skipped, one that never started."""
    def case(name, **more):
        return {'name': name, 'status': 'RUN', 'result': 'COMPLETED', **more}

    programs = {'mixed': [case('a'), case('b', failures=[{}]), case('c', result='SKIPPED')], 'late': [case('d'), case('e')]}
    verdicts = (('mixed', 'fail', ''), ('died', 'fail', ''), ('late', 'fail', ''), ('plain', 'run', ''),
                ('absent', 'notrun', '<skipped message="Unable to find executable"/>'), ('left', 'notrun', '<skipped message="SKIP_RETURN_CODE=77"/>'))
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + '/release')
        for program, cases in programs.items():
            with open(f'{folder}/release/{program}.json', 'w', encoding='utf-8') as f:
                json.dump({'testsuites': [{'name': 'S', 'testsuite': cases}]}, f)
        with open(folder + '/release.xml', 'w', encoding='utf-8') as f:
            f.write('<testsuite>' + ''.join(f'<testcase name="{n}" status="{s}">{inside}</testcase>' for n, s, inside in verdicts) + '</testsuite>')
        count = collections.Counter(state for _, _, state in read(folder + '/release.xml'))
    expected = {'passed': 4, 'failed': 4, 'skipped': 2}
    print(f'{dict(count)}, expected {expected}')
    return 0 if count == expected else 1


if __name__ == '__main__':
    sys.exit(selftest() if sys.argv[1:] == ['--selftest'] else add_up(*sys.argv[1:]))
