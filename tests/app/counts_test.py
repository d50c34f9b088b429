#!/usr/bin/env python3
"""A count that several commands show is one number: counts_test.py HLOSCOPE SAMPLES.

The dumps are those in SAMPLES, and those of HLOSCOPE_CORPUS or ../shared/corpus next to the checkout where there is one."""
import json
import os
import re
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE, SAMPLES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
DUMPS, MAX_BYTES = 24, 300_000  # dumps with one module, and the size of its texts


def record(*arguments, status=(0,)):
    done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in status, (arguments, done.returncode, done.stderr)
    return json.loads(done.stdout.splitlines()[-1])  # of folders with traces those come first


def dumps():
    corpus = os.environ.get('HLOSCOPE_CORPUS') or os.path.join(os.path.dirname(SAMPLES), '..', 'shared', 'corpus')
    found = []
    for top in (SAMPLES, corpus):
        for folder, _, files in sorted(os.walk(top)):
            texts = [name for name in files if re.match(r'module_\d{4,}\..*_optimizations\.txt$', name)]
            ids = {name.split('.')[0] for name in files if name.startswith('module_')}
            small = all(os.path.getsize(os.path.join(folder, name)) < MAX_BYTES for name in texts)
            if len(texts) == 2 and len(ids) == 1 and small:
                found.append((folder, sorted(texts)))
    return found[:DUMPS]


class Counts(FolderTest):
    def test_dumps(self):
        checked = 0
        for folder, texts in dumps():
            with self.subTest(folder):
                self.check(folder, texts)
                checked += 1
        self.assertGreaterEqual(checked, 4)

    def check(self, folder, texts):
        found = record('info', folder, '--json')
        self.assertEqual(len(found['modules']), 1)
        module = found['modules'][0]
        stages = {stage['name']: stage for stage in module['stages']}
        counted, compared_count = {}, {}
        for text in texts:
            path = os.path.join(folder, text)
            name = re.search(r'(before_optimizations|(?:[^.]|\d\.\d)*after_optimizations)\.txt$', text)[1]
            computations = record('show', path, '--format', 'json')['computations']
            shown = [i for c in computations for i in c['instructions']]
            roots = {c['root'] for c in computations}
            count = counted[name] = len(shown)
            # Elements of tuples that nobody uses do not count for what is added and removed.
            used = {operand for i in shown for operand in i['operands']} | roots
            compared_count[name] = sum(i['opcode'] != 'get-tuple-element' or i['name'] in used for i in shown)
            self.assertEqual(stages[name]['instructions'], count)
            self.assertEqual(stages[name]['fusions'], sum(i['opcode'] == 'fusion' for i in shown))
            self.assertEqual(record('info', path, '--json')['instructions'], count)
            self.assertEqual(record('verify', path, '--json', '--parse-only')['instructions'], count)
        # The same kernels, library calls and copies.
        compared = record('compare', folder, folder, '--json', status=(0, 3))
        for side in ('all_a', 'all_b'):
            counts = {key: compared[side][key] for key in ('kernels', 'libraries', 'copies', 'collectives', 'host')}
            self.assertEqual(counts, {key: module['overview'][key] for key in counts})
        self.assertIn(', '.join(self.words(counts)) + ', reads', self.text('compare', folder, folder))
        placed = module['placement']
        self.assertEqual(counts['kernels'], placed['device_kernel'])
        self.assertEqual((counts['libraries'], counts['copies']), (placed['library_call'], placed['copy']))
        # Whole computations are as many instructions as they have.
        first, last = (os.path.join(folder, text) for text in texts)
        names = list(counted)
        changes = record('compare', first, last, '--json', status=(0, 1, 3))
        self.assertEqual(compared_count[names[0]] + len(changes['added']) - len(changes['removed']), compared_count[names[1]])
        self.assertTrue(all(change['instruction'] for change in changes['added'] + changes['removed']))
        # Of two dumps whose modules differ in the header alone.
        copy = self.path(re.sub(r'\W', '_', folder))
        os.makedirs(copy)
        for text in texts:
            with open(os.path.join(folder, text), encoding='utf-8') as file:
                head, rest = file.read().split('\n', 1)
            with open(os.path.join(copy, text), 'w', encoding='utf-8') as file:
                file.write(re.sub(r'^(HloModule [^,]+)', r'\1, alias_passthrough_params=true', head) + '\n' + rest)
        compared = record('compare', folder, copy, '--json', status=(0, 1, 3))
        for differing in compared['modules']:
            self.assertEqual(differing['instructions'], [counted[names[1]]] * len(differing['instructions']))

    @staticmethod
    def words(counts):
        rows = (('kernels', 'kernel', 'kernels'), ('libraries', 'library call', 'library calls'), ('copies', 'copy', 'copies'),
                ('collectives', 'collective', 'collectives'))
        text = [f'{counts[key]} {one if counts[key] == 1 else many}' for key, one, many in rows if counts[key]]
        return text or ['no kernel']

    @staticmethod
    def text(*arguments):
        return subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, check=False, timeout=120).stdout


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
