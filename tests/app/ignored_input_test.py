#!/usr/bin/env python3
"""What is given and not used is said, options without an effect are errors, output stays in order: ignored_input_test.py HLOSCOPE."""
import gzip
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import unittest

from command_tests import FolderTest, ready_platforms, write_npz

HLOSCOPE = os.path.abspath(sys.argv[1])
SUBTRACT = """HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  y = f32[3] parameter(1)
  s = f32[2] slice(y), slice={[0:2]}
  ROOT r = (f32[2], f32[2]) tuple(x, s)
}
"""
# A debug print, and a callback whose result is used in the branch that index 0 takes.
CALLBACKS = """HloModule m
f {
  p = f32[2] parameter(0)
  ROOT c = f32[2] custom-call(p), custom_call_target="xla_ffi_python_cpu_callback"
}
g {
  q = f32[2] parameter(0)
  ROOT n = f32[2] negate(q)
}
ENTRY e {
  i = s32[] parameter(0)
  x = f32[2] constant({1, 2})
  print = () custom-call(x), custom_call_target="xla_ffi_python_cpu_callback", custom_call_has_side_effect=true
  ROOT y = f32[2] conditional(i, x, x), branch_computations={f, g}
}
"""


def run(*arguments, **environment):
    done = subprocess.run([HLOSCOPE, *map(str, arguments)], capture_output=True, text=True, timeout=120, env=os.environ | environment)
    return done.returncode, done.stdout, done.stderr


def floats(*values):
    return '<f4', (len(values),), struct.pack(f'<{len(values)}f', *values)


class IgnoredInput(FolderTest):
    def setUp(self):
        super().setUp()
        self.module = self.path('m.hlo', SUBTRACT)

    def npz(self, name, **arrays):
        write_npz(self.path(name), arrays)
        return self.path(name)

    def test_feeds_of_a_module_without_them(self):
        array = self.npz('a.npz', in0=floats(1.0))
        _, out, _ = run('run', self.module, '--platform', 'interpreter', '--infeed', array, '--outfeed', self.path('o.npz'))
        for option in ('infeed', 'outfeed'):
            self.assertIn(f'--{option} has no effect: the module has no {option} instruction', out)

    def test_options_of_values_that_are_not_generated(self):
        inputs = self.npz('i.npz', in0=floats(1.0, 2.0), in1=floats(1.0, 2.0, 3.0))
        options = {'--seed': ['--seed', '4'], '--edge-values': ['--edge-values'], '--use_large_float_range': ['--use_large_float_range'],
                   '--random_init_input_literals': ['--random_init_input_literals=false']}
        words = [word for option in options.values() for word in option]
        _, report, _ = self.report(self.module, '--inputs', inputs, *words, '--fill-elided', '3')
        expected = [f'{option} has no effect: no input is generated' for option in options]
        self.assertEqual(sorted(report['warnings']), sorted([*expected, '--fill-elided has no effect: the module has no elided constant']))
        _, report, _ = self.report(self.module, *words)
        self.assertEqual(report['warnings'], [])

    def test_a_file_that_is_not_written_is_the_status_of_the_run(self):
        for option in ('--profile', '--outputs', '--save_inputs', '--output_literals_file'):
            end = {'--profile': 'hloprof', '--output_literals_file': 'pb'}.get(option, 'npz')
            status, report, err = self.report(self.module, option, self.path(f'gone/a.{end}'))
            self.assertEqual((status, report['status']), (2, 'error'), option)
            self.assertIn('cannot write: folder', report['error'], option)
            self.assertEqual(err.count('cannot write'), 1, err)
        status, out, err = run('run', '--json', self.module, self.module, '--profile', self.path('gone/a.hloprof'))
        self.assertEqual((status, [json.loads(line)['status'] for line in out.splitlines()]), (2, ['ran', 'ran', 'error', 'error']), err)

    def test_what_cannot_be_opened_or_written_is_said(self):
        array = self.npz('a.npz', in0=floats(1.0))
        for paths in ([array], [self.module, array]):
            status, out, err = run('open', *paths, '--screenshot', self.path('a.png'))
            self.assertEqual((status, out), (2, ''), paths)
            self.assertIn(f'{array}: is a zip archive (npz, pyz) (expected a dump directory, a module, a bundle or a profile)', err)
        self.assertIn('/proc/x.hlo: cannot create a file in folder /proc: ', run('convert', self.module, '/proc/x.hlo')[2])

    def report(self, *arguments):
        status, out, err = run('run', '--json', *arguments)
        return status, json.loads(out.splitlines()[-1]), err

    def test_expected_values_and_a_reference_both_count(self):
        square = 'HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[2] multiply(x, x)\n  n = s32[] constant(7)\n' \
                 '  ROOT r = (f32[2], s32[]) tuple(y, n)\n}\n'
        module, inputs = self.path('s.hlo', square), self.npz('i.npz', in0=floats(1, 3))
        seven = '<i4', (), struct.pack('<i', 7)
        right = self.npz('right.npz', out0=floats(1, 9), out1=seven)
        wrong = self.npz('wrong.npz', out0=floats(1, 8), out1=seven)
        options = (module, '--inputs', inputs, '--platform', 'cpu', '--reference_platform', 'interpreter')
        # The expected values are wrong: the reference agrees.
        status, report, _ = self.report(*options, '--expect', wrong)
        self.assertEqual((status, report['status']), (1, 'differs'))
        first, second = report['outputs']
        self.assertEqual((first['against'], first['mismatched'], first['other']['against'], first['other']['mismatched']),
                         ('expected', 1, 'interpreter', 0))
        self.assertEqual((second['against'], second['other']['against']), ('expected', 'interpreter'))
        # The reference is wrong: it reads no denormals, and the expected values are those of the tested side.
        tiny = self.npz('tiny.npz', in0=floats(1e-22, 3))
        own = self.path('own.npz')
        module = self.path('d.hlo', square.replace('n = s32[] constant(7)',
                                                   'z = f32[] constant(0)\n  s = f32[2] broadcast(z), dimensions={}\n'
                                                   '  g = pred[2] compare(y, s), direction=GT\n  h = pred[1] slice(g), slice={[0:1]}\n'
                                                   '  k = pred[] reshape(h)\n  n = s32[] convert(k)'))
        options = (module, '--inputs', tiny, '--platform', 'interpreter')
        self.assertEqual(run('run', *options, '--outputs', own)[0], 0)
        if 'xla-cpu' in ready_platforms(HLOSCOPE):
            status, report, _ = self.report(*options, '--reference_platform', 'xla-cpu', '--expect', own)
            self.assertEqual((status, report['status']), (1, 'differs'), report)
            second = report['outputs'][1]
            self.assertEqual((second['against'], second['mismatched'], second['other']['against'], second['other']['mismatched']),
                             ('xla-cpu', 1, 'expected', 0))
            _, out, _ = run('run', *options, '--reference_platform', 'xla-cpu', '--expect', own)
            self.assertIn('that is against xla-cpu; against the expected values: equal', out)
            self.assertIn('against xla-cpu and the expected values', out)
        # A bundle has both, each with its own row.
        bundle = self.path('b.hlob')
        status, _, err = run('bundle', 'create', *(self.path('s.hlo', square), '--inputs', inputs, '--platform', 'cpu', '--reference_platform', 'interpreter'),
                             '--expect', wrong, '--values', 'all', '-o', bundle)
        self.assertEqual(status, 0, err)
        self.assertEqual(run('bundle', 'open', bundle, '--into', self.path('opened'))[0], 0)
        with open(os.path.join(self.path('opened'), 'report.md'), encoding='utf-8') as file:
            lines = file.read().splitlines()
        rows = [line.split(' | ') for line in lines if line.startswith('| {0} ')]
        self.assertEqual([(row[0], row[3]) for row in rows], [('| {0} against the expected values', '1'), ('| {0} against interpreter', '0')])
        # The sentence names what the result differs from.
        self.assertEqual(lines[0], '# m: differs on cpu against the expected values')
        self.assertIn(r'**cpu against the expected values: result {0} differs in 1 of 2 elements: 9 at \[1\], expected 8**', lines)
        self.assertIn('| Compared with | interpreter and the expected values |', lines)
        # What is not among the expected values is compared with the reference all the same.
        only = self.npz('only.npz', out0=floats(1, 9))
        options = (self.path('s.hlo', square), '--inputs', inputs, '--platform', 'cpu', '--reference_platform', 'interpreter')
        _, report, _ = self.report(*options, '--expect', only)
        self.assertIn('out1 is not among the expected values: compared with interpreter alone', report['warnings'])
        self.assertEqual((report['outputs'][1]['against'], 'other' in report['outputs'][1]), ('interpreter', False))
        # The same of one that does not fit them.
        long = self.npz('long.npz', out0=floats(1, 9, 9), out1=seven)
        self.assertEqual(self.report(*options, '--expect', long)[1]['outputs'][0]['against'], 'interpreter')
        self.assertIn('that is against interpreter; not compared with the expected values: ', run('run', *options, '--expect', long)[1])

    def test_files_without_arrays_are_called_what_they_are(self):
        text, array = self.path('a.py', 'print(1)\n'), self.npz('a.npz', in0=floats(1))
        with open(self.module, encoding='utf-8') as file:
            named = self.path('fake.npz', file.read())
        for option in ('--expect', '--infeed', '--inputs'):
            for file, what in ((self.module, 'HLO text'), (text, 'other text'), (named, 'HLO text')):
                for files in ([file], [array, option, file]):
                    status, _, err = run('run', self.module, option, *files)
                    self.assertEqual(status, 2)
                    self.assertIn(f'{file}: is {what}, not a file of arrays (give an .npz, .npy files in order, a folder of .npy files, or a bundle)', err)

    def test_files_of_arrays_are_known_by_content(self):
        options = self.npy_inputs(('<f4', [2], [1, 2]), ('<f4', [3], [3, 4, 5]))
        plain, packed, odd = self.path('plain'), self.path('packed'), self.path('zip')
        os.rename(options[1], plain)
        with open(options[3], 'rb') as file, gzip.open(packed, 'wb') as out:
            out.write(file.read())
        right = self.npz('right.npz', out0=floats(1, 2), out1=floats(3, 4))
        os.rename(self.npz('a.npz', in0=floats(1, 2), in1=floats(3, 4, 5)), odd)
        for files in ((plain, packed), (odd,)):
            status, out, err = run('run', self.module, '--expect', right, *(word for file in files for word in ('--inputs', file)))
            self.assertEqual(status, 0, out + err)

    def test_expected_values_are_those_of_the_first_inputs(self):
        own, words = self.path('own.npz'), 'only the first iteration is compared with the expected values: the others have other inputs'
        self.assertEqual(run('run', self.module, '--outputs', own)[0], 0)
        inputs = self.path('in.npz')
        self.assertEqual(run('run', self.module, '--save-inputs', inputs)[0], 0)
        for options, count in (((), 0), (('--iterations', '3'), 1), (('--iterations', '3', '--inputs', inputs), 0)):
            status, report, _ = self.report(self.module, '--expect', own, *options)
            self.assertEqual((status, report['status'], report['warnings'].count(words)), (0, 'equal', count), report['warnings'])

    def test_reduce_advises_no_expected_values_of_the_interpreter(self):
        out = self.path('small.hlo')
        for platform, words in (('interpreter', '--reference_platform says with what'), ('cpu', '--reference_platform or --expect says')):
            self.assertIn(words, run('reduce', self.module, '--platform', platform, '-o', out)[1])
        status, _, err = run('reduce', self.module, '-o', out, '--expect', self.npz('x.npz', out0=floats(9, 9), out1=floats(9, 9)))
        self.assertEqual(status, 2)
        self.assertIn('name the platform that does not give them with --platform (it is interpreter)', err)

    def test_reduce_blames_expected_values_that_the_reference_does_not_give(self):
        wrong = self.npz('x.npz', out0=floats(9, 9), out1=floats(9, 9))
        for options in ((), ('--repeat', '2'), ('--reference_platform', 'interpreter'), ('--reference_platform', 'interpreter', '--repeat', '2')):
            status, _, err = run('reduce', self.module, '--platform', 'cpu', '-o', self.path('small.hlo'), '--expect', wrong, *options)
            self.assertEqual(status, 2, options)
            self.assertIn('the expected results are not those of interpreter, which agrees with cpu', err, options)

    def test_arrays_that_no_parameter_takes_are_named(self):
        two = {'arr_0': floats(1, 2), 'arr_1': floats(3, 4, 5)}
        status, report, err = self.report(self.module, '--inputs', self.npz('two.npz', **two))
        self.assertEqual((status, report['warnings']), (0, []), err)
        three = self.npz('three.npz', **two, arr_2=floats(6))
        status, report, _ = self.report(self.module, '--inputs', three)
        self.assertEqual((status, report['warnings']), (0, [
            f'{three}: arr_2 is not used: the parameters are 2 arrays (jax.jit drops arguments that the function does not use)']))
        self.assertIn('warning: ' + report['warnings'][0], run('run', self.module, '--inputs', three)[1])

    def test_an_array_moved_by_an_unused_argument_does_not_fit_and_the_surplus_is_named(self):
        moved = self.npz('moved.npz', arr_0=floats(1, 2), arr_1=floats(9), arr_2=floats(3, 4, 5))
        status, report, err = self.report(self.module, '--inputs', moved)
        self.assertEqual(status, 2)
        self.assertIn('arr_1: the array is [1], expected f32[3]', report['error'])
        self.assertIn('arr_2 is not used: the parameters are 2 arrays', err)

    def test_arrays_of_single_devices_are_for_partitioned_modules(self):
        status, _, err = self.report(self.module, '--inputs', self.npz('d.npz', **{'in0@0': floats(1), 'in0@1': floats(2), 'in1': floats(3, 4, 5)}))
        self.assertEqual(status, 2)
        self.assertIn('in0@0, in0@1 are not used: the parameters are 2 arrays (arrays of single devices, in0@0, are for partitioned modules; '
                      'this one takes whole arrays, in0)', err)

    def test_expected_results_are_called_as_numpy_calls_them(self):
        inputs = self.npz('in.npz', arr_0=floats(1, 2), arr_1=floats(3, 4, 5))
        good = self.npz('good.npz', arr_0=floats(1, 2), arr_1=floats(3, 4))
        status, report, err = self.report(self.module, '--inputs', inputs, '--expect', good)
        self.assertEqual((status, report['status'], report['warnings']), (0, 'equal', []), err)
        more = self.npz('more.npz', out0=floats(1, 2), out1=floats(3, 4), out2=floats(5), in0=floats(1, 2))
        status, report, err = self.report(self.module, '--inputs', inputs, '--expect', more)
        self.assertEqual((status, report['warnings']), (0, [f'{more}: out2 is not used: the results are 2 arrays']), err)

    def test_an_option_of_runs_names_the_file_that_is_not_run(self):
        trace = self.path('t.json', '{"traceEvents": []}')
        status, _, err = run('profile', trace, '--platform', 'interpreter')
        self.assertEqual((status, err.strip()), (2, f'{trace}: --platform: this is not a module, and nothing is run (the option is for modules)'))

    def test_callbacks_that_are_not_reached_do_not_stop_a_run(self):
        module = self.path('c.hlo', CALLBACKS)
        for index, code, status in ((1, 0, 'ran'), (0, 3, 'unsupported')):
            inputs = self.npz('i.npz', in0=('<i4', (), struct.pack('<i', index)))
            for flags in ((), ('--skip-callbacks',)):
                found, report, err = self.report(module, '--inputs', inputs, *flags, '--platform', 'interpreter')
                self.assertEqual((found, report['status']), (code, status) if flags else (3, 'unsupported'), err)
            self.assertEqual(report['warnings'][0], 'skipped a host callback: print; its result is unused')
            self.assertTrue(report['warnings'][1].startswith('c: a host callback whose result is used, by a result of f:'))

    def test_commands_go_around_callbacks(self):
        text = ('HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n'
                '  print = () custom-call(x), custom_call_target="xla_ffi_python_cpu_callback", custom_call_has_side_effect=true\n'
                '  s = f32[2] sine(x)\n  c = f32[2] custom-call(s), custom_call_target="xla_ffi_python_cpu_callback"\n'
                '  t = f32[2] add(s, c)\n  ROOT y = f32[2] negate(t)\n}\n')
        module, part = self.path('c.hlo', text), self.path('part.hlo')
        # What needs no callback.
        status, out, err = run('extract', module, 's', '-o', part, '--json')
        report = json.loads(out)
        self.assertEqual((status, report['warnings']), (0, ['skipped a host callback: print; its result is unused']), err)
        self.assertTrue(report['expected'] and report['inputs'])
        self.assertEqual(run('run', part, '--inputs', report['inputs'], '--expect', report['expected'])[0], 0)
        # What is beside one, wherever it stands in the file.
        beside = self.path('b.hlo', text.replace('ROOT y = f32[2] negate(t)', 'z = f32[2] cosine(x)\n  ROOT y = (f32[2], f32[2]) tuple(t, z)'))
        given = self.npz('g.npz', in0=floats(0, 0))
        status, out, err = run('extract', beside, 'z', '--inputs', given, '-o', part, '--json')
        report = json.loads(out)
        self.assertEqual((status, len(report['warnings'])), (0, 1), out + err)
        self.assertEqual(run('run', part, '--inputs', report['inputs'], '--expect', self.npz('one.npz', out0=floats(1, 1)))[0], 0)
        self.assertEqual(run('run', part, '--inputs', report['inputs'], '--expect', report['expected'])[0], 0)
        # What is after one takes its result as an input.
        status, out, err = run('extract', module, 'y', '--depth', '5', '-o', part, '--json')
        report = json.loads(out)
        self.assertEqual((status, report['inputs'], report['expected'], report['instructions']), (0, None, None, 3), err)
        self.assertIn('the values of in1 (c) are unknown, and no inputs are written: ', report['warnings'][-1])
        inputs = self.npz('i.npz', in0=floats(0, 0), in1=floats(3, 4))
        results = self.npz('o.npz', out0=floats(-3, -4))
        self.assertEqual(run('run', part, '--inputs', inputs, '--expect', results)[0], 0)
        # As `run` does.
        plain = self.path('p.hlo', text.replace('add(s, c)', 'add(s, s)').replace('  c = f32[2] custom-call(s), custom_call_target="xla_ffi_python_cpu_callback"\n', ''))
        status, out, err = run('bench', 'run', plain, '--platform', 'interpreter')
        self.assertEqual(status, 3)
        self.assertIn('--skip-callbacks', err)
        status, out, err = run('bench', 'run', plain, '--platform', 'interpreter', '--skip-callbacks', '--repeats', '3', '--json')
        self.assertEqual(status, 0, err)
        self.assertIn('skipped a host callback: print; its result is unused', json.loads(out)['warnings'])

    def test_what_is_not_needed_beside_callbacks_moves_states(self):
        """A random number and a value of an infeed are those of the whole run, wherever the ones before them were taken."""
        callback = 'custom-call(x), custom_call_target="xla_ffi_python_cpu_callback"'
        state = 'u64[2] rng-get-and-update-state(), delta=1'
        calls = 'HloModule m\nf {\n  x = f32[2] parameter(0)\n  s = ' + state + '\n  ROOT n = f32[2] negate(x)\n}\nENTRY e {\n  x = f32[2] parameter(0)\n'
        end = '  c = f32[2] ' + callback + '\n  ROOT t = (u64[2], f32[2]) tuple(r, c)\n}\n'
        second = '  sb = ' + state + '\n  r = u64[2] negate(sb)\n'
        for before in ('  sa = ' + state + '\n', '  a = f32[2] call(x), to_apply=f\n', '  d = f32[2] ' + callback + '\n  a = f32[2] call(d), to_apply=f\n'):
            module, part = self.path('s.hlo', calls + before + second + end), self.path('part.hlo')
            status, out, err = run('extract', module, 'r', '-o', part, '--json')
            self.assertEqual(status, 0, out + err)
            expected = self.npz('o.npz', in0=('<u8', (2,), struct.pack('<2Q', 0x2b, 0)))
            status, out, err = run('compare', json.loads(out)['inputs'], expected)
            self.assertEqual(status, 0, (before, out, err))
        feeds = ('HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  t = token[] after-all()\n  i = (f32[2], token[]) infeed(t)\n'
                 '  j = (f32[2], token[]) infeed(t)\n  v = f32[2] get-tuple-element(j), index=0\n  r = f32[2] negate(v)\n'
                 '  c = f32[2] ' + callback + '\n  ROOT z = (f32[2], f32[2]) tuple(r, c)\n}\n')
        parts = []
        for name, text in (('c', feeds), ('p', feeds.replace(callback, 'sine(x)'))):
            status, out, err = run('extract', self.path(name + '.hlo', text), 'r', '--seed', '3', '-o', self.path(name + '.part.hlo'), '--json')
            self.assertEqual(status, 0, out + err)
            parts.append(json.loads(out)['expected'])
        status, out, err = run('compare', *parts)
        self.assertEqual(status, 0, out + err)

    def test_random_numbers_behind_an_undecided_branch_are_unknown(self):
        """Whether the branch draws is not known: neither is what is drawn behind it, and no file holds such a value."""
        state = 'u64[2] rng-get-and-update-state(), delta=1'
        module, part = self.path('b.hlo', 'HloModule m\nf {\n  a = f32[2] parameter(0)\n  ROOT s = ' + state + '\n}\ng {\n'
                                 '  a = f32[2] parameter(0)\n  ROOT s = u64[2] constant({1,2})\n}\nENTRY e {\n  x = f32[2] parameter(0)\n'
                                 '  p = pred[] custom-call(x), custom_call_target="xla_ffi_python_cpu_callback"\n'
                                 '  d = u64[2] conditional(p, x, x), true_computation=f, false_computation=g\n'
                                 '  s = ' + state + '\n  ROOT r = u64[2] negate(s)\n}\n'), self.path('part.hlo')
        status, out, err = run('run', module, '--platform', 'interpreter')
        self.assertEqual(status, 3, out)
        self.assertIn('d could not draw its random numbers, so those after it are unknown: ', err)
        status, out, err = run('extract', module, 'r', '-o', part, '--json')
        report = json.loads(out)
        self.assertEqual((report['inputs'], report['expected']), (None, None), out + err)

    def test_seeds_behind_an_undecided_branch_are_unknown(self):
        """GetRngSeed draws whether it says that it has an effect or not."""
        seed = 'u64[] custom-call(), custom_call_target="GetRngSeed"'
        module = self.path('seed.hlo', 'HloModule m\nf {\n  a = f32[2] parameter(0)\n  ROOT s = ' + seed + '\n}\ng {\n'
                           '  a = f32[2] parameter(0)\n  ROOT s = u64[] constant(1)\n}\nENTRY e {\n  x = f32[2] parameter(0)\n'
                           '  p = pred[] custom-call(x), custom_call_target="xla_ffi_python_cpu_callback"\n'
                           '  d = u64[] conditional(p, x, x), true_computation=f, false_computation=g\n'
                           '  s = ' + seed + '\n  r = u64[] negate(s)\n  ROOT z = (u64[], u64[]) tuple(d, r)\n}\n')
        status, out, err = run('run', module, '--platform', 'interpreter')
        self.assertEqual(status, 3, out)
        self.assertIn('{1}      no value: d could not draw its random numbers, so those after it are unknown: ', out + err)
        status, out, err = run('extract', module, 'r', '-o', self.path('part.hlo'), '--json')
        report = json.loads(out)
        self.assertEqual((report['inputs'], report['expected']), (None, None), out + err)
        # A draw that nothing uses is not executed: it moves nothing.
        with open(module, encoding='utf-8') as file:
            text = file.read()
        unused = self.path('unused.hlo', text.replace('ROOT z = (u64[], u64[]) tuple(d, r)', 'ROOT z = (u64[], u64[]) tuple(r, r)'))
        status, out, err = run('run', unused, '--platform', 'interpreter')
        self.assertEqual(status, 0, out + err)
        status, out, err = run('extract', unused, 'r', '-o', self.path('part.hlo'), '--json')
        self.assertIsNotNone(json.loads(out)['expected'], out + err)

    def test_each_generator_has_a_state_of_its_own(self):
        """A branch that may have drawn from one says nothing of the other."""
        counter, seed = 'u64[2] rng-get-and-update-state(), delta=1', 'u64[] custom-call(), custom_call_target="GetRngSeed"'
        for drawn, kind, known in ((counter, 'u64[2]', 'b'), (seed, 'u64[]', 'a')):
            one = '{1,2}' if kind == 'u64[2]' else '1'
            module = self.path('two.hlo', 'HloModule m\nf {\n  y = f32[2] parameter(0)\n  ROOT s = ' + drawn + '\n}\ng {\n'
                               '  y = f32[2] parameter(0)\n  ROOT s = ' + kind + ' constant(' + one + ')\n}\nENTRY e {\n  x = f32[2] parameter(0)\n'
                               '  p = pred[] custom-call(x), custom_call_target="xla_ffi_python_cpu_callback"\n'
                               '  d = ' + kind + ' conditional(p, x, x), true_computation=f, false_computation=g\n'
                               '  a = ' + counter + '\n  b = ' + seed + '\n  ROOT z = (' + kind + ', u64[2], u64[]) tuple(d, a, b)\n}\n')
            status, out, err = run('run', module, '--platform', 'interpreter')
            self.assertEqual(status, 3, out)
            lost, kept = ('{1}', '{2}') if known == 'b' else ('{2}', '{1}')
            lines = (out + err).splitlines()
            self.assertTrue(any(line.strip().startswith(lost) and 'no value' in line for line in lines), out + err)
            self.assertFalse(any(line.strip().startswith(kept) and 'no value' in line for line in lines), out + err)

    def test_what_is_received_needs_what_is_sent(self):
        transfer = ', channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}\n'
        module, part = self.path('t.hlo', 'HloModule m, num_partitions=2\nENTRY e {\n  x = f32[2] parameter(0)\n  t = token[] after-all()\n'
                                 '  q = (f32[2], u32[], token[]) recv(t)' + transfer + '  w = (f32[2], u32[], token[]) send(x, t)' + transfer +
                                 '  v = (f32[2], token[]) recv-done(q), channel_id=1\n  k = token[] send-done(w), channel_id=1\n'
                                 '  y = f32[2] get-tuple-element(v), index=0\n  r = f32[2] negate(y)\n'
                                 '  c = f32[2] custom-call(x), custom_call_target="xla_ffi_python_cpu_callback"\n'
                                 '  ROOT z = (f32[2], f32[2]) tuple(r, c)\n}\n'), self.path('part.hlo')
        status, out, err = run('extract', module, 'r', '-o', part, '--inputs', self.npz('i.npz', in0=floats(1, 2)), '--json')
        report = json.loads(out)
        self.assertEqual((status, bool(report['expected'])), (0, True), out + err)

    def test_callbacks_that_xla_refuses_fail_where_they_are_executed(self):
        module = self.path('c.hlo', CALLBACKS)
        inputs = self.npz('i.npz', in0=('<i4', (), struct.pack('<i', 1)))
        status, report, err = self.report(module, '--inputs', inputs, '--platform', 'xla-cpu')
        if 'no plugin' in err:
            self.skipTest('no XLA:CPU plugin')
        self.assertEqual(status, 3)
        self.assertIn('(--skip-callbacks leaves it out where its result is unused', err)
        for index, code, status in ((1, 0, 'ran'), (0, 3, 'unsupported')):
            inputs = self.npz('i.npz', in0=('<i4', (), struct.pack('<i', index)))
            found, report, err = self.report(module, '--inputs', inputs, '--skip-callbacks', '--platform', 'xla-cpu')
            self.assertEqual((found, report['status']), (code, status), err)

    def test_what_the_evaluator_cannot_run_it_did_not_run(self):
        module = self.path('u.hlo', 'HloModule u\nENTRY e {\n  p = f32[2] parameter(0)\n'
                           '  c = f32[2] custom-call(p), custom_call_target="unknown"\n  a = f32[2] add(p, p)\n'
                           '  ROOT t = (f32[2], f32[2]) tuple(a, c)\n}\n')
        for platform in ('cpu', 'gpu-sim'):
            status, report, err = self.report(module, '--platform', platform)
            self.assertEqual((status, report['executed']['evaluated'], report['fallbacks']), (3, 0, []), err)

    def test_missing_inputs_name_what_the_file_has(self):
        given = self.npz('given.npz', out0=floats(1, 2), out1=floats(3))
        _, _, err = self.report(self.module, '--inputs', given)
        self.assertIn('input 0 is missing: no in0, input_0 or arr_0', err)
        self.assertIn(f'({given} has out0, out1)', err)
        inputs = self.npz('in.npz', arr_0=floats(1, 2), arr_1=floats(3, 4, 5))
        _, _, err = self.report(self.module, '--inputs', inputs, '--expect', self.npz('e.npz', in0=floats(1, 2)))
        self.assertIn('e.npz has in0; name them out0, out1', err)

    def test_a_folder_without_modules_is_an_error_and_stops_nothing(self):
        empty = self.path('empty')
        os.mkdir(empty)
        with open(os.path.join(empty, 'a.o'), 'wb') as file:
            file.write(b'\x7fELF')
        for command, more in (('verify', ()), ('run', ()), ('convert', ('--to', 'pb', '--out-dir', self.path('out')))):
            status, out, err = run(command, empty, *more)
            self.assertEqual(status, 2, command)
            self.assertIn(f'{empty}: no module', err)
            status, out, err = run(command, empty, self.module, *more, '--json')
            self.assertEqual(status, 2, command)
            of_module, of_folder = map(json.loads, out.splitlines())
            self.assertEqual((of_module['status'], of_folder['status']), ('ran' if command == 'run' else 'ok', 'error'), command)
            self.assertIn('no module', of_folder['error'])

    def test_options_without_an_effect_are_errors(self):
        for words, said in ((['--bits'], '--bits: nothing is run twice'), (['--bits', '--repeat', '1'], '--bits: nothing is run twice'),
                            (['--abs_error_bound', '-1'], '--abs_error_bound: expected at least 0, got -1'),
                            (['--rel_error_bound', '-0.5'], '--rel_error_bound: expected at least 0, got -0.5'),
                            (['--abs_error_bound', 'nan'], '--abs_error_bound: expected a number, got `nan`')):
            status, out, err = run('run', self.module, *words)
            self.assertEqual((status, out), (2, ''), words)
            self.assertIn(said, err)
        for option in (['--platform', 'cpu'], ['--threads', '1'], ['--seed', '1'], ['--deadline', '5'], ['--against-itself']):
            status, _, err = run('bench', 'parse', self.module, *option)
            self.assertEqual(status, 2, option)
            self.assertIn(f'{option[0]}: parse does not take it (it is an option of run)', err)
        for arguments in (['compare', 'a.npz', 'b.npz', '--abs_error_bound', '-1'], ['compare', 'a', 'b', '--top', '-1'],
                          ['show', self.module, '--around', 's', '--radius', '-1'], ['find', 'x', self.module, '--max', '-1'],
                          ['extract', self.module, 's', '-o', '-', '--seed', '-1'], ['bench', 'parse', self.module, '--repeats', '0'],
                          ['compile', self.module, '--emit', 'hlo', '-o', '-', '--deadline', '0'], ['profile', 'a', '--top', '-1']):
            status, _, err = run(*arguments)
            self.assertEqual(status, 2)
            self.assertRegex(err, '--[a-z_]+: expected (at least [01]|more than 0), got', arguments)

    def test_denormals_are_named_where_they_are_all_that_differs(self):
        module = self.path('d.hlo', 'HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  s = f32[] constant(1e38)\n'
                           '  b = f32[2] broadcast(s), dimensions={}\n  ROOT r = f32[2] multiply(x, b)\n}\n')
        inputs = self.npz('in.npz', in0=floats(1e-40, 2))
        flushed, wrong = self.npz('flushed.npz', out0=floats(0, 2e38)), self.npz('wrong.npz', out0=floats(0, 3e38))
        hint = 'whatever differs is equal where denormals are zeros, as XLA:CPU treats them: --denormals flush'
        for expected, flags, code, warnings in ((flushed, (), 1, [hint]), (wrong, (), 1, []), (flushed, ('--denormals', 'flush'), 0, []),
                                                (wrong, ('--denormals', 'flush'), 1, [])):
            status, report, err = self.report(module, '--inputs', inputs, '--expect', expected, *flags)
            self.assertEqual((status, report['warnings']), (code, warnings), err)

    def test_the_order_of_updates_is_named_where_it_decides(self):
        module = self.path('s.hlo', 'HloModule m\nnew {\n  a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1)\n}\nENTRY e {\n  x = f32[3] parameter(0)\n'
                           '  i = s32[3,1] constant({{0}, {1}, {0}})\n  u = f32[3] constant({1, 2, 3})\n  ROOT set = f32[3] scatter(x, i, u), '
                           'update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=new\n}\n')
        inputs = self.npz('in.npz', in0=floats(9, 9, 9))
        for expected, said in (((1, 2, 9), '1 of 1 element that differs also changes'), ((1, 5, 9), '1 of 2 elements that differ also changes'),
                               ((3, 5, 9), None), ((3, 2, 9), None)):
            status, report, err = self.report(module, '--inputs', inputs, '--expect', self.npz('out.npz', out0=floats(*expected)))
            self.assertEqual(status, int(expected != (3, 2, 9)), err)
            self.assertEqual(len(report['warnings']), int(said is not None), report)
            if said:
                self.assertIn(f'{said} when the updates of scatter set are applied from the last to the first', report['warnings'][0])

    def test_bounds_that_would_pass_are_short_and_pass(self):
        inputs = self.npz('in.npz', in0=floats(0.3, 1), in1=floats(0, 0, 0))
        expected = self.npz('out.npz', out0=floats(0, 1), out1=floats(0, 0))
        status, out, _ = run('run', self.module, '--inputs', inputs, '--expect', expected)
        self.assertEqual(status, 1)
        self.assertIn('largest error 0.3 absolute', out)
        self.assertIn('would pass with bounds abs 0.4 rel 0', out)
        self.assertEqual(run('run', self.module, '--inputs', inputs, '--expect', expected, '--abs_error_bound', '0.4')[0], 0)

    def test_modules_are_written_packed(self):
        for name in ('m.hlo.gz', 'm.hlo.pb.gz', 'm.pbtxt.gz'):
            status, _, err = run('convert', self.module, self.path(name))
            self.assertEqual(status, 0, err)
            with gzip.open(self.path(name)) as file:
                self.assertTrue(file.read())
            self.assertEqual(run('compare', self.module, self.path(name))[0], 0, name)
        self.assertEqual(run('extract', self.module, 's', '-o', self.path('s.hlo.gz'))[0], 0)
        self.assertEqual(run('verify', '-j', '1', self.path('s.hlo.gz'))[0], 0)
        status, _, err = run('reduce', self.module, '-o', self.path('r.hlo.gz'), '--find', 'nan')
        self.assertEqual(status, 2)
        self.assertIn('expected a name in .hlo', err)

    def test_one_of_anything_is_singular(self):
        module = self.path('one.hlo', 'HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\n')
        for arguments in (['info', module], ['run', module], ['verify', module], ['show', '--format', 'dot', module]):
            self.assertNotRegex(run(*arguments)[1], r'\b1 (instruction|element|computation|constant|argument|module|stage|warning|error)s\b', arguments)


class Order(FolderTest):
    def test_errors_come_after_what_was_printed_before(self):
        good, bad = self.path('good.hlo', SUBTRACT), self.path('bad.hlo', 'HloModule')
        log = self.path('log')
        with open(log, 'wb') as both:
            subprocess.run([HLOSCOPE, 'info', good, bad, good], stdout=both, stderr=both, timeout=60, check=False)
        with open(log, encoding='utf-8') as file:
            lines = file.read().splitlines()
        starts = [k for k, line in enumerate(lines) if line.startswith((good, bad))]
        self.assertEqual([lines[k].split(':')[0] for k in starts], [good, bad, good], lines)

    def test_a_status_line_has_the_width_of_the_terminal_it_is_drawn_on(self):
        # Standard error is a terminal of 20 columns, standard output a file.
        modules = [self.path(f'm{k}.hlo', SUBTRACT) for k in range(3)]
        leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (24, 20)) if hasattr(termios, 'tcsetwinsize') else os.system(f'stty cols 20 < {os.ttyname(follower)}')
        with open(self.path('out'), 'wb') as out:
            done = subprocess.run([HLOSCOPE, 'verify', '-j', '1', *modules], stdout=out, stderr=follower, timeout=60, check=False)
        os.close(follower)
        drawn = b''
        while True:
            try:
                piece = os.read(leader, 4096)
            except OSError:
                break
            if not piece:
                break
            drawn += piece
        os.close(leader)
        self.assertEqual(done.returncode, 0)
        for line in drawn.decode('utf-8').split('\r\x1b[K'):
            self.assertLess(len(line), 20, drawn)
        self.assertIn('verify [', drawn.decode('utf-8'))

    def test_standard_input_is_read_once(self):
        for command in (('bench', 'parse', '--repeats', '1', '-'), ('profile', '-', '--platform', 'interpreter', '-o', self.path('p.hloprof')),
                        ('run', '-', '--platform', 'interpreter'), ('verify', '-'), ('lint', '-'), ('info', '-'), ('show', '-'), ('find', 'slice', '-')):
            done = subprocess.run([HLOSCOPE, *command], input=SUBTRACT, capture_output=True, text=True, timeout=120, cwd=self.folder)
            self.assertEqual(done.returncode, 0, (command, done.stderr))

    def test_an_empty_file_has_no_shapes(self):
        for more in ((), ('--shape', 'b=3')):
            status, _, err = run('run', self.path('e.export', ''), *more)
            self.assertEqual(status, 2)
            self.assertIn('an empty file', err)

    def test_messages_agree_in_number_and_name(self):
        module = self.path('m.hlo', SUBTRACT)
        for command, text in ((('run', module, '--platform', 'cpu', '--memory', '1'), 'the memory limit of 1 byte '),
                              (('verify', self.path('c.hlo', CALLBACKS), '--limit', 'computations=1'), 'more computations than the limit of 1 '),
                              (('verify', module, '--limit', 'input-file=1'), 'the limit input-file, 1 byte '),
                              (('run', module, '--loop-steps'), '--loop-steps: '), (('run', module, '--pc-sampling'), '--pc-sampling: ')):
            _, out, err = run(*command)
            self.assertIn(text, out + err)

    def test_options_of_the_table_of_modules(self):
        for other in ('--memory', '--compile-time', '--passes', '--autotuning'):
            for option in (('--top', '1'), ('--sort', 'name')):
                self.assertEqual(run('info', self.path('m.hlo', SUBTRACT), other, *option)[0], 2, (other, option))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=0)
