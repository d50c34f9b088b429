#!/usr/bin/env python3
"""Arrays of two sides are paired by the names that number them: named_values_test.py HLOSCOPE."""
import json
import os
import struct
import subprocess
import sys
import unittest

from command_tests import FolderTest, npy, write_npz

HLOSCOPE = os.path.abspath(sys.argv[1])


def array(*values):
    return ('<f4', (len(values),), struct.pack(f'<{len(values)}f', *values))


class NamedValues(FolderTest):
    def side(self, name, arrays):
        """A folder of .npy where the name has no ending, else an archive."""
        path = self.path(name)
        if name.endswith('.npz'):
            write_npz(path, arrays)
        elif name.endswith('.npy'):
            with open(path, 'wb') as file:
                file.write(npy(*next(iter(arrays.values()))))
        else:
            os.makedirs(path)
            for key, value in arrays.items():
                with open(os.path.join(path, key + '.npy'), 'wb') as file:
                    file.write(npy(*value))
        return path

    def compare(self, a, b):
        done = subprocess.run([HLOSCOPE, 'compare', a, b, '--json'], capture_output=True, text=True, check=False)
        return done.returncode, json.loads(done.stdout)

    def test_conventions(self):
        values = [array(1, 2), array(3, 4, 5), array(6)]
        forms = {'output_{}': 'folder', 'out{}': 'plain', 'arr_{}': 'numpy'}
        sides = []
        for form, name in forms.items():
            arrays = {form.format(k): value for k, value in enumerate(values)}
            sides += [self.side(name, arrays), self.side(name + '.npz', arrays)]
        for a in sides:
            for b in sides:
                status, found = self.compare(a, b)
                self.assertEqual((status, found['status'], len(found['outputs'])), (0, 'equal', 3), (a, b))
                self.assertEqual((found['added'], found['removed']), ([], []))
        # The numbers count, not the order of the names.
        other = self.side('other.npz', {f'arr_{k}': value for k, value in ((2, array(6)), (0, array(1, 2)), (1, array(3, 4, 9)))})
        status, found = self.compare(sides[0], other)
        self.assertEqual((status, [(o['name'], o['name_b'], o['mismatched']) for o in found['outputs']]),
                         (1, [('output_0', 'arr_0', 0), ('output_1', 'arr_1', 1), ('output_2', 'arr_2', 0)]))
        text = subprocess.run([HLOSCOPE, 'compare', sides[0], other], capture_output=True, text=True, check=False).stdout
        self.assertIn('output_1 and arr_1 ', text)

    def test_inputs_and_results_are_not_each_other(self):
        status, found = self.compare(self.side('in.npz', {'in0': array(1), 'in1': array(2)}),
                                     self.side('out.npz', {'out0': array(1), 'out1': array(2)}))
        self.assertEqual((status, found['outputs'], found['removed']), (1, [], ['in0', 'in1']))
        status, found = self.compare(self.path('in.npz'), self.side('folder', {'input_0': array(1), 'input_1': array(2)}))
        self.assertEqual((status, found['status']), (0, 'equal'))
        status, found = self.compare(self.side('device.npz', {'in0@0': array(1), 'in0@1': array(2)}),
                                     self.side('device_too.npz', {'arr_0@1': array(2), 'arr_0@0': array(1)}))
        self.assertEqual((status, found['status'], len(found['outputs'])), (0, 'equal', 2))

    def test_names_come_first(self):
        status, found = self.compare(self.side('a.npz', {'out0': array(1), 'output_0': array(2)}),
                                     self.side('b.npz', {'output_0': array(2), 'arr_0': array(1)}))
        self.assertEqual((status, found['status']), (0, 'equal'))
        self.assertEqual({(o['name'], o['name_b']) for o in found['outputs']}, {('out0', 'arr_0'), ('output_0', 'output_0')})

    def test_one_array_on_each_side(self):
        status, found = self.compare(self.side('value.npy', {'': array(1, 2)}), self.side('result.npz', {'loss': array(1, 2)}))
        self.assertEqual((status, found['status'], found['outputs'][0]['name_b']), (0, 'equal', 'loss'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
