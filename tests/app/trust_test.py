#!/usr/bin/env python3
"""What begins a run, what options mean, and what limits of the process do.

  trust_test.py HLOSCOPE SAMPLES"""
import json
import os
import resource
import signal
import subprocess
import sys
import unittest
import zipfile

from command_tests import FolderTest

HLOSCOPE, SAMPLES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TEXT = os.path.join(SAMPLES, 'mlp_train_step', 'module_0000.jit_mlp_train_step.before_optimizations.txt')
SQUARE = 'HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  ROOT y = f32[3] multiply(x, x)\n}\n'


def run(*arguments):
    done = subprocess.run([HLOSCOPE, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout, done.stderr


def contents(path):
    with open(path, 'rb') as file:
        return file.read()


def stop_child(process, *words):
    """Stops the child of `process` whose command line has the words, once it runs its program; its id."""
    while process.poll() is None:
        for task in os.listdir(f'/proc/{process.pid}/task'):
            try:
                with open(f'/proc/{process.pid}/task/{task}/children', encoding='ascii') as file:
                    children = file.read().split()
                for child in children:
                    with open(f'/proc/{child}/cmdline', 'rb') as file:
                        found = file.read().split(b'\0')
                    if all(word.encode() in found for word in words):
                        os.kill(int(child), signal.SIGSTOP)
                        return int(child)
            except OSError:
                pass
    return None


class Trust(FolderTest):
    def test_reduce_keeps_files_that_it_was_not_told_to_write(self):
        """The name of the reduced module's inputs is the tool's choice: no file, and no target of a link, is replaced."""
        module = self.path('m.hlo', 'HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] log(x)\n}\n')
        given = self.npy_inputs(('<f4', [2], [-1.0, -2.0]))
        kept, target = self.path('r.npz', 'mine'), self.path('victim', 'mine too')
        os.symlink(target, self.path('r-2.npz'))
        status, out, err = run('reduce', module, '-o', self.path('r.hlo'), *given, '--platform', 'interpreter', '--find', 'nan')
        self.assertEqual(status, 0, err)
        self.assertEqual((contents(kept), contents(target)), (b'mine', b'mine too'))
        self.assertIn(f'note: {kept} was there before and is kept; the inputs are in {self.path("r-3.npz")}', out)
        self.assertIn('--inputs ' + self.path('r-3.npz'), out)
        self.assertEqual(run('run', self.path('r.hlo'), '--inputs', self.path('r-3.npz'), '--platform', 'interpreter')[0], 0)

    def test_profile_runs_what_it_was_asked_to_run(self):
        """The name of a file or an option begins a run, never what is in the file."""
        for name in ('t.xplane.pb', 't.trace.json', 't.pftrace', 't.hloprof', 't.sqlite'):
            status, _, err = run('profile', self.path(name, SQUARE), '--platform', 'interpreter')
            self.assertEqual(status, 2, name)
            self.assertIn('has the name of a trace and is a module', err)
        for name in ('m', 'm.pb', 'm.json'):
            path = self.path(name, SQUARE)
            status, _, err = run('profile', path)
            self.assertEqual((status, '--platform PLATFORM runs it' in err), (2, True), err)
            self.assertEqual(run('profile', path, '--platform', 'interpreter')[0], 0, name)
        module = self.path('m.hlo', SQUARE)
        self.assertEqual(run('profile', module)[0], 0)
        self.assertIn('--module is for traces', run('profile', module, '--module', module)[2])
        trace = self.path('t.hloprof')
        self.assertEqual(run('profile', module, '-o', trace)[0], 0)
        for option in (['--repeat', '3'], ['--platform', 'cpu'], ['--seed', '1'], ['--recordings', '2']):
            status, _, err = run('profile', trace, *option)
            self.assertEqual((status, 'nothing is run' in err), (2, True), (option, err))

    def test_nothing_is_written_over_what_is_read(self):
        """Whatever it is called in the second place; nor are two results written into one file."""
        module, trace = self.path('m.hlo', SQUARE), self.path('t.trace.json', '{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"a"}]}')
        link, inputs = self.path('link.hlo'), self.path('in.npz')
        os.symlink(module, link)
        self.assertEqual(run('run', module, '--save_inputs', inputs)[0], 0)
        kept = {path: contents(path) for path in (module, trace, inputs)}
        both, again = self.path('both.npz'), os.path.join(self.folder, 'again', 'm.hlo')
        os.mkdir(os.path.dirname(again))
        with open(again, 'w', encoding='utf-8') as other:
            other.write(SQUARE)
        for arguments, said in (
                (['reduce', module, '-o', module, '--platform', 'cpu', '--find', 'nan'], f'-o {module}: that is an input'),
                (['reduce', module, '-o', link, '--platform', 'cpu', '--find', 'nan'], f'-o {link}: that is an input'),
                (['profile', trace, '-o', trace], f'-o {trace}: that is an input'),
                (['extract', module, 'y', '-o', os.path.join(self.folder, '.', 'm.hlo')], 'that is an input'),
                (['compile', module, '--emit', 'hlo', '-o', module], f'-o {module}: that is an input'),
                (['convert', module, module, '--to', 'hlo-elided'], f'OUT {module}: that is an input'),
                (['convert', module, '--to', 'hlo', '--out-dir', self.folder], 'that is an input'),
                (['convert', module, again, '--to', 'pb', '--out-dir', os.path.join(self.folder, 'out')],
                 'writes the same file'),
                (['run', module, '--inputs', inputs, '--outputs', inputs], f'--outputs {inputs}: that is an input'),
                (['run', module, '--output_literals_file', module], f'--output_literals_file {module}: that is an input'),
                (['run', module, '--save_inputs', both, '--outputs', both], f'--save_inputs writes the same file')):
            status, _, err = run(*arguments)
            self.assertEqual((status, said in err), (2, True), (arguments, err))
        self.assertEqual({path: contents(path) for path in kept}, kept)
        self.assertFalse(os.path.exists(both))

    def test_the_text_and_the_proto_of_a_stage_are_converted_once(self):
        """XLA writes both of each stage; two stages, or two files that the user named, still go into files of their own."""
        dump, out = self.path('dump'), self.path('out')
        os.mkdir(dump)
        for stage in ('before_optimizations', 'cpu_after_optimizations'):
            text = os.path.join(dump, f'module_0001.m.{stage}.txt')
            with open(text, 'w', encoding='utf-8') as file:
                file.write(SQUARE)
            self.assertEqual(run('convert', text, text.replace('.txt', '.hlo.pb'))[0], 0)
        self.assertEqual(run('convert', dump, '--to', 'hlo', '--out-dir', out), (0, '', ''))
        self.assertEqual(sorted(os.listdir(out)), ['module_0001.m.before_optimizations.hlo', 'module_0001.m.cpu_after_optimizations.hlo'])
        status, _, err = run('convert', text, text.replace('.txt', '.hlo.pb'), '--to', 'hlo', '--out-dir', out)
        self.assertEqual((status, 'writes the same file' in err), (2, True), err)

    def test_more_devices_than_the_limit_are_refused_at_once(self):
        """Before anything of that many is made, in memory that is far too small for it."""
        for header, instruction in (('replica_count=100000000', 'negate(p)'), ('num_partitions=100000000', 'negate(p)'),
                                    ('replica_count=2147483647, num_partitions=2147483647', 'negate(p)'),
                                    ('num_partitions=100000000', 'negate(p), sharding={devices=[100000000]<=[100000000]}')):
            module = self.path('many.hlo', f'HloModule m, {header}\nENTRY e {{\n  p = f32[100000000] parameter(0)\n  ROOT r = f32[100000000] {instruction}\n}}\n')
            for arguments in (['run', module, '--platform', 'interpreter'], ['run', module, '--platform', 'cpu'], ['extract', module, 'r', '-o', self.path('x.hlo')],
                              ['diverge', module, '--platform', 'cpu', '--reference_platform', 'interpreter'], ['bench', 'run', module, '--platform', 'cpu']):
                done = subprocess.run(['prlimit', '--as=2000000000', HLOSCOPE, *arguments], capture_output=True, text=True, timeout=100)
                self.assertEqual((done.returncode, 'exceed the limit devices of 4096' in done.stderr), (2, True), (header, arguments, done.stderr))
            self.assertEqual(run('bundle', 'create', module, '--plan', '-o', self.path('x.hlob'))[0], 0)

    def test_a_record_follows_no_link(self):
        dump, victim = self.path('dump'), self.path('victim', 'keep\n')
        os.mkdir(dump)
        os.symlink(victim, os.path.join(dump, 'hloscope-record.json'))
        status, out, err = run('record', '--dump', dump, '--', '/bin/true')
        self.assertIn(status, (0, 1, 2, 3), err)
        with open(victim, encoding='utf-8') as file:
            self.assertEqual(file.read(), 'keep\n')
        self.assertFalse(os.path.islink(os.path.join(dump, 'hloscope-record.json')))

    def test_an_option_of_another_action_is_refused(self):
        for option in (['--platform', 'cpu'], ['--against', 'cpu'], ['--threads', '1'], ['--seed', '1'], ['--deadline', '2'], ['--fill-elided', '1']):
            status, _, err = run('bench', 'parse', TEXT, *option)
            self.assertEqual((status, 'parse does not take it (it is an option of run)' in err), (2, True), (option, err))
        self.assertIn('--against-itself needs --against', run('bench', 'run', TEXT, '--against-itself')[2])
        self.assertIn('run: seed of the generated inputs', ' '.join(run('help', 'bench')[1].split()))
        for option in (['--python', 'x'], ['--debug_options_file', 'x'], ['--fill-elided', '1'], ['--xla_x=1']):
            status, _, err = run('compile', TEXT, '--emit', 'hlo', '-o', os.path.join(self.folder, 'o.hlo'), *option)
            self.assertEqual((status, 'need --with' in err), (2, True), (option, err))

    def test_an_option_of_another_kind_of_extraction_is_refused(self):
        out = self.path('k.hlo')
        status, _, err = run('extract', self.path('square.hlo', SQUARE), 'y', '-o', out, '--target', 'h100')
        self.assertEqual((status, 'compiles nothing for a device' in err), (2, True), err)
        for option in (['--strip-metadata'], ['--computation', 'e'], ['--depth', '1']):
            status, _, err = run('extract', self.path('square.hlo', SQUARE), 'y', '-o', out, '--platform', 'xla-gpu-sim', *option)
            self.assertEqual((status, option[0] + ': kernels of a simulated GPU' in err), (2, True), err)

    def test_a_reduction_whose_worker_is_killed(self):
        """What was killed once does not fail again; that is no bad input."""
        module = self.path('loop.hlo', '''HloModule loop
c { i = s32[] parameter(0) n = s32[] constant(500000) ROOT t = pred[] compare(i, n), direction=LT }
b { i = s32[] parameter(0) one = s32[] constant(1) ROOT n = s32[] add(i, one) }
ENTRY e { z = s32[] constant(0) ROOT w = s32[] while(z), condition=c, body=b }
''')
        process = subprocess.Popen([HLOSCOPE, 'reduce', module, '--platform', 'interpreter', '-o', self.path('small.hlo')],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        killed = False
        while process.poll() is None and not killed:
            with open(f'/proc/{process.pid}/task/{process.pid}/children', encoding='ascii') as file:
                children = file.read().split()
            for child in children:
                try:
                    with open(f'/proc/{child}/stat', encoding='utf-8') as file:
                        ticks = sum(int(field) for field in file.read().rsplit(')', 1)[1].split()[11:13])
                    if ticks >= 10:
                        os.kill(int(child), signal.SIGKILL)
                        killed = True
                except (FileNotFoundError, ProcessLookupError):
                    pass
        errors = process.communicate()[1]
        self.assertTrue(killed, errors)
        self.assertEqual((process.returncode, 'does not repeat' in errors), (4, True), errors)

    def test_limits_of_the_process(self):
        """Pictures need little memory; without threads there is a message and an exit status. window_test.py has those of OpenGL."""
        picture = os.path.join(self.folder, 'a.png')
        opening = [HLOSCOPE, 'open', TEXT, '--screenshot', picture, '--size', '320x320']
        space = (450 << 20, 450 << 20)
        done = subprocess.run(opening, capture_output=True, timeout=200, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, space))
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        if os.getuid() != 0:
            return
        for processes in (1, 2):
            for command in (opening, [HLOSCOPE, 'run', TEXT, '--platform', 'interpreter']):
                done = subprocess.run(command, capture_output=True, timeout=200, user=65534, cwd='/', env={**os.environ, 'HOME': '/'},
                                      preexec_fn=lambda n=processes: resource.setrlimit(resource.RLIMIT_NPROC, (n, n)))
                if done.returncode == 126 or b'Permission denied' in done.stderr:
                    self.skipTest('another user may not read the program')
                self.assertEqual(done.returncode, 2 if command is opening or processes == 1 else done.returncode, done.stderr)
                if command is opening or processes == 1:
                    self.assertRegex(done.stderr.decode(), 'cannot start .*thread.*ulimit -u')


class BundleActions(FolderTest):
    """Each action takes its own options; what it does not read is no option of it."""

    def create(self, *arguments):
        out = self.path('bug.hlob')
        code, text, errors = run('bundle', 'create', *arguments, '-o', out, '--json')
        self.assertEqual(code, 0, errors)
        return out, json.loads(text)

    def check(self, path, *options):
        code, text, _ = run('bundle', 'check', path, '--json', *options)
        return code, json.loads(text)

    def test_options_of_others_are_refused(self):
        made, _ = self.create(self.path('square.hlo', SQUARE), '--platform', 'cpu')
        of_create = (['--inputs', '/nonexistent'], ['--seed', '3'], ['--repeat', '2'], ['--iterations', '2'], ['--note', 'x'],
                     ['--values', 'all'], ['--text', 'all'], ['--no-source'], ['--expect', 'x.npz'], ['--abs_error_bound', '1'], ['--edge-values'],
                     ['--fallback', 'cpu'], ['--check', 'race'], ['--shuffle', '1'], ['--plan'], ['-o', 'x.hlob'], ['--infeed', 'x.npz'],
                     ['--skip-callbacks'], ['--input_format', 'hlo'], ['--isolate_instructions'], ['--autotune'], ['--bits'], ['--verdict', 'v.json'])
        for option in of_create:
            for action in ('check', 'open'):
                code, _, errors = run('bundle', action, made, *option)
                self.assertEqual(code, 2, (action, option))
                self.assertIn(f'{action} does not take it (it is an option of create)', errors)
        for action, option in (('open', ['--deadline', '3']), ('open', ['--platform', 'cpu']), ('open', ['--xla_x=true']),
                               ('create', ['--into', 'd']), ('check', ['--into', 'd'])):
            code, _, errors = run('bundle', action, made, *option)
            self.assertEqual((code, f'{action} does not take it' in errors), (2, True), (action, option, errors))
        # What replays do take.
        self.assertEqual(self.check(made, '--deadline', '30', '--memory', '4G', '--threads', '1', '--platform', 'interpreter')[0], 0)

    def test_the_deadline_is_that_of_the_user(self):
        endless = self.path('endless.hlo', '''HloModule endless
c { i = s32[] parameter(0) n = s32[] constant(2147483647) ROOT t = pred[] compare(i, n), direction=LT }
b { i = s32[] parameter(0) one = s32[] constant(1) ROOT n = s32[] add(i, one) }
ENTRY e { z = s32[] constant(0) ROOT w = s32[] while(z), condition=c, body=b }
''')
        made, _ = self.create(endless, '--platform', 'interpreter', '--deadline', '2')
        code, check = self.check(made, '--deadline', '1')
        self.assertIn('deadline of 1 s passed', check['verdict'])


    def changed(self, change):
        """A bundle whose manifest a stranger changed."""
        made, _ = self.create(self.path('square.hlo', SQUARE), '--platform', 'interpreter')
        with zipfile.ZipFile(made) as bundle:
            parts = {name: bundle.read(name) for name in bundle.namelist()}
        manifest = json.loads(parts['manifest.json'])
        change(manifest)
        parts['manifest.json'] = json.dumps(manifest).encode()
        path = self.path('changed.hlob')
        with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as bundle:
            for name, data in parts.items():
                info = zipfile.ZipInfo(name)
                info.create_system, info.external_attr = 3, 0o100644 << 16
                bundle.writestr(info, data, zipfile.ZIP_DEFLATED)
        return path

    def test_what_a_stranger_wrote_is_printed_in_part(self):
        many = {f'xla_flag_{k}': 'true' for k in range(20_000)}
        dumps = {f'xla_dump_{k}': 'true' for k in range(20_000)}
        for change, status, more in (
                (lambda m: m['request'].update(xla_flags=many), 3, 'and 19980 more'),
                (lambda m: m['request'].update(reference_flags=many), 3, 'and 19980 more'),
                (lambda m: m['request'].update(xla_flags=dumps), 0, 'and 19980 more'),
                (lambda m: m['request'].update(xla_flags={'xla_' + 'x' * 1_000_000: '1'}), 3, 'more bytes'),
                (lambda m: m['request'].update(platform='x' * 1_000_000), 3, 'more bytes'),
                (lambda m: m['recorded'].update(status='differs', failure={'kind': 'differs', 'classes': [], 'text': 'x' * 1_000_000}), None, 'more bytes')):
            path = self.changed(change)
            for command in (['bundle', 'check', path], ['bundle', 'check', path, '--json'], ['info', path]):
                code, out, errors = run(*command)
                self.assertLess(len(out) + len(errors), 200_000, (command[:2], out[:100]))
                if command[:2] == ['bundle', 'check']:
                    self.assertIn(more, out + errors, (out + errors)[:500])
                    if status is not None:
                        self.assertEqual(code, status, (out + errors)[:500])

    def test_nothing_is_left_of_what_cannot_be_unpacked(self):
        made, _ = self.create(self.path('square.hlo', SQUARE), '--platform', 'interpreter')
        with zipfile.ZipFile(made) as bundle:
            last = bundle.infolist()[-1]
        with open(made, 'rb') as file:
            data = bytearray(file.read())
        data[last.header_offset + 30 + len(last.filename) + last.compress_size // 2] ^= 0xFF
        broken, into = self.path('broken.hlob', ''), self.path('new')
        with open(broken, 'wb') as file:
            file.write(data)
        self.assertEqual(run('bundle', 'open', broken, '--into', into)[0], 2)
        self.assertFalse(os.path.exists(into))
        os.mkdir(into)
        self.assertEqual(run('bundle', 'open', broken, '--into', into)[0], 2)
        self.assertEqual(os.listdir(into), [])

    def test_a_replay_that_stands_still_ends_at_its_deadline(self):
        out = self.path('bug.hlob')
        command = [HLOSCOPE, 'bundle', 'create', self.path('square.hlo', SQUARE), '-o', out, '--json', '--deadline', '0.5']
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.assertIsNotNone(stop_child(process, 'bundle', 'check'))
            text, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(json.loads(text)['file'], out)
        with zipfile.ZipFile(out) as bundle:
            manifest = json.loads(bundle.read('manifest.json'))
        self.assertEqual(manifest['replayed'], 'cannot')
        self.assertIn('the replay did not end within', manifest['replay_verdict'])

    def test_the_replay_has_the_limits_of_the_command(self):
        """No bundle records them, and under others the replay would be refused."""
        deep = '(' * 600 + 'f32[]' + ')' * 600
        module = self.path('deep.hlo', f'HloModule m\nENTRY e {{\n x = {deep} parameter(0)\n ROOT y = {deep} copy(x)\n}}\n')
        _, made = self.create(module, '--platform', 'interpreter', '--limit', 'nesting=1000')
        self.assertEqual(made['replayed'], 'reproduced')

    def test_a_failure_of_an_instruction_alone(self):
        """The whole module agrees; the replay isolates its instructions too."""
        module = self.path('isolated.hlo', '''HloModule isolated
ENTRY e {
  x = f32[4096] parameter(0)
  a = f32[4096] cosine(x)
  zero = f32[4096] subtract(x, x)
  ROOT r = f32[4096] multiply(a, zero)
}
''')
        out = self.path('i.hlob')
        exact = [module, '--platform', 'cpu', '--reference_platform', 'interpreter', '--abs_error_bound', '0', '--rel_error_bound', '0',
                 '--isolate_instructions']
        code, text, errors = run('run', *exact, '--bundle', out, '--json')
        self.assertEqual(code, 1, errors)
        self.assertEqual(json.loads(text.splitlines()[-1])['bundle']['replayed'], 'reproduced')
        with zipfile.ZipFile(out) as bundle:
            manifest = json.loads(bundle.read('manifest.json'))
        self.assertTrue(manifest['request']['isolate_instructions'])
        self.assertIn('--isolate_instructions', manifest['options'])
        self.assertIn('a: result {} differs in', manifest['recorded']['failure']['text'])
        self.assertEqual(self.check(out)[1]['status'], 'reproduced')
        self.assertIn('--isolate_instructions', run('run', *exact)[1])
        self.assertEqual(self.create(*exact)[1]['replayed'], 'reproduced')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
