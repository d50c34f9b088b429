#!/usr/bin/env python3
"""Adds up what tests/run_tests.py kept, and holds it beside tests/tiers.tsv.

  summary.py BUILD_FAILURES RESULTS...   names what did not pass and what became slow; the last line is `N passed, N failed, N skipped`, the
                                         exit status 1 if anything failed
  summary.py --times COLUMN RESULTS      writes the seconds of passed tests into a column of tests/tiers.tsv, release or sanitized, and a
                                         row for each test that has none
  summary.py --selftest                  adds up made results of every kind

A program of GoogleTest counts by its cases, another test as one."""
import collections
import json
import os
import statistics
import sys
import tempfile

import run_tests

TIERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tiers.tsv')
COLUMNS = {'release': 3, 'sanitized': 4}
# A test is named when it takes half as long again as is kept of it, and so much more.
GROWTH, SLACK_S = 1.5, 5


def read_tiers(path):
    """(lines of comment, {test: [test, tier, labels, seconds of release, seconds sanitized]})."""
    with open(path, encoding='utf-8') as f:
        lines = f.read().splitlines()
    return [line for line in lines if line.startswith('#')], {line.split('\t')[0]: line.split('\t') for line in lines if line[:1] not in ('#', '')}


def base(test):
    """The program that a shard is of."""
    name, _, shard = test.rpartition('.')
    return name if name and shard.isdigit() else test


def seconds_of(records):
    """The longest shard of each test that passed."""
    longest = {}
    for kept in records:
        if kept['state'] == 'passed':
            longest[base(kept['test'])] = max(kept['seconds'], longest.get(base(kept['test']), 0))
    return longest


def grown(longest, rows, column):
    """Lines about tests that became slow, beside how fast this machine is for all of them."""
    before = {test: float(row[column]) for test, row in rows.items() if row[column] != '-'}
    speeds = [seconds / before[test] for test, seconds in longest.items() if before.get(test, 0) >= 1]
    machine = max(1, statistics.median(speeds)) if len(speeds) >= 5 else 1
    for test, seconds in sorted(longest.items()):
        if test in before and seconds > GROWTH * machine * before[test] + SLACK_S:
            yield f'slower: {test} took {seconds:.0f} s, tests/tiers.tsv has {before[test]:.0f} s' + \
                (f' (all tests: {machine:.1f} times as long)' if machine > 1.1 else '')


def column_of(results):
    return COLUMNS['release' if os.path.basename(results).startswith('release') else 'sanitized']


def add_up(build_failures, *files):
    count = collections.Counter(failed=int(build_failures))
    _, rows = read_tiers(TIERS)
    lines = ['failed: a build'] if int(build_failures) else []
    for results in files:
        records = run_tests.read(results).values()
        kind = os.path.basename(results).removesuffix('.jsonl')
        for kept in records:
            count['passed'] += kept['passed']
            for case, state in kept['others'].items():
                count[state] += 1
                lines.append(f'{state}: {kind} {kept["test"]} {case}'.rstrip())
        lines += grown(seconds_of(records), rows, column_of(results))
    # Failures stand nearest to the end.
    for line in sorted(lines, key=lambda line: ('slower', 'skipped', 'failed').index(line.split(':')[0])):
        print(line)
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count['failed'] or not count['passed'] else 0


def write_times(column, results):
    comments, rows = read_tiers(TIERS)
    for test, seconds in seconds_of(run_tests.read(results).values()).items():
        rows.setdefault(test, [test, 'change', '-', '-', '-'])[COLUMNS[column]] = f'{seconds:.1f}'
    with open(TIERS, 'w', encoding='utf-8') as f:
        f.write('\n'.join(comments + ['\t'.join(row) for _, row in sorted(rows.items())]) + '\n')
    return 0


def selftest():
    """Programs: one with all three outcomes, one that died, one good but for a late failure, plain tests of every kind."""
    made = run_tests.record
    records = (made('mixed', 'failed', 1, {'S.a': 'passed', 'S.b': 'failed', 'S.c': 'skipped'}), made('died', 'failed', 1, {}),
               made('late', 'failed', 1, {'S.d': 'passed', 'S.e': 'passed'}), made('plain', 'passed', 9, {}),
               made('shards.2', 'passed', 21, {'S.f': 'passed'}), made('left', run_tests.state_of('***Skipped'), 0, {}),
               made('absent', run_tests.state_of('***Not Run'), 0, {}))
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/release.jsonl', 'w', encoding='utf-8') as f:
            f.write(''.join(json.dumps(kept) + '\n' for kept in records))
        read = run_tests.read(folder + '/release.jsonl')
    count = collections.Counter()
    for kept in read.values():
        count['passed'] += kept['passed']
        count.update(kept['others'].values())
    slow = list(grown(seconds_of(read.values()), {'shards': ['shards', 'fast', '-', '10.0', '-'], 'plain': ['plain', 'fast', '-', '8', '-']}, 3))
    found = (dict(count), len(slow), slow[0].split()[1] if slow else '')
    expected = ({'passed': 5, 'failed': 4, 'skipped': 2}, 1, 'shards')
    verdicts = [run_tests.ENDED.match(line) for line in (
        '  3/120 Test  #12: base_test ...........   Passed    1.23 sec', ' 1/1 Test #1: a.2 ..............***Exception: SegFault  0.10 sec',
        'Test #3: not a line of ctest', '10/11 Test  #7: left .................***Skipped   0.05 sec')]
    parsed = [verdict and verdict.groups() for verdict in verdicts]
    wanted = [('base_test', 'Passed', '1.23'), ('a.2', '***Exception: SegFault', '0.10'), None, ('left', '***Skipped', '0.05')]
    print(f'{found}, expected {expected}\n{parsed}, expected {wanted}')
    return 0 if found == expected and parsed == wanted else 1


if __name__ == '__main__':
    if sys.argv[1:] == ['--selftest']:
        sys.exit(selftest())
    sys.exit(write_times(*sys.argv[2:]) if sys.argv[1] == '--times' else add_up(*sys.argv[1:]))
