#!/usr/bin/env python3
"""What must not leave the machine: secrets of every kind, made from a seed, and the numbers of inputs.

  redaction_test.py HLOSCOPE SAMPLES"""
import base64
import io
import json
import os
import random
import re
import string
import struct
import subprocess
import sys
import unittest
import zipfile

import secret_kinds
from command_tests import FolderTest, write_npz

HLOSCOPE, SAMPLES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


def members(data):
    """All bytes of an archive with those within it, unpacked, but for the times of runs: they change, and may be any number."""
    out = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            inner = archive.read(name)
            out.append(name.encode() + b'\n' + (members(inner) if inner.startswith(b'PK') else inner))
    return re.sub(rb'"(reference_)?timing":\{[^}]*\}', b'', b'\n'.join(out))


def left_in(rows, data):
    """The kinds of which a part is left."""
    return {kind: part for kind, _, parts in rows for part in parts if part.encode() in data}


def quoted(text):
    return text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n')


SMALL = 'HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  ROOT y = f32[3] add(x, x)\n}\n'


class Redaction(FolderTest):
    def run_tool(self, *arguments, environment=None, cwd=None):
        done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, timeout=500, cwd=cwd or self.folder,
                              env={**os.environ, **(environment or {})})
        return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')

    # Where a text may be in an instruction.
    PLACES = {
        'op_name': lambda text: f'metadata={{op_name="{quoted(text)}"}}',
        'op_name, inside': lambda text: f'metadata={{op_name="jit(step)/{quoted(text)}/add"}}',
        'op_name, end': lambda text: f'metadata={{op_name="jit(step)/jit(main)/{quoted(text)}"}}',
        'source_file': lambda text: f'metadata={{source_file="{quoted(text)}" source_line=3}}',
        'frontend attribute': lambda text: f'frontend_attributes={{mine="{quoted(text)}"}}',
        'frontend attribute of XLA': lambda text: f'frontend_attributes={{_xla_note="{quoted(text)}"}}',
        'backend_config, text': lambda text: f'backend_config="{quoted(text)}"',
        'backend_config, JSON': lambda text: 'backend_config=' + json.dumps({'a': {'note': text}}),
        'backend_config, JSON key': lambda text: 'backend_config=' + json.dumps({'a': {text: 1}}),
        'backend_config, MLIR': lambda text: 'backend_config="' + quoted(f'module {{ func.func @f() {{ return }} loc("{quoted(text)}") }}') + '"',
        'backend_config, base64': lambda text: 'backend_config=' + json.dumps({'custom_call_config': {'body': base64.b64encode(
            b'ML\xefR\x01' + b'\x00' * 40 + text.encode() + b'\x00' + b'\x01' * 40).decode()}}),
        'custom_call_target': lambda text: f'custom_call_target="{quoted(text)}"',
    }

    def leaky(self, rows, place):
        """A module of an instruction for each row, with its text in that place."""
        lines = ['  %v0 = f32[3]{0} parameter(0)']
        for k, (_, text, _) in enumerate(rows):
            call = 'custom-call(%v0)' if place == 'custom_call_target' else 'add(%v0, %v0)'
            lines.append(f'  %v{k + 1} = f32[3]{{0}} {call}, {self.PLACES[place](text)}')
        lines.append(f'  ROOT %sum = f32[3]{{0}} add(%v0, %v{len(rows)})')
        return self.path('leaky.hlo', 'HloModule m\n\nENTRY %main (v0: f32[3]) -> f32[3] {\n' + '\n'.join(lines) + '\n}\n')

    def held(self, rows, where):
        with open(self.path('b.hlob'), 'rb') as file:
            self.assertEqual(left_in(rows, members(file.read())), {}, where)
        os.remove(self.path('b.hlob'))

    def test_no_key_that_a_scope_follows_is_in_a_bundle(self):
        """One key in sixty is not found if only the look of its characters, or a name within it, decides."""
        rows = [('key', key, [key[:12], key[-14:-2]]) for key in secret_kinds.padded_keys(7, 300)]
        module = self.leaky(rows, 'op_name, inside')
        code, _, errors = self.run_tool('bundle', 'create', module, '-o', 'b.hlob', '--text', 'all')
        self.assertEqual(code, 0, errors[:500])
        self.held(rows, 'op_name, inside')

    def test_no_secret_of_a_module_is_in_a_bundle(self):
        for place in self.PLACES:
            for text in ('needed', 'all'):
                rows = secret_kinds.make(len(place))
                # The reader has bounds for texts that are names.
                module = self.leaky(rows, place)
                code, _, errors = self.run_tool('bundle', 'create', module, '-o', 'b.hlob', '--text', text)
                self.assertEqual(code, 0, (place, errors[:500]))
                self.held(rows, (place, text))

    def test_constants_that_spell_a_secret_are_named(self):
        secret = 'AKIAIOSFODNN7EXAMPLE secret key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
        for kind in ('u8', 's8', 's32'):
            def module(text):
                codes = ', '.join(str(ord(c)) for c in '\0\1' + text)
                return self.path('spelled.hlo', f'HloModule m\nENTRY e {{\n  x = {kind}[{len(text) + 2}]{{0}} parameter(0)\n  '
                                                f'key = {kind}[{len(text) + 2}]{{0}} constant({{{codes}}})\n'
                                                f'  ROOT y = {kind}[{len(text) + 2}]{{0}} add(x, key)\n}}\n')
            path = module(secret)
            for options in (['--plan'], ['-o', 'b.hlob', '--values', 'none']):
                code, out, errors = self.run_tool('bundle', 'create', path, *options)
                self.assertEqual(code, 0, errors)
                self.assertRegex(out, rf'note: key spells a secret in its elements, {kind}\[74\], and is not redacted')
            # The way out that it names.
            self.assertEqual(self.run_tool('convert', path, '--to', 'hlo-elided', '--out-dir', 'elided')[0], 0)
            code, out, errors = self.run_tool('bundle', 'create', os.path.join('elided', 'spelled.hlo'), '--fill-elided', '0', '-o', 'b.hlob')
            self.assertEqual(code, 0, errors)
            self.assertNotIn('spells', out)
            with open(self.path('b.hlob'), 'rb') as file:
                self.assertNotIn(b'65, 75, 73, 65', members(file.read()))
            plain = module('The quick brown fox jumps over the lazy dog, and 0123456789 !"#$%&()*+')
            self.assertNotIn('spells', self.run_tool('bundle', 'create', plain, '--plan')[1])

    def test_no_secret_of_notes_and_verdicts_is_in_a_bundle(self):
        for seed in (1, 2, 3):
            rows = secret_kinds.make(seed)
            module = self.path('plain.hlo', SMALL)
            note = '\n'.join(text for _, text, _ in rows)
            verdict = self.path('verdict.json', json.dumps({
                'module': module, 'platform': 'interpreter', 'reference': '', 'seed': 3, 'status': 'differs', 'pass': 'algsimp',
                'cured_by': [], 'verdict': note, 'warnings': note.split('\n'),
                'tries': [{'what': line, 'closes': None, 'detail': line} for line in note.split('\n')]}))
            code, _, errors = self.run_tool('bundle', 'create', verdict, '-o', 'b.hlob', '--note', note, '--values', 'all', '--text', 'all')
            self.assertEqual(code, 0, errors[:500])
            self.held(rows, seed)

    def test_each_by_itself(self):
        """What the others show of names helps none."""
        rows = [row for row in secret_kinds.make(9) if ' in {}' in row[0] or ' in ' not in row[0]]
        for kind, text, parts in rows[::7]:
            code, _, errors = self.run_tool('bundle', 'create', self.path('small.hlo', SMALL), '-o', 'b.hlob', '--note', text)
            self.assertEqual(code, 0, errors)
            self.held([(kind, text, parts)], kind)

    def test_kernels_of_a_dump(self):
        """Comments and quoted texts of PTX; the kernels still run."""
        rows = secret_kinds.make(4)
        source = os.path.join(SAMPLES, 'softmax_passes_a100')
        dump = self.path('dump')
        os.makedirs(dump)
        for name in os.listdir(source):
            if '.00' in name and 'jit_softmax.00' in name:
                continue
            with open(os.path.join(source, name), 'rb') as file:
                data = file.read()
            if name.endswith('.ptx'):
                extra = ''.join('// ' + text.replace('\n', '\n// ') + f'\n.file {k + 50} "{quoted(text)}"\n' for k, (_, text, _) in enumerate(rows))
                data += extra.encode()
            with open(os.path.join(dump, name), 'wb') as file:
                file.write(data)
        module = next(os.path.join(dump, n) for n in os.listdir(dump) if n.endswith('gpu_after_optimizations.txt'))
        for text in ('needed', 'all'):
            code, printed, errors = self.run_tool('bundle', 'create', module, '-o', 'b.hlob', '--platform', 'xla-gpu-sim', '--json', '--text', text)
            self.assertEqual(code, 0, errors)
            self.assertEqual(json.loads(printed)['replayed'], 'reproduced', printed)
            self.held(rows, text)

    def test_payloads_are_whole(self):
        body = base64.b64encode(b'ML\xefR' + b'plain text without a secret. ' * 9).decode()
        secret = base64.b64encode(b'ML\xefR\x00/home/janedoe8/kern.py\x00password=b64pw9999 ' + b'x' * 64).decode()
        module = self.path('m.hlo', f'''HloModule m
ENTRY e {{
  x = f32[2] parameter(0)
  a = f32[2] add(x, x), backend_config={json.dumps({'custom_call_config': {'body': body}})}
  ROOT b = f32[2] add(a, a), backend_config={json.dumps({'custom_call_config': {'body': secret}})}
}}
''')
        code, _, errors = self.run_tool('bundle', 'create', module, '-o', self.path('b.hlob'))
        self.assertEqual(code, 0, errors)
        with zipfile.ZipFile(self.path('b.hlob')) as bundle:
            text, manifest = bundle.read('module.hlo').decode(), json.loads(bundle.read('manifest.json'))
        self.assertIn(body, text)
        self.assertNotIn(secret[:40], text)
        self.assertRegex(text, '<payload [0-9a-f]{64} [0-9]+ bytes>')
        self.assertTrue(any('cannot replay: b' in note for note in manifest['notes']), manifest['notes'])

    def test_a_record_has_none(self):
        rows = secret_kinds.make(5)
        words = [text for _, text, _ in rows]
        text = random.Random(6)
        random_word = lambda: 'v' + ''.join(text.choice(string.ascii_lowercase) for _ in range(11))
        variables = {name: random_word() for name in ('FOO_TOKEN', 'JAX_COORDINATOR_ADDRESS', 'TF_SECRET', 'JAX_API_KEY', 'XLA_PASSWORD')}
        environment = {**variables, 'JAX_COORDINATOR_ADDRESS': variables['JAX_COORDINATOR_ADDRESS'] + ':1234',
                       'JAX_NOTE': words[0], 'TF_CONFIG': json.dumps({'cluster': {'worker': [random_word() + ':22']}})}
        rows += [(name, '', [value]) for name, value in variables.items()]
        rows.append(('TF_CONFIG', '', [environment['TF_CONFIG'].split('"')[5].split(':')[0]]))
        os.makedirs(self.path('d'))
        self.path('d/module_0001.add.before_optimizations.txt', SMALL)
        self.path('said.txt', '\n'.join(words + list(variables.values())))
        value, option = variables['FOO_TOKEN'], random_word() + '7'
        rows.append(('-u', '', [option]))
        code, printed, errors = self.run_tool('record', '--dump', 'd', '--', 'sh', '-c', f'cat said.txt >&2; true {value}; token={value}', '-u', 'jane:' + option,
                                              *words, environment=environment)
        self.assertEqual(code, 0, errors[:500])
        self.assertIn('--text all, which is redacted; stderr.log is not', printed)
        with open(self.path('d/hloscope-record.json'), 'rb') as file:
            self.assertEqual(left_in(rows, file.read()), {})
        self.assertEqual(os.stat(self.path('d/stderr.log')).st_mode & 0o777, 0o600)
        code, _, errors = self.run_tool('bundle', 'create', 'd', '-o', 'b.hlob', '--text', 'all', environment=environment)
        self.assertEqual(code, 0, errors)
        with zipfile.ZipFile(self.path('b.hlob')) as bundle:
            self.assertIn('stderr.log', bundle.namelist())
        self.held(rows, 'log')
        code, _, errors = self.run_tool('bundle', 'create', 'd', '-o', 'b.hlob', environment=environment)
        self.assertEqual(code, 0, errors)
        with zipfile.ZipFile(self.path('b.hlob')) as bundle:
            self.assertNotIn('stderr.log', bundle.namelist())


class Values(FolderTest):
    """No number of the inputs or the results is in a bundle of shapes."""

    MODULE = '''HloModule m
ENTRY e {{
  x = f32[5] parameter(0)
  y = s32[5] parameter(1)
  z = f32[5] convert(y)
  w = f32[5] {op}(x, z)
  zero = f32[] constant(0)
  s = f32[5] broadcast(zero), dimensions={{}}
  d = f32[5] maximum(w, s)
  ROOT t = (f32[5], f32[5], s32[5]) tuple(w, d, y)
}}
'''

    def setUp(self):
        super().setUp()
        rng = random.Random(11)
        self.floats = [struct.unpack('<f', struct.pack('<f', rng.uniform(10, 99)))[0] for _ in range(5)]
        self.ints = [rng.randrange(10**6, 10**7) for _ in range(5)]
        self.module = self.path('a.hlo', self.MODULE.format(op='add'))
        self.inputs = self.path('in.npz')
        write_npz(self.inputs, {'in0': ('<f4', (5,), struct.pack('<5f', *self.floats)),
                                'in1': ('<i4', (5,), struct.pack('<5i', *self.ints))})
        # Results that are 0 or the input itself: errors that are values.
        write_npz(self.path('zeros.npz'), {'out0': ('<f4', (5,), bytes(20)), 'out1': ('<f4', (5,), bytes(20)),
                                           'out2': ('<i4', (5,), bytes(20))})

    def numbers(self):
        """How an element or a result, or its bits or error, may be written: five digits or more of it."""
        floats = self.floats + [float(struct.unpack('<f', struct.pack('<f', f + i))[0]) for f, i in zip(self.floats, self.ints)]
        out = set()
        for f in floats:
            bits = struct.unpack('<I', struct.pack('<f', f))[0]
            out |= {f'{f:.5g}'[:6], f'{f:.9g}'[:6], str(bits), f'{bits:x}'}
        out |= {str(i) for i in self.ints}
        return {text for text in out if len(text.replace('.', '')) >= 5}

    def hold(self, path):
        with open(path, 'rb') as file:
            data = members(file.read())
        left = {text for text in self.numbers() if text.encode() in data}
        self.assertEqual(left, set(), path)

    def run_tool(self, *arguments, code):
        done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, timeout=500, cwd=self.folder, check=False)
        self.assertIn(done.returncode, code, done.stderr)
        return done

    def test_of_runs_on_all_platforms(self):
        other = self.path('b.hlo', self.MODULE.format(op='subtract'))
        for platform in ('interpreter', 'cpu', 'gpu-sim'):
            out = self.path(f'{platform}.hlob')
            on = ['--platform', platform, '--inputs', self.inputs]
            self.run_tool('run', self.module, *on, '--expect', self.path('zeros.npz'), '--bundle', out, code=[1])
            self.hold(out)
            os.remove(out)
            self.run_tool('bundle', 'create', self.module, *on, '--expect', self.path('zeros.npz'), '-o', out, code=[0])
            self.hold(out)
            os.remove(out)
        self.run_tool('diverge', self.module, other, '--inputs', self.inputs, '--bundle', self.path('d.hlob'), code=[1])
        self.hold(self.path('d.hlob'))

    def test_of_a_simulated_dump(self):
        """Register contents in the verdict of a kernel that is wrong."""
        source = os.path.join(SAMPLES, 'softmax_passes_a100')
        dump = self.path('dump')
        os.makedirs(dump)
        for name in os.listdir(source):
            with open(os.path.join(source, name), 'rb') as file:
                data = file.read()
            if name.endswith('.ptx'):
                data = data.replace(b'add.rn.f32', b'sub.rn.f32').replace(b'add.f32', b'sub.f32')
            with open(os.path.join(dump, name), 'wb') as file:
                file.write(data)
        module = next(os.path.join(dump, n) for n in os.listdir(dump) if n.endswith('gpu_after_optimizations.txt'))
        out = self.path('g.hlob')
        done = self.run_tool('diverge', module, '--platform', 'xla-gpu-sim', '--reference_platform', 'interpreter', '--bundle', out,
                             '--json', code=[1])
        verdict = json.loads(done.stdout.splitlines()[-1])
        shown = [line['values'] for line in verdict['kernels']['slice']]
        self.assertTrue(any(' = ' in text for text in shown), verdict['kernels'])
        with zipfile.ZipFile(out) as bundle:
            kept = json.loads(bundle.read('verdict.json'))
            with zipfile.ZipFile(io.BytesIO(bundle.read('dump.zip'))) as kernels:
                everything = b''.join(kernels.read(n) for n in kernels.namelist())
            everything = b''.join(bundle.read(n) for n in bundle.namelist() if n != 'dump.zip') + everything
        self.assertNotIn('values', kept['kernels']['slice'][0])
        for text in shown:
            number = text.split(' = ')[-1].split(' ')[0]
            if len(number.replace('.', '').replace('-', '')) >= 6:
                self.assertNotIn(number.encode(), everything, text)

    def test_no_hash_to_guess_by(self):
        """Of few values a hash can be guessed; those of the seed are known."""
        out = self.path('h.hlob')
        for options, is_there in ((['--inputs', self.inputs], False), (['--seed', '3'], True), (['--inputs', self.inputs, '--values', 'all'], True)):
            self.run_tool('bundle', 'create', self.module, *options, '-o', out, code=[0])
            with zipfile.ZipFile(out) as bundle:
                recorded = json.loads(bundle.read('manifest.json'))['recorded']
            self.assertEqual(bool(recorded['inputs_hash']), is_there, options)
            self.assertEqual(bool(recorded['results_hash']), is_there, options)

    def test_of_runs_on_kernels_of_a_dump(self):
        """`run`, `bundle create` and `reduce` on the other simulated GPU, with inputs of the user."""
        source = os.path.join(SAMPLES, 'softmax_passes_a100')
        module = next(os.path.join(source, n) for n in os.listdir(source) if n.endswith('gpu_after_optimizations.txt'))
        rng = random.Random(12)
        floats = [struct.unpack('<f', struct.pack('<f', rng.uniform(10, 99)))[0] for _ in range(64000)]
        inputs, zeros, results = self.path('x.npz'), self.path('z.npz'), self.path('r.npz')
        write_npz(inputs, {'in0': ('<f4', (64, 1000), struct.pack('<64000f', *floats))})
        write_npz(zeros, {'out0': ('<f4', (64, 1000), bytes(4 * 64000))})
        on = [module, '--platform', 'xla-gpu-sim', '--inputs', inputs]
        self.run_tool('run', *on, '--outputs', results, code=[0])
        with zipfile.ZipFile(results) as archive:
            name, = archive.namelist()
            floats += struct.unpack('<64000f', archive.read(name)[-4 * 64000:])
        numbers = {f'{f:.9g}'[:8] for f in floats if f != 0}
        out = self.path('s.hlob')
        for command in (['run', *on, '--expect', zeros, '--bundle', out], ['bundle', 'create', *on, '--expect', zeros, '-o', out],
                        ['bundle', 'create', *on, '--reference_platform', 'interpreter', '-o', out]):
            self.run_tool(*command, code=[0, 1])
            with open(out, 'rb') as file:
                words = set(re.findall(rb'[0-9.e+-]{8,}', members(file.read())))
            os.remove(out)
            left = {word for word in words if word.decode().lstrip('+-')[:8] in numbers}
            self.assertEqual(left, set(), command[0])

    def test_of_a_reduction(self):
        exact = ['--abs_error_bound', '0', '--rel_error_bound', '0']
        module = self.path('c.hlo', self.MODULE.format(op='atan2').replace('f32[5] maximum(w, s)', 'f32[5] cosine(x)'))
        for platform in ('cpu', 'gpu-sim'):
            self.run_tool('reduce', module, '--platform', platform, '--inputs', self.inputs, '--reference_platform', 'interpreter', *exact,
                          '-o', self.path('small.hlo'), '--bundle', self.path('r.hlob'), '--deadline', '5', code=[0, 1])
            if os.path.exists(self.path('r.hlob')):
                self.hold(self.path('r.hlob'))
                os.remove(self.path('r.hlob'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
