#!/usr/bin/env python3
"""Every sample replays to its expected results from each of its forms, and a wrong expectation is seen.

  samples_test.py HLOSCOPE SAMPLES"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

HLOSCOPE, SAMPLES = sys.argv[1], sys.argv[2]
FOLDERS = sorted(os.path.dirname(f) for f in glob.glob(SAMPLES + '/*/expected.npz'))


def hloscope(*arguments):
    """Exit status and the records of one run with --json."""
    p = subprocess.run([HLOSCOPE, *arguments, '--json'], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, text=True)
    return p.returncode, [json.loads(line) for line in p.stdout.splitlines()], p.stderr


def forms(folder, stage):
    text, = glob.glob(f'{folder}/*.{stage}.txt')
    return text, text.replace('.txt', '.hlo.pb')


def results(folder):
    with zipfile.ZipFile(folder + '/expected.npz') as z:
        return z.namelist()


def spoil(folder, name, target):
    """Copies the expected results with the second highest bit of the last number of `name` turned over: far off for floats and integers."""
    with zipfile.ZipFile(folder + '/expected.npz') as source, zipfile.ZipFile(target, 'w') as copy:
        for member in source.namelist():
            data = bytearray(source.read(member))
            if member == name:
                data[-1] ^= 0x40
            copy.writestr(member, bytes(data))


class Samples(unittest.TestCase):
    def test_there_are_four(self):
        self.assertEqual(len(FOLDERS), 4)

    def test_replay_gives_the_expected_results(self):
        for folder in FOLDERS:
            for module in forms(folder, 'before_optimizations'):
                with self.subTest(module=module):
                    status, records, errors = hloscope('run', module, '--inputs', folder + '/inputs.npz', '--expect', folder + '/expected.npz')
                    self.assertEqual((status, errors), (0, ''), records)
                    self.assertEqual(records[-1]['status'], 'equal')
                    self.assertEqual(len(records[-1]['outputs']), len(results(folder)))
                    self.assertEqual(sum(o['mismatched'] for o in records[-1]['outputs']), 0)

    def test_kernels_of_a_gpu_run_without_one(self):
        for name, kernels in (('softmax_passes_a100', 1), ('attention_block_h100', 14)):
            module, = glob.glob(f'{SAMPLES}/{name}/*.before_optimizations.txt')
            with self.subTest(module=module):
                status, records, errors = hloscope('run', module, '--platform', 'xla-gpu-sim', '--as_dumped', '--reference_platform', 'interpreter',
                                                   '--abs_error_bound', '0.01', '--rel_error_bound', '0.01')
                self.assertEqual((status, errors), (0, ''), records)
                self.assertEqual(records[-1]['status'], 'equal')
                self.assertEqual(records[-1]['executed']['kernels'], kernels)
                self.assertEqual(records[-1]['executed']['evaluated'], 0)

    def test_a_profile_of_simulated_kernels_has_what_they_did(self):
        module, = glob.glob(f'{SAMPLES}/softmax_passes_a100/*.before_optimizations.txt')
        with tempfile.TemporaryDirectory() as scratch:
            trace = scratch + '/run.hloprof'
            status, records, errors = hloscope('run', module, '--platform', 'xla-gpu-sim', '--as_dumped', '--profile', trace)
            self.assertEqual((status, errors), (0, ''), records)
            status, (profile,), errors = hloscope('profile', trace)
            self.assertEqual((status, errors), (0, ''))
            self.assertTrue(any('not of a GPU' in warning for warning in profile['warnings']), profile['warnings'])
            launched, = (i for i in profile['instructions'] if 'launches' in i)
            figures = launched['figures']
            self.assertEqual(launched['launches'], 1)
            self.assertEqual(launched['model_device'], 'NVIDIA A100-SXM4-80GB')
            self.assertGreater(launched['model_us'], 0)
            self.assertEqual(launched['model_bound'], 'launch')  # an array of a few kB
            # The array is read and written at least once, in sectors that lie side by side.
            self.assertGreaterEqual(figures['global_load_sectors'] * 32, figures['touched_bytes'] / 2)
            self.assertEqual(launched['coalesced'], 1)
            self.assertGreater(figures['thread_instructions_executed'], figures['instructions_executed'])
            # Counts are exact: a second run has the same.
            again = scratch + '/again.hloprof'
            hloscope('run', module, '--platform', 'xla-gpu-sim', '--as_dumped', '--profile', again)
            _, (second,), _ = hloscope('profile', again)
            self.assertEqual([i['figures'] for i in second['instructions'] if 'launches' in i], [figures])
            status, (comparison,), _ = hloscope('compare', trace, again)
            self.assertEqual((status, comparison['status']), (0, 'ok'))

    def test_checks_find_nothing_in_sound_kernels(self):
        module, = glob.glob(f'{SAMPLES}/softmax_passes_a100/*.before_optimizations.txt')
        status, records, errors = hloscope('run', module, '--platform', 'xla-gpu-sim', '--check', 'race,uninitialised', '--shuffle', '3')
        self.assertEqual((status, errors), (0, ''), records)
        self.assertEqual((records[-1]['status'], records[-1]['checks']), ('ran', []))
        self.assertIn('in the order of seed 3 in 1 launch,', records[-1]['warnings'][0])

    def test_checks_are_for_simulated_gpus(self):
        for option in (('--check', 'race'), ('--shuffle', '1')):
            status, records, errors = hloscope('run', forms(FOLDERS[0], 'before_optimizations')[0], '--platform', 'interpreter', *option)
            self.assertEqual(status, 2)
            self.assertIn(f'{option[0]}: interpreter does not simulate a GPU', errors + str(records))

    def test_kernels_that_are_not_there_are_named_with_the_fix(self):
        module = forms(FOLDERS[0], 'before_optimizations')[0]
        status, records, _ = hloscope('run', module, '--platform', 'xla-gpu-sim')
        self.assertEqual(status, 2)
        self.assertIn('there are no kernels of XLA:GPU', records[-1]['error'])
        self.assertIn('--target h100', records[-1]['error'])

    def test_a_wrong_expectation_is_seen(self):
        for folder in FOLDERS:
            for index, name in enumerate(results(folder)):
                with self.subTest(folder=folder, result=name), tempfile.TemporaryDirectory() as scratch:
                    spoil(folder, name, scratch + '/expected.npz')
                    status, records, _ = hloscope('run', forms(folder, 'before_optimizations')[0],
                                                  '--inputs', folder + '/inputs.npz', '--expect', scratch + '/expected.npz')
                    self.assertEqual((status, records[-1]['status']), (1, 'differs'))
                    self.assertEqual([o['mismatched'] for o in records[-1]['outputs']], [int(i == index) for i in range(len(results(folder)))])

    def test_text_and_protobuf_are_one_module(self):
        for folder in FOLDERS:
            for stage in ('before_optimizations', 'cpu_after_optimizations'):
                with self.subTest(folder=folder, stage=stage):
                    status, records, errors = hloscope('compare', *forms(folder, stage))
                    self.assertEqual((status, records[-1]['status'], errors), (0, 'equal', ''), records)

    def test_every_file_verifies(self):
        files = [f for folder in FOLDERS for stage in ('before_optimizations', 'cpu_after_optimizations') for f in forms(folder, stage)]
        status, records, _ = hloscope('verify', *files)
        self.assertEqual(status, 0, records)
        self.assertEqual([(r['status'], r['errors']) for r in records], [('ok', [])] * len(files))


    def test_dumps_for_described_devices(self):
        folders = sorted(set(os.path.dirname(f) for f in glob.glob(SAMPLES + '/*/*gpu_target_config.pbtxt')))
        self.assertEqual([os.path.basename(f) for f in folders], ['attention_block_h100', 'data_parallel_step_b200', 'gpt_train_step_h100', 'softmax_passes_a100'])
        for folder in folders:
            with self.subTest(folder=folder):
                self.assertTrue(all(os.path.getsize(f) for f in glob.glob(folder + '/*.ptx*')))
                # The large one is kept as text alone.
                for stage in () if 'gpt' in folder else ('before_optimizations', '*gpu_after_optimizations'):
                    status, records, errors = hloscope('compare', *forms(folder, stage))
                    self.assertEqual((status, records[-1]['status'], errors), (0, 'equal', ''), records)
                status, records, _ = hloscope('verify', folder)
                self.assertEqual((status, {r['status'] for r in records}), (0, {'ok'}))
        self.assertEqual(hloscope('run', *forms(folders[3], 'before_optimizations'))[0], 0)

    def test_the_training_step_reports_to_the_host(self):
        for name, kernels, moves, moved in (('gpt_train_step', 498, 0, 0), ('gpt_train_step_h100', 1662, 48, 48 * 2 * 8 * 1024 * 1024 + 8)):
            with self.subTest(sample=name):
                status, records, errors = hloscope('info', f'{SAMPLES}/{name}')
                self.assertEqual((status, errors), (0, ''))
                overview = records[0]['modules'][0]['overview']
                self.assertEqual([overview[k] for k in ('kernels', 'host', 'host_memory', 'host_bytes')], [kernels, 1, moves, moved])
                self.assertEqual(overview['shown']['instruction'], 'debug_callback.1')
        status, records, _ = hloscope('profile', f'{SAMPLES}/gpt_train_step/gpt_train_step.xplane.pb.gz')
        self.assertEqual(status, 0)
        self.assertGreater(records[0]['attributed'], 0.99)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
