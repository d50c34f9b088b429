#!/usr/bin/env python3
"""Holds help texts, messages, tables, pages and names to docs/glossary.md.

  words_test.py ROOT [PROGRAM]  one line per replaced word, `file:line: what, expected`; exit status 1 if there is any.
                                With PROGRAM, what its commands print as help is read too.
  words_test.py --selftest      plants a replaced word in each kind of text and expects its message
"""
import bisect
import collections
import os
import re
import subprocess
import sys
import tempfile

MESSAGES = ('app/', 'core/', 'profiler/', 'viewer/')
CODE = ('.h', '.cc', '.def')
PAGE = '.md'
GLOSSARY = 'docs/glossary.md'
ROW = re.compile(r'\|((?:`[^`]*`|[^|`])*)\|([^|]*)\|')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
IDENTIFIER = re.compile(r'[A-Za-z_]\w*')
ESCAPE = re.compile(r'\\[nt]')
Rule = collections.namedtuple('Rule', 'pattern term section')


def read_glossary(path):
    """The rules of the sections `Words` and `Names`: each code span in the first column of a row."""
    rules, section = [], ''
    with open(path, encoding='utf-8') as f:
        for line in f:
            section = line[3:].strip() if line.startswith('## ') else section
            row = ROW.match(line)
            if not row or section not in ('Words', 'Names'):
                continue
            for span in re.findall(r'`([^`]*)`', row[1]):
                case = re.I if section == 'Words' else 0
                rules.append(Rule(re.compile(r'(?<!\w)(?:%s)(?!\w)' % span.replace('\\|', '|'), case), row[2].strip(), section))
    return rules


def normalised(text):
    """A text whose line breaks and hyphens are single spaces."""
    return re.sub(r'[\s-]+', ' ', ESCAPE.sub(' ', text))


def wrong_words(text, rules):
    """What the glossary replaces in a text: (where it begins, what is wrong)."""
    for rule in rules:
        for found in rule.pattern.finditer(text):
            yield found.start(), f'"{found[0]}" is replaced, expected {rule.term}'


class Names:
    """The rules for identifiers: each is looked up in them once."""

    def __init__(self, rules):
        self.rules = rules
        self.known = {}

    def wrong(self, name):
        """What is wrong with an identifier, or an empty text."""
        if name not in self.known:
            self.known[name] = next((f'"{name}" is replaced, expected {rule.term}' for rule in self.rules if rule.pattern.fullmatch(name)), '')
        return self.known[name]

    def wrong_lines(self, lines):
        """(line number, what is wrong) of code."""
        if any(map(self.wrong, set(IDENTIFIER.findall('\n'.join(lines))))):
            for number, line in enumerate(lines, 1):
                yield from ((number, wrong) for wrong in map(self.wrong, IDENTIFIER.findall(line)) if wrong)


def wrong_lines(lines, rules):
    """(line number, what is wrong) of running text, whose words may stand across a line break."""
    starts, text = [], ''
    for line in lines:
        starts.append(len(text))
        text += normalised(line).strip() + ' '
    for start, wrong in sorted(wrong_words(text, rules)):
        yield bisect.bisect_right(starts, start), wrong


def without_comment(line):
    """A line of C++ up to its comment."""
    for found in re.finditer(r'"(?:[^"\\]|\\.)*"|//.*', line):
        if found[0].startswith('//'):
            return line[:found.start()]
    return line


def literals(lines):
    """(line number, text) of each string literal; what the compiler joins is one text, at its first line."""
    start, text = 0, ''
    for number, line in enumerate(lines, 1):
        code = '' if line.lstrip().startswith('#include') else without_comment(line)
        end = 0
        for found in LITERAL.finditer(code):
            if text and code[end:found.start()].strip():
                yield start, text
                text = ''
            start = start if text else number
            text, end = text + found[1], found.end()
        if text and (code[end:].strip() or not end):
            yield start, text
            text = ''
    if text:
        yield start, text


def list_files(root):
    """Tracked and new files, or every file where there is no git."""
    try:
        out = subprocess.run(['git', '-C', root, 'ls-files', '-co', '--exclude-standard', '-z'], capture_output=True, check=True)
        names = out.stdout.decode().split('\0')
    except (OSError, subprocess.CalledProcessError):
        names = [os.path.relpath(os.path.join(folder, f), root) for folder, _, files in os.walk(root) for f in files]
    return sorted(n for n in set(names) if n and os.path.isfile(os.path.join(root, n)))


def violations_of(name, lines, words, names):
    """(line number, what is wrong) of a file."""
    if name.endswith(PAGE) and name != GLOSSARY:
        yield from wrong_lines(lines, words)
    if name.endswith('.def') and name.startswith(MESSAGES):
        yield from wrong_lines([line if line.startswith('//') else '' for line in lines], words)
    if name.endswith(CODE) and name.startswith(MESSAGES):
        for number, text in literals(lines):
            if ' ' in text:
                yield from ((number, wrong) for _, wrong in wrong_words(normalised(text), words))
    if name.endswith(CODE):
        yield from names.wrong_lines(lines)


def file_violations(root, rules):
    words, names = ([rule for rule in rules if rule.section == section] for section in ('Words', 'Names'))
    names = Names(names)
    for name in list_files(root):
        if name.endswith(CODE + (PAGE,)):
            with open(os.path.join(root, name), encoding='utf-8', errors='replace') as f:
                lines = f.read().split('\n')
            for number, wrong in violations_of(name, lines, words, names):
                yield f'{name}:{number}: {wrong}'


def help_of(program):
    """(command line, what it prints) of the help of the program and of each of its commands."""
    def output(*arguments):
        return subprocess.run([program, *arguments], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout

    first = output('--help')
    yield '--help', first
    for command in re.findall(r'^  (\w+) ', first, re.M):
        yield f'{command} --help', output(command, '--help')
    for command in ('limits', 'ops'):
        yield command, output(command)


def help_violations(program, rules):
    words = [rule for rule in rules if rule.section == 'Words']
    for command, text in help_of(program):
        for number, wrong in wrong_lines(text.split('\n'), words):
            yield f'hloscope {command}:{number}: {wrong}'


PROGRAM = 'hloscope.sh'
SELFTEST_GLOSSARY = """## Words

| replaced | term | meaning |
|---|---|---|
| `turns?`, `made up` | iteration; generated | – |
| `(is\\|are) no \\w+` | is not a | – |

## Names

| replaced | term | meaning |
|---|---|---|
| `kMost[A-Z]\\w*` | `kMax…` | – |

## Names that go when their code is reshaped

| replaced | term | meaning |
|---|---|---|
| `Twin` | Reference | – |
"""


def selftest_of_help(scratch, name, rules):
    """What is wrong with the help of a program that the case is the text of."""
    if name != PROGRAM:
        return []
    path = os.path.join(scratch, name)
    os.chmod(path, 0o700)
    return list(help_violations(path, rules))


def selftest():
    """One scratch tree per case: each must give exactly one message, or none."""
    cases = [
        ('core/a.cc', '// A turn.\nFail("one turn");\n', 'core/a.cc:2: "turn" is replaced, expected iteration; generated'),
        ('core/a.cc', 'Fail("return");  // "a turn"\n', None),
        ('core/a.cc', 'Fail("inputs are made-"\n     "up");\n', 'core/a.cc:1: "made up"'),
        ('core/a.cc', 'Fail("made", "up");\n', None),
        ('core/a.cc', 'Fail("{} Is no\\n module");\n', 'core/a.cc:1: "Is no module"'),
        ('core/a.cc', 'Key("turn");\n', None),
        ('profiler/a.def', '// A turn.\n', 'profiler/a.def:1: "turn"'),
        ('app/a.def', 'ROW(kTurn, "the turns of it")\n', 'app/a.def:1: "turns"'),
        ('core/README.md', 'First.\n  Are no\nfiles.\n', 'core/README.md:2: "Are no files"'),
        (PROGRAM, '#!/bin/sh\n[ "$2" = --help ] && echo "Usage\na turn" || printf "Commands:\\n  run  it\\n"\n', 'hloscope run --help:2: "turn"'),
        ('core/a.h', 'int kMostFiles = 1;\n', 'core/a.h:1: "kMostFiles"'),
        ('core/a.h', 'int kmostFiles = Twin(1);\n', None),
        ('tests/a_test.cc', 'int a = kMostFiles;  // turn\n', 'tests/a_test.cc:1: "kMostFiles"'),
    ]
    failed = 0
    for name, text, expected in cases:
        with tempfile.TemporaryDirectory() as scratch:
            for path, content in ((GLOSSARY, SELFTEST_GLOSSARY), (name, text)):
                os.makedirs(os.path.join(scratch, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(scratch, path), 'w', encoding='utf-8') as f:
                    f.write(content)
            rules = read_glossary(os.path.join(scratch, GLOSSARY))
            found = list(file_violations(scratch, rules)) + selftest_of_help(scratch, name, rules)
        if found if expected is None else len(found) != 1 or not found[0].startswith(expected):
            failed += 1
            print(f'{name}: {text!r}: expected {expected or "nothing"}, found {found}')
    print(f'{len(cases) - failed} of {len(cases)} cases as expected')
    return 1 if failed else 0


def main(arguments):
    if arguments == ['--selftest']:
        return selftest()
    rules = read_glossary(os.path.join(arguments[0], GLOSSARY))
    found = list(file_violations(arguments[0], rules))
    if len(arguments) > 1:
        found += help_violations(arguments[1], rules)
    for line in found:
        print(line)
    print(f'{len(found)} replaced words' if found else f'no text holds a word that {GLOSSARY} replaces')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
