"""make_wheel.py PREFIX LAUNCHER LICENCES OUT VERSION: the wheel of an installed program, which any Python 3 on Linux with glibc 2.28 or later takes.

PREFIX is what `cmake --install --strip` made, LAUNCHER the compiled launcher.c, LICENCES a folder of texts.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

TAG = 'py3-none-manylinux_2_28_x86_64'
METADATA = """Metadata-Version: 2.4
Name: hloscope
Version: {version}
Summary: Replay, compare and debug what the XLA compiler writes
License-Expression: Apache-2.0
{licences}
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development :: Debuggers
Provides-Extra: xla
Requires-Dist: lammps-jax-pjrt-cpu==0.11.2 ; extra == "xla"
Provides-Extra: xla-gpu
Requires-Dist: jax-cuda13-pjrt==0.12.0 ; extra == "xla-gpu"
Requires-Dist: nvidia-cuda-nvcc==13.0.88 ; extra == "xla-gpu"
Provides-Extra: jax
Requires-Dist: jax ; extra == "jax"
Description-Content-Type: text/markdown

{description}"""


class Wheel:
    def __init__(self, path):
        # A wheel is the same for the same files: no times of today.
        self.zip = zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED, compresslevel=6)
        self.record = []

    def add(self, name, data, executable=False):
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
        self.record.append(f'{name},sha256={digest},{len(data)}')

    def add_folder(self, folder, below):
        for path in sorted(folder.rglob('*')):
            if path.is_file():
                self.add(f'{below}/{path.relative_to(folder)}', path.read_bytes(), os.access(path, os.X_OK))

    def close(self, info):
        self.zip.writestr(zipfile.ZipInfo(f'{info}/RECORD', (2020, 1, 1, 0, 0, 0)), '\n'.join([*self.record, f'{info}/RECORD,,', '']))
        self.zip.close()


def main():
    prefix, launcher, licences, out, version = sys.argv[1:]
    here = Path(__file__).parent
    path = Path(out) / f'hloscope-{version}-{TAG}.whl'
    path.parent.mkdir(parents=True, exist_ok=True)
    wheel = Wheel(path)
    package = here / 'hloscope'
    for source in sorted(package.rglob('*')):
        if source.is_file() and source.suffix != '.pyc':
            wheel.add(f'hloscope/{source.relative_to(package)}', source.read_bytes().replace(b'@VERSION@', version.encode()))
    stubs = subprocess.run([sys.executable, here / 'make_stubs.py', Path(prefix) / 'bin/hloscope'], check=True, capture_output=True)
    wheel.add('hloscope/__init__.pyi', stubs.stdout)
    shutil.rmtree(Path(prefix) / 'share/hloscope/python', ignore_errors=True)  # the package is around the program
    wheel.add_folder(Path(prefix), 'hloscope/prefix')
    wheel.add(f'hloscope-{version}.data/scripts/hloscope', Path(launcher).read_bytes(), executable=True)
    info = f'hloscope-{version}.dist-info'
    named = '\n'.join(f'License-File: {file.name}' for file in sorted(Path(licences).iterdir()))
    wheel.add(f'{info}/METADATA', METADATA.format(version=version, licences=named, description=(here / 'README.md').read_text('utf-8')).encode())
    wheel.add(f'{info}/WHEEL', f'Wheel-Version: 1.0\nGenerator: hloscope\nRoot-Is-Purelib: false\nTag: {TAG}\n'.encode())
    wheel.add(f'{info}/entry_points.txt', b'[pytest11]\nhloscope = hloscope.pytest_plugin\n')
    wheel.add_folder(Path(licences), f'{info}/licenses')
    wheel.close(info)
    print(f'{path} {path.stat().st_size / 1e6:.1f} MB')


if __name__ == '__main__':
    main()
