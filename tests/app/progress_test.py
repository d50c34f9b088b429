#!/usr/bin/env python3
"""What a terminal shows of work that takes long, and that Ctrl+C ends it: progress_test.py HLOSCOPE"""
import os
import pty
import select
import signal
import subprocess
import sys
import time
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])
MODULE = b'HloModule m\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n'
WIPE = b'\r\x1b[K'
ENOUGH_S = 240


class Terminal:
    """A command on a terminal of its own; `given` has what its standard input is to read, which it else has of the terminal too.
    What it writes to `apart` (1 or 2) goes to a pipe instead."""

    def __init__(self, *arguments, given=False, apart=None):
        ends = os.pipe() if given else (None, None)
        out = os.pipe() if apart else (None, None)
        self.child, self.screen = pty.fork()
        if self.child == 0:
            if given:
                os.dup2(ends[0], 0)
                os.close(ends[1])
            if apart:
                os.dup2(out[1], apart)
            os.environ['HLOSCOPE_CACHE_DIR'] = os.environ['HOME'] = '/nonexistent'
            os.execv(HLOSCOPE, [HLOSCOPE, *arguments])
        self.input, self.apart, self.shown = ends[1], out[0], b''
        for end in (ends[0], out[1]):
            if end is not None:
                os.close(end)

    def read(self):
        """What came next; nothing: it has ended."""
        try:
            more = os.read(self.screen, 1 << 16)
        except OSError:
            more = b''
        self.shown += more
        return more

    def wait_for(self, text):
        until = time.monotonic() + ENOUGH_S
        while text not in self.shown:
            ready, _, _ = select.select([self.screen], [], [], max(0, until - time.monotonic()))
            if not ready or not self.read():
                raise AssertionError(f'{text} was not shown: {self.shown}')

    def end(self):
        """The exit status, and what the pipe has."""
        if self.input is not None:
            os.close(self.input)
        apart = b''
        if self.apart is not None:
            with open(self.apart, 'rb') as pipe:
                apart = pipe.read()
        while self.read():
            pass
        os.close(self.screen)
        child, self.child = self.child, None
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), apart

    def kill(self):
        if self.child is not None:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)


class Progress(FolderTest):
    def terminal(self, *arguments, **options):
        command = Terminal(*arguments, **options)
        self.addCleanup(command.kill)
        return command

    def test_long_work_is_shown_and_wiped(self):
        command = self.terminal('verify', '-', given=True)
        command.wait_for(b'reading -, 1 s')
        os.write(command.input, MODULE)
        status, _ = command.end()
        self.assertEqual(status, 0)
        # Nothing of it stays: before the answer comes the line is wiped.
        self.assertNotIn(b'reading', command.shown[command.shown.rindex(WIPE):])
        self.assertIn(b'ok', command.shown)

    def test_answers_that_go_elsewhere_have_none_of_it(self):
        command = self.terminal('verify', '-', given=True, apart=1)
        command.wait_for(b'reading -')
        os.write(command.input, MODULE)
        status, out = command.end()
        self.assertEqual(status, 0)
        self.assertNotIn(b'reading', out)
        self.assertNotIn(b'\x1b', out)
        self.assertTrue(command.shown.endswith(WIPE), command.shown)

    def test_programs_are_shown_none(self):
        for arguments, apart in ((('verify', '-', '--json'), None), (('verify', '-'), 2)):
            with self.subTest(arguments):
                command = self.terminal(*arguments, given=True, apart=apart)
                time.sleep(2.5)  # longer than until a line would come
                os.write(command.input, MODULE)
                status, err = command.end()
                self.assertEqual((status, err), (0, b''))
                self.assertNotIn(b'reading', command.shown)
                self.assertNotIn(WIPE, command.shown)

    def test_short_work_is_not_shown(self):
        command = self.terminal('verify', self.path('m.hlo', MODULE.decode()))
        self.assertEqual(command.end()[0], 0)
        self.assertNotIn(WIPE, command.shown)

    def module(self, megabytes):
        line = ''.join(f'  x{{0}}{k} = f32[2] negate(p), metadata={{{{op_name="jit(step)/layer{k}/attention/softmax"}}}}\n' for k in range(1000))
        text = ['HloModule m\nENTRY e {\n  p = f32[2] parameter(0)\n']
        while sum(map(len, text)) < megabytes << 20:
            text.append(line.format(f'{len(text)}_'))
        return self.path('large.hlo', ''.join(text) + '  ROOT r = f32[2] negate(p)\n}\n')

    def test_interrupted_bundles_end_and_leave_nothing(self):
        module = self.module(40)
        for plan in ((), ('--plan',)):
            with self.subTest(plan):
                before = set(os.listdir(self.folder))
                command = self.terminal('bundle', 'create', module, '--platform', 'interpreter',
                                        '-o', os.path.join(self.folder, 'x.hlob'), *plan)
                command.wait_for(b'redacting')
                os.write(command.screen, b'\x03')
                status, _ = command.end()
                self.assertNotIn(status, (0, -signal.SIGINT), command.shown)
                self.assertIn(b'stopped; no bundle was made', command.shown)
                self.assertEqual(set(os.listdir(self.folder)), before)

    def test_an_interrupted_run_of_a_bundle_ends(self):
        endless = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'endless.hlo')
        out = os.path.join(self.folder, 'x.hlob')
        child = subprocess.Popen([HLOSCOPE, 'bundle', 'create', endless, '--platform', 'interpreter', '-o', out],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=ENOUGH_S)
        self.assertNotIn(child.returncode, (0, -signal.SIGINT))
        self.assertIn(b'stopped; no bundle was made', said)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
