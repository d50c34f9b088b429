#!/usr/bin/env python3
"""The command line as a user meets it: every command on the samples, exit statuses, JSON, hostile texts.

  cli_test.py HLOSCOPE SAMPLES"""
import gzip
import json
import os
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

from command_tests import npy

HLOSCOPE, SAMPLES = sys.argv[1], sys.argv[2]
MLP = os.path.join(SAMPLES, 'mlp_train_step')
TEXT = os.path.join(MLP, 'module_0000.jit_mlp_train_step.before_optimizations.txt')
PROTO = TEXT.replace('.txt', '.hlo.pb')
AFTER = os.path.join(MLP, 'module_0000.jit_mlp_train_step.cpu_after_optimizations.txt')


def run(*arguments, stdin=b'', **environment):
    p = subprocess.run([HLOSCOPE, *arguments], input=stdin, capture_output=True, timeout=60, env=os.environ | environment)
    return p.returncode, p.stdout.decode('utf-8'), p.stderr.decode('utf-8')


def commands():
    """The names in the overview."""
    lines = run('--help', COLUMNS='100')[1].split('Commands:\n')[1].split('\n\n')[0].splitlines()
    return [line.split()[0] for line in lines if line[2] != ' ']


def contents(path):
    with open(path, 'rb') as f:
        return f.read()


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, 'wb') as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return path

    def test_verify_leaves_no_module_out(self):
        dump = os.path.join(self.folder.name, 'dump')
        os.makedirs(dump)
        self.assertEqual(run('verify', dump)[0], 2)
        good = self.file('dump/module_0000.m.before_optimizations.txt', contents(TEXT))
        self.assertEqual(run('verify', dump)[0], 0)
        self.file('dump/module_0001.m.before_optimizations.txt', bytes(range(128, 256)) * 9)
        status, out, err = run('verify', dump)
        self.assertEqual(status, 2, out + err)
        self.assertIn(good + ': ok', out)
        self.assertIn('module_0001.m.before_optimizations.txt', out + err)

    def test_the_viewer_writes_no_cache_of_shaders(self):
        home = os.path.join(self.folder.name, 'home')
        os.makedirs(home)
        picture = os.path.join(self.folder.name, 'p.png')
        status, _, err = run('open', TEXT, '--screenshot', picture, HOME=home, XDG_CACHE_HOME=os.path.join(home, '.cache'))
        if 'cannot load the viewer' in err:
            self.skipTest('no viewer in this build')
        self.assertEqual(status, 0, err)
        self.assertEqual([name for _, folders, _ in os.walk(home) for name in folders if 'mesa' in name], [])

    def test_usage_errors_exit_with_2(self):
        for arguments in ([], ['no-such-command'], ['verify'], ['verify', '--no-such-option', TEXT], ['convert', TEXT],
                          ['verify', '--limit', 'nesting=0', TEXT], ['verify', '--limit', 'nonsense', TEXT]):
            self.assertEqual(run(*arguments)[0], 2, arguments)

    def test_help_and_version(self):
        for arguments in (['--help'], ['--version'], ['verify', '--help'], ['limits'], ['ops'], ['man'], ['completions', 'bash']):
            status, out, err = run(*arguments)
            self.assertEqual((status, err), (0, ''), arguments)
            self.assertGreater(len(out), 20)

    def test_help_explains_a_command(self):
        self.assertEqual(run('help'), run('--help'))
        self.assertEqual(run()[:2], (2, ''))
        self.assertIn('Usage: hloscope COMMAND', run()[2])
        names = commands()
        self.assertTrue({'open', 'run', 'help', 'man'} <= set(names), names)
        for name in names:
            status, out, err = run('help', name)
            self.assertEqual((status, err), (0, ''), name)
            self.assertEqual(out, run(name, '--help')[1], name)
            self.assertIn(f'Usage: hloscope {name} ', out)

    def test_examples_of_the_help_name_real_options(self):
        for name in commands():
            out = run('help', name, COLUMNS='100')[1]
            for example in out.partition('Examples:\n')[2].splitlines():
                words = example.split()
                self.assertEqual(words[:2], ['hloscope', name])
                for word in words[2:]:
                    if word.startswith('--'):
                        self.assertIn('  ' + word, out.partition('Examples:')[0], example)

    def test_help_fits_the_terminal(self):
        for width in (40, 80, 120):
            for arguments in [['--help']] + [['help', name] for name in commands()]:
                for line in run(*arguments, COLUMNS=str(width))[1].splitlines():
                    if 'hloscope ' not in line and len(line.split()) > 2:
                        self.assertLessEqual(len(line), width, (arguments, line))

    def test_what_may_have_been_meant(self):
        dump = os.path.join(SAMPLES, 'softmax_passes_a100')
        for meant, arguments in (
                ('show', ['shwo']), ('show', ['help', 'shwo']), ('--format', ['show', '--formt', 'svg', TEXT]), ('svg', ['show', '--format', 'svgg', TEXT]),
                ('xla-cpu', ['run', '--platform', 'xla-cppu', TEXT]), ('nesting', ['limits', '--limit', 'nestin=9']), ('add', ['ops', 'addd']),
                ('log.4', ['info', '--select', 'lg.4', dump]), ('jit_softmax', ['info', '--select', 'jit_sofmax:log.4', dump]),
                ('triton_softmax_2', ['info', '--select', 'kernel=triton_sofmax_2', dump]), ('bash', ['completions', 'bsh']),
                ('before_optimizations', ['info', '--diff', 'before_optimisations', dump]),
                ('reduce.1', ['show', '--around', 'reduc.1', self.file('r.hlo', 'HloModule m\nENTRY e {\n  ROOT reduce.1 = f32[] parameter(0)\n}\n')]),
                ('reduce.1', ['extract', self.file('r.hlo', 'HloModule m\nENTRY e {\n  ROOT reduce.1 = f32[] parameter(0)\n}\n'), 'reduc.1', '-o', '-'])):
            status, out, err = run(*arguments)
            self.assertEqual((status, out if arguments[0] != 'run' else ''), (2, ''), arguments)
            self.assertIn(f'did you mean `{meant}`?', out + err, arguments)

    def test_usage_errors_say_what_is_expected(self):
        for message, arguments in (
                ('--format needs a value: FORM', ['show', TEXT, '--format']), ('FILE is missing', ['verify']), ('nothing to write: give --dump DIR', ['compile', TEXT]),
                ('--radius: expected a whole number, got `x`', ['show', '--radius', 'x', TEXT]),
                ('--scale: expected a number, got `x`', ['open', '--scale', 'x']), ('unexpected argument `c`', ['extract', 'a', 'b', 'c']),
                ('--jobs -1: expected 0 or more', ['verify', '--jobs', '-1', TEXT]), ('name a module file', ['show', MLP]),
                ('--select: expected an instruction', ['info', '--select', '', MLP]), ('--denormals: expected keep, flush, got `drop`', ['run', '--denormals', 'drop', TEXT]),
                ('cannot write: folder /no/such does not exist', ['convert', TEXT, '/no/such/x.hlo'])):
            status, out, err = run(*arguments)
            self.assertEqual((status, out), (2, ''), arguments)
            self.assertIn(message, err)

    def small(self):
        """A module of two parameters that adds them."""
        return self.file('small.hlo', 'HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[2] parameter(1)\n'
                                      '  ROOT s = f32[2] subtract(x, y)\n}\n')

    def values(self, name, *numbers):
        return self.file(name, npy('<f4', (len(numbers),), struct.pack(f'<{len(numbers)}f', *numbers)))

    def test_dashes_and_underscores_are_the_same_in_names_of_options(self):
        for words in (['--reference-platform', 'interpreter'], ['--reference_platform=interpreter'], ['--edge-values'], ['--edge_values'],
                      ['--fill_elided', '1'], ['--no_verify'], ['--xla_cpu_max_isa=AVX', '--platform=cpu'], ['--xla-cpu-max-isa=AVX']):
            status, out, err = run('run', '--json', *words, self.small())
            is_flag_of_xla = words[0].startswith('--xla')
            self.assertEqual(status, 2 if is_flag_of_xla else 0, err)
            if is_flag_of_xla:
                self.assertIn('--xla_cpu_max_isa: ', err)
        for meant, word in (('--reference_platform', '--refernce-platform'), ('--edge-values', '--edge_valeus')):
            self.assertIn(f'did you mean `{meant}`?', run('run', word, self.small())[2])

    def test_help_spells_names_with_dashes_but_those_of_run_hlo_module(self):
        theirs = set('reference_platform abs_error_bound rel_error_bound isolate_instructions input_format input_literals_file '
                     'output_literals_file print_literals random_init_input_literals use_large_float_range different_random_seeds '
                     'run_test_hlo_passes run_reference_hlo_passes debug_options_file xla_*'.split())
        for name in commands():
            for option in re.findall(r'^  (?:-\w, )?--(\S+)', run('help', name)[1], re.MULTILINE):
                self.assertTrue('_' not in option or option in theirs, (name, option))

    def test_a_path_with_a_comma_is_one_path(self):
        one, two, result = self.values('lr=1,bs=2.npy', 5, 6), self.values('b.npy', 1, 2), self.values('c,d.npy', 4, 4)
        status, out, err = run('run', self.small(), '--inputs', one, '--inputs', two, '--expect', result, '--json')
        self.assertEqual((status, json_lines(out)[0]['status']), (0, 'equal'), err)
        status, out, err = run('run', '--inputs', f'{one},{two}', self.small())
        self.assertEqual((status, out), (2, ''))
        self.assertIn('give --inputs once for each of several files', err)

    def test_none_is_a_value_of_enumerated_options_alone(self):
        status, out, err = run('run', '--inputs', 'none', self.small())
        self.assertEqual(status, 2)
        self.assertIn('none', err)
        status, out, err = run('run', '--platform', 'gpu-sim', '--check', 'race,none', self.small())
        self.assertEqual((status, out), (2, ''))
        self.assertIn('--check: none', err)
        self.assertEqual(run('run', '--platform', 'gpu-sim', '--check=none', self.small())[0], 0)

    def test_lists_never_take_a_positional_argument(self):
        status, out, err = run('run', '--platform', 'gpu-sim', '--check', 'race,uninitialised', self.small(), '--json')
        self.assertEqual((status, json_lines(out)[0]['module']), (0, self.small()), err)

    def test_an_empty_value_is_the_value(self):
        status, out, err = run('run', '--reference_platform=', self.small(), '--json')
        self.assertEqual((status, json_lines(out)[0]['reference']), (0, None), err)
        for message, word in (('--shuffle: expected a whole number, got ``', '--shuffle='), ('--denormals: expected keep, flush, got ``', '--denormals=')):
            status, out, err = run('run', word, self.small())
            self.assertEqual((status, out), (2, ''))
            self.assertIn(message, err)
        self.assertIn('--format needs a value: FORM', run('show', '--format', '--json', TEXT)[2])

    def test_numbers_out_of_range_are_errors(self):
        for option, number in (('--seed', '99999999999999999999'), ('--repeat', '-9223372036854775809'), ('--abs_error_bound', '1e999')):
            status, out, err = run('run', option, number, self.small())
            self.assertEqual((status, out), (2, ''), option)
            self.assertIn(f'{option}: {number} is out of range', err)
        for option, text in (('--seed', '1x'), ('--seed', ''), ('--seed', '0x'), ('--seed', '+-1'), ('--deadline', '5s')):
            self.assertIn(f', got `{text}`', run('run', option, text, self.small())[2])

    def test_forms_of_numbers(self):
        for text, seed in (('0x1F', 31), ('+5', 5), ('7', 7)):
            self.assertEqual(json_lines(run('run', '--seed', text, self.small(), '--json')[1])[0]['seed'], seed)

    def test_flags_take_true_and_false(self):
        for word, status in (('--bits=true', 0), ('--bits=false', 0), ('--bits', 0), ('--bits=maybe', 2), ('--bits=', 2)):
            self.assertEqual(run('run', word, '--repeat', '2', self.small())[0], status, word)

    def test_short_options(self):
        out = os.path.join(self.folder.name, 'o.hlo')
        for words in (['-o', out], ['-o' + out], ['-o=' + out]):
            self.assertEqual(run('extract', self.small(), 's', *words)[0], 0, words)
        self.assertEqual(run('find', '-il', 'SUBTRACT', self.small()), (0, self.small() + '\n', ''))
        self.assertIn('unknown option `-x`', run('find', '-ix', 'SUBTRACT', self.small())[2])
        self.assertEqual(run('find', '--', '-x', self.small())[0], 1)

    def test_options_that_contradict_or_need_others_are_refused(self):
        dump = os.path.join(SAMPLES, 'softmax_passes_a100')
        for message, arguments in (
                ('--select and --module cannot be used together', ['info', dump, '--select', 'log.4', '--module', 'jit_softmax']),
                ('--diff and --module cannot be used together', ['info', dump, '--diff', '0010', '--module', 'jit_softmax']),
                ('--passes and --diff cannot be used together', ['info', dump, '--passes', '--diff', '0010']),
                ('--select and --passes cannot be used together', ['info', dump, '--passes', '--select', 'log.4']),
                ('--changed-only needs --passes', ['info', dump, '--changed-only']), ('--sass needs --select', ['info', dump, '--sass']),
                ('--module is for dumps', ['info', TEXT, '--module', 'm']), ('--radius needs --around', ['show', TEXT, '--radius', '1']),
                ('--around and --paths cannot be used together', ['show', TEXT, '--around', 'a', '--paths', 'a,b']),
                ('--files-with-matches and --count cannot be used together', ['find', 'dot', MLP, '-l', '-c'])):
            status, out, err = run(*arguments)
            self.assertEqual((status, out), (2, ''), arguments)
            self.assertIn(message, err)
        self.assertEqual(run('info', dump, '--passes=false', '--diff', '0010')[0], 0)

    def test_usage_errors_are_objects_with_json(self):
        for arguments in (['verify', '--json', '--nonsense', TEXT], ['show', '--json'], ['run', TEXT, '--seed', 'x', '--json']):
            status, out, err = run(*arguments)
            record, = json_lines(out)
            self.assertEqual((status, record['status']), (2, 'error'))
            self.assertIn(record['error'], err)

    def test_json_gives_one_object_for_each_input_that_fails(self):
        gone, out = os.path.join(self.folder.name, 'gone.hlo'), os.path.join(self.folder.name, 'out.hlo')
        for arguments in (['open', gone, '--screenshot', out + '.png'], ['explain', gone], ['find', 'dot', gone], ['info', gone], ['show', gone],
                          ['run', gone], ['verify', gone], ['extract', gone, 'a', '-o', out], ['profile', gone], ['diverge', gone, gone],
                          ['compile', gone, '--emit', 'hlo', '-o', out], ['bundle', 'create', gone], ['bench', 'parse', gone], ['convert', gone, out],
                          ['reduce', gone, '-o', out], ['hunt', gone, '-o', self.folder.name + '/found'], ['ops', 'no-such-opcode'],
                          ['compare', gone, gone], ['bench', 'run', gone], ['show', TEXT, '--around', 'nothing'], ['show', self.file('b.hlo', 'HloModule')],
                          ['open', TEXT, '--size', '1x1'], ['find', '--regex', '(', TEXT], ['bundle', 'open', TEXT], ['limits', '--limit', 'x']):
            status, text, err = run(*arguments, '--json')
            self.assertEqual(status, 2, (arguments, err))
            record, = json_lines(text)
            if arguments[0] not in ('verify', 'diverge'):
                self.assertTrue(record['error'], arguments)
            self.assertTrue(err or arguments[0] == 'verify', arguments)
        for command in ('run', 'info', 'verify', 'profile', 'explain'):
            status, text, _ = run(command, gone, gone + '2', '--json')
            self.assertEqual((status, len(json_lines(text))), (2, 2), command)
        status, text, _ = run('run', '--metrics', TEXT, TEXT, '--json')
        self.assertEqual((status, [record['status'] for record in json_lines(text)]), (2, ['error'] * 2))

    def test_find_goes_on_behind_a_file_that_is_not_there(self):
        status, out, err = run('find', 'dot', self.folder.name + '/gone', MLP)
        self.assertEqual(status, 2)
        self.assertIn('gone', err)
        self.assertIn('dot', out)

    def test_every_screen_and_view_can_be_opened(self):
        names = run('help', 'open', COLUMNS='120')[1].split('--screen NAME')[1].split('--select')[0]
        for name in ('home', 'memory', 'timeline', 'code', 'values', 'pinned', 'statistics', 'buffers', 'text', 'changes', 'notes', 'verdict', 'roofline'):
            self.assertIn(name, names)

    def test_bash_completes_values(self):
        script = run('completions', 'bash')[1]

        def complete(*words):
            quoted = ' '.join("'" + word + "'" for word in ('hloscope', *words))
            code = f'{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _hloscope; printf "%s\\n" "${{COMPREPLY[@]}}"'
            done = subprocess.run(['bash', '-c', code], capture_output=True, text=True, check=True, cwd=MLP)
            return done.stdout.split()
        self.assertEqual(complete('sho'), ['show'])
        self.assertEqual(complete('show', '--form'), ['--format'])
        self.assertEqual(complete('show', '--format', 'hlo-'), ['hlo-elided', 'hlo-short', 'hlo-canonical'])
        self.assertEqual(complete('show', '--format', '=', 'js'), ['json'])
        self.assertEqual(complete('run', '--platform', 'x'), ['xla-cpu', 'xla-gpu', 'xla-gpu-sim'])
        self.assertIn('h100', complete('compile', '--target', ''))
        self.assertNotIn('interpreter', complete('compile', '--with', ''))
        self.assertEqual(complete('help', 'comp'), ['compare', 'compile', 'completions'])
        self.assertEqual(complete('completions', ''), ['bash', 'zsh', 'fish'])
        self.assertEqual(complete('open', '--screen', 'thr'), ['thread'])
        self.assertEqual(complete('run', '--check', 'r'), ['race'])
        self.assertEqual(complete('profile', '--met'), ['--metrics'])
        self.assertEqual(complete('run', '--pc_'), ['--pc-sampling'])
        self.assertEqual(complete('run', '--reference-pl'), ['--reference_platform'])
        for name in ('--reference-platform', '--reference_platform'):
            self.assertEqual(complete('run', name, 'xla-c'), ['xla-cpu'])
        self.assertEqual(complete('open', '--screen', 'time'), ['timeline'])
        self.assertEqual(complete('show', '--radius', ''), [])
        self.assertEqual(complete('run', '--inputs', 'inp'), ['inputs.npz'])
        self.assertEqual(complete('verify', 'expe'), ['expected.npz'])

    def test_targets_are_in_the_help(self):
        self.assertIn('h100', run('help', 'compile')[1])

    def test_nouns_are_counted(self):
        one = self.file('one.hlo', 'HloModule m\nENTRY e {\n  ROOT a = f32[] parameter(0)\n}\n')
        self.assertIn(': ok, 1 instruction\n', run('verify', one)[1])
        small = os.path.join(self.folder.name, 'small.hlo')
        module = self.file('two.hlo', 'HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n  ROOT b = f32[] negate(a)\n}\n')
        self.assertIn('1 instruction and 1 parameter\n', run('extract', module, 'b', '-o', small)[1])

    def test_a_reader_that_closes_early_is_no_error(self):
        code = f'"{HLOSCOPE}" show "{PROTO}" | head -c 1 > /dev/null; echo ${{PIPESTATUS[0]}}'
        done = subprocess.run(['bash', '-c', code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, '')
        self.assertIn(done.stdout.strip(), ('0', '141'))

    def test_a_file_at_the_limit_of_its_size_is_an_error(self):
        small = os.path.join(self.folder.name, 'small.hlo')
        done = subprocess.run(['bash', '-c', f'ulimit -f 1; "{HLOSCOPE}" convert "{PROTO}" "{small}"'], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, f'{small}: cannot write: File too large\n'))

    def test_a_proto_that_was_cut_off_is_named_so(self):
        for size in (3000, len(contents(PROTO)) - 1):
            cut = os.path.join(self.folder.name, 'cut.hlo.pb')
            with open(cut, 'wb') as f:
                f.write(contents(PROTO)[:size])
            code, out, err = run('verify', cut)
            self.assertEqual(code, 2)
            self.assertIn('not an HLO module: the proto is truncated or corrupt', out + err)

    def test_conversions_report_as_json(self):
        new = self.file('new.hlo', 'HloModule m\nENTRY e {\n  ROOT a = f32[4] parameter(0), brand_new={1,2}\n}\n')
        bad = self.file('bad.hlo', 'HloModule')
        status, out, _ = run('convert', '--json', TEXT, new, bad, '--to', 'pb', '--out-dir', self.folder.name + '/out')
        first, second, third = json_lines(out)
        self.assertEqual((status, first['status'], second['status'], third['status']), (2, 'ok', 'ok', 'error'))
        self.assertEqual((first['file'], first['warnings'], first['error']), (TEXT, [], None))
        self.assertTrue(os.path.exists(first['output']))
        self.assertIn('brand_new', second['warnings'][0])
        self.assertIn('bad.hlo', third['error'])

    def test_ops_of_single_opcodes(self):
        status, out, _ = run('ops', '--json', 'add', 'dot')
        self.assertEqual((status, [row['opcode'] for row in json_lines(out)]), (0, ['add', 'dot']))

    def test_profile_ties_a_real_trace_to_instructions(self):
        trace = os.path.join(SAMPLES, 'conv_net', 'conv_net.xplane.pb.gz')
        status, out, err = run('profile', trace, '--json')
        self.assertEqual((status, err), (0, ''))
        record, = json_lines(out)
        self.assertEqual((record['status'], record['format'], record['events'], record['losses']), ('ok', 'xplane', 839, []))
        self.assertEqual([m['program'] for m in record['modules'] if m['name'].startswith('jit_conv_net')], [0])
        self.assertGreaterEqual(record['share'], 0.95)
        slowest = record['instructions'][0]
        self.assertEqual((slowest['module'], slowest['opcode'], slowest['count']), ('jit_conv_net', 'convolution', 20))
        status, out, _ = run('profile', trace, '--top', '3')
        self.assertEqual(status, 0)
        self.assertIn('100.0 % attributed to instructions', out)
        self.assertRegex(out, r'critical path: [^\n]*\n  found backwards from the work that ends last, by \d+ data links \(sure\)')

    def test_critical_path_of_a_real_trace_fills_its_range(self):
        trace = os.path.join(SAMPLES, 'conv_net', 'conv_net.xplane.pb.gz')
        record, = json_lines(run('profile', trace, '--json')[1])
        sums, steps = record['critical_path_sums'], record['critical_path']
        self.assertEqual((len(steps), sums['left_out']), (sums['steps'], 0))
        self.assertAlmostEqual(sum(s['duration_us'] for s in steps), sums['busy_us'], 3)
        self.assertAlmostEqual(sum(s['wait_us'] for s in steps) + sums['last_wait_us'], sums['wait_us'], 3)
        self.assertAlmostEqual(sums['busy_us'] + sums['wait_us'], sums['length_us'], 3)
        self.assertEqual(sum(sums['links'].values()), len(steps))
        for before, after in zip(steps, steps[1:]):
            self.assertAlmostEqual(before['start_us'] + before['duration_us'] + after['wait_us'], after['start_us'], 3)
        self.assertIn('instruction', steps[0])

    def test_compare_of_profiles_scales_to_as_many_runs(self):
        trace = os.path.join(SAMPLES, 'conv_net', 'conv_net.xplane.pb.gz')
        other = os.path.join(SAMPLES, '..', 'assets', 'profiles', 'conv_net_one_thread.xplane.pb.gz')
        status, out, err = run('compare', trace, other, '--json')
        self.assertEqual((status, err), (0, ''))
        record, = json_lines(out)
        self.assertEqual((record['status'], record['runs'], len(record['instructions'])), ('ok', 0.25, 12))
        first = record['instructions'][0]
        self.assertEqual((first['a_count'], first['b_count']), (20, 5))
        self.assertAlmostEqual(first['change_ns'], 4 * first['b_ns'] - first['a_ns'], 3)
        changes = [abs(row['change_ns']) for row in record['instructions']]
        self.assertEqual(changes, sorted(changes, reverse=True))
        same, = json_lines(run('compare', trace, trace, '--json')[1])
        self.assertEqual((same['runs'], {row['change_ns'] for row in same['instructions']}), (1, {0}))
        self.assertIn('instruction', run('compare', trace, other, '--top', '2')[1])
        self.assertEqual(run('compare', trace, TEXT)[0], 2)

    def test_profile_of_json_needs_the_module(self):
        beside = os.path.join(SAMPLES, 'conv_net', 'conv_net.trace.json.gz')
        trace = self.file('t.trace.json.gz', contents(beside))
        alone, = json_lines(run('profile', trace, '--json')[1])
        self.assertEqual(alone['share'], 0)
        told, = json_lines(run('profile', trace, '--module', os.path.join(SAMPLES, 'conv_net'), '--json')[1])
        self.assertEqual((told['share'], told['modules_file']), (1, None))
        # The XSpace of the same run, which carries the module, lies beside it.
        found, = json_lines(run('profile', beside, '--json')[1])
        self.assertEqual((found['share'], found['modules_file']), (1, os.path.join(SAMPLES, 'conv_net', 'conv_net.xplane.pb.gz')))

    def test_profile_converts_by_extension(self):
        trace = os.path.join(SAMPLES, 'conv_net', 'conv_net.xplane.pb.gz')
        whole, = json_lines(run('profile', trace, '--json')[1])
        for ending in ('hloprof', 'xplane.pb', 'xplane.pb.gz', 'pftrace', 'trace.json', 'trace.json.gz'):
            # A folder of its own: the modules of a trace are also taken from one beside it.
            os.makedirs(os.path.join(self.folder.name, ending), exist_ok=True)
            out = os.path.join(self.folder.name, ending, 'c.' + ending)
            status, text, err = run('profile', trace, '-o', out, '--json')
            self.assertEqual((status, err), (0, ''), ending)
            record, = json_lines(text)
            self.assertEqual((record['output'], record['events'], record['losses']), (out, 839, []))
            holds_modules = ending.startswith(('hloprof', 'xplane'))
            self.assertEqual([loss['what'] for loss in record['lost']], [] if holds_modules else ['modules', 'facts of devices'])
            again, = json_lines(run('profile', out, '--module', os.path.join(SAMPLES, 'conv_net'), '--json')[1])
            lanes = [[lane['name'] for lane in plane['lanes']] for plane in whole['planes']]
            self.assertEqual([[lane['name'] for lane in plane['lanes']] for plane in again['planes']], lanes, ending)
            self.assertEqual((again['events'], again['lanes'], again['attributed'], again['losses']), (839, 2, 1, []), ending)
            times = lambda report: [(row['instruction'], row['count'], row['self_ns']) for row in report['instructions']]
            self.assertEqual(times(again), times(whole), ending)
        out = os.path.join(self.folder.name, 'c.csv')
        self.assertEqual(run('profile', trace, '-o', out)[0], 0)
        self.assertEqual(len(contents(out).splitlines()), 840)
        for wrong in ('c.txt', 'none/c.json', 'c.hloprof.gz'):
            self.assertEqual(run('profile', trace, '-o', os.path.join(self.folder.name, wrong))[0], 2, wrong)
        self.assertEqual(run('profile', trace, trace, '-o', out)[0], 2)

    def test_profile_reads_exports_of_nsight_systems(self):
        path = os.path.join(self.folder.name, 'n.sqlite')
        db = sqlite3.connect(path)
        process = 41984 << 24
        db.executescript(f'''
            CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
            CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT,
              globalPid INT, shortName INT);
            INSERT INTO StringIds VALUES (1, 'cuLaunchKernel'), (2, 'made_by_a_library');
            INSERT INTO NVTX_EVENTS VALUES (100, 900, 59, 'XlaModule:#hlo_module=jit_conv_net,program_id=0#', {process + 11}, NULL);
            INSERT INTO NVTX_EVENTS VALUES (200, 300, 59, 'Thunk:#hlo_op=ynn_fusion#', {process + 11}, NULL);
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (210, 220, {process + 11}, 5, 1);
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 4000, 0, 1, 7, 5, {process}, 2);''')
        db.commit()
        db.close()
        out = os.path.join(self.folder.name, 'n.hloprof')
        self.assertEqual(run('profile', path, '-o', out)[0], 0)
        for trace in (path, out):
            record, = json_lines(run('profile', trace, '--module', os.path.join(SAMPLES, 'conv_net'), '--json')[1])
            self.assertEqual((record['events'], record['losses'], record['share']), (4, [], 1))
            row, = record['instructions']
            self.assertEqual((row['instruction'], row['self_ns']), ('ynn_fusion', 3000))
        self.assertEqual(run('profile', path, '-o', path)[0], 2)
        info, = json_lines(run('info', out, '--json')[1])
        self.assertEqual((info['format'], info['events']), ('hloprof', 4))

    def test_profile_refuses_what_is_no_trace(self):
        cut = self.file('cut.xplane.pb', gzip.decompress(contents(os.path.join(SAMPLES, 'conv_net', 'conv_net.xplane.pb.gz')))[:3000])
        for path in (cut, self.file('x.json', '{"a": 1}'), self.file('empty', ''), self.folder.name + '/none'):
            status, out, _ = run('profile', path, '--json')
            self.assertEqual((status, json_lines(out)[0]['status']), (2, 'error'), path)
        self.assertEqual(run('profile', SAMPLES, '--json', '--top', '0')[0], 0)

    def test_ops_tell_how_near_the_interpreter_comes(self):
        rows = {row['opcode']: row for row in json_lines(run('ops', '--json')[1])}
        self.assertEqual(rows['add']['arity'], 2)
        self.assertEqual(rows['add']['types']['s32'], {'interpreter': 0})
        self.assertEqual(rows['exponential']['types']['f32'], {'interpreter': 0.5})
        self.assertNotIn('s32', rows['exponential']['types'])
        self.assertLessEqual(rows['sine']['types']['f64']['interpreter'], 2)

    def test_bash_completion_is_valid(self):
        script = run('completions', 'bash')[1]
        self.assertEqual(subprocess.run(['bash', '-n'], input=script.encode()).returncode, 0)

    def test_verify_accepts_the_samples(self):
        status, out, _ = run('verify', '--json', TEXT, PROTO, AFTER)
        records = json_lines(out)
        self.assertEqual(status, 0)
        self.assertEqual([r['file'] for r in records], [TEXT, PROTO, AFTER])
        for r in records:
            self.assertEqual((r['status'], r['errors']), ('ok', []))
            self.assertGreater(r['instructions'], 20)
        self.assertEqual(records[0]['instructions'], records[1]['instructions'])

    def test_verify_names_every_error_with_its_place(self):
        path = self.file('bad.hlo', 'HloModule m\nENTRY e {\n  a = f32[4] parameter(0)\n  b = f32[5] add(a, nowhere)\n'
                                    '  c = f32[4] no-such-opcode(a)\n  ROOT d = f32[4] negate(a)\n}\n')
        status, out, _ = run('verify', path)
        self.assertEqual(status, 2)
        self.assertIn(path + ':4:', out)
        self.assertIn('nowhere', out)
        self.assertIn(path + ':5:', out)
        self.assertIn('no-such-opcode', out)

    def test_one_bad_file_does_not_stop_the_others(self):
        status, out, _ = run('verify', '--json', self.file('bad.hlo', 'HloModule'), TEXT, '/no/such/file')
        self.assertEqual([r['status'] for r in json_lines(out)], ['error', 'ok', 'error'])
        self.assertEqual(status, 2)

    def test_unknown_attributes_warn_and_fail_in_strict(self):
        path = self.file('new.hlo', 'HloModule m\nENTRY e {\n  ROOT a = f32[4] parameter(0), brand_new={1,2}\n}\n')
        status, out, _ = run('verify', '--json', path)
        self.assertEqual((status, len(json_lines(out)[0]['warnings'])), (0, 1))
        self.assertEqual(run('verify', '--strict', path)[0], 2)
        self.assertIn('brand_new={1,2}', run('show', path)[1])

    def test_standard_input(self):
        with open(TEXT, 'rb') as f:
            self.assertEqual(run('verify', '-', stdin=f.read())[0], 0)

    def test_control_characters_do_not_reach_the_terminal(self):
        path = self.file('x.hlo', b'HloModule m\nENTRY e {\n  ROOT a = f32[4] \x1b[31mparameter(0)\xff\n}\n')
        for arguments in (['verify', path], ['show', path], ['info', path]):
            out = subprocess.run([HLOSCOPE, *arguments], capture_output=True)
            self.assertNotIn(b'\x1b', out.stdout + out.stderr, arguments)
            (out.stdout + out.stderr).decode('utf-8')
        json_lines(run('verify', '--json', path)[1])

    def test_conversions_keep_the_module(self):
        name = 'module_0000.jit_mlp_train_step.before_optimizations'
        for form, extension in (('hlo', '.hlo'), ('hlo-elided', '.hlo'), ('hlo-short', '.hlo'), ('hlo-canonical', '.hlo'),
                                ('pb', '.hlo.pb'), ('pbtxt', '.hlo.pbtxt')):
            folder = os.path.join(self.folder.name, form)
            self.assertEqual(run('convert', TEXT, '--to', form, '--out-dir', folder), (0, '', ''), form)
            self.assertEqual(os.listdir(folder), [name + extension])
            if form not in ('hlo-canonical', 'hlo-short'):
                status, out, err = run('compare', '--json', TEXT, os.path.join(folder, name + extension))
                self.assertEqual((status, json_lines(out)[0]['status'], err), (0, 'equal', ''), form)
            else:
                self.assertEqual(run('verify', os.path.join(folder, name + extension))[0], 0)

    def test_convert_in_out(self):
        out = os.path.join(self.folder.name, 'x.pbtxt')
        self.assertEqual(run('convert', PROTO, out)[0], 0)
        self.assertEqual(run('compare', out, TEXT)[0], 0)
        self.assertEqual(run('convert', PROTO, os.path.join(self.folder.name, 'x.unknown'))[0], 2)

    def test_convert_says_what_a_proto_cannot_hold(self):
        path = self.file('new.hlo', 'HloModule m\nENTRY e {\n  ROOT a = f32[4] parameter(0), brand_new={1,2}\n}\n')
        status, _, err = run('convert', path, os.path.join(self.folder.name, 'new.hlo.pb'))
        self.assertEqual(status, 0)
        self.assertIn('brand_new', err)

    def test_compare_names_what_differs(self):
        a = self.file('a.hlo', 'HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] add(x, x)\n}\n')
        b = self.file('b.hlo', 'HloModule n\nENTRY main {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] multiply(p, p)\n}\n')
        status, out, _ = run('compare', '--json', a, b)
        record = json_lines(out)[0]
        self.assertEqual((status, record['status']), (1, 'differs'))
        self.assertEqual([c['what'] for c in record['changed']], ['opcode add became multiply'])
        renamed = self.file('c.hlo', 'HloModule k\nENTRY f {\n  p = f32[4] parameter(0)\n  ROOT s = f32[4] add(p, p)\n}\n')
        self.assertEqual(run('compare', a, renamed)[0], 0)

    def test_compact_operands_are_the_elements_they_stand_for(self):
        head = 'HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  t = (f32[4], f32[4]) tuple(p, p)\n'
        long = self.file('long.hlo', head + '  first = f32[4] get-tuple-element(t), index=0\n'
                         '  again = f32[4] get-tuple-element(t), index=0\n  other = f32[4] get-tuple-element(t), index=1\n'
                         '  s = f32[4] add(first, other)\n  ROOT r = f32[4] multiply(s, again)\n}\n')
        short = self.file('short.hlo', head + '  s = f32[4] add(t#0, t#1)\n  ROOT r = f32[4] multiply(s, t#0)\n}\n')
        wrong = self.file('wrong.hlo', head + '  s = f32[4] add(t#0, t#1)\n  ROOT r = f32[4] multiply(s, t#1)\n}\n')
        proto = os.path.join(os.path.dirname(long), 'long.hlo.pb')
        self.assertEqual(run('convert', long, proto)[0], 0)
        self.assertEqual(run('compare', short, proto)[0], 0)
        self.assertEqual(run('compare', wrong, proto)[0], 1)

    def test_topk_of_the_smallest_runs_from_a_proto(self):
        text = self.file('least.hlo', 'HloModule m\nENTRY e {\n  x = f32[5] constant({3, 1, 5, 2, 4})\n'
                         '  ROOT r = (f32[2], s32[2]) topk(x), k=2, largest=false\n}\n')
        proto = os.path.join(os.path.dirname(text), 'least.hlo.pb')
        self.assertEqual(run('convert', text, proto)[0], 0)
        status, out, _ = run('run', proto, '--platform', 'interpreter', '--print_literals')
        self.assertEqual(status, 0)
        self.assertIn('{1, 2}', out)

    def test_show(self):
        with open(TEXT, encoding='utf-8') as f:
            entry = next(line for line in f if line.startswith('ENTRY')).split()[1].lstrip('%')
        for form in ('hlo', 'hlo-elided', 'hlo-short', 'hlo-canonical', 'json', 'dot', 'svg', 'html'):
            status, out, err = run('show', TEXT, '--format', form)
            self.assertEqual((status, err), (0, ''), form)
            self.assertGreater(len(out), 500, form)
        self.assertIn(entry, run('show', TEXT, '--computation', entry)[1])
        self.assertEqual(run('show', TEXT, '--computation', 'nowhere')[0], 2)
        module = json.loads(run('show', TEXT, '--json')[1])
        root = module['computations'][-1]['root']
        near = run('show', TEXT, '--around', root, '--radius', '1')[1].splitlines()
        self.assertTrue(2 <= len(near) < 60, near)
        entry_list = next(c for c in module['computations'] if c['name'] == entry)['instructions']
        operand = next(i for i in entry_list if i['name'] == root)['operands'][0]
        for form in ('svg', 'html', 'dot', 'json'):
            for part in (('--around', root, '--radius', '1'), ('--paths', operand + ',' + root), ('--computation', entry)):
                status, out, err = run('show', TEXT, '--format', form, *part)
                self.assertEqual((status, err), (0, ''), (form, part))
                self.assertIn(root, out, (form, part))
                self.assertNotIn('<script', out, (form, part))
        svg = run('show', TEXT, '--format', 'svg')[1]
        for instruction in entry_list:
            self.assertIn(instruction['name'], svg)

    def test_info_says_what_is_yet_to_be_partitioned(self):
        path = os.path.join(self.folder.name, 'm.hlo')
        with open(path, 'w') as file:
            file.write('HloModule m\nENTRY e {\n  x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n'
                       '  ROOT h = f32[2] custom-call(x), custom_call_target="SPMDFullToShardShape", sharding={manual}\n}\n')
        out = run('info', path)[1]
        self.assertIn('num_partitions 1, not SPMD-partitioned yet', out)
        self.assertIn('need 1 replica and 2 partitions', out)

    def test_info_shows_stages_in_columns(self):
        long = 'module_0001.m.0001.p.after_' + 'a' * 90 + '.before_b.txt'
        for name in ('module_0001.m.before_optimizations.txt', long):
            with open(os.path.join(self.folder.name, name), 'w', encoding='utf-8') as f:
                f.write('HloModule m\nENTRY e {\n  ROOT a = f32[4] parameter(0)\n}\n')
        stages = [line for line in run('info', self.folder.name)[1].splitlines() if ' instruction ' in line]
        self.assertEqual(len(stages), 2)
        self.assertEqual(*[line.index(' instruction ') for line in stages])

    def test_info_and_find(self):
        status, out, _ = run('info', MLP)
        self.assertEqual(status, 0)
        self.assertLess(out.index('before_optimizations'), out.index('cpu_after_optimizations'))
        record = json_lines(run('info', '--json', MLP)[1])[0]
        self.assertEqual([s['name'] for s in record['modules'][0]['stages']], ['before_optimizations', 'cpu_after_optimizations'])
        self.assertEqual(json_lines(run('info', '--json', TEXT)[1])[0]['kind'], 'hlo-text')
        status, out, _ = run('find', '--json', 'dot(', MLP)
        self.assertEqual(status, 0)
        self.assertTrue(all('dot(' in r['text'] for r in json_lines(out)))
        self.assertEqual(run('find', 'nothing-has-this-name', MLP)[0], 1)

    def test_info_follows_instructions_through_passes(self):
        dump = os.path.join(SAMPLES, 'softmax_passes_a100')
        passes = json_lines(run('info', '--json', '--passes', dump)[1])[0]['modules'][0]['passes']
        self.assertEqual(len(passes), 69)
        inliner = next(p for p in passes if p['pass'] == 'call-inliner')
        self.assertEqual((inliner['moved'], inliner['removed'], inliner['added']), (19, 2, 0))
        status, out, _ = run('info', '--diff', '0010', dump)
        self.assertEqual(status, 0)
        self.assertIn('  - %reshape.4 = f32[64,1]{1,0} reshape(%log.2)', out)
        facts = json_lines(run('info', '--json', '--select', 'log.4', dump)[1])[0]
        self.assertEqual(facts['fusion'], 'triton_softmax.2')
        self.assertEqual((facts['source']['file'], facts['source']['line']), ('make_samples.py', 121))
        self.assertTrue(facts['ancestors_unbroken'])
        self.assertEqual([k['name'] for k in facts['kernels']], ['triton_softmax_2'])
        first = [a['instruction'] for a in facts['ancestors'] if a['stage'] == 'before_optimizations']
        self.assertEqual(first[0], 'log.1')
        kernel = json_lines(run('info', '--json', '--select', 'kernel=triton_softmax_2', dump)[1])[0]
        self.assertIn('log.4', [i['instruction'] for i in kernel['instructions']])
        for wrong in ('nothing_is_called_so', 'no_such_module:log.4', 'log.4@9999', 'kernel=none', 'line=x'):
            status, _, err = run('info', '--select', wrong, dump)
            self.assertEqual(status, 2, wrong)
            self.assertIn('expected' if wrong == 'line=x' else 'softmax_passes_a100', err)

    def test_run_reads_every_form_of_a_module(self):
        def outcome(*arguments, stdin=b''):
            status, out, err = run('run', '--json', '--seed', '3', *arguments, stdin=stdin)
            records = json_lines(out)
            self.assertEqual((status, [r['status'] for r in records]), (0, ['ran']), err)
            return [o['shape'] for o in records[0]['outputs']]
        expected = outcome(TEXT)
        forms = [contents(TEXT), contents(PROTO)]
        forms += [gzip.compress(form) for form in forms]
        for number, form in enumerate(forms):
            self.assertEqual(outcome(self.file(f'form_{number}', form)), expected, number)
            self.assertEqual(outcome('-', stdin=form), expected, number)
        self.assertEqual(outcome(MLP), expected)

    def test_run_keeps_and_reads_literals(self):
        module = self.file('m.hlo', 'HloModule m\nENTRY e {\n  a = f32[3] parameter(0)\n  b = s32[] parameter(1)\n'
                                    '  c = f32[] convert(b)\n  d = f32[3] broadcast(c), dimensions={}\n'
                                    '  ROOT s = f32[3] add(a, d)\n}\n')
        kept = os.path.join(self.folder.name, 'kept.pb')
        self.assertEqual(run('run', module, '--iterations', '2', '--output_literals_file', kept)[0], 0)
        again = os.path.join(self.folder.name, 'again.pb')
        status, out, _ = run('run', module, '--json', '--iterations', '2', '--input_literals_file', kept,
                             '--output_literals_file', again)
        self.assertEqual((status, json_lines(out)[0]['status']), (0, 'equal'))
        self.assertEqual(contents(kept), contents(again))
        text = self.file('one.pbtxt', 'arguments { shape { element_type: F32 dimensions: 3 layout { minor_to_major: 0 } } f32s: 1 f32s: 2 '
                                      'f32s: 3 }\narguments { shape { element_type: S32 layout { } } s32s: 10 }\n'
                                      'result { shape { element_type: F32 dimensions: 3 layout { minor_to_major: 0 } } f32s: 11 f32s: 12 '
                                      'f32s: 14 }\n')
        status, out, _ = run('run', module, '--json', '--input_literals_file', text)
        record = json_lines(out)[0]
        self.assertEqual((status, record['status'], record['expected']), (1, 'differs', 'recorded'))
        self.assertEqual(record['outputs'][0]['worst_mismatch'], {'index': [2], 'actual': '13', 'expected': '14'})
        self.assertEqual(run('run', module, '--iterations', '2', '--input_literals_file', text)[0], 2)

    def test_host_callbacks_are_skipped_on_request(self):
        text = ('HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  call = %s custom-call(x), '
                'custom_call_target="xla_ffi_python_cpu_callback", custom_call_has_side_effect=true\n'
                '  ROOT y = f32[2] add(x, %s)\n}\n')
        unused, used = (self.file(name + '.hlo', text % shapes)
                        for name, shapes in (('unused', ('()', 'x')), ('used', ('f32[2]', 'call'))))
        status, out, _ = run('run', unused, '--json')
        self.assertEqual((status, json_lines(out)[0]['status']), (3, 'unsupported'))
        self.assertIn('--skip-callbacks', out)
        status, out, _ = run('run', unused, '--skip_callbacks', '--json')
        record = json_lines(out)[0]
        self.assertEqual((status, record['status']), (0, 'ran'))
        self.assertIn('skipped a host callback: call; its result is unused', record['warnings'])
        status, out, _ = run('run', used, '--skip_callbacks', '--json')
        self.assertEqual((status, json_lines(out)[0]['status']), (3, 'unsupported'))
        self.assertIn('call: a host callback whose result is used, by y', out)

    def test_attributes_with_their_default_are_there(self):
        """EQ is 0, as what is absent."""
        text = 'HloModule m\nENTRY e {\n  a = f32[4] parameter(0)\n  b = f32[4] parameter(1)\n  ROOT c = pred[4] compare(a, b), direction=%s\n}\n'
        eq, lt = (self.file(name + '.hlo', text % name) for name in ('EQ', 'LT'))
        for a, b, became in ((eq, lt, 'EQ became LT'), (lt, eq, 'LT became EQ')):
            status, out, _ = run('compare', a, b)
            self.assertEqual(status, 1)
            self.assertIn('attribute direction differs: ' + became, out)
            status, out, _ = run('diverge', a, b)
            self.assertEqual(status, 1)
            self.assertIn('direction was {} and became {}'.format(*became.split(' became ')), out)

    def test_compare_tells_first_from_worst(self):
        module = self.file('c.hlo', 'HloModule m\nENTRY e {\n  ROOT a = f32[3] constant({1, 2, 4})\n}\n')
        other = self.file('d.hlo', 'HloModule m\nENTRY e {\n  ROOT a = f32[3] constant({1, 2.5, 8})\n}\n')
        a, b = (os.path.join(self.folder.name, name) for name in ('a.npz', 'b.npz'))
        for path, where in ((module, a), (other, b)):
            self.assertEqual(run('run', path, '--outputs', where)[0], 0)
        status, out, _ = run('compare', a, b, '--json')
        output = json_lines(out)[0]['outputs'][0]
        self.assertEqual((status, output['mismatched']), (1, 2))
        self.assertEqual((output['first_mismatch']['index'], output['worst_mismatch']['index']), ([1], [2]))
        self.assertEqual(sum(output['error_histogram']['relative']), 3)
        self.assertIn('worst at [2]: 4, expected 8', run('compare', a, b)[1])

    def test_a_full_disk_is_an_error(self):
        with open('/dev/full', 'wb') as full:
            p = subprocess.run([HLOSCOPE, 'show', TEXT], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(p.returncode, 2)
        self.assertIn(b'cannot write to standard output', p.stderr)

    def test_files_are_known_by_content(self):
        with open(PROTO, 'rb') as f:
            disguised = self.file('really-a-proto.txt', f.read())
        self.assertEqual(run('verify', disguised)[0], 0)
        mlir = self.file('m.mlir', 'module @m {\n}\n')
        status, out, _ = run('info', mlir)
        self.assertEqual(status, 0)
        self.assertIn('StableHLO', out)
        status, _, err = run('show', mlir)
        self.assertEqual(status, 3)
        self.assertIn('StableHLO', err)

    def test_bench_run(self):
        status, out = run('bench', 'run', '--json', '--repeats', '4', '--against', 'interpreter', TEXT, 'absent.hlo')[:2]
        self.assertEqual(status, 2)
        record, absent = json_lines(out)
        self.assertEqual((record['module'], record['platform'], record['against']), (TEXT, 'cpu', 'interpreter'))
        self.assertEqual((record['runs'], record['against_runs']), (4, 4))
        for side in ('', 'against_'):
            self.assertGreater(record[side + 'run_us'], 0)
        self.assertAlmostEqual(record['ratio_run'], record['run_us'] / record['against_run_us'])
        self.assertIn('absent.hlo', absent['error'])
        self.assertNotIn('ratio_run_interval', record)  # too few runs
        self.assertEqual(run('bench', 'run', '--platform', 'none', TEXT)[0], 2)
        self.assertEqual(run('bench', 'run', '--threads', '0', TEXT)[0], 2)

    def test_bench_run_tells_memory_and_intervals(self):
        large = self.file('large.hlo', 'HloModule m\nENTRY e {\n x = f32[4194304] parameter(0)\n ROOT y = f32[4194304] negate(x)\n}\n')
        status, out = run('bench', 'run', '--json', '--repeats', '8', '--against', 'interpreter', '--against_itself', large)[:2]
        self.assertEqual(status, 0)
        record, = json_lines(out)
        for name, ratio in (('ratio_run', record['ratio_run']), ('against_itself_ratio_run', record['against_itself_ratio_run'])):
            low, high = record[name + '_interval']
            self.assertLessEqual(low, ratio)
            self.assertLessEqual(ratio, high)
        for side in ('', 'against_'):
            idle, compiling, running = (record[side + key] for key in ('idle_bytes', 'compile_peak_bytes', 'run_peak_bytes'))
            self.assertGreater(idle, 1 << 20)
            self.assertGreaterEqual(compiling, idle // 2)
            self.assertGreater(running, 2 << 24)  # argument and result
            self.assertLess(running, 1 << 30)
        self.assertAlmostEqual(record['ratio_run_peak'], record['run_peak_bytes'] / record['against_run_peak_bytes'])
        text = run('bench', 'run', '--repeats', '2', '--against', 'interpreter', large)[1]
        self.assertIn('few runs', text)
        self.assertIn('idle MB', text)
        whose, columns = text.splitlines()[:2]
        self.assertEqual(re.split(' {2,}', whose.strip()), ['cpu', 'interpreter', 'cpu / interpreter', 'memory of cpu', 'memory of interpreter'])
        self.assertEqual(columns.split(), ('compile ms run us compile ms run us compile run run 95 % '
                                           'idle MB compile run idle MB compile run module').split())

    def test_bench_parse(self):
        record = json_lines(run('bench', 'parse', '--json', '--repeats', '1', TEXT)[1])[0]
        for key in ('bytes', 'instructions', 'parse_ms', 'print_ms', 'to_proto_ms', 'from_proto_ms', 'rss_bytes'):
            self.assertGreater(record[key], 0, key)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=0)
