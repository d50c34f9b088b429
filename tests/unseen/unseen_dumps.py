#!/usr/bin/env python3
"""Twenty dumps that nobody looked at before, counted from their texts and by hloscope.

  unseen_dumps.py make PYTHON FOLDER [--seed N] [--dumps 20] [--hloscope PROGRAM]
      JAX programs drawn by seed (programs.py), compiled by XLA:CPU; with --hloscope, and where XLA's GPU plugin is installed, the first stage of
      every fourth once more for an H100. PYTHON has jax.
  unseen_dumps.py check HLOSCOPE FOLDER            `info --json` against raw_counts.py; exit status 1 where they differ
  unseen_dumps.py pictures HLOSCOPE FOLDER         Home and Graph of each as PNG
  unseen_dumps.py test HLOSCOPE [--seed N]         makes them in a folder of its own and checks; 77: no python with jax"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from raw_counts import counts_of  # noqa: E402

PROGRAMS = pathlib.Path(__file__).with_name('programs.py')
COUNTED = ('operations', 'kernels', 'libraries', 'copies', 'collectives', 'host', 'host_memory')
# The functions of programs.py and model_programs.py, with the smallest and largest size of each.
KINDS = dict(scalars=(3, 12), perceptron_step=(2, 60), transformer=(1, 40), transformer_forward=(1, 24), adam_over_scan=(2, 12), convolutions=(1, 9),
             recurrent=(4, 50), newton=(5, 40), branches=(2, 6), spectrum=(1, 4), sorting=(1, 3), embedding=(3, 30), solving=(2, 9), callbacks=(1, 4),
             randomness=(1, 12), mapped=(1, 5), partitioned=(1, 6), narrow_types=(1, 6), prefix_sums=(1, 4), many_modules=(3, 14), integrator=(3, 30), sharded_step=(2, 6), experts=(1, 3),
             ring_attention=(1, 4), host_state=(2, 5))


def make(python, folder, seed, count, hloscope=None):
    draw = random.Random(seed)
    kinds = draw.sample(sorted(KINDS), min(count, len(KINDS)))
    kinds += [draw.choice(sorted(KINDS)) for _ in range(count - len(kinds))]
    for number, kind in enumerate(kinds):
        low, high = KINDS[kind]
        size = int(round(low * (high / low) ** draw.random()))
        dump = folder / f'{number + 1:02d}_{kind}_{size}'
        shutil.rmtree(dump, ignore_errors=True)
        flags = f'--xla_dump_to={dump} --xla_dump_hlo_as_text --xla_force_host_platform_device_count=4'
        environment = {**os.environ, 'XLA_FLAGS': flags, 'JAX_PLATFORMS': 'cpu', 'PYTHONDONTWRITEBYTECODE': '1'}
        subprocess.run([python, PROGRAMS, kind, str(draw.randrange(1 << 30)), str(size)], env=environment, check=True)
        if hloscope and number % 4 == 0:
            first = max(dump.glob('*.before_optimizations.txt'), key=lambda path: path.stat().st_size)
            gpu = folder / f'{number + 1:02d}_{kind}_{size}_h100'
            shutil.rmtree(gpu, ignore_errors=True)
            done = subprocess.run([hloscope, 'compile', first, '--with', 'xla-gpu', '--target', 'h100', '--dump', gpu], capture_output=True, text=True)
            print(gpu.name, 'compiled' if done.returncode == 0 else 'left out: ' + done.stderr.strip()[-200:], flush=True)
            if done.returncode:
                shutil.rmtree(gpu, ignore_errors=True)


def dumps_in(folder):
    return sorted(path for path in folder.iterdir() if path.is_dir())


def differences(raw, module):
    """What `info --json` says of a module otherwise than its texts."""
    overview = module['overview']
    for key in COUNTED:
        if raw[key] != overview[key]:
            yield f'{key}: {overview[key]}, in the texts {raw[key]}'
    shown = overview['shown']
    if shown and shown['place'] == 'device_kernel' and shown['operations'] < raw['most_in_a_fusion']:
        yield f'shown: {shown["operations"]} operations, {raw["most_in_a_fusion"]} in the largest fusion'
    if module['peak_bytes'] != raw['bytes']:
        yield f'bytes: {module["peak_bytes"]}, in the texts {raw["bytes"]}'
    if raw['live_peak'] is not None and module['live_peak_bytes'] != raw['live_peak']:
        yield f'peak: {module["live_peak_bytes"]}, in the texts {raw["live_peak"]}'


def check(hloscope, folder):
    wrong = 0
    for dump in dumps_in(folder):
        told = json.loads(subprocess.run([hloscope, 'info', dump, '--json'], capture_output=True, text=True, check=True).stdout)
        by_id = {module['id']: module for module in told['modules']}
        raw = counts_of(dump)
        found = [f'{fact["name"]}: {text}' for key, fact in raw.items() for text in differences(fact, by_id[key])]
        found += [f'module {key} is not there' for key in raw if key not in by_id]
        largest = max(raw.values(), key=lambda fact: fact['instructions'])
        print(f'{dump.name}: {largest["instructions"]} instructions in the largest of {len(raw)}: {"right" if not found else "; ".join(found)}', flush=True)
        wrong += bool(found)
    print(f'{len(dumps_in(folder)) - wrong} of {len(dumps_in(folder))} right')
    return 1 if wrong else 0


def pictures(hloscope, folder):
    for number, dump in enumerate(dumps_in(folder)):
        for screen in ('home', 'graph'):
            subprocess.run([hloscope, 'open', dump, '--screen', screen, '--theme', ('dark', 'light')[number % 2], '--size', '1600x1000',
                            '--screenshot', folder / f'{dump.name}.{screen}.png'], check=True)


def python_with_jax():
    """The environment of the tests, or HLOSCOPE_JAX."""
    root = pathlib.Path(__file__).resolve().parents[2]
    for python in (os.environ.get('HLOSCOPE_JAX', ''), root / '.venv/bin/python', sys.executable):
        if python and os.access(python, os.X_OK) and subprocess.run([python, '-c', 'import jax'], capture_output=True).returncode == 0:
            return str(python)
    return None


def test(hloscope, seed):
    python = python_with_jax()
    if python is None:
        print('skipped: no python with jax; HLOSCOPE_JAX names one')
        return 77
    with tempfile.TemporaryDirectory(prefix='hloscope-unseen-') as folder:
        make(python, pathlib.Path(folder), seed, 20, hloscope)
        return check(hloscope, pathlib.Path(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=('make', 'check', 'pictures', 'test'))
    parser.add_argument('program')
    parser.add_argument('folder', type=pathlib.Path, nargs='?')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--dumps', type=int, default=20)
    parser.add_argument('--hloscope')
    asked = parser.parse_args()
    if asked.what == 'test':
        return test(asked.program, asked.seed)
    if asked.what == 'make':
        asked.folder.mkdir(parents=True, exist_ok=True)
        return make(asked.program, asked.folder, asked.seed, asked.dumps, asked.hloscope)
    return check(asked.program, asked.folder) if asked.what == 'check' else pictures(asked.program, asked.folder)


if __name__ == '__main__':
    sys.exit(main())
