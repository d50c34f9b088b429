#!/usr/bin/env python3
"""Opening the viewer runs nothing and writes nothing beside the dump: its system calls, and the libraries it maps.

  opening_test.py HLOSCOPE VIEWER_TEST SAMPLES

`open --screenshot` of every screen, and every screen and view of the viewer without a display, both on a folder of hostile files and
on a sample. Needs strace; exit status 77 without."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HLOSCOPE, VIEWER_TEST, SAMPLES = (os.path.abspath(path) for path in sys.argv[1:4])
SCREENS = ('home', 'graph', 'passes', 'divergence', 'kernels', 'memory')
TRACED = 'execve,execveat,fork,vfork,clone,clone3,socket,connect,bind,open,openat,openat2,creat,rename,renameat,renameat2,unlink,' \
         'unlinkat,mkdir,mkdirat,link,linkat,symlink,symlinkat,truncate,chmod,fchmodat,mmap'
# Pictures need no window system and no OpenGL.
FOREIGN = re.compile(r'libE?GL|libX|libxcb|libgallium|libLLVM|libcuda|libnv|libcu(blas|dnn|fft|solver)|libnccl|pjrt|xla_cpu|xla_cuda|jaxlib|libtensorflow|libtorch')
ADD = 'HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n}\n'


def make_dump(folder):
    """Files that no viewer should run, follow, load, or write to."""
    calls = 'HloModule m\nENTRY e { x = f32[] parameter(0)\n ROOT c = f32[] custom-call(x), custom_call_target="system", ' \
            'metadata={source_file="/etc/passwd" source_line=1}, backend_config="touch /tmp/hloscope-was-here" }\n'
    files = {
        'module_0001.m.before_optimizations.txt': ADD.encode(),
        'module_0001.m.cpu_after_optimizations.txt': ADD.encode(),
        'module_0001.m.ptx': b'.version 8.0\n.target sm_90\n.visible .entry y()\n{\n}\n',
        'module_0001.m.obj-file.o': b'\x7fELF' + bytes(60),
        'module_0001.m.debug_options': b'xla_dump_to: "/tmp/hloscope-was-here"\nxla_gpu_ptx_file: "/etc/passwd"\n',
        'module_0002.calls.before_optimizations.txt': calls.encode(),
        'pjrt_plugin_xla_cpu.so': b'\x7fELF' + bytes(60),
        'broken.xplane.pb': bytes(range(256)) * 20,
        'empty': b'',
    }
    for name, data in files.items():
        with open(os.path.join(folder, name), 'wb') as f:
            f.write(data)
    os.symlink('/etc/passwd', os.path.join(folder, 'module_0003.m.before_optimizations.txt'))
    os.mkfifo(os.path.join(folder, 'pipe.hlo'))


def contents(folder):
    """Every entry below a folder, with what would change if it were touched."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            status = os.lstat(os.path.join(root, name))
            found[os.path.join(root, name)] = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return found


def forbidden(line, own):
    """Why a traced call should not have been made, or None; `own`: folders that may be written to."""
    call = re.match(r'(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)', line)
    if not call:
        return None
    name, rest = call.groups()
    if name in ('clone', 'clone3', 'fork', 'vfork'):
        return None if 'CLONE_THREAD' in rest else 'a process was started'
    if name in ('execve', 'execveat'):
        return 'a program was run'
    if name in ('socket', 'connect', 'bind'):
        return 'a socket was made'
    path = re.search(r'"((?:[^"\\]|\\.)*)"', rest)
    inside = path is not None and path.group(1).startswith((*own, '/dev/null', '/dev/dri', '/proc/self'))
    if name == 'mmap':
        return None  # see mapped()
    if name.startswith('open'):
        return None if inside or not re.search(r'O_WRONLY|O_RDWR|O_CREAT', rest) else 'opened for writing'
    return None if inside or ' = -1 ' in rest else f'{name} was called'


def mapped(lines):
    """The files whose code was mapped."""
    found = [re.search(r'mmap\(.*PROT_EXEC.*<([^>]+)>, ', line) for line in lines]
    return sorted({match.group(1) for match in found if match})


class Opening(unittest.TestCase):
    def setUp(self):
        self.own = tempfile.mkdtemp(prefix='hloscope_opening_')
        self.dump = os.path.join(self.own, 'dump')
        os.mkdir(self.dump)
        make_dump(self.dump)
        self.state = os.path.join(self.own, 'state')

    def tearDown(self):
        shutil.rmtree(self.own)

    def trace(self, command, **variables):
        """The calls of one command, its first execve aside."""
        environment = dict(os.environ, XDG_CACHE_HOME=self.state, XDG_STATE_HOME=self.state, TEST_TMPDIR=self.state, TMPDIR=self.state,
                           HOME=self.state, **variables)
        environment.pop('GTEST_OUTPUT', None)  # a report of the test's own is no file of the viewer
        os.makedirs(self.state, exist_ok=True)
        log = os.path.join(self.own, 'log')
        done = subprocess.run(['strace', '-f', '-qq', '-y', '-e', 'trace=' + TRACED, '-o', log, *command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, timeout=300)
        with open(log, errors='replace') as f:
            lines = f.read().split('\n')
        self.assertTrue(lines and 'execve' in lines[0], 'strace shows nothing')
        return lines[1:], done

    def hold(self, lines, folders):
        """Nothing forbidden was called, and no library was opened that an opened dump must not need."""
        found = [f'{why}: {line[:200]}' for line in lines for why in [forbidden(line, folders)] if why]
        self.assertEqual(found, [])
        code = mapped(lines)
        self.assertTrue(any('libc.so' in path for path in code), code)
        foreign = [path for path in code if FOREIGN.search(path) or path.startswith(self.dump)]
        self.assertEqual(foreign, [])

    def test_pictures_of_every_screen(self):
        picture = os.path.join(self.state, 'out.png')
        for dump in (self.dump, SAMPLES + '/conv_net'):
            before = contents(dump)
            for screen in SCREENS if dump == self.dump else ('kernels',):
                lines, done = self.trace([HLOSCOPE, 'open', dump, '--screenshot', picture, '--screen', screen, '--size', '640x400'])
                self.assertEqual(done.returncode, 0, done.stdout[-500:])
                self.hold(lines, (self.state,))
            self.assertEqual(contents(dump), before)

    def test_every_view_without_a_display(self):
        before = contents(self.dump)
        lines, done = self.trace([VIEWER_TEST, '--gtest_filter=ViewerTest.EveryScreenOfADump'], HLOSCOPE_VIEWER_DUMP=self.dump)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        self.hold(lines, (self.state,))
        self.assertEqual(contents(self.dump), before)

    def test_the_trace_can_fail(self):
        lines, _ = self.trace([HLOSCOPE, 'run', SAMPLES + '/mlp_train_step'])
        self.assertTrue(any(forbidden(line, (self.state,)) == 'a process was started' for line in lines))


if __name__ == '__main__':
    if shutil.which('strace') is None:
        print('opening_test: strace is not installed: skipped')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
