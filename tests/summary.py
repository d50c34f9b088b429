#!/usr/bin/env python3
"""Adds up what ctest and GoogleTest wrote: `summary.py FOLDER BUILD_FAILURES`; the last line is `N passed, N failed, N skipped`.

A test program counts by its GoogleTest cases; one without them, or that died before it wrote them, by its ctest verdict."""
import collections
import glob
import json
import os
import sys
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


def main(folder, build_failures):
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


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
