#!/usr/bin/env python3
"""Known faults of XLA:CPU, found again: one of each heading of the two pages under tests/conformance, alone or buried.

known_faults.py HLOSCOPE WORK [--platform P] [--step STEP.hlo] [--only HEADING…] [--reduce] [options of diverge…]

Each heading's first module runs with the operands of its first row as parameters, at bounds that show it, and `diverge
--passes` has to name the place and the pass or the cause. With --step the module's operations stand in the entry of that
step (training_step.py makes one), with parameters and a result of their own. With --reduce the module found is reduced, and its size told beside the page's.
WORK keeps the modules and inputs. A row a heading, then the counts.
"""
import argparse
import collections
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

PAGES = pathlib.Path(__file__).resolve().parent.parent / 'conformance'
# NumPy's name for an element type, and what one rounding is.
FLOATS = {'f64': ('<f8', 3e-16), 'f32': ('<f4', 1.3e-7), 'f16': ('<f2', 1e-3), 'bf16': ('<V2', 8e-3), 'c64': ('<c8', 1.3e-7),
          'c128': ('<c16', 3e-16)}
# What a fault of the page with faults of whole modules needs: its operands, by heading.
OPERANDS = {
    'atan2 by a constant one': [('<f4', (4,), struct.pack('<4f', 1e-30, 1e30, 0.5, 2))],
    'A dynamic-slice of a dynamic-slice that begins out of range': [('<i4', (), struct.pack('<i', 12)), ('<i4', (), struct.pack('<i', 3))],
    'A reduction by maximum loses NaN': [('<f4', (64,), struct.pack('<64f', float('nan'), *[1] * 63))],
    'An initial value that is not neutral is used several times': [('<f4', (164,), struct.pack('<164f', *[0] * 164))],
    'An integer divided by itself is one, also where it is zero': [('<i4', (3,), struct.pack('<3i', 0, 1, 7))],
    'A reduction of one element forgets the initial value': [('<f4', (3, 1), struct.pack('<3f', -2, 1, -3))],
    'A variadic scatter into equal operands loses updates': [('<f4', (2,), struct.pack('<2f', 10, 20)), ('<f4', (2,), struct.pack('<2f', 30, 40))],
    'A convolution of integers is folded with saturation': [],
    'Arrays of 1-bit integers are written beyond their buffers': [('|u1', (4096,), bytes(4096)), ('|u1', (4096,), b'\1' * 4096)],
    'A scatter into its own indices or updates': [('<i4', (3, 1), struct.pack('<3i', 0, 2, 1))],
}
# These give no values that could differ.
DIES = {'A clamp between scalars does not compile', 'A clamp between scalars of something reshaped kills the process',
        'A sort of bits with something else is refused', 'A scan of no elements does not compile'}


class Fault:
    """A module of a page with its operands."""

    def __init__(self, heading, text, inputs, bound, gross=True):
        self.heading, self.text, self.inputs, self.bound, self.gross = heading, text, inputs, bound, gross


def numpy_type(element):
    if element in FLOATS:
        return FLOATS[element][0]
    digits = re.search(r'\d+', element.replace('f8e', 'f8 e').replace('f4e', 'f4 e'))
    width = max(1, int(digits[0]) // 8) if digits else 1
    if element == 'pred':
        return '|b1'
    if element.startswith('f'):
        return '|V1'
    return ('<' if width > 1 else '|') + ('i' if element[0] == 's' else 'u') + str(width)


def elements_of(text, descr):
    """The bytes of an operand as a page writes it: numbers, each with its bits in parentheses where it is a float."""
    width = int(descr[2:])
    bits = re.findall(r'\(0x([0-9a-f]+)\)', text)
    if descr[1] == 'c':
        width //= 2
    values = [int(b, 16) for b in bits] if bits else [int(v) for v in re.findall(r'-?\d+', text)]
    return b''.join((v & (1 << 8 * width) - 1).to_bytes(width, 'little') for v in values)


def fault_of_row(heading, text, row):
    """The module of a heading with the types and operands of a row, or None where the row needs another module."""
    own = re.search(r'p0 = (\w+)\[', text)
    types, lanes = row[0].split(' to '), re.fullmatch(r'\[(\d+)\]', row[3])
    if not own or any(' ' in t for t in types) and own[1] not in row[0]:
        return None
    if types[0].split()[0] not in re.findall(r'(\w+)\[', text):
        text = re.sub(rf'\b{own[1]}\[', types[0].split()[0] + '[', text)
    if len(types) == 2:
        text = re.sub(r'(ROOT r = )\w+\[', rf'\g<1>{types[1]}[', text)
    if lanes:
        text = text.replace('[1]', f'[{lanes[1]}]')
    inputs = []
    parameters = sorted(re.findall(r'p\d+ = (\w+)\[([\d,]*)\]\S* parameter\((\d+)\)', text), key=lambda p: int(p[2]))
    for (element, dims, _), operand in zip(parameters, row[1].split(';')):
        descr, dims = numpy_type(element), tuple(int(d) for d in dims.split(',') if d)
        size, data = math.prod(dims) * int(descr[2:]), elements_of(operand, descr)
        if not data:
            return None
        # A page shows the first of many, or the one of all.
        inputs.append((descr, dims, (data * (size // len(data) + 1))[:size]))
    result = re.search(r'ROOT r = \(?(\w+)\[', text)
    bound = FLOATS[result[1]][1] if result and result[1] in FLOATS else 0
    return Fault(heading, text, inputs, bound, row[2] == 'wrong' or float(row[2]) > 1e5)


def faults_of_opcodes():
    """Lists of a heading's faults, one a row of another type, at most six."""
    page = (PAGES / 'known_xla_faults.md').read_text()
    for heading, body in re.findall(r'\n## ([^\n]+)\n(.*?)(?=\n## |\Z)', page, re.S):
        body = body.split('\n### ')[0]  # rows of other modules follow
        module = re.search(r'```\n(HloModule.*?)```', body, re.S)
        rows = re.findall(r'^\| (?!types)(\w[^|]*) \| (.*?) \| .* \| ([^|]*) \| \d+ \| ([^|]*) \|$', body, re.M)
        faults = [fault_of_row(heading, module[1], row) for row in rows] if module else []
        if any(faults):
            yield [fault for fault in faults if fault][:6]


def faults_of_modules():
    page = (PAGES / 'xla_faults_in_modules.md').read_text()
    for heading, body in re.findall(r'\n## ([^\n]+)\n(.*?)(?=\n## |\Z)', page, re.S):
        module = re.search(r'```\n(HloModule.*?)```', body, re.S)
        if module and heading not in DIES:
            yield [Fault(heading, module[1], OPERANDS.get(heading), 1e-5)]


def computations(text):
    """(name of the entry, lines of the others, lines of the entry) of a module."""
    lines = text.split('\n')[1:]
    begin = next(k for k, line in enumerate(lines) if line.startswith('ENTRY'))
    end = next(k for k in range(begin, len(lines)) if lines[k].startswith('}'))
    return lines[:begin] + lines[end + 1:], lines[begin + 1:end]


def bury(fault, step):
    """The step with the operations of the fault in its entry: (text, how many parameters it had)."""
    others, body = computations(fault.text)
    names = set(re.findall(r'^\s*(?:ROOT )?%?([\w.\-]+) = ', fault.text, re.M)) | set(re.findall(r'^(?:ENTRY )?%?([\w.\-]+) (?:\(|\{)', fault.text, re.M))
    rename = re.compile(r'(?<![\w.\-])%?(' + '|'.join(sorted(map(re.escape, names), key=len, reverse=True)) + r')(?=[\s,(){}]|$)')
    own = lambda line: re.sub(r'(?<== )(\S+ )%?buried\.', r'\1', rename.sub(r'buried.\1', line))
    lines = step.split('\n')
    begin = next(k for k, line in enumerate(lines) if line.startswith('ENTRY'))
    root = next(k for k in range(begin, len(lines)) if lines[k].lstrip().startswith('ROOT '))
    count = sum(' parameter(' in line for line in lines[begin:root])
    entry = [own(line) for line in body]
    entry = [re.sub(r'parameter\((\d+)\)', lambda m: f'parameter({count + int(m[1])})', line) for line in entry]
    shape = re.search(r'ROOT \S+ = ((?:\([^=]*?\)|\S+)) [a-z]', ' '.join(line for line in body if 'ROOT' in line))[1]
    name = re.search(r'ROOT (\S+) =', ' '.join(entry))[1]
    if shape.startswith('('):  # results are no tuples in tuples
        parts = re.findall(r'\w+\[[^\]]*\]', shape)
        entry += [f'  {name}.part{k} = {part} get-tuple-element({name}), index={k}' for k, part in enumerate(parts)]
        shape, name = ', '.join(parts), ', '.join(f'{name}.part{k}' for k in range(len(parts)))
    shapes, operands = re.match(r'\s*ROOT \S+ = \((.*)\) tuple\((.*?)\)', lines[root]).groups()
    new = lines[:begin] + [own(line) for line in others] + ['ENTRY main {'] + lines[begin + 1:root]
    new += [line.replace('ROOT ', '') for line in entry]
    new += [f'  ROOT all_results = ({shapes}, {shape}) tuple({operands}, {name})', '}']
    new[0] = re.sub(r', (entry_computation_layout|input_output_alias)=.*', '', new[0])
    return '\n'.join(new) + '\n', count


def call(*arguments, timeout=300):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def write_inputs(path, arrays, base=None):
    """`arrays` behind those of the file `base`."""
    names = []
    with zipfile.ZipFile(path, 'w') as out:
        if base:
            with zipfile.ZipFile(base) as archive:
                names = archive.namelist()
                for name in names:
                    out.writestr(name, archive.read(name))
        for k, array in enumerate(arrays):
            out.writestr(f'in{len(names) + k}.npy', npy(*array))


def judge(hloscope, work, fault, step, options):
    """The verdict on a fault, a JSON object with `seconds`."""
    stem = work / re.sub(r'\W+', '_', fault.heading)
    module, inputs = stem.with_suffix('.hlo'), stem.with_suffix('.npz')
    if step:
        text, _ = bury(fault, step.read_text())
        module.write_text(text)
        write_inputs(inputs, fault.inputs or [], work / 'step.npz')
    else:
        module.write_text(fault.text)
        write_inputs(inputs, fault.inputs or [])
    bounds = (1e-4, 1e-3) if step else (0, fault.bound)  # a step has rounding of its own
    arguments = [module, '--inputs', inputs, '--abs_error_bound', bounds[0], '--rel_error_bound', bounds[1]]
    begin = time.time()
    _, out, errors = call(hloscope, 'diverge', '--passes', *arguments, *options, '--json')
    verdict = json.loads(out.splitlines()[-1]) if out.strip() else {'status': 'no answer', 'errors': [errors[:200]]}
    verdict['seconds'] = time.time() - begin
    verdict['arguments'] = arguments
    return verdict


def reduced(hloscope, verdict, options):
    """Instructions of the module that `reduce` leaves."""
    out = verdict['arguments'][0].with_suffix('.small.hlo')
    code, text, errors = call(hloscope, 'reduce', '--reference_platform', 'interpreter', *verdict['arguments'], '-o', out, '--json',
                              *options, timeout=600)
    return json.loads(text.splitlines()[-1]).get('instructions') if code in (0, 1) and text.strip() else errors[:100]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('hloscope', type=pathlib.Path)
    parser.add_argument('work', type=pathlib.Path)
    parser.add_argument('--step', type=pathlib.Path)
    parser.add_argument('--only', nargs='*', default=[])
    parser.add_argument('--reduce', action='store_true')
    parser.add_argument('--platform', default='xla-cpu')
    arguments, options = parser.parse_known_args()
    options = ['--platform', arguments.platform, *options]
    hloscope, work = arguments.hloscope.resolve(), arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    if arguments.step:
        call(hloscope, 'run', arguments.step, '--save_inputs', work / 'step.npz')
    counts, seconds = collections.Counter(), []
    for faults in [*faults_of_opcodes(), *faults_of_modules()]:
        fault = faults[0]
        if arguments.only and fault.heading not in arguments.only:
            continue
        if fault.inputs is None:
            counts['left out'] += 1
            continue
        for fault in faults:
            verdict = judge(hloscope, work, fault, None, options)
            if verdict.get('status') == 'differs' and (fault.gross or not arguments.step):
                break
        if arguments.step:
            if verdict.get('status') != 'differs' or not fault.gross:
                counts['left out'] += 1
                continue
            verdict = judge(hloscope, work, fault, arguments.step, options)
        seconds.append(verdict['seconds'])
        found = verdict.get('status') == 'differs' and bool(verdict.get('instruction'))
        counts[verdict.get('status')] += 1
        counts['place named'] += found
        counts['pass or cause named'] += bool(verdict.get('pass') or verdict.get('cause'))
        counts['confirmed'] += verdict.get('confirmed') is True
        row = [f"{fault.heading[:40]:40} {verdict.get('status'):9} at {verdict.get('instruction')} in {verdict.get('kernel')}",
               f"pass {verdict.get('pass')} cause {verdict.get('cause')} fixed by {verdict.get('cured_by')}",
               f"confirmed {verdict.get('confirmed')} {verdict['seconds']:.1f} s"]
        if found and arguments.reduce:
            row.append(f'reduced to {reduced(hloscope, verdict, options)} of {len(re.findall(" = ", fault.text))} instructions of the page')
        if verdict.get('errors'):
            row.append(str(verdict['errors'][:1])[:200])
        print('; '.join(row), flush=True)
    print(dict(counts), f'longest {max(seconds, default=0):.1f} s')


if __name__ == '__main__':
    main()
