#!/usr/bin/env python3
"""Whether the rows of known_xla_faults.md hold: each is run again on XLA:CPU and on the interpreter.

  fault_rows.py HLOSCOPE [--every N] [--write]

--every N takes each N-th row, as the ordinary tests do. --write takes rows off the page that XLA:CPU has right. Exit status 1 where a row does not
hold, 77 without the plugin of xla-cpu. Not run, but counted: rows whose operands are cut off, for they are long (`conformance.py` makes them), and
those whose value varies, by the run or the processor. Other rows of 1-bit integers are not held against a value that they read from memory
which nothing has written."""
import argparse
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'app'))
from command_tests import ready_platforms, write_npz  # noqa: E402

PAGE = HERE / 'known_xla_faults.md'
SHOWN = 24  # operands of a row at most: report.py
BYTES = {'pred': 1, 'bf16': 2, 'f16': 2, 'f32': 4, 'f64': 8, 'c64': 8, 'c128': 16}
PART = {'c64': 'f32', 'c128': 'f64'}
NUMBER = re.compile(r'(?:[^\s();,]+ \((0x[0-9a-f]+)\)|(-?\d+))')


def bits_of(name):
    return int(re.search(r'\d+', name)[0]) if name != 'pred' else 1


def storage(name):
    """Bytes of an element."""
    return BYTES.get(name) or max(1, bits_of(name) // 8)


class Row:
    def __init__(self, number, opcode, module, first, line):
        self.number, self.opcode, self.line = number, opcode, line
        cells = [cell.strip() for cell in line.strip().strip('|').split(' | ')]
        self.types, self.operands, self.true, self.xla, self.mine = cells[0].strip(), cells[1], cells[2], cells[3], cells[4]
        self.shows = cells[-1].strip()
        self.module = self.own_module(module, first)

    def is_of_avx512_bf16(self):
        """Whether a subnormal bf16 became zero: VCVTNEPS2BF16, with which XLA:CPU rounds where there is AVX512-BF16, reads subnormals as zeros."""
        return 'bf16' in self.types.split() and is_subnormal_bf16(self.true) and self.xla.startswith(('0.0 ', '-0.0 '))

    def own_module(self, module, first):
        """The heading's module with the types of the row, in arrays as long as it says."""
        def parts(types):
            words = types.split()
            return words[0], words[2] if 'to' in words else None, words[1] if len(words) == 2 else None
        (old, old_result, old_word), (new, new_result, new_word) = parts(first), parts(self.types)
        swaps = {old: new}
        if old in PART and new in PART:
            swaps[PART[old]] = PART[new]
        lines = []
        for line in module.splitlines():
            if old_result is not None and 'ROOT' in line:
                at = line.index('= ') + 2
                line = line[:at] + re.sub(rf'^{old_result}\b', new_result, line[at:])
            else:
                line = re.sub(r'\b(' + '|'.join(map(re.escape, swaps)) + r')(?=\[)', lambda found: swaps[found[1]], line)
            if old_word:
                line = line.replace(f'direction={old_word}', f'direction={new_word}')
            lines.append(line)
        text = '\n'.join(lines) + '\n'
        if self.shows.startswith('['):
            text = re.sub(r'\[1\]', self.shows.replace(' ', ''), text)
        return text

    def parameters(self):
        """Type and number of elements of each parameter, in order."""
        entry = self.module[self.module.index('ENTRY'):]
        found = sorted((int(n), t, dims) for t, dims, n in re.findall(r'= (\w+)\[([\d,]*)\](?:\{[\d,]*\})? parameter\((\d+)\)', entry))
        return [(t, [int(d) for d in dims.split(',') if d]) for _, t, dims in found]

    def inputs(self):
        """The arrays for write_npz; None where the row does not have them whole."""
        arrays = {}
        listed = self.operands.split('; ') if self.operands else []
        parameters = self.parameters()
        if len(listed) != len(parameters):
            return None
        for k, ((name, dims), text) in enumerate(zip(parameters, listed)):
            size = storage(PART.get(name, name))
            data = b''
            for found in NUMBER.finditer(text):
                value = int(found[1], 16) if found[1] else int(found[2])
                data += (value & (256 ** size - 1)).to_bytes(size, 'little')
            elements = 1
            for dim in dims:
                elements *= dim
            length = elements * storage(name)
            if len(data) == storage(name) and self.shows.startswith('['):
                data *= elements
            if len(data) != length:
                return None
            descr = {'f16': '<f2', 'f32': '<f4', 'f64': '<f8', 'c64': '<c8', 'c128': '<c16', 'pred': '|b1'}.get(name)
            if descr is None:
                kind = 'i' if name.startswith('s') else 'u'
                descr = f'{"|" if storage(name) == 1 else "<"}{kind}{storage(name)}'
            arrays[f'in{k}'] = (descr, tuple(dims), data)
        return arrays


def rows_of(page):
    rows, number = [], 0
    for section in re.split(r'\n## ', page)[1:]:
        opcode = section.split('\n', 1)[0]
        for part in re.split(r'\n### ', section):
            module = re.search(r'```\n(HloModule.*?)```', part, re.S)
            lines = [line for line in part.split('\n') if line.startswith('| ') and not line.startswith('| types')]
            for line in lines:
                first = lines[0].split(' | ')[0][2:]
                rows.append(Row(number, opcode, module[1], first, line))
                number += 1
    return rows


def results_in(path):
    """Every number of every result, real and imaginary parts apart: pairs of its bits and bytes."""
    numbers = []
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            raw = archive.read(name)
            length = int.from_bytes(raw[8:10], 'little')
            header, data = raw[10:10 + length].decode('latin1'), raw[10 + length:]
            descr = re.search(r"'descr': '([^']*)'", header)[1]
            size = {'<c8': 4, '<c16': 8, 'bfloat16': 2}.get(descr) or (int(descr[2:]) if re.fullmatch(r'[<|>].\d+', descr) else 1)
            signed = descr[1] == 'i'
            for at in range(0, len(data), size):
                numbers.append((int.from_bytes(data[at:at + size], 'little'), int.from_bytes(data[at:at + size], 'little', signed=signed)))
    return numbers


def is_shown(column, number):
    found = re.search(r'\((0x[0-9a-f]+)\)', column)
    if found:
        return number[0] == int(found[1], 16)
    return column.lstrip('-').isdigit() and number[1] == int(column)


def is_subnormal_bf16(column):
    found = re.search(r'\(0x([0-9a-f]{4})\)', column)
    return found is not None and 0 < int(found[1], 16) & 0x7fff < 0x80


@functools.cache
def has_avx512_bf16():
    path = pathlib.Path('/proc/cpuinfo')
    return path.exists() and 'avx512_bf16' in path.read_text().split()


def is_nan(column):
    return column.startswith(('nan', '-nan'))


def measure(hloscope, row, folder):
    """'holds', 'varies', 'right' (XLA:CPU gives the true value), 'other: …' or 'not run: …'."""
    if row.xla == 'varies':
        return 'varies'
    arrays = row.inputs()
    if arrays is None:
        return 'not run: its operands are cut off'
    folder = pathlib.Path(folder)
    (folder / 'm.hlo').write_text(row.module)
    write_npz(str(folder / 'in.npz'), arrays)
    found = {}
    for platform in ('xla-cpu', 'interpreter'):
        out = folder / f'{platform}.npz'
        out.unlink(missing_ok=True)
        command = [hloscope, 'run', 'm.hlo', '--platform', platform, '--outputs', str(out), *(['--inputs', 'in.npz'] if arrays else [])]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        if not out.exists():
            return f'not run: {platform}: {ran.stderr.strip()[:200]}'
        found[platform] = results_in(out)
    pairs = list(zip(found['xla-cpu'], found['interpreter']))
    if any(is_shown(row.xla, x) and is_shown(row.mine, i) for x, i in pairs):
        return 'holds'
    if {'s1', 'u1'} & set(row.types.split()):
        return 'varies: it holds in most runs'
    if row.is_of_avx512_bf16() and not has_avx512_bf16():
        return 'varies: it is of processors with AVX512-BF16'
    off = [(x, i) for x, i in pairs if x[0] != i[0]]
    if not off or (row.shows.startswith('[') and all(is_shown(row.true, x) for x, _ in pairs)):
        return 'right'
    x, i = off[0]
    return f'other: XLA:CPU 0x{x[0]:x} ({x[1]}), interpreter 0x{i[0]:x} ({i[1]})'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hloscope')
    parser.add_argument('--every', type=int, default=1)
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args()
    hloscope = os.path.abspath(options.hloscope)
    if 'xla-cpu' not in ready_platforms(hloscope):
        print('no plugin of xla-cpu')
        return 77
    page = PAGE.read_text()
    counts, bad = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows_of(page):
            if row.number % options.every:
                continue
            outcome = measure(hloscope, row, folder)
            kind = outcome.split(':')[0]
            counts[kind] = counts.get(kind, 0) + 1
            if kind in ('right', 'other'):
                bad.append(row)
            if kind not in ('holds', 'varies'):
                print(f'{row.opcode} {row.types}: {outcome}; the row: true {row.true}, XLA:CPU {row.xla}, interpreter {row.mine}, {row.shows}', flush=True)
            if options.write and kind == 'right':
                page = page.replace(row.line + '\n', '', 1)
    print(', '.join(f'{count} {kind}' for kind, count in sorted(counts.items())))
    if options.write:
        PAGE.write_text(page)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
