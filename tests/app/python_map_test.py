#!/usr/bin/env python3
"""hloscope.map over Dask, MPI and Ray, with workers killed in the middle. python_map_test.py HLOSCOPE SAMPLES"""
import json
import os
import signal
import subprocess
import sys
import unittest

from command_tests import FolderTest
from python_tests import has, need, own_python, processes_with, use

need([own_python()], 'distributed')
use(sys.argv[1])
import hloscope  # noqa: E402

COUNT = 1000
MPIEXEC = os.path.join(os.path.dirname(sys.executable), 'mpiexec')


def modules():
    return [f'HloModule m{k}\nENTRY e {{\n  ROOT x = f32[{k + 1}] parameter(0)\n}}\n' for k in range(COUNT)]


# Prints an object for each module; the modules it takes from the journal have 0 attempts.
MPI_PROGRAM = '''
import json, os, sys
import hloscope
from mpi4py.futures import MPIPoolExecutor

if __name__ == "__main__":
    modules = ["HloModule m%d\\nENTRY e {\\n  ROOT x = f32[%d] parameter(0)\\n}\\n" % (k, k + 1) for k in range(int(sys.argv[2]))]
    with MPIPoolExecutor() as executor:
        for item in hloscope.map(modules, "verify", executor=executor, journal=sys.argv[1]):
            print(json.dumps([item.index, item.attempts, item.result.lines[0]["instructions"] if item.result else str(item.error)]), flush=True)
'''


class Dask(FolderTest):
    def test_a_worker_is_killed(self):
        from distributed import Client, LocalCluster
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
            items = []
            for item in hloscope.map(modules(), 'verify', executor=client.get_executor()):
                items.append(item)
                if len(items) == COUNT // 2:
                    os.kill(pids[0], signal.SIGKILL)
        self.assertEqual(sorted(item.index for item in items), list(range(COUNT)))
        self.assertEqual([item.error for item in items if item.error is not None], [])
        self.assertEqual({item.result.lines[0]['instructions'] for item in items}, {1})


class Mpi(FolderTest):
    def start(self, ranks, journal, count=COUNT):
        script = self.path('script.py', MPI_PROGRAM)
        command = [MPIEXEC, '-n', str(ranks), sys.executable, '-m', 'mpi4py.futures', script, journal, str(count)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, env=dict(os.environ, HLOSCOPE_TEST_MARK=self.folder),
                                start_new_session=True)

    def test_ranks_and_a_kill(self):
        """A rank that dies ends the whole program of MPI: the journal has what was finished, and the next program does the rest."""
        if not os.path.exists(MPIEXEC) or not has(sys.executable, 'mpi4py'):
            self.skipTest('no MPI')
        for ranks in (2, 4):
            journal = self.path(f'journal{ranks}')
            first = self.start(ranks, journal)
            seen = [json.loads(first.stdout.readline()) for _ in range(COUNT // 4)]
            workers = [pid for pid in processes_with(f'HLOSCOPE_TEST_MARK={self.folder}') if self.rank(pid) not in (None, '0')]
            os.kill(workers[0], signal.SIGKILL)
            rest, _ = first.communicate(timeout=300)
            self.assertNotEqual(first.returncode, 0)
            seen += [json.loads(line) for line in rest.splitlines() if line.startswith('[') and line.endswith(']')]
            self.assertLess(len(seen), COUNT)
            second = self.start(ranks, journal)
            out, _ = second.communicate(timeout=600)
            self.assertEqual(second.returncode, 0)
            items = [json.loads(line) for line in out.splitlines()]
            self.assertEqual(sorted(item[0] for item in items), list(range(COUNT)))
            self.assertEqual({item[2] for item in items}, {1})
            finished = {item[0] for item in items if item[1] == 0}
            self.assertGreaterEqual(finished, {item[0] for item in seen})

    @staticmethod
    def rank(pid):
        """The rank of a process of Python; None of any other."""
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                if b'mpi4py.futures' not in file.read():
                    return None
            with open(f'/proc/{pid}/environ', 'rb') as file:
                words = dict(word.split('=', 1) for word in file.read().decode(errors='replace').split('\0') if '=' in word)
        except OSError:
            return None
        return words.get('PMI_RANK', words.get('OMPI_COMM_WORLD_RANK'))


class Ray(FolderTest):
    def test_workers_are_killed(self):
        """Both workers of a local Ray, in the middle of 100 modules."""
        if not has(sys.executable, 'ray'):
            self.skipTest('no Ray')
        code = f'''
import json, os, signal, time
import hloscope, ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
modules = {modules()[:100]!r}

@ray.remote
def worker():
    time.sleep(0.2)  # so that the other one takes the other task
    return os.getpid()

pids = set(ray.get([worker.remote(), worker.remote()]))
for count, item in enumerate(hloscope.map(modules, "verify", executor=hloscope.RayExecutor())):
    print(json.dumps([item.index, str(item.error or ""), item.result.lines[0]["instructions"]]), flush=True)
    if count == 50:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
bad, = hloscope.map(["absent.hlo"], "verify", executor=hloscope.RayExecutor())
print(json.dumps(type(bad.error).__name__))
'''
        environment = dict(os.environ, RAY_AUTH_MODE='disabled', RAY_TMPDIR=self.folder, HOME=self.folder)
        done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=600, env=environment)
        *items, bad = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(('[', '"'))]
        self.assertEqual(sorted(items), [[k, '', 1] for k in range(100)], done.stderr)
        self.assertEqual(bad, 'BadInput')


class Overhead(FolderTest):
    def test_programs_that_are_started(self):
        """One for the table of options, and a resident one for each thread; or one for each module."""
        log = self.path('calls')
        program = self.path('program', f'#!/bin/sh\necho "$1" >> {log}\nexec {os.environ["HLOSCOPE_PROGRAM"]} "$@"\n')
        os.chmod(program, 0o755)
        code = f'import hloscope; print(len(list(hloscope.map(["HloModule m\\nENTRY e {{ ROOT x = f32[1] parameter(0) }}"] * 50, "verify"))))'
        for resident, kinds in (('1', {'serve', 'help'}), ('0', {'verify', 'help'})):
            environment = dict(os.environ, HLOSCOPE_PROGRAM=program, HLOSCOPE_RESIDENT=resident)
            done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, env=environment)
            self.assertEqual(done.stdout, '50\n', done.stderr)
            with open(log, encoding='utf-8') as file:
                calls = file.read().split()
            os.remove(log)
            self.assertEqual(set(calls), kinds)
            self.assertLessEqual(calls.count('serve'), os.cpu_count())
            self.assertIn(calls.count('verify'), (0, 50))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=1)
