#!/usr/bin/env python3
"""`hloscope` on the platform gpu end to end, over the made-up driver and CUPTI: gpu_profile_test.py HLOSCOPE FOLDER_OF_THE_MADE_UP_DRIVER."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HLOSCOPE, DRIVER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
STRAIGHT = """HloModule straight
ENTRY e {
  a = f32[16,16] parameter(0)
  b = f32[16,16] parameter(1)
  d = f32[16,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[16,16] tanh(d)
  ROOT r = f32[16,16] dot(t, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
HANDED = """HloModule handed
ENTRY e {
  a = f32[4,4] parameter(0)
  b = f32[4,4] add(a, a)
  z = f32[4] constant({0, 0, 0, 0})
  c = f32[4,4] custom-call(a, z, b), custom_call_target="cusolver_ormqr_ffi"
  ROOT r = f32[4,4] multiply(c, c)
}
"""


def by_instruction(profile, key):
    """What a profile has under a key for each instruction: rows are in the order of their times, which formats round."""
    return {row['instruction']: row[key] for row in profile['instructions'] if key in row}


class Gpu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)
        return path

    def run_it(self, *arguments, **variables):
        env = {**os.environ, 'LD_LIBRARY_PATH': DRIVER, 'XDG_CACHE_HOME': self.folder, **variables}
        return subprocess.run([HLOSCOPE, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False)

    def test_nothing_is_handed_over_unasked(self):
        module = self.path('m.hlo', HANDED)
        done = self.run_it('run', module, '--platform', 'gpu')
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn('c (custom-call): custom call that the platform does not implement: ', done.stderr)
        self.assertIn('--fallback cpu runs it on the host', done.stderr)
        self.assertEqual(done.stdout, '')
        done = self.run_it('run', module, '--platform', 'gpu', '--fallback', 'cpu')
        self.assertEqual(done.returncode, 0, done.stderr)
        told = done.stdout + done.stderr
        self.assertEqual(told.count('custom call that the platform does not implement'), 1, told)
        self.assertIn('on the host: c (custom-call): custom call that the platform does not implement; 128 B moved, ', told)
        done = self.run_it('run', module, '--platform', 'gpu', '--fallback', 'cpu', '--json')
        fallback, = json.loads(done.stdout)['fallbacks']
        self.assertEqual((fallback['instruction'], fallback['bytes_moved']), ('c', 128))
        self.assertGreater(fallback['time_us'], 0)

    def test_a_reason_is_said_once(self):
        done = self.run_it('run', self.path('m.hlo', HANDED), '--platform', 'gpu', LD_LIBRARY_PATH=self.folder, CUDA_FAKE='')
        if done.returncode != 0:  # a machine without a driver
            self.assertEqual(done.stderr.count('no driver'), 1, done.stderr)

    def profile(self, *arguments, **variables):
        done = self.run_it('profile', *arguments, '--json', **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    def test_kernels_are_timed_one_by_one(self):
        module = self.path('m.hlo', STRAIGHT)
        profile, said = self.profile(module, '--platform', 'gpu')
        self.assertNotIn('CUPTI', said)
        names = [row['instruction'] for row in profile['instructions']]
        self.assertTrue({'d', 'r'} <= set(names) or any('fusion' in name for name in names), names)
        self.assertGreater(profile['attributed'], 0)
        kept = self.path('p.hloprof')
        done = self.run_it('run', module, '--platform', 'gpu', '--profile', kept)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(self.profile(kept)[0]['attributed'], 0)
        text = self.run_it('profile', kept).stdout
        self.assertIn('gpu /device:GPU:0', text)

    def test_without_cupti_the_driver_times(self):
        module = self.path('m.hlo', STRAIGHT)
        for faults, why, fix in (('version=17', 'whose records cannot be read', 'nvidia-cuda-cupti'),
                                 ('cuptiActivityEnable=35', 'ERR_NVGPUCTRPERM', 'NVreg_RestrictProfilingToAdminUsers=0'),
                                 ('cuptiSubscribe=39', 'another profiler is attached', 'end the other profiler')):
            kept = self.path('p.hloprof')
            done = self.run_it('run', module, '--platform', 'gpu', '--profile', kept, CUDA_FAKE_CUPTI=faults)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(why, done.stdout + done.stderr)
            self.assertIn(fix, done.stdout + done.stderr)
            profile, said = self.profile(kept)
            self.assertGreater(profile['attributed'], 0)
            self.assertIn(why, said + json.dumps(profile))

    def test_lines_of_ptx(self):
        module, kept = self.path('m.hlo', STRAIGHT), self.path('p.hloprof')
        lines = {}
        for platform, counted in (('gpu', 'samples'), ('gpu-sim', 'executed')):
            profile, _ = self.profile(module, '--platform', platform, '--pc_sampling', '--repeat', '2', '-o', kept)
            self.assertNotIn('sampled', json.dumps(profile['warnings']))
            found = by_instruction(profile, 'ptx_lines')
            self.assertEqual(len(found), 2)  # the hyperbolic tangent is computed from the elements of the first dot
            for each in found.values():
                self.assertEqual((each['counted'], each['total']), (counted, sum(line['count'] for line in each['lines'])))
                self.assertAlmostEqual(sum(line['share'] for line in each['lines']), 1)
                counts = [line['count'] for line in each['lines']]
                self.assertEqual(counts, sorted(counts, reverse=True))
                self.assertTrue(any('st.global' in line['text'] for line in each['lines']), each)
                self.assertTrue(all(line['stalls'] if counted == 'samples' else not line['stalls'] for line in each['lines']))
            # The made-up device has a sample for each execution: both platforms run the same lines.
            lines[platform] = [[(line['kernel'], line['line'], line['text'], line['count']) for line in each['lines']] for each in found.values()]
            for file in (kept, self.path('p.xplane.pb')):
                if file != kept:
                    self.assertEqual(self.run_it('profile', kept, '-o', file).returncode, 0)
                again, _ = self.profile(file)
                self.assertEqual(by_instruction(again, 'ptx_lines'), found)
            text = self.run_it('profile', kept).stdout
            self.assertIn('samples of program counters in separate runs' if platform == 'gpu' else 'counts, not time samples', text)
            self.assertIn(lines[platform][0][0][2][:40], text)
        self.assertEqual(sorted(lines['gpu']), sorted(lines['gpu-sim']))
        for arguments, why in ((('profile', module, '--pc_sampling'), '--pc-sampling: interpreter runs no PTX'),
                               (('run', module, '--platform', 'gpu', '--pc_sampling'), 'its measurements are part of a profile')):
            done = self.run_it(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(why, done.stderr)

    def test_counters_of_kernels(self):
        module, kept = self.path('m.hlo', STRAIGHT), self.path('p.hloprof')
        names = ['dram_read_bytes', 'dram_written_bytes', 'sm_use', 'tensor_use', 'achieved_occupancy']
        profile, said = self.profile(module, '--platform', 'gpu', '--metrics', '--repeat', '2', '-o', kept)
        self.assertNotIn('counters of kernels', said + json.dumps(profile['warnings']))
        measured = by_instruction(profile, 'metrics')
        self.assertTrue(measured)
        for row in measured.values():
            self.assertEqual(list(row), ['launches', *names])
            self.assertEqual(row['launches'], 2)
            self.assertEqual(row['dram_written_bytes'], 2 * 16 * 16 * 4)
            self.assertTrue(0 < row['achieved_occupancy'] <= 1, row)
        self.assertTrue(profile['recording']['same_bits'] if 'recording' in profile else True)
        # In a file, and in another format, they are the same.
        for file in (kept, self.path('p.xplane.pb')):
            if file != kept:
                self.assertEqual(self.run_it('profile', kept, '-o', file).returncode, 0)
            again, _ = self.profile(file)
            self.assertEqual(by_instruction(again, 'metrics'), measured)
        text = self.run_it('profile', kept).stdout
        self.assertIn('measured by GPU performance counters in separate runs; means per kernel:', text)
        self.assertIn('     read   written       SMs    tensor  achieved  kernels  instruction', text)

    def test_counters_that_are_refused(self):
        module = self.path('m.hlo', STRAIGHT)
        profile, said = self.profile(module, '--platform', 'gpu', '--metrics', CUDA_FAKE_CUPTI='cuptiProfilerGetCounterAvailability=35')
        told = said + json.dumps(profile)
        self.assertIn('counters of kernels were not measured: ', told)
        self.assertIn('ERR_NVGPUCTRPERM', told)
        self.assertIn('NVreg_RestrictProfilingToAdminUsers=0', told)
        self.assertGreater(profile['attributed'], 0)
        self.assertFalse([row for row in profile['instructions'] if 'metrics' in row])
        for arguments, why in ((('profile', module, '--metrics'), '--metrics: interpreter has no GPU performance counters'),
                               (('run', module, '--platform', 'gpu', '--metrics'), 'its measurements are part of a profile')):
            done = self.run_it(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(why, done.stderr)

    def test_dropped_records_are_told(self):
        kept = self.path('p.hloprof')
        self.run_it('run', self.path('m.hlo', STRAIGHT), '--platform', 'gpu', '--profile', kept, CUDA_FAKE_CUPTI='record%5=1')
        done = self.run_it('profile', kept)
        self.assertIn('CUPTI dropped ', done.stdout + done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
