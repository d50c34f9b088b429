#!/usr/bin/env python3
"""Makes the bundles of samples/faults anew: one for each fault of XLA:CPU that `hloscope hunt` found, from its module on the page.

  fault_bundles.py HLOSCOPE [SAMPLES/faults]   needs the plugin of xla-cpu; a line a fault, and the table in README.md

Each has the page's module and inputs that show the fault, the verdict of `diverge --passes` and what `bundle check` said of it.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'app'))
from command_tests import write_npz  # noqa: E402

PAGE = HERE / 'xla_faults_in_modules.md'
PLATFORMS = ['--platform', 'xla-cpu', '--reference_platform', 'interpreter']


class Fault:
    """A heading of the page: the bundle's name, the operands that show it (None: those of seed 0), a deadline in seconds, and whether it
    damages memory or reads what nobody has written, so that it may end in another way elsewhere."""

    def __init__(self, heading, name, operands=None, deadline=None, damages=False):
        self.heading, self.name, self.operands, self.deadline, self.damages = heading, name, operands, deadline, damages


FAULTS = [
    Fault('Zero divided by an array of one zero is zero', 'zero_divided', [('<u4', (1,), bytes(4))]),
    Fault('An integer divided by a power is multiplied by another power', 'divided_by_power'),
    Fault('A gather of random bits never finishes compiling', 'gather_of_bits', deadline=10),
    Fault('The largest few of 4-bit integers do not compile', 'top_of_narrow'),
    Fault('A sort of 2-bit integers loses elements', 'sort_of_two_bits', [('|u1', (8,), bytes([1, 3, 0, 2, 3, 0, 0, 3]))],
          damages=True),
    Fault('A constant complex number converted to a real one kills the process', 'converted_constant'),
    Fault('A transform whose result is gathered along its last dimension does not run', 'fft_gathered'),
    Fault('A scan of no elements does not compile', 'scan_of_nothing'),
    Fault('An all-gather of 2-bit integers returns uninitialised memory', 'gathered_bits', damages=True),
    Fault('Arrays of 1-bit integers are written beyond their buffers', 'bits', [('|u1', (4096,), bytes(4096)), ('|u1', (4096,), b'\1' * 4096)],
          damages=True),
]

README = '''# Faults of XLA:CPU

A bug bundle for each fault of XLA:CPU that `hloscope hunt` found: the module of its heading on `tests/conformance/xla_faults_in_modules.md`, its
inputs, the verdict of `diverge --passes` and a `report.html` to be read in a browser. Plugin: PJRT 0.115 (lammps-jax-pjrt-cpu 0.11.2).
`tests/conformance/fault_bundles.py` made them and makes them again; paths, users and hosts are redacted.

    hloscope bundle check samples/faults/zero_divided.hlob
    hloscope open samples/faults/zero_divided.hlob

| fault | bundle | bytes | pass or cause | off, it is right | `bundle check` |
|---|---|---|---|---|---|
'''


def module_of(heading):
    """The first module under a heading of the page."""
    page = PAGE.read_text()
    body = re.search(rf'\n## {re.escape(heading)}\n(.*?)(?=\n## |\Z)', page, re.S)
    return re.search(r'```\n(HloModule.*?)```', body[1], re.S)[1]


def lines_of(command, folder):
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('{')] or sys.exit(f'{command}: {ran.stderr}')


def make(hloscope, fault, out):
    """Makes one bundle; its row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        module, verdict = fault.name + '.hlo', 'verdict.json'
        (pathlib.Path(folder) / module).write_text(module_of(fault.heading))
        options = list(PLATFORMS)
        if fault.operands is not None:
            write_npz(os.path.join(folder, 'inputs.npz'), {f'in{k}': operand for k, operand in enumerate(fault.operands)})
            options += ['--inputs', 'inputs.npz']
        if fault.deadline:
            options += ['--deadline', str(fault.deadline)]
        found = lines_of([hloscope, 'diverge', module, '--passes', *options, '--json'], folder)[-1]
        (pathlib.Path(folder) / verdict).write_text(json.dumps(found) + '\n')
        made = lines_of([hloscope, 'bundle', 'create', module, *options, '--values', 'all', '--verdict', verdict, '--note',
                         fault.heading, '-o', out, '--json'], folder)[-1]
    if 'bytes' not in made:
        sys.exit(f'{fault.name}: {made}')
    who = found.get('pass') or found.get('cause') or 'not named'
    cured = ', '.join(found.get('cured_by') or []) or '-'
    return f"| {fault.heading} | `{fault.name}.hlob` | {made['bytes']} | {who} | {cured} | {made['replayed']} |"


def main():
    hloscope = os.path.abspath(sys.argv[1])
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else HERE.parent.parent / 'samples' / 'faults').resolve()
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for fault in FAULTS:
        rows.append(make(hloscope, fault, str(folder / (fault.name + '.hlob'))))
        print(rows[-1], flush=True)
    (folder / 'README.md').write_text(README + '\n'.join(rows) + '\n')


if __name__ == '__main__':
    main()
