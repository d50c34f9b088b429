#!/usr/bin/env python3
"""What `hloscope info` advises about TensorFlow's graphs, and which files it names as the sources of a module.

  tensorflow_info_test.py HLOSCOPE TESTS/DUMP"""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE, DATA = os.path.abspath(sys.argv[1]), sys.argv[2]


def info(*arguments):
    done = subprocess.run([HLOSCOPE, 'info', *arguments], capture_output=True, text=True, timeout=120)
    return done.stdout


def graph(name):
    return info(os.path.join(DATA, 'tensorflow', name))


class Advice(unittest.TestCase):
    def test_what_xla_has_no_kernel_for(self):
        """jit_compile=True does not help where XLA has no kernel for one of the nodes."""
        self.assertIn('1 node that keeps its function out of clusters (jit_compile=True may compile it):\n', graph('called_resource'))
        for name in ('noinline', 'bad_if', 'bad_while'):
            with self.subTest(name):
                self.assertIn('1 node that keeps its function out of clusters:\n', graph(name))
        self.assertIn('4 nodes that keep their function out of clusters:\n', graph('lowered_cond'))

    def test_constants_alone(self):
        """No size of clusters brings in a constant that only nodes outside use."""
        text = graph('tensor_array')
        self.assertIn('could be compiled, but not alone: constants and identities do not count towards the size of a cluster (3): '
                      'TensorArrayReadV3/index', text)
        self.assertIn('      feeds only TensorArrayReadV3 (TensorArrayReadV3), which is outside\n', text)
        self.assertNotIn('--tf_xla_min_cluster_size', text)
        self.assertIn('      fix: TF_XLA_FLAGS=--tf_xla_min_cluster_size=1\n', graph('too_small'))


class Sources(FolderTest):
    def sources(self, *files):
        """(lines of the text, list of --json) for a module with an instruction of each file."""
        lines = [f'  x{k} = f32[4] {"negate(x" + str(k - 1) + ")" if k else "parameter(0)"}, '
                 f'metadata={{op_name="x{k}" source_file="{file}" source_line=3}}\n' for k, file in enumerate(files)]
        lines[-1] = lines[-1].replace('  x', '  ROOT x', 1)
        self.path('module_0001.jit_f.cpu_after_optimizations.txt', 'HloModule jit_f\nENTRY e {\n' + ''.join(lines) + '}\n')
        shown = [line.split('source: ', 1)[1] for line in info(self.folder).splitlines() if line.startswith('    source: ')]
        return shown, json.loads(info('--json', self.folder))['modules'][0]['source_files']

    def test_own_files(self):
        library, own = '/env/lib/python3.12/site-packages/jax/_src/core.py', '/home/user/train.py'
        self.assertEqual(self.sources(own, library), ([own], [library, own]))
        self.assertEqual(self.sources(library), ([library], [library]))

    def test_no_file(self):
        """TensorFlow writes a name of no file where it knows none."""
        self.assertEqual(self.sources('dummy_file_name'), ([], []))
        self.assertEqual(self.sources('dummy_file_name', 'train.py'), (['train.py'], ['train.py']))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
