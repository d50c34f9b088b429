#!/usr/bin/env python3
"""Every JSON key that a command prints stays: json_keys_test.py HLOSCOPE SAMPLES [--write].

json_keys.txt lists for each case below the keys of all objects that it prints, with their place: `outputs[].shape` is the
key `shape` of the objects in the list `outputs`. A key of the list that is missing fails; new keys pass, and `--write`
adds them to the file (it removes none). Every object is also what assets/schemas says of its command; `--write` widens those."""
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import json_schemas
from command_tests import FolderTest, write_npz

HLOSCOPE, SAMPLES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'json_keys.txt')
MLP = os.path.join(SAMPLES, 'mlp_train_step')
TEXT = os.path.join(MLP, 'module_0000.jit_mlp_train_step.before_optimizations.txt')
CONV = os.path.join(SAMPLES, 'conv_net')
TRACE = os.path.join(CONV, 'conv_net.xplane.pb.gz')
SOFTMAX = os.path.join(SAMPLES, 'softmax_passes_a100')
ATTENTION = os.path.join(SAMPLES, 'attention_block_h100')

# Objects whose keys are names from the input, not ours.
MAPS = {'opcodes', 'operations', 'links', 'packages', 'environment', 'xla_flags'}

MODULE = '''HloModule m
f { a = f32[8] parameter(0)
 b = f32[8] parameter(1)
 s = f32[8] subtract(a, b)
 ROOT t = f32[8] multiply(s, s) }
sum { p = f32[] parameter(0)
 q = f32[] parameter(1)
 ROOT u = f32[] add(p, q) }
ENTRY e {
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  z = f32[8] exponential(x)
  g = f32[8] fusion(z, y), kind=kLoop, calls=f
  h = f32[8] tanh(g)
  zero = f32[] constant(0)
  ROOT r = f32[] reduce(h, zero), dimensions={0}, to_apply=sum
}
'''
NAN = '''HloModule n
ENTRY e {
  x = f32[4] parameter(0)
  z = f32[4] subtract(x, x)
  ROOT d = f32[4] divide(z, z)
}
'''
# One instruction runs on the host, and one nowhere.
UNSUPPORTED = '''HloModule u
ENTRY e {
  x = f32[3,3] parameter(0)
  h = (f32[3,3], f32[3]) custom-call(x), custom_call_target="lapack_sgeqrf_ffi", api_version=API_VERSION_TYPED_FFI
  c = f32[3,3] custom-call(x), custom_call_target="nobody_knows_this"
  ROOT r = ((f32[3,3], f32[3]), f32[3,3]) tuple(h, c)
}
'''
FALLBACK = '''HloModule h
ENTRY e {
  x = f32[3,3] parameter(0)
  ROOT c = f32[3,3] cholesky(x), lower=true
}
'''
EDGE = '''HloModule edge
ENTRY e {
  x = s32[] parameter(0)
  y = s32[] constant(0)
  ROOT d = s32[] divide(x, y)
}
'''


def keys_of(value, place, found):
    """Adds the place of every key in `value` to `found`."""
    if isinstance(value, list):
        for item in value:
            keys_of(item, place + '[]', found)
    elif isinstance(value, dict):
        is_map = place.rsplit('.', 1)[-1] in MAPS
        for key, item in value.items():
            inner = '*' if is_map else key
            path = place + '.' + inner if place else inner
            found.add(path)
            keys_of(item, path, found)


def read_list():
    cases, keys = {}, None
    with open(LIST, encoding='utf-8') as file:
        for line in file.read().splitlines():
            if line.startswith('['):
                keys = cases.setdefault(line[1:-1], set())
            elif line and not line.startswith('#'):
                keys.add(line)
    return cases


def write_list(cases):
    with open(LIST, 'w', encoding='utf-8') as file:
        file.write('# The JSON keys that each case of json_keys_test.py prints. Keys may be added, never removed.\n')
        for case in sorted(cases):
            file.write(f'\n[{case}]\n' + ''.join(key + '\n' for key in sorted(cases[case])))


class JsonKeys(FolderTest):
    """Each test prints one command's cases into `self.found`."""

    def setUp(self):
        super().setUp()
        self.found = {}
        self.printed = []  # (command, object)
        self.module = self.path('m.hlo', MODULE)

    def case(self, name, *arguments, status=None, text=None, json_flag='--json'):
        done = subprocess.run([HLOSCOPE, *arguments[:1], json_flag, *arguments[1:]], input=text, capture_output=True, text=True,
                              timeout=300, env=dict(os.environ, XDG_CACHE_HOME=self.path('cache')), cwd=self.folder)
        found = self.found.setdefault(name, set())
        for line in done.stdout.splitlines():
            keys_of(json.loads(line), '', found)
            self.printed.append((name.split()[0].rstrip(':'), json.loads(line)))
        if status is not None:
            self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        self.assertTrue(found, (arguments, done.returncode, done.stderr))

    def file_case(self, name, path):
        """The keys of a JSON file that a command wrote."""
        with open(path, encoding='utf-8') as file:
            keys_of(json.load(file), '', self.found.setdefault(name, set()))

    def tearDown(self):
        self.check_schemas()
        if WRITES:
            known = read_list() if os.path.exists(LIST) else {}
            for case, found in self.found.items():
                known.setdefault(case, set()).update(found)
            write_list(known)
            return
        known = read_list()
        for case, found in self.found.items():
            self.assertIn(case, known, 'json_keys_test.py --write adds it')
            self.assertEqual(sorted(known[case] - found), [], f'keys that `{case}` no longer prints')

    def check_schemas(self):
        schemas = {}
        for command, value in self.printed:
            schema = schemas.setdefault(command, json_schemas.read(command))
            if WRITES:
                json_schemas.add(schema, value, MAPS)
            self.assertEqual(list(json_schemas.problems(schema, value, MAPS)), [], f'{command}: json_keys_test.py --write widens the schema')
        for command, schema in schemas.items() if WRITES else ():
            json_schemas.write(command, schema)

    def test_help(self):
        self.case('help', 'help', status=0)
        self.case('skill', 'skill', status=0)
        self.case('skill --install', 'skill', '--install', self.folder, status=0)

    def test_verify(self):
        self.case('verify', 'verify', TEXT, status=0)
        bad = self.path('bad.hlo', 'HloModule m\nENTRY e {\n  ROOT a = f32[4] add(b, b), what=1\n}\n')
        new = self.path('new.hlo', 'HloModule m\nENTRY e {\n  ROOT a = f32[4] parameter(0), brand_new={1,2}\n}\n')
        self.case('verify: problems', 'verify', bad, new, self.path('absent.hlo'), status=2)

    def test_info(self):
        self.case('info DUMP', 'info', SOFTMAX, ATTENTION, MLP, os.path.join(SAMPLES, 'data_parallel_step_b200'), status=0)
        self.case('info FILE', 'info', TEXT, status=0)
        self.case('info BUNDLE', 'info', os.path.join(SAMPLES, 'faults', 'bits.hlob'), status=0)
        self.case('info TRACE', 'info', TRACE, status=0)
        self.case('info LOG', 'info', os.path.join(TESTS, 'debug', 'recompile', 'jax', 'stderr.log'), status=0)
        self.case('info GRAPH', 'info', *sorted(glob.glob(os.path.join(TESTS, 'dump', 'tensorflow', '*', 'mark_for_compilation*.pbtxt')))[:3], status=0)
        self.case('info: a folder of TensorFlow', 'info', os.path.join(TESTS, 'dump'), status=0)
        self.case('info: an absent file', 'info', self.path('absent'), status=2)
        mlir = self.path('m.mlir', 'module @m {\n}\n')
        self.case('info: another kind of file', 'info', mlir, status=0)

    def test_info_selections(self):
        self.case('info --passes', 'info', '--passes', SOFTMAX, status=0)
        os.makedirs(self.path('dump'))
        self.path('dump/module_0001.m.before_optimizations.txt', MODULE)
        self.path('dump/module_0001.m.0001.p.after_q.before_r.txt', MODULE)
        self.path('dump/module_0001.m.cpu_after_optimizations.txt', MODULE)
        self.path('dump/module_0001.metadata.textproto', 'pass_metadata { pass_name: "q" pipeline_name: "p" start_timestamp_usec: 1 '
                  'end_timestamp_usec: 2 }')
        self.case('info --compile-time', 'info', '--compile-time', self.path('dump'), status=0)
        records = ('results { device: "d" hlo: "h" result { run_time { nanos: 1 } triton { block_m: 16 } } version: 7 }\n'
                   'logs { results { run_time { nanos: 2 } gemm { algorithm: 1 } } results { run_time { nanos: 3 } gemm { algorithm: 2 } } }\n')
        self.case('info --autotuning', 'info', '--autotuning', self.path('records.txt', records), status=0)
        self.case('info --autotuning', 'info', '--autotuning', ATTENTION, status=0)
        self.case('info --memory', 'info', '--memory', '--advise', MLP, status=0)
        self.case('info --diff', 'info', '--diff', '0010', SOFTMAX, status=0)
        for dump, what in ((SOFTMAX, 'log.4'), (ATTENTION, 'fusion.31'), (MLP, 'dot.1')):
            self.case('info --select INSTRUCTION', 'info', '--select', what, dump)
        self.case('info --select kernel=', 'info', '--select', 'kernel=triton_softmax_2', SOFTMAX, status=0)
        self.case('info --select thunk=', 'info', '--select', 'thunk=1', SOFTMAX)
        self.case('info --select buffer=', 'info', '--select', 'buffer=1', SOFTMAX)
        self.case('info --select line=', 'info', '--select', 'line=make_samples.py:121', SOFTMAX)
        self.case('info --select: nothing found', 'info', '--select', 'nothing', SOFTMAX, status=2)

    def test_why(self):
        done = subprocess.run([HLOSCOPE, 'compile', self.module, '--dump', self.path('own')], capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.case('why --not-fused', 'why', self.path('own'), '--not-fused', 'z', 'r', status=0)

    def test_lint(self):
        self.case('lint', 'lint', os.path.join(TESTS, 'lint', 'lost-cast.bad.hlo'), status=0)
        self.case('lint --rules', 'lint', '--rules', status=0)

    def test_find(self):
        self.case('find', 'find', 'dot', MLP, status=0)
        self.case('find -l', 'find', 'dot', MLP, '-l', status=0)
        self.case('find --count', 'find', 'dot', MLP, '--count', status=0)

    def test_show(self):
        self.case('show', 'show', self.module, status=0)
        self.case('show --explain', 'show', self.module, '--explain', 'r', status=0)

    def test_convert(self):
        self.case('convert', 'convert', TEXT, self.path('absent.hlo'), '--to', 'pb', '--out-dir', self.path('protos'), status=2)

    def test_limits_and_ops(self):
        self.case('limits', 'limits', status=0)
        self.case('ops', 'ops', status=0)
        self.case('ops: an attribute', 'ops', 'dimensions', status=0)
        self.case('ops: a shape', 'ops', 'f32[16,256]{1,0:T(8,128)}', status=0)
        self.case('doctor', 'doctor')

    def test_run(self):
        self.case('run', 'run', self.module, status=0)
        self.case('run --reference_platform', 'run', self.module, '--reference_platform', 'interpreter', status=0)
        self.case('run --isolate_instructions', 'run', self.module, '--isolate_instructions', '--reference_platform', 'interpreter', status=0)
        self.case('run --repeat --bits', 'run', self.module, '--repeat', '2', '--bits', status=0)
        self.case('run --precise', 'run', self.module, '--reference_platform', 'interpreter', '--precise', status=0)
        self.case('run --iterations', 'run', self.module, '--iterations', '2', status=0)
        self.case('run --platform gpu-sim', 'run', self.module, '--platform', 'gpu-sim', '--check', 'race,uninitialised', '--shuffle', '1',
                  status=0)
        self.case('run --platform xla-gpu-sim', 'run', os.path.join(SOFTMAX, 'module_0000.jit_softmax.before_optimizations.txt'), '--platform',
                  'xla-gpu-sim', '--reference_platform', 'interpreter', status=0)

    def test_run_outcomes(self):
        expected = self.path('expected.npz')
        write_npz(expected, {'out0': ('<f4', (), b'\0\0\xc0\x7f')})
        self.case('run: values differ', 'run', self.module, '--expect', expected, status=1)
        self.case('run: expected values and a reference', 'run', self.module, '--expect', expected, '--reference_platform', 'interpreter', status=1)
        self.case('run --find', 'run', self.path('nan.hlo', NAN), '--find', 'nan')
        self.case('run --print_literals', 'run', self.module, '--print_literals', status=0)
        self.case('run: unsupported', 'run', self.path('u.hlo', UNSUPPORTED), status=3)
        self.case('run: absent', 'run', self.path('absent.hlo'), status=2)
        self.case('run --fallback', 'run', self.path('h.hlo', FALLBACK), '--platform', 'gpu-sim', '--fallback', 'cpu')
        endless = os.path.join(TESTS, 'app', 'endless.hlo')
        self.case('run: past its deadline', 'run', endless, '--deadline', '1', status=4)
        self.case('run --profile', 'run', self.module, '--profile', self.path('m.hloprof'), status=0)
        self.case('run --bundle: differs', 'run', self.module, '--expect', expected, '--values', 'statistics', '--bundle', self.path('d.hlob'))
        self.case('run --bundle', 'run', self.module, '--bundle', self.path('m.hlob'), status=0)

    def test_run_trace(self):
        self.case('run --trace', 'run', os.path.join(SOFTMAX, 'module_0000.jit_softmax.before_optimizations.txt'), '--platform', 'xla-gpu-sim',
                  '--trace', 'triton_softmax_2:0:0', status=0)

    def test_compare(self):
        other = self.path('o.hlo', MODULE.replace('exponential', 'negate'))
        self.case('compare MODULES', 'compare', self.module, other, status=1)
        values = [self.path(name) for name in ('a.npz', 'b.npz')]
        write_npz(values[0], {'out0': ('<f4', (2,), b'\0\0\x80\x3f' * 2), 'only': ('<f4', (), b'\0\0\x80\x3f')})
        write_npz(values[1], {'out0': ('<f4', (2,), b'\0\0\x80\x3f\0\0\0\x40')})
        self.case('compare VALUES', 'compare', *values, status=1)
        second = os.path.join(SAMPLES, '..', 'assets', 'profiles', 'conv_net_one_thread.xplane.pb.gz')
        self.case('compare TRACES', 'compare', TRACE, second, status=0)
        dump = self.path('dump')
        subprocess.run([HLOSCOPE, 'compile', TEXT, '--dump', dump], check=True, capture_output=True)
        self.case('compare DUMPS', 'compare', MLP, dump, status=1)
        own = [self.path('own_a'), self.path('own_b')]
        for folder in own:
            subprocess.run([HLOSCOPE, 'compile', self.module, '--dump', folder], check=True, capture_output=True)
        [decisions] = glob.glob(os.path.join(own[1], '*fusion_decisions.txt'))
        with open(decisions, encoding='utf-8') as file:
            text = file.read()
        self.path(decisions, text.replace(' fused: ', ' not fused: ') if ' fused: ' in text else text.replace('not fused: ', 'fused: '))
        self.case('compare --decisions', 'compare', *own, '--decisions', status=1)
        self.case('compare --memory', 'compare', MLP, dump, '--memory', status=1)
        short = self.path('short.npz')
        write_npz(short, {'out0': ('<f4', (1,), b'\0\0\x80\x3f')})
        self.case('compare VALUES: other shapes', 'compare', values[0], short, status=1)
        self.case('compare: unlike things', 'compare', values[0], self.module, status=2)

    def test_diverge(self):
        other = self.path('o.hlo', MODULE.replace('exponential', 'negate'))
        self.case('diverge A B', 'diverge', self.module, other, status=1)
        self.case('diverge A B: equal', 'diverge', self.module, self.module)
        self.case('diverge --reference_platform', 'diverge', self.module, '--platform', 'cpu', '--reference_platform', 'interpreter')
        self.case('diverge --passes', 'diverge', '--passes', SOFTMAX)
        # One sum in the kernel becomes a difference.
        dump = shutil.copytree(SOFTMAX, self.path('softmax'))
        ptx = os.path.join(dump, 'module_0000.jit_softmax.1.ptx')
        with open(ptx, encoding='utf-8') as file:
            text = file.read()
        with open(ptx, 'w', encoding='utf-8') as file:
            file.write(text.replace('add.rn.f32', 'sub.rn.f32', 1))
        self.case('diverge: a kernel', 'diverge', os.path.join(dump, 'module_0000.jit_softmax.before_optimizations.txt'), '--platform',
                  'xla-gpu-sim', '--reference_platform', 'interpreter', status=1)
        self.case('diverge: refused', 'diverge', self.module, status=2)

    def test_reduce(self):
        self.case('reduce', 'reduce', self.path('nan.hlo', NAN), '--find', 'nan', '-o', self.path('small.hlo'), status=0)
        self.case('reduce: does not fail', 'reduce', self.module, '--find', 'nan', '-o', self.path('small.hlo'))
        self.case('reduce: refused', 'reduce', self.path('absent.hlo'), '-o', self.path('small.hlo'), status=2)

    def test_hunt(self):
        self.case('hunt', 'hunt', '--programs', '2', '--platform', 'interpreter', '--reference_platform', 'interpreter', '-o', self.path('found'))

    def test_extract(self):
        self.case('extract', 'extract', self.module, 'g', '-o', self.path('small.hlo'), status=0)
        self.case('extract: refused', 'extract', self.module, 'absent', '-o', self.path('small.hlo'), status=2)

    def test_profile(self):
        self.case('profile TRACE', 'profile', TRACE, status=0)
        bare = self.path('bare.xplane.pb')
        with gzip.open(TRACE) as trace, open(bare, 'wb') as file:
            file.write(trace.read().replace(b'Hlo Proto', b'Hlo proto').replace(b'HLO Proto', b'HLO proto'))
        self.case('profile TRACE without its module', 'profile', bare, status=0)
        marks = [{'ph': 'X', 'pid': 1, 'tid': 1, 'name': 'train', 'ts': 100 * k, 'dur': 20 + 50 * (k == 1), 'args': {'step_num': k}} for k in range(3)]
        steps = self.path('steps.trace.json', json.dumps({'traceEvents': [*marks, {'ph': 'X', 'pid': 1, 'tid': 1, 'name': 'sleep', 'ts': 105, 'dur': 40}]}))
        self.case('profile STEPS', 'profile', steps, status=0)
        self.case('profile MODULE', 'profile', self.module, '--platform', 'cpu')
        self.case('profile MODULE --reference_platform', 'profile', self.module, '--reference_platform', 'interpreter')
        self.case('profile --platform gpu-sim', 'profile', self.module, '--platform', 'gpu-sim', '--pc_sampling', '--what_if', 'h100')
        self.case('profile -o', 'profile', TRACE, '-o', self.path('t.hloprof'), status=0)
        self.case('profile: absent', 'profile', self.path('absent'), status=2)

    def test_compile(self):
        self.case('compile --emit hlo', 'compile', self.module, '--emit', 'hlo', '-o', self.path('out.hlo'), status=0)
        self.case('compile --emit asm', 'compile', self.module, '--emit', 'asm', '-o', self.path('out.s'), status=0)
        self.case('compile: refused', 'compile', self.path('absent.hlo'), '--emit', 'asm', '-o', self.path('out.s'), status=2)

    def test_bundle(self):
        made = self.path('m.hlob')
        self.case('bundle create --plan', 'bundle', 'create', '--plan', self.module, '-o', made, status=0)
        self.case('bundle create', 'bundle', 'create', self.module, '--values', 'all', '-o', made, status=0)
        self.case('bundle check', 'bundle', 'check', made, status=0)
        self.case('bundle check: absent', 'bundle', 'check', self.path('absent.hlob'), status=2)
        self.case('bundle open', 'bundle', 'open', made, '--into', self.path('unpacked'), status=0)
        for path in glob.glob(self.path('unpacked') + '/**/*.json', recursive=True):
            self.file_case('bundle open: ' + os.path.basename(path), path)
        self.case('bundle open: absent', 'bundle', 'open', self.path('absent.hlob'), '--into', self.path('nowhere'), status=2)
        self.case('bundle create: absent', 'bundle', 'create', self.path('absent.hlo'), status=2)

    def test_explain(self):
        errors = os.path.join(TESTS, 'dump', 'errors')
        for name in sorted(name for name in os.listdir(errors) if name.endswith('.txt')):
            self.case('explain', 'explain', os.path.join(errors, name))
        self.case('explain: nothing known', 'explain', self.path('unknown.txt', 'a line of a program of nobody\n'))
        self.case('explain: a log of compilations', 'explain', os.path.join(TESTS, 'debug', 'recompile', 'jax', 'stderr.log'), status=0)

    def test_record(self):
        program = self.path('program.py', 'import os, shutil\n'
                            'flags = dict(f.lstrip("-").split("=", 1) for f in os.environ["XLA_FLAGS"].split())\n'
                            f'shutil.copy({TEXT!r}, flags["xla_dump_to"])\n')
        self.case('record', 'record', '--dump', self.path('dump'), '--framework', 'jax', '--', sys.executable, program, status=0)
        self.file_case('record: hloscope-record.json', self.path('dump/hloscope-record.json'))
        self.case('record --inputs', 'record', '--inputs', '--dump', self.path('dump2'), '--framework', 'jax', '--', sys.executable, program, status=0)
        self.case('record: refused', 'record', '--', self.path('absent'), status=2)

    def test_bench(self):
        self.case('bench parse', 'bench', 'parse', '--repeats', '1', self.module, status=0)
        self.case('bench run', 'bench', 'run', '--repeats', '4', '--against', 'interpreter', '--against_itself', self.module, status=0)
        self.case('bench run: absent', 'bench', 'run', '--against', 'interpreter', self.path('absent.hlo'), status=2)


class Documented(unittest.TestCase):
    def test_every_command_has_a_schema_or_no_json(self):
        done = subprocess.run([HLOSCOPE, 'help', '--json'], capture_output=True, text=True, check=True)
        commands = {json.loads(line)['command'] for line in done.stdout.splitlines()} - {'open', 'completions', 'man', 'mcp'}
        self.assertEqual({name.removesuffix('.json') for name in os.listdir(json_schemas.FOLDER)}, commands)
        for command in commands:
            done = subprocess.run([HLOSCOPE, 'help', command, '--schema'], capture_output=True, text=True, check=True)
            self.assertEqual(json.loads(done.stdout), json_schemas.read(command))

    def test_fields_of_run_and_diverge(self):
        with open(os.path.join(os.path.dirname(TESTS), 'docs', 'json.md'), encoding='utf-8') as file:
            page = file.read()
        for case, keys in read_list().items():
            if re.split('[ :]', case)[0] not in ('run', 'diverge'):
                continue
            for key in {key.split('.')[0].removesuffix('[]') for key in keys}:
                self.assertTrue(f'`{key}`' in page or f'`{key}[]`' in page, (case, key))


if __name__ == '__main__':
    WRITES = '--write' in sys.argv
    unittest.main(argv=sys.argv[:1], verbosity=0)
