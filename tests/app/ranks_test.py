#!/usr/bin/env python3
"""Ranks that a launcher starts, over the made-up driver and NCCL: ranks_test.py HLOSCOPE FOLDER_OF_TESTS."""
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
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

ALONE = """HloModule alone, replica_count=2
ENTRY e {
  a = f32[4] parameter(0)
  ROOT r = f32[4] add(a, a)
}
"""


class Ranks(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.scratch)
        self.folder = os.path.join(self.scratch, 'ranks')
        for name, text in ('two.hlo', TWO), ('four.hlo', FOUR), ('alone.hlo', ALONE):
            with open(os.path.join(self.scratch, name), 'w', encoding='utf-8') as f:
                f.write(text)

    def start(self, module, rank, ranks, names, *flags, fake='devices=4', libraries='', outer=None):
        path = os.path.join(self.scratch, module)
        env = {'HOME': self.scratch, 'PATH': '/nowhere', 'CUDA_FAKE': fake, 'CUDA_FAKE_LIBRARIES': libraries,
               'LD_LIBRARY_PATH': os.path.join(TESTS, 'fake_driver')}
        env.update(outer or {})
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
        self.assertIn('rank 1 did not connect: connecting ranks', told)

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
        self.assertIn('all-reduce c: ranks communicate through NCCL only: NCCL: the system failed in it', ended[0][1][0]['error'])
        self.assertIn('rank 0 failed: ', ended[1][2])

    def test_refusals(self):
        def refused(rank, ranks, names, *flags):
            process = self.start('two.hlo', rank, ranks, names, *flags)
            told, errors = process.communicate(timeout=100)
            self.assertNotEqual(process.returncode, 0)
            return told + errors

        self.assertIn('no launcher says which rank this process is', refused(0, 2, ()))
        self.assertIn('PMI_RANK is set, but not PMI_SIZE and MPI_LOCALRANKID', refused(0, 2, INTEL[:1]))
        self.assertIn('OMPI_COMM_WORLD_RANK is 2, OMPI_COMM_WORLD_SIZE is 2: expected a smaller rank', refused(2, 2, OPEN_MPI))
        self.assertFalse(os.path.exists(self.folder))
        for reason, *flags in (('does not go with --bundle, --fallback cpu', '--fallback', 'cpu'),
                               ('--ranks-folder does not go with ', '--metrics', '--profile', 'p.hloprof'),
                               ('--ranks-folder does not go with ', '--pc_sampling', '--profile', 'p.hloprof'),
                               ('--ranks-folder does not go with ', '--autotune'),
                               ('the reference platform gpu would need ranks too', '--reference_platform', 'gpu'),
                               ('takes one module, these are 2', os.path.join(self.scratch, 'four.hlo'))):
            # The others do not wait for one whose flags are refused.
            shutil.rmtree(self.folder, ignore_errors=True)
            self.assertIn(reason, refused(0, 2, OPEN_MPI, *flags))
            self.assertIn('rank 0 failed: ', refused(1, 2, OPEN_MPI, '--deadline', '50'))
        shutil.rmtree(self.folder)
        self.assertIn('the module has 2 devices, the launcher started 3 ranks', refused(0, 3, OPEN_MPI))
        self.assertIn('another run was or is here: rank-0 is there already', refused(0, 2, OPEN_MPI))
        os.chmod(self.folder, 0o770)
        self.assertIn('others may write to the folder', refused(1, 2, OPEN_MPI))
        link = self.folder + '-link'
        os.symlink(self.folder, link)
        self.folder = link
        self.assertIn('a folder, no link', refused(1, 2, OPEN_MPI))

    def test_which_launcher(self):
        # srun --mpi=pmi2 sets two of MPICH's three; below torchrun there are those of its own rank.
        slurm = [self.start('two.hlo', rank, 2, SLURM + INTEL[:2]) for rank in range(2)]
        self.assertEqual([process.communicate(timeout=100)[1] for process in slurm], ['', ''])
        shutil.rmtree(self.folder)
        outer = dict(zip(OPEN_MPI, ('0', '1', '0')))
        torch = [self.start('two.hlo', rank, 2, TORCHRUN, outer=outer) for rank in range(2)]
        self.assertEqual([process.communicate(timeout=100)[1] for process in torch], ['', ''])

    def test_files_of_the_folder(self):
        # They are the user's alone, and go once all have taken them.
        self.expect_equal(self.run_all('two.hlo', 2, OPEN_MPI, '--repeat', '5'))
        modes = {name: stat.S_IMODE(os.stat(os.path.join(self.folder, name)).st_mode) for name in os.listdir(self.folder)}
        self.assertEqual(set(modes.values()), {0o600}, modes)
        self.assertEqual(stat.S_IMODE(os.stat(self.folder).st_mode), 0o700)
        self.assertEqual(sorted(name for name in modes if name.startswith('results')), ['results-5-by-0', 'results-5-by-1'])

    def test_files_of_strangers(self):
        # Whatever stands where a rank writes is left as it is, links too; and nothing else is taken for a rank's.
        victim = os.path.join(self.scratch, 'victim')

        def meet(name, make):
            shutil.rmtree(self.folder, ignore_errors=True)
            os.mkdir(self.folder, 0o700)
            with open(victim, 'w', encoding='utf-8') as f:
                f.write('precious')
            make(os.path.join(self.folder, name))
            told, errors = self.start('two.hlo', 0, 2, OPEN_MPI, '--deadline', '20').communicate(timeout=100)
            with open(victim, encoding='utf-8') as f:
                self.assertEqual(f.read(), 'precious')
            return told + errors

        def link(path):
            os.symlink(victim, path)

        def copy(path):
            shutil.copy(victim, path)

        self.assertIn('nccl-of-0-1-1-by-0 is there already', meet('nccl-of-0-1-1-by-0', link))
        self.assertIn('nccl-of-0-1-1-by-1: ', meet('nccl-of-0-1-1-by-1', link))
        self.assertIn('nccl-of-0-1-1-by-1: no rank wrote it', meet('nccl-of-0-1-1-by-1', copy))
        self.assertIn('failed: no rank wrote it', meet('failed', copy))
        self.assertIn('failed: no rank wrote it', meet('failed', os.mkfifo))
        self.assertIn('worker-0 is there already', meet('worker-0', copy))

    def test_a_worker_that_dies_between_runs(self):
        # It is not started again: what other ranks have told would be taken for new. No collective, in which the made-up NCCL would
        # wait for the dead.
        flags = ('--iterations', '100000', '--deadline', '60')
        ranks = [self.start('alone.hlo', rank, 2, OPEN_MPI, *flags) for rank in range(2)]
        # Results of a second run: that of the first has been answered then.
        seen = set()
        while len(seen) < 2:
            self.assertEqual([process.poll() for process in ranks], [None, None])
            names = os.listdir(self.folder) if os.path.isdir(self.folder) else ()
            seen.update(name for name in names if re.fullmatch('results-.*-by-1', name))
            time.sleep(0.01)
        for process in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{process}/stat', encoding='utf-8', errors='replace') as f:
                    parent = f.read().rpartition(')')[2].split()[1]
            except OSError:
                continue  # it has ended
            if parent == str(ranks[1].pid):
                os.kill(int(process), signal.SIGKILL)
        told = [process.communicate(timeout=100) for process in ranks]
        self.assertEqual([process.returncode for process in ranks], [4, 4], told)
        self.assertIn('rank 1 failed: ', told[0][0])
        self.assertIn('SIGKILL', told[1][1])

    def test_a_failure_before_the_run(self):
        # Here only one of them has nowhere to write its profile.
        other = self.start('two.hlo', 0, 2, OPEN_MPI, '--profile', os.path.join(self.scratch, 'p.none'))
        told, errors = self.start('two.hlo', 1, 2, OPEN_MPI, '--deadline', '50').communicate(timeout=100)
        self.assertIn('p.none', other.communicate(timeout=100)[1])
        self.assertIn('rank 0 failed: ', told + errors)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
