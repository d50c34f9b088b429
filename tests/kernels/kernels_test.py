#!/usr/bin/env python3
"""Kernels of Triton, Pallas, XLA and by hand on the simulated GPU, beside its second implementation and the interpreter.

  kernels_test.py KERNEL_REFERENCE [--part I/N] [--checked N] [--write]

The kernels are those of kernels.tar.xz (make_kernels.py makes it anew) and of hand/. Each has a row in kernels.tsv: where it comes
from, the target of its PTX, how many of its blocks ran, and what both say: `equal` to the bit, `within the bounds`, `explained`
by what diverge confirms (tf32, another order of sums), or `-` with the reason why the interpreter has nothing to say (a custom call
that only the kernel defines). What the second implementation does not cover is named. With --part 0/20 the first of every
twenty files run; --checked bounds the instructions of lanes in a kernel. --write writes the table instead of comparing.
Exit status 1: a kernel disagrees, or the table says something else."""
import argparse
import glob
import os
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = f'{HERE}/kernels.tsv'
HEADER = 'file\tkernel\torigin\ttarget\tsecond implementation\tinterpreter\n'


def origin_of(file, path):
    if '/hand/' in path:
        return 'by hand'
    if '/triton/' in path:
        return 'Triton 3.9.0'
    version = {'jax0438': '0.4.38', 'jax062': '0.6.2'}.get(file.split('__')[-1], '0.12.0' if file.endswith('_h100') else '0.10.2')
    return 'Pallas, XLA:GPU 0.10.2' if file.startswith('pallas_') else f'XLA:GPU {version}'


def main():
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(f'{HERE}/kernels.tar.xz') as archive:
            # Debian 12 was released with a Python that has no filters.
            archive.extraction_filter = getattr(tarfile, 'data_filter', None)
            archive.extractall(scratch)
        files = sorted(glob.glob(f'{scratch}/*/*before_optimizations.txt')) + sorted(glob.glob(f'{scratch}/triton/*.ptx')) + \
            sorted(glob.glob(f'{HERE}/hand/*.ptx'))
        part, parts = map(int, OPTIONS.part.split('/'))
        files = files[part::parts]
        done = subprocess.run([OPTIONS.kernel_reference, '--checked', str(OPTIONS.checked), *files], stdout=subprocess.PIPE, text=True)
        paths = {os.path.basename(os.path.dirname(f)) if f.endswith('.txt') else os.path.basename(f)[:-4]: f for f in files}
    rows, wrong = [], done.returncode not in (0, 1)  # 1: some do not agree, or are not covered; the lines say which
    for line in done.stdout.splitlines():
        file, kernel, target, _, _, second, interpreter = line.split('\t')
        rows.append('\t'.join((file, kernel, origin_of(file, paths.get(file, '')), target, second, interpreter)))
        if not second.endswith(('equal', 'is not covered by the scalar reference')) or not re.match('equal|within|explained|-', interpreter):
            print(line)
            wrong = 1
    if OPTIONS.write:
        with open(TABLE, 'w', encoding='utf-8') as table:
            table.write(HEADER + ''.join(row + '\n' for row in sorted(rows)))
    known = open(TABLE, encoding='utf-8').read().splitlines()[1:]
    for row in sorted(set(rows) - set(known)):
        print('not in kernels.tsv:', row)
        wrong = 1
    if parts == 1:
        for row in sorted(set(known) - set(rows)):
            print('did not run:', row)
            wrong = 1
    print(f'{len(rows)} kernels of {len(files)} files; {len(known)} in the table')
    return int(wrong != 0 or not rows)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('kernel_reference')
    parser.add_argument('--part', default='0/1')
    parser.add_argument('--checked', type=int, default=2_000_000)
    parser.add_argument('--write', action='store_true')
    OPTIONS = parser.parse_args()
    sys.exit(main())
