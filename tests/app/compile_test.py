#!/usr/bin/env python3
"""`hloscope compile` end to end: compile_test.py HLOSCOPE SAMPLES FOLDER_OF_MADE_UP_PLUGINS. Exit status 77 where no plugin of XLA is installed."""
import glob
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest, ready_platforms

HLOSCOPE, SAMPLES, MADE_UP = (os.path.abspath(path) for path in sys.argv[1:4])
SAMPLE = glob.glob(os.path.join(SAMPLES, 'power_iteration', '*before_optimizations.hlo.pb'))[0]
ELIDED = '''HloModule elided
ENTRY main {
  p = f32[16] parameter(0)
  c = f32[16] constant({...})
  ROOT sum = f32[16] add(p, c)
}
'''
SHARDED = '''HloModule sharded, num_partitions=4
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}
ENTRY main {
  p = f32[64,64] parameter(0), sharding={devices=[4,1]<=[4]}
  zero = f32[] constant(0)
  ROOT r = f32[64] reduce(p, zero), dimensions={0}, to_apply=add, sharding={replicated}
}
'''

PACKED = '''HloModule packed
ENTRY main {
  p = u4[24]{0:E(4)} parameter(0)
  c = u4[24]{0:E(4)} constant({1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8})
  ROOT r = u4[48]{0:E(4)} concatenate(c, p), dimensions={0}
}
'''
FOLDED = '''HloModule folded
ENTRY main {
  c = u4[24] constant({1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8})
  ROOT r = u8[24] convert(c)
}
'''
LARGE = '''HloModule large
ENTRY main {
  p = f32[1000,1000] parameter(0)
  s = f32[1000,1000] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[1000,1000] dot(s, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[1000,1000] dot(t, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
'''

STABLEHLO = '''module @twice {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
'''


READY = ready_platforms(HLOSCOPE)


class Compile(FolderTest):
    def run_it(self, *arguments, env=None):
        return subprocess.run([HLOSCOPE, 'compile', *arguments], capture_output=True, text=True, check=False, timeout=300, env=env)

    def expect_error(self, message, *arguments, status=2, env=None):
        done = self.run_it(*arguments, env=env)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(message, done.stderr)
        return done

    def need(self, platform):
        if platform not in READY:
            self.skipTest(f'no plugin for {platform}')

    def test_usage(self):
        dump = ('--dump', self.path('dump'))
        self.expect_error('give --dump DIR, or --emit hlo -o OUT', SAMPLE, '--with', 'xla-cpu')
        self.expect_error('--passes needs --dump', SAMPLE, '--with', 'xla-cpu', '--passes', '--emit', 'hlo', '-o', self.path('o.hlo'))
        self.expect_error('no plugin provides a platform tpu', SAMPLE, '--with', 'tpu', *dump)
        self.expect_error('no such file', self.path('gone.hlo'), '--with', 'xla-cpu', *dump)
        self.assertFalse(os.path.exists(self.path('dump')))

    def test_our_own_compiler(self):
        module = self.path('m.hlo', 'HloModule m\nENTRY e {\n  p = f32[8] parameter(0)\n  s = f32[8] sine(p)\n  n = f32[8] negate(s)\n'
                                    '  ROOT m = f32[8] negate(n)\n}\n')
        fused = self.path('fused.hlo')
        done = self.run_it(module, '--emit', 'hlo', '-o', fused, '--json')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)['kernels'], 1)
        with open(fused, encoding='utf-8') as f:
            self.assertNotIn('negate', f.read())
        module = self.path('k.hlo', 'HloModule k\nENTRY e {\n  p = f32[8] parameter(0)\n  s = f32[8] sine(p)\n  ROOT n = f32[8] add(s, p)\n}\n')
        dump = self.path('own')
        done = self.run_it(module, '--dump', dump, '--passes')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('3 instructions became 5, 1 of them kernels', done.stdout)
        done = subprocess.run([HLOSCOPE, 'info', dump, '--passes'], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('0001 optimization: fusion', done.stdout)
        done = subprocess.run([HLOSCOPE, 'info', dump, '--json'], capture_output=True, text=True, check=False, timeout=300)
        told = json.loads(done.stdout)
        self.assertEqual(told['warnings'], [])
        names = os.listdir(dump)
        for ending in ('-buffer-assignment.txt', '-live-range.txt', '.thunk_sequence.txt', '.fusion_decisions.txt', '.part_0.s', '.hlo.pb'):
            self.assertTrue(any(name.endswith(ending) for name in names), ending)
        (own,) = told['modules']
        (kernel,) = own['kernels']
        self.assertEqual(kernel['tie'], 'metadata')
        self.assertTrue(kernel['llvm'])
        self.assertEqual(told['missing'], [])
        self.expect_error('already contains a dump', module, '--dump', dump)
        self.expect_error('give --dump DIR, or --emit hlo -o OUT', module)
        self.expect_error('--target is for code', module, '--dump', dump, '--target', 'h100')


    def test_kernels_of_loops_belong_to_their_instructions(self):
        """Those of a loop that is one function too, and one kernel to all equal instructions."""
        body = ''.join(f"""
  a{k} = f32[64] sine(x{k})
  r{k} = f32[] reduce(a{k}, zero), dimensions={{0}}, to_apply=sum
  b{k} = f32[64] broadcast(r{k}), dimensions={{}}
  x{k + 1} = f32[64] add(b{k}, a{k})""" for k in range(3))
        module = self.path('loop.hlo', f"""HloModule loop
sum {{
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}}
body {{
  state = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  zero = f32[] constant(0)
  x0 = f32[64] get-tuple-element(state), index=1{body}
  ROOT t = (s32[], f32[64]) tuple(j, x3)
}}
condition {{
  state = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  i = s32[] constant(0)
  x = f32[64] parameter(0)
  t = (s32[], f32[64]) tuple(i, x)
  w = (s32[], f32[64]) while(t), condition=condition, body=body
  ROOT g = f32[64] get-tuple-element(w), index=1
}}
""")
        dump = self.path('loops')
        self.assertEqual(self.run_it(module, '--dump', dump, '--passes').returncode, 0)
        done = subprocess.run([HLOSCOPE, 'info', dump, '--json'], capture_output=True, text=True, check=False, timeout=300)
        told = json.loads(done.stdout)
        self.assertEqual(told['warnings'], [])
        (own,) = told['modules']
        inside = [k for k in own['kernels'] if 'sine' in k['name'] or 'reduce' in k['name']]
        self.assertTrue(inside, own['kernels'])
        for kernel in own['kernels']:
            self.assertTrue(kernel['instruction'], kernel)
            done = subprocess.run([HLOSCOPE, 'info', dump, '--select', f'kernel={kernel["name"]}', '--json'], capture_output=True, text=True, check=False,
                                  timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(kernel['instruction'], done.stdout)

    def test_why_an_instruction_was_fused(self):
        module = self.path('m.hlo', 'HloModule m\nENTRY e {\n  x = f32[512,512] parameter(0)\n  t = f32[512,512] tanh(x)\n'
                                    '  n = f32[512,512] negate(t)\n  a = f32[512,1024] concatenate(t, n), dimensions={1}\n'
                                    '  b = f32[512,512] transpose(t), dimensions={1,0}\n'
                                    '  ROOT r = (f32[512,1024], f32[512,512]) tuple(a, b)\n}\n')
        dump = self.path('own')
        self.assertEqual(self.run_it(module, '--dump', dump).returncode, 0)
        info = [HLOSCOPE, 'info', dump, '--select', 't@before_optimizations']
        done = subprocess.run(info, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r'(?m)^  apart    t into a: b needs all of it$')
        done = subprocess.run([*info, '--json'], capture_output=True, text=True, check=False, timeout=300)
        decisions = json.loads(done.stdout)['fusion_decisions']
        self.assertIn({'producer': 't', 'consumer': 'a', 'fused': False, 'reason': 'b needs all of it'}, decisions)
        # Of a fusion, what is in it.
        done = subprocess.run([HLOSCOPE, 'info', dump, '--json'], capture_output=True, text=True, check=False, timeout=300)
        (own,) = json.loads(done.stdout)['modules']
        fusion = next(k['instruction'] for k in own['kernels'] if 'fusion' in k['instruction'])
        done = subprocess.run([HLOSCOPE, 'info', dump, '--select', fusion, '--json'], capture_output=True, text=True, check=False, timeout=300)
        self.assertIn(('n', 'a', True), [(d['producer'], d['consumer'], d['fused']) for d in json.loads(done.stdout)['fusion_decisions']])

    def test_rows_of_a_gather_are_read_as_they_lie(self):
        """Vectors run along the rows, not across them, where a row is read for each index."""
        for indices in ('s32[8192,1]', 's32[8192]'):
            module = self.path('gather.hlo', f'''HloModule m
ENTRY e {{
  t = f32[100,128] parameter(0)
  i = {indices} parameter(1)
  ROOT g = f32[8192,128] gather(t, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim={1}, slice_sizes={{1,128}}
}}
''')
            code = self.path('gather.ll')
            done = self.run_it(module, '--emit', 'llvm', '-o', code)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(code, encoding='utf-8') as file:
                text = file.read()
            self.assertNotIn('masked.gather', text, indices)
            self.assertIn('load <16 x float>', text, indices)

    def test_dots_of_bytes_are_what_the_processor_runs(self):
        module = self.path('b.hlo', 'HloModule b\nENTRY e {\n  a = s8[64,128] parameter(0)\n  b = s8[128,64] parameter(1)\n'
                                    '  ROOT d = s32[64,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n')
        for target, has in (('cascadelake', True), ('skylake-avx512', False)):
            done = self.run_it(module, '--emit', 'asm', '-o', '-', '--target', target)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual('vpdpbusd' in done.stdout, has, target)
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            flags = file.read().split()
        done = self.run_it(module, '--emit', 'hlo', '-o', '-')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual('convert(' in done.stdout, 'avx512_vnni' not in flags)

    def test_plan_and_code(self):
        module = self.path('m.hlo', 'HloModule m\nENTRY e {\n  p = f32[8] parameter(0)\n  q = f32[8] sine(p)\n  ROOT s = f32[8] add(q, p)\n}\n')
        plan = self.run_it(module, '--emit', 'plan', '-o', '-')
        self.assertEqual((plan.returncode, plan.stderr), (0, ''))
        self.assertIn('plan of m: arena 0 bytes', plan.stdout)
        self.assertIn('0 kernel ', plan.stdout)
        code = self.path('m.ll')
        done = self.run_it(module, '--emit', 'llvm', '-o', code, '--json')
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report['emit'], report['kernels'], report['functions'], report['files']), ('llvm', 1, 1, [code]))
        with open(code, encoding='utf-8') as f:
            self.assertIn('define void @k0_', f.read())
        for target, holds in (('native', '.globl\tk0_'), ('x86-64', 'xmm')):
            done = self.run_it(module, '--emit', 'asm', '-o', '-', '--target', target)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(holds, done.stdout)
        self.assertNotIn('ymm', done.stdout)
        for target, holds in (('sm_80', '.target sm_80'), ('b200', '.target sm_90')):
            done = self.run_it(module, '--emit', 'ptx', '-o', '-', '--target', target)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(holds, done.stdout)
            self.assertIn('.visible .entry k0_', done.stdout)
        # One text that an assembler takes, of kernels that differ and of none.
        for name, body, kernels in (
            ('two', '  a = f32[8] sine(p)\n  m = f32[4,2] reshape(p)\n  b = f32[4,4] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n'
                    '  ROOT r = (f32[8], f32[4,4]) tuple(a, b)\n', 2),
            ('none', '  ROOT r = (f32[8]) tuple(p)\n', 0),
        ):
            other = self.path(name + '.hlo', f'HloModule {name}\nENTRY e {{\n  p = f32[8] parameter(0)\n{body}}}\n')
            done = self.run_it(other, '--emit', 'ptx', '-o', '-', '--target', 'sm_90')
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((done.stdout.count('.version'), done.stdout.count('.entry')), (1, kernels))
        cubin = self.path('m.cubin')
        done = self.run_it(module, '--emit', 'cubin', '-o', cubin, '--target', 'sm_80')
        if done.returncode == 0:
            with open(cubin, 'rb') as f:
                self.assertEqual(f.read(4), b'\x7fELF')
            self.assertIn('nothing spilled', done.stdout)
            # More parameters than the version of PTX that the architecture begins with allows.
            count = 545
            many = self.path('many.hlo', 'HloModule many\nENTRY e {\n' + ''.join(f'  p{i} = f32[2] parameter({i})\n' for i in range(count)) +
                             f'  ROOT c = f32[{2 * count}] concatenate(' + ', '.join(f'p{i}' for i in range(count)) + '), dimensions={0}\n}\n')
            for target in ('sm_80', 'sm_90'):
                assembled = self.run_it(many, '--emit', 'cubin', '-o', cubin, '--target', target)
                self.assertEqual(assembled.returncode, 0, assembled.stderr)
            self.assertNotIn(' on NVIDIA', done.stdout)  # an architecture is no device
            told = json.loads(self.run_it(module, '--emit', 'cubin', '-o', cubin, '--target', 'l4', '--json').stdout)
            self.assertEqual(told['device'], 'NVIDIA L4')
            for kernel in told['kernels_on_device']:
                self.assertGreater(kernel['registers'], 0)
                self.assertEqual(kernel['spilled_bytes'], 0)
                self.assertTrue(0 < kernel['occupancy'] <= 1, kernel)
            self.assertIn('kernel on NVIDIA L4', self.run_it(module, '--emit', 'cubin', '-o', cubin, '--target', 'l4').stdout)
        else:  # without CUDA
            self.assertEqual(done.returncode, 3)
            self.assertIn('pip install nvidia-cuda-nvcc', done.stderr)
        self.expect_error('neither a device nor a file', module, '--emit', 'ptx', '-o', '-', '--target', 'abacus')
        self.expect_error('LLVM has no processor of that name', module, '--emit', 'asm', '-o', '-', '--target', 'abacus', status=3)
        self.expect_error('is for our own compiler', module, '--emit', 'asm', '-o', '-', '--with', 'xla-cpu')
        self.expect_error('--target is for code', module, '--emit', 'plan', '-o', '-', '--target', 'native')

    def test_a_plan_says_why_the_evaluator_runs_something(self):
        module = self.path('m.hlo', 'HloModule m\nENTRY e {\n  p = f32[2,2] parameter(0)\n  ROOT r = (f32[2,2], f32[2]) custom-call(p), custom_call_target="Qr"\n}\n')
        self.assertIn('0 evaluate r: b0 -> b1 b2 (custom-call: custom call that the platform does not implement)', self.run_it(module, '--emit', 'plan', '-o', '-').stdout)

    def test_what_two_compilers_fused(self):
        text = ('HloModule m\nENTRY e {\n  p = f32[1024] parameter(0)\n  q = f32[1024] negate(p)\n  r = f32[1024] add(q, p)\n'
                '  ROOT s = f32[1024] multiply(r, q)\n}\n')
        module, kernels = self.path('m.hlo', text), {'fused': 1, 'apart': 3}
        self.assertEqual(self.run_it(module, '--dump', self.path('fused')).returncode, 0)
        os.mkdir(self.path('apart'))
        for point in ('before_optimizations', 'cpu_after_optimizations'):  # nothing was fused
            with open(self.path('apart') + f'/module_0000.m.{point}.txt', 'w', encoding='utf-8') as f:
                f.write(text.replace('HloModule m', 'HloModule m, is_scheduled=true'))
        done = subprocess.run([HLOSCOPE, 'compare', self.path('fused'), self.path('apart'), '--json'], capture_output=True, text=True, check=False,
                              timeout=300)
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told['status']), (1, 'differs'), done.stderr)
        self.assertEqual((told['all_a']['kernels'], told['all_b']['kernels']), tuple(kernels.values()))
        self.assertEqual((told['all_a']['bytes_read'], told['all_a']['bytes_written']), (4096, 4096))
        self.assertEqual((told['all_b']['bytes_read'], told['all_b']['bytes_written']), (5 * 4096, 3 * 4096))
        (group,) = told['groups']
        self.assertEqual(sorted(group['operations']), ['q', 'r', 's'])
        done = subprocess.run([HLOSCOPE, 'compare', self.path('fused'), self.path('fused')], capture_output=True, text=True, check=False, timeout=300)
        self.assertIn('both move the same number of bytes', done.stdout)

    def test_a_module_without_a_plan_says_why(self):
        module = self.path('m.hlo', 'HloModule m\nENTRY e {\n  t = token[] after-all()\n  i = (f32[8], token[]) infeed(t)\n'
                                    '  ROOT r = f32[8] get-tuple-element(i), index=0\n}\n')
        done = self.run_it(module, '--emit', 'plan', '-o', '-')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('no plan for m: ', done.stdout)

    def test_extract_takes_the_value_of_a_platform(self):
        self.need('xla-cpu')
        module = self.path('m.hlo', 'HloModule m\nENTRY e {\n  p = f32[3] parameter(0)\n  s = f32[3] sine(p)\n  ROOT n = f32[3] negate(s)\n}\n')
        cut = self.path('cut.hlo')
        done = subprocess.run([HLOSCOPE, 'extract', module, 'n', '--depth', '1', '--platform', 'xla-cpu', '-o', cut, '--json'],
                              capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        again = ['run', cut, '--inputs', report['inputs'], '--expect', report['expected'], '--platform', 'xla-cpu', '--json',
                 '--abs_error_bound', '0', '--rel_error_bound', '0']
        done = subprocess.run([HLOSCOPE, *again], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(json.loads(done.stdout)['status'], 'equal', done.stdout)

    def test_no_plugin(self):
        bare = {'HOME': self.folder, 'PATH': '/nowhere'}
        done = self.expect_error('no plugin for xla-gpu found; searched', SAMPLE, '--with', 'xla-gpu', '--target', 'h100', '--dump', self.path('dump'),
                                 '--json', env=bare)
        self.assertIn('--plugins --gpu` installs one', json.loads(done.stdout)['error'])

    def test_plugins_that_fail(self):
        dump = ('--dump', self.path('dump'), '--json')
        deadly = f'pjrt:{MADE_UP}/libdeadly_plugin.so'
        done = self.expect_error('was killed by signal 6 (SIGABRT) at run: the plugin has had enough', SAMPLE, '--with', deadly, *dump, status=4)
        report = json.loads(done.stdout)
        self.assertEqual((report['status'], report['error_kind']), ('died', 'crashed'))
        self.expect_error('implements version 1.100 of the PJRT interface', SAMPLE, '--with', f'pjrt:{MADE_UP}/libfake_plugin_major.so', *dump)
        # What the first printed stays; a folder that was there stays in any case.
        self.assertEqual(os.listdir(self.path('dump')), ['xla.log'])
        with open(self.path('dump/xla.log'), encoding='utf-8') as f:
            self.assertEqual(f.read(), '')
        self.expect_error('PJRT interface', SAMPLE, '--with', f'pjrt:{MADE_UP}/libfake_plugin_major.so', '--dump', self.path('new'))
        self.assertFalse(os.path.exists(self.path('new')))
        for name, log in (('given', None), ('logged', 'of mine')):
            os.mkdir(self.path(name))
            if log:
                self.path(name + '/other.log', log)
            self.expect_error('has had enough', SAMPLE, '--with', deadly, '--dump', self.path(name), status=4)
            with open(self.path(name + '/xla.log'), encoding='utf-8') as f:
                self.assertIn('the plugin has had enough', f.read())

    def test_the_log_is_that_of_the_last_compilation(self):
        deadly = f'pjrt:{MADE_UP}/libdeadly_plugin.so'
        sizes = []
        for _ in range(2):
            self.expect_error('has had enough', SAMPLE, '--with', deadly, '--dump', self.path('dump'), status=4)
            sizes.append(os.path.getsize(self.path('dump/xla.log')))
        self.assertEqual(sizes[0], sizes[1])

    def test_a_log_that_cannot_be_written_is_told(self):
        os.mkdir(self.path('dump'))
        os.symlink('/dev/full', self.path('dump/xla.log'))
        self.need('xla-cpu')
        self.expect_error('xla.log: cannot be written', SAMPLE, '--with', 'xla-cpu', '--dump', self.path('dump'), '--timers')

    def test_cpu_dump(self):
        self.need('xla-cpu')
        done = self.run_it(SAMPLE, '--with', 'xla-cpu', '--dump', self.path('dump'), '--passes', '--json')
        report = json.loads(done.stdout)
        names = os.listdir(self.path('dump'))
        self.assertEqual((report['status'], report['files']), ('ok', len(names)))
        for end in ('.before_optimizations.hlo.pb', '.cpu_after_optimizations.txt', '.debug_options'):
            self.assertEqual(len([n for n in names if n.endswith(end)]), 1, end)
        self.assertTrue([n for n in names if '.after_' in n and '.before_' in n], 'no passes')
        for name in names:
            with open(os.path.join(self.path('dump'), name), 'rb') as f:
                self.assertNotIn(self.folder.encode(), f.read(), f'{name} says where it was made')
        self.expect_error('already contains a dump', SAMPLE, '--with', 'xla-cpu', '--dump', self.path('dump'))

    def times_of(self, dump):
        done = subprocess.run([HLOSCOPE, 'info', '--compile-time', '--json', dump], capture_output=True, text=True, check=True, timeout=120)
        return json.loads(done.stdout)

    def test_timers(self):
        """The log of the plugin is a part of the dump, and with --timers it says what took how long."""
        self.need('xla-cpu')
        dump = self.path('timers')
        done = self.run_it(SAMPLE, '--with', 'xla-cpu', '--dump', dump, '--timers')
        self.assertEqual(done.returncode, 0, done.stderr)
        module = self.times_of(dump)['modules'][0]
        self.assertGreater(module['passes_ms'], 0)
        self.assertTrue(module['slowest'])
        self.assertTrue(os.path.getsize(os.path.join(dump, 'xla.log')) > 0)
        # Without them the answer says what is missing, and how this command writes it.
        self.run_it(SAMPLE, '--with', 'xla-cpu', '--dump', self.path('plain'))
        told = subprocess.run([HLOSCOPE, 'info', '--compile-time', self.path('plain')], capture_output=True, text=True, check=True, timeout=120).stdout
        self.assertIn('`hloscope compile --timers`', told)
        self.expect_error('need --with', SAMPLE, '--dump', self.path('own'), '--timers')

    def test_pass_metadata(self):
        """Of XLA:GPU each run of each pass, without a flag."""
        self.need('xla-gpu')
        dump = self.path('gpu')
        done = self.run_it(SAMPLE, '--with', 'xla-gpu', '--target', 'h100', '--dump', dump)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(glob.glob(os.path.join(dump, '*.metadata.textproto')))
        module = self.times_of(dump)['modules'][0]
        self.assertGreater(module['passes_ms'], 0)
        self.assertGreater(len(module['slowest']), 20)

    def test_optimised_module(self):
        self.need('xla-cpu')
        out = self.path('out.hlo')
        self.assertEqual(self.run_it(SAMPLE, '--with', 'xla-cpu', '--emit', 'hlo', '-o', out).returncode, 0)
        with open(out, encoding='utf-8') as f:
            self.assertIn('is_scheduled=true', f.readline())
        subprocess.run([HLOSCOPE, 'verify', out], check=True, stdout=subprocess.DEVNULL)

    def test_flags(self):
        self.need('xla-cpu')
        out = ('--emit', 'hlo', '-o', self.path('out.hlo'))
        # What the user asks for is not left out silently.
        self.expect_error('xla_no_such_flag', SAMPLE, '--with', 'xla-cpu', *out, '--xla_no_such_flag=1')
        run = subprocess.run([HLOSCOPE, 'run', SAMPLE, '--platform', 'xla-cpu', '--xla_no_such_flag=1'], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn('xla_no_such_flag', run.stderr)
        # Pass by pass, only those asked for change the module.
        changed = {}
        for name, only in (('all', []), ('some', ['--only_passes', 'algsimp', '--only_passes', 'dce'])):
            done = self.run_it(SAMPLE, '--with', 'xla-cpu', '--dump', self.path(name), '--passes', *only)
            self.assertEqual(done.returncode, 0, done.stderr)
            changed[name] = {n.split('.after_')[1].split('.')[0] for n in os.listdir(self.path(name)) if '.after_' in n}
        self.assertIn('fusion', changed['all'])
        self.assertNotIn('fusion', changed['some'])
        self.assertLess(changed['some'], changed['all'])

    def test_packed_constants(self):
        self.need('xla-cpu')
        for name, text in (('packed', PACKED), ('folded', FOLDED)):
            module, out = self.path(name + '.hlo', text), self.path(name + '.out.hlo')
            done = self.run_it(module, '--with', 'xla-cpu', '--emit', 'hlo', '-o', out)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(out, encoding='utf-8') as f:
                self.assertRegex(f.read(), r'constant\(\{1, 2, 3, 4, 5, 6, 7, 8, 1,')
            subprocess.run([HLOSCOPE, 'verify', out], check=True, stdout=subprocess.DEVNULL)

    def test_memory_adds_up(self):
        self.need('xla-cpu')
        module = self.path('large.hlo', LARGE)
        done = self.run_it(module, '--with', 'xla-cpu', '--emit', 'hlo', '-o', self.path('out.hlo'), '--json')
        memory = json.loads(done.stdout)['memory']
        self.assertGreaterEqual(memory['peak'], memory['temporary'] + memory['outputs'])

    def test_stablehlo(self):
        if not READY & {'xla-cpu', 'xla-gpu'}:
            self.skipTest('no plugin translates StableHLO here')
        module, hlo = self.path('twice.mlir', STABLEHLO), self.path('twice.hlo')
        done = subprocess.run([HLOSCOPE, 'convert', module, hlo], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(hlo, encoding='utf-8') as f:
            text = f.read()
        self.assertRegex(text, r'ROOT \S+ = f32\[4\]\S* multiply\(')
        self.assertNotIn('source_file="-"', text)
        self.assertIn(f'source_file="{module}"', text)
        done = subprocess.run([HLOSCOPE, 'compare', '--json', hlo, self.path('same.hlo', text)], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(json.loads(done.stdout)['status'], 'equal')
        broken = self.path('broken.mlir', STABLEHLO.replace('stablehlo.add', 'stablehlo.nothing'))
        done = subprocess.run([HLOSCOPE, 'run', '--json', broken], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn('stablehlo.nothing', done.stdout + done.stderr)

    def test_the_deadline_of_a_run_holds_for_its_translation(self):
        """XLA takes long for many instructions, and the run itself would take no time."""
        if not READY & {'xla-cpu', 'xla-gpu'}:
            self.skipTest('no plugin translates StableHLO here')
        adds = ''.join(f'    %{k} = stablehlo.add %{k - 1 if k else "arg0"}, %arg0 : tensor<4xf32>\n' for k in range(8000))
        module = self.path('many.mlir', 'module @m {\n  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n' + adds +
                           '    return %7999 : tensor<4xf32>\n  }\n}\n')
        done = subprocess.run([HLOSCOPE, 'run', '--json', module, '--platform', 'interpreter', '--deadline', '1'], capture_output=True, text=True,
                              check=False, timeout=300)
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told['status'], told['error_kind']), (4, 'died', 'deadline'), done.stderr)

    def test_elided_constants(self):
        self.need('xla-cpu')
        module, dump = self.path('elided.hlo', ELIDED), ('--dump', self.path('dump'))
        self.expect_error('--fill-elided', module, '--with', 'xla-cpu', *dump)
        self.assertEqual(self.run_it(module, '--with', 'xla-cpu', *dump, '--fill_elided', '1').returncode, 0)

    def test_targets(self):
        self.need('xla-gpu')
        done = self.expect_error('neither a device nor a file', SAMPLE, '--with', 'xla-gpu', '--target', 'none', '--dump', self.path('x'))
        devices = done.stderr.split('(devices: ')[1].strip(' )\n').split(', ')
        self.assertLessEqual({'a100', 'h100', 'b200'}, set(devices))
        for device in devices:
            done = self.run_it(SAMPLE, '--with', 'xla-gpu', '--target', device, '--dump', self.path(device), '--json')
            self.assertEqual(json.loads(done.stdout)['status'], 'ok', done.stderr)
            names = os.listdir(self.path(device))
            for end in ('gpu_after_optimizations.hlo.pb', '.ptx', '.ir-with-opt.ll', 'thunk_sequence.txt', 'gpu_target_config.pbtxt'):
                self.assertTrue([n for n in names if n.endswith(end)], f'{device}: no {end}')
        self.expect_error('--target needs --with xla-gpu', SAMPLE, '--with', 'xla-cpu', '--target', 'h100', '--dump', self.path('x'))
        bad = self.path('bad.pbtxt', 'gpu_device_info { no_such_field: 1 }\n')
        self.expect_error('does not know the field no_such_field', SAMPLE, '--with', 'xla-gpu', '--target', bad, '--dump', self.path('x'))
        self.assertEqual(os.listdir(self.path('x')), ['xla.log'])  # what the plugin said

    def test_several_devices(self):
        self.need('xla-gpu')
        done = self.run_it(self.path('sharded.hlo', SHARDED), '--with', 'xla-gpu', '--target', 'h100', '--dump', self.path('dump'))
        self.assertEqual(done.returncode, 0, done.stderr)
        partitioned = glob.glob(self.path('dump') + '/*after_spmd_partitioner.txt')
        with open(partitioned[0], encoding='utf-8') as f:
            self.assertIn('all-reduce', f.read())


if __name__ == '__main__':
    program = unittest.main(argv=sys.argv[:1], exit=False)
    sys.exit(1 if not program.result.wasSuccessful() else 77 if program.result.skipped else 0)
