#!/usr/bin/env python3
"""What `info --memory --advise --verify` predicts of ten programs, compiled for a CPU and an H100, and what carrying it out in JAX gives.

  programs_test.py HLOSCOPE [--write]

The rows are those of expected.tsv; --write puts them there. Exit status 77: the plugins of XLA are not installed."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(HERE, 'expected.tsv')
HEAD = 'program\tdevice\tpeak\tsimulated\tadvice\tpredicted\trecompiled\tin JAX\n'
DEVICES = {'cpu': ['--with', 'xla-cpu'], 'gpu': ['--with', 'xla-gpu', '--target', 'h100']}
HLOSCOPE = os.path.abspath(sys.argv[1])


def report(program, device, *options):
    """Of a program that is compiled for the device; None: the plugin is not there."""
    with tempfile.TemporaryDirectory() as folder:
        dump = os.path.join(folder, 'dump')
        made = subprocess.run([HLOSCOPE, 'compile', os.path.join(HERE, program + '.hlo'), *DEVICES[device], '--dump', dump],
                              capture_output=True, text=True, timeout=600, check=False)
        if 'no plugin for' in made.stderr:
            return None
        if made.returncode != 0:
            sys.exit(made.stderr)
        done = subprocess.run([HLOSCOPE, 'info', dump, '--memory', '--advise', *options, '--json'], capture_output=True, text=True, timeout=600, check=True)
        return json.loads(done.stdout)


def rows():
    for program in sorted(name.split('.')[0] for name in os.listdir(HERE) if name.endswith('.before.hlo')):
        for device in DEVICES:
            before, after = report(program + '.before', device, '--verify'), report(program + '.after', device)
            if before is None or after is None:
                sys.exit(77)
            module, = before['modules']
            found = module['peak_bytes'] - after['modules'][0]['peak_bytes']
            temporaries = 'as XLA' if module['simulated_bytes'] == module['temporary_bytes'] else module['simulated_bytes']
            for advice in before['advice'] or [None]:
                told = (advice['kind'], advice['saves_bytes'], advice['recompiled_bytes'] if advice['recompiled_bytes'] is not None else '-') if advice else ('none', 0, '-')
                yield '\t'.join(map(str, (program, device, module['peak_bytes'], temporaries, *told, found))) + '\n'


def main():
    made = HEAD + ''.join(rows())
    if sys.argv[2:] == ['--write']:
        with open(EXPECTED, 'w', encoding='utf-8') as file:
            file.write(made)
        return
    with open(EXPECTED, encoding='utf-8') as file:
        expected = file.read()
    if made != expected:
        sys.exit(f'expected\n{expected}found\n{made}')


if __name__ == '__main__':
    main()
