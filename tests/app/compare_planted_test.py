#!/usr/bin/env python3
"""`compare` of a dump with copies that have one planted edit each: every edit is named where it is, what is metadata is called that, and a copy
without an edit is equal.

  compare_planted_test.py HLOSCOPE DUMP…     each DUMP a folder with module_NNNN.NAME.before_optimizations.txt and the like

An edit is planted in the first instruction of a text that takes it; the proto next to the text is written again, but for `text`, which leaves it."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HLOSCOPE = sys.argv[1]
STAGES = ('before_optimizations', 'after_optimizations')
LINE = re.compile(r'^(\s+)(ROOT )?(%?[\w.\-]+) = (\([^=]*?\)|\S+) ([\w\-]+)\((.*)$')
COMPUTATION = re.compile(r'^(ENTRY )?(%?[\w.\-]+) (?:\(.*\) -> .*)?\{$')


class Text:
    """A module's text by lines."""

    def __init__(self, text):
        self.lines = text.split('\n')
        self.rows = []  # (line, computation, name, shape, opcode, rest)
        computation = ''
        for k, line in enumerate(self.lines):
            if found := COMPUTATION.match(line):
                computation = found[2].lstrip('%')
            elif found := LINE.match(line):
                self.rows.append((k, computation, found[3].lstrip('%'), found[4], found[5], found[6]))

    def edited(self, k, old, new, count=1):
        lines = list(self.lines)
        assert old in lines[k], (old, lines[k])
        lines[k] = lines[k].replace(old, new, count)
        return '\n'.join(lines)


# Each planter gives (text, instruction or None, computation or None, what has to be said), or None where there is nothing to edit.
def constant(text):
    for k, computation, name, shape, opcode, rest in text.rows:
        number = re.match(r'(-?\d+(?:\.\d+)?)\)', rest)
        if opcode == 'constant' and number and re.match(r'[fs]\d+\[\]', shape):
            return text.edited(k, f'constant({number[1]})', 'constant(7)' if number[1] != '7' else 'constant(6)'), name, computation, 'constant value differs'
    return None


def operands(text):
    for k, computation, name, _, opcode, rest in text.rows:
        pair = re.match(r'(%?[\w.\-]+), (%?[\w.\-]+)\)', rest)
        if opcode in ('subtract', 'divide', 'power', 'compare') and pair and pair[1] != pair[2]:
            return text.edited(k, f'({pair[1]}, {pair[2]})', f'({pair[2]}, {pair[1]})'), name, computation, 'operand 0'
    return None


def layout(text):
    for k, computation, name, shape, opcode, _ in text.rows:
        if opcode in ('dot', 'broadcast', 'convert', 'exponential', 'add', 'multiply', 'iota', 'copy') and shape.endswith('{1,0}'):
            return text.edited(k, shape, shape.replace('{1,0}', '{0,1}')), name, computation, 'shape'
    return None


def sharding(text):
    for k, computation, name, _, opcode, _ in text.rows:
        old = re.search(r', sharding=\{(?!replicated)[^}]*\}', text.lines[k])
        if old and 'metadata' not in old[0]:
            return text.edited(k, old[0], ', sharding={replicated}'), name, computation, 'attribute sharding'
        if opcode in ('dot', 'multiply', 'add', 'broadcast') and 'sharding=' not in text.lines[k] and ', metadata=' in text.lines[k]:
            return text.edited(k, ', metadata=', ', sharding={replicated}, metadata='), name, computation, 'attribute sharding'
    return None


def precision(text):
    for k, computation, name, _, opcode, _ in text.rows:
        line = text.lines[k]
        if opcode in ('dot', 'convolution') and 'operand_precision' not in line:
            at = line.find(', metadata=') if ', metadata=' in line else len(line)
            return text.edited(k, line, line[:at] + ', operand_precision={highest,highest}' + line[at:]), name, computation, 'attribute operand_precision'
    return None


def metadata(text):
    for k, computation, name, _, _, _ in text.rows:
        if old := re.search(r'op_name="([^"]+)"', text.lines[k]):
            return text.edited(k, old[0], f'op_name="{old[1]}/planted"'), name, computation, 'op_name'
    return None


def source_line(text):
    for k, line in enumerate(text.lines):
        if old := re.search(r'\bline=(\d+)', line) or re.search(r'source_line=(\d+)', line):
            return text.edited(k, old[0], old[0].replace(old[1], '98765')), None, None, '98765'
    return None


def computation_name(text):
    for _, computation, _, _, _, _ in text.rows:
        body = '\n'.join(text.lines)
        if len(re.findall(rf'(?<![\w.\-]){re.escape(computation)}(?![\w.\-])', body)) > 1 and not re.search(rf'ENTRY %?{re.escape(computation)} ', body):
            return re.sub(rf'(?<![\w.\-]){re.escape(computation)}(?![\w.\-])', 'planted.1', body), None, computation, 'planted.1'
    return None


def opcode(text):
    for k, computation, name, _, op, _ in text.rows:
        if op in ('add', 'exponential') and (new := {'add': 'multiply', 'exponential': 'tanh'}[op]):
            return text.edited(k, f' {op}(', f' {new}('), name, computation, f'opcode {op} became {new}'
    return None


def control(text):
    previous = None
    for k, computation, name, _, op, rest in text.rows:
        is_free = previous and previous[1] == computation and f'%{previous[2]}' not in rest and 'control-predecessors' not in text.lines[k]
        if is_free and op in ('broadcast', 'add', 'multiply', 'copy', 'fusion', 'dot') and ', metadata=' in text.lines[k]:
            percent = '%' if f'%{name} =' in text.lines[k] else ''
            return (text.edited(k, ', metadata=', f', control-predecessors={{{percent}{previous[2]}}}, metadata='), name, computation, 'control predecessors')
        previous = (k, computation, name) if op in ('parameter', 'iota', 'broadcast') else previous
    return None


CHANGES = {'constant': constant, 'operand order': operands, 'layout': layout, 'sharding': sharding, 'precision': precision, 'opcode': opcode,
           'control': control}
NAMES = {'metadata': metadata, 'source line': source_line, 'name of a computation': computation_name}


def run(*arguments):
    done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


def compare(*dumps):
    status, out, err = run('compare', *dumps, '--json')
    assert out.count('\n') == 1, (dumps, status, out, err)
    return status, json.loads(out), run('compare', *dumps)[1]


class Planter:
    def __init__(self, dump, work):
        self.dump, self.work, self.pairs, self.failures = dump, work, 0, []
        self.files = [f for f in sorted(os.listdir(dump)) if re.search(r'before_optimizations\.|after_optimizations(-buffer-assignment)?\.', f)]
        self.texts = [f for f in self.files if f.endswith(tuple(stage + '.txt' for stage in STAGES))]

    def copy(self, name, file=None, text=None, keep_proto=False):
        """A copy of the dump; with another text for one of its stages."""
        folder = os.path.join(self.work, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for f in self.files:
            shutil.copy(os.path.join(self.dump, f), folder)
        if file is not None:
            path = os.path.join(folder, file)
            with open(path, 'w', encoding='utf-8') as out:
                out.write(text)
            proto = path[:-len('.txt')] + '.hlo.pb'
            if os.path.exists(proto) and not keep_proto:
                status, _, err = run('convert', path, proto)
                assert status == 0, (path, err)
        return folder

    def check(self, what, holds, detail):
        self.pairs += 1
        if not holds:
            self.failures.append(f'{self.dump}: {what}: {json.dumps(detail)[:1500]}')

    def each(self, planters):
        """(name of the edit, file, planted text, instruction, computation, words) of all edits that the texts take."""
        for file in self.texts:
            with open(os.path.join(self.dump, file), encoding='utf-8') as source:
                text = Text(source.read())
            for name, planter in planters.items():
                if planted := planter(text):
                    yield name, file, *planted

    def run_all(self):
        plain = self.copy('plain')
        status, found, text = compare(plain, self.copy('same'))
        self.check('no edit', status == 0 and not found['modules'] and not found['metadata'] and not found['notes'], found)
        self.check('no edit, in text', 'note' not in text and ' - ' not in text, text)
        self.changes(plain)
        self.names()
        self.counts(plain)

    def changes(self, plain):
        for name, file, text, instruction, computation, words in self.each(CHANGES):
            self.one_change(f'{name} in {file}', plain, self.copy('b', file, text), instruction, computation, words)
            proto = file[:-len('.txt')] + '.hlo.pb'
            if name in ('constant', 'precision') and proto in self.files:
                b = self.copy('b', file, text, keep_proto=True)
                status, found, shown = compare(plain, b)
                self.check(f'{name} in the text only of {file}', status == 1 and len(found['notes']) == 1 and file in found['notes'][0]
                           and proto in found['notes'][0] and instruction in found['notes'][0] and instruction in shown, found)
                status, found, _ = compare(b, b)
                self.check(f'{name} in the text of both', status == 0 and len(found['notes']) == 2, found)
                warnings = json.loads(run('info', b, '--json')[1])['warnings']
                self.check(f'info: {name} in the text', any(file in warning and instruction in warning for warning in warnings), warnings)
            if name == 'constant':
                ranks = [self.copy(f'rank{k}') for k in range(3)]
                ranks.insert(2, self.copy('rank_x', file, text))
                status, found, shown = compare(*ranks)
                module, = found['modules']
                self.check(f'{name} in one rank of four', status == 1 and [c['dumps'] for c in module['classes']] == [[0, 1, 3], [2]]
                           and f'first {instruction} in {computation}' in module['what'] and f'\n    rank_x: ' in shown, (found, shown))

    def one_change(self, what, a, b, instruction, computation, words):
        status, found, shown = compare(a, b)
        difference = found['modules'][0]['classes'][1]['differences'][0] if status == 1 and found['modules'] else {}
        first = f'first {instruction} in {computation}: '
        self.check(what, status == 1 and first in difference.get('what', '') and words in difference['what']
                   and difference['a'].startswith(instruction + ' = ') and difference['b'].startswith(instruction + ' = ')
                   # Two lines that are the same, as control predecessors leave them, show nothing.
                   and all(('      ' + line in shown) == (difference['a'] != difference['b'])
                           for line in ('- ' + difference['a'], '+ ' + difference['b'])), found)

    def names(self):
        for name, file, text, instruction, computation, words in self.each(NAMES):
            # A proto that is written from a text has what the text has.
            with open(os.path.join(self.dump, file), encoding='utf-8') as source:
                a = self.copy('a', file, source.read())
            status, found, shown = compare(a, self.copy('b', file, text))
            said = found['metadata'][0]['what'] if found['metadata'] else ''
            kind = 'name of computation ' if name.startswith('name') else 'metadata of '
            self.check(f'{name} in {file}', status == 0 and found['modules'] == [] and kind in said and words in said and said in shown
                       and (instruction is None or instruction in said) and (computation is None or computation in said), found)

    def counts(self, plain):
        more = self.copy('more')
        for f in self.files:
            shutil.copy(os.path.join(self.dump, f), os.path.join(more, re.sub(r'module_\d+\.', 'module_0777.', f)))
        for a, b, only in ((plain, more, 'only_b'), (more, plain, 'only_a')):
            status, found, shown = compare(a, b)
            self.check(f'one more module ({only})', status == 1 and found['equal'] == 1 and len(found[only]) == 1 and 'is only in more' in shown, (found, shown))


def main():
    pairs, failures = 0, []
    with tempfile.TemporaryDirectory() as work:
        for dump in sys.argv[2:]:
            planter = Planter(dump, work)
            planter.run_all()
            pairs += planter.pairs
            failures += planter.failures
    for failure in failures:
        print(failure)
    print(f'{pairs} pairs, {len(failures)} failed')
    return 1 if failures or pairs < 40 else 0


if __name__ == '__main__':
    sys.exit(main())
