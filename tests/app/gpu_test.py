#!/usr/bin/env python3
"""The platform gpu in workers, over the made-up driver: gpu_test.py HLOSCOPE FOLDER_OF_TESTS."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HLOSCOPE, TESTS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
DRIVER = os.path.join(TESTS, 'fake_driver')
MODULE = """HloModule m
ENTRY e {
  a = f32[16] parameter(0)
  b = f32[16] sine(a)
  ROOT r = f32[] reduce(b, zero), dimensions={0}, to_apply=sum
}
""".replace('  b = ', '  zero = f32[] constant(0)\n  b = ').replace('ENTRY', """sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY""")


PRODUCT = """HloModule product
ENTRY e {
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  ROOT r = f32[64,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


TWO = """HloModule two, replica_count=2
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  a = f32[64] parameter(0)
  b = f32[64] sine(a)
  c = f32[64] all-reduce(b), replica_groups={}, to_apply=sum
  ROOT r = f32[64] multiply(c, a)
}
"""

THREE = """HloModule three, replica_count=3
ENTRY e {
  p = u16[3,33] parameter(0)
  q = u16[7] parameter(1)
  i = u32[] replica-id()
  n = u16[] convert(i)
  b = u16[3,33] broadcast(n), dimensions={}
  x = u16[3,33] multiply(p, b)
  c = u16[7] broadcast(n), dimensions={}
  y = u16[7] add(q, c)
  all = u16[9,33] all-gather(x), replica_groups={}, dimensions={0}
  z = u16[21] all-gather(y), replica_groups={}, dimensions={0}
  w = u16[9,33] all-to-all(all), replica_groups={}, dimensions={0}
  ROOT t = (u16[9,33], u16[21], u16[9,33]) tuple(all, z, w)
}
"""

HALVES = """HloModule halves, replica_count=2
sum {
  x = s16[] parameter(0)
  y = s16[] parameter(1)
  ROOT s = s16[] add(x, y)
}
ENTRY e {
  a = s16[64] parameter(0)
  ROOT r = s16[32] reduce-scatter(a), replica_groups={}, dimensions={0}, to_apply=sum
}
"""


class Gpu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.module = self.file('m.hlo', MODULE)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        return path

    def run_it(self, *arguments, **where):
        done = self.run_text(*arguments, **where)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')], done.stderr

    def run_text(self, *arguments, fake='', libraries='', driver=DRIVER, program=HLOSCOPE):
        env = {'HOME': self.folder, 'PATH': '/nowhere', 'CUDA_FAKE': fake, 'CUDA_FAKE_LIBRARIES': libraries,
               'LD_LIBRARY_PATH': driver}
        for name in ('ASAN_OPTIONS', 'LSAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'):
            if name in os.environ:
                env[name] = os.environ[name]
        return subprocess.run([program, *arguments], env=env, capture_output=True, text=True, check=False, timeout=300)

    def on_gpu(self, *modules, fake='', driver=DRIVER):
        return self.run_it('run', *(modules or (self.module,)), '--platform', 'gpu', '--reference_platform', 'interpreter', '--json',
                           fake=fake, driver=driver)

    def test_equal(self):
        status, lines, error = self.on_gpu()
        self.assertEqual((status, lines[0]['status']), (0, 'equal'), error)
        self.assertEqual(lines[0]['executed']['evaluated'], 0)

    def test_libraries(self):
        module = self.file('product.hlo', PRODUCT)
        command = ('run', module, '--platform', 'gpu', '--reference_platform', 'interpreter', '--json')
        for libraries, flags, name, reason in (
                ('', (), 'cuBLASLt 13.0.0', ''),
                ('cublasLtMatmul=15', (), 'cuBLASLt 13.0.0', 'cuBLASLt: not supported: multiplying failed with CUBLAS_STATUS_NOT_SUPPORTED (15)'),
                ('cublasLt.major=11', (), 'cuBLASLt', 'cuBLASLt: version mismatch: it is 11.0.0, 12.0 or newer is needed'),
                ('', ('--xla_disable_hlo_passes=cublaslt',), 'cuBLASLt', 'cuBLASLt is left out by a flag')):
            status, lines, error = self.run_it(*command, *flags, libraries=libraries)
            self.assertEqual((status, lines[0]['status']), (0, 'equal'), (lines, error))
            executed = lines[0]['executed']
            self.assertEqual((executed['kernels'], executed['library_calls']), (1, 0) if reason else (0, 1))
            choice, = executed['libraries']
            self.assertEqual((choice['opcode'], choice['library'], choice['count']), ('dot', name, 1))
            self.assertEqual(choice['reason'][:len(reason)], reason)
            self.assertEqual(bool(choice['reason']), bool(reason))
            self.assertEqual(lines[0]['fallbacks'], [])

    def test_plans_call_libraries(self):
        module, plan = self.file('product.hlo', PRODUCT), os.path.join(self.folder, 'p.hloplan')
        self.assertEqual(self.run_it('compile', module, '--emit', 'plan', '--target', 'sm_80', '-o', plan)[0], 0)
        for flags, calls in ((), 1), (('--xla_disable_hlo_passes=cublaslt',), 0):
            status, lines, error = self.run_it('run', plan, '--platform', 'gpu', '--reference_platform', 'interpreter', '--json', *flags)
            self.assertEqual((status, lines[0]['executed']['library_calls']), (0, calls), (lines, error))
        status, lines, _ = self.run_it('run', plan, '--platform', 'gpu', '--json', '--xla_disable_hlo_passes=cublaslt,fusion')
        self.assertEqual(status, 3)
        self.assertIn('passes cannot be disabled', lines[0]['error'])

    def test_choices_are_measured_kept_and_bundled(self):
        module, bundle = self.file('product.hlo', PRODUCT), os.path.join(self.folder, 'b.hlob')
        fakes = {'fake': 'own_clock=1,kernel_us=50,fake_product_us=30,fake_product_2_us=10', 'libraries': 'cublasLt.algorithms=3,cublasLt.refused=3'}

        def choice(*arguments, **other):
            status, lines, error = self.run_it(*arguments, '--json', **{**fakes, **other})
            self.assertEqual(status, 0, (lines, error))
            return lines[0]['executed']['libraries'][0]

        run = ('run', module, '--platform', 'gpu')
        self.assertEqual((choice(*run)['from'], choice(*run)['time_us']), ('rule', None))
        measured = choice(*run, '--autotune')
        self.assertEqual((measured['from'], measured['reason']), ('measured', ''))
        self.assertTrue(measured['way'].startswith('proposal 2 ('), measured)
        self.assertAlmostEqual(measured['time_us'], 10, places=2)
        self.assertEqual([tried['time_us'] is None for tried in measured['tried']], [False, False, True, False])
        self.assertIn('cuBLASLt: not supported: multiplying failed', measured['tried'][2]['refused'])
        kept = choice(*run)
        self.assertEqual((kept['from'], kept['way'], kept['tried'], kept['notes']), ('cache', measured['way'], [], []))
        self.assertEqual(choice(*run, '--no-cache')['from'], 'rule')
        status, _, error = self.run_it(*run, '--no-cache', '--autotune')
        self.assertIn('--no-cache and --autotune cannot be used together', error)
        status, _, error = self.run_it('run', module, '--platform', 'cpu', '--autotune')
        self.assertEqual(status, 2)
        self.assertIn('--autotune: cpu calls no GPU libraries', error)
        text = subprocess.run([HLOSCOPE, *run, '--autotune'], capture_output=True, text=True, check=True,
                              env={'HOME': self.folder, 'PATH': '/nowhere', 'CUDA_FAKE': fakes['fake'], 'LD_LIBRARY_PATH': DRIVER,
                                   'CUDA_FAKE_LIBRARIES': fakes['libraries']}).stdout
        self.assertRegex(text, r'by cuBLASLt 13.0.0: 1 dot, proposal 2 \(\w+\), 10.0 us \(measured\)\n    proposal 1 \(\w+\): 30.0 us\n')
        _, lines, _ = self.run_it('doctor', '--json')
        self.assertIn(os.path.join(self.folder, '.cache', 'hloscope', 'choices') + ': 1 autotune results', json.dumps(lines))

        # A bundle replays with the way that was taken, without a cache and before one.
        status, lines, error = self.run_it('bundle', 'create', module, '--platform', 'gpu', '--reference_platform', 'interpreter',
                                           '-o', bundle, '--json', **fakes)
        self.assertEqual(status, 0, (lines, error))
        self.assertIn('choices.tsv', lines[0]['parts'])
        shutil.rmtree(os.path.join(self.folder, '.cache'))
        replayed = choice('run', bundle, '--platform', 'gpu')
        self.assertEqual((replayed['from'], replayed['way']), ('bundle', measured['way']))
        status, lines, error = self.run_it('bundle', 'check', bundle, '--json', **fakes)
        self.assertEqual((status, lines[0]['status']), (0, 'reproduced'), (lines, error))
        # On another device it is not used, which a note says.
        other = choice('run', bundle, '--platform', 'gpu', fake=fakes['fake'] + ',capability=80')
        self.assertEqual(other['from'], 'rule')
        self.assertIn("the bundle's autotune result, proposal 2 (", other['notes'][0])
        status, lines, error = self.run_it('bundle', 'check', bundle, '--json', **{**fakes, 'fake': 'capability=80'})
        self.assertIn("the bundle's autotune result, proposal 2 (", json.dumps(lines), error)

    def test_several_devices(self):
        module = self.file('two.hlo', TWO)
        command = ('run', module, '--platform', 'gpu', '--reference_platform', 'interpreter', '--json')
        shared = 'devices 0 and 1 are on one GPU, NCCL takes one of each'
        for gpus, used, flags, reason in ((1, 1, (), shared), (2, 2, (), ''), (3, 2, (), ''),
                                          (2, 2, ('--xla_disable_hlo_passes=nccl',), 'NCCL is left out by a flag')):
            status, lines, error = self.run_it(*command, *flags, fake=f'devices={gpus}')
            self.assertEqual((status, lines[0]['status']), (0, 'equal'), (lines, error))
            executed = lines[0]['executed']
            self.assertEqual(executed['placement'], {'devices': 2, 'gpus': used, 'gpus_there': gpus})
            choice, = executed['libraries']
            self.assertEqual((choice['opcode'], choice['count'], choice['reason']), ('all-reduce', 2, reason))
            self.assertTrue(choice['library'].startswith('NCCL'), choice)
            self.assertEqual([executed[key] for key in ('library_calls', 'collectives', 'evaluated')], [0, 2, 0])
        # Nor does a plan compiled elsewhere leave them to the host; a simulated GPU goes through it instruction by instruction.
        plan = os.path.join(self.folder, 'three.hloplan')
        three = self.file('three.hlo', THREE)
        self.run_it('compile', three, '--emit', 'plan', '--target', 'sm_80', '-o', plan)
        for platform in 'gpu', 'gpu-sim':
            status, lines, error = self.run_it('run', plan, '--platform', platform, '--reference_platform', 'interpreter', '--json')
            self.assertEqual((status, lines[0]['status']), (0, 'equal'), (platform, lines, error))
            self.assertEqual(lines[0]['executed']['evaluated'], 0, lines)
        # Only what the host did is said to be its.
        told = self.run_text(*command[:-1], fake='devices=1').stdout
        self.assertIn(f'by our own copies and kernels: 2 all-reduce, {shared}', told)
        halves = self.file('halves.hlo', HALVES)
        told = self.run_text('run', halves, '--platform', 'gpu', '--fallback', 'cpu', fake='devices=1').stdout
        self.assertNotIn('by the host', told)  # NCCL has no add of s16: an all-gather and a kernel
        _, lines, error = self.run_it('doctor', '--json', fake='devices=2')
        self.assertIn('2 GPUs: Made-up GPU', json.dumps(lines), error)
        self.assertIn('collectives between devices of our own compiler on a GPU: 2.28.9', json.dumps(lines))

    def test_doctor_lists_libraries(self):
        _, lines, error = self.run_it('doctor', '--json', libraries='cufft.major=10')
        found = json.dumps(lines)
        self.assertIn('products of matrices of our own compiler on a GPU: 13.0.0', found, error)
        self.assertIn('cuFFT: version mismatch: it is 10.0.0, 11.0 or newer is needed', found)
        self.assertIn('our own kernels run instead', found)

    def test_drivers_that_do_not_start(self):
        for fake, words, fix in (
                ('cuInit=100', 'no device: starting the driver failed with CUDA_ERROR_NO_DEVICE (100)', 'CUDA_VISIBLE_DEVICES'),
                ('cuInit=34', 'no driver: starting the driver', 'for linking only'),
                ('cuInit=803', 'version mismatch: starting the driver', 'sudo reboot'),
                ('cuInit=804', 'version mismatch: starting the driver', 'compat'),
                ('cuInit=802', 'SYSTEM_NOT_READY', 'fabricmanager'),
                ('cuInit=999', 'device lost: starting the driver', 'dmesg'),
                ('version=11040', "version mismatch: NVIDIA's driver is of CUDA 11.4, 12.0 is needed", '525'),
                ('devices=0', 'no device: counting devices', 'nvidia-smi -L'),
                ('capability=70', 'device capability too low: Made-up GPU has 7.0', 'our code needs 8.0')):
            status, lines, error = self.on_gpu(fake=fake)
            self.assertEqual(status, 3 if 'capability' in fake else 2, (fake, lines, error))
            self.assertIn(words, lines[0]['error'], fake)
            self.assertIn(fix, lines[0]['error'], fake)

    def test_no_driver(self):
        status, lines, _ = self.on_gpu(driver='/nowhere')
        if status == 0:
            self.skipTest('this machine has a driver')
        self.assertEqual(status, 2)
        self.assertIn('no driver: libcuda.so.1', lines[0]['error'])
        self.assertIn('hloscope doctor', lines[0]['error'])

    def test_a_library_that_is_no_driver(self):
        folder = os.path.join(self.folder, 'other')
        os.makedirs(folder)
        shutil.copy(os.path.join(TESTS, 'libfake_plugin.so'), os.path.join(folder, 'libcuda.so.1'))
        status, lines, _ = self.on_gpu(driver=folder)
        self.assertEqual(status, 2)
        self.assertIn("version mismatch: NVIDIA's driver has no cuInit", lines[0]['error'])

    def test_a_plan_runs_without_a_compiler(self):
        plan = os.path.join(self.folder, 'm.hloplan')
        self.assertEqual(self.run_it('compile', self.module, '--emit', 'plan', '--target', 'sm_80', '-o', plan)[0], 0)
        # The program without the library beside it that has the compiler's back end.
        alone = os.path.join(self.folder, 'alone', 'hloscope')
        os.makedirs(os.path.dirname(alone))
        shutil.copy(HLOSCOPE, alone)
        for platform in ('gpu', 'gpu-sim'):
            status, lines, error = self.run_it('run', plan, '--platform', platform, '--reference_platform', 'interpreter', '--json',
                                               program=alone)
            self.assertEqual((status, lines[0]['status']), (0, 'equal'), error)
            self.assertEqual(lines[0]['executed']['evaluated'], 0)
            status, lines, error = self.run_it('run', self.module, '--platform', platform, '--json', program=alone)
            self.assertIn('libhloscope_codegen.so', lines[0]['error'])

    def test_plans_that_do_not_fit(self):
        plan = os.path.join(self.folder, 'm.hloplan')
        self.assertEqual(self.run_it('compile', self.module, '--emit', 'plan', '--target', 'sm_90', '-o', plan)[0], 0)
        status, lines, _ = self.on_gpu(plan, fake='capability=80')
        self.assertEqual(status, 3)
        self.assertTrue(lines[0]['error'].startswith('device capability too low: this .hloplan holds code for sm_90, here sm_80 is run'),
                        lines)
        self.assertIn('--emit plan --target sm_80', lines[0]['error'])
        # On the host the module that it holds runs.
        status, lines, error = self.run_it('run', plan, '--platform', 'gpu', '--fallback', 'cpu', '--json', fake='capability=80')
        self.assertEqual(status, 0, error)
        self.assertEqual(lines[0]['fallbacks'][0]['reason'], 'device capability too low')
        with open(plan, 'r+b') as f:
            f.seek(-20, os.SEEK_END)
            f.write(b'damage')
        status, lines, _ = self.on_gpu(plan)
        self.assertEqual(status, 2)
        self.assertIn('its checksum does not match (write it again', lines[0]['error'])

    def test_a_lost_device_stops_no_other_module(self):
        # Each worker counts its own kernels: the second run of a worker that stayed would be refused too.
        other = self.file('n.hlo', MODULE)
        status, lines, error = self.on_gpu(self.module, other, self.file('o.hlo', MODULE), fake='kernel:1=719')
        self.assertEqual(status, 4, error)
        self.assertEqual([(line['status'], line['error_kind']) for line in lines], [('died', 'crashed')] * 3)
        for line in lines:
            # A worker that had lost its device before could not even make a context.
            self.assertIn('launch failure: waiting for the kernels of m failed with CUDA_ERROR_LAUNCH_FAILED', line['error'])

    def test_kernels_of_many_arrays_need_a_newer_driver(self):
        for count, driver, reason in ((535, 12000, ''), (545, 13000, ''), (545, 12010, ''),
                                      (4092, 13000, 'its parameters take 32776 bytes, and PTX has no more than 32764'),
                                      (545, 12000, 'its parameters take more than 4352 bytes, for which NVIDIA\'s driver has to be 530 or newer')):
            names = ', '.join(f'p{i}' for i in range(count))
            module = self.file(f'many.{count}.hlo', 'HloModule many\nENTRY e {\n' + ''.join(f'  p{i} = f32[2] parameter({i})\n' for i in range(count)) +
                               f'  n = f32[2] negate(p0)\n  c = f32[{2 * count}] concatenate({names}), dimensions={{0}}\n'
                               f'  ROOT t = (f32[{2 * count}], f32[2]) tuple(c, n)\n}}\n')
            run = ('run', module, '--platform', 'gpu', '--reference_platform', 'interpreter', '--json')
            status, lines, error = self.run_it(*run, fake=f'version={driver}')
            if reason:
                self.assertEqual((status, lines[0]['status']), (3, 'unsupported'), (lines, error))
                self.assertIn(reason, lines[0]['error'])
                status, lines, error = self.run_it(*run, '--fallback', 'cpu', fake=f'version={driver}')
            self.assertEqual((status, lines[0]['status']), (0, 'equal'), (lines, error))
            self.assertEqual([fallback['opcode'] for fallback in lines[0]['fallbacks']], ['concatenate'] if reason else [], lines)

    def test_the_deadline_is_of_what_comes_after_first_contact(self):
        # What starts the driver takes most of it, and so does a run.
        slow = 'cuInit_ms=4000,cuMemcpyDtoHAsync_ms=4000'
        status, lines, error = self.run_it('run', self.module, '--platform', 'gpu', '--deadline', '7', '--json', fake=slow)
        self.assertEqual((status, lines[0]['status']), (0, 'ran'), (lines, error))

    def test_repeats_are_those_that_were_made(self):
        module = self.file('ew.hlo', 'HloModule ew\nENTRY e { x = f32[128] parameter(0)\n ROOT r = f32[128] sine(x) }\n')
        # The second run ends its worker, the third has another.
        for asked, made in ('2', 1), ('3', 2):
            told = self.run_text('run', module, '--platform', 'gpu', '--repeat', asked, fake='kernel:2=700')
            _, lines, _ = self.run_it('run', module, '--platform', 'gpu', '--repeat', asked, '--json', fake='kernel:2=700')
            self.assertEqual(told.returncode, 4, told)
            self.assertEqual('runs on the same inputs agree' in told.stdout, made == 2, told.stdout)
            self.assertEqual((lines[0]['repeat']['runs'], lines[0]['repeat']['differing_run']), (made, None))

    def test_a_fault_of_the_second_run(self):
        status, lines, error = self.run_it('run', self.module, '--platform', 'gpu', '--iterations', '3', '--json', fake='kernel:2=700')
        self.assertEqual(status, 4, error)
        self.assertIn('CUDA_ERROR_ILLEGAL_ADDRESS', json.dumps(lines))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
