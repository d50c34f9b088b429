#!/usr/bin/env python3
"""The steps of a profile, from whatever marks them: profile_steps_test.py HLOSCOPE."""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])


def process(pid, name, threads):
    rows = [{'ph': 'M', 'pid': pid, 'name': 'process_name', 'args': {'name': name}}]
    return rows + [{'ph': 'M', 'pid': pid, 'tid': tid, 'name': 'thread_name', 'args': {'name': thread}} for tid, thread in threads.items()]


def event(pid, tid, name, start, duration, **arguments):
    return {'ph': 'X', 'pid': pid, 'tid': tid, 'name': name, 'ts': start, 'dur': duration, 'args': arguments}


class Steps(FolderTest):
    def steps(self, events):
        path = os.path.join(self.folder, 't.trace.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'traceEvents': events}, file)
        found = []
        for more in (['--json'], []):
            done = subprocess.run([HLOSCOPE, 'profile', path, *more], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            found.append(done.stdout)
        self.longest = json.loads(found[0])['longest_step']
        return [(s['name'], s['step_num'], s['begin_ns'], s['duration_ns'], s['by']) for s in json.loads(found[0])['steps']], found[1]

    def test_each_source(self):
        host = process(1, '/host:CPU', {1: 'python', 2: 'worker'})
        work = [event(1, 1, 'read', 0, 5, group_id=0), event(1, 2, 'dot', 10, 20, group_id=0), event(1, 1, 'read', 40, 5, group_id=1),
                event(1, 2, 'dot', 50, 10, group_id=1), event(1, 1, 'idle', 70, 5)]
        found, text = self.steps(host + work)
        self.assertEqual(found, [('step', 0, 0, 30000, 'group_id'), ('step', 1, 40000, 20000, 'group_id')])
        self.assertIn('2 steps: median 30', text)
        self.assertIn('(step 0), by group_id of the events of threads', text)
        # The lines that profilers derive for devices say it themselves: of two devices a step is from the first start to the last end.
        lines = []
        for pid in (2, 3):
            lines += process(pid, f'/device:TPU:{pid - 2}', {1: 'Steps', 2: 'XLA Ops'})
            lines += [event(pid, 1, '7', 100 + pid, 10, group_id=0), event(pid, 1, '8', 120, 30 + pid, group_id=1)]
        found, text = self.steps(host + work + lines)
        self.assertEqual(found, [('step', 7, 102000, 11000, 'steps line'), ('step', 8, 120000, 33000, 'steps line')])
        self.assertIn('by the line Steps of the devices', text)
        # What the program itself marked comes first.
        marked = [event(1, 1, 'train', 0, 30, step_num=5, group_id=0), event(1, 1, 'train', 35, 25, step_num=6, group_id=1)]
        found, text = self.steps(host + work + lines + marked)
        self.assertEqual(found, [('train', 5, 0, 30000, 'step_num'), ('train', 6, 35000, 25000, 'step_num')])
        self.assertIn('2 steps of train: median 30', text)

    def test_what_the_longest_has_more(self):
        """Time of the events themselves, against the median step; not of what is around or inside of them, nor of the mark."""
        work = process(1, '/host:CPU', {1: 'python', 2: 'worker'})
        for step, (start, length) in enumerate(((0, 20), (100, 20), (200, 90), (300, 24))):
            work += [event(1, 1, 'train', start, length, step_num=step), event(1, 1, 'loop', start + 1, length - 2), event(1, 2, 'dot', start + 3, 10)]
            if step == 2:
                work += [event(1, 1, 'write', start + 20, 60), event(1, 1, 'sleep', start + 22, 50), event(1, 2, 'dot', start + 20, 15)]
        _, text = self.steps(work)
        self.assertEqual((self.longest['name'], self.longest['step_num']), ('train', 2))
        self.assertEqual([(one['event'], one['self_ns'], one['median_self_ns']) for one in self.longest['more']],
                         [('sleep', 50000, 0), ('dot', 25000, 10000), ('write', 10000, 0)])
        self.assertIn('(step 2: 50.0 us more in sleep, 15.0 us more in dot, 10.0 us more in write)', text)

    def test_none(self):
        found, text = self.steps(process(1, '/host:CPU', {1: 'python'}) + [event(1, 1, 'read', 0, 5)])
        self.assertEqual((found, self.longest), ([], None))
        self.assertNotIn('step', text)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
