#!/usr/bin/env python3
"""Workers that are killed, run out of memory or of time, hundreds of times in one parent: no wrong result, none lost, nothing left.

  chaos.py HLOSCOPE SAMPLES [--kills 1000] [--caps 100] [--deadlines 100] [--seed 1] [--platform NAME]

Prints a line of figures for each kind; the exit status is 1 if any promise is broken."""
import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'app', 'endless.hlo')) as file:
    ENDLESS = file.read()
GREEDY = '''HloModule greedy
ENTRY e {
  x = f32[] parameter(0)
  a = f32[20000,4000] broadcast(x), dimensions={}
  b = f32[20000,4000] iota(), iota_dimension=0
  ROOT c = f32[20000,4000] add(a, b)
}
'''


def children(pid):
    found = []
    try:
        for task in os.listdir(f'/proc/{pid}/task'):
            with open(f'/proc/{pid}/task/{task}/children') as f:
                found += [int(word) for word in f.read().split()]
    except OSError:
        pass
    return found


def state(pid):
    try:
        with open(f'/proc/{pid}/stat') as f:
            return f.read().rsplit(')', 1)[1].split()[0]
    except OSError:
        return ''


def own_bytes(pid):
    with open(f'/proc/{pid}/statm') as f:
        _, resident, shared = f.read().split()[:3]
    return (int(resident) - int(shared)) * os.sysconf('SC_PAGE_SIZE')


class Parent:
    """One hloscope with many replays; what it holds is looked at after each."""

    def __init__(self, program, arguments, folder, fault=None):
        environment = {k: v for k, v in os.environ.items() if k != 'HLOSCOPE_WORKER_FAULT'}
        environment.update(XDG_STATE_HOME=os.path.join(folder, 'state'), TMPDIR=os.path.join(folder, 'tmp'))
        os.makedirs(environment['TMPDIR'], exist_ok=True)
        if fault:
            environment['HLOSCOPE_WORKER_FAULT'] = fault
        self.descriptors, self.memory, self.seconds, self.workers = [], [], [], set()
        self.process = subprocess.Popen([program, 'run', '--json', *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=environment, text=True)

    def replays(self):
        before = time.monotonic()
        for line in self.process.stdout:
            now = time.monotonic()
            self.seconds.append(now - before)
            before = now
            pid = self.process.pid
            try:
                self.descriptors.append(len(os.listdir(f'/proc/{pid}/fd')))
                self.memory.append(own_bytes(pid))
            except OSError:
                pass  # it has just ended
            self.workers.update(children(pid))
            yield json.loads(line)
        self.process.wait()


class Killer(threading.Thread):
    """Kills the workers of a parent once for every replay, at a random moment of it."""

    def __init__(self, parent, seed, longest):
        super().__init__(daemon=True)
        self.parent, self.random, self.longest = parent, random.Random(seed), longest
        self.due, self.killed = threading.Semaphore(1), 0

    def run(self):
        while self.parent.process.poll() is None:
            if not self.due.acquire(timeout=0.2):
                continue
            time.sleep(self.random.uniform(0, self.longest))
            for child in children(self.parent.process.pid):
                try:
                    os.kill(child, signal.SIGKILL)
                    self.killed += 1
                except OSError:
                    pass


class Chaos:
    def __init__(self, options):
        self.options, self.broken = options, []

    def expect(self, what, truth):
        if not truth:
            self.broken.append(what)
            print('broken:', what)

    def nothing_left(self, name, parent, folder):
        # A killed worker may still be giving back its memory; nobody waits for it, init clears it away.
        for _ in range(100):
            alive = [pid for pid in parent.workers if state(pid) not in ('', 'X')]
            if not alive:
                break
            time.sleep(0.1)
        self.expect(f'{name}: workers left or zombies: {alive}', not alive)
        left = os.listdir(os.path.join(folder, 'tmp'))
        self.expect(f'{name}: temporary files left: {left}', not left)
        died = os.path.join(folder, 'state/hloscope/died')
        kept = os.listdir(died) if os.path.isdir(died) else []
        self.expect(f'{name}: {len(kept)} modules kept', len(kept) <= 20 and all(k.endswith('.hlo.pb') for k in kept))
        # The first few make what is made once; afterwards nothing may grow.
        settled = min(20, len(parent.memory) // 4)
        early, late = parent.memory[settled:settled + 10], parent.memory[-10:]
        growth = (max(late) - max(early)) / 2**20 if early and late else 0
        self.expect(f'{name}: memory of the parent grew by {growth:.1f} MiB', growth < 8)
        first, last = max(parent.descriptors[:settled + 1]), max(parent.descriptors[settled:])
        self.expect(f'{name}: descriptors grew from {first} to {last}', last <= first + 8)
        return f'descriptors {first} at first, {last} later at most, memory of the parent {growth:+.1f} MiB'

    def kills(self, count):
        sample = os.path.join(self.options.samples, 'mlp_train_step')
        module = os.path.join(sample, 'module_0000.jit_mlp_train_step.before_optimizations.txt')
        with tempfile.TemporaryDirectory() as folder:
            arguments = ['--platform', self.options.platform, '--inputs', os.path.join(sample, 'inputs.npz'),
                         '--expect', os.path.join(sample, 'expected.npz')]
            calm = Parent(self.options.program, [*arguments, *[module] * 5], folder)
            once = max(result['timing']['run_us'][0] * 1e-6 for result in calm.replays()) + 0.004
            statuses, killed = collections.Counter(), 0
            while killed < count and not self.broken:
                batch = max(20, min(1000, count - killed))
                parent = Parent(self.options.program, [*arguments, *[module] * batch], folder)
                killer = Killer(parent, self.options.seed + sum(statuses.values()), 1.5 * once)
                killer.start()
                seen = collections.Counter()
                for result in parent.replays():
                    killer.due.release()
                    seen[result['status']] += 1
                    text = result['error'] or ''
                    self.expect(f'kills: a death says {text}', result['status'] != 'died' or 'SIGKILL' in text)
                killer.join(2)
                killed += killer.killed
                statuses += seen
                self.expect(f'kills: {sum(seen.values())} of {batch} results', sum(seen.values()) == batch)
                self.expect(f'kills: statuses {dict(seen)}', set(seen) <= {'equal', 'died'} and seen['died'] > 0)
                self.expect(f'kills: exit status {parent.process.returncode}', parent.process.returncode == 4)
                left = self.nothing_left('kills', parent, folder)
            print(f'{sum(statuses.values())} replays, {killed} workers killed at random moments: {statuses["equal"]} equal, '
                  f'{statuses["died"]} died, none wrong or lost; {left}')

    def bounded(self, name, count, arguments, module, says, fault=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'm.hlo')
            with open(path, 'w') as f:
                f.write(module)
            parent = Parent(self.options.program, [*arguments, '--platform', self.options.platform, *[path] * count], folder, fault)
            results = list(parent.replays())
            wrong = [r['error'] for r in results if r['status'] != 'died' or says not in (r['error'] or '')]
            self.expect(f'{name}: {len(results)} of {count} results', len(results) == count)
            self.expect(f'{name}: {wrong[:1]}', not wrong)
            slowest = max(parent.seconds[1:], default=0)
            left = self.nothing_left(name, parent, folder)
            print(f'{count} {name}: all say so, the slowest took {slowest:.2f} s; {left}')

    def run(self):
        o = self.options
        if o.kills:
            self.kills(o.kills)
        if o.caps:
            memory = ['--memory', '100M']
            self.bounded('memory limits met by a worker that never stops taking', o.caps - o.caps // 2, memory, GREEDY.replace('20000', '2'),
                         'memory limit', 'allocate@run')
            self.bounded('memory limits met by a module', o.caps // 2, memory, GREEDY, 'memory limit')
        if o.deadlines:
            deadline = ['--deadline', '0.2']
            self.bounded('deadlines met by a worker that hangs', o.deadlines - o.deadlines // 2, deadline, GREEDY.replace('20000', '2'),
                         'deadline', 'hang@run')
            self.bounded('deadlines met by a loop without end', o.deadlines // 2, deadline, ENDLESS, 'deadline')
        return 1 if self.broken else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('samples')
    parser.add_argument('--kills', type=int, default=1000)
    parser.add_argument('--caps', type=int, default=100)
    parser.add_argument('--deadlines', type=int, default=100)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--platform', default='interpreter')
    sys.exit(Chaos(parser.parse_args()).run())


if __name__ == '__main__':
    main()
