#!/usr/bin/env python3
"""Opening strangers' files runs nothing: system calls of the commands that only look, on a folder of hostile files.

  opening_test.py HLOSCOPE SAMPLES

No process is started, no socket made, nothing opened for writing outside the cache. Needs strace; skipped by name without. The
hostile files are made here; those of HLOSCOPE_CORPUS/hostile (or ../shared/corpus/hostile beside the checkout) are looked at as well."""
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HLOSCOPE, SAMPLES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TRACED = 'execve,execveat,fork,vfork,clone,clone3,socket,connect,bind,open,openat,openat2,creat,rename,renameat,renameat2,unlink,' \
         'unlinkat,mkdir,mkdirat,link,linkat,symlink,symlinkat,truncate,chmod,fchmodat,memfd_create'
ADD = 'HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n}\n'


def hostile_files():
    """Name and bytes: what no tool should run, follow, or die of."""
    nested = 'HloModule m\nENTRY e { ROOT p = ' + '(' * 5000 + 'f32[]' + ')' * 5000 + ' parameter(0) }\n'
    huge = 'HloModule m\nENTRY e { ROOT p = f32[9223372036854775807,9223372036854775807] parameter(0) }\n'
    calls = 'HloModule m\nENTRY e { x = f32[] parameter(0)\n ROOT c = f32[] custom-call(x), custom_call_target="system", ' \
            'backend_config="touch /tmp/hloscope-was-here" }\n'
    cycle = 'HloModule m\nf { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f }\nENTRY e { x = f32[] parameter(0) ROOT c = f32[] call(x), to_apply=f }\n'
    return {
        'good.hlo': ADD.encode(),
        'nested.hlo': nested.encode(),
        'huge.hlo': huge.encode(),
        'calls.hlo': calls.encode(),
        'cycle.hlo': cycle.encode(),
        'elided.hlo': b'HloModule m\nENTRY e { ROOT c = f32[1000000000] constant({...}) }\n',
        'cut.hlo': ADD.encode()[:40],
        'escape.hlo': b'HloModule \x1b]0;owned\x07m\nENTRY e { ROOT c = f32[] constant(1) }\n',
        'zeros.hlo.pb': bytes(4096),
        'lengths.hlo.pb': bytes([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]) * 50,
        'groups.hlo.pb': bytes([0x0b]) * 100000,
        'bomb.hlo.gz': gzip.compress(bytes(64 << 20)),
        'cut.hlo.gz': gzip.compress(ADD.encode())[:20],
        'module_0001.m.before_optimizations.txt': ADD.encode(),
        'module_0001.m.ptx': b'.version 8.0\n.target sm_90\n',
        'module_0001.m.o': b'\x7fELF' + bytes(60),
        'module_0001.m.debug_options': b'xla_dump_to: "/tmp/hloscope-was-here"\nxla_gpu_ptx_file: "/etc/passwd"\n',
        'plugin.so': b'\x7fELF' + bytes(60),
        'empty': b'',
        'name with \n line.hlo': ADD.encode(),
        '-starts-with-dash.hlo': ADD.encode(),
    }


def make_hostile(folder):
    for name, data in hostile_files().items():
        with open(os.path.join(folder, name), 'wb') as f:
            f.write(data)
    os.symlink('loop.hlo', os.path.join(folder, 'loop.hlo'))
    os.symlink('/etc/passwd', os.path.join(folder, 'module_0002.m.before_optimizations.txt'))
    os.mkdir(os.path.join(folder, 'folder.hlo'))
    os.mkfifo(os.path.join(folder, 'pipe.hlo'))


def corpus():
    root = os.environ.get('HLOSCOPE_CORPUS') or os.path.join(os.path.dirname(__file__), '../../../shared/corpus')
    folder = os.path.join(root, 'hostile')
    return os.path.abspath(folder) if os.path.isdir(folder) else None


def forbidden(line, cache):
    """Why a traced call should not have been made, or None."""
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
    inside = path is not None and path.group(1).startswith((cache, '/dev/null', '/proc/'))
    if name.startswith('open'):
        return None if inside or not re.search(r'O_WRONLY|O_RDWR|O_CREAT', rest) else 'opened for writing'
    return None if inside else f'{name} was called'


class Opening(unittest.TestCase):
    def trace(self, arguments, cache):
        """The forbidden calls of one command, its first execve aside."""
        environment = dict(os.environ, XDG_CACHE_HOME=cache, XDG_STATE_HOME=cache)
        with tempfile.NamedTemporaryFile('r') as log:
            done = subprocess.run(['strace', '-f', '-qq', '-e', 'trace=' + TRACED, '-o', log.name, HLOSCOPE, *arguments],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, timeout=300)
            self.assertIn(done.returncode, (0, 1, 2, 3), f'{arguments[:2]}: {done.stderr[-500:]}')
            lines = log.read().split('\n')
        self.assertTrue(lines and 'execve' in lines[0], 'strace shows nothing')
        return [f'{why}: {line[:200]}' for line in lines[1:] for why in [forbidden(line, cache)] if why]

    def look_at(self, folder):
        files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        plain = [f for f in files if os.path.isfile(f)]
        commands = [['info', folder], ['find', 'add', folder], ['verify', *files], ['verify', '--strict', '--json', *plain]]
        for f in files[:: max(1, len(files) // 25)]:
            commands += [['info', f], ['show', f], ['compare', f, files[0]]]
        with tempfile.TemporaryDirectory() as cache:
            for command in commands:
                self.assertEqual(self.trace(command, cache), [], command[:3])
            out = os.path.join(cache, 'out')
            os.mkdir(out)
            self.assertEqual(self.trace(['convert', *plain, '--to', 'hlo', '--out-dir', out], cache), [])
        return len(commands) + 1

    def test_hostile_files_of_our_own(self):
        with tempfile.TemporaryDirectory() as folder:
            make_hostile(folder)
            print(self.look_at(folder), 'commands on a folder of hostile files: nothing started, written or connected')

    def test_hostile_corpus(self):
        folder = corpus()
        if folder is None:
            self.skipTest('corpus not present')
        print(self.look_at(folder), 'commands on the hostile corpus: nothing started, written or connected')

    def test_the_trace_can_fail(self):
        with tempfile.TemporaryDirectory() as cache:
            module = os.path.join(cache, 'm.hlo')
            with open(module, 'w') as f:
                f.write(ADD)
            found = self.trace(['run', module], cache)
            self.assertTrue(any('a process was started' in line for line in found), found)


if __name__ == '__main__':
    if shutil.which('strace') is None:
        print('opening_test: strace is not installed: skipped')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
