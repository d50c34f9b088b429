#!/usr/bin/env python3
"""Bug bundles: made, replayed, unpacked, and free of what must not leave the machine.

  bundle_test.py HLOSCOPE SAMPLES LIBRARY

LIBRARY leaves a file beside itself when it is loaded (marking_library.cc)."""
import html.parser
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import unittest
import zipfile

from command_tests import FolderTest, dump_without_launches, write_npz

HLOSCOPE, SAMPLES, LIBRARY = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
MLP = os.path.join(SAMPLES, 'mlp_train_step')
BEFORE = os.path.join(MLP, 'module_0000.jit_mlp_train_step.before_optimizations.txt')

SQUARE = '''HloModule square
ENTRY e {
  x = f32[3] parameter(0)
  ROOT y = f32[3] multiply(x, x)
}
'''
# XLA:CPU takes the NaN in the imaginary part for nothing (tests/conformance/known_xla_faults.md).
ABS = '''HloModule m
ENTRY e {
  p0 = c64[1] parameter(0)
  ROOT r = f32[1] abs(p0)
}
'''


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_parts(path, parts):
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(parts, key=lambda n: n != 'manifest.json'):
            archive.writestr(name, parts[name])


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


class Fixture(FolderTest):
    def run_tool(self, *arguments, environment=None, cwd=None):
        done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, timeout=300, cwd=cwd,
                              env={**os.environ, **(environment or {})})
        return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')

    def create(self, *arguments, environment=None):
        out = self.path('bug.hlob')
        code, text, errors = self.run_tool('bundle', 'create', *arguments, '-o', out, '--json',
                                           environment=environment)
        self.assertEqual(code, 0, text + errors)
        return out, json.loads(text)

    def check(self, path, *options, cwd=None):
        code, text, _ = self.run_tool('bundle', 'check', path, '--json', *options, cwd=cwd)
        return code, json.loads(text)

    def wrong(self):
        """A module, its inputs, and results that it does not give."""
        module = self.path('square.hlo', SQUARE)
        write_npz(self.path('in.npz'), {'in0': ('<f4', (3,), struct.pack('<3f', 1, 2, 3))})
        write_npz(self.path('out.npz'), {'out0': ('<f4', (3,), struct.pack('<3f', 1, 4, 10))})
        return [module, '--inputs', self.path('in.npz'), '--expect', self.path('out.npz')]


class BundleTest(Fixture):
    def test_a_difference_is_reproduced(self):
        out, made = self.create(*self.wrong(), '--values', 'all', '--note', 'see <here> & there')
        self.assertEqual(made['replayed'], 'reproduced')
        self.assertIn('differs in 1 of 3', made['verdict'])
        self.assertEqual(made['bytes'], os.path.getsize(out))
        code, check = self.check(out)
        self.assertEqual((code, check['status'], check['missing']), (0, 'reproduced', []))
        parts = parts_of(out)
        self.assertEqual(sorted(parts), sorted(made['parts']))
        with zipfile.ZipFile(io.BytesIO(parts['inputs.npz'])) as values:
            self.assertTrue(values.read('in0.npy').endswith(struct.pack('<3f', 1, 2, 3)))
        self.assertIn('&lt;here&gt;', parts['report.html'].decode())

    def exchange(self, out, parts, dump):
        """The bundle with other kernels, of the size that its manifest says."""
        manifest = json.loads(parts['manifest.json'])
        for part in manifest['parts']:
            if part['file'] == 'dump.zip':
                part['bytes'] = len(dump.getvalue())
        write_parts(out, {**parts, 'manifest.json': json.dumps(manifest).encode(), 'dump.zip': dump.getvalue()})

    def test_llvm_ir_comes_along_where_it_alone_has_the_launch_sizes(self):
        module = dump_without_launches(SAMPLES, self.folder, blocks=64)
        out, made = self.create(module, '--platform', 'xla-gpu-sim')
        self.assertEqual(made['replayed'], 'reproduced', made)
        with zipfile.ZipFile(io.BytesIO(parts_of(out)['dump.zip'])) as dump:
            self.assertTrue(any(name.endswith('.ll') for name in dump.namelist()), dump.namelist())
        status, text, errors = self.run_tool('run', out, '--platform', 'xla-gpu-sim', '--reference_platform', 'interpreter', '--json')
        self.assertEqual((status, json.loads(text)['status']), (0, 'equal'), text + errors)

    def test_kernels_of_a_dump_come_along(self):
        for sample in ('softmax_passes_a100', 'data_parallel_step_b200'):
            last = next(n for n in os.listdir(os.path.join(SAMPLES, sample)) if n.endswith('gpu_after_optimizations.txt'))
            out, made = self.create(os.path.join(SAMPLES, sample, last), '--platform', 'xla-gpu-sim')
            self.assertEqual(made['replayed'], 'reproduced', made)
            parts = parts_of(out)
            with zipfile.ZipFile(io.BytesIO(parts['dump.zip'])) as dump:
                names = dump.namelist()
            self.assertIn(last, names)
            self.assertFalse(any(name.endswith('.ll') for name in names), names)
            self.assertIn('dump/*_after_optimizations.txt', parts['report.md'].decode())
            # Other commands run those kernels too, and a bundle of the bundle has them.
            on = ('--platform', 'xla-gpu-sim', '--json')
            code, text, errors = self.run_tool('run', out, *on)
            self.assertEqual(code, 0, text + errors)
            self.assertGreater(json.loads(text)['executed']['kernels'], 0)
            code, text, errors = self.run_tool('diverge', out, '--reference_platform', 'interpreter', *on)
            self.assertEqual(code, 0, text + errors)
            again = self.path('again.hlob')
            code, text, errors = self.run_tool('bundle', 'create', out, '--platform', 'xla-gpu-sim', '-o', again, '--json')
            self.assertEqual((code, json.loads(text)['replayed']), (0, 'reproduced'), text + errors)
            self.assertIn('dump.zip', parts_of(again))
        # Another rounding in a kernel is seen: these kernels ran, no others.
        hostile = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(parts['dump.zip'])) as dump, zipfile.ZipFile(hostile, 'w') as changed:
            for name in names:
                text = dump.read(name)
                changed.writestr(name, text.replace(b'mul.rn.f32', b'mul.rz.f32') if name.endswith('.ptx') else text)
        self.exchange(out, parts, hostile)
        code, check = self.check(out)
        self.assertEqual((code, check['status']), (1, 'not_reproduced'), check)
        # Members in folders are refused.
        hostile = io.BytesIO()
        with zipfile.ZipFile(hostile, 'w') as changed:
            changed.writestr('a/' + last, 'HloModule m')
        self.exchange(out, parts, hostile)
        code, check = self.check(out)
        self.assertEqual(code, 2, check)
        self.assertIn('lie in no folders', check['verdict'])

    def test_the_same_bytes_twice(self):
        arguments = [*self.wrong(), '--values', 'statistics']
        out, _ = self.create(*arguments)
        first = {n: b for n, b in parts_of(out).items() if n not in ('run.json', 'manifest.json')}
        out, _ = self.create(*arguments)
        again = parts_of(out)
        for name, data in first.items():
            self.assertEqual(data, again[name], name)

    def test_inputs_from_a_seed_need_no_values(self):
        module = self.path('square.hlo', SQUARE)
        write_npz(self.path('out.npz'), {'out0': ('<f4', (3,), bytes(12))})
        out, made = self.create(module, '--seed', '7')
        self.assertEqual(made['replayed'], 'reproduced')
        self.assertNotIn('inputs.npz', made['parts'])
        self.assertEqual(self.check(out)[1]['status'], 'reproduced')

    def test_missing_values_are_named(self):
        for policy in ('none', 'shapes', 'statistics'):
            out, made = self.create(*self.wrong(), '--values', policy)
            self.assertEqual(made['replayed'], 'cannot')
            code, check = self.check(out)
            self.assertEqual((code, check['status']), (3, 'cannot'))
            self.assertEqual((len(check['missing']), check['verdict']), (2, 'cannot be replayed here, missing: ' + '; '.join(check['missing'])))
            parts = parts_of(out)
            self.assertFalse([name for name in parts if name.endswith('.npz')])
            self.assertEqual('inputs.json' in parts, policy != 'none')
            self.assertEqual(b'"max":3' in parts.get('inputs.json', b''), policy == 'statistics')
            if policy != 'statistics':  # no element, not even in a sentence
                self.assertNotIn(b'expected 10', b'\n'.join(parts.values()))

    def test_what_no_longer_fails_is_not_reproduced(self):
        out, _ = self.create(*self.wrong(), '--values', 'all')
        parts = parts_of(out)
        right = self.path('right.npz')
        write_npz(right, {'out0': ('<f4', (3,), struct.pack('<3f', 1, 4, 9))})
        manifest = json.loads(parts['manifest.json'])
        with open(right, 'rb') as file:
            parts['expected.npz'] = file.read()
        for part in manifest['parts']:
            part['bytes'] = len(parts[part['file']])
        parts['manifest.json'] = json.dumps(manifest).encode()
        write_parts(out, parts)
        code, check = self.check(out)
        self.assertEqual((code, check['status']), (1, 'not_reproduced'))
        self.assertIn('changed since the bundle was made: expected.npz', check['verdict'])
        parts['report.md'] += b'more'
        write_parts(out, parts)
        code, check = self.check(out)
        self.assertEqual((code, check['status']), (2, 'cannot'))
        self.assertIn('report.md has', check['verdict'])

    def test_a_crash_and_an_error_are_reproduced(self):
        module = self.path('call.hlo', '''HloModule m
ENTRY e { ROOT c = f32[2] custom-call(), custom_call_target="nobody_has_this" }
''')
        out, made = self.create(module)
        self.assertEqual((made['status'], made['replayed']), ('unsupported', 'reproduced'))
        endless = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'endless.hlo')
        out, made = self.create(endless, '--deadline', '0.5')
        self.assertEqual((made['status'], made['error_kind'], made['replayed']), ('died', 'deadline', 'reproduced'))
        self.assertEqual(json.loads(self.run_tool('info', out, '--json')[1])['bundle']['error_kind'], 'deadline')

    def test_a_mistake_in_the_inputs_is_no_report(self):
        write_npz(self.path('other.npz'), {'in0': ('<f4', (4,), struct.pack('<4f', 1, 2, 3, 4))})
        module = self.path('square.hlo', SQUARE)
        status, _, err = self.run_tool('bundle', 'create', module, '--inputs', self.path('other.npz'), '-o', self.path('b.hlob'))
        self.assertEqual(status, 2)
        self.assertIn('in0: the array is [4], expected f32[3]', err)
        self.assertFalse(os.path.exists(self.path('b.hlob')))

    def test_commands_open_what_is_inside(self):
        out, _ = self.create(*self.wrong(), '--values', 'all')
        code, text, _ = self.run_tool('info', out)
        self.assertEqual(code, 0)
        self.assertIn('a bug bundle of hloscope', text)
        code, text, _ = self.run_tool('info', out, '--json')
        self.assertEqual(json.loads(text)['bundle']['status'], 'differs')
        self.assertIn('multiply', self.run_tool('show', out)[1])
        self.assertEqual(self.run_tool('verify', out)[0], 0)
        self.assertEqual(self.run_tool('run', out)[0], 0)

    def test_the_viewer_opens_it(self):
        out, _ = self.create(*self.wrong(), '--values', 'all')
        picture = self.path('picture.png')
        code, _, errors = self.run_tool('open', out, '--screenshot', picture, '--size', '800x600')
        if 'cannot load the viewer' in errors:
            self.skipTest('no viewer in this build')
        self.assertEqual(code, 0, errors)
        self.assertGreater(os.path.getsize(picture), 1000)

    def test_protos_leave_what_nobody_knows(self):
        module = self.path('square.hlo', SQUARE)
        proto = self.path('square.hlo.pb')
        self.assertEqual(self.run_tool('convert', module, proto)[0], 0)
        with open(proto, 'ab') as file:  # field 15000 of the file, a text
            file.write(b'\xc2\xa9\x07\x0dunknownsecret')
        out, made = self.create(proto, '--values', 'all')
        self.assertIn('module.hlo.pb', made['parts'])
        self.assertNotIn(b'unknownsecret', b''.join(parts_of(out).values()))
        self.assertEqual(made['replayed'], 'reproduced')

    def test_unpacking(self):
        out, made = self.create(*self.wrong(), '--values', 'all')
        into = self.path('unpacked')
        code, text, errors = self.run_tool('bundle', 'open', out, '--into', into)
        self.assertEqual(code, 0, errors)
        self.assertEqual(sorted(os.listdir(into)), sorted(made['parts']))
        self.assertEqual(os.stat(into).st_mode & 0o777, 0o700)
        code, _, errors = self.run_tool('bundle', 'open', out, '--into', into)
        self.assertEqual(code, 2)
        self.assertIn('exists already', errors)
        os.symlink(self.folder, self.path('link'))
        self.assertEqual(self.run_tool('bundle', 'open', out, '--into', self.path('link'))[0], 2)
        # The command of the report, as it stands there.
        with open(os.path.join(into, 'report.md')) as file:
            report = file.read()
        line = re.search(r'^hloscope (run module.hlo.*)$', report, re.M).group(1)
        done = subprocess.run([HLOSCOPE, *line.split()], cwd=into, capture_output=True, timeout=100)
        self.assertEqual(done.returncode, 1)

    def test_the_report_is_inert(self):
        payload = '"><script>alert(1)</script><img src=x onerror=alert(2)>`![x](http://evil.example.com)'
        out, _ = self.create(*self.wrong(), '--note', payload)
        plain = Tags()
        plain.feed(parts_of(out)['report.html'].decode())
        self.assertFalse({'script', 'img', 'iframe', 'link', 'a', 'object'} & set(plain.tags))
        self.assertFalse([name for name in plain.attributes if name.startswith('on')])
        self.assertNotIn('](http', parts_of(out)['report.md'].decode())

    def test_a_dump_says_stage_and_framework(self):
        out, made = self.create(MLP)
        manifest = json.loads(parts_of(out)['manifest.json'])
        self.assertEqual(manifest['stage'], 'before_optimizations')
        self.assertEqual(made['replayed'], 'reproduced')

    def test_a_recorded_dump_says_the_version(self):
        os.mkdir(self.path('d'))
        self.path('d/module_0001.jit_square.before_optimizations.txt', SQUARE.replace('HloModule ', 'HloModule jit_', 1))
        self.path('d/hloscope-record.json', json.dumps({'framework': 'JAX', 'version': '0.10.2', 'packages': {'jaxlib': '0.10.2'}}))
        out, _ = self.create(self.path('d'))
        manifest = json.loads(parts_of(out)['manifest.json'])
        self.assertEqual((manifest['framework'], manifest['framework_version']), ('JAX', '0.10.2, jaxlib 0.10.2'))
        self.assertIn('JAX 0.10.2, jaxlib 0.10.2', parts_of(out)['report.md'].decode())

    def test_a_verdict_names_the_run(self):
        arguments = self.wrong()
        verdict = self.path('verdict.json', json.dumps({
            'module': arguments[0], 'platform': 'interpreter', 'reference': '', 'seed': 3,
            'status': 'differs', 'pass': 'algsimp', 'verdict': 'pass algsimp changed add to subtract', 'cured_by': [],
            'tries': [{'what': '--xla_disable_hlo_passes=algsimp', 'closes': True, 'detail': '0 differ'}]}))
        out, made = self.create(verdict)
        self.assertEqual(made['verdict'], 'pass algsimp changed add to subtract')
        page = parts_of(out)['report.html'].decode()
        self.assertIn('xla_disable_hlo_passes=algsimp', page)
        self.assertEqual(json.loads(parts_of(out)['manifest.json'])['request']['seed'], 3)

    def test_on_xla(self):
        module = self.path('abs.hlo', ABS)
        write_npz(self.path('in.npz'), {'in0': ('<c8', (1,), struct.pack('<2f', 0, float('nan')))})
        if 'not found' in self.run_tool('run', module, '--platform', 'xla-cpu')[2] or \
           self.run_tool('run', module, '--platform', 'xla-cpu')[0] != 0:
            self.skipTest('no plugin for xla-cpu')
        out, made = self.create(module, '--inputs', self.path('in.npz'), '--platform', 'xla-cpu',
                                '--reference_platform', 'interpreter', '--values', 'all')
        self.assertEqual((made['status'], made['replayed']), ('differs', 'reproduced'), made)
        environment = json.loads(parts_of(out)['environment.json'])
        self.assertTrue(environment['plugins'][0]['version'])
        self.assertIn('run_hlo_module', parts_of(out)['report.md'].decode())

    def test_what_xla_refuses_goes_into_a_bundle(self):
        if self.run_tool('run', self.path('abs.hlo', ABS), '--platform', 'xla-cpu')[0] != 0:
            self.skipTest('no plugin for xla-cpu')
        module = self.path('narrow.hlo', 'HloModule m\nENTRY e {\n  x = u4[1,1] parameter(0)\n'
                           '  ROOT r = (u4[1,1], s32[1,1]) topk(x), k=1, largest=false\n}\n')
        out, made = self.create(module, '--platform', 'xla-cpu')
        self.assertEqual((made['status'], made['replayed']), ('error', 'reproduced'), made)

    def test_no_secret_leaves(self):
        secrets, module, environment = planted()
        path = self.path('leaky.hlo', module)
        write_npz(self.path('alice.npz'), {'in0': ('<f4', (3,), struct.pack('<3f', 1, 2, 3)),
                                     'member_' + secrets['member name']: ('<f4', (1,), bytes(4))})
        with open(self.path('alice.npz'), 'ab'):
            pass
        verdict = self.path('verdict_of_' + secrets['file name'] + '.json', json.dumps({
            'module': path, 'verdict': 'found in ' + secrets['verdict path'] + ' by ' + secrets['verdict token'],
            secrets['key path']: 'x', 'tries': [{'what': secrets['try path'], 'closes': None, 'detail': secrets['try host']}]}))
        out, made = self.create(path, '--inputs', self.path('alice.npz'), '--values', 'all',
                                '--verdict', verdict, '--reduced', path,
                                '--note', f'on {secrets["note host"]} as {secrets["note mail"]} with {secrets["note token"]}',
                                '--xla_dump_to=' + secrets['flag path'], environment=environment)
        everything = b'\n'.join([n.encode() + b'\n' + d for n, d in parts_of(out).items()])
        for name, data in parts_of(out).items():
            if name.endswith('.npz'):
                everything += b'\n'.join(n.encode() + d for n, d in parts_of(io.BytesIO(data)).items())
        self.assertGreaterEqual(len(secrets), 40)
        left = {kind: text for kind, text in secrets.items() if text.encode() in everything}
        self.assertEqual(left, {})
        self.assertGreater(sum(made['redacted'].values()), 40)
        self.assertIn(b'<path', everything)
        self.assertIn(b'/train.py', everything)  # base names stay
        self.assertEqual(made['replayed'], 'reproduced')


class UntrustedBundleTest(Fixture):
    """What a bundle may ask of the machine on which it is checked."""

    def with_request(self, request, module=SQUARE, made_of=SQUARE):
        """A bundle whose manifest has these fields of the request, and that module."""
        out, _ = self.create(self.path('made_of.hlo', made_of))
        parts = parts_of(out)
        manifest = json.loads(parts['manifest.json'])
        manifest['request'].update(request)
        parts['module.hlo'] = module.encode() if module != made_of else parts['module.hlo']
        for part in manifest['parts']:
            part['bytes'] = len(parts[part['file']])
        parts['manifest.json'] = json.dumps(manifest).encode()
        write_parts(out, parts)
        return out

    def refused(self, request, *options, module=SQUARE, cwd=None):
        """The fields that are refused; the text names each, and nothing ran."""
        bundle = self.with_request(request, module)
        code, check = self.check(bundle, *options, cwd=cwd)
        self.assertEqual((code, check['status']), (3, 'cannot'), check)
        self.assertEqual(len(check['missing']), len(check['refused']), check)
        code, text, _ = self.run_tool('bundle', 'check', bundle, *options, cwd=cwd)
        self.assertEqual(code, 3, text)
        for field in check['refused']:
            self.assertIn(field.split('.')[-1] if field != 'verify' else 'verifier', text)
        return check['refused']

    def library(self):
        """A library in the folder of the test that tells when it was loaded."""
        path = self.path('FILE.so')  # as the name that stands for all of them has it
        shutil.copy(LIBRARY, path)
        return path

    def test_no_library_is_loaded(self):
        library = self.library()
        mark = library + '.loaded'
        for name in (library, 'FILE.so', './FILE.so', '../' + os.path.basename(self.folder) + '/FILE.so'):
            for field in ('platform', 'reference_platform'):
                self.assertEqual(self.refused({field: 'pjrt:' + name}, cwd=self.folder), [field])
        for name in (library, 'FILE.so', 'jaxlib:' + library, 'xla-cpu:' + library, 'PJRT:' + library):
            self.assertEqual(self.refused({'platform': name}, cwd=self.folder), ['platform'])
        # Fields that manifests do not have, and files in the other ones.
        more = {'reference_python': library, 'python': library, 'plugin': library, 'workers': library,
                'environment': ['LD_PRELOAD=' + library], 'jaxlib': library, 'module_file': library,
                'inputs': [library], 'outputs': library, 'save_inputs': library}
        code, check = self.check(self.with_request(more), cwd=self.folder)
        self.assertEqual((code, check['refused']), (0, []), check)
        self.assertFalse(os.path.exists(mark))
        # A verdict is not trusted either.
        verdict = self.path('verdict.json', json.dumps({
            'module': self.path('square.hlo', SQUARE), 'platform': 'pjrt:' + library, 'reference': 'interpreter',
            'status': 'differs', 'verdict': 'x', 'cured_by': []}))
        for option in ((), ('--plan',)):
            code, text, errors = self.run_tool('bundle', 'create', verdict, '-o', self.path('v.hlob'), *option)
            self.assertEqual(code, 2, text + errors)
            self.assertIn('a verdict may name no file', errors)
        self.assertFalse(os.path.exists(mark))
        # The user may name it.
        self.check(self.with_request({'platform': 'pjrt:' + library}), '--platform', 'pjrt:' + library)
        self.assertTrue(os.path.exists(mark))

    def test_the_user_replaces_what_is_refused(self):
        flags = {'xla_disable_hlo_passes': '/etc/passwd'}
        bundle = self.with_request({'platform': 'pjrt:/no/such.so', 'xla_flags': flags})
        code, check = self.check(bundle, '--platform', 'cpu', '--xla_disable_hlo_passes=fusion')
        self.assertEqual((code, check['refused'], check['missing']), (0, [], []), check)

    def test_the_verifier_stays_on(self):
        too_large = '''HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  ROOT r = f32[100000000] negate(p)
}
'''
        too_small = '''HloModule m
ENTRY e {
  p = f32[100000000] parameter(0)
  ROOT r = f32[4] concatenate(p, p), dimensions={0}
}
'''
        for module in (too_large, too_small):
            for platform in ('cpu', 'interpreter', 'gpu-sim'):
                request = {'verify': False, 'platform': platform}
                self.assertEqual(self.refused(request, module=module), ['verify'])
        # What the verifier accepts needs no switch.
        code, check = self.check(self.with_request({'verify': False}))
        self.assertEqual((code, check['refused']), (0, []), check)
        self.assertIn('recorded with --no-verify', check['notes'][0])

    def test_flags_go_through_a_list(self):
        bad = {'xla_gpu_load_autotune_results_from': 'x.pb', 'xla_backend_extra_options': 'xla_cpu_small_call',
               'xla_gpu_cuda_data_dir': 'evil', 'xla_gpu_ptx_file': 'a', 'xla_cpu_x': 'true',
               'xla_cpu_enable_fast_math': 'evil', 'xla_backend_optimization_level': '1e', 'xla_cpu_max_isa': 'a.so',
               'xla_disable_hlo_passes': '/etc/passwd', 'xla_gpu_autotune_level': '1 --xla_dump_to=evil',
               'xla_gpu_ftz --xla_dump_to': 'true', 'xla_gpu_per_fusion_autotune_cache_dir': 'true'}
        for field in ('xla_flags', 'reference_flags'):
            request = {'platform': 'xla-gpu-sim', 'target': 'h100', 'reference_platform': 'interpreter', field: bad}
            self.assertEqual(sorted(self.refused(request, cwd=self.folder)), sorted(f'{field}.{name}' for name in bad))
        good = {'xla_cpu_enable_fast_math': 'true', 'xla_backend_optimization_level': '0', 'xla_cpu_max_isa': 'AVX2',
                'xla_disable_hlo_passes': 'algsimp,tree_reduction_rewriter', 'xla_gpu_autotune_gemm_rtol': '0.1'}
        quiet = {'xla_dump_to': 'evil', 'xla_dump_hlo_as_text': 'true'}
        code, check = self.check(self.with_request({'xla_flags': {**good, **quiet}}), cwd=self.folder)
        self.assertEqual((code, check['refused']), (0, []), check)
        for name in quiet:
            self.assertTrue([note for note in check['notes'] if f'{name} is left out' in note], check)
        self.assertFalse(os.path.exists(self.path('evil')))

    def test_targets_are_names(self):
        for target in ('../evil', '/etc/passwd', 'FILE.so', 'evil'):
            self.library()
            self.path('evil', 'x')
            self.assertEqual(self.refused({'target': target}, cwd=self.folder), ['target'])

    def test_no_more_than_the_limits(self):
        bundle = self.with_request({'deadline': 1e9, 'memory': 1 << 60, 'threads': 4096})
        code, check = self.check(bundle)
        self.assertEqual((code, check['refused']), (0, []), check)
        for name in ('deadline: 60', 'memory: ', 'threads: '):
            self.assertEqual(len([n for n in check['notes'] if n.startswith(name)]), 1, check)
        code, check = self.check(bundle, '--deadline', '7')
        self.assertIn('deadline: 7 here, 1000000000 recorded', check['notes'])


class PlanTest(Fixture):
    """--plan says what goes in; what is made then has these parts, of these sizes."""

    def plan(self, *arguments, environment=None):
        code, text, errors = self.run_tool('bundle', 'create', *arguments, '-o', self.path('bug.hlob'), '--plan',
                                           '--json', environment=environment)
        self.assertEqual(code, 0, text + errors)
        self.assertFalse(os.path.exists(self.path('bug.hlob')))
        return json.loads(text)

    def hold(self, plan, made, out):
        """The plan is true of the bundle."""
        sizes = {name: len(data) for name, data in parts_of(out).items()}
        known = plan['sizes']
        gone = set(plan['of_run']) - set(sizes)
        self.assertEqual([name for name in plan['parts'] if name not in gone], made['parts'])
        self.assertEqual({name: size for name, size in known.items() if name not in gone},
                         {name: sizes[name] for name in known if name not in gone})
        self.assertEqual(plan['bytes'], sum(known.values()))
        self.assertLess(plan['packed_bytes'], made['bytes'])
        for kind, count in plan['redacted'].items():
            self.assertLessEqual(count, made['redacted'][kind])
        return known, gone

    def test_of_every_policy(self):
        arguments = [*self.wrong(), '--note', 'see /home/somebody/x.py']
        for policy in ('none', 'shapes', 'statistics', 'all'):
            plan = self.plan(*arguments, '--values', policy)
            out, made = self.create(*arguments, '--values', policy)
            known, gone = self.hold(plan, made, out)
            os.remove(out)
            self.assertEqual(gone, set(), policy)
            self.assertEqual('inputs.npz' in known, policy == 'all')
            self.assertEqual('expected.npz' in known, policy == 'all')
            self.assertEqual('results.json' in known, policy == 'shapes')
            self.assertGreater(plan['redacted']['path'], 0)

    def test_of_secrets_a_verdict_and_a_reduced_module(self):
        _, module, environment = planted()
        path = self.path('leaky.hlo', module)
        verdict = self.path('verdict.json', json.dumps({'module': path, 'verdict': 'found in /data/x by me'}))
        arguments = [path, '--verdict', verdict, '--reduced', path, '--no-source', '--values', 'all']
        plan = self.plan(*arguments, environment=environment)
        out, made = self.create(*arguments, environment=environment)
        known, _ = self.hold(plan, made, out)
        self.assertTrue({'verdict.json', 'reduced.hlo', 'module.hlo', 'environment.json'} <= set(known))
        self.assertGreater(sum(plan['redacted'].values()), 20)

    def test_of_a_dump_and_of_devices(self):
        plan = self.plan(MLP)
        out, made = self.create(MLP)
        self.hold(plan, made, out)
        os.remove(out)
        module = self.path('two.hlo', """HloModule two, replica_count=2
ENTRY e {
  x = f32[3] parameter(0)
  ROOT y = f32[3] add(x, x)
}
""")
        plan = self.plan(module, '--values', 'all')
        out, made = self.create(module, '--values', 'all')
        self.hold(plan, made, out)

    def test_of_what_does_not_run(self):
        module = self.path('call.hlo', '''HloModule m
ENTRY e { ROOT c = f32[2] custom-call(), custom_call_target="nobody_has_this" }
''')
        plan = self.plan(module)
        out, made = self.create(module)
        self.assertEqual(self.hold(plan, made, out)[1], {'results.json'})

    def test_is_told(self):
        code, text, errors = self.run_tool('bundle', 'create', *self.wrong(), '--plan')
        self.assertEqual(code, 0, errors)
        self.assertIn('square.hlob would have', text)
        self.assertRegex(text, r'module.hlo +[0-9]+ B')
        self.assertRegex(text, r'report.html +\? ')
        self.assertIn('redacted in them: 1 × path', text)
        code, text, _ = self.run_tool('bundle', 'create', self.path('no.hlo'), '--plan', '--json')
        self.assertEqual(code, 2)
        self.assertIn('error', json.loads(text))


class ReducedTest(Fixture):
    """A smaller module, with the values that it fails on."""

    def small(self, value):
        main = self.path('main.hlo', '''HloModule main
ENTRY e {
  x = f32[4] parameter(0)
  z = f32[4] subtract(x, x)
  ROOT born = f32[4] divide(z, z)
}
''')
        small = self.path('small.hlo', '''HloModule small
ENTRY e {
  z = f32[] parameter(0)
  ROOT born = f32[] divide(z, z)
}
''')
        write_npz(self.path('small.npz'), {'in0': ('<f4', (), struct.pack('<f', value))})
        return [main, '--find', 'nan', '--reduced', small, '--reduced_inputs', self.path('small.npz')]

    def test_fails_on_its_own_inputs(self):
        out, made = self.create(*self.small(0), '--values', 'all')
        self.assertIn('reduced_inputs.npz', made['parts'])
        self.assertEqual(self.check(out)[1]['reduced'], 'reproduced')
        report = parts_of(out)['report.md'].decode()
        line = re.search(r'^hloscope (run reduced.hlo.*)$', report, re.M).group(1)
        self.assertIn('--inputs reduced_inputs.npz', line)
        self.assertEqual(self.run_tool('bundle', 'open', out, '--into', self.path('b'))[0], 0)
        done = subprocess.run([HLOSCOPE, *line.split()], cwd=self.path('b'), capture_output=True, timeout=100)
        self.assertIn(b'born', done.stdout)

    def test_without_them(self):
        out, made = self.create(*self.small(0), '--values', 'shapes')
        self.assertIn('reduced_inputs.json', made['parts'])
        code, check = self.check(out)
        self.assertEqual((code, check['status'], check['reduced']), (0, 'reproduced', 'cannot'))
        out, _ = self.create(*self.small(0)[:-2], '--values', 'shapes')  # those of the seed
        self.assertEqual(self.check(out)[1]['reduced'], 'not_reproduced')

    def test_on_others(self):
        out, _ = self.create(*self.small(1), '--values', 'all')
        check = self.check(out)[1]
        self.assertEqual((check['status'], check['reduced']), ('reproduced', 'not_reproduced'))
        self.assertIn('the reduced module does not fail here', check['verdict'])

    def test_need_their_module(self):
        code, _, errors = self.run_tool('bundle', 'create', self.small(0)[0], '--reduced_inputs', self.path('small.npz'))
        self.assertEqual(code, 2)
        self.assertIn('--reduced-inputs needs --reduced', errors)


class LastStepTest(Fixture):
    """--bundle of run, diverge and reduce, and the line that tells of it."""

    def made(self, *arguments, code):
        """What is in the command's line, and the bundle."""
        out = self.path('step.hlob')
        status, text, errors = self.run_tool(*arguments, '--bundle', out, '--json')
        self.assertEqual(status, code, text + errors)
        line = json.loads(text.splitlines()[-1])
        self.assertEqual(line['bundle']['file'], out)
        self.assertEqual(self.check(out)[1]['status'], line['bundle']['replayed'])
        return line, parts_of(out)

    def hint(self, *arguments):
        text = self.run_tool(*arguments)[1]
        return [line.removeprefix('to report this: ') for line in text.splitlines()
                if line.startswith('to report this: ')]

    def nan(self):
        return self.path('nan.hlo', '''HloModule nan
ENTRY e {
  x = f32[4] parameter(0)
  t = f32[4] tanh(x)
  zero = f32[4] subtract(t, t)
  ROOT born = f32[4] divide(zero, zero)
}
''')

    def test_a_run(self):
        wrong = self.wrong()
        line, parts = self.made('run', *wrong, '--values', 'all', '--note', 'see', code=1)
        self.assertEqual((line['status'], line['bundle']['replayed']), ('differs', 'reproduced'))
        self.assertEqual(parts['note.txt'], b'see')
        self.assertIn('inputs.npz', parts)
        hint, = self.hint('run', *wrong)
        self.assertIn(f'bundle create {wrong[0]} -o square.hlob --platform cpu --inputs', hint)
        done = subprocess.run([HLOSCOPE, *hint.split()[1:]], cwd=self.folder, capture_output=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.hint('run', wrong[0]), [])
        self.assertEqual(self.hint('run', *wrong, '--json'), [])

    def test_a_search_for_nan(self):
        line, parts = self.made('run', self.nan(), '--find', 'nan', code=0)
        self.assertEqual(line['bundle']['replayed'], 'reproduced')
        self.assertEqual(json.loads(parts['manifest.json'])['request']['find'], 'nan')
        self.assertIn(b'--find nan', parts['report.md'])

    def test_a_verdict(self):
        a = self.path('a.hlo', SQUARE)
        b = self.path('b.hlo', SQUARE.replace('multiply', 'add'))
        line, parts = self.made('diverge', a, b, code=1)
        verdict = json.loads(parts['verdict.json'])
        self.assertEqual(verdict['instruction'], line['instruction'])
        self.assertEqual(line['bundle']['verdict'], line['verdict'])
        # What its elements are goes in by the policy only.
        self.assertIn('"actual"', json.dumps(line))
        self.assertNotIn(b'"actual"', parts['verdict.json'])
        self.assertEqual(self.hint('diverge', a, b), [f'hloscope diverge {a} {b} --platform interpreter --bundle a.hlob'])

    def test_a_reduction(self):
        small = self.path('small.hlo')
        line, parts = self.made('reduce', self.nan(), '--find', 'nan', '-o', small, code=0)
        self.assertEqual((line['status'], line['bundle']['replayed']), ('reduced', 'reproduced'))
        self.assertLess(len(parts['reduced.hlo']), len(parts['module.hlo']))
        hint, = self.hint('reduce', self.nan(), '--find', 'nan', '-o', small)
        self.assertIn(f' --reduced {small}', hint)
        self.assertIn(' --find nan', hint)
        code, _, errors = self.run_tool('reduce', self.nan(), '--script', '/bin/true', '-o', small,
                                        '--bundle', self.path('x.hlob'))
        self.assertEqual(code, 2, errors)

    def test_a_reduction_of_a_bundle_runs_as_recorded(self):
        out, small = self.path('nan.hlob'), self.path('small.hlo')
        self.assertEqual(self.run_tool('bundle', 'create', self.nan(), '--find', 'nan', '-o', out)[0], 0)
        code, text, errors = self.run_tool('reduce', out, '-o', small, '--json')
        report = json.loads(text)
        self.assertEqual((code, report['status'], report['platform']), (0, 'reduced', 'interpreter'), errors)
        self.assertIn('run as the bundle was recorded: --platform interpreter --find nan', report['warnings'])
        self.assertIn('--find nan', report['command'])
        # Platforms, bounds and flags, and what the user says instead.
        sound = self.path('square.hlo', SQUARE)
        exact = ['--platform', 'cpu', '--reference_platform', 'interpreter', '--abs_error_bound', '0.5']
        self.assertEqual(self.run_tool('bundle', 'create', sound, *exact, '-o', out)[0], 0)
        code, text, _ = self.run_tool('reduce', out, '-o', small)
        self.assertEqual((code, text.splitlines()[0]), (1, f'{out}: does not fail on cpu against interpreter'))
        self.assertIn('note: run as the bundle was recorded: ' + ' '.join(exact), text)
        report = json.loads(self.run_tool('reduce', out, '-o', small, '--json', '--platform', 'interpreter')[1])
        self.assertEqual((report['platform'], report['reference']), ('interpreter', 'interpreter'))
        report = json.loads(self.run_tool('reduce', sound, '-o', small, '--json')[1])
        self.assertTrue(report['warnings'][0].startswith('the results were compared with nothing'), report)
        write_npz(self.path('x.npz'), {'in0': ('<f4', (4,), bytes(16))})
        self.assertEqual(self.run_tool('bundle', 'create', self.nan(), '--inputs', self.path('x.npz'), '-o', out)[0], 0)
        self.assertIn('note: the bundle does not contain the values of its inputs', self.run_tool('reduce', out, '-o', small)[1])

    def test_what_cannot_be_packed_is_said(self):
        module = self.path('square.hlo', SQUARE)
        self.assertEqual(self.run_tool('run', module, '--note', 'x')[0], 2)
        self.assertEqual(self.run_tool('run', module, module, '--bundle', self.path('x.hlob'))[0], 2)
        code, text, errors = self.run_tool('run', module, '--bundle', module, '--json')
        self.assertEqual(code, 2)
        self.assertIn('that is an input', errors)
        self.assertIn('that is an input', json.loads(text)['bundle']['error'])
        with open(module) as file:
            self.assertEqual(file.read(), SQUARE)
        code, _, errors = self.run_tool('run', module, '--bundle', self.path('no/such/folder.hlob'))
        self.assertEqual(code, 2, errors)


def planted():
    """Secrets by where they are, a module that holds them, and an environment."""
    s = {
        'source path': 'acme_project', 'relative path': 'hidden_src', 'space path': 'My Secret Project',
        'windows path': 'SecretShare', 'unc host': 'fileserver7', 'home user': 'alice_kowalski',
        'user as word': 'alice_kowalski', 'frame path': 'frame_secret_dir', 'function user': 'bwayne',
        'gs bucket': 'acme-private-bucket', 'mail': 'jane.doe', 'mail host': 'mail.acme-corp.com',
        'ssh host': 'trainbox42', 'fqdn': 'gpu-17.cluster.internal', 'ip': '10.23.45.67',
        'mac': '02:42:ac:11:00:0a', 'ghp token': 'ghp_' + 'a1B2' * 9, 'hf token': 'hf_' + 'QwEr1' * 7,
        'aws key': 'AKIAIOSFODNN7EXAMPLE', 'sk token': 'sk-proj' + 'Ab3d' * 8, 'jwt': 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.c2ln',
        'bearer': 'q8w7e6r5t4y3u2', 'password': 'hunter2hunter2', 'api key': 'zz-top-secret-key-1',
        'random': 'x9K2' * 9, 'env value': 'Sup3rSecretEnvironmentValue', 'env assignment': 'valueofvariable77',
        'env number path': 'slurm-spool-991', 'backend path': 'backend_secret', 'frontend path': 'frontend_secret',
        'custom call path': 'customcall_secret', 'unknown attribute': 'unknown_secret', 'nested json': 'nested_secret',
        'member name': 'membersecret', 'file name': 'filesecret', 'verdict path': '/data/verdict_secret/x',
        'verdict token': 'glpat-' + 'Zy9x' * 5, 'key path': '/data/key_secret/y', 'try path': '/data/try_secret/z.py',
        'try host': 'node3.acme.local', 'note host': 'notehost.acme.corp', 'note mail': 'bob@notemail.example.org',
        'note token': 'xoxb-123456789012-abcdef', 'flag path': '/data/flag_secret/dump', 'instruction name': 'ci_bot_zed',
    }
    module = f'''HloModule jit_step, frontend_attributes={{where="/mnt/{s['frontend path']}/conf.yaml",nested={{"a":"{{\\"p\\":\\"/mnt/{s['nested json']}/q\\"}}"}}}}

FileNames
1 "/home/{s['home user']}/{s['source path']}/train.py"
2 "{s['relative path']}/lib/model.py"
3 "/opt/{s['frame path']}/x.py"

FunctionNames
1 "main_{s['function user']}"

FileLocations
1 {{file_name_id=1 function_name_id=1 line=12 end_line=12 column=3 end_column=9}}

StackFrames
1 {{file_location_id=1 parent_frame_id=1}}

ENTRY %main (x: f32[3]) -> f32[3] {{
  %x = f32[3]{{0}} parameter(0), metadata={{op_name="jit(step)/{s['user as word']}/x" source_file="/home/{s['home user']}/{s['space path']}/train.py" source_line=3 stack_frame_id=1}}
  %a = f32[3]{{0}} add(%x, %x), metadata={{op_name="/home/{s['function user']}/k C:\\\\Users\\\\carol\\\\{s['windows path']}\\\\m.py \\\\\\\\{s['unc host']}\\\\share\\\\m.py" source_file="{s['relative path']}/model.py"}}
  %b = f32[3]{{0}} add(%a, %x), metadata={{op_name="gs://{s['gs bucket']}/ckpt mail {s['mail']}@{s['mail host']} ssh svc@{s['ssh host']} at {s['fqdn']} {s['ip']} {s['mac']}"}}
  %c = f32[3]{{0}} add(%b, %x), metadata={{op_name="{s['ghp token']} {s['hf token']} {s['aws key']} {s['sk token']} {s['jwt']} Bearer {s['bearer']}"}}
  %d = f32[3]{{0}} add(%c, %x), metadata={{op_name="password={s['password']} api_key: {s['api key']} {s['random']} {s['env value']} MY_SETTING={s['env assignment']} /var/spool/{s['env number path']}/x"}}
  %e = f32[3]{{0}} add(%d, %x), backend_config={{"file":"/mnt/{s['backend path']}/tune.json"}}
  %{s['instruction name']} = f32[3]{{0}} add(%e, %x), my_attribute="/mnt/{s['unknown attribute']}/u.txt"
  ROOT %r = f32[3]{{0}} multiply(%{s['instruction name']}, %x), frontend_attributes={{call="/mnt/{s['custom call path']}/lib.so"}}
}}
'''
    return s, module, {'MY_PRIVATE': s['env value'], 'USER': s['instruction name'], 'LOGNAME': s['instruction name']}


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
