#!/usr/bin/env python3
"""Faults of XLA:CPU by version of jaxlib: which version has which, and whether `diverge` says why.

version_faults.py HLOSCOPE WORK PYTHON|PLATFORM… [--only NAME…] [--check] [--times] [options of diverge…]
version_faults.py --page

Each module of version_faults/ says above its text of which class it is, where it was found (`own`, or a public report), the
values of its parameters, the bound that shows it, and what every version is known to do: `pass NAME`, `cause NAME`, `dies`,
`refuses` or `right`. A row a fault, a column a version, as version_faults.md has them; --check fails where a version does
something else, --page where a row of version_faults.md does.
"""
import argparse
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'app'))
from command_tests import npy  # noqa: E402

FAULTS = pathlib.Path(__file__).resolve().parent / 'version_faults'
PAGE = FAULTS.with_suffix('.md')
TYPES = {'pred': '|b1', 's8': '|i1', 'u8': '|u1', 's16': '<i2', 'u16': '<u2', 's32': '<i4', 'u32': '<u4', 's64': '<i8', 'u64': '<u8',
         'f16': '<f2', 'f32': '<f4', 'f64': '<f8', 's4': '|i1', 'u4': '|u1'}
CODES = {'|b1': '?', '|i1': 'b', '|u1': 'B', '<i2': 'h', '<u2': 'H', '<i4': 'i', '<u4': 'I', '<i8': 'q', '<u8': 'Q', '<f2': 'e', '<f4': 'f',
         '<f8': 'd'}


class Fault:
    """A module with what its header says."""

    def __init__(self, path):
        text = path.read_text()
        self.name, self.path = path.stem, path
        said = dict(re.findall(r'^// (\w+): ?(.*)$', text, re.M))
        self.heading = re.search(r'^// class: ([^;]*); (.*)$', text, re.M).groups()
        self.inputs = [array(spec) for spec in said['inputs'].split(';') if spec.strip()]
        self.bound = said.get('bound', '0')
        self.known = dict(each.strip().split(' ', 1) for each in said.get('known', '').split(';') if each.strip())


def array(spec):
    """`s32[3] 1 2 3` as (descr, dims, bytes); 0..9 is a row of numbers, 1*63 a number repeated."""
    shape, *values = spec.split()
    element, dims = re.fullmatch(r'(\w+)\[([\d,]*)\]', shape).groups()
    descr, dims = TYPES[element], tuple(int(d) for d in dims.split(',') if d)
    numbers = []
    number = float if descr[1] == 'f' else int
    for value in values:
        if '..' in value:
            numbers += [number(v) for v in range(*map(int, value.split('..')))]
        elif '*' in value:
            numbers += [number(value.split('*')[0])] * int(value.split('*')[1])
        else:
            numbers.append(number(value))
    assert len(numbers) == math.prod(dims), spec
    return descr, dims, struct.pack(f'<{len(numbers)}{CODES[descr]}', *numbers)


def version_of(python):
    if '/' not in python:
        return python  # a platform
    code = 'import jaxlib; print(getattr(jaxlib, "__version__", None) or __import__("jaxlib.version").version.__version__)'
    return subprocess.run([python, '-c', code], capture_output=True, text=True, check=True).stdout.strip()


def judge(hloscope, work, fault, python, options):
    inputs = work / (fault.name + '.npz')
    with zipfile.ZipFile(inputs, 'w') as out:
        for k, each in enumerate(fault.inputs):
            out.writestr(f'in{k}.npy', npy(*each))
    platform = ['jaxlib', '--python', python] if '/' in python else [python]
    command = [hloscope, 'diverge', '--passes', fault.path, '--platform', *platform, '--inputs', inputs, '--abs_error_bound', 0,
               '--rel_error_bound', fault.bound, '--json', *options]
    begin = time.time()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, check=False)
    verdict = json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else {'status': 'no answer', 'errors': [done.stderr[:300]]}
    return verdict, time.time() - begin


def found(verdict):
    """What a version does with a fault, in the words of the headers."""
    if verdict['status'] == 'equal':
        return 'right'
    if verdict.get('pass'):
        return 'pass ' + verdict['pass']
    if verdict['status'] == 'differs':
        return f"cause {verdict.get('cause')}"
    return {'died': 'dies', 'no answer': 'no answer'}.get(verdict['status'], 'refuses')


def cell(verdict):
    text = found(verdict)
    if text == 'right':
        return 'not on this version'
    text = text.replace('cause ', '')
    if text.startswith('pass '):
        text = text[5:] + (', confirmed' if verdict.get('confirmed') else ', not confirmed')
    elif verdict.get('cured_by'):
        text += ', fixed by ' + verdict['cured_by'][0]
    elif verdict.get('confirmed'):
        text += ', confirmed'
    return text


def said_by(cell_text):
    """What a cell of the page says, in the words of the headers, without `pass` and `cause`."""
    return {'not on this version': 'right'}.get(cell_text, cell_text.split(',')[0])


def check_page():
    rows = [[each.strip() for each in line.strip('|\n').split('|')] for line in PAGE.read_text().splitlines() if line.startswith('|')]
    versions, by_name = rows[0][3:], {row[0]: row for row in rows[2:]}
    wrong = []
    for fault in map(Fault, sorted(FAULTS.glob('*.hlo'))):
        row = by_name.pop(fault.name, None)
        if row is None or tuple(row[1:3]) != fault.heading:
            wrong.append(f'{fault.name}: the page has {row and row[1:3]}, the module says {list(fault.heading)}')
            continue
        for version, text in zip(versions, row[3:]):
            known = fault.known.get(version)
            if known is not None and known.split(' ', 1)[-1] != said_by(text):
                wrong.append(f'{fault.name} on {version}: the page has {text}, known is {known}')
    wrong += [f'{name}: no such module' for name in by_name]
    print('\n'.join(wrong) or f'{len(rows) - 2} rows agree with the modules')
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ['--page']:
        return check_page()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('hloscope', type=pathlib.Path)
    parser.add_argument('work', type=pathlib.Path)
    parser.add_argument('python', nargs='+', help='interpreters with a jaxlib, and names of platforms')
    parser.add_argument('--only', nargs='*', default=[])
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--times', action='store_true', help='with the seconds that each verdict took')
    arguments, options = parser.parse_known_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    pythons = {python: version_of(python) for python in arguments.python}
    wrong = []
    print('| fault | class | found in | ' + ' | '.join(pythons.values()) + ' |')
    print('|---' * (3 + len(pythons)) + '|')
    for path in sorted(FAULTS.glob('*.hlo')):
        if arguments.only and path.stem not in arguments.only:
            continue
        fault, cells = Fault(path), []
        for python, version in pythons.items():
            verdict, seconds = judge(arguments.hloscope.resolve(), arguments.work, fault, python, options)
            (arguments.work / f'{fault.name}.{version}.json').write_text(json.dumps(verdict, indent=1))
            cells.append(cell(verdict) + (f' ({seconds:.1f} s)' if arguments.times else ''))
            if version in fault.known and found(verdict) != fault.known[version]:
                wrong.append(f'{fault.name} on {version}: {found(verdict)}, known is {fault.known[version]}')
        print(f"| {fault.name} | {fault.heading[0]} | {fault.heading[1]} | {' | '.join(cells)} |", flush=True)
    for line in wrong:
        print(line)
    return 1 if arguments.check and wrong else 0


if __name__ == '__main__':
    sys.exit(main())
