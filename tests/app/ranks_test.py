#!/usr/bin/env python3
"""Ranks that a launcher starts, over the made-up driver and NCCL: ranks_test.py HLOSCOPE FOLDER_OF_TESTS."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HLOSCOPE, TESTS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
OPEN_MPI = ('OMPI_COMM_WORLD_RANK', 'OMPI_COMM_WORLD_SIZE', 'OMPI_COMM_WORLD_LOCAL_RANK')
SLURM = ('SLURM_PROCID', 'SLURM_NTASKS', 'SLURM_LOCALID')
TORCHRUN = ('RANK', 'WORLD_SIZE', 'LOCAL_RANK')
INTEL = ('PMI_RANK', 'PMI_SIZE', 'MPI_LOCALRANKID')

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

FOUR = """HloModule four, replica_count=4
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  a = f32[8,4] parameter(0)
  r = f32[8,4] all-reduce(a), replica_groups={{0,2},{1,3}}, to_apply=sum
  g = f32[32,4] all-gather(r), dimensions={0}, replica_groups={{0,1,2,3}}
  s = f32[4,4] reduce-scatter(r), dimensions={0}, replica_groups={{0,1},{2,3}}, to_apply=sum
  p = f32[8,4] collective-permute(a), source_target_pairs={{0,1},{1,2},{2,0}}
  t = f32[8,4] all-to-all(a), dimensions={0}, replica_groups={{0,1,2,3}}
  i = u32[] replica-id()
  ROOT o = (f32[32,4], f32[4,4], f32[8,4], f32[8,4], u32[]) tuple(g, s, p, t, i)
}
"""


class Ranks(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.scratch)
        self.folder = os.path.join(self.scratch, 'ranks')
        for name, text in ('two.hlo', TWO), ('four.hlo', FOUR):
            with open(os.path.join(self.scratch, name), 'w', encoding='utf-8') as f:
                f.write(text)

    def start(self, module, rank, ranks, names, *flags, fake='devices=4', libraries=''):
        path = os.path.join(self.scratch, module)
        env = {'HOME': self.scratch, 'PATH': '/nowhere', 'CUDA_FAKE': fake, 'CUDA_FAKE_LIBRARIES': libraries,
               'LD_LIBRARY_PATH': os.path.join(TESTS, 'fake_driver')}
        env.update(zip(names, (str(rank), str(ranks), str(rank))))
        for name in ('ASAN_OPTIONS', 'LSAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'):
            if name in os.environ:
                env[name] = os.environ[name]
        return subprocess.Popen([HLOSCOPE, 'run', path, '--platform', 'gpu', '--json', '--ranks_folder', self.folder, *flags],
                                env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_all(self, module, ranks, names, *flags, fakes=None, libraries=''):
        """The status, output and errors of each rank."""
        fakes = fakes or ['devices=4'] * ranks
        started = [self.start(module, rank, ranks, names, *flags, fake=fakes[rank], libraries=libraries) for rank in range(ranks)]
        out = []
        for process in started:
            told, errors = process.communicate(timeout=200)
            out.append((process.returncode, [json.loads(line) for line in told.splitlines()], errors))
        return out

    def expect_equal(self, ended):
        status, lines, errors = ended[0]
        self.assertEqual((status, lines[0]['status'] if lines else ''), (0, 'equal'), ended)
        for other in ended[1:]:
            self.assertEqual(other, (0, [], ''), ended)
        return lines[0]

    def test_each_launcher(self):
        for names in OPEN_MPI, SLURM, TORCHRUN, INTEL:
            shutil.rmtree(self.folder, ignore_errors=True)
            report = self.expect_equal(self.run_all('two.hlo', 2, names, '--reference_platform', 'interpreter'))
            choice, = report['executed']['libraries']
            self.assertEqual((choice['opcode'], choice['count'], choice['reason']), ('all-reduce', 1, ''))
            self.assertEqual(report['executed']['placement'], {'devices': 2, 'gpus': 2, 'gpus_there': 2})

    def test_several_groups_and_runs(self):
        # Launchers may show each rank its own GPU alone.
        report = self.expect_equal(self.run_all('four.hlo', 4, SLURM, '--reference_platform', 'interpreter', '--iterations', '3',
                                                fakes=['devices=1'] * 4))
        self.assertEqual(len(report['outputs']), 5)
        self.assertEqual([choice['reason'] for choice in report['executed']['libraries']], [''] * 5)

    def test_one_that_does_not_come(self):
        process = self.start('two.hlo', 0, 2, OPEN_MPI, '--deadline', '2')
        told, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 4, (told, errors))
        self.assertIn('rank 1 did not come: bringing ranks together', told)

    def test_one_that_fails(self):
        ended = self.run_all('two.hlo', 2, OPEN_MPI, fakes=['devices=4', 'devices=4,kernel:1=700'])
        self.assertEqual([status for status, _, _ in ended], [4, 4], ended)
        self.assertIn('rank 1 failed: ', ended[0][1][0]['error'])
        self.assertIn('CUDA_ERROR_ILLEGAL_ADDRESS', ended[0][1][0]['error'])
        self.assertEqual(ended[1][1], [])
        self.assertIn('CUDA_ERROR_ILLEGAL_ADDRESS', ended[1][2])

    def test_one_that_does_not_begin(self):
        # It has another module, or none.
        other = self.start('none.hlo', 1, 2, OPEN_MPI)
        told, errors = self.start('two.hlo', 0, 2, OPEN_MPI).communicate(timeout=100)
        self.assertIn('rank 1 failed: ', told, errors)
        self.assertIn('none.hlo', told)
        self.assertIn('none.hlo', other.communicate(timeout=100)[1])

    def test_what_nccl_refuses(self):
        ended = self.run_all('two.hlo', 2, OPEN_MPI, libraries='ncclGetUniqueId=2')
        self.assertNotEqual(ended[0][0], 0)
        self.assertIn('all-reduce c: ranks meet through NCCL alone: NCCL: the system failed in it', ended[0][1][0]['error'])
        self.assertIn('rank 0 failed: ', ended[1][2])

    def test_refusals(self):
        def refused(rank, ranks, names, *flags):
            process = self.start('two.hlo', rank, ranks, names, *flags)
            told, errors = process.communicate(timeout=100)
            self.assertNotEqual(process.returncode, 0)
            return told + errors

        self.assertIn('no launcher says which rank this process is', refused(0, 2, ()))
        self.assertIn('PMI_SIZE of MPICH, Intel MPI is ``: expected a number', refused(0, 2, INTEL[:1]))
        self.assertIn('OMPI_COMM_WORLD_RANK is 2, OMPI_COMM_WORLD_SIZE is 2: expected a smaller rank', refused(2, 2, OPEN_MPI))
        self.assertIn('does not go with --bundle, --fallback cpu', refused(0, 2, OPEN_MPI, '--fallback', 'cpu'))
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'rank-0')))
        self.assertIn('the module has 2 devices, the launcher started 3 ranks', refused(0, 3, OPEN_MPI))
        self.assertIn('an earlier run was here: rank-0 is there', refused(0, 2, OPEN_MPI))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
