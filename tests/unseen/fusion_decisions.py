#!/usr/bin/env python3
"""What priority fusion decided in twenty fresh compilations, replayed and compared by hloscope.

  fusion_decisions.py make PYTHON HLOSCOPE FOLDER [--seed N]   fused_programs.py, each compiled for an H100 or an A100 that is not there; PYTHON has jax
  fusion_decisions.py check HLOSCOPE FOLDER        `why` replays the decisions of each; the reasons and fusions that it tells are those of the file
  fusion_decisions.py plant HLOSCOPE FOLDER [--seed N]         one decision of a copy edited: `compare --decisions` names it
  fusion_decisions.py test HLOSCOPE [--seed N]     all of it in a folder of its own; 77: no python with jax, or no XLA:GPU"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from unseen_dumps import dumps_in, python_with_jax  # noqa: E402

PROGRAMS = pathlib.Path(__file__).with_name('fused_programs.py')
ASKED = 6  # of each kind in each dump


def run(hloscope, *arguments):
    done = subprocess.run([hloscope, *arguments, '--json'], capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else {'status': 'error', 'error': done.stderr}


def make(python, hloscope, folder, seed):
    """Whether XLA's plugin is there."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([python, PROGRAMS, folder, str(seed)], env={**os.environ, 'JAX_PLATFORMS': 'cpu', 'PYTHONDONTWRITEBYTECODE': '1'}, check=True)
    for number, module in enumerate(sorted(folder.glob('*.hlo.pb'))):
        target = ('h100', 'a100')[number % 2]
        dump = folder / f'{module.name.split(".")[0]}_{target}'
        shutil.rmtree(dump, ignore_errors=True)
        done = subprocess.run([hloscope, 'compile', module, '--with', 'xla-gpu', '--target', target, '--dump', dump, '--passes'],
                              capture_output=True, text=True, timeout=600)
        if 'no plugin for' in done.stderr:
            return False
        if done.returncode:
            print(f'{dump.name}: left out: {done.stderr.strip()[-300:]}', flush=True)
            shutil.rmtree(dump, ignore_errors=True)
    return True


class Decisions:
    """The steps of a dump's file, read line by line."""

    def __init__(self, dump):
        self.file, = dump.glob('*.priority_fusion_dump.txt')
        text = self.file.read_text()
        blocks = re.findall(r'^fusion_steps \{\n.*?^\}\n', text, re.MULTILINE | re.DOTALL)
        first, last = (text.index(blocks[0]), text.rindex(blocks[-1]) + len(blocks[-1])) if blocks else (0, 0)
        assert ''.join(blocks) == text[first:last], self.file
        self.head, self.blocks, self.tail = text[:first], blocks, text[last:]
        before = re.search(r'^hlo_module_before_fusion: "(.*)"$', text, re.MULTILINE)[1].encode().decode('unicode_escape')
        # Users by instruction, of the module before; names are unique in a module.
        lines = [line for line in before.splitlines() if re.match(r'\s+(ROOT )?%?[\w.-]+ = ', line)]
        self.users = {re.match(r'\s+(?:ROOT )?%?([\w.-]+) = ', line)[1]: [] for line in lines}
        for line in lines:
            name, rest = re.match(r'\s+(?:ROOT )?%?([\w.-]+) = (.*)', line).groups()
            operands = re.search(r' [\w-]+\((.*?)\)(, |$)', rest)
            for operand in re.findall(r'[\w.-]+', operands[1] if operands else ''):
                if operand in self.users and ' constant(' not in rest and ' parameter(' not in rest:
                    self.users[operand].append(name)

    def steps(self):
        """(kind, fields of it) of each."""
        for block in self.blocks:
            kind = re.search(r'^  (\w+) \{', block, re.MULTILINE)[1]
            yield kind, dict(re.findall(r'^    (\w+): "?(.*?)"?$', block, re.MULTILINE))

    def write(self, dump, blocks):
        (dump / self.file.name).write_text(self.head + ''.join(blocks) + self.tail)


def wrong_answers(hloscope, dump, draw):
    """Of `why` about some fusions and refusals of a dump, against its file; yields what is otherwise."""
    read = Decisions(dump)
    steps = list(read.steps())
    fused = [fields for kind, fields in steps if kind == 'fusion']
    moved = {fields[side] for fields in fused for side in ('producer_name', 'consumer_name')}  # or renamed
    last = {fields['producer_name']: fields for kind, fields in steps if kind == 'producer_ineligible'}
    later = {fields['producer_name'] for kind, fields in steps if kind == 'update_priority'}
    given = [fields for fields in fused if fields['producer_name'] in read.users and fields['consumer_name'] in read.users]
    refused = [(name, fields['reason']) for name, fields in last.items()
               if name in read.users and name not in moved and name not in later and len(read.users[name]) == 1]
    told = None
    for fields in draw.sample(given, min(ASKED, len(given))):
        told = run(hloscope, 'why', dump, '--not-fused', fields['producer_name'], fields['consumer_name'])
        if told['status'] != 'fused':
            yield f'{fields["producer_name"]} into {fields["consumer_name"]}: {told}'
    for name, reason in draw.sample(refused, min(ASKED, len(refused))):
        user = read.users[name][0]
        told = run(hloscope, 'why', dump, '--not-fused', name, user)
        if told['status'] != 'not_fused' or not told['reason'].endswith(reason.replace("\\'", "'").replace('\\"', '"')):  # behind others of the round
            yield f'{name} and {user}: {told}, in the file: {reason}'
    if told is None:
        name = next(iter(name for name, users in read.users.items() if users))
        told = run(hloscope, 'why', dump, '--not-fused', name, read.users[name][0])
    if told.get('replay_agrees') is not True:
        yield f'replay: {told.get("replay_agrees")} {told.get("notes", told)}'


def kernels_of(dump):
    """(kernel, its user) of the entry of the compiled module, both fusions."""
    text = next(dump.glob('*gpu_after_optimizations.txt')).read_text()
    entry = re.search(r'^ENTRY .*?^\}', text, re.MULTILINE | re.DOTALL)[0]
    operands = dict(re.findall(r'^  (?:ROOT )?%([\w.-]+) = .*? fusion\((.*?)\),', entry, re.MULTILINE))
    return [(used, user) for user, names in operands.items() for used in re.findall(r'%([\w.-]+)', names) if used in operands]


def unanswered(hloscope, dump, draw):
    """Of the kernels of the compiled module, by the names that a user finds there; yields those of which nothing is known."""
    pairs = kernels_of(dump)
    for pair in draw.sample(pairs, min(ASKED, len(pairs))):
        told = run(hloscope, 'why', dump, '--not-fused', *pair)
        if told['status'] not in ('not_fused', 'unknown') or not told.get('reason'):
            yield f'{pair[0]} and {pair[1]}: {told}'


def check(hloscope, folder, seed=1):
    draw, wrong, total = random.Random(seed), 0, 0
    for dump in dumps_in(folder):
        kinds = [kind for kind, _ in Decisions(dump).steps()]
        found = [*wrong_answers(hloscope, dump, draw), *unanswered(hloscope, dump, draw)]
        print(f'{dump.name}: {len(kinds)} steps, {kinds.count("fusion")} fusions, {kinds.count("producer_ineligible")} refusals: '
              f'{"right" if not found else "; ".join(found)}', flush=True)
        wrong += bool(found)
        total += len(kinds)
    count = len(dumps_in(folder))
    print(f'{count - wrong} of {count} right, {total} steps')
    return 1 if wrong or not count else 0


def planted(read, draw):
    """(what, blocks, the step of A or None, that of B or None): one edit of each kind, where the file has what it needs."""
    steps, blocks = list(read.steps()), read.blocks
    fused = [k for k, (kind, _) in enumerate(steps) if kind == 'fusion']
    refused = [k for k, (kind, _) in enumerate(steps) if kind == 'producer_ineligible']
    once = [k for k in refused if sum(f['producer_name'] == steps[k][1]['producer_name'] for kind, f in steps if kind == 'producer_ineligible') == 1]
    middle = fused[1:-1]

    def replaced(k, *to):
        return blocks[:k] + list(to) + blocks[k + 1:]

    def refusal(k, reason='planted'):
        return f'fusion_steps {{\n  producer_ineligible {{\n    producer_name: "{steps[k][1]["producer_name"]}"\n    reason: "{reason}"\n  }}\n}}\n'
    if middle:
        k = draw.choice(middle)
        yield 'a fusion is absent', replaced(k), k + 1, None
        k = draw.choice(middle)
        yield 'refused instead', replaced(k, refusal(k)), k + 1, k + 1
        k = draw.choice(middle)
        other = draw.choice([name for name in read.users if name not in steps[k][1].values()])
        yield 'into another user', replaced(k, blocks[k].replace(f'consumer_name: "{steps[k][1]["consumer_name"]}"', f'consumer_name: "{other}"')), k + 1, k + 1
        k = draw.choice(middle)
        yield 'refused before', replaced(k, refusal(k), blocks[k]), None, k + 1
        one = draw.choice(middle)
        later = [k for k in fused if k > one and steps[k][1]['producer_name'] != steps[one][1]['producer_name']]
        if later:
            edited = replaced(draw.choice(later))
            yield 'two edits, the first counts', edited[:one] + [refusal(one)] + edited[one + 1:], one + 1, one + 1
    if len(fused) > 1:
        yield 'the first fusion is absent', replaced(fused[0]), fused[0] + 1, None
        yield 'the last fusion is absent', replaced(fused[-1]), fused[-1] + 1, None
        yield 'once more at the end', blocks + [blocks[fused[0]]], None, len(blocks) + 1
        different = [(a, b) for a, b in zip(fused, fused[1:]) if steps[a][1]['producer_name'] != steps[b][1]['producer_name']]
        if different:
            one, two = draw.choice(different)
            swapped = list(blocks)
            swapped[one], swapped[two] = swapped[two], swapped[one]
            yield 'two in the other order', swapped, one + 1, one + 1
    if once:
        k = draw.choice(once)
        yield 'not refused', replaced(k), k + 1, None
        k = draw.choice(once)
        other = draw.choice([name for name in read.users if name != steps[k][1]['producer_name']])
        yield 'another is refused', replaced(k, blocks[k].replace(f'producer_name: "{steps[k][1]["producer_name"]}"', f'producer_name: "{other}"')), k + 1, None


def plant(hloscope, folder, seed=1):
    """Each dump against itself with one decision edited, both ways around."""
    draw, wrong, total = random.Random(seed), 0, 0
    for dump in dumps_in(folder):
        read = Decisions(dump)
        with tempfile.TemporaryDirectory(prefix='hloscope-planted-') as made:
            copy = pathlib.Path(made) / 'b'
            shutil.copytree(dump, copy)
            if run(hloscope, 'compare', dump, copy, '--decisions')['decisions'][0]['status'] != 'equal':
                print(f'{dump.name}: differs from itself')
                wrong += 1
            for what, blocks, of_a, of_b in planted(read, draw):
                read.write(copy, blocks)
                for flip in (False, True):
                    told = run(hloscope, 'compare', *((copy, dump) if flip else (dump, copy)), '--decisions')
                    first = (told.get('decisions') or [{}])[0].get('first') or {}
                    sides = [(first.get(side) or {}).get('step') for side in ('ba' if flip else 'ab')]
                    bad = any(expected is not None and step != expected for expected, step in zip((of_a, of_b), sides))
                    if bad:
                        print(f'{dump.name}: {what}{" (the other way around)" if flip else ""}: steps {sides}, expected {of_a}, {of_b}', flush=True)
                    wrong += bad
                    total += 1
    print(f'{total - wrong} of {total} comparisons name the planted decision')
    return 1 if wrong or not total else 0


def test(hloscope, seed):
    python = python_with_jax()
    if python is None:
        print('skipped: no python with jax; HLOSCOPE_JAX names one')
        return 77
    with tempfile.TemporaryDirectory(prefix='hloscope-fusion-') as made:
        folder = pathlib.Path(made)
        if not make(python, hloscope, folder, seed):
            print('skipped: no plugin of XLA:GPU')
            return 77
        return check(hloscope, folder, seed) | plant(hloscope, folder, seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=('make', 'check', 'plant', 'test'))
    parser.add_argument('programs', nargs='+')
    parser.add_argument('--seed', type=int, default=1)
    asked = parser.parse_args()
    if asked.what == 'test':
        return test(asked.programs[0], asked.seed)
    folder = pathlib.Path(asked.programs[-1])
    if asked.what == 'make':
        return 0 if make(*asked.programs[:-1], folder, asked.seed) else 77
    return (check if asked.what == 'check' else plant)(asked.programs[0], folder, asked.seed)


if __name__ == '__main__':
    sys.exit(main())
