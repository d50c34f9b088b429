#!/usr/bin/env python3
"""HLO as people paste and keep it, and commands of other tools pasted with it, after public reports: pasted_modules_test.py HLOSCOPE."""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])

ADD = 'HloModule add_it\n\nENTRY main {\n  a = f32[4]{0} parameter(0)\n  ROOT s = f32[4]{0} add(a, a)\n}\n'
TWICE = ADD.replace('add_it', 'twice').replace('add(', 'multiply(')
BROKEN = ADD.replace('add_it', 'broken').replace('add(', 'ad(')
MARK = '\ufeff'  # of Windows' editors


class Pasted(FolderTest):
    def run_it(self, *arguments, text=None, **environment):
        given = {'stdin': subprocess.DEVNULL} if text is None else {'input': text.encode()}
        done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, cwd=self.folder, timeout=60, check=False,
                              env={**{k: v for k, v in os.environ.items() if k != 'XLA_FLAGS'}, **environment}, **given)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def text_proto(self):
        self.run_it('convert', self.path('add.hlo', ADD), self.path('add.pbtxt'))
        with open(self.path('add.pbtxt'), encoding='utf-8') as file:
            return file.read()

    def test_text_protos_behind_marks(self):
        """protobuf's mark and the byte order mark, in files, packed ones and dumps; all are the module without them."""
        proto = self.text_proto()
        one_line = ' '.join(proto.split())
        os.makedirs(self.path('dump'))
        for name, text in (('debug.pbtxt', 'goo.gle/debugstr \t\n' + proto), ('line.pbtxt', 'goo.gle/debugonly  ' + one_line),
                           ('order.pbtxt', MARK + proto), ('both.pbtxt', MARK + '\r\ngoo.gle/debugproto\r\n' + proto.replace('\n', '\r\n')),
                           ('dump/module_0001.add_it.before_optimizations.pbtxt', 'goo.gle/debugproto\n' + proto)):
            path = self.path(name, text)
            with gzip.open(path + '.gz', 'wt', encoding='utf-8') as packed:
                packed.write(text)
            for file in (path, path + '.gz'):
                status, out, err = self.run_it('compare', file, self.path('add.hlo'))
                self.assertEqual(status, 0, (file, out, err))
            os.remove(path + '.gz')
        self.assertIn('add_it', self.run_it('run', self.path('dump'))[1])
        status, out, err = self.run_it('verify', self.path('wrong.pbtxt', MARK + 'goo.gle/debugproto\n\nname: "m"\ncomputations {\n  name: 3\n}\n'))
        self.assertEqual(status, 2)
        self.assertIn('wrong.pbtxt:5:', out + err)

    def test_texts_behind_a_byte_order_mark(self):
        for name, text, modules in (('one.hlo', MARK + ADD, ['one.hlo']), ('two.hlo', MARK + ADD + '// -----\n' + TWICE, ['two.hlo:add_it', 'two.hlo:twice']),
                                    ('issue.md', MARK + 'I ran\n```\n' + ADD + '```\nand\n```hlo\n' + TWICE + '```\n', ['issue.md:add_it', 'issue.md:twice'])):
            status, out, err = self.run_it('verify', self.path(name, text))
            self.assertEqual((status, out.splitlines()), (0, [f'{self.path(module)}: ok, 2 instructions' for module in modules]), err)

    def test_several_modules_on_standard_input(self):
        for text in (ADD + '// -----\n' + BROKEN + '// -----  \n' + TWICE, 'Two of three:\n' + ''.join(f'> {line}\n' for line in (ADD + '\n' + TWICE).splitlines())):
            has_broken = BROKEN in text
            status, out, err = self.run_it('verify', '-', text=text)
            self.assertEqual(status, 2 if has_broken else 0, out + err)
            self.assertIn('-:add_it: ok', out)
            self.assertIn('-:twice: ok', out)
            if has_broken:
                self.assertIn('-:12:22: `ad` is not an opcode', out + err)
            for command in ('run', 'show', 'info', 'verify'):
                status, out, err = self.run_it(command, '-:twice', text=text)
                self.assertEqual(status, 0, (command, out, err))
            [found] = [json.loads(line) for line in self.run_it('compare', '-:add_it', '-:twice', '--json', text=text)[1].splitlines()]
            self.assertEqual([one['what'] for one in found['changed']], ['opcode add became multiply'])
            self.assertIn('name one: -:add_it', self.run_it('show', '-', text=text)[2])
            self.assertIn('module', self.run_it('show', '-:absent', text=text)[2])
        self.assertIn('twice', self.run_it('info', '-', text=TWICE)[1])
        self.assertEqual(self.run_it('lint', '-', text=ADD + TWICE)[0], 0)

    def test_standard_input_that_is_too_long_is_not_read_on(self):
        """What comes behind the limit, later, is a module, and not the one that was given."""
        for path in ('-', '-:add_it'):
            with subprocess.Popen([HLOSCOPE, 'verify', '--limit', 'input-file=100000', path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, cwd=self.folder, bufsize=0) as started:
                try:
                    started.stdin.write(b' ' * 100001)
                    time.sleep(0.5)
                    started.stdin.write(ADD.encode())
                except BrokenPipeError:
                    pass  # it ended at the limit
                out, err = (text.decode() for text in started.communicate(timeout=60))
            self.assertEqual(started.returncode, 2, out + err)
            self.assertIn('larger than the limit input-file', out + err)
            self.assertNotIn('ok', out)

    def test_modules_with_windows_line_ends(self):
        path = self.path('all.hlo', (ADD + '// -----\n' + BROKEN).replace('\n', '\r\n'))
        status, out, err = self.run_it('verify', path)
        self.assertEqual(status, 2)
        self.assertIn('all.hlo:add_it: ok', out)
        self.assertIn('all.hlo:12:22: `ad` is not an opcode', out + err)

    def test_an_archive_of_a_report(self):
        """A folder in a folder, an empty file, notes, and a module under each name that reports use."""
        os.makedirs(self.path('case/inner'))
        for name, text in (('inner/286f.ir.txt', ADD), ('inner/x.hlo', TWICE), ('inner/empty.txt', ''), ('README', 'see inner\n')):
            self.path('case/' + name, text)
        with tarfile.open(self.path('case.tgz'), 'w:gz') as archive:
            archive.add(self.path('case'), 'case')
        shutil.make_archive(self.path('case'), 'zip', self.path('case'))
        for path in ('case', 'case.tgz', 'case.zip'):
            status, out, err = self.run_it('run', path, '--platform=Interpreter', '--reference_platform=', '--input_format=hlo')
            self.assertEqual(status, 0, out + err)
            self.assertEqual(out.count('platform Interpreter is interpreter here'), 2, out)
            self.assertIn('module add_it on interpreter', out)
            self.assertIn('module twice on interpreter', out)

    def test_flags_of_the_environment_are_told(self):
        """Where they count, and that they do not, in each command that runs something."""
        self.path('m.hlo', ADD)
        commands = (['run', 'm.hlo'], ['profile', 'm.hlo'], ['reduce', 'm.hlo', '-o', 'r.hlo'], ['bundle', 'create', 'm.hlo', '-o', 'b.hlob'],
                    ['diverge', 'm.hlo', '--reference_platform', 'interpreter'], ['compile', 'm.hlo', '--emit', 'hlo', '-o', 'o.hlo'],
                    ['hunt', '--programs', '1', '--platform', 'cpu', '-o', 'found'], ['bundle', 'check', 'b.hlob'],
                    ['extract', 'm.hlo', 's', '-o', 'e.hlo'], ['extract', 'm.hlo', 's', '--platform', 'cpu', '-o', 'e.hlo'],
                    ['bench', 'run', 'm.hlo', '--repeats', '1'], ['bench', 'run', 'm.hlo', '--repeats', '1', '--against', 'interpreter'])
        for command in commands:
            _, out, err = self.run_it(*command, XLA_FLAGS='--xla_cpu_enable_fast_math=true')
            self.assertRegex(out + err, 'XLA_FLAGS of the environment (has no effect on|is not used)', command)
            shutil.rmtree(self.path('found'), ignore_errors=True)
            _, out, err = self.run_it(*command)
            self.assertNotIn('XLA_FLAGS', out + err, command)
        self.path('flags', '--xla_a=1\n--xla_b=2\n')
        for flags, words in ((self.path('flags'), 'no effect on cpu'), (self.path('absent'), 'names the file ' + self.path('absent') + ', which cannot be read')):
            self.assertIn(words, self.run_it('run', 'm.hlo', XLA_FLAGS=flags)[1])
        # What is no flag is named and left out, and nothing ends for it.
        out = ''.join(self.run_it('run', 'm.hlo', '--platform', 'xla-cpu', XLA_FLAGS='- --xla_force_host_platform_device_count=4')[1:])
        self.assertIn('XLA_FLAGS of the environment: - --xla_force_host_platform_device_count=4 left out', out)

    def test_names_of_other_tools(self):
        for name, ours in (('run_hlo_module', 'run'), ('hlo-opt', 'compile'), ('hlo_translate', 'convert'), ('isolate_hlo', 'extract')):
            status, _, err = self.run_it(name, '--platform=CUDA', 'm.hlo')
            self.assertEqual(status, 2)
            self.assertIn(f'`hloscope help {ours}`', err)
        for flag in ('--flatten_control_flow=true', '--force_fake_data'):
            status, out, err = self.run_it('run', '--platform=Interpreter', flag, self.path('m.hlo', ADD))
            self.assertEqual((status, out), (2, ''))
            self.assertIn(f'unknown option `{flag.split("=")[0]}`', err)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
