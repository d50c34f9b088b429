#!/usr/bin/env python3
"""The bundles of samples/faults: one for each fault that fault_bundles.py lists, whole, small and without paths of a machine; where the
plugin is installed, each is reproduced.

  fault_bundles_test.py HLOSCOPE SAMPLES"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / 'app')]
from command_tests import ready_platforms  # noqa: E402
from fault_bundles import FAULTS, module_of  # noqa: E402

HLOSCOPE = os.path.abspath(sys.argv[1])
FOLDER = pathlib.Path(sys.argv[2]).resolve() / 'faults'
HAS_XLA = 'xla-cpu' in ready_platforms(HLOSCOPE)
MOST_BYTES = 30 << 10
PATH = re.compile(rb'/(?:home|root|tmp|work|usr|opt|var)/')


def hloscope(*arguments):
    ran = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=300)
    return ran.returncode, ran.stdout, ran.stderr


class FaultBundles(unittest.TestCase):
    def test_each_fault_has_one(self):
        self.assertEqual({f.name + '.hlob' for f in FAULTS}, {p.name for p in FOLDER.glob('*.hlob')})
        table = (FOLDER / 'README.md').read_text()
        for fault in FAULTS:
            size = (FOLDER / (fault.name + '.hlob')).stat().st_size
            self.assertLessEqual(size, MOST_BYTES)
            self.assertIn(f'| {fault.heading} | `{fault.name}.hlob` | {size} |', table)

    def test_each_is_whole(self):
        for fault in FAULTS:
            with self.subTest(fault=fault.name), zipfile.ZipFile(FOLDER / (fault.name + '.hlob')) as bundle:
                names = set(bundle.namelist())
                self.assertLessEqual({'manifest.json', 'module.hlo', 'verdict.json', 'report.html', 'report.md', 'run.json'}, names)
                text, page = bundle.read('module.hlo').decode(), module_of(fault.heading)
                self.assertEqual(text.count(' = '), page.count(' = '))
                if fault.operands:
                    self.assertIn('inputs.npz', names)
                self.assertIn(fault.heading, bundle.read('report.html').decode())
                self.assertIn('verdict', json.loads(bundle.read('verdict.json')))
                for name in names:
                    self.assertIsNone(PATH.search(bundle.read(name)), name)

    def test_each_can_be_unpacked(self):
        for fault in FAULTS:
            with self.subTest(fault=fault.name), tempfile.TemporaryDirectory() as folder:
                into = os.path.join(folder, 'into')
                status, _, errors = hloscope('bundle', 'open', str(FOLDER / (fault.name + '.hlob')), '--into', into)
                self.assertEqual(status, 0, errors)
                status, _, errors = hloscope('verify', os.path.join(into, 'module.hlo'))
                self.assertEqual(status, 0, errors)

    @unittest.skipUnless(HAS_XLA, 'no XLA CPU plugin')
    def test_each_is_reproduced(self):
        for fault in FAULTS:
            with self.subTest(fault=fault.name):
                status, line, errors = hloscope('bundle', 'check', str(FOLDER / (fault.name + '.hlob')), '--json')
                answer = json.loads(line)
                if fault.damages:
                    self.assertIn(answer['status'], ('reproduced', 'not_reproduced'), errors)
                else:
                    self.assertEqual((status, answer['status']), (0, 'reproduced'), answer)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
