#!/usr/bin/env python3
"""Makes kernels.tar.xz anew: dumps of the programs of programs.py and pallas_programs.py, and the kernels of triton_kernels.py.

  make_kernels.py HLOSCOPE --plugins TARGET=FOLDER… [--older FOLDER…]

No GPU is needed, but Python with jax 0.10.2 and triton 3.9.0, and a folder with XLA's CUDA plugin for each target (jax-cuda13-pjrt 0.12.0
for h100, 0.10.2 for a100; Pallas takes the one of its own jax, a100's). --older: dumps by earlier versions, which go in as they
are. Of each dump only what runs the kernels is kept."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = ('*.before_optimizations.txt', '*gpu_after_optimizations.txt', '*.ptx', '*thunk_sequence*.txt', '*thunk_metadata.txt',
        '*gpu_after_optimizations-buffer-assignment.txt')


def keep(dump, folder, more=()):
    os.makedirs(folder, exist_ok=True)
    for pattern in KEPT + tuple(more):
        for path in glob.glob(f'{dump}/{pattern}'):
            if os.path.getsize(path) > 0:
                with open(path, encoding='utf-8') as file:
                    text = file.read()
                # Bytecode of Pallas holds the path, with its length.
                text = text.replace(f'{HERE}/', '.' * len(HERE) + '/')
                with open(f'{folder}/{os.path.basename(path)}', 'w', encoding='utf-8') as file:
                    file.write(re.sub(r'(?<=")/[^"]*/(?=[^"/]*\.py")', '', text))


def main():
    plugins = dict(each.split('=', 1) for each in OPTIONS.plugins)
    with tempfile.TemporaryDirectory() as scratch:
        for script in ('programs', 'pallas_programs'):
            # By their names alone, so that no path goes into the modules.
            subprocess.run([sys.executable, f'{script}.py', f'{scratch}/{script}'], check=True, cwd=HERE)
        for target in plugins:
            for module in sorted(glob.glob(f'{scratch}/*programs/*.hlo.pb')):
                name = os.path.basename(module).split('.')[0]
                plugin = plugins['a100'] if name.startswith('pallas_') else plugins[target]
                subprocess.run([OPTIONS.hloscope, 'compile', module, '--with', 'xla-gpu', '--target', target, '--dump', f'{scratch}/dumps/{name}_{target}'],
                               env=dict(os.environ, HLOSCOPE_PLUGIN_PATH=plugin), check=True, stdout=subprocess.DEVNULL)
                keep(f'{scratch}/dumps/{name}_{target}', f'{scratch}/kernels/{name}_{target}')
        # The launch sizes of XLA 0.4 are in its LLVM IR alone where they are not in the thunks.
        for dump in OPTIONS.older or []:
            name = os.path.basename(os.path.dirname(os.path.normpath(dump)))
            keep(dump, f'{scratch}/kernels/{name}', ('*.ir-with-opt.ll',) if name.startswith('while_') else ())
        subprocess.run([sys.executable, f'{HERE}/triton_kernels.py', f'{scratch}/kernels/triton'], check=True)
        # A product of s8 that XLA 0.12.0 miscompiles for h100.
        shutil.rmtree(f'{scratch}/kernels/gemm_s8_h100', ignore_errors=True)
        with tarfile.open(f'{HERE}/kernels.tar.xz', 'w:xz') as archive:
            for path in sorted(glob.glob(f'{scratch}/kernels/*/*')):
                entry = archive.gettarinfo(path, os.path.relpath(path, f'{scratch}/kernels'))
                entry.mtime = entry.uid = entry.gid = 0
                entry.uname = entry.gname = ''
                with open(path, 'rb') as file:
                    archive.addfile(entry, file)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('hloscope')
    parser.add_argument('--plugins', nargs='+', required=True)
    parser.add_argument('--older', nargs='*')
    OPTIONS = parser.parse_args()
    main()
