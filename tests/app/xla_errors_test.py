#!/usr/bin/env python3
"""`hloscope explain` on the texts of tests/dump/errors/xla_texts.txt, library_texts.txt and framework_texts.txt.

  xla_errors_test.py HLOSCOPE TESTS/DUMP [--count]  with --count: how many are right, and which are not"""
import json
import os
import re
import subprocess
import sys
import unittest

HLOSCOPE, DATA = sys.argv[1], sys.argv[2]


def explained(text):
    done = subprocess.run([HLOSCOPE, 'explain', '--json', '-'], input=text, capture_output=True, text=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def blocks():
    """(name, [(key, value)], text) of each block."""
    for file in ('xla_texts.txt', 'library_texts.txt', 'framework_texts.txt'):
        with open(os.path.join(DATA, 'errors', file), encoding='utf-8') as f:
            texts = re.split(r'(?m)^#### ', f.read())[1:]
        for block in texts:
            head, text = block.split('----\n', 1)
            name, *rows = head.strip().splitlines()
            yield name, [tuple(part.strip() for part in row.split(':', 1)) for row in rows], text.rstrip('\n') + '\n'


def faults(rows, error):
    """What of the rows the error lacks."""
    found = []
    buffers = list(error.get('buffers') or [])
    for key, value in rows:
        parts = [part.strip() for part in value.split('|')]
        if key == 'then':
            continue  # the kinds of what follows from it
        if key == 'file':
            have = f"{os.path.basename(error.get('file') or '')}:{error.get('line')}"
            good = have == value
        elif key == 'not':
            have = error.get('fix') or ''
            good = not any(part in have for part in parts)
        elif key == 'buffer':
            have = buffers.pop(0) if buffers else None
            good = have is not None and all(part in have for part in parts)
        elif key in ('reason', 'fix'):
            have = error.get(key) or ''
            good = all(part in have for part in parts)
        else:
            have = error.get(key)
            good = have == value
        if not good:
            found.append(f'{key}: expected {value!r}, got {have!r}')
    return found


class XlaErrors(unittest.TestCase):
    def test_texts(self):
        for name, rows, text in blocks():
            with self.subTest(name):
                errors, _ = explained(text)
                self.assertEqual(faults(rows, errors[0] if errors else {}), [])
                # One text, one error: its general forms and repetitions add none, but for what follows from it.
                follows = [value for key, value in rows if key == 'then']
                self.assertEqual([error['kind'] for error in errors if error['severity'] == 'error'][1:], follows)


    def test_ordinary_lines(self):
        """Lines of logs and of users' prints that name no error: none is called one, each by itself."""
        with open(os.path.join(DATA, 'errors', 'ordinary_lines.txt'), encoding='utf-8') as f:
            for line in f:
                with self.subTest(line):
                    errors, _ = explained(line)
                    self.assertEqual([error for error in errors if error.get('status') != 'nothing_found' and error['severity'] != 'note'], [])


def count():
    right = total = 0
    for name, rows, text in blocks():
        errors, _ = explained(text)
        wrong = faults(rows, errors[0] if errors else {})
        total += 1
        right += not wrong
        if wrong:
            print(name, *wrong, sep='\n    ')
    print(f'{right} of {total}')


if __name__ == '__main__':
    if '--count' in sys.argv:
        count()
    else:
        unittest.main(argv=sys.argv[:1])
