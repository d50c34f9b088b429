"""What tests of the program share: a folder of their own, platforms that can be used here, and files of NumPy."""
import json
import os
import struct
import subprocess
import tempfile
import unittest
import zipfile


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


def doctor(hloscope):
    """What `doctor` found, an object a finding."""
    done = subprocess.run([hloscope, 'doctor', '--json'], capture_output=True, text=True, check=True, timeout=300)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ready_platforms(hloscope):
    """The platforms whose plugin can be used here."""
    return {f['subject'] for f in doctor(hloscope) if f['section'] == 'plugins' and f['state'] == 'ready'}


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
