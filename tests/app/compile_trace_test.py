#!/usr/bin/env python3
"""`info --compile-time` of traces that were taken of compilations: compile_trace_test.py HLOSCOPE."""
import gzip
import json
import os
import random
import re
import subprocess
import sys
import unittest

import xspace
from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])
REAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'profiler', 'compilation.xplane.pb.gz')
US = 1_000_000  # picoseconds


class Compilation:
    """Random passes in pipelines in passes, as XLA:CPU or XLA:GPU writes them, with the microseconds that each takes by itself."""

    def __init__(self, seed, module, is_gpu, start):
        self.random, self.module, self.is_gpu = random.Random(seed), module, is_gpu
        self.now, self.events, self.own, self.late = start, [], {}, 0  # late: own of passes inside the backend
        whole = self.open()
        self.in_backend = False
        for k in range(self.random.randint(1, 4)):
            self.spend()
            self.pipeline(f'pipeline{k}', 0)
        backend, self.in_backend = self.open(), True
        self.spend()
        self.pipeline('late', 2)
        self.spend()
        self.backend = self.close(backend, 'XlaCompileBackend:#module=x#' if is_gpu else 'CpuCompiler::RunBackend')
        self.whole = self.close(whole, f'XlaCompile:#module={module},program_id=3#' if is_gpu else 'PjRtCpuClient::Compile')

    def open(self):
        self.events.append(None)
        return len(self.events) - 1, self.now

    def close(self, at, name):
        self.events[at[0]] = (name, at[1] * US, self.now * US)
        return self.now - at[1]

    def spend(self, owner=None, least=0):
        """Of a pass, or of none."""
        us = max(least, self.random.choice((0, 1, self.random.randint(0, 50))))
        self.now += us
        if owner is not None:
            self.own[owner] = self.own.get(owner, 0) + us
            self.late += us if self.in_backend else 0

    def pipeline(self, name, depth, owner=None):
        at = self.open()
        for k in range(self.random.randint(1, 5)):
            self.check(owner)
            self.run(f'pass{k}', depth)
        self.check(owner)
        self.close(at, f'XlaPassPipeline:#name={name},module={self.module}#' if self.is_gpu else f'{name} ({self.module})')

    def check(self, owner):
        at = self.open()
        self.spend(owner)
        self.close(at, 'RunInvariantCheckers')

    def run(self, name, depth):
        at = self.open()
        self.spend(name, least=1)
        if depth < 2 and self.random.random() < 0.3:
            self.pipeline(name, depth + 1, owner=name)
            self.spend(name)
        self.close(at, f'XlaPass:#name={name},module={self.module}#' if self.is_gpu else name)


def self_times(lane):
    """Of a real lane of XLA:CPU: by module, the picoseconds of each pass without those inside of it, a list for its runs."""
    out, open_, module = {}, [], None
    for name, start, end in lane:
        while open_ and open_[-1][2] <= start:
            open_.pop()
        pipeline = re.fullmatch(r'.+ \((\S+)\)', name)
        is_pass = open_ and open_[-1][1] == 'pipeline' and not pipeline and name != 'RunInvariantCheckers'
        if pipeline:
            module = pipeline[1]
        run = None
        if is_pass:
            around = [one[0] for one in open_ if one[1] == 'pass']
            run = [name, end - start]
            if around:
                around[-1][1] -= end - start
            out.setdefault(module, []).append(run)
        open_.append((run, 'pass' if is_pass else 'pipeline' if pipeline else 'other', end))
    return out


class CompileTrace(FolderTest):
    def times(self, data):
        path = os.path.join(self.folder, 't.xplane.pb')
        with open(path, 'wb') as file:
            file.write(data)
        done = subprocess.run([HLOSCOPE, 'info', '--json', '--compile-time', path], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def sums(self, module):
        """That what is told of a compilation sums to its span."""
        us = {one['pass']: round(1000 * one['ms']) for one in module['slowest']}
        self.assertEqual(sum(us.values()) + round(1000 * module['between_ms']), round(1000 * module['span_ms']))
        parts = module['passes_ms'] + module['autotuner_ms'] + module['backend_ms'] + module['rest_ms']
        self.assertAlmostEqual(parts, module['total_ms'], places=6)
        return us

    def test_planted(self):
        for seed in range(40):
            is_gpu = seed % 2 == 1
            first = Compilation(seed, 'jit_f', is_gpu, 5)
            second = Compilation(seed + 1000, 'jit_g', is_gpu, first.now + 7)  # on the same thread
            other = Compilation(seed + 2000, 'jit_h', is_gpu, 0)
            found = {m['module']: m for m in self.times(xspace.space([first.events + second.events, other.events]))['modules']}
            self.assertEqual(set(found), {'jit_f', 'jit_g', 'jit_h'})
            for name, planted in (('jit_f', first), ('jit_g', second), ('jit_h', other)):
                own = sum(planted.own.values())
                self.assertEqual(self.sums(found[name]), planted.own, (seed, name))
                self.assertEqual([round(1000 * found[name][key]) for key in ('total_ms', 'backend_ms', 'between_ms')],
                                 [planted.whole, planted.backend - planted.late, planted.whole - planted.backend - (own - planted.late)], (seed, name))

    def test_real(self):
        with gzip.open(REAL) as file:
            data = file.read()
        expected = {}
        for lane in xspace.lanes(data):
            expected |= self_times(lane)
        modules = {m['module']: m for m in self.times(data)['modules']}
        self.assertEqual(set(modules), {'jit_attend', 'jit_settle'})
        for name, module in modules.items():
            us = self.sums(module)
            by_pass = {}
            for run, picoseconds in expected[name]:
                by_pass[run] = by_pass.get(run, 0) + picoseconds // US
            self.assertEqual(us, by_pass)
            self.assertGreater(len(us), 80)
            self.assertEqual(sum(one['runs'] for one in module['slowest']), len(expected[name]))
            self.assertGreater(module['backend_ms'], module['passes_ms'])
            self.assertGreater(module['llvm_ms'], 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
