#!/usr/bin/env python3
"""What the commands that only read say: find, show, info, compare, profile, ops, and extract's text.

  reading_test.py HLOSCOPE SAMPLES"""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

HLOSCOPE, SAMPLES = sys.argv[1], sys.argv[2]
CONV = os.path.join(SAMPLES, 'conv_net')
MLP = os.path.join(SAMPLES, 'mlp_train_step')

FRAMES = """HloModule m

FileNames
1 "a.py"
2 "b.py"

FunctionNames
1 "f"
2 "g"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=1 end_column=2}
2 {file_name_id=2 function_name_id=2 line=5 end_line=5 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=1}


ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = f32[4] negate(x), metadata={op_name="f" stack_frame_id=2}
}
"""

TWO_REDUCERS = """HloModule m
sum_a {{
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] {0}(p, q)
}}
sum_b {{
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] {1}(p, q)
}}
ENTRY e {{
  x = f32[4] parameter(0)
  z = f32[] constant(0)
  a = f32[] reduce(x, z), dimensions={{0}}, to_apply={2}
  b = f32[] reduce(x, z), dimensions={{0}}, to_apply={3}
  ROOT t = (f32[], f32[]) tuple(a, b)
}}
"""

BEFORE = """HloModule jit_f
f {
  p = f32[4] parameter(0)
  ROOT n = f32[4] negate(p)
}
ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] call(x), to_apply=f
  ROOT r = f32[4] add(a, a)
}
"""


def run(*arguments):
    p = subprocess.run([HLOSCOPE, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return p.returncode, p.stdout.decode('utf-8'), p.stderr.decode('utf-8')


def records(*arguments):
    return [json.loads(line) for line in run(*arguments, '--json')[1].splitlines()]


class Reading(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return path

    def dump(self):
        """A dump of two modules: the first with a pass that changes the entry and one that changes nothing."""
        after = BEFORE.replace('add(a, a)', 'multiply(a, a)')
        for name, text in (('before_optimizations', BEFORE), ('0001.simplify.after_one.before_two', after),
                           ('0002.simplify.after_two.before_pipeline-end', after), ('cpu_after_optimizations', after)):
            self.file(f'dump/module_0001.jit_f.{name}.txt', text)
        self.file('dump/module_0002.jit_g.before_optimizations.txt', BEFORE.replace('jit_f', 'jit_g'))
        return os.path.join(self.folder, 'dump')

    def test_stack_frames_have_the_numbers_of_the_file(self):
        path = self.file('m.hlo', FRAMES)
        self.assertIn('stack_frame_id=2', records('find', 'negate', path)[0]['text'])
        self.assertIn('stack_frame_id=2', run('info', path, '--select', 'r')[1])
        self.assertIn('stack_frame_id=2', run('show', path, '--around', 'r', '--format', 'hlo-elided')[1])
        # XLA renumbers what it prints as a whole.
        self.assertIn('stack_frame_id=1', run('show', path, '--format', 'hlo-elided')[1])

    def test_find_lists_files_counts_and_stages(self):
        dump = self.dump()
        self.assertEqual(len(records('find', 'MULTIPLY', dump)), 0)
        self.assertEqual(len(records('find', '-i', 'MULTIPLY', dump)), 3)
        status, out, _ = run('find', '-l', 'multiply', dump)
        self.assertEqual((status, len(out.splitlines())), (0, 3))
        self.assertTrue(all(os.path.isfile(line) for line in out.splitlines()), out)
        counts = run('find', '-c', 'f32', dump, '--stage', 'before_optimizations')[1].splitlines()
        self.assertEqual([line.rsplit(':', 1)[1] for line in counts], ['5', '5'])
        self.assertEqual([r['matches'] for r in records('find', '-c', 'multiply', dump, '--stage', '0001')], [1])
        self.assertEqual([r['stage'] for r in records('find', 'multiply', dump, '--stage', '0001')], ['0001.simplify.after_one.before_two'])
        self.assertEqual(run('find', 'x', dump, '--stage', 'no_such')[0], 2)

    def test_find_says_where_there_is_nothing_to_search(self):
        elf = self.file('objects/a.o', b'\x7fELF' + bytes(60))
        os.mkdir(os.path.join(self.folder, 'empty'))
        for name in ('empty', 'objects'):
            folder = os.path.join(self.folder, name)
            status, out, err = run('find', 'add', folder)
            self.assertEqual((status, out), (2, ''))
            self.assertEqual(err, f'{folder}: nothing to search in this folder (`hloscope info` shows what it contains)\n')
            self.assertEqual(records('find', 'add', folder)[0]['status'], 'error')
            # What there is elsewhere is searched all the same.
            status, out, err = run('find', '-l', 'multiply', folder, self.dump())
            self.assertEqual((status, len(out.splitlines())), (2, 3), err)
        status, _, err = run('find', 'add', elf)
        self.assertEqual(status, 2)
        self.assertIn('not an HLO module: this is an ELF object or CUDA binary', err)
        self.assertEqual(run('find', 'add', self.file('a.txt', 'nothing\n'))[0], 1)

    def test_text_that_is_no_hlo_is_called_what_it_is(self):
        for name, text, what in (('a.py', 'import jax\nprint(jax)\n', 'other text'), ('a.json', '{"a": 1}', 'JSON')):
            path = self.file(name, text)
            for command in ('show', 'verify', 'run', 'info'):
                status, out, err = run(command, path)
                if command == 'info' and what == 'JSON':
                    continue
                self.assertEqual(status, 2)
                self.assertIn(f'this is {what}: expected HLO text, an HLO proto or its text form', out + err)

    def test_modules_inside_of_traces(self):
        """The module that a trace carries is read like one in a file: alone by the path of the trace, of several by its name."""
        trace = os.path.join(CONV, 'conv_net.xplane.pb.gz')
        compiled = os.path.join(CONV, 'module_0000.jit_conv_net.cpu_after_optimizations.hlo.pb')
        for command in (('verify', trace), ('compare', trace + ':jit_conv_net', compiled), ('verify', trace + ':1')):
            status, out, err = run(*command)
            self.assertEqual(status, 0, out + err)
        self.assertIn('839 events', run('info', trace)[1])
        with gzip.open(trace) as one:
            twice = self.file('two.xplane.pb', 2 * one.read())
        self.assertEqual(len([line for line in run('verify', twice)[1].splitlines() if ': ok' in line]), 2)
        self.assertIn('holds 2 modules', run('show', twice)[2])
        self.assertEqual(run('verify', twice + ':3')[0], 2)

    def test_instructions_of_a_module_that_is_missing(self):
        """Events that name an instruction (hlo_op) of a module that is neither in the trace nor given."""
        with gzip.open(os.path.join(CONV, 'conv_net.xplane.pb.gz')) as one:
            data = one.read().replace(b'Hlo Proto', b'Hlo proto').replace(b'HLO Proto', b'HLO proto')
        trace = self.file('bare.xplane.pb', data)
        [found] = records('profile', trace)
        self.assertEqual(found['attributed'], 0)
        self.assertEqual(found['named_elsewhere'], {'events': sum(one['count'] for one in found['unattributed']), 'modules': ['jit_conv_net']})
        self.assertIn(f"{found['named_elsewhere']['events']} events name instructions (hlo_op) of jit_conv_net", run('profile', trace)[1])
        [found] = records('profile', trace, '--module', os.path.join(CONV, 'module_0000.jit_conv_net.cpu_after_optimizations.txt'))
        self.assertEqual((found['attributed'], found['named_elsewhere']), (1, None))

    def test_what_is_not_opened_is_named(self):
        """Packed files and encodings by what unpacks them; archives in archives; StableHLO where a command reads HLO only."""
        rest = bytes(range(64))
        for text, what in ((b'\xfd7zXZ\0' + rest, 'xz -d'), (b'BZh9' + rest, 'bzip2 -d'), (b'\x28\xb5\x2f\xfd' + rest, 'zstd -d'),
                           (b"7z\xbc\xaf'\x1c" + rest, '7z x'), (b'Rar!\x1a\x07\x01' + rest, 'unrar'), ('HloModule m'.encode('utf-16'), 'iconv')):
            status, out, err = run('verify', self.file('m.hlo', text))
            self.assertEqual(status, 2)
            self.assertIn(what, out + err)
        inner, outer = os.path.join(self.folder, 'in.tar.gz'), os.path.join(self.folder, 'out.zip')
        with tarfile.open(inner, 'w:gz') as archive:
            archive.add(os.path.join(MLP, 'module_0000.jit_mlp_train_step.before_optimizations.txt'), 'm.hlo')
        with zipfile.ZipFile(outer, 'w') as archive:
            archive.write(inner, 'in.tar.gz')
        self.assertIn('in.tar.gz in it is an archive itself', ''.join(run('verify', outer)[1:]))
        program = self.file('programs/f.mlir', 'module @f {\n  func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n'
                            '    return %a : tensor<4xf32>\n  }\n}\n')
        self.assertIn('f.mlir is StableHLO', ''.join(run('verify', os.path.dirname(program))[1:]))
        # As torch_xla 2.9 saves it where XLA_HLO_DEBUG is set.
        pretty = self.file('forward.mlir', '#loc1 = /home/user/torch/_ops.py:841:0\n#loc2 = /home/user/torch/fx/interpreter.py:336:0\n'
                           'module @IrToHlo.2 {\n  func.func @main(%arg0: tensor<5xf32> "xla__device_data"(#loc2)) -> tensor<5xf32> {\n'
                           '    return %arg0 : tensor<5xf32> [unknown]\n  } [unknown]\n} [unknown]\n')
        status, out, err = run('run', pretty)
        self.assertEqual(status, 2)
        self.assertIn('forward.mlir:1: printed with pretty debug info, which MLIR itself cannot read back', out + err)

    def test_compare_pairs_a_renamed_call_that_lost_attributes(self):
        call = ('HloModule m\nENTRY {0}main {{\n  {0}x = f32[2,1,6] parameter(0)\n  {0}c = f32[] constant(1)\n'
                '  {0}k = f32[1,6,3] broadcast({0}c), dimensions={{}}\n'
                '  ROOT {0}y = f32[2,1,3] custom-call({0}x, {0}k), {1}custom_call_target="{2}"\n}}\n')
        attributes = 'window={size=1}, dim_labels=b0f_0io->b0f, padding_type=PADDING_VALID, '
        whole, lost, other = (self.file(name + '.hlo', call.format(prefix, has, target))
                              for name, prefix, has, target in (('whole', '', attributes, 'DynamicConvolutionForward'),
                                                                ('lost', 'other_', '', 'DynamicConvolutionForward'),
                                                                ('other', 'other_', '', 'SomethingElse')))
        [found] = records('compare', whole, lost)
        self.assertEqual((found['added'], found['removed']), ([], []))
        self.assertEqual(sorted(one['what'].split(':')[0] for one in found['changed']),
                         ['attribute dim_labels removed', 'attribute padding_type removed', 'attribute window removed'])
        [found] = records('compare', whole, other)
        self.assertEqual((len(found['added']), len(found['removed'])), (1, 1), 'calls of something else are no pair')

    def test_info_of_one_module_and_of_changed_passes(self):
        dump = self.dump()
        whole, one = records('info', dump, '--no-cache')[0], records('info', dump, '--no-cache', '--module', 'jit_g')[0]
        self.assertEqual([m['name'] for m in whole['modules']], ['jit_f', 'jit_g'])
        self.assertEqual([m['name'] for m in one['modules']], ['jit_g'])
        self.assertEqual(one['modules'][0], whole['modules'][1])
        self.assertEqual(run('info', dump, '--module', 'jit_h')[0], 2)
        passes = lambda *options: [p['pass'] for m in records('info', dump, '--passes', *options)[0]['modules'] for p in m['passes']]
        self.assertEqual(len(passes()), 5)
        self.assertEqual(passes('--module', 'jit_f', '--changed-only'), ['', 'one'])

    def test_long_names_of_passes_keep_the_columns(self):
        dump = self.dump()
        name = os.path.join(dump, 'module_0001.jit_f.{}.before_two.txt').format
        os.rename(name('0001.simplify.after_one'), name('0001.simplify.after_' + 70 * 'a'))
        out = run('info', dump, '--passes', '--module', 'jit_f')[1]
        lines = [line for line in out.splitlines() if line.startswith(('  before', '  000', '  cpu'))]
        self.assertEqual(len(lines), 4, out)
        self.assertEqual(len({re.search(r' \d+(?=$|  )', line).end() for line in lines}), 1, out)

    def test_diff_folds_unchanged_computations(self):
        out = run('info', self.dump(), '--diff', 'jit_f:0001')[1]
        self.assertIn('… 1 computation unchanged\n', out)
        self.assertNotIn('negate', out)
        self.assertIn('multiply', out)

    def test_a_pass_for_a_stage(self):
        """`--diff` takes a stage; a pass is told its stages."""
        status, _, error = run('info', self.dump(), '--diff', 'jit_f:one')
        self.assertEqual(status, 2)
        self.assertIn('no stage one (the pass of that name left 0001)', error)
        # What is near to the name of a pass, too: `--diff one` would be refused as well.
        error = run('info', self.dump(), '--diff', 'jit_f:onee')[2]
        self.assertIn('no stage onee (the pass `one` left 0001)', error)
        self.assertNotIn('did you mean', error)

    def test_diff_counts_what_is_unchanged_in_one_line(self):
        """Instructions that stay on both sides of one that moved are one run for a reader."""
        lines = [f'  k{i} = f32[4] {op}(p)\n' for i, op in enumerate(('negate', 'sine', 'cosine', 'tanh', 'abs', 'floor'))]
        for k, (stage, order) in enumerate((('after_start.before_x', (0, 1, 2, 3, 4, 5)), ('after_x.before_y', (1, 2, 0, 4, 5, 3)))):
            body = ''.join(lines[i] for i in order)
            self.file(f'moved/module_0000.m.000{k}.pipe.{stage}.txt',
                      'HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n' + body + '  ROOT t = (f32[4], f32[4], f32[4], f32[4], f32[4], f32[4]) '
                      'tuple(k0, k1, k2, k3, k4, k5)\n}\n')
        out = run('info', os.path.join(self.folder, 'moved'), '--diff', '0001')[1]
        rows = out.splitlines()
        self.assertNotIn((True, True), [('unchanged' in a, 'unchanged' in b) for a, b in zip(rows, rows[1:])], out)
        self.assertIn('unchanged', out)

    def test_deep_json_in_an_attribute(self):
        def deep(last):
            config = '{"a":' + '[' * 150000 + last + ']' * 150000 + '}'
            return f'HloModule m\nENTRY e {{\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] negate(p), backend_config={config}\n}}\n'

        one, same, other = self.file('1.hlo', deep('1')), self.file('2.hlo', deep(' 1 ')), self.file('3.hlo', deep('2'))
        self.assertEqual(run('compare', one, same)[0], 0)
        self.assertEqual(run('compare', one, other)[0], 1)
        self.assertEqual(run('diverge', one, same)[0], 0)
        self.assertEqual(run('bundle', 'create', one, '--plan')[0], 0)
        for k, stage in enumerate(('after_start.before_x', 'after_x.before_y')):
            self.file(f'deep/module_0000.m.000{k}.pipe.{stage}.txt', deep(str(k)))
        for options in (('--passes',), ('--diff', '0001')):
            status, out, err = run('info', os.path.join(self.folder, 'deep'), '--no-cache', *options)
            self.assertEqual(status, 0, out[-200:] + err)

    def test_compare_takes_numbers_of_json_as_they_are(self):
        def module(config):
            return self.file(f'{config.__hash__()}.hlo', 'HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] '
                             f'custom-call(p), custom_call_target="t", backend_config={config}\n}}\n')

        for a, b, status in (('{"seed":123456789012345678901234567890}', '{"seed":123456789012345678901234567891}', 1),
                             ('{"s":0.1000000000000000055}', '{"s":0.1000000000000000056}', 1), ('{"a":1,"a":2}', '{"a":2}', 1),
                             ('{"b":1,"a":[2.0]}', '{"a":[2],"b":1e0}', 0)):
            self.assertEqual(run('compare', module(a), module(b))[0], status, (a, b))

    def test_compare_names_the_edited_one_of_two_equal_reducers(self):
        same = self.file('a.hlo', TWO_REDUCERS.format('add', 'add', 'sum_a', 'sum_b'))
        for edited in ('sum_a', 'sum_b'):
            forms = ('maximum', 'add') if edited == 'sum_a' else ('add', 'maximum')
            other = self.file('b.hlo', TWO_REDUCERS.format(*forms, 'sum_a', 'sum_b'))
            record, = records('compare', same, other)
            self.assertEqual((record['added'], record['removed']), ([], []))
            found = [c for c in record['changed'] if c['what'] == 'opcode add became maximum']
            self.assertEqual([c['computation'] for c in found], [edited])
        # Called by other names: the caller tells which is which.
        other = self.file('c.hlo', TWO_REDUCERS.format('maximum', 'add', 'sum_a', 'sum_b').replace('sum_', 'region_'))
        record, = records('compare', same, other)
        self.assertEqual([c['computation'] for c in record['changed'] if c['what'] == 'opcode add became maximum'], ['sum_a'])
        self.assertEqual((record['added'], record['removed']), ([], []))

    def test_sass_of_a_kernel(self):
        home = os.path.join(self.folder, 'cuda')
        os.makedirs(home + '/bin')
        outputs = {
            'ptxas': "ptxas info : Compiling entry function 'gemm_fusion_dot_3' for 'sm_90a'\n"
                     'ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem\n',
            'nvdisasm': '//----- .text.gemm_fusion_dot_3 -----\n//## File ".nv_debug_ptx_txt", line 25\n/*0000*/ EXIT ;\n',
        }
        for name, text in outputs.items():
            path = os.path.join(home, 'bin', name)
            with open(path, 'w') as script:
                script.write("#!/bin/sh\ncat <<'END'\n" + text + 'END\n')
            os.chmod(path, 0o755)
        dump = os.path.join(SAMPLES, 'attention_block_h100')
        command = [HLOSCOPE, 'info', dump, '--select', 'kernel=gemm_fusion_dot_3', '--sass']
        environment = dict(os.environ, CUDA_HOME=home)
        done = subprocess.run(command + ['--json'], capture_output=True, text=True, env=environment)
        record = json.loads(done.stdout)
        self.assertEqual((done.returncode, record['registers'], record['shared_bytes'], record['target']), (0, 40, 1024, 'sm_90a'))
        self.assertEqual(record['sass'], [{'offset': 0, 'text': 'EXIT', 'ptx_line': 25}])
        self.assertEqual(record['instructions'], ['gemm_fusion_dot.3'])
        text = subprocess.run(command, capture_output=True, text=True, env=environment).stdout
        self.assertIn('40 registers, 1024 bytes of static shared memory, 1 barrier', text)
        for wrong in (['--sass'], ['--sass', '--select', 'kernel=nothing'], ['--sass', '--select', 'add.1']):
            done = subprocess.run([HLOSCOPE, 'info', dump, *wrong], capture_output=True, text=True, env=environment)
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_compare_of_folders_of_profiles(self):
        one, two = (os.path.join(self.folder, name, 'plugins', 'profile', 'now') for name in ('one', 'two'))
        for folder in (one, two):
            os.makedirs(folder)
        shutil.copy(os.path.join(CONV, 'conv_net.xplane.pb.gz'), one + '/host.xplane.pb.gz')
        shutil.copy(os.path.join(CONV, 'conv_net.trace.json.gz'), one + '/host.trace.json.gz')
        shutil.copy(os.path.join(SAMPLES, '..', 'assets', 'profiles', 'conv_net_one_thread.xplane.pb.gz'), two + '/host.xplane.pb.gz')
        record, = records('compare', os.path.join(self.folder, 'one'), os.path.join(self.folder, 'two'))
        self.assertEqual((record['status'], record['runs'], len(record['instructions'])), ('ok', 0.25, 12))
        self.assertEqual(run('compare', os.path.join(self.folder, 'one'), one + '/host.xplane.pb.gz')[0], 0)

    def test_ops_of_one_opcode(self):
        self.assertEqual([r['opcode'] for r in records('ops', 'tanh', 'all-gather-start')], ['tanh', 'all-gather-start'])
        status, _, err = run('ops', 'tanhh')
        self.assertEqual(status, 2)
        self.assertIn('tanh', err.split('tanhh', 1)[1])

    def test_extract_leaves_metadata_out_where_asked(self):
        path, out = self.file('m.hlo', FRAMES), os.path.join(self.folder, 'out.hlo')
        for option, is_there in (((), True), (('--strip_metadata',), False)):
            self.assertEqual(run('extract', path, 'r', '-o', out, *option)[0], 0)
            with open(out, encoding='utf-8') as f:
                text = f.read()
            self.assertEqual('op_name' in text, is_there)
            self.assertEqual('b.py' in text, is_there)

    def test_a_misspelt_instruction_is_named(self):
        path = self.file('m.hlo', BEFORE.replace('x', 'argument'))
        for command in (['info', path, '--select', 'argumend'], ['show', path, '--around', 'argumend'], ['extract', path, 'argumend', '-o', '-']):
            status, _, err = run(*command)
            self.assertEqual(status, 2)
            self.assertIn('did you mean `argument`', err, command)
            self.assertTrue(err.startswith(f'{path}: '), err)

    def test_a_name_behind_a_path_that_is_there(self):
        path, dump = self.file('m.hlo', BEFORE), self.dump()
        for command, errors in ((['run', path + ':nothing'], [f'{path}: does not hold several modules: `:nothing` names nothing in it', 'name the file alone']),
                                (['show', dump + ':nothing'], [f'{dump}: is a folder: `:nothing` names nothing in it', 'name a module file']),
                                (['why', dump, 'nothing'], [f'{dump}: no instruction nothing in the compiled module', 'has no fusion']),
                                (['why', dump, 'aa', '--module', 'jit_f'], [f'{dump}: no instruction aa']),
                                (['compare', dump, dump, '--module', 'jit_ff'], [f'none of {dump}, {dump} has a module jit_ff', 'did you mean `jit_f`']),
                                (['compare', dump, dump, '--module', 'qqqqqq'], ['modules: jit_f, jit_g'])):
            status, _, err = run(*command)
            self.assertEqual(status, 2, command)
            for error in errors:
                self.assertIn(error, err, command)

    def test_a_name_that_is_nowhere_near_says_what_there_is(self):
        path, dump = self.file('m.hlo', BEFORE), os.path.join(SAMPLES, 'softmax_passes_a100')
        hints = ((['show', path, '--computation', 'qqqqqq'], '(computations: '), (['info', dump, '--select', 'qqqqqq'], 'hloscope find'),
                 (['info', dump, '--select', 'kernel=qqqqqq'], '(kernels: triton_softmax'), (['info', dump, '--select', 'thunk=9999'], '(thunks: 1)'),
                 (['info', dump, '--select', 'kernel=qqqqqq', '--sass'], '(kernels: triton_softmax'),
                 (['info', dump, '--select', 'buffer=9999'], '(buffers: '), (['info', dump, '--select', 'qqqqqq@0003'], 'hloscope find'))
        for command, hint in hints:
            status, _, err = run(*command)
            self.assertEqual(status, 2, command)
            self.assertIn(hint, err, command)

    def test_numbers_agree_with_their_nouns(self):
        folder = os.path.join(self.folder, 'one')
        self.file('one/module_0001.jit_f.before_optimizations.txt', BEFORE)
        out = run('info', folder, '--no-cache')[1]
        self.assertIn('1 module, 1 file\n', out)
        self.assertNotIn('1 modules', out)

    def test_peak_of_the_memory_usage_report(self):
        self.file('dump/module_0001.jit_f.cpu_after_optimizations.txt', BEFORE)
        self.file('dump/module_0001.jit_f.cpu_after_optimizations-memory-usage-report.txt',
                  'Total bytes used: 5678 (5.5KiB)\n\nAllocations sorted by size:\n')
        dump = os.path.join(self.folder, 'dump')
        self.assertEqual(records('info', dump, '--no-cache')[0]['modules'][0]['peak_bytes'], 5678)
        self.assertIn('5678 B', run('info', dump, '--no-cache')[1])

    def test_peak_of_the_memory_usage_report_as_a_proto(self):
        # Two memory spaces of 5678 and 22 bytes, the second in a field order of its own.
        spaces = b'\x0a\x03\x08\xae\x2c' + b'\x0a\x04\x10\x01\x08\x16'
        for k, (name, data) in enumerate({'pb': spaces, 'pb.gz': gzip.compress(spaces)}.items()):
            self.file(f'dump{k}/module_0001.jit_f.cpu_after_optimizations.txt', BEFORE)
            report = self.file(f'dump{k}/module_0001.jit_f.cpu_after_optimizations-memory-usage-report.{name}', '')
            with open(report, 'wb') as f:
                f.write(data)
            dump = os.path.join(self.folder, f'dump{k}')
            self.assertEqual(records('info', dump, '--no-cache')[0]['modules'][0]['peak_bytes'], 5700)

    def test_convert_says_what_a_form_of_text_leaves_out(self):
        path = os.path.join(self.folder, 'ordered.hlo')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('HloModule m\nENTRY e {\n  x = f32[12] parameter(0)\n'
                       '  c = f32[12] constant({1,2,3,4,5,6,7,8,9,10,11,12})\n'
                       '  a = f32[12] add(x, c), backend_config={"a":"b"}\n'
                       '  ROOT b = f32[12] negate(x), control-predecessors={a}\n}\n')
        left = {'control': 'the control predecessors of 1 instruction are', 'config': 'the backend_config of 1 instruction is',
                'values': 'the values of 1 constant are'}
        for form, lost in [('hlo', []), ('hlo-short', ['control']), ('hlo-canonical', ['control', 'config', 'values'])]:
            status, _, err = run('convert', path, '-', '--to', form)
            self.assertEqual((status, err), (0, ''.join(
                f'{path}: warning: {left[each]} left out of this form (--to hlo keeps everything)\n' for each in lost)), form)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=0)
