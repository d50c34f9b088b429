#!/usr/bin/env python3
"""`hloscope doctor` end to end, with made-up drivers and plugins: doctor_test.py HLOSCOPE FOLDER_OF_THE_MADE_UP_ONES."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HLOSCOPE, MADE_UP = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CPU_FILE = 'lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so'
GPU_FILE = 'jax_plugins/xla_cuda13/xla_cuda_plugin.so'


class Doctor(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def environment(self, name, file, made_up, version='1.0'):
        """A Python environment that holds the made-up plugin as `file`."""
        packages = f'{name}/lib/python3.11/site-packages'
        with open(self.path(f'{name}/pyvenv.cfg'), 'w', encoding='utf-8') as f:
            f.write('home = /nowhere\n')
        shutil.copy(os.path.join(MADE_UP, f'lib{made_up}.so'), self.path(f'{packages}/{file}'))
        distribution = 'lammps_jax_pjrt_cpu' if file == CPU_FILE else 'jax_cuda13_pjrt'
        os.makedirs(self.path(f'{packages}/{distribution}-{version}.dist-info/x'))
        return os.path.join(self.folder, name)

    def doctor(self, *arguments, **variables):
        """{(section, subject): [finding]} of the doctor in an environment of nothing but `variables`."""
        env = {'HOME': self.folder, 'PATH': '/nowhere', **variables}
        done = subprocess.run([HLOSCOPE, 'doctor', '--json', *arguments], env=env, capture_output=True, check=True, timeout=120)
        findings = {}
        for line in done.stdout.splitlines():
            finding = json.loads(line)
            self.assertEqual(list(finding), ['section', 'subject', 'state', 'status', 'message', 'command'])
            findings.setdefault((finding['section'], finding['subject']), []).append(finding)
        return findings

    def state(self, findings, section, subject):
        return [finding['state'] for finding in findings.get((section, subject), [])]

    def driver(self, **settings):
        settings = ','.join(f'{key}={value}' for key, value in settings.items())
        os.makedirs(os.path.join(self.folder, 'driver'), exist_ok=True)
        shutil.copy(os.path.join(MADE_UP, 'fake_driver', 'libcuda.so.1'), os.path.join(self.folder, 'driver'))
        return {'LD_LIBRARY_PATH': os.path.join(self.folder, 'driver'), 'CUDA_FAKE': settings}

    def test_nothing_there(self):
        found = self.doctor()
        for platform in ('xla-cpu', 'xla-gpu'):
            self.assertEqual(self.state(found, 'plugins', platform), ['absent'])
        self.assertIn('setup --plugins --gpu', found['plugins', 'xla-gpu'][0]['command'])

    def test_plugin_in_another_prefix(self):
        prefix = self.environment('other', CPU_FILE, 'fake_plugin')
        self.assertEqual(self.state(self.doctor(), 'plugins', 'xla-cpu'), ['absent'])
        for arguments, variables in ((('--python', prefix), {}), ((), {'VIRTUAL_ENV': prefix}), ((), {'HLOSCOPE_PLUGIN_PATH': prefix})):
            finding = self.doctor(*arguments, **variables)['plugins', 'xla-cpu'][0]
            self.assertEqual(finding['state'], 'ready', finding)
            self.assertIn('lammps-jax-pjrt-cpu 1.0, PJRT interface 0.100 with a profiler extension', finding['message'])

    def test_a_plugin_in_another_environment_than_the_named_one(self):
        prefix, bare, module = os.path.join(self.folder, 'other'), os.path.join(self.folder, 'bare'), self.path('m.hlo')
        for path, text in ((module, 'HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\n'), (self.path('other/pyvenv.cfg'), 'home = /nowhere\n'),
                           (self.path(f'other/lib/python3.11/site-packages/{CPU_FILE}'), ''), (self.path('bare/pyvenv.cfg'), 'home = /nowhere\n')):
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)
        env = {'HOME': self.folder, 'PATH': '/nowhere', 'VIRTUAL_ENV': prefix}
        done = subprocess.run([HLOSCOPE, 'run', module, '--platform', 'xla-cpu', '--python', bare], env=env, capture_output=True, text=True, timeout=120)
        self.assertIn(f'`PATH={bare}/bin:$PATH` in place of --python also finds {prefix}/lib/python3.11/site-packages/{CPU_FILE}', done.stderr)

    def test_frameworks(self):
        """From the disk: nothing is imported."""
        packages = 'tf/lib/python3.11/site-packages'
        for distribution in ('tensorflow_cpu-2.21.0', 'keras-3.15.1', 'torch-2.9.1', 'jax-0.10.2', 'jax_cuda12_plugin-0.10.2'):
            os.makedirs(self.path(f'{packages}/{distribution}.dist-info/x'))
        for file, text in (('tensorflow/python/platform/build_info.py', "build_info = OrderedDict([('is_cuda_build', False)])\n"),
                           ('torch/version.py', "cuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n")):
            with open(self.path(f'{packages}/{file}'), 'w', encoding='utf-8') as f:
                f.write(text)
        found = self.doctor('--python', os.path.join(self.folder, 'tf'))
        for subject, state, words in (('tensorflow-cpu 2.21.0', 'without-cuda', 'it uses no GPU'), ('keras 3.15.1', 'found', 'model.compile'),
                                      ('torch 2.9.1', 'no-gpu', 'built for CUDA 12.8'), ('jax 0.10.2', 'no-gpu', 'jax-cuda12-plugin 0.10.2')):
            finding = found['frameworks', subject][0]
            self.assertEqual(finding['state'], state)
            self.assertIn(words, finding['message'])
        self.assertIn("'tensorflow[and-cuda]==2.21.0'", found['frameworks', 'tensorflow-cpu 2.21.0'][0]['command'])

    def test_plugins_that_cannot_be_used(self):
        for made_up, message in (('fake_plugin_major', 'implements version 1.100'), ('fake_plugin_old', 'at least 0.29 is needed'),
                                 ('fake_plugin_no_table', 'not a PJRT plugin'), ('fake_plugin_no_start', 'no device of that kind'),
                                 ('fake_plugin_missing', 'needs the library libfake_plugin_gone.so')):
            prefix = self.environment(made_up, CPU_FILE, made_up)
            finding = self.doctor(VIRTUAL_ENV=prefix)['plugins', 'xla-cpu'][0]
            self.assertEqual(finding['state'], 'unusable', finding)
            self.assertIn(message, finding['message'])
            self.assertIn('pip install --force-reinstall --no-deps lammps-jax-pjrt-cpu==', finding['command'])

    def test_plugin_that_dies(self):
        prefix = self.environment('deadly', CPU_FILE, 'deadly_plugin')
        finding = self.doctor(VIRTUAL_ENV=prefix)['plugins', 'xla-cpu'][0]
        self.assertEqual(finding['state'], 'dies')
        self.assertIn('SIGABRT', finding['message'])
        self.assertIn(' at run: ', finding['message'])

    def test_named_folder_that_is_gone(self):
        found = self.doctor(HLOSCOPE_PLUGIN_PATH='/nowhere/at/all')
        self.assertEqual(found['plugins', 'search'][0]['command'], 'unset HLOSCOPE_PLUGIN_PATH')

    def test_drivers(self):
        for settings, state, message in (
                ({}, 'ready', 'CUDA 13.0: Made-up GPU, compute capability 9.0, 80 GiB'),
                ({'version': 12040, 'devices': 2}, 'ready', 'CUDA 12.4: 2 GPUs: Made-up GPU, compute capability 9.0, 80 GiB; Made-up GPU'),
                ({'cuInit': 34}, 'for-linking', 'toolkit'), ({'cuInit': 100}, 'no-device', 'no device'), ({'devices': 0}, 'no-device', 'no device'),
                ({'cuInit': 803}, 'mismatch', 'different versions'), ({'cuInit': 804}, 'incompatible', 'compatibility'),
                ({'cuInit': 999}, 'fails', 'error 999, CUDA_ERROR_UNKNOWN'), ({'signal': 11}, 'dies', 'SIGSEGV')):
            finding = self.doctor(**self.driver(**settings))['driver', 'libcuda.so.1'][0]
            self.assertEqual(finding['state'], state, finding)
            self.assertIn(message, finding['message'])

    def copy_cupti(self):
        for name in ('libcupti.so.13', 'libcupti.so.12', 'libcupti.so'):
            shutil.copy(os.path.join(MADE_UP, 'fake_driver', name), os.path.join(self.folder, 'driver'))

    def test_cupti(self):
        for settings, state, message, command in (
                ('', 'ready', 'CUDA 13.0: kernels on the GPU can be timed one by one', ''),
                ('version=17', 'wrong-version', 'whose records cannot be read', 'nvidia-cuda-cupti'),
                ('cuptiActivityEnable=35', 'not-permitted', 'ERR_NVGPUCTRPERM', 'NVreg_RestrictProfilingToAdminUsers=0'),
                ('cuptiSubscribe=39', 'other-profiler', 'another profiler is attached', 'CUDA_INJECTION64_PATH'),
                ('cuptiSubscribe=43', 'mig', 'MIG', 'nvidia-smi -mig 0'),
                ('cuptiSubscribe=15', 'refused', 'could not be initialised', '')):
            driver = self.driver()
            self.copy_cupti()
            finding = self.doctor(**driver, CUDA_FAKE_CUPTI=settings)['permissions', 'CUPTI'][0]
            self.assertEqual(finding['state'], state, finding)
            self.assertIn(message, finding['message'])
            self.assertIn(command, finding['command'] or '')

    def test_counters(self):
        for settings, state, message, command in (
                ('', 'ready', 'counters of kernels can be read', ''),
                ('cuptiProfilerGetCounterAvailability=35', 'not-permitted', 'ERR_NVGPUCTRPERM', 'NVreg_RestrictProfilingToAdminUsers=0'),
                ('cuptiProfilerHostInitialize=46', 'refused', 'the definition of its metrics', '')):
            driver = self.driver()
            self.copy_cupti()
            finding = self.doctor(**driver, CUDA_FAKE_CUPTI=settings)['permissions', 'GPU counters'][0]
            self.assertEqual(finding['state'], state, finding)
            self.assertIn(message, finding['message'])
            self.assertIn(command, finding['command'] or '')

    def test_sampling(self):
        for settings, state, message, command in (
                ('', 'ready', 'program counters of kernels can be sampled', ''),
                ('cuptiPCSamplingEnable=35', 'not-permitted', 'ERR_NVGPUCTRPERM', 'NVreg_RestrictProfilingToAdminUsers=0'),
                ('cuptiPCSamplingEnable=27', 'refused', 'does not support it', '')):
            driver = self.driver()
            self.copy_cupti()
            finding = self.doctor(**driver, CUDA_FAKE_CUPTI=settings)['permissions', 'PC sampling'][0]
            self.assertEqual(finding['state'], state, finding)
            self.assertIn(message, finding['message'])
            self.assertIn(command, finding['command'] or '')

    def test_without_cupti(self):
        self.assertNotIn(('permissions', 'CUPTI'), self.doctor())
        if os.path.exists('/usr/local/cuda'):
            self.skipTest('a toolkit of CUDA is installed here')
        for name in ('libcupti.so.13', 'libcupti.so.12', 'libcupti.so'):
            with open(self.path(f'driver/{name}'), 'w', encoding='utf-8') as f:
                f.write('no library')
        self.assertEqual(self.state(self.doctor(**self.driver()), 'permissions', 'CUPTI'), ['no-libcupti'])

    def test_driver_that_does_not_load(self):
        with open(self.path('broken/libcuda.so.1'), 'w', encoding='utf-8') as f:
            f.write('no library')
        finding = self.doctor(LD_LIBRARY_PATH=os.path.join(self.folder, 'broken'))['driver', 'libcuda.so.1'][0]
        self.assertEqual(finding['state'], 'unloadable')

    def test_why_no_gpu_is_seen(self):
        # The made-up plugin makes no client, so XLA sees no device whatever the driver says.
        prefix = self.environment('gpu', GPU_FILE, 'fake_plugin')
        for settings, variables, state in (
                ({'version': 12040}, {}, 'driver-too-old'), ({'capability': 70}, {}, 'capability-too-low'),
                ({'cuInit': 100}, {'CUDA_VISIBLE_DEVICES': '-1'}, 'hidden'), ({}, {}, 'unseen')):
            found = self.doctor(VIRTUAL_ENV=prefix, **self.driver(**settings), **variables)
            self.assertEqual(self.state(found, 'devices', 'xla-gpu'), [state], found.get(('devices', 'xla-gpu')))

    def test_secrets_stay(self):
        done = subprocess.run([HLOSCOPE, 'doctor'], env={'PATH': '/nowhere', 'XLA_FLAGS': '--xla_dump_to=/s3cret', 'JAX_PLATFORMS': 's3cret/'},
                              capture_output=True, check=True, timeout=120)
        self.assertIn(b'--xla_dump_to (', done.stdout)
        self.assertNotIn(b's3cret', done.stdout)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
