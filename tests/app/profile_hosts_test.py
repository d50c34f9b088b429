#!/usr/bin/env python3
"""A trace of several hosts: profile_hosts_test.py HLOSCOPE SAMPLES."""
import gzip
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE, SAMPLES = map(os.path.abspath, sys.argv[1:3])
TRACE = os.path.join(SAMPLES, 'conv_net', 'conv_net.xplane.pb.gz')


class Hosts(FolderTest):
    def profile(self, *arguments):
        done = subprocess.run([HLOSCOPE, 'profile', '--json', *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_one_file(self):
        """The planes of two hosts that ran the same program: its instructions count twice, and are attributed all the same."""
        with gzip.open(TRACE) as file:
            one = file.read()
        # Field 4 of an XSpace are the names of its hosts; messages of one type are merged where their bytes follow each other.
        path = os.path.join(self.folder, 'two.xplane.pb')
        with open(path, 'wb') as file:
            for host in (b'host-a', b'host-b'):
                file.write(one + b'\x22' + bytes([len(host)]) + host)
        [single], [both] = self.profile(TRACE), self.profile(path)
        self.assertEqual((single['attributed'], both['attributed'], both['hosts']), (1, 1, ['host-a', 'host-b']))
        counts = [{row['instruction']: row['count'] for row in report['instructions']} for report in (single, both)]
        self.assertTrue(counts[0])
        self.assertEqual(counts[1], {name: 2 * count for name, count in counts[0].items()})

    def test_one_file_for_each_host(self):
        folder = os.path.join(self.folder, 'log', 'plugins', 'profile', '2026_01_01_00_00_00')
        os.makedirs(folder)
        with gzip.open(TRACE) as file:
            one = file.read()
        for host in ('a', 'b'):
            with open(os.path.join(folder, host + '.xplane.pb'), 'wb') as file:
                file.write(one)
        reports = self.profile(os.path.join(self.folder, 'log'))
        self.assertEqual([os.path.basename(report['file']) for report in reports], ['a.xplane.pb', 'b.xplane.pb'])
        self.assertEqual([report['attributed'] for report in reports], [1, 1])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
