#!/usr/bin/env python3
"""What has to be seen of our code on a real GPU, of the cases that scripts/carry packed; the report is one file that fits an attachment.

  measure_gpu.py FOLDER [--budget 480] [--only PART,…] [--program hloscope] [--gpu gpu] [--xla xla-gpu] [--simulated gpu-sim] [--python ENV]

Parts are processes of their own, each with a deadline: one that fails, hangs or dies leaves the others alone, and time that one does not
need goes to those after it. After each part FOLDER/report.tar.xz is written again (at most --limit bytes, 4 MB): the table below, parts.json
(command, outcome, time and last words of each part), and what the parts printed. Its traces are the calls of the driver and the records of
CUPTI of one case: `measure_gpu.py FOLDER --replay REPORT` runs that case again, over tests/fake_cuda for one, and names the first call that
goes otherwise.

Exit status: 0 all parts ended well and all results are as expected, 1 some are not."""
import argparse
import glob
import io
import json
import lzma
import math
import os
import re
import signal
import subprocess
import sys
import tarfile
import time

LIBRARIES = '--xla_disable_hlo_passes=cublaslt,cudnn,cufft,cusolver,cublas,nccl'
WORDS = 2000  # of what a part wrote to stderr, at the end
POLLS = ('cuStreamQuery', 'cuEventQuery')  # how often depends on how long something takes


class Parts:
    def __init__(self, out, budget, limit, weights):
        self.out, self.limit, self.end, self.weights, self.parts = out, limit, time.monotonic() + budget, weights, []
        os.makedirs(out, exist_ok=True)
        for old in glob.glob(os.path.join(out, '*')):
            os.unlink(old)

    def run(self, name, commands, environments=None):
        """The lines of JSON that the commands wrote, also where they were stopped. With `environments` all run at once, each in its own."""
        left, rest = self.end - time.monotonic(), sum(self.weights.values())
        share = self.weights.pop(name)
        part = {'part': name, 'commands': [' '.join(command) for command in commands], 'seconds': 0.0, 'outcome': 'ok', 'words': ''}
        self.parts.append(part)
        seconds = left * share / rest
        start = time.monotonic()
        path = os.path.join(self.out, name + '.jsonl')
        with open(path, 'ab') as output, open(path.replace('.jsonl', '.err'), 'ab') as words:
            running = []
            try:
                if environments:
                    running = [self.start(command, output, words, environment) for command, environment in zip(commands, environments)]
                    for process in running:
                        self.wait(process, part, start + seconds)
                else:
                    for i, command in enumerate(commands):
                        if time.monotonic() > start + seconds - 1:
                            part['outcome'] = f'{i} of {len(commands)} commands began: the time of the part is over'
                            break
                        running = [self.start(command, output, words)]
                        self.wait(running[0], part, start + seconds)
            except OSError as error:
                part['outcome'] = str(error)
            finally:  # also where this process is ended
                for process in running:
                    self.kill(process)
        part['seconds'] = round(time.monotonic() - start, 2)
        with open(path.replace('.jsonl', '.err'), encoding='utf-8', errors='replace') as words:
            part['words'] = words.read()[-WORDS:]
        lines = []
        with open(path, encoding='utf-8', errors='replace') as file:
            for line in file:
                try:
                    lines.append(json.loads(line))
                except ValueError:
                    continue
        for line in lines:
            if isinstance(line, dict) and line.get('error') and part['outcome'] == 'ok':
                part['outcome'] = f"{line.get('file') or line.get('module')}: {line['error']}"
        print(f"{name}: {part['outcome']}, {part['seconds']} s", file=sys.stderr, flush=True)
        return [line for line in lines if isinstance(line, dict)]

    @staticmethod
    def start(command, output, words, environment=None):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=words, start_new_session=True,
                                env={**os.environ, **(environment or {})})

    @staticmethod
    def kill(process):
        """With all that it started: it leads a group."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        process.wait()

    def wait(self, process, part, end):
        try:
            status = process.wait(max(end - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            self.kill(process)
            part['outcome'] = 'stopped: the time of the part is over'
            return
        if status not in (0, 1) and part['outcome'] == 'ok':
            part['outcome'] = f'exit status {status}' if status >= 0 else f'ended by signal {-status}'

    def skip(self, name, why):
        self.weights.pop(name)
        self.parts.append({'part': name, 'commands': [], 'seconds': 0.0, 'outcome': 'left out: ' + why, 'words': ''})

    def write(self, path, table):
        """The report, all of it if it fits, else without the ends of the longest files."""
        own = {'report.md': table.encode(), 'parts.json': json.dumps(self.parts, indent=1).encode()}
        files = {os.path.basename(each): open(each, 'rb').read() for each in sorted(glob.glob(os.path.join(self.out, '*')))}
        most = min(max(map(len, files.values()), default=0), 16 * self.limit)
        while True:
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode='w') as archive:
                for name, data in {**own, **files}.items():
                    kept = data if name in own or len(data) <= most else data[:most] + f'\n[{len(data) - most} more bytes]\n'.encode()
                    info = tarfile.TarInfo('report/' + name)
                    info.size = len(kept)
                    archive.addfile(info, io.BytesIO(kept))
            report = lzma.compress(packed.getvalue(), preset=2)
            if len(report) <= self.limit or most == 0:
                break
            most //= 2
        with open(path + '.part', 'wb') as file:
            file.write(report)
        os.replace(path + '.part', path)


def by_case(lines):
    """Results by name of the case: what the line says it was about, without folder and ending."""
    out = {}
    for line in lines:
        name = os.path.basename(line.get('file') or line.get('module') or '')
        for ending in ('.hloplan', '.hlo.pb'):
            name = name.removesuffix(ending)
        out[name] = line
    return out


class Bits:
    """Which differences of bits are expected: the table of docs/gpu-bits.md."""
    def __init__(self, folder):
        self.folder, self.rows = folder, []
        with open(os.path.join(folder, 'gpu-bits.md'), encoding='utf-8') as page:
            for line in page:
                row = re.match(r'\| `(.+?)` \| `?(tolerance|\d+)`? \|', line)
                if row:
                    self.rows.append((re.compile(row[1].replace(r'\|', '|')), math.inf if row[2] == 'tolerance' else int(row[2])))

    def of(self, name, line):
        """What is to be said, and whether it is expected."""
        if not line.get('outputs'):
            return line.get('status', '–'), False
        ulp = max(output['max_ulp'] for output in line['outputs'])
        lost = sum(output['mismatched'] for output in line['outputs'])
        if ulp == 0 and lost == 0:
            return 'equal', True
        with open(os.path.join(self.folder, 'cases', name + '.forms'), encoding='utf-8') as file:
            forms = file.read().split('\n')
        bound = max((bound for form, bound in self.rows if any(form.search(each) for each in forms)), default=0)
        said = f'{lost} differ, {ulp} ULP' if lost else f'{ulp} ULP'
        return said + ('' if bound else ', and no row of gpu-bits.md allows it'), lost == 0 and ulp <= bound


def mean(values):
    return f'{math.exp(sum(map(math.log, values)) / len(values)):.3f}' if values else '–'


def shown(value, form='{:.1f}'):
    return '–' if value is None else form.format(value)


def dropped(lines):
    return sum(len(line.get('warnings') or []) for line in lines)


class Measure:
    WEIGHTS = {'doctor': 20, 'results': 60, 'gpu': 60, 'bits': 60, 'xla': 100, 'profile': 50, 'traces': 20, 'counters': 30, 'sampling': 30,
               'autotune': 40, 'ranks': 15}

    def __init__(self, asked):
        self.asked, self.folder = asked, asked.folder
        self.program = asked.program or os.path.join(asked.folder, 'bin', 'hloscope')
        self.plans = sorted(glob.glob(os.path.join(asked.folder, 'cases', '*.hloplan')))
        self.names = [os.path.basename(plan).removesuffix('.hloplan') for plan in self.plans]
        self.bits = Bits(asked.folder)
        self.only = asked.only.split(',') if asked.only else list(self.WEIGHTS)
        self.parts = Parts(os.path.join(asked.folder, 'measured'), asked.budget, asked.limit, {name: self.WEIGHTS[name] for name in self.only})
        self.found = {}

    def part(self, name, *commands, environments=None):
        if name not in self.only:
            return
        try:
            self.found[name] = self.parts.run(name, [[self.program, *command, '--json'] for command in commands], environments)
        except Exception as error:  # one part is not to take the others with it
            self.parts.parts[-1]['outcome'] = f'{type(error).__name__}: {error}'
        self.parts.write(os.path.join(self.folder, 'report.tar.xz'), self.table()[0])

    def run(self):
        gpu, few, out = self.asked.gpu, self.plans[:4], self.parts.out
        leave = [LIBRARIES] if gpu == 'gpu' else []
        python = ['--python', self.asked.python] if self.asked.python else []
        case = [plan.removesuffix('.hloplan') for plan in self.plans]
        self.part('doctor', ['doctor'])
        self.part('results', *(['run', each + '.hloplan', '--platform', gpu, '--inputs', each + '.inputs.npz', '--expect', each + '.expected.npz',
                                '--iterations', '3'] for each in case))
        self.part('gpu', ['bench', 'run', *self.plans, '--platform', gpu, '--jobs', '1'])
        self.part('bits', ['run', *self.plans, '--platform', gpu, '--reference_platform', self.asked.simulated, '--jobs', '1', *leave])
        self.part('xla', ['bench', 'run', *(each + '.hlo.pb' for each in case), '--platform', self.asked.xla, '--jobs', '1', *python])
        self.part('profile', ['profile', *self.plans, '--platform', gpu, '--iterations', '5', '--jobs', '1'])
        logs = {'HLOSCOPE_CUDA_LOG': os.path.join(out, 'driver.log'), 'HLOSCOPE_CUPTI_LOG': os.path.join(out, 'cupti.bin')}
        self.part('traces', ['profile', self.plans[0], '--platform', gpu, '--iterations', '3', *leave], environments=[logs])
        self.part('counters', *(['profile', plan, '--platform', gpu, '--metrics', *leave] for plan in few))
        self.part('sampling', *(['profile', plan, '--platform', gpu, '--pc_sampling', *leave] for plan in few))
        self.part('autotune', ['run', *self.plans, '--platform', gpu, '--autotune', '--jobs', '1'])
        self.ranks()
        table, is_good = self.table()
        self.parts.write(os.path.join(self.folder, 'report.tar.xz'), table)
        print(table)
        return 0 if is_good else 1

    def ranks(self):
        """Two processes, where there are two GPUs."""
        if 'ranks' not in self.only:
            return
        told = ' '.join(str(line.get('message')) for line in self.found.get('doctor', []) if line.get('section') == 'driver')
        if not re.search(r'\b([2-9]|\d\d+) GPUs: ', told):
            return self.parts.skip('ranks', 'it needs two GPUs')
        folder = os.path.join(self.folder, f'ranks.{os.getpid()}')
        os.mkdir(folder, 0o700)
        command = ['run', os.path.join(self.folder, 'ranks.hloplan'), '--platform', self.asked.gpu, '--ranks_folder', folder,
                   '--reference_platform', 'interpreter']
        self.part('ranks', command, command, environments=[
            {'OMPI_COMM_WORLD_RANK': str(rank), 'OMPI_COMM_WORLD_SIZE': '2', 'OMPI_COMM_WORLD_LOCAL_RANK': str(rank)} for rank in range(2)])

    def table(self):
        tables = {name: by_case(lines) for name, lines in self.found.items()}
        lines = [f'| case | results | bits on {self.asked.simulated} | {self.asked.gpu} µs | {self.asked.xla} µs | ratio | device µs | recorded | '
                 'attributed |', '|---|---|---|---|---|---|---|---|---|']
        ratios, overheads, is_good = [], [], True
        for name in self.names:
            result, same, own, xla, profile = (tables.get(part, {}).get(name, {}) for part in ('results', 'bits', 'gpu', 'xla', 'profile'))
            us, xla_us = own.get('run_us') or None, xla.get('run_us') or None
            ratio = us / xla_us if us and xla_us else None
            overhead, share, runs = profile.get('overhead'), profile.get('share'), len(profile.get('run_us') or [])
            device = profile['work_ns'] / 1000 / runs if profile.get('work_ns') and runs else None
            ratios += [ratio] if ratio else []
            overheads += [1 + overhead] if overhead is not None and overhead > -1 else []
            said, is_expected = self.bits.of(name, same) if same else ('–', 'bits' not in self.found)
            is_good &= is_expected and (result.get('status') == 'equal' or 'results' not in self.found)
            lines.append(f"| {name} | {result.get('status', '–')} | {said} | {shown(us)} | {shown(xla_us)} | {shown(ratio, '{:.2f}')} | "
                         f"{shown(device)} | {shown(None if overhead is None else 100 * overhead, '{:+.1f} %')} | "
                         f"{shown(None if share is None else 100 * share, '{:.1f} %')} |")
        lines += ['', f"{len(self.names)} cases; {self.asked.gpu} to {self.asked.xla}: {mean(ratios)} in the geometric mean of {len(ratios)}; "
                  f"recorded runs take {mean(overheads)} of the others in that of {len(overheads)}", '', '| part | outcome | s | warnings |',
                  '|---|---|---|---|']
        for part in self.parts.parts:
            is_good &= part['outcome'] == 'ok' or part['outcome'].startswith('left out: ')
            outcome = part['outcome'].replace('|', '\\|')
            lines.append(f"| {part['part']} | {outcome} | {part['seconds']} | {dropped(self.found.get(part['part'], []))} |")
        lines += [f'| {name} | not begun | | |' for name in self.parts.weights]
        return '\n'.join(lines) + '\n', is_good and not self.parts.weights


def calls(text):
    """Of a log of the driver's calls: name, answer and numbers, without times and polls."""
    out = []
    for line in text.splitlines():
        words = line.split(' ')
        if len(words) > 2 and words[0] not in POLLS:
            out.append(' '.join([words[0], words[1], *words[3:]]))
    return out


def replay(asked, measure):
    """The case of a report's traces again, and where the calls of the driver go otherwise."""
    with tarfile.open(asked.replay) as report:
        recorded = calls(report.extractfile('report/driver.log').read().decode())
        command = next(part for part in json.load(report.extractfile('report/parts.json')) if part['part'] == 'traces')['commands'][0]
    name = re.search(r'cases/(\S+)\.hloplan', command)[1]
    log = os.path.join(measure.parts.out, 'replayed.log')
    subprocess.run([measure.program, 'profile', os.path.join(asked.folder, 'cases', name + '.hloplan'), '--platform', 'gpu', '--iterations', '3',
                    LIBRARIES], env={**os.environ, 'HLOSCOPE_CUDA_LOG': log}, check=True, stdout=subprocess.DEVNULL, timeout=asked.budget)
    with open(log, encoding='utf-8') as file:
        again = calls(file.read())
    for i, (one, other) in enumerate(zip(recorded + ['the end'], again + ['the end'])):
        if one != other:
            print(f'{name}: call {i + 1} of {len(recorded)}: recorded `{one}`, now `{other}`')
            return 1
    print(f'{name}: {len(recorded)} calls, the same')
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder')
    for name, otherwise in (('--program', None), ('--gpu', 'gpu'), ('--xla', 'xla-gpu'), ('--simulated', 'gpu-sim'), ('--python', None),
                            ('--only', None), ('--replay', None)):
        parser.add_argument(name, default=otherwise)
    parser.add_argument('--budget', type=float, default=480)
    parser.add_argument('--limit', type=int, default=4_000_000)
    asked = parser.parse_args()
    asked.folder = os.path.abspath(asked.folder)
    unknown = set(asked.only.split(',') if asked.only else []) - set(Measure.WEIGHTS)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(Measure.WEIGHTS)}")
    if not glob.glob(os.path.join(asked.folder, 'cases', '*.hloplan')):
        parser.error(f'no cases in {asked.folder}')
    measure = Measure(asked)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return replay(asked, measure) if asked.replay else measure.run()


if __name__ == '__main__':
    sys.exit(main())
