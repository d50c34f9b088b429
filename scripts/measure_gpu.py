#!/usr/bin/env python3
"""What has to be seen of our code on a real GPU, of the cases that scripts/carry packed, in few processes: as a table in Markdown.

  measure_gpu.py FOLDER [--program hloscope] [--gpu gpu] [--xla xla-gpu] [--simulated gpu-sim] [--python ENVIRONMENT] [--budget 480]

FOLDER/cases has NAME.hloplan and NAME.hlo.pb; all lines of JSON are kept in FOLDER/measured. Columns: whether the results on the GPU are
those of the simulated one, without libraries, bit for bit (else by how much); the median time of a run, with libraries, and XLA's; how much
longer a recorded run takes, and how much of the device's time has an instruction. Beneath: geometric means. Nothing is skipped in silence:
what a command did not answer is a dash, and its last words stand below. Exit status: 0 all results agree, 1 some do not, or a command fails."""
import argparse
import glob
import json
import math
import os
import subprocess
import sys
import time

LIBRARIES = '--xla_disable_hlo_passes=cublaslt,cudnn,cufft,cusolver,cublas,nccl'


class Commands:
    def __init__(self, program, out, budget):
        self.program, self.out, self.end, self.words = program, out, time.monotonic() + budget, []

    def run(self, name, *arguments):
        """The lines of JSON that a command wrote, also where it was stopped."""
        left = self.end - time.monotonic()
        if left < 5:
            self.words.append(f'{name}: not begun, the budget is spent')
            return []
        path = os.path.join(self.out, f'{name}.jsonl')
        with open(path, 'w+', encoding='utf-8', errors='replace') as file:
            try:
                done = subprocess.run([self.program, *arguments, '--json'], stdout=file, stderr=subprocess.PIPE, text=True, errors='replace',
                                      timeout=left, check=False)
                if done.returncode not in (0, 1):
                    last = done.stderr.strip().splitlines()[-1:] or ['']
                    self.words.append(f'{name}: exit status {done.returncode}: {last[0]}')
            except subprocess.TimeoutExpired:
                self.words.append(f'{name}: stopped, the budget is spent')
            file.seek(0)
            lines = []
            for line in file:
                try:
                    lines.append(json.loads(line))
                except ValueError:
                    continue
                if lines[-1].get('error'):
                    self.words.append(f"{name}: {lines[-1].get('file') or lines[-1].get('module')}: {lines[-1]['error']}")
            return lines


def by_case(lines):
    """Results by name of the case: what the line says it was about, without folder and ending."""
    out = {}
    for line in lines:
        name = os.path.basename(line.get('file') or line.get('module') or '')
        for ending in ('.hloplan', '.hlo.pb'):
            name = name.removesuffix(ending)
        out[name] = line
    return out


def bits(line):
    if not line.get('outputs'):
        return line.get('status', '–')
    most = max(output['max_ulp'] for output in line['outputs'])
    lost = sum(output['mismatched'] for output in line['outputs'])
    if most == 0 and lost == 0:
        return 'equal'
    return f"{lost} differ, {most} ULP" if lost else f'{most} ULP'


def mean(values):
    return f'{math.exp(sum(map(math.log, values)) / len(values)):.3f}' if values else '–'


def shown(value, form='{:.1f}'):
    return '–' if value is None else form.format(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder')
    parser.add_argument('--program')
    parser.add_argument('--gpu', default='gpu')
    parser.add_argument('--xla', default='xla-gpu')
    parser.add_argument('--simulated', default='gpu-sim')
    parser.add_argument('--python')
    parser.add_argument('--budget', type=float, default=480)
    asked = parser.parse_args()
    program = asked.program or os.path.join(asked.folder, 'bin', 'hloscope')
    out = os.path.join(asked.folder, 'measured')
    os.makedirs(out, exist_ok=True)
    plans = sorted(glob.glob(os.path.join(asked.folder, 'cases', '*.hloplan')))
    if not plans:
        parser.error(f'no cases in {asked.folder}')
    modules = [plan.removesuffix('.hloplan') + '.hlo.pb' for plan in plans]
    commands = Commands(program, out, asked.budget)
    leave = [LIBRARIES] if asked.gpu == 'gpu' else []
    python = ['--python', asked.python] if asked.python else []
    commands.run('doctor', 'doctor')
    same = by_case(commands.run('bits', 'run', *plans, '--platform', asked.gpu, '--reference_platform', asked.simulated, '--jobs', '1', *leave))
    ours = by_case(commands.run('gpu', 'bench', 'run', *plans, '--platform', asked.gpu, '--jobs', '1'))
    recorded = by_case(commands.run('profile', 'profile', *plans, '--platform', asked.gpu, '--iterations', '5', '--jobs', '1'))
    theirs = by_case(commands.run('xla', 'bench', 'run', *modules, '--platform', asked.xla, '--jobs', '1', *python))

    print(f'| case | bits on {asked.simulated} | {asked.gpu} µs | {asked.xla} µs | ratio | recorded | attributed |\n|---|---|---|---|---|---|---|')
    ratios, overheads, agree = [], [], True
    for plan in plans:
        name = os.path.basename(plan).removesuffix('.hloplan')
        own, xla, profile = (table.get(name, {}) for table in (ours, theirs, recorded))
        us, xla_us = own.get('run_us') or None, xla.get('run_us') or None
        ratio = us / xla_us if us and xla_us else None
        overhead, share = profile.get('overhead'), profile.get('share')
        ratios += [ratio] if ratio else []
        overheads += [1 + overhead] if overhead is not None and overhead > -1 else []
        said = bits(same.get(name, {}))
        agree &= same.get(name, {}).get('status') == 'equal'
        print(f"| {name} | {said} | {shown(us)} | {shown(xla_us)} | {shown(ratio, '{:.2f}')} | "
              f"{shown(None if overhead is None else 100 * overhead, '{:+.1f} %')} | {shown(None if share is None else 100 * share, '{:.1f} %')} |")
    print(f"\n{len(plans)} cases; {asked.gpu} to {asked.xla}: {mean(ratios)} in the geometric mean of {len(ratios)}; "
          f"recorded runs take {mean(overheads)} of the others in that of {len(overheads)}")
    for line in commands.words:
        print(line)
    return 0 if agree and not commands.words else 1


if __name__ == '__main__':
    sys.exit(main())
