#!/usr/bin/env python3
"""Faults planted into the kernels of GPU dumps: each that changes a result, or is a race, has to be found.

  planted_faults.py HLOSCOPE FOLDER… [--faults N] [--seed S] [--kinds A,B] [--at KIND:DUMP:FILE:LINE]… [--untouched] [--piece I/N]
                                     [--deadline S] [-v]

FOLDER holds dumps at any depth: modules before optimizations with their PTX beside them. First each dump runs untouched with all
checks and `diverge` looks at its kernels; neither may find anything that nothing explains. With --untouched that is all, and the
time beside a run without checks is told. Then N faults are planted into the text of the PTX, one at a time (with --at: those;
with --piece 0/4: the first of every four, and the untouched dumps are not looked at), and a user's two questions are asked again:
`run --check` and `diverge`. A run has S seconds (30), `diverge` four times as many: a busy machine needs more.

  check      a check names the line (check_line), or the kernel; of a barrier the line is named that lies where a race says that one
             is missing, of others also one of those that the access comes from. Where a check names the kernel alone, diverge is
             asked for the line too
  diverge    diverge names the kernel, with nothing that explains it; diverge_line: the line is among those that the worst element
             comes from, or is the one blamed
  deadline     the run names the kernel, which does not end (deadline_line: and a loop that the line ends, or the line itself)
  instruction  diverge names another kernel of the same instruction, as of a sort in several stages
  value      the results differ beyond the bounds, and the kernel is not named
  missed     bits of the results changed, and nothing is found
  nothing    no bit of the results changed, and nothing is found

Integers of inputs are small, so that those that are labels or indices say something. Exit status 1: a fault was missed, or
something was found where nothing is."""
import argparse
import array
import collections
import glob
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

CHECKS = ['--check', 'race,uninitialised']
ADDRESS = re.compile(r'\[\s*(%\w+)\s*(?:\+\s*(-?\d+)\s*)?\]')
WIDTH = re.compile(r'\.(?:v(\d)\.)?[bfus](8|16|32|64)\b')


def barrier(line, _):
    return '' if re.search(r'\bbar\.sync\b', line) else None


def off_by_one(line, rng):
    """One element, or one whole vector, further."""
    if not re.search(r'\b(ld|st)\.(global|shared)', line):
        return None
    address, width = ADDRESS.search(line), WIDTH.search(line)
    if not address or not width:
        return None
    step = int(width[1] or 1) * int(width[2]) // 8 * rng.choice((1, -1))
    offset = int(address[2] or 0) + step
    return line[:address.start()] + f'[{address[1]}+{offset}]' + line[address.end():]


def shuffle(line, _):
    found = re.search(r'(shfl\.sync\.\w+\.b32\s+[^;]*,\s*)(\d+)(,\s*\d+,\s*-1;)', line)
    if not found:
        return None
    distance = int(found[2])
    return line[:found.start()] + found[1] + str(distance // 2 if distance > 1 else 2) + found[3] + line[found.end():]


def predicate(line, _):
    found = re.search(r'@!?%\w+\s+(?=(ld|st|bra|atom|red)\b)', line)
    return line[:found.start()] + line[found.end():] if found else None


def rounding(line, _):
    """Sums and products of f16 and bf16 have no other rounding."""
    found = re.search(r'\b(?:cvt\.rn\.(?!ftz)|(?:add|sub|mul|fma)\.rn\.(?!ftz|b?f16))', line)
    return line[:found.start()] + found[0].replace('.rn.', '.rz.') + line[found.end():] if found else None


def operands(line, _):
    """Two sources that must not be swapped."""
    found = re.match(r'(\s*(?:@!?%\w+\s+)?(?:sub|div|rem|selp|setp\.(?:lt|le|gt|ge|ltu|gtu|leu|geu)|shl|shr)\.[\w.]+\s+[^,;]+,\s*)([^,;]+),(\s*)([^,;]+)([,;].*)', line)
    if not found or found[2].strip() == found[4].strip() or not found[4].strip().startswith('%'):
        return None
    return found[1] + found[4].strip() + ', ' + found[2].strip() + found[5]


KINDS = {'barrier': barrier, 'off_by_one': off_by_one, 'shuffle': shuffle, 'predicate': predicate, 'rounding': rounding, 'operands': operands}


class Dump:
    def __init__(self, module, scratch):
        self.origin = os.path.dirname(module)
        self.name = os.path.basename(os.path.dirname(self.origin)) if os.path.basename(self.origin) == 'dump' else os.path.basename(self.origin)
        self.folder = f'{scratch}/{self.name}'
        if not os.path.exists(self.folder):
            shutil.copytree(self.origin, self.folder)
        self.module = f'{self.folder}/{os.path.basename(module)}'
        self.stem = os.path.basename(module).split('.before_opt')[0]
        self.expected, self.clean = f'{scratch}/{self.name}.{self.stem}.expected.npz', f'{scratch}/{self.name}.{self.stem}.clean.npz'
        self.inputs = ['--seed', '7']
        text = open(module, errors='replace').read()
        self.parameters = '\n'.join(line for line in text.split('\n') if ' parameter(' in line)
        self.bound = '0.06' if re.search(r'bf16|f8e|f16', text) else '0.005'

    def ptx(self):
        """(file, number of a line, kernel, line)"""
        for path in sorted(glob.glob(f'{self.folder}/{self.stem}*.ptx')):
            kernel = ''
            for number, line in enumerate(open(path).read().split('\n')):
                entry = re.search(r'\.entry\s+(\w+)', line)
                kernel = entry[1] if entry else kernel
                yield path, number, kernel, line


def unpacked(folder, scratch):
    """The folder, or what an archive of dumps holds."""
    if not os.path.isfile(folder):
        return folder
    inside = f'{scratch}/{os.path.basename(folder)}.unpacked'
    with tarfile.open(folder) as archive:
        # Debian 12 was released with a Python that has no filters.
        archive.extraction_filter = getattr(tarfile, 'data_filter', None)
        archive.extractall(inside)
    return inside


def hloscope(*arguments):
    """Exit status, the last record, standard error, seconds."""
    start = time.time()
    p = subprocess.run([OPTIONS.hloscope, *arguments, '--json'], stdin=subprocess.DEVNULL, capture_output=True, timeout=30 * OPTIONS.deadline, text=True,
                       errors='replace')
    lines = [json.loads(line) for line in p.stdout.splitlines() if line.startswith('{')]
    return p.returncode, lines[-1] if lines else {}, p.stderr, time.time() - start


def simulate(dump, outputs, *more):
    return hloscope('run', dump.module, '--platform', 'xla-gpu-sim', '--as_dumped', *dump.inputs, '--outputs', outputs, *more)


def diverge(dump):
    return hloscope('diverge', dump.module, '--platform', 'xla-gpu-sim', '--as_dumped', '--reference_platform', 'interpreter', *dump.inputs,
                    '--deadline', str(4 * OPTIONS.deadline))[1]


# Liberties of a compiler that `diverge` proves.
EXPLAINED = {'tf32', 'dot_algorithm', 'tensor_sums', 'fma', 'denormals', 'approximation', 'reduction_order', 'rounding', 'excess_precision',
             'initial_value', 'ill_conditioned'}


def accused(verdict):
    """What diverge accuses of an untouched dump: nothing, or its cause."""
    if verdict.get('status') != 'differs':
        return verdict.get('error') or verdict.get('status') if verdict.get('status') != 'equal' else None
    return None if verdict.get('cause') in EXPLAINED else verdict.get('cause')


def arrays(path):
    with zipfile.ZipFile(path) as z:
        return {name: z.read(name) for name in z.namelist()}


def small_integers(path):
    """Integers of the inputs mod 8: as labels and indices they are in range."""
    with zipfile.ZipFile(path) as z:
        entries = {name: z.read(name) for name in z.namelist()}
    with zipfile.ZipFile(path, 'w') as z:
        for name, raw in entries.items():
            header = 10 + int.from_bytes(raw[8:10], 'little')
            kind = re.search(rb"'descr': '[<|]([iu])([248])'", raw[:header])
            if kind:
                code = {b'2': 'H', b'4': 'I', b'8': 'Q'}[kind[2]]
                raw = raw[:header] + array.array(code, [v % 8 for v in array.array(code, raw[header:])]).tobytes()
            z.writestr(name, raw)


def prepare(dump):
    """Runs it untouched; the findings, and seconds with checks and without. None: the platform, or the interpreter, does not run it."""
    inputs = dump.expected + '.in.npz'
    status, record, errors, _ = hloscope('run', dump.module, '--platform', 'interpreter', '--seed', '7', '--outputs', dump.expected,
                                         '--save_inputs', inputs)
    if status == 3:
        return None
    if status == 0 and os.path.exists(inputs) and not re.search('bf16|f8e', dump.parameters):
        small_integers(inputs)
        dump.inputs = ['--inputs', inputs]
        status, record, errors, _ = hloscope('run', dump.module, '--platform', 'interpreter', *dump.inputs, '--outputs', dump.expected)
    if status != 0:
        raise RuntimeError(f'{dump.name}: {errors or record}')
    status, _, _, without = simulate(dump, dump.clean)
    if status == 3:
        return None
    if OPTIONS.piece:
        return [], 0, without
    status, record, errors, seconds = simulate(dump, dump.clean, *CHECKS)
    if status not in (0, 1) or not os.path.exists(dump.clean):
        raise RuntimeError(f'{dump.name}: {errors or record}')
    findings = record.get('checks', [])
    if verdict := accused(diverge(dump)):
        findings.append({'diverge': verdict})
    return findings, seconds, without


def sites(dumps, kinds):
    """By kind: (dump, file, line, kernel)."""
    found = collections.defaultdict(list)
    for dump in dumps:
        for path, number, kernel, line in dump.ptx():
            for kind in kinds:
                if KINDS[kind](line, random.Random(0)) is not None:
                    found[kind].append((dump, path, number, kernel))
    return found


def names_line(finding, line):
    """Whether a finding of a check names the line, or says that a barrier is missing there."""
    if any(side.get('line') == line for side in (finding.get('at', {}), finding.get('other', {}))):
        return True
    comes_from = re.search(r'; comes from lines ([\d, ]+)', finding['what'])
    if comes_from and str(line) in re.findall(r'\d+', comes_from[1]):
        return True
    between = re.search(r'no barrier between lines (\d+)(?:, which waits for copies,)? and (\d+)', finding['what'])
    if between:
        return int(between[1]) < line < int(between[2])
    around = re.search(r'no barrier after line (\d+) before a loop reaches line (\d+) again', finding['what'])
    return around is not None and not int(around[2]) <= line <= int(around[1])


def sliced(verdict, line):
    """The rank of the line among those that diverge names, and how many it names; none: it does not name it."""
    ranks = {step['line']: step['rank'] for step in verdict.get('kernels', {}).get('slice', [])}
    if verdict.get('ptx_line') == line and line not in ranks:
        return 1, len(ranks) or 1
    return ranks.get(line), len(ranks)


def judge(dump, kernel, line, outputs):
    """What became of a fault (see above), and the record that says so."""
    if os.path.exists(outputs):
        os.remove(outputs)
    status, record, errors, _ = simulate(dump, outputs, *CHECKS, '--expect', dump.expected, '--abs_error_bound', dump.bound,
                                         '--rel_error_bound', dump.bound, '--deadline', str(OPTIONS.deadline))
    named = [c for c in record.get('checks', []) if c['kernel'] == kernel]
    if any(names_line(c, line) for c in named):
        return 'check_line', record
    if status in (2, 3):
        return 'refused', record
    if status == 4 and f'kernel {kernel}: its deadline passed' in (record.get('error') or ''):
        return 'deadline_line' if str(line) in re.findall(r'line (\d+)', record['error']) else 'deadline', record
    verdict = diverge(dump)
    steps = verdict.get('kernels', {}).get('slice', [])
    if accused(verdict) and any(step['line'] == line and step.get('kernel', verdict['kernel']) == kernel for step in steps):
        return 'diverge_line', verdict
    if accused(verdict) and verdict.get('kernel') == kernel:
        if verdict.get('ptx_line') == line:
            return 'diverge_line', verdict
        return ('check' if named else 'diverge'), verdict
    if named:
        return 'check', record
    if accused(verdict) and re.sub(r'__\d+$', '', verdict.get('kernel') or '') == re.sub(r'__\d+$', '', kernel):
        return 'instruction', verdict
    if record.get('status') == 'differs':
        return 'value', verdict
    if record.get('checks') or accused(verdict):
        return 'elsewhere', verdict
    if status != 0 or not os.path.exists(outputs):
        return 'died', record
    return ('nothing' if arrays(outputs) == arrays(dump.clean) else 'missed'), verdict


def lines_of(dump, path, kernel):
    """How many lines of the kernel hold an instruction."""
    return sum(1 for file, _, name, line in dump.ptx() if file == path and name == kernel and line.rstrip().endswith(';')
               and not re.match(r'\s*\.', line))


def faults(dumps, rng):
    """(kind, dump, file, line, kernel) of each that is asked for."""
    places = sites(dumps, OPTIONS.kinds)
    if OPTIONS.at:
        named = {f'{kind}:{dump.name}:{os.path.basename(path)}:{at + 1}': (kind, dump, path, at, kernel)
                 for kind in OPTIONS.kinds for dump, path, at, kernel in places[kind]}
        for at in OPTIONS.at:
            yield named[at]
        return
    for number in range(OPTIONS.faults):
        kind = OPTIONS.kinds[number % len(OPTIONS.kinds)]
        if places[kind]:
            yield kind, *places[kind].pop(rng.randrange(len(places[kind])))


def plant(dumps, scratch):
    rng = random.Random(OPTIONS.seed)
    results, missed, told = collections.defaultdict(collections.Counter), [], []
    piece, pieces = map(int, (OPTIONS.piece or '0/1').split('/'))
    for number, (kind, dump, path, at, kernel) in enumerate(faults(dumps, rng)):
        text = open(path).read()
        lines = text.split('\n')
        planted = KINDS[kind](lines[at], rng)
        if number % pieces != piece:
            continue
        lines[at], was = planted, lines[at]
        with open(path, 'w') as f:
            f.write('\n'.join(lines))
        try:
            verdict, record = judge(dump, kernel, at + 1, f'{scratch}/faulty.npz')
        finally:
            with open(path, 'w') as f:
                f.write(text)
        results[kind][verdict] += 1
        rank, named = sliced(record, at + 1) if verdict == 'diverge_line' else (None, 0)
        if rank:
            told.append((rank, named / lines_of(dump, path, kernel)))
        where = f'{kind} {dump.name} {os.path.basename(path)}:{at + 1} {kernel}: `{was.strip()}` -> `{planted.strip()}`: {verdict}'
        if verdict in ('elsewhere', 'died', 'missed', 'value'):
            missed.append(where + ' ' + json.dumps(record)[-500:])
        if OPTIONS.verbose:
            checks = [(c['kind'], c.get('at', {}).get('line'), c['what']) for c in record.get('checks', [])][:3]
            print(where, f'rank {rank} of {named} lines;' if rank else '', checks, record.get('cause'), record.get('kernel'), record.get('ptx_line'), record.get('error'), flush=True)
    return results, missed, told


def main():
    modules = [m for folder in OPTIONS.folders for m in sorted(glob.glob(folder + '/**/*before_optimizations.txt', recursive=True))
               if glob.glob(m.split('.before_opt')[0] + '*.ptx')]
    with tempfile.TemporaryDirectory() as scratch:
        dumps, false, times = [Dump(m, scratch) for m in modules], 0, []
        if OPTIONS.at:
            dumps = [dump for dump in dumps if any(at.split(':')[1] == dump.name for at in OPTIONS.at)]
        for dump in list(dumps):
            prepared = prepare(dump)
            if prepared is None:
                dumps.remove(dump)
                continue
            findings, checked, without = prepared
            times.append((checked, without))
            false += len(findings)
            for finding in findings:
                print(f'found in the untouched {dump.name}: {json.dumps(finding)}')
            if OPTIONS.verbose:
                print(f'{dump.name}: {checked:.2f} s with checks, {without:.2f} s without')
        print(f'{len(dumps)} dumps untouched: {false} findings; {sum(t[0] for t in times):.1f} s with checks, {sum(t[1] for t in times):.1f} s without')
        if OPTIONS.untouched:
            return int(false > 0)
        results, missed, told = plant(dumps, scratch)
        for kind, verdicts in sorted(results.items()):
            print(kind, dict(verdicts))
        print('all', dict(sum(results.values(), collections.Counter())))
        if told:
            ranks = sorted(rank for rank, _ in told)
            print(f'lines that diverge names: {statistics.median(share for _, share in told):.0%} of a kernel (median); rank of the planted one: '
                  f'{statistics.median(ranks):.0f} (median), among the first ten in {sum(rank <= 10 for rank in ranks)} of {len(ranks)}')
        print(*missed, sep='\n')
        return int(false > 0 or len(missed) > 0)


parser = argparse.ArgumentParser()
parser.add_argument('hloscope')
parser.add_argument('folders', nargs='+')
parser.add_argument('--faults', type=int, default=200)
parser.add_argument('--seed', type=int, default=1)
parser.add_argument('--kinds', type=lambda text: text.split(','), default=list(KINDS))
parser.add_argument('--at', action='append')
parser.add_argument('--untouched', action='store_true')
parser.add_argument('--piece')
parser.add_argument('--deadline', type=int, default=30)
parser.add_argument('-v', '--verbose', action='store_true')
if __name__ == '__main__':
    OPTIONS = parser.parse_args()
    sys.exit(main())
