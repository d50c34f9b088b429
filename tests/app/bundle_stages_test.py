#!/usr/bin/env python3
"""`diverge --passes DUMP`: its bundles, whose modules around the pass are compared once more, and words of its tries: bundle_stages_test.py HLOSCOPE."""
import json
import os
import shlex
import struct
import subprocess
import sys
import unittest
import zipfile

from command_tests import FolderTest, npy

HLOSCOPE = os.path.abspath(sys.argv[1])
# The index has to be in range before the pass, where values are made up for it, and need not be behind it.
SLICE = '''HloModule m
ENTRY e {
  a = f32[64] parameter(0)
  i = s32[] parameter(1)
  ROOT r = f32[1] dynamic-slice(a, i), dynamic_slice_sizes={1}
}
'''
SELECT = '''HloModule m
ENTRY e {
  a = f32[64] parameter(0)
  i = s32[] parameter(1)
  k = s32[] constant(32)
  c = pred[] compare(i, k), direction=LT
  cb = pred[1] broadcast(c), dimensions={}
  l = f32[1] slice(a), slice={[0:1]}
  h = f32[1] slice(a), slice={[63:64]}
  ROOT r = f32[1] select(cb, l, h)
}
'''
INFEED = '''  t = token[] after-all()
  u = ((f32[1]), token[]) infeed(t)
  v = (f32[1]) get-tuple-element(u), index=0
  w = f32[1] get-tuple-element(v), index=0
  ROOT z = f32[1] add(r, w)
}
'''
TANH = '''HloModule m
ENTRY e {
  x = f32[64] parameter(0)
  y = bf16[64] convert(x)
  ROOT t = bf16[64] tanh(y)
}
'''
ROUNDED = '''HloModule m
ENTRY e {
  x = f32[64] parameter(0)
  p = f32[64] reduce-precision(x), exponent_bits=8, mantissa_bits=13
  ROOT r = f32[64] add(p, p)
}
'''
DIFFER = '; the modules before and after the pass differ here too'


class StagesTest(FolderTest):
    def run_tool(self, *arguments):
        done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def made(self, *arguments, code):
        out = self.path('step.hlob')
        status, text, errors = self.run_tool(*arguments, '--bundle', out, '--json')
        self.assertEqual(status, code, text + errors)
        with zipfile.ZipFile(out) as archive:
            return json.loads(text.splitlines()[-1]), {name: archive.read(name) for name in archive.namelist()}

    def check(self, parts):
        path = self.path('other.hlob')
        with zipfile.ZipFile(path, 'w') as archive:
            for name in sorted(parts, key=lambda n: n != 'manifest.json'):
                archive.writestr(name, parts[name])
        return json.loads(self.run_tool('bundle', 'check', path, '--json')[1])

    def test_passes_of_a_dump(self):
        dump = self.path('dump')
        os.makedirs(dump)
        for name, opcode in (('before_optimizations', 'add'), ('0000.simplification.after_pipeline-start.before_dce', 'add'),
                             ('0001.simplification.after_dce.before_algsimp', 'add'), ('0002.simplification.after_algsimp.before_pipeline-end', 'subtract')):
            text = f'HloModule m\nENTRY e {{\n  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  ROOT sum = f32[4] {opcode}(x, y)\n}}\n'
            self.path(f'dump/module_0001.m.{name}.txt', text)
        before = os.path.join(dump, 'module_0001.m.before_optimizations.txt')
        has_plugin = self.run_tool('run', before, '--platform', 'xla-cpu')[0] == 0
        asked = 'xla-cpu' if has_plugin else 'interpreter'
        # With a platform, as the second argument, and without a platform: the compiler, where it is here.
        for arguments in ([dump, '--passes', '--platform', asked], [before, '--passes', dump, '--platform', asked], [dump, '--passes']):
            line, parts = self.made('diverge', *arguments, code=1)
            self.assertEqual(line['pass'], 'algsimp')
            request = json.loads(parts['manifest.json'])['request']
            self.assertEqual((request['platform'], request['reference_platform']), (asked, 'interpreter'), arguments)
            self.assertEqual((line['bundle']['replayed'], b'the modules before and after the pass differ here too' in parts['manifest.json']),
                             ('reproduced', True))
            # The modules around the pass show what was found.
            around = [self.path(name, parts[name].decode()) for name in ('after_pass.hlo', 'before_pass.hlo')]
            self.assertIn(b'hloscope diverge after_pass.hlo before_pass.hlo', parts['report.md'])
            self.assertEqual(json.loads(self.run_tool('diverge', *around, '--json')[1])['instruction'], line['instruction'])
        check = self.check(parts)
        self.assertEqual((check['status'], check['stages']), ('reproduced', 'reproduced'))
        # Stages that agree reproduce nothing, though the run itself does; those that cannot run say why.
        loose = json.loads(parts['manifest.json'])
        loose['request']['abs_error_bound'] = 1e30
        smaller = parts['after_pass.hlo'].replace(b'f32[4]', b'f32[5]')
        for changed, status, stages, said in (
                ({'manifest.json': json.dumps(loose)}, 'not_reproduced', 'not_reproduced',
                 'not reproduced: nothing fails, as recorded; the modules before and after the pass agree here'),
                ({'after_pass.hlo': smaller}, 'not_reproduced', 'cannot', 'could not be compared here: before_pass.hlo: parameter 0 is f32[4]')):
            check = self.check({**parts, **changed})
            self.assertEqual((check['status'], check['stages']), (status, stages), check)
            self.assertIn(said, check['verdict'])

    def dump(self, before, after, name='dump'):
        os.makedirs(self.path(name))
        self.path(name + '/module_0000.m.before_optimizations.txt', before)
        self.path(name + '/module_0000.m.0001.simplification.after_algsimp.before_dce.txt', after)
        return self.path(name)

    def test_what_differs_within_the_bounds(self):
        """A pass that is blamed for another operation, or for a rounding that is lost."""
        inputs = self.npy_inputs(('<f4', [64], [0.005 * n for n in range(64)]))
        rounded = self.dump(ROUNDED, ROUNDED.replace('add(p, p)', 'add(x, x)'), 'rounded')
        for arguments in ([self.dump(TANH, TANH.replace('tanh(', 'sine(')), *inputs, '--values', 'all'], [rounded]):
            line, parts = self.made('diverge', '--passes', *arguments, '--platform', 'interpreter', code=1)
            self.assertIs(line['passes'][0]['within_bounds'], True, line)
            self.assertEqual(line['bundle']['replayed'], 'reproduced', line)
            self.assertEqual(json.loads(parts['manifest.json'])['replay_verdict'],
                             'reproduced: nothing fails, as recorded' + DIFFER + ', within the bounds')
            check = self.check({**parts, 'after_pass.hlo': parts['before_pass.hlo']})
            self.assertEqual((check['status'], check['stages']), ('not_reproduced', 'not_reproduced'), check)
            self.assertIn('the modules before and after the pass agree here', check['verdict'])

    def test_inputs_are_those_of_the_verdict(self):
        line, parts = self.made('diverge', '--passes', self.dump(SLICE, SELECT), '--platform', 'interpreter', code=1)
        self.assertEqual(line['bundle']['replayed'], 'reproduced', line)
        self.assertEqual(json.loads(parts['manifest.json'])['replay_verdict'], 'reproduced: nothing fails, as recorded' + DIFFER)
        # So are those of the commands in its report.
        for name in ('module.hlo', 'before_pass.hlo', 'after_pass.hlo'):
            self.path(name, parts[name].decode())
        report = parts['report.md'].decode().splitlines()
        at = report.index('hloscope diverge after_pass.hlo before_pass.hlo --inputs inputs.npz')
        for command, code in zip(report[at - 1:at + 1], (0, 1)):
            done = subprocess.run([HLOSCOPE, *shlex.split(command)[1:]], capture_output=True, text=True, timeout=300, cwd=self.folder)
            self.assertEqual(done.returncode, code, command + done.stdout + done.stderr)
        self.assertIn('select became dynamic-slice', done.stdout)
        # A run that ended before it read values that were given is replayed without them; the stages are not.
        manifest = json.loads(parts['manifest.json'])
        manifest['recorded'].update(inputs_made_up=False, inputs_unread=True)
        check = self.check({**parts, 'manifest.json': json.dumps(manifest)})
        self.assertEqual((check['status'], check['stages']), ('reproduced', 'cannot'), check)
        self.assertIn('could not be compared here: the bundle does not have the values that they take', check['verdict'])

    def test_inputs_of_a_run_that_ended_before_them(self):
        slices, select = (text.replace('ROOT r', 'r').removesuffix('}\n') + INFEED for text in (SLICE, SELECT))
        dump = self.dump(slices, select)
        if self.run_tool('run', self.path('s.hlo', SLICE), '--platform', 'xla-cpu')[0] != 0:
            self.skipTest('xla-cpu is not here')
        line, parts = self.made('diverge', '--passes', dump, '--platform', 'xla-cpu', code=1)
        self.assertIs(json.loads(parts['manifest.json'])['recorded']['inputs_unread'], True)
        self.assertEqual(line['bundle']['replayed'], 'reproduced', line)
        self.assertTrue(json.loads(parts['manifest.json'])['replay_verdict'].endswith(DIFFER), parts['manifest.json'])

    def test_what_was_compared_explains_nothing(self):
        dump = self.path('dump')
        os.makedirs(dump)
        self.path('dump/module_0001.m.0000.simplification.after_p.before_q.txt',
                  'HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] add(x, x)\n}\n')
        for name, values in (('in0', (1, 2)), ('right', (2, 4)), ('wrong', (2, 5))):
            with open(self.path(name + '.npy'), 'wb') as file:
                file.write(npy('<f4', (2,), struct.pack('<2f', *values)))
        for name, agrees in (('right', True), ('wrong', False)):
            command = ('diverge', '--passes', dump, '--inputs', self.path('in0.npy'), '--expect', self.path(name + '.npy'))
            self.assertIn('against the expected values ' + ('agrees\n' if agrees else 'differs; '), self.run_tool(*command)[1])
            tries = json.loads(self.run_tool(*command, '--json')[1])['tries']
            self.assertEqual([(one['closes'], one['compares']) for one in tries], [(agrees, True)])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
