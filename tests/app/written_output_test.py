#!/usr/bin/env python3
"""What commands say of the files that they write, and of those that they cannot: written_output_test.py HLOSCOPE."""
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])


def run(*arguments):
    done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


class WrittenOutput(FolderTest):
    def test_an_unknown_output_option_names_the_right_one(self):
        small = self.path('small.hlo', 'HloModule m\nENTRY e {\n  ROOT a = f32[4] parameter(0)\n}\n')
        for words, ways in ((['record', '-o', 'd', '--', 'true'], 'what it writes goes to --dump DIR'),
                            (['run', small, '--output=x.npz'], 'what it writes goes to --outputs '),
                            (['convert', small, '-o', 'x.hlo.pb'], 'what it writes goes to the second FILE or --out-dir DIR'),
                            (['find', '-o', 'x', 'SUBTRACT', small], 'it writes to standard output')):
            status, _, error = run(*words)
            self.assertEqual(status, 2, words)
            self.assertIn(ways, error, words)

    def test_convert_says_what_becomes_of_elided_constants(self):
        path = self.path('elided.hlo', 'HloModule m\nENTRY e {\n  ROOT a = f32[4] constant({...})\n}\n')
        for out, kept in (('a.hlo', 'the text has `{...}`, too'), ('a.hlo.pb', 'the proto has none either')):
            status, _, err = run('convert', path, os.path.join(self.folder, out))
            self.assertEqual(status, 0)
            self.assertIn(f'1 constant is elided: the values are not in this file, so {kept}', err)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
