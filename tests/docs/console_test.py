#!/usr/bin/env python3
"""Runs the commands of the ```console blocks of README.md and docs/, and compares what they print with the page.

  console_test.py PROGRAM ROOT [PAGE…]           a line for each command that printed something else and each block that was left out;
                                                 the last is `N passed, N failed, N skipped`
  console_test.py PROGRAM ROOT --write [PAGE…]   writes the output below each command that has none
  console_test.py --selftest                     pages that are right and wrong

`$ COMMAND` is run by bash in an empty folder of the page, in which `samples`, `tests`, `docs` and `assets` are those of the repository; a
command that ends with a backslash goes on in the next line. The lines below it are what it prints, standard error included. `…` is anything within
a line, a line that is `…` any lines. A comment `<!-- console: WORDS -->` on the line above a block has, separated by semicolons,

  skip REASON    not run
  needs NAME     not run unless platform NAME can be used here, or for jax an interpreter that has it, which is `python` then
  times          a number with ns, us, µs, ms or s is any number with any of these units
"""
import concurrent.futures
import contextlib
import functools
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'app'))
import command_tests

NOTE = re.compile(r'<!-- console: (.*) -->$')
TIME = re.compile(r'\d+(?:\\\.\d+)?\\ (?:ns|us|µs|ms|s)\b')
FOLDERS = ('samples', 'tests', 'docs', 'assets')


def pages_of(root):
    """README.md and every page below docs, relative to the root."""
    found = [os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(os.path.join(root, 'docs')) for name in names]
    return ['README.md', *sorted(name for name in found if name.endswith('.md'))]


def blocks_of(lines):
    """(line number of the fence from 0, words of the comment above it, [(line number, command, expected lines)]) of each block."""
    start = None
    for number, line in enumerate(lines):
        if start is None and line.startswith('```console'):
            note = NOTE.match(lines[number - 1]) if number else None
            start, commands, words = number, [], [word.strip() for word in note[1].split(';')] if note else []
        elif start is not None and line.startswith('```'):
            yield start, words, commands
            start = None
        elif start is not None and line.startswith('$ '):
            commands.append((number, line[2:], []))
        elif start is not None and commands and commands[-1][1].endswith('\\') and not commands[-1][2]:
            commands[-1] = (number, f'{commands[-1][1]}\n{line}', [])
        elif start is not None and commands:
            commands[-1][2].append(line)


def pattern_of(expected, words):
    """What the output of a command must match."""
    parts = []
    for line in expected:
        if line.strip() == '…':
            parts.append(r'(?:.*\n)*?')
            continue
        part = re.escape(line.rstrip()).replace('…', '.*')
        parts.append((TIME.sub(r'[\\d.]+ (?:ns|us|µs|ms|s)', part) if 'times' in words else part) + r'[ \t]*\n')
    return re.compile(''.join(parts))


class Runner:
    def __init__(self, hloscope, root):
        self.hloscope = hloscope
        self.root = root

    @functools.cached_property
    def ready(self):
        return command_tests.ready_platforms(self.hloscope)

    @functools.cached_property
    def python(self):
        """An interpreter with jax, or None."""
        for python in [os.path.join(os.path.abspath(self.root), '.venv/bin/python'), *command_tests.jaxlib_pythons(self.hloscope)]:
            if os.path.exists(python) and not subprocess.run([python, '-c', 'import jax'], capture_output=True, check=False).returncode:
                return python
        return None

    def why_skipped(self, words):
        for word in words:
            kind, _, rest = word.partition(' ')
            if kind == 'skip':
                return rest
            if kind == 'needs' and (not self.python if rest == 'jax' else rest not in self.ready):
                return f'{rest} cannot be used here'
            if word != 'times' and kind != 'needs':
                raise ValueError(f'unknown word {word}, expected skip, needs or times')
        return None

    def environment(self, folder):
        path = [os.path.dirname(os.path.abspath(self.hloscope))]
        with contextlib.suppress(TypeError):
            path.append(os.path.dirname(self.python))
        return {**os.environ, 'PATH': ':'.join([*path, os.environ['PATH']]), 'XDG_CACHE_HOME': os.path.join(folder, '.cache'),
                'XDG_STATE_HOME': os.path.join(folder, '.state'), 'COLUMNS': '100', 'LC_ALL': 'C.UTF-8'}

    def run_page(self, page, write=False):
        """(lines about what failed and what was left out, passed, failed, skipped)."""
        path = os.path.join(self.root, page)
        with open(path, encoding='utf-8') as f:
            lines = f.read().split('\n')
        notes, counts, output_of = [], [0, 0, 0], {}
        with tempfile.TemporaryDirectory() as folder:
            for name in FOLDERS:
                os.symlink(os.path.join(os.path.abspath(self.root), name), os.path.join(folder, name))
            for start, words, commands in blocks_of(lines):
                reason = self.why_skipped(words)
                if reason:
                    notes.append(f'skipped: {page}:{start + 1}: {len(commands)} commands: {reason}')
                    counts[2] += len(commands)
                    continue
                status = 0
                for number, command, expected in commands:
                    done = subprocess.run(['bash', '-c', f'(exit {status})\n{command}'], cwd=folder, env=self.environment(folder), text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, errors='replace', timeout=300, check=False)
                    status = done.returncode
                    output = done.stdout.rstrip('\n') + '\n' if done.stdout.strip('\n') else ''
                    if write and not ''.join(expected):
                        output_of[number] = output.rstrip('\n').split('\n') if output else []
                    elif pattern_of(expected, words).fullmatch(output):
                        counts[0] += 1
                    else:
                        counts[1] += 1
                        notes.append(f'failed: {page}:{number + 1}: $ {command}\n  printed\n{output.rstrip()}\n  expected\n' + '\n'.join(expected))
        if output_of:
            text = []
            for number, line in enumerate(lines):
                text += [line, *output_of.get(number, [])]
            with open(path, 'w', encoding='utf-8') as f:
                f.write('\n'.join(text))
        return notes, counts


def main(hloscope, root, *arguments):
    write = '--write' in arguments
    pages = [page for page in arguments if page != '--write'] or pages_of(root)
    runner = Runner(hloscope, root)
    # Asked for by all threads.
    _ = runner.ready, runner.python
    total = [0, 0, 0]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for notes, counts in pool.map(lambda page: runner.run_page(page, write), pages):
            total = [a + b for a, b in zip(total, counts)]
            print(*notes, sep='\n', end='\n' if notes else '')
    print(f'{total[0]} passed, {total[1]} failed, {total[2]} skipped')
    return 1 if total[1] or not total[0] + write else 0


def selftest():
    """What a page must and must not pass with."""
    page = '<!-- console: {} -->\n```console\n$ {}\n{}\n```\n'
    cases = [
        ('times', 'echo took 2.5 ms', 'took 31 us', '1 passed, 0 failed, 0 skipped'),
        ('skip no GPU', 'false', 'x', '0 passed, 0 failed, 1 skipped'),
        ('times', r"printf 'a\nb\nc\n'", 'a\n…\nc', '1 passed, 0 failed, 0 skipped'),
        ('times', r"printf 'a\nb\nc\n'", 'a\n…', '1 passed, 0 failed, 0 skipped'),
        ('times', r"printf 'a\nb\n'", 'a', '0 passed, 1 failed, 0 skipped'),
        ('times', 'echo one two', 'one …', '1 passed, 0 failed, 0 skipped'),
        ('times', 'echo a.c', 'abc', '0 passed, 1 failed, 0 skipped'),
        ('times', 'echo 5', '6', '0 passed, 1 failed, 0 skipped'),
        ('times', 'echo a >&2; exit 3\n$ echo $?', '3', '1 passed, 1 failed, 0 skipped'),
        ('times', 'echo a >&2; exit 3\na\n$ echo $?', '3', '2 passed, 0 failed, 0 skipped'),
        ('times', 'ls', 'assets\ndocs\nsamples\ntests', '1 passed, 0 failed, 0 skipped'),
        ('times', 'echo a \\\n  b', 'a b', '1 passed, 0 failed, 0 skipped'),
    ]
    wrong = 0
    for words, command, expected, want in cases:
        with tempfile.TemporaryDirectory() as root:
            for folder in FOLDERS:
                os.mkdir(os.path.join(root, folder))
            with open(os.path.join(root, 'README.md'), 'w', encoding='utf-8') as f:
                f.write(page.format(words, command, expected))
            runner = Runner('/bin/true', root)
            runner.ready, runner.python = set(), None
            notes, counts = runner.run_page('README.md')
            got = f'{counts[0]} passed, {counts[1]} failed, {counts[2]} skipped'
            if got != want:
                wrong += 1
                print(f'{command!r}: {got}, expected {want}', *notes, sep='\n')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(selftest() if sys.argv[1:] == ['--selftest'] else main(*sys.argv[1:]))
