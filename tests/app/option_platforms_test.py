"""Each option that depends on the platform, on each platform: it acts, is refused, or is said to have no effect."""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest, ready_platforms

HLOSCOPE = os.path.abspath(sys.argv[1])
MODULE = '''HloModule m
ENTRY e {
  x = f32[8] parameter(0)
  s = f32[8] multiply(x, x)
  ROOT r = f32[8] add(s, x)
}
'''
ALL = ('interpreter', 'cpu', 'gpu-sim', 'xla-cpu')
OURS, OF_XLA, SIMULATED = ('interpreter', 'cpu', 'gpu-sim'), ('xla-cpu',), ('gpu-sim',)
# Options, the platforms on which they act, and those on which they are said to have no effect; on the others they are refused.
RUN = [
    (['--target', 'AVX2'], OF_XLA, ()),
    (['--target', 'h100'], SIMULATED, ()),
    (['--xla_disable_hlo_passes=fusion'], ('cpu', 'gpu-sim', 'xla-cpu'), ()),
    (['--xla_cpu_enable_fast_math=true'], OF_XLA, ()),
    (['--xla_nonsense=1'], (), ()),
    (['--run_test_hlo_passes=false'], OF_XLA, OURS),
    (['--run_test_hlo_passes=true'], ALL, ()),
    (['--run_reference_hlo_passes=false'], (), ALL),
    (['--reference_platform', 'interpreter', '--run_reference_hlo_passes=false'], (), ALL),
    (['--reference_platform', 'interpreter', '--reference-target', 'AVX2'], (), ()),
    (['--reference_platform', 'interpreter', '--reference-flag', 'xla_cpu_enable_fast_math=true'], (), ()),
    (['--reference-flag', 'xla_cpu_enable_fast_math=true'], (), ()),
    (['--as-dumped'], (), ()),
    (['--check', 'race'], SIMULATED, ()),
    (['--check', 'none'], SIMULATED, ()),
    (['--shuffle', '3'], SIMULATED, ()),
    (['--trace', 'fusion:0:0'], (), ()),
    (['--autotune'], (), ()),
    (['--metrics', '--profile', 'PROFILE'], (), ()),
    (['--pc-sampling', '--profile', 'PROFILE'], SIMULATED, ()),
    (['--loop-steps', '--profile', 'PROFILE'], ('cpu', 'gpu-sim'), ()),
    (['--bits'], (), ()),
    (['--shape', 'N=3'], (), ()),
    (['--fallback', 'cpu'], ALL, ()),
    (['--threads', '1', '--memory', '2G', '--deadline', '60'], ALL, ()),
    (['--precise', '--repeat', '2', '--bits', '--denormals', 'flush', '--isolate_instructions'], ALL, ()),
]
# The same for other commands, where they take the option.
OTHERS = {
    'diverge': ['--reference_platform', 'cpu'],
    'profile': [],
    'reduce': ['-o', 'OUT'],
}
SHARED = [
    (['--xla_nonsense=1'], (), ()),
    (['--as-dumped'], (), ()),
    (['--check', 'race'], SIMULATED, ()),
    (['--autotune'], (), ()),
    (['--target', 'AVX2'], OF_XLA, ()),
]


class Options(FolderTest):
    def call(self, command, platform, options):
        places = {'PROFILE': self.path('p.hloprof'), 'OUT': self.path('out.hlo')}
        done = subprocess.run([HLOSCOPE, *command, '--platform', platform, *(places.get(word, word) for word in options), '--json'],
                              capture_output=True, text=True, timeout=300, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]
        warnings = [warning for line in lines for warning in line.get('warnings', [])]
        return done.returncode, warnings, done.stdout + done.stderr

    def check(self, command, platform, options, acts, is_said):
        status, warnings, text = self.call(command, platform, options)
        what = (command, platform, options, status, text)
        name = next(word for word in reversed(options) if word.startswith('--')).split('=')[0]
        if name == '--profile':
            name = options[0]
        if platform in acts or platform in is_said:
            self.assertIn(status, (0, 1), what)
            told = [warning for warning in warnings if 'has no effect' in warning and name in warning]
            self.assertEqual(len(told), platform in is_said, what)
        else:
            self.assertEqual(status, 2, what)
            # By its name, or by that of the flag of XLA that it gives.
            names = [word.removeprefix('--').split('=')[0] for word in options if len(word) > 3]
            self.assertTrue(any(word in text for word in names), what)

    def test_run(self):
        module = self.path('m.hlo', MODULE)
        for platform in (platform for platform in ALL if platform in ready_platforms(HLOSCOPE)):
            for options, acts, is_said in RUN:
                self.check(['run', module], platform, options, acts, is_said)

    def test_python_of_no_platform(self):
        module = self.path('m.hlo', MODULE)
        for platform in OURS:
            status, warnings, text = self.call(['run', module], platform, ['--python', sys.executable])
            self.assertEqual((status, warnings), (0, [f'--python has no effect: {platform} needs nothing of a Python environment']), text)

    def test_other_commands(self):
        module = self.path('m.hlo', MODULE)
        for command, more in OTHERS.items():
            for platform in (platform for platform in ALL if platform in ready_platforms(HLOSCOPE)):
                for options, acts, is_said in SHARED:
                    self.check([command, module], platform, more + options, acts, is_said)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
