#!/usr/bin/env python3
"""PTX of modules assembled by NVIDIA's assembler for several generations.

  assembled_modules.py HLOSCOPE FOLDER… [--modules N] [--ptxas PATH]

Modules are the .hlo files in the folders, in an order that mixes them. Of each that has kernels the text for sm_80 is assembled for it,
and the one for sm_90 for sm_90, sm_100 and sm_120, which run it. Exit status 1: one is refused; 77: there is no ptxas."""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import zlib


def main():
    ptxas = OPTIONS.ptxas or shutil.which('ptxas')
    if not ptxas:
        print('no ptxas')
        return 77
    modules = sorted({m for folder in OPTIONS.folders for m in glob.glob(folder + '/**/*.hlo', recursive=True)}, key=lambda m: zlib.crc32(os.path.basename(m).encode()))
    done, without, refused = 0, 0, []
    with tempfile.TemporaryDirectory() as scratch:
        text = f'{scratch}/kernels.ptx'
        for module in modules:
            if done == OPTIONS.modules:
                break
            for target, assemblers in (('sm_80', ('sm_80',)), ('sm_90', ('sm_90', 'sm_100', 'sm_120'))):
                if os.path.exists(text):
                    os.remove(text)
                subprocess.run([OPTIONS.hloscope, 'compile', module, '--target', target, '--emit', 'ptx', '-o', text],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
                if not os.path.exists(text) or '.entry' not in open(text).read():
                    without += 1
                    break
                for arch in assemblers:
                    made = subprocess.run([ptxas, f'-arch={arch}', text, '-o', os.devnull], capture_output=True, text=True)
                    if made.returncode:
                        refused.append(f'{module} for {arch}: {made.stderr.strip()[:300]}')
            else:
                done += 1
    print(*refused, sep='\n')
    print(f'{done} modules with kernels, {without} without; {len(refused)} texts refused')
    return int(bool(refused) or done < OPTIONS.least)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('hloscope')
    parser.add_argument('folders', nargs='+')
    parser.add_argument('--modules', type=int, default=500)
    parser.add_argument('--least', type=int, default=1)
    parser.add_argument('--ptxas')
    OPTIONS = parser.parse_args()
    sys.exit(main())
