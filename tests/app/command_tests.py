"""What tests of the program share: a folder of their own, platforms that can be used here, and files of NumPy."""
import json
import os
import re
import struct
import subprocess
import tempfile
import unittest
import zipfile


# XLA adds the beginnings up before it clamps them: of i = 12 and j = 3 it takes the wrong elements.
NESTED_SLICES = '''HloModule nested_slices
ENTRY e {
  x = f32[16] iota(), iota_dimension=0
  y = f32[16] add(x, x)
  i = s32[] parameter(0)
  j = s32[] parameter(1)
  a = f32[8] dynamic-slice(y, i), dynamic_slice_sizes={8}
  ROOT b = f32[2] dynamic-slice(a, j), dynamic_slice_sizes={2}
}
'''


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, text=None):
        """A path in the folder of this test; with a text a file is written there."""
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
        return path

    def npy_inputs(self, *arrays):
        """Options that give a .npy file of each (type, shape, values), as ('<f4', [2], [1, 2])."""
        options = []
        for k, (kind, shape, values) in enumerate(arrays):
            options += ['--inputs', self.path(f'{k}.npy')]
            with open(options[-1], 'wb') as file:
                file.write(npy(kind, tuple(shape), struct.pack(f'<{len(values)}{kind[1]}', *values)))
        return options


def dump_without_launches(samples, folder, blocks=None):
    """A dump whose thunk sequence lists no kernel, as that of XLA before 2025 where all of them are in a loop; the LLVM IR has the
    number of blocks where it is given. Returns the module of the last stage."""
    sample, index = os.path.join(samples, 'softmax_passes_a100'), 'i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()'
    for name in os.listdir(sample):
        if re.search(r'jit_softmax\.\d{4}\.', name):
            continue  # a pass
        with open(os.path.join(sample, name), 'rb') as file:
            data = file.read()
        if name.endswith('.thunk_sequence.txt'):
            data = b'kWhile \t\n'
        if name.endswith('.ll') and blocks is not None:
            data = data.replace(f'tail call {index}'.encode(), f'tail call range(i32 0, {blocks}) {index}'.encode())
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(data)
    return os.path.join(folder, 'module_0000.jit_softmax.sm_8.0_gpu_after_optimizations.txt')


def doctor(hloscope):
    """What `doctor` found, an object a finding."""
    done = subprocess.run([hloscope, 'doctor', '--json'], capture_output=True, text=True, check=True, timeout=300)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ready_platforms(hloscope):
    """The platforms whose plugin can be used here."""
    return {f['subject'] for f in doctor(hloscope) if f['section'] == 'plugins' and f['state'] == 'ready'}


def jaxlib_pythons(hloscope):
    """Interpreters with a jaxlib: those of HLOSCOPE_TEST_JAXLIB, separated by colons, and those that doctor lists."""
    named = [path for path in os.environ.get('HLOSCOPE_TEST_JAXLIB', '').split(':') if path]
    return named + [f['message'].rsplit(': ', 1)[1] for f in doctor(hloscope) if f['state'] == 'jaxlib-ready']


def plugin_of(hloscope, platform):
    """Where doctor finds the platform's plugin; None if it does not."""
    for row in doctor(hloscope):
        found = re.search(r': (/.*\.so)$', row['message'])
        if row['section'] == 'plugins' and row['subject'] == platform and found:
            return found[1]
    return None


def npy(descr, shape, data):
    """The bytes of a .npy file: npy('<f4', (2,), struct.pack('<2f', 1, 2))."""
    header = repr({'descr': descr, 'fortran_order': False, 'shape': shape}).encode()
    header += b' ' * (63 - (len(header) + 10) % 64) + b'\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header + data


def write_npz(path, arrays):
    """A .npz file of arrays by name, each the arguments of npy."""
    with zipfile.ZipFile(path, 'w') as archive:
        for name, array in arrays.items():
            archive.writestr(name + '.npy', npy(*array))
