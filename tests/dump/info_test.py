#!/usr/bin/env python3
"""`hloscope info --json` of dumps against an independent reading of their raw files, and on broken dumps.

  info_test.py HLOSCOPE SAMPLES [--mutations N] [--seed S] [--report]

The dumps are those in SAMPLES, and those of HLOSCOPE_CORPUS or ../shared/corpus beside the samples' checkout where there is one."""
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
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import made_dump
import raw_facts

parser = argparse.ArgumentParser()
parser.add_argument('hloscope')
parser.add_argument('samples')
parser.add_argument('--mutations', type=int, default=60)
parser.add_argument('--seed', type=int, default=7)
parser.add_argument('--report', action='store_true', help='print each loss that nothing was said about')
ARGS = parser.parse_args()
HLOSCOPE, SAMPLES = os.path.abspath(ARGS.hloscope), os.path.abspath(ARGS.samples)


def info(path, *options):
    done = subprocess.run([HLOSCOPE, 'info', '--json', '--no-cache', *options, path], capture_output=True, timeout=120)
    return done.returncode, json.loads(done.stdout), done.stderr.decode()


def dumps():
    corpus = os.environ.get('HLOSCOPE_CORPUS') or os.path.join(os.path.dirname(SAMPLES), '..', 'shared', 'corpus')
    for top in (SAMPLES, corpus):
        for folder, _, files in sorted(os.walk(top)):
            if any(re.match(r'(\d+\.)?module_\d{4,}\.', name) for name in files):
                yield folder


class RawFacts(unittest.TestCase):
    """Kernel names, bytes of allocations, order of passes and fusions, module by module."""

    def check_module(self, folder, module, fact):
        where = f'{folder} module {module["id"]}'
        in_ptx = [kernel['name'] for kernel in module['kernels'] if kernel['ptx']]
        self.assertEqual(sorted(in_ptx), sorted(fact['ptx']), where)
        if fact['cpu']:
            in_llvm = [kernel['name'] for kernel in module['kernels'] if kernel['llvm']]
            self.assertEqual(sorted(in_llvm), sorted(fact['cpu']), where)
        if fact['peak'] is not None:
            self.assertEqual(module['peak_bytes'], fact['peak'], where)
        numbered = [stage for stage in module['stages'] if re.match(r'\d{4,}\.', stage['name'])]
        passes = [(int(s['name'].split('.')[0]), s['pipeline'], s['pass']) for s in numbered]
        self.assertEqual(passes, sorted(fact['passes']), where)
        for stage in module['stages']:
            if stage['name'] in fact['fusions']:
                self.assertEqual(stage['fusions'], fact['fusions'][stage['name']], f'{where} {stage["name"]}')
        for kernel in module['kernels']:
            self.assertTrue(kernel['instruction'], f'{where} {kernel}')
        for thunk in module['thunks']:
            self.assertTrue(thunk['kernel'] or thunk['library'], f'{where} {thunk}')

    def test_info_agrees_with_the_raw_files(self):
        checked = 0
        for folder in dumps():
            status, found, errors = info(folder)
            self.assertEqual(status, 0, errors)
            facts = raw_facts.facts_of(folder)
            seen = {}
            for module in found['modules']:
                if module['id'] >= 0 and not module['folder']:
                    self.assertNotIn(module['id'], seen, folder)
                    seen[module['id']] = module
            self.assertEqual(set(facts), set(seen), folder)
            for number, fact in facts.items():
                self.check_module(folder, seen[number], fact)
                checked += 1
            for file in found['files']:
                in_module = file['file'].startswith('module_')
                self.assertFalse(in_module and (file['role'] == 'unknown' or file['module'] < 0), f'{folder} {file}')
        self.assertGreater(checked, 5)


class Cache(unittest.TestCase):
    """What the cache gives is what reading anew gives, whatever happened to one file of a dump of many modules."""

    def test_one_file_changes(self):
        with tempfile.TemporaryDirectory() as top:
            dump, environment = os.path.join(top, 'dump'), dict(os.environ, XDG_CACHE_HOME=os.path.join(top, 'cache'))
            made_dump.make(dump, 60, [os.path.join(SAMPLES, 'conv_net'), os.path.join(SAMPLES, 'attention_block_h100')])

            def cached(form):
                done = subprocess.run([HLOSCOPE, 'info', *form, dump], capture_output=True, env=environment, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                return done.stdout

            def check(what):
                for form in ([], ['--json']):
                    anew = subprocess.run([HLOSCOPE, 'info', *form, '--no-cache', dump], capture_output=True, timeout=120).stdout
                    for time in ('first', 'second'):
                        self.assertEqual(cached(form), anew, f'{what}, {form}, the {time} time')

            past = 1_700_000_000_000_000_000
            for folder, _, names in os.walk(dump):
                for name in names:
                    os.utime(os.path.join(folder, name), ns=(past, past))
            check('nothing changed')
            texts = sorted(p for p in pathlib.Path(dump).rglob('*after_optimizations.txt') if 'buffer' not in p.name)
            path = texts[len(texts) // 2]
            data = path.read_bytes()
            path.write_bytes(data.replace(b' fusion(', b' fusiom(', 1))
            os.utime(path, ns=(past, past))
            check('the same size and time, other bytes')
            path.write_bytes(data[:len(data) // 2])
            check('cut off')
            path.write_bytes(data)
            check('whole again')
            path.unlink()
            check('removed')
            path.write_bytes(data)
            path.with_name('notes.unknown').write_bytes(b'words')
            check('one more')


def loss_of(folder, rng):
    """Breaks one file of `folder`. The names of which one must be in a warning (none where nothing is lost), and a thread to run beside."""
    files = sorted(name for name in os.listdir(folder) if name.startswith('module_') and os.path.isfile(os.path.join(folder, name)))
    name = rng.choice(files)
    path = pathlib.Path(folder, name)
    data = path.read_bytes()
    kind = rng.choice(['cut', 'empty', 'swap', 'folder', 'link', 'collide', 'shrink', 'rewrite', 'noise'])
    if kind == 'cut':
        if len(data) < 3:
            return kind, [], None
        at = rng.randrange(1, len(data))
        whole_line = data[at - 1:at] == b'\n'
        path.write_bytes(data[:at])
        return kind, [] if whole_line else [name], None
    if kind == 'empty':
        path.write_bytes(b'')
        return kind, [name] if data else [], None
    if kind == 'swap':
        other = rng.choice(files)
        theirs = pathlib.Path(folder, other).read_bytes()
        path.write_bytes(theirs)
        pathlib.Path(folder, other).write_bytes(data)
        same_kind = name.split('.')[-1] == other.split('.')[-1]
        return kind, [] if same_kind else [name, other], None
    if kind == 'folder':
        os.remove(path)
        os.mkdir(path)
        return kind, [], None
    if kind == 'link':
        os.remove(path)
        os.symlink('/etc/hostname', path)
        return kind, [name], None
    if kind == 'collide':
        parts = name.split('.')
        parts[1] = 'other_name'
        shutil.copy(path, os.path.join(folder, '.'.join(parts)))
        return kind, [], None
    if kind == 'noise':
        at = rng.randrange(max(1, len(data)))
        path.write_bytes(data[:at] + rng.randbytes(16) + data[at + 16:])
        return kind, [], None

    def disturb(stop=threading.Event()):
        for k in range(200):
            try:
                path.write_bytes(data if kind == 'rewrite' and k % 2 else data[:k * len(data) // 200])
            except OSError:
                return
            if stop.is_set():
                return
    return kind, [], disturb


class BrokenDumps(unittest.TestCase):
    """Files cut, emptied, swapped, replaced by folders and links, colliding, changing while they are read: nothing dies, losses are named."""

    def test_every_loss_is_named(self):
        rng = random.Random(ARGS.seed)
        sources = [folder for folder in dumps() if len(os.listdir(folder)) < 80]
        unnamed, kinds = [], {}
        for k in range(ARGS.mutations):
            with tempfile.TemporaryDirectory() as top:
                folder = os.path.join(top, 'dump')
                source = rng.choice(sources)
                shutil.copytree(source, folder, symlinks=True)
                for one in os.listdir(folder):
                    os.chmod(os.path.join(folder, one), 0o755 if os.path.isdir(os.path.join(folder, one)) else 0o644)
                kind, lost, disturb = loss_of(folder, rng)
                beside = threading.Thread(target=disturb) if disturb else None
                if beside:
                    beside.start()
                done = subprocess.run([HLOSCOPE, 'info', '--json', '--no-cache', folder], capture_output=True, timeout=120)
                if beside:
                    beside.join()
                self.assertIn(done.returncode, (0, 2), f'{k}: {kind} in {source}: {done.stderr.decode()[-2000:]}')
                found = json.loads(done.stdout)
                kinds[kind] = kinds.get(kind, 0) + 1
                for name in lost:
                    # Any statement about the file counts; of two swapped ones, at least one must be named.
                    text = '\n'.join(found['warnings'])
                    if not any(one in text for one in lost):
                        unnamed.append(f'{k}: {kind} of {name} in {source}')
        if ARGS.report:
            print(kinds, *unnamed, sep='\n')
        self.assertEqual(unnamed, [])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
