#!/usr/bin/env python3
"""A wheel in bare Debian 11, 12 and 13 (no compiler, no Mesa), beside the program of the build: bare_roots.py HLOSCOPE SOURCE [WHEEL]
[--roots DIR] [--corpus DIR] [--tests]. As root. Without WHEEL scripts/wheel makes one.

A root is DIR/SUITE, made by debootstrap where it is missing. Prints a row of a Markdown table for each; exit status 1 where something is wrong:
commands of the README, the quick start of Python, a screenshot (the same as that of the build), the results of the samples and of the corpus (the
same bits in all roots and, of the interpreter, as those of the build; large products of `cpu` are oneDNN's in the build and our own in a wheel), and with --tests the tests of the program, as many as pass with the build. Exit status 77: not root, or no debootstrap.
"""
import argparse
import array
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

SUITES = ('bullseye', 'bookworm', 'trixie')
PACKAGES = 'python3,python3-pip,python3-venv,unzip'
TESTS = ('cli_test', 'run_modes_test', 'bundle_test', 'diverge_test', 'reading_test')
# Of the README, without JAX and plugins: words that the answer has.
COMMANDS = (
    ('info samples/gpt_train_step', 0, 'peak: '),
    ('run samples/mlp_train_step --inputs samples/mlp_train_step/inputs.npz --expect samples/mlp_train_step/expected.npz', 0, 'equal: '),
    ('run samples/attention_block --reference_platform interpreter', 0, 'equal: '),
    ('why samples/softmax_passes_a100 triton_softmax.2', 0, 'triton-softmax-rewriter'),
    ('run tests/agents/files/nan.hlo --find nan', 0, 'spread.8'),
    ('profile samples/conv_net/conv_net.xplane.pb.gz', 0, 'conv_general_dilated.3'),
    ('explain tests/agents/files/memory.txt', 0, 'out of memory'),
    ('reduce tests/agents/files/nan.hlo --find nan -o {scratch}/small.hlo', 0, '2 instructions'),
    ('bundle create samples/power_iteration --values all -o {scratch}/bug.hlob', 0, 'bug.hlob'),
    ('bundle check {scratch}/bug.hlob', 0, 'reproduced'),
    ('compile tests/agents/files/old.hlo --emit ptx --target h100 -o {scratch}/x.ptx', 0, ''),
    ('open samples/attention_block_h100 --screenshot {scratch}/picture.png --size 1200x800', 0, ''),
)
QUICK_START = '''
import hloscope
m = "HloModule m\\nENTRY e { x = f32[4] parameter(0)\\n ROOT y = f32[4] tanh(x) }"
assert hloscope.verify(m).status == "ok"
assert hloscope.run(m, reference="interpreter").status == "equal"
assert "tanh" in hloscope.show(m, format="hlo").text
print(len(hloscope.info("samples/mlp_train_step")["modules"]), "module")
'''


class Place:
    """Where commands run: here, or in a root with the sources at the same path."""

    def __init__(self, program, source, root=None):
        self.program, self.source, self.root = program, source, root
        self.scratch = Path(tempfile.mkdtemp(prefix='hloscope-bare-', dir=None if root is None else root / 'tmp'))
        self.inside = self.scratch if root is None else Path('/') / self.scratch.relative_to(root)

    def run(self, *words, **options):
        words = [str(word) for word in words]
        home = {'HOME': str(self.inside), 'PATH': '/usr/bin:/bin:/usr/sbin:/sbin', 'LANG': 'C.UTF-8', 'TMPDIR': str(self.inside)}
        if self.root is not None:
            words = ['chroot', str(self.root), '/bin/sh', '-c', f'cd {self.source} && exec "$@"', 'sh', *words]
            return subprocess.run(words, capture_output=True, text=True, env=home, **options)
        return subprocess.run(words, capture_output=True, text=True, cwd=self.source, env={**os.environ, **home}, **options)

    def least_ms(self, *words, times=20):
        """Of several runs, started inside, without chroot and shell."""
        code = ('import subprocess,sys,time\nb=9\nfor _ in range(%d):\n t=time.perf_counter();subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL)\n'
                ' b=min(b,time.perf_counter()-t)\nprint(b*1000)' % times)
        return float(self.run('python3' if self.root else sys.executable, '-c', code, *words).stdout)

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)


def modules(corpus):
    """27 modules with their inputs: those of the samples with values, then of the corpus of jax those for one device that read quickly."""
    source = Path('samples')
    found = [(source / name, source / name / 'inputs.npz') for name in ('mlp_train_step', 'attention_block', 'conv_net', 'power_iteration')]
    if corpus is None:
        return found
    for meta in sorted(corpus.glob('jax/*/oracle/meta.json')) or sorted(corpus.glob('jax/*/meta.json')):
        facts = json.loads(meta.read_text())
        case = meta.parent if (meta.parent / 'dump').is_dir() else meta.parent.parent
        if facts['devices'] == 1 and not re.match('large|long|pure_callback', case.name) and len(found) < 27:
            found.append((case / 'dump' / facts['module_file'], case / 'oracle'))
    return found


def bits_of(npy):
    """Without the sign and payload of NaN, which the logarithm of glibc 2.29 and of older symbols give differently for a negative number."""
    head = 10 + int.from_bytes(npy[8:10], 'little')
    kind = {b"'<f4'": 'f', b"'<f8'": 'd'}.get(re.search(rb"'descr': ([^,]*)", npy[:head])[1])
    if kind is None:
        return npy
    return npy[:head] + array.array(kind, [x if x == x else math.nan for x in array.array(kind, npy[head:])]).tobytes()


def results(place, corpus):
    """The results' bits by module and platform."""
    found = {}
    for module, inputs in modules(corpus):
        for platform in ('cpu', 'interpreter'):
            out = place.scratch / 'out.npz'
            words = ['run', module, '--platform', platform, '--outputs', place.inside / 'out.npz', *(['--inputs', inputs] if inputs else [])]
            done = place.run(place.program, *words)
            if done.returncode not in (0, 1) or not out.exists():
                found[f'{module} {platform}'] = f'status {done.returncode}: {done.stderr[:200]}'
                continue
            with zipfile.ZipFile(out) as archive:
                found[f'{module} {platform}'] = hashlib.sha256(b''.join(bits_of(archive.read(name)) for name in sorted(archive.namelist()))).hexdigest()
            out.unlink()
    return found


def commands(place, wrong):
    for text, status, words in COMMANDS:
        done = place.run(place.program, *text.format(scratch=place.inside).split())
        if done.returncode != status or words not in done.stdout:
            wrong.append(f'{text}: status {done.returncode}, {(done.stdout + done.stderr)[-300:]}')
    picture = place.scratch / 'picture.png'
    return hashlib.sha256(picture.read_bytes()).hexdigest() if picture.exists() else 'none'


def test_counts(place, python, build):
    """How many tests pass, and the names of those that do not."""
    counts, failed = {}, []
    for name in TESTS:
        extra = [build / 'tests/libmarking_library.so'] if name == 'bundle_test' else []
        done = place.run(python, f'tests/app/{name}.py', place.program, 'samples', *extra)
        ran = re.search(r'^Ran (\d+) tests?', done.stderr, re.M)
        bad = re.findall(r'^(?:FAIL|ERROR): (\w+)', done.stderr, re.M)
        skipped = re.search(r'skipped=(\d+)', done.stderr)
        counts[name] = int(ran[1]) - len(bad) - (int(skipped[1]) if skipped else 0) if ran else 0
        failed += [f'{name}.{test}' for test in bad] + ([] if ran else [f'{name}: {done.stderr[-300:]}'])
    return counts, failed


def measure(place):
    module = place.inside / 'add.hlo'
    (place.scratch / 'add.hlo').write_text('HloModule add\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n}\n')
    picture = ['open', 'samples/conv_net', '--screenshot', place.inside / 'p.png']
    return (place.least_ms(place.program, '--version'), place.least_ms(place.program, 'run', module, '--no-cache'), place.least_ms(place.program, *picture, times=5))


def install(root, wheel, place):
    shutil.copy(wheel, place.scratch)
    environment = place.inside / 'env'
    place.run('python3', '-m', 'venv', environment, check=True)
    start = time.monotonic()
    done = place.run(environment / 'bin/python', '-m', 'pip', 'install', '-q', '--no-index', '--no-deps', place.inside / wheel.name)
    seconds = time.monotonic() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    place.program = environment / 'bin/hloscope'
    size = sum(path.stat().st_size for path in (place.scratch / 'env').rglob('hloscope/**/*') if path.is_file())
    return seconds, size / 1e6, environment / 'bin/python'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('hloscope', type=Path)
    parser.add_argument('source', type=Path)
    parser.add_argument('wheel', type=Path, nargs='?')
    parser.add_argument('--roots', type=Path)
    parser.add_argument('--corpus', type=Path)
    parser.add_argument('--tests', action='store_true')
    asked = parser.parse_args()
    if os.getuid() != 0 or not shutil.which('debootstrap'):
        print('skipped: needs root and debootstrap')
        return 77
    made = Path(tempfile.mkdtemp(prefix='hloscope-roots-')) if asked.roots is None else asked.roots
    wheels = tempfile.TemporaryDirectory()
    if asked.wheel is None:
        subprocess.run([asked.source / 'scripts/wheel', wheels.name], check=True, stdout=subprocess.DEVNULL)
        asked.wheel, = Path(wheels.name).glob('*.whl')
    source, build = asked.source.resolve(), asked.hloscope.resolve().parent.parent
    here = Place(asked.hloscope.resolve(), source)
    wrong = []
    picture, bits, start = commands(here, wrong), results(here, asked.corpus), measure(here)
    wrong += [f'the build: {name}: {text}' for name, text in bits.items() if text.startswith('status')]
    roots = {}
    counts, _ = test_counts(here, sys.executable, build) if asked.tests else ({}, [])
    print('| | pip, s | MB | commands | results | as in the build | same picture | tests | start, first compile, picture: ms |\n|---|---|---|---|---|---|---|---|---|')
    print(f'| the build | | | {len(COMMANDS)} | {len(bits)} | | | {sum(counts.values()) or ""} | {", ".join(f"{ms:.1f}" for ms in start)} |', flush=True)
    for suite in SUITES:
        root = made / suite
        if not root.exists():
            subprocess.run(['debootstrap', '--variant=minbase', f'--include={PACKAGES}', suite, root], check=True, stdout=subprocess.DEVNULL)
        mounted = []
        for folder in dict.fromkeys(p for p in (source, asked.corpus, Path('/proc'), Path('/dev')) if p):
            inside = root / folder.relative_to('/')
            inside.mkdir(parents=True, exist_ok=True)
            subprocess.run(['mount', '--bind', *(['-o', 'ro'] if folder not in (Path('/proc'), Path('/dev')) else []), folder, inside], check=True)
            mounted.append(inside)
        place = Place(None, source, root)
        try:
            seconds, size, python = install(root, asked.wheel, place)
            before = len(wrong)
            same_picture = commands(place, wrong) == picture
            quick = place.run(python, '-c', QUICK_START)
            if quick.stdout != '1 module\n':
                wrong.append(f'quick start: {quick.stdout}{quick.stderr}')
            found = results(place, asked.corpus)
            roots = roots or found
            differ = [name for name in bits if found[name] != roots[name] or found[name].startswith('status')]
            other = [name for name in bits if found[name] != bits[name]]
            wrong += [f'{suite}: {name}: {found[name]}' for name in differ + [name for name in other if name.endswith('interpreter')]]
            if not same_picture:
                wrong.append(f'{suite}: another picture')
            there, failed = test_counts(place, python, build) if asked.tests else ({}, [])
            wrong += [f'{suite}: {name} passes {there[name]} tests, {counts[name]} with the build' for name in counts if there[name] < counts[name]]
            wrong += [f'{suite}: {text}' for text in failed]
            times = ', '.join(f'{ms:.1f}' for ms in measure(place))
            good = len(COMMANDS) - sum(not text.startswith((suite, 'quick')) for text in wrong[before:])
            print(f'| {suite} | {seconds:.1f} | {size:.0f} | {good} | {len(bits) - len(differ)} | {len(bits) - len(other)} | {"yes" if same_picture else "no"} | '
                  f'{sum(there.values()) or ""} | {times} |', flush=True)
        finally:
            place.close()
            for folder in reversed(mounted):
                subprocess.run(['umount', folder], check=False)
    here.close()
    if asked.roots is None:
        shutil.rmtree(made)
    print(*wrong, sep='\n', file=sys.stderr)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
