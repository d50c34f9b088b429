#!/usr/bin/env python3
"""What must not leave the machine: 60 planted secrets of every kind, made from a seed, and the numbers of inputs.

  redaction_test.py HLOSCOPE SAMPLES"""
import base64
import io
import json
import os
import random
import string
import struct
import subprocess
import sys
import unittest
import zipfile

from command_tests import FolderTest, write_npz

HLOSCOPE, SAMPLES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LETTERS, DIGITS = string.ascii_letters, string.digits


def members(data):
    """All bytes of an archive with those within it, unpacked."""
    out = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            inner = archive.read(name)
            out.append(name.encode() + b'\n' + (members(inner) if inner.startswith(b'PK') else inner))
    return b'\n'.join(out)


class Planted:
    """Secrets by kind. Each is found by a part that no rule may leave."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.secrets = {}

    def text(self, length, alphabet=LETTERS + DIGITS):
        return ''.join(self.random.choice(alphabet) for _ in range(length))

    def add(self, kind, secret, part=None):
        self.secrets[kind] = part or secret
        return secret

    def lines(self):
        """Sixty lines, each with a secret."""
        tokens = {
            'stripe': 'rk_live_' + self.text(24), 'vault': 'hvs.' + self.text(24), 'databricks': 'dapi' + self.text(32, 'abcdef' + DIGITS),
            'slack app': 'xapp-1-' + self.text(24), 'github': 'ghp_' + self.text(36), 'oauth refresh': '1//0' + self.text(40),
            'aws secret': self.text(3, string.ascii_uppercase) + self.text(3, string.ascii_lowercase) + self.text(3, DIGITS) +
                          self.text(14) + '/' + self.text(16), 'age': 'AGE-SECRET-KEY-1' + self.text(40, string.ascii_uppercase + DIGITS),
            'jwt': 'eyJ' + self.text(20) + '.' + self.text(20), 'hugging face': 'hf_' + self.text(34)}
        out = []
        for kind, secret in tokens.items():
            wrapped = [secret, f'see {secret} there', f'https://acme.example.de/x?k={secret}&y=1']
            out.append(self.random.choice(wrapped))
            self.add(kind, secret, secret[-12:])
        named = ['token={}', '"token": "{}"', 'Cookie: sid={}', 'pwd: {}', '--password {}', 'Authorization: Bearer {}',
                 'password={}', 'SESSION_TOKEN={}', 'client_secret: {}', 'x-api-key: {}', 'Authorization: Basic {}', 'refresh_token={}',
                 'passphrase = "{}"', 'run --hf-token {} --steps 3', 'Set-Cookie: a=1; sessionid={}', 'mysql -p{} db', 'api_key: {}',
                 'password%3D{}', "auth_token='{}'", '"Authorization": "Bearer {}"', 'sessionId={}', 'access_token={}', 'key={}', 'sig={}',
                 'AccountKey={}/K1SZFPTOtr/KBHBeksoGMGw==']
        for form in named:
            secret = 'q7' + self.text(12)
            out.append(form.format(secret))
            self.add(form, secret)
        out.append('AccountKey=' + self.text(20) + '/K1SZFPTOtr/' + self.add('azure tail', 'KBHB' + self.text(10)) + '==')
        for length in (32, 40):
            out.append('datadog_app_key=' + self.add(f'hex {length}', self.text(length, 'abcdef' + DIGITS)))
        for kind, form in [('public address', '93.184.{}.{}'), ('tailscale', '100.64.{}.{}'), ('private address', '10.3.{}.{}')]:
            address = form.format(self.random.randrange(10, 250), self.random.randrange(10, 250))
            out.append('peer ' + self.add(kind, address) + self.random.choice(['', ':8476']))
        for ending in ('de', 'uk', 'fr', 'jp', 'cn', 'io'):
            host = f'trainer{self.random.randrange(1000, 9999)}.acme.{ending}'
            out.append('from ' + self.add('host .' + ending, host) + self.random.choice(['', ':2222']))
        out.append('JAX_COORDINATOR_ADDRESS=' + self.add('coordinator', f'coord{self.text(5, DIGITS)}') + ':1234')
        worker = self.add('TF_CONFIG', f'node{self.text(5, DIGITS)}.acme.internal')
        out.append('TF_CONFIG=' + json.dumps({'cluster': {'worker': [worker + ':2222']}}))
        for kind, form in [('home', '/home/{}/x.py'), ('mac home', '/Users/{}/x'), ('scratch', 'jit(f)//scratch/{}/y/z'),
                           ('windows', 'C:\\Users\\{}\\m.py'), ('bucket', 'gs://{}/ckpt'), ('mail', '{}+ml@acme.de'), ('ssh', 'svc@{}'),
                           ('url', 'https://user:{}@host.acme.de/'), ('share', '\\\\{}\\share\\m.py'), ('option', '--api-key={}')]:
            out.append(form.format(self.add(kind, 'u' + self.text(9, string.ascii_lowercase))))
        return out

    def left_in(self, data):
        return {kind: part for kind, part in self.secrets.items() if part.encode() in data}


def quoted(text):
    return text.replace('\\', '\\\\').replace('"', '\\"')


class Redaction(FolderTest):
    def run_tool(self, *arguments, environment=None, cwd=None):
        done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, timeout=500, cwd=cwd or self.folder,
                              env={**os.environ, **(environment or {})})
        return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')

    def leaky(self, planted):
        """A module whose texts hold the lines in turn: op_name, frontend attributes, configurations of all forms."""
        lines = planted.lines()
        self.assertGreaterEqual(len(planted.secrets), 58)
        rows = ['  %v0 = f32[3]{0} parameter(0)']
        for k, line in enumerate(lines):
            body = base64.b64encode(b'ML\xefR\x01' + b'\x00' * 40 + line.encode() + b'\x00' + b'\x01' * 40).decode()
            where = [f'metadata={{op_name="jit(step)/{quoted(line)}"}}', f'frontend_attributes={{mine="{quoted(line)}"}}',
                     f'backend_config="{quoted(line)}"', f'backend_config={json.dumps({"custom_call_config": {"body": body}})}',
                     f'frontend_attributes={{_xla_note="{quoted(line)}"}}', f'backend_config={json.dumps({"a": {"note": line}})}'][k % 6]
            rows.append(f'  %v{k + 1} = f32[3]{{0}} add(%v{k}, %v{k}), {where}')
        rows[-1] = rows[-1].replace('  %', '  ROOT %', 1)
        return self.path('leaky.hlo', 'HloModule m\n\nENTRY %main (v0: f32[3]) -> f32[3] {\n' + '\n'.join(rows) + '\n}\n')

    def test_no_planted_secret_is_in_a_bundle(self):
        for seed in (1, 2, 3):
            for text in ('needed', 'all'):
                planted = Planted(seed)
                module, out = self.leaky(planted), self.path('b.hlob')
                note = '\n'.join(Planted(seed).lines())
                verdict = self.path('verdict.json', json.dumps({
                    'module': module, 'platform': 'interpreter', 'reference': '', 'seed': 3, 'status': 'differs', 'pass': 'algsimp',
                    'cured_by': [], 'verdict': note, 'warnings': note.split('\n'),
                    'tries': [{'what': line, 'closes': None, 'detail': line} for line in note.split('\n')]}))
                code, printed, errors = self.run_tool(
                    'bundle', 'create', verdict, '-o', out, '--note', note, '--values', 'all', '--text', text, '--json')
                self.assertEqual(code, 0, errors)
                with open(out, 'rb') as file:
                    self.assertEqual(planted.left_in(members(file.read())), {}, (seed, text))

    def test_kernels_of_a_dump(self):
        """Comments and quoted texts of PTX; the kernels still run."""
        planted = Planted(4)
        lines = planted.lines()
        source = os.path.join(SAMPLES, 'softmax_passes_a100')
        dump = self.path('dump')
        os.makedirs(dump)
        for name in os.listdir(source):
            if '.00' in name and 'jit_softmax.00' in name:
                continue
            with open(os.path.join(source, name), 'rb') as file:
                data = file.read()
            if name.endswith('.ptx'):
                extra = ''.join(f'// {line}\n.file {k + 50} "{quoted(line)}"\n' for k, line in enumerate(lines))
                data += extra.encode()
            with open(os.path.join(dump, name), 'wb') as file:
                file.write(data)
        module = next(os.path.join(dump, n) for n in os.listdir(dump) if n.endswith('gpu_after_optimizations.txt'))
        code, printed, errors = self.run_tool('bundle', 'create', module, '-o', self.path('b.hlob'), '--platform', 'xla-gpu-sim', '--json')
        self.assertEqual(code, 0, errors)
        self.assertEqual(json.loads(printed)['replayed'], 'reproduced', printed)
        with open(self.path('b.hlob'), 'rb') as file:
            self.assertEqual(planted.left_in(members(file.read())), {})

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
        planted = Planted(5)
        words = planted.lines()
        value = planted.add('variable', 'v4lue' + planted.text(8, string.ascii_lowercase))
        address = planted.add('address', 'coord' + planted.text(6, DIGITS))
        environment = {'FOO_TOKEN': value, 'JAX_COORDINATOR_ADDRESS': address + ':1234',
                       'TF_CONFIG': json.dumps({'cluster': {'worker': [planted.add('worker', 'n' + planted.text(8, DIGITS)) + ':22']}})}
        code, _, errors = self.run_tool('record', '--dump', 'd', '--', 'sh', '-c', f'true {value}; token={value}', *words,
                                        environment=environment)
        with open(self.path('d/hloscope-record.json'), 'rb') as file:
            self.assertEqual(planted.left_in(file.read()), {}, errors)
        log = next(name for name in os.listdir(self.path('d')) if name.startswith('stderr'))
        self.assertEqual(os.stat(self.path('d/' + log)).st_mode & 0o777, 0o600)


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

    def test_of_a_reduction(self):
        self.run_tool('reduce', self.module, '--inputs', self.inputs, '--expect', self.path('zeros.npz'), '-o', self.path('small.hlo'),
                      '--bundle', self.path('r.hlob'), '--deadline', '5', code=[0, 1, 2])
        if os.path.exists(self.path('r.hlob')):
            self.hold(self.path('r.hlob'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
