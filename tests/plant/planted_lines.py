#!/usr/bin/env python3
"""Faults planted into the kernels of GPU dumps: whether `diverge` blames the kernel and names the line among the first five.

  planted_lines.py HLOSCOPE FOLDER… [--faults N] [--seed S] [--kinds A,B] [--half 0|1] [--at KIND:DUMP:FILE:LINE:SEED]…
                                    [--without TEXT] [--deadline S] [--clean] [--least SHARE] [-v]

FOLDER holds dumps at any depth, as in planted_faults.py, or is an archive of them (.tar.xz); dumps
with TEXT in their names are left out. loops.tar.xz has products whose depth is a loop (XLA 0.12.0 of dots of 256 to 416 along the
depth, without a device), which few others have. N faults are planted one at a time, in equal shares of the kinds, at most 12 in one kernel, into kernels of 40 instructions or more. A fault that leaves every bit of the results, or that ends the run, is
replaced by another of its kind. Kernels are in one of two halves, by a hash of their dump and name; --half takes one of them: the
second is only counted, so that what is made better by looking at the first can be held to it.

A fault is `found` where the results differ and diverge accuses a kernel; `within` where they differ within the bounds alone, and none is
accused. Of a deleted barrier the line is one that the barrier is next to: no further than the accesses before and after it, and the
cause has to be called a race. With --clean the untouched dumps run through diverge first, which may accuse
nothing. Exit status 1: another kernel is blamed, a race is not called one, something is found where nothing is, or fewer lines than SHARE
are named."""
import argparse
import collections
import os
import random
import re
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import planted_faults as base  # noqa: E402

FIRST = 5          # lines that count as named
PER_KERNEL = 12
LEAST_LINES = 40
VARIANTS = 4        # of a line that are tried: several numbers of turns
IMMEDIATE = re.compile(r'(,\s*)(-?\d+)(;)')


def with_immediate(line, make, rng):
    """The line with its last operand, an integer, as `make` has it."""
    found = IMMEDIATE.search(line)
    if not found:
        return None
    values = [v for v in make(int(found[2])) if v != int(found[2])]
    return line[:found.start(2)] + str(rng.choice(values)) + line[found.end(2):] if values else None


def constant(lines, at, rng):
    """A digit of a float."""
    if re.search(r'\b(st|ld)\.', lines[at]):
        return None
    found = re.search(r'\b0f([0-9A-Fa-f]{8})\b', lines[at])
    if not found or found[1].upper() in ('00000000', '80000000', '7F800000', 'FF800000'):
        return None
    bits = int(found[1], 16) ^ (1 << rng.randrange(17, 23))
    return lines[at][:found.start(1)] + f'{bits:08X}' + lines[at][found.end(1):]


def offset(lines, at, rng):
    return base.off_by_one(lines[at], rng)


def stride(lines, at, rng):
    if not re.search(r'\b(mul\.(lo|wide)|mad\.(lo|wide))\.', lines[at]):
        return None
    if '.mad' in lines[at] or re.search(r'\bmad\.', lines[at]):
        found = re.search(r'(,\s*)(\d+)(,\s*%\w+;)', lines[at])
        if not found or int(found[2]) < 2:
            return None
        value = int(found[2])
        return lines[at][:found.start(2)] + str(rng.choice((value + 1, value - 1, value * 2) if value % 8 else (value * 2, value // 2))) + lines[at][found.end(2):]
    return with_immediate(lines[at], lambda v: () if v < 2 else (v * 2, v // 2) if v % 8 == 0 or v in (2, 4) else (v + 1, v - 1), rng)


def shuffle(lines, at, rng):
    return base.shuffle(lines[at], rng)


def barrier(lines, at, rng):
    return base.barrier(lines[at], rng)


GUARDS = {}  # of the kernel that was asked for last


def setter_of(lines, predicate, first, last):
    """The line in [first, last] that sets a predicate last."""
    return next((n for n in range(last, first - 1, -1) if re.match(rf'\s*setp\.[\w.]+\s+{re.escape(predicate)}\b', lines[n])), None)


def loop_guards(lines):
    """The lines that set what a branch back to a loop's begin, or one out of it, depends on: (first, last) line of the loop."""
    key = tuple(lines)
    if key in GUARDS:
        return GUARDS[key]
    labels, loops, guards = {}, [], {}
    GUARDS.clear()
    GUARDS[key] = guards
    branches = [(n, *m.groups()) for n, line in enumerate(lines)
                if (m := re.match(r'\s*(?:@!?(%\w+)\s+)?bra(?:\.uni)?\s+([$\w]+);', line))]
    for number, line in enumerate(lines):
        if label := re.match(r'\s*([$\w]+):', line):
            labels[label[1]] = number
    for number, _, label in branches:
        if label in labels and labels[label] < number:
            loops.append((labels[label], number))
    for first, last in loops:
        for number, predicate, label in branches:
            leaves = label in labels and not first < labels[label] <= last
            if predicate and first <= number <= last and leaves:
                guard = setter_of(lines, predicate, first, number - 1)
                if guard is not None:
                    guards.setdefault(guard, (first, last))
    return guards


def bound(lines, at, rng):
    if not re.search(r'\bsetp\.(lt|le|gt|ge|ltu|gtu|leu|geu|lo|hi|ls|hs)\.[us]\d\d\b|\b(min|max)\.[us]\d\d\b', lines[at]) or at in loop_guards(lines):
        return None
    return with_immediate(lines[at], lambda v: (v - 1, v + 1, v - 8, v // 2) if v > 8 else (v + 1, v - 1), rng)


def step_of(lines, first, last, register):
    """What a loop adds to a register in each turn; none: it is not a number."""
    found = [m for line in lines[first:last + 1]
             if (m := re.match(rf'\s*add\.[su]\d\d\s+{re.escape(register)},\s*%\w+,\s*(-?\d+);', line))]
    return abs(int(found[0][1])) if len(found) == 1 else None


def trip_count(lines, at, rng):
    """Some turns more or fewer: a counter that is compared for being equal has to meet the number."""
    guards = loop_guards(lines) if re.match(r'\s*setp\.', lines[at]) else {}
    compared = re.match(r'\s*setp\.\w+\.\w+\s+%\w+,\s*(%\w+),', lines[at])
    if at not in guards or not compared:
        return None
    step = step_of(lines, *guards[at], compared[1]) or 1
    return with_immediate(lines[at], lambda v: [w for w in (v - step, v + step, v - 2 * step, v // 2 // step * step) if w > 0 or v <= 0], rng)


def fragment(lines, at, rng):
    if not re.search(r'\b(mma\.sync|ldmatrix|stmatrix|wgmma)\b', lines[at]) and not re.search(r'^\s*\{[^}]*\},?$', lines[at]):
        return None
    vectors = [m for m in re.finditer(r'\{([^{}]+)\}', lines[at]) if len(set(m[1].split(','))) > 1]
    if not vectors:
        return None
    vector = rng.choice(vectors)
    names = [n.strip() for n in vector[1].split(',')]
    a, b = rng.sample(range(len(names)), 2)
    names[a], names[b] = names[b], names[a]
    if names == [n.strip() for n in vector[1].split(',')]:
        return None
    return lines[at][:vector.start(1)] + ', '.join(names) + lines[at][vector.end(1):]


def max_min(lines, at, rng):
    found = re.search(r'\b(max|min)(\.[\w.]*[fsu]\d|\.[\w.]*bf16)', lines[at])
    if found:
        return lines[at][:found.start(1)] + ('min' if found[1] == 'max' else 'max') + lines[at][found.end(1):]
    found = re.search(r'\bsetp\.(gt|lt)(u?\.(?:ftz\.)?f\d\d)', lines[at])
    return lines[at][:found.start(1)] + ('lt' if found[1] == 'gt' else 'gt') + lines[at][found.end(1):] if found else None


def index_shift(lines, at, rng):
    if not re.search(r'\b(shl|shr)\.[bus]\d\d\b', lines[at]):
        return None
    return with_immediate(lines[at], lambda v: (v + 1, v - 1), rng)


KINDS = {'constant': constant, 'offset': offset, 'stride': stride, 'shuffle': shuffle, 'barrier': barrier, 'bound': bound, 'fragment': fragment,
         'max_min': max_min, 'index_shift': index_shift, 'trip_count': trip_count}


def half_of(dump, kernel):
    return zlib.crc32(f'{dump.name}:{kernel}'.encode()) % 2


def kernels_of(dump):
    """(file, kernel, its lines' numbers) of those that are long enough."""
    bodies = collections.defaultdict(list)
    for path, number, kernel, line in dump.ptx():
        if kernel:
            bodies[path, kernel].append((number, line))
    for (path, kernel), body in bodies.items():
        if sum(line.rstrip().endswith(';') and not re.match(r'\s*\.', line) for _, line in body) >= LEAST_LINES:
            yield path, kernel, [number for number, _ in body]


def sites(dumps):
    """By kind, by (dump, file, kernel): lines."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for dump in dumps:
        for path, kernel, numbers in kernels_of(dump):
            if OPTIONS.half is not None and half_of(dump, kernel) != OPTIONS.half:
                continue
            lines = open(path).read().split('\n')
            body = [''] * numbers[0] + lines[numbers[0]:numbers[-1] + 1]
            for kind in OPTIONS.kinds:
                for number in numbers:
                    if KINDS[kind](body, number, random.Random(0)) is not None:
                        found[kind][dump.name, path, kernel] += [number] * VARIANTS
    return found


def first_lines(verdict):
    """The lines that the verdict says to look at first."""
    finding = verdict.get('kernels') or {}
    if 'look_first' in finding:
        return [entry['line'] for entry in finding['look_first']][:FIRST]
    ranked = {}
    for step in finding.get('slice', []):
        ranked.setdefault(step['rank'], step['line'])
    return [line for _, line in sorted(ranked.items())][:FIRST]


def next_accesses(lines, at):
    """Numbers from the access of memory before that line to the one after it."""
    access = re.compile(r'\b(ld|st|ldmatrix|stmatrix|atom|red|cp\.async|mma|shfl)\b')
    before = next((n for n in range(at - 1, -1, -1) if access.search(lines[n])), at)
    after = next((n for n in range(at + 1, len(lines)) if access.search(lines[n])), at)
    return range(before + 1, after + 2)


def statement_of(lines, at):
    """The number of the line where its statement begins: products of fragments have four lines."""
    while at > 0 and lines[at - 1].strip() and not re.search(r'[;:{}]\s*(//.*)?$|^\s*[./]', re.sub(r'\{[^}]*\}', '', lines[at - 1])):
        at -= 1
    return at + 1


def judge(dump, kernel, lines, at, kind, scratch):
    """(what became of it, the rank of the line, the verdict); None: the results are those of the untouched kernel, or there are none."""
    outputs = f'{scratch}/faulty.npz'
    if os.path.exists(outputs):
        os.remove(outputs)
    status, record, _, _ = base.simulate(dump, outputs, '--deadline', str(OPTIONS.deadline), '--expect', dump.expected, '--abs_error_bound', dump.bound,
                                         '--rel_error_bound', dump.bound)
    if record.get('status') not in ('equal', 'differs') or not os.path.exists(outputs) or base.arrays(outputs) == base.arrays(dump.clean):
        return None
    differs = record.get('status') == 'differs'
    verdict = base.diverge(dump)
    if not base.accused(verdict):
        return ('missed' if differs else 'within'), None, verdict
    if verdict.get('kernel') != kernel:
        same = re.sub(r'__\d+$', '', verdict.get('kernel') or '') == re.sub(r'__\d+$', '', kernel)
        if not same:
            return 'elsewhere', None, verdict
    if kind == 'barrier' and verdict.get('cause') != 'race':
        return 'no_race', None, verdict
    named = first_lines(verdict)
    wanted = next_accesses(lines, at) if kind == 'barrier' else (statement_of(lines, at),)
    rank = next((i + 1 for i, line in enumerate(named) if line in wanted), None)
    return 'found', rank, verdict


def plant(dumps, scratch):
    by_name = {dump.name: dump for dump in dumps}
    places, rng = sites(dumps), random.Random(OPTIONS.seed)
    in_kernel, tried = collections.Counter(), set()
    results = collections.defaultdict(collections.Counter)
    wanted = OPTIONS.faults
    jobs = [at.split(':') for at in OPTIONS.at] if OPTIONS.at else None
    number = 0
    exhausted = set()
    while jobs or (jobs is None and number < wanted and len(exhausted) < len(OPTIONS.kinds)):
        if jobs:
            kind, name, file, line, seed = jobs.pop(0)
            path, at = f'{by_name[name].folder}/{file}', int(line) - 1
            kernel = next(k for p, n, k, _ in by_name[name].ptx() if p == path and n == at)
        else:
            kind = OPTIONS.kinds[number % len(OPTIONS.kinds)]
            open_kernels = [k for k, lines in places[kind].items() if in_kernel[k] < PER_KERNEL and lines]
            if not open_kernels or kind in exhausted:
                exhausted.add(kind)
                number += 1
                wanted += 1
                continue
            name, path, kernel = key = rng.choice(open_kernels)
            at = places[kind][key].pop(rng.randrange(len(places[kind][key])))
            seed = str(rng.randrange(1000))
        dump = by_name[name]
        text = open(path).read()
        lines = text.split('\n')
        planted = KINDS[kind](lines, at, random.Random(int(seed)))
        if planted is None or (path, at, planted) in tried:
            continue
        tried.add((path, at, planted))
        was, lines[at] = lines[at], planted
        with open(path, 'w') as f:
            f.write('\n'.join(lines))
        try:
            judged = judge(dump, kernel, lines, at, kind, scratch)
        finally:
            with open(path, 'w') as f:
                f.write(text)
        where = f'{kind}:{name}:{os.path.basename(path)}:{at + 1}:{seed}'
        if judged is None:
            if jobs is not None:
                print(where, 'changes nothing or ends the run', flush=True)
            continue
        number += 1
        in_kernel[name, path, kernel] += 1
        became, rank, verdict = judged
        results[kind][became if became != 'found' else 'first' if rank else 'not_first'] += 1
        if OPTIONS.verbose or OPTIONS.half != 1 and became in ('elsewhere', 'missed', 'no_race'):
            print(f'{where} {kernel}: `{was.strip()}` -> `{planted.strip()}`: {became}, rank {rank}; {first_lines(verdict)} {verdict.get("cause")} '
                  f'{verdict.get("kernel")} {(verdict.get("error") or "")[:200]}', flush=True)
    return results


def main():
    with tempfile.TemporaryDirectory() as scratch:
        return plant_in([base.unpacked(folder, scratch) for folder in OPTIONS.folders], scratch)


def plant_in(folders, scratch):
    modules = [m for folder in folders for m in sorted(base.glob.glob(folder + '/**/*before_optimizations.txt', recursive=True))
               if base.glob.glob(m.split('.before_opt')[0] + '*.ptx') and not (OPTIONS.without and OPTIONS.without in m)]
    false = 0
    dumps = [base.Dump(m, scratch) for m in modules]
    if OPTIONS.at:
        dumps = [dump for dump in dumps if any(at.split(':')[1] == dump.name for at in OPTIONS.at)]
    for dump in list(dumps):
        if base.prepare(dump) is None:
            dumps.remove(dump)
        elif OPTIONS.clean and (verdict := base.accused(base.diverge(dump))):
            print(f'found in the untouched {dump.name}: {verdict}')
            false += 1
    results = plant(dumps, scratch)
    for kind, counts in results.items():
        print(kind, dict(counts))
    total = sum(results.values(), collections.Counter())
    found = total['first'] + total['not_first']
    wrong = total['elsewhere'] + total['missed'] + total['no_race']
    share = total['first'] / found if found else 0
    print(f'all {dict(total)}: kernel right in {found} of {total.total() - total["within"]}; line among the first {FIRST} in {share:.0%}')
    return int(false > 0 or wrong > 0 or share < OPTIONS.least)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('hloscope')
    parser.add_argument('folders', nargs='+')
    parser.add_argument('--faults', type=int, default=60)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--kinds', type=lambda text: text.split(','), default=list(KINDS))
    parser.add_argument('--half', type=int)
    parser.add_argument('--at', action='append')
    parser.add_argument('--deadline', type=int, default=30)
    parser.add_argument('--without')
    parser.add_argument('--clean', action='store_true')
    parser.add_argument('--least', type=float, default=0)
    parser.add_argument('-v', '--verbose', action='store_true')
    OPTIONS = parser.parse_args()
    OPTIONS.piece = '0/1'  # prepare() without checks
    base.OPTIONS = OPTIONS
    sys.exit(main())
