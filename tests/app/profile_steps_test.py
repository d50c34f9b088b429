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
        # XLA's trace.json has every argument as text.
        texts = [event(1, 1, 'train', 0, 30, step_num='5'), event(1, 1, 'train', 35, 25, step_num='6'), event(1, 1, 'train', 70, 5, step_num='last')]
        self.assertEqual(self.steps(host + work + lines + texts)[0], found)
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

    def more(self):
        return [(one['event'], one['self_ns'], one['median_self_ns']) for one in self.longest['more']]

    def test_what_devices_repeat_counts_once(self):
        """The line of operations has the time of the streams once more; without streams it is what was measured."""
        for lines in ({1: 'Stream #13', 2: 'XLA Ops'}, {1: 'Stream #13'}, {2: 'XLA Ops'}, {1: 'Stream #13', 2: 'XLA Ops', 3: 'Stream #14'}):
            with self.subTest(lines):
                work = process(1, '/host:CPU', {1: 'python'}) + process(2, '/device:GPU:0', lines)
                for step in range(5):
                    longer = 2000 if step == 3 else 0
                    work += [event(1, 1, 'train', 20000 * step, 10000 + longer, step_num=step)]
                    work += [event(2, line, 'fusion', 20000 * step + 100, 1000 + longer) for line in lines if line < 3]
                _, text = self.steps(work)
                self.assertEqual(self.more(), [('fusion', 3000000, 1000000)])
                self.assertIn('2.00 ms more in fusion', text)

    def test_what_outlasts_the_step(self):
        """Of an event that goes on after its step, the part inside counts; what exceeds the difference of the steps is no cause of it."""
        for begin, more in ((10, []), (105, [('write', 15000, 0)])):
            work = process(1, '/host:CPU', {1: 'python', 2: 'writer'})
            for step in range(5):
                work += [event(1, 1, 'train', 200 * step, 120 if step == 2 else 100, step_num=step)]
            _, text = self.steps([*work, event(1, 2, 'write', 400 + begin, 900000)])
            self.assertEqual((self.longest['step_num'], self.more()), (2, more))
            self.assertEqual('15.0 us more in write' in text, bool(more))
            self.assertNotIn('ms more', text)

    def test_steps_as_long_as_the_median(self):
        work = process(1, '/host:CPU', {1: 'python', 2: 'writer'}) + [event(1, 2, 'write', 10, 50)]
        _, text = self.steps(work + [event(1, 1, 'train', 200 * step, 100, step_num=step) for step in range(4)])
        self.assertEqual(self.more(), [])
        self.assertNotIn('more in', text)

    def test_events_that_overlap(self):
        """What lies inside of several counts once less: in the one that began last."""
        work = process(1, '/host:CPU', {1: 'python', 2: 'worker'})
        for step in range(3):
            work += [event(1, 1, 'train', 200 * step, 120 if step == 1 else 20, step_num=step)]
        self.steps([*work, event(1, 2, 'a', 210, 30), event(1, 2, 'b', 220, 40), event(1, 2, 'c', 222, 15)])
        self.assertEqual(self.more(), [('a', 30000, 0), ('b', 25000, 0), ('c', 15000, 0)])

    def test_none(self):
        found, text = self.steps(process(1, '/host:CPU', {1: 'python'}) + [event(1, 1, 'read', 0, 5)])
        self.assertEqual((found, self.longest), ([], None))
        self.assertNotIn('step', text)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
