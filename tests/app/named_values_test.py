#!/usr/bin/env python3
"""Arrays of two sides are paired by the names that number them: named_values_test.py HLOSCOPE."""
import json
import os
import struct
import subprocess
import sys
import unittest
import zipfile

from command_tests import FolderTest, npy, write_npz

HLOSCOPE = os.path.abspath(sys.argv[1])


def array(*values):
    return ('<f4', (len(values),), struct.pack(f'<{len(values)}f', *values))


class NamedValues(FolderTest):
    def side(self, name, arrays):
        """A folder of .npy where the name has no ending, else an archive."""
        path = self.path(name)
        if name.endswith('.npz'):
            write_npz(path, arrays)
        elif name.endswith('.npy'):
            with open(path, 'wb') as file:
                file.write(npy(*next(iter(arrays.values()))))
        else:
            os.makedirs(path)
            for key, value in arrays.items():
                with open(os.path.join(path, key + '.npy'), 'wb') as file:
                    file.write(npy(*value))
        return path

    def compare(self, a, b):
        done = subprocess.run([HLOSCOPE, 'compare', a, b, '--json'], capture_output=True, text=True, check=False)
        return done.returncode, json.loads(done.stdout)

    def test_conventions(self):
        values = [array(1, 2), array(3, 4, 5), array(6)]
        forms = {'output_{}': 'folder', 'out{}': 'plain', 'arr_{}': 'numpy'}
        sides = []
        for form, name in forms.items():
            arrays = {form.format(k): value for k, value in enumerate(values)}
            sides += [self.side(name, arrays), self.side(name + '.npz', arrays)]
        for a in sides:
            for b in sides:
                status, found = self.compare(a, b)
                self.assertEqual((status, found['status'], len(found['outputs'])), (0, 'equal', 3), (a, b))
                self.assertEqual((found['added'], found['removed']), ([], []))
        # The numbers count, not the order of the names.
        other = self.side('other.npz', {f'arr_{k}': value for k, value in ((2, array(6)), (0, array(1, 2)), (1, array(3, 4, 9)))})
        status, found = self.compare(sides[0], other)
        self.assertEqual((status, [(o['name'], o['name_b'], o['mismatched']) for o in found['outputs']]),
                         (1, [('output_0', 'arr_0', 0), ('output_1', 'arr_1', 1), ('output_2', 'arr_2', 0)]))
        text = subprocess.run([HLOSCOPE, 'compare', sides[0], other], capture_output=True, text=True, check=False).stdout
        self.assertIn('output_1 and arr_1 ', text)

    def test_inputs_and_results_are_not_each_other(self):
        status, found = self.compare(self.side('in.npz', {'in0': array(1), 'in1': array(2)}),
                                     self.side('out.npz', {'out0': array(1), 'out1': array(2)}))
        self.assertEqual((status, found['outputs'], found['removed']), (1, [], ['in0', 'in1']))
        status, found = self.compare(self.path('in.npz'), self.side('folder', {'input_0': array(1), 'input_1': array(2)}))
        self.assertEqual((status, found['status']), (0, 'equal'))
        status, found = self.compare(self.side('device.npz', {'in0@0': array(1), 'in0@1': array(2)}),
                                     self.side('device_too.npz', {'arr_0@1': array(2), 'arr_0@0': array(1)}))
        self.assertEqual((status, found['status'], len(found['outputs'])), (0, 'equal', 2))

    def test_names_come_first(self):
        status, found = self.compare(self.side('a.npz', {'out0': array(1), 'output_0': array(2)}),
                                     self.side('b.npz', {'output_0': array(2), 'arr_0': array(1)}))
        self.assertEqual((status, found['status']), (0, 'equal'))
        self.assertEqual({(o['name'], o['name_b']) for o in found['outputs']}, {('out0', 'arr_0'), ('output_0', 'output_0')})

    def test_one_array_on_each_side(self):
        status, found = self.compare(self.side('value.npy', {'': array(1, 2)}), self.side('result.npz', {'loss': array(1, 2)}))
        self.assertEqual((status, found['status'], found['outputs'][0]['name_b']), (0, 'equal', 'loss'))


ELIDED = '''HloModule m

ENTRY e {
  x = f32[2] parameter(0)
  c.1 = f32[2] constant({...})
  d.2 = f32[2] constant({...})
  k = f32[2] constant({10, 20})
  a = f32[2] add(x, c.1)
  b = f32[2] add(a, k)
  ROOT r = (f32[2], f32[2]) tuple(b, d.2)
}
'''


class GivenConstants(FolderTest):
    def setUp(self):
        super().setUp()
        self.module = self.path('m.hlo', ELIDED)
        self.inputs = self.path('in.npz')
        write_npz(self.inputs, {'in0': array(1, 2)})

    def given(self, **arrays):
        path = self.path('c.npz')
        write_npz(path, {name.replace('__', '.'): value for name, value in arrays.items()})
        return path

    def tool(self, *arguments):
        return subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, check=False, timeout=120)

    def run_it(self, *arguments):
        return self.tool('run', self.module, '--inputs', self.inputs, '--print_literals', *arguments)

    def test_values_by_name(self):
        for arrays in ({'c__1': array(100, 200), 'd__2': array(7, 8)}, {'c_1': array(100, 200), 'd_2': array(7, 8)}):
            for platform in ('interpreter', 'cpu'):
                done = self.run_it('--constants', self.given(**arrays), '--platform', platform)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn('{111, 222}', done.stdout)
                self.assertIn('{7, 8}', done.stdout)
                self.assertIn('the values of 2 elided constants are those of', done.stdout + done.stderr)

    def test_the_rest_is_generated_or_missing(self):
        one = self.given(c__1=array(100, 200), other=array(1))
        done = self.run_it('--constants', one)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('{111, 222}', done.stdout)
        self.assertIn('1 is still elided; other is of no constant', done.stdout + done.stderr)
        self.assertIn('d.2: the value of constant f32[2] is elided', done.stdout + done.stderr)
        done = self.run_it('--constants', one, '--fill-elided', '3')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('{111, 222}', done.stdout)
        self.assertIn('1 elided constant is generated from seed 3', done.stdout + done.stderr)

    def test_what_does_not_fit(self):
        for arrays, error in (({'c__1': array(1, 2, 3)}, 'c.1'), ({'c__9': array(1, 2)}, 'no array is of an elided constant of module m: the arrays are c.9, the elided constants c.1, d.2'),
                              ({'c__9': array(1, 2)}, 'did you mean `c.1`'), ({'k': array(1, 2)}, 'k: the constant has its values in the module')):
            done = self.run_it('--constants', self.given(**arrays))
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(error, done.stderr)
            self.assertIn(self.path('c.npz'), done.stderr)

    def test_other_commands(self):
        constants = self.given(c__1=array(100, 200), d__2=array(7, 8))
        done = self.tool('extract', self.module, 'a', '--depth', '1', '--constants', constants, '-o', self.path('a.hlo'))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path('a.hlo'), encoding='utf-8') as file:
            self.assertIn('{100, 200}', file.read())
        bundle = self.path('m.hlob')
        done = self.tool('bundle', 'create', self.module, '--constants', constants, '--values', 'all', '-o', bundle)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.tool('run', bundle, '--inputs', self.inputs, '--print_literals')
        self.assertIn('{111, 222}', done.stdout)
        # Stage by stage.
        os.makedirs(self.path('dump'))
        for name in ('before_optimizations', 'cpu_after_optimizations'):
            self.path(f'dump/module_0001.m.{name}.txt', ELIDED)
        done = self.tool('diverge', '--passes', self.path('dump'), '--constants', constants)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotEqual(self.tool('diverge', '--passes', self.path('dump')).returncode, 0)

    def test_compile_takes_them(self):
        constants, out = self.given(c__1=array(100, 200), d__2=array(7, 8)), self.path('out')
        for what, end in (('hlo', '.hlo'), ('llvm', '.ll'), ('plan', '.txt')):
            compiled = ('compile', self.module, '--emit', what, '-o', out + end)
            done = self.tool(*compiled, '--constants', self.path('nothere.npz'))
            self.assertEqual((done.returncode, os.path.exists(out + end)), (2, False), (what, done.stdout, done.stderr))
            self.assertIn('nothere.npz', done.stderr)
            done = self.tool(*compiled, '--constants', constants)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('the values of 2 elided constants are those of', done.stderr)
        with open(out + '.hlo', encoding='utf-8') as file:
            self.assertIn('{100, 200}', file.read())
        done = self.tool('compile', self.module, '--emit', 'object', '-o', out + '.o')
        self.assertNotEqual(done.returncode, 0)
        self.assertTrue(done.stderr.startswith(self.module + ': '), done.stderr)
        self.assertIn('--constants', done.stderr)
        done = self.tool('compile', self.module, '--emit', 'llvm', '-o', constants, '--constants', constants)
        self.assertEqual(done.returncode, 2)
        self.assertIn('that is an input', done.stderr)

    def test_no_bundle_replaces_what_it_reads(self):
        constants, other = self.given(c__1=array(100, 200), d__2=array(7, 8)), self.path('other.hlo', ELIDED)
        given = ('--constants', constants, '--inputs', self.inputs)
        for read, command in ((constants, ('bundle', 'create', self.module, '-o')), (self.inputs, ('bundle', 'create', self.module, '-o')),
                              (constants, ('run', self.module, '--bundle')), (self.inputs, ('diverge', self.module, other, '--bundle')),
                              (other, ('diverge', self.module, other, '--bundle')),
                              (constants, ('reduce', self.module, '--find', 'nan', '-o', self.path('r.hlo'), '--bundle'))):
            with open(read, 'rb') as file:
                before = file.read()
            done = self.tool(*command, read, *given)
            self.assertEqual(done.returncode, 2, (command, done.stdout, done.stderr))
            self.assertIn('that is an input', done.stderr)
            with open(read, 'rb') as file:
                self.assertEqual(file.read(), before, command)

    def dump(self, *stages):
        os.makedirs(self.path('dump'))
        names = ('before_optimizations', '0000.simplification.after_pipeline-start.before_algsimp',
                 '0001.simplification.after_algsimp.before_pipeline-end')
        for name, text in zip(names, stages):
            self.path(f'dump/module_0001.m.{name}.txt', text)
        return self.path('dump')

    def parts(self, *arguments):
        bundle = self.path('b.hlob')
        done = self.tool(*arguments, bundle)
        self.assertTrue(os.path.exists(bundle), done.stderr)
        with zipfile.ZipFile(bundle) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        os.remove(bundle)
        return parts, done.stdout

    def test_no_value_leaves_in_a_bundle(self):
        values = (1873.25, 2946.5, 3957.75, 4868.125)
        constants = self.given(c__1=array(*values[:2]), d__2=array(*values[2:]))
        wrong = ELIDED.replace('add(a, k)', 'subtract(a, k)')
        dump, other, proto = self.dump(ELIDED, ELIDED, wrong), self.path('other.hlo', wrong), self.path('m.hlo.pb')
        self.assertEqual(self.tool('convert', self.module, proto).returncode, 0)
        given = ('--constants', constants)
        for policy in ('none', 'shapes', 'statistics', 'all'):
            how = (*given, '--values', policy)
            for name, command in (('module.hlo', ('bundle', 'create', self.module, *how, '-o')), ('module.hlo.pb', ('bundle', 'create', proto, *how, '-o')),
                                  ('other.hlo', ('diverge', self.module, other, *how, '--bundle')),
                                  ('after_pass.hlo', ('diverge', '--passes', dump, *how, '--bundle'))):
                parts, _ = self.parts(*command)
                whole = b'\n'.join(parts.values())
                if policy == 'statistics':  # of results, which may be elements
                    whole = b'\n'.join(text for part, text in parts.items() if '.hlo' in part)
                self.assertIn(name, parts)
                notes = ' '.join(json.loads(parts['manifest.json'])['notes'])
                self.assertEqual('the values of 2 constants that --constants gave are left out' in notes, policy != 'all', notes)
                for value in values:
                    has = str(value).encode() in whole or struct.pack('<f', value) in whole
                    self.assertEqual(has, policy == 'all', (policy, name, value))
        done = self.tool('bundle', 'create', self.module, *given, '--plan')
        self.assertIn('that --constants gave are left out', done.stdout)
        # The replay says what is missing, and where the values are given the bundle runs.
        bundle = self.path('c.hlob')
        self.assertEqual(self.tool('bundle', 'create', self.module, *given, '-o', bundle).returncode, 0)
        done = self.tool('bundle', 'check', bundle)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn('the values of constants that --constants gave', done.stdout)
        done = self.tool('run', bundle, *given, '--inputs', self.inputs, '--print_literals')
        self.assertIn('{3957.75, 4868.125}', done.stdout)
        # A reduced module may have parts of them under other names.
        small = self.path('small.hlo', ELIDED.replace('c.1 = f32[2] constant({...})', 'z = f32[2] constant({1873.25, 0})').replace('x, c.1', 'x, z'))
        parts, _ = self.parts('bundle', 'create', self.module, *given, '--reduced', small, '-o')
        self.assertNotIn('reduced.hlo', parts)
        self.assertNotIn(b'1873.25', b'\n'.join(parts.values()))
        self.assertIn(b'the reduced module is left out', parts['report.md'])

    def test_the_command_of_the_stages_has_the_options_of_the_run(self):
        dump = self.dump(ELIDED, ELIDED, ELIDED.replace('add(a, k)', 'subtract(a, k)'))
        options = '--seed 3 --edge-values --denormals flush --fill-elided 2 --abs_error_bound 0.5'
        generated = options.replace(' --abs_error_bound 0.5', '')
        command = (f'hloscope run module.hlo --platform interpreter {generated} --save-inputs inputs.npz\n'
                   f'hloscope diverge after_pass.hlo before_pass.hlo {options.replace(" --edge-values", "")} --inputs inputs.npz')
        parts, _ = self.parts('diverge', '--passes', dump, *options.split(), '--bundle')
        self.assertIn(command + '\n', parts['report.md'].decode())
        self.assertEqual(json.loads(parts['manifest.json'])['replay_verdict'],
                         'reproduced: nothing fails, as recorded; the modules before and after the pass differ here too')
        for name, text in parts.items():
            if name.endswith('_pass.hlo'):
                self.path(name, text.decode())
        done = self.tool('diverge', self.path('after_pass.hlo'), self.path('before_pass.hlo'), *options.split())
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        parts, _ = self.parts('diverge', '--passes', dump, '--constants', self.given(c__1=array(1, 2), d__2=array(3, 4)), '--inputs', self.inputs,
                              '--bundle')
        self.assertIn('# add --inputs F with the inputs and --constants F.npz with the values of constants: the bundle does not have them\n'
                      'hloscope diverge after_pass.hlo before_pass.hlo\n', parts['report.md'].decode())

    def test_a_misfit_in_a_stage_leaves_the_others(self):
        changed = ELIDED.replace('c.1 = f32[2] constant', 'c.1 = f32[2,1] constant').replace('add(x, c.1)', 'add(x, q)')
        changed = changed.replace('  k = ', '  q = f32[2] reshape(c.1)\n  k = ').replace('(b, d.2)', '(b, d.2)')
        dump = self.dump(ELIDED, ELIDED, changed)
        constants = self.given(c__1=array(100, 200), d__2=array(7, 8))
        done = self.tool('diverge', '--passes', dump, '--constants', constants, '--json')
        verdict = json.loads(done.stdout)
        notes = [text for text in verdict['warnings'] if 'c.1' in text]
        self.assertEqual(len(notes), 1, verdict['warnings'])
        self.assertIn('not taken in module_0001.m.0001.simplification', notes[0])
        # d.2 has its values in that stage: it is c.1 alone that none are of.
        self.assertNotIn('d.2', json.dumps(verdict.get('errors', [])) + done.stderr)
        done = self.tool('diverge', '--passes', dump, '--constants', self.path('nothere.npz'))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn('nothere.npz', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
