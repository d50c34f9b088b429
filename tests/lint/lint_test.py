#!/usr/bin/env python3
"""`lint`: each rule on a module that has its pattern, one that looks alike, and the first with the fix: lint_test.py HLOSCOPE."""
import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'app'))
from command_tests import FolderTest
from xspace import data, number, space

HLOSCOPE = os.path.abspath(sys.argv[1])

# What XLA:GPU writes around values that a stage of a partitioned module moves; of no rule as they are.
LOOP = '''HloModule m

body {
  t = (s32[], f32[8]{0}) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[8]{0} get-tuple-element(t), index=1
  %s
  ROOT r = (s32[], f32[8]{0}) tuple(i, y)
}

condition {
  t = (s32[], f32[8]{0}) parameter(0)
  ROOT p = pred[] constant(true)
}

ENTRY e {
  p = (s32[], f32[8]{0}) parameter(0)
  ROOT w = (s32[], f32[8]{0}) while(p), condition=condition, body=body
}
'''
INDICES = '''HloModule m
ENTRY e {
  x = f32[100,8]{1,0} parameter(0)
  i = s32[4]{0} constant({%s})
  r = s32[4,1]{1,0} reshape(i)
  ROOT g = %s
}
'''
COMPUTED = '''HloModule m
ENTRY e {
  x = f32[100,8]{1,0} parameter(0)
  i = s32[3]{0} iota(), iota_dimension=0
  factor = s32[] constant(%d)
  factors = s32[3]{0} broadcast(factor), dimensions={}
  product = s32[3]{0} multiply(i, factors)
  first = s32[] constant(%d)
  firsts = s32[3]{0} broadcast(first), dimensions={}
  sum = s32[3]{0} add(product, firsts)
  r = s32[3,1]{1,0} reshape(sum)
  ROOT g = f32[3,8]{1,0} gather(x, r), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
}
'''
# Row i of the indices is for row i of the array.
DIAGONAL = '''HloModule m
ENTRY e {
  x = f32[4,4]{1,0} parameter(0)
  i = s32[4,1]{1,0} iota(), iota_dimension=0
  ROOT g = f32[4,1]{1,0} gather(x, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0},
    start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}
}
'''
SLOT = '''HloModule m, is_scheduled=true
ENTRY e {
  x = f32[1024,1024]{1,0} parameter(0)
  y = f32[1024,1024]{1,0} tanh(x)
  ROOT c = f32[1024,1024]{%s} %s
}
'''
# The same where something computes with it.
USED = SLOT.replace('ROOT c', 'c').replace('%s\n}\n', '%s\n  ROOT u = f32[1024,1024]{0,1} sine(c)\n}\n')
# Attention's heads: sequence and head are swapped between two products.
HEADS = '''HloModule m, is_scheduled=true
ENTRY e {
  x = f32[1024,768]{1,0} parameter(0)
  w = f32[768,768]{1,0} parameter(1)
  k = f32[12,64,1024]{2,1,0} parameter(2)
  q = f32[1024,768]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[1024,12,64]{2,1,0} bitcast(q)
  c = f32[1024,12,64]{2,0,1} copy(b)
  h = f32[12,1024,64]{2,1,0} bitcast(c)
  ROOT s = f32[12,1024,1024]{2,1,0} %s
}
'''


def run(*arguments):
    return subprocess.run([HLOSCOPE, 'lint', *arguments], capture_output=True, text=True, timeout=60)


class Lint(FolderTest):
    def findings(self, *arguments, status=0):
        done = run('--json', *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def rules_of(self, text):
        return [f['rule'] for f in self.findings(self.path('m.hlo', text))]

    def test_each_rule(self):
        rules = [json.loads(line) for line in run('--rules', '--json').stdout.splitlines()]
        self.assertEqual(len(rules), 12)
        for rule in rules:
            file = os.path.join(HERE, rule['rule'] + '.{}.hlo')
            found = self.findings(file.format('bad'))
            self.assertEqual({f['rule'] for f in found}, {rule['rule']}, found)
            for finding in found:
                self.assertTrue(finding['cost'])
                self.assertEqual((finding['severity'], finding['fix']), (rule['severity'], rule['fix']))
                with open(file.format('bad'), encoding='utf-8') as text:
                    self.assertIn(finding['instruction'] + ' = ', text.read())
            self.assertEqual(self.findings(file.format('good')), [], rule)
            self.assertEqual(self.findings(file.format('fixed')), [], rule)

    def test_the_page_has_each_rule_with_its_bounds(self):
        with open(os.path.join(HERE, '..', '..', 'docs', 'lint.md'), encoding='utf-8') as page:
            rows = page.read()
        rules = [json.loads(line) for line in run('--rules', '--json').stdout.splitlines()]
        for rule in rules:
            self.assertIn(f"| `{rule['rule']}` | {rule['severity']} | {rule['pattern']} | {rule['fix']} |", rows)
        patterns = {rule['rule']: rule['pattern'] for rule in rules}
        for name, bound in (('accidental-f64', '1024 or more'), ('missed-f8', 'for a GPU'), ('upcast-reduce', '1 MiB or more'), ('copied-cache', 'a 16th')):
            self.assertIn(bound, patterns[name])
        module = 'HloModule m\n\nENTRY e {\n  x = f32[%d]{0} parameter(0)\n  ROOT y = f64[%d]{0} convert(x)\n}\n'
        self.assertEqual(self.rules_of(module % (1023, 1023)), [])
        self.assertEqual(self.rules_of(module % (1024, 1024)), ['accidental-f64'])
        for elements, cost in ((1024, '8.0 KiB of f64'), (4096, '32.0 KiB of f64'), (1 << 20, '8.0 MiB of f64')):
            self.assertEqual(self.findings(self.path('m.hlo', module % (elements, elements)))[0]['cost'], cost)

    def test_costs(self):
        def cost(rule):
            return self.findings(os.path.join(HERE, rule + '.bad.hlo'))[0]['cost_bytes']
        mib = 1 << 20
        self.assertEqual(cost('copied-cache'), 2 * 16 * mib)  # f32[4096,1024] read and written
        self.assertEqual(cost('layout-copy'), 2 * 4 * mib)
        self.assertEqual(cost('large-constant'), 4 * mib)
        self.assertEqual(cost('upcast-reduce'), 2 * 4 * mib - 2 * mib)
        self.assertEqual(cost('refused-donation'), mib)  # half of f32[512,1024] on each of two devices

    def test_the_cost_of_several_places_is_that_of_the_first(self):
        line = ', metadata={source_file="a.py" source_line=3}'
        module = (f'HloModule m\n\nENTRY e {{\n  x = f32[2048]{{0}} parameter(0)\n  y = f64[2048]{{0}} convert(x){line}\n'
                  f'  ROOT z = f64[2048]{{0}} negate(y){line}\n}}\n')
        path = self.path('two.hlo', module)
        (found,) = self.findings(path)
        self.assertEqual((found['places'], found['cost'], found['cost_bytes']), (2, '16.0 KiB of f64', 16384))
        out = subprocess.run([HLOSCOPE, 'lint', path], capture_output=True, text=True, check=False).stdout
        self.assertIn('y at a.py:3 and 1 more of this line', out)
        self.assertIn('; 16.0 KiB of f64 at the first\n', out)

    def test_a_donated_element(self):
        """Its own bytes count, not those of the tuple; nothing is said of a result that could take them."""
        module = ('HloModule m, is_scheduled=true, buffer_donor={ (0, {1}) }\n\nENTRY e {\n  p = (f32[1024,1024]{1,0}, f32[8]{0}) parameter(0)\n'
                  '  ROOT g = f32[1024,1024]{1,0} get-tuple-element(p), index=0\n}\n')
        found = self.findings(self.path('donor.hlo', module))
        self.assertEqual([(one['rule'], one['cost_bytes'], one['cost']) for one in found], [('refused-donation', 32, '32 B that no result uses')])

    def test_hosts_in_loops(self):
        for text, expected in (('y = f32[8]{0} negate(x)', []),
                               ('y = f32[8]{0} custom-call(x), custom_call_target="xla_ffi_python_cpu_callback"', ['host-transfer-in-loop']),
                               ('y = f32[8]{0} copy(x)', []),
                               ('z = f32[8]{0:S(5)} copy(x)\n  y = f32[8]{0} negate(z)', ['host-transfer-in-loop'])):
            self.assertEqual(self.rules_of(LOOP % text), expected, text)
        copied = self.findings(self.path('copied.hlo', LOOP.replace('[8]', '[262144]') % 'z = f32[262144]{0:S(5)} copy(x)\n  y = f32[262144]{0} negate(z)'))
        self.assertEqual((copied[0]['cost'], copied[0]['cost_bytes']), ('1.0 MiB between host and device in each iteration', 1 << 20))

    def test_progressions(self):
        rows = 'f32[4,8]{1,0} gather(x, r), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}'
        windows = ('f32[4,3,8]{2,1,0} gather(x, r), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, '
                   'slice_sizes={3,8}')
        self.assertEqual(self.rules_of(INDICES % ('3, 5, 7, 9', windows)), [])
        for values, expected in (('3, 5, 7, 9', ['gather-slice']), ('3, 5, 7, 8', []), ('9, 7, 5, 3', []), ('4, 4, 4, 4', [])):
            self.assertEqual(self.rules_of(INDICES % (values, rows)), expected, values)
        self.assertEqual(self.rules_of(INDICES % ('97, 98, 99, 100', rows)), [], 'out of the array the last row is repeated')

    def test_computed_indices(self):
        # Rows 95, 97, 99 are a slice; 101 is not inside, 9, 7, 5 go backwards, and 0, 0, 0 is one row.
        for factor, first, expected in ((2, 95, ['gather-slice']), (3, 95, []), (-2, 9, []), (0, 0, [])):
            self.assertEqual(self.rules_of(COMPUTED % (factor, first)), expected, (factor, first))
        repeats = COMPUTED.replace('s32[3]{0} iota(), iota_dimension=0', 's32[3,2]{1,0} iota(), iota_dimension=0').replace('s32[3]{0}', 's32[3,2]{1,0}')
        repeats = repeats.replace('s32[3,1]', 's32[6,1]').replace('f32[3,8]', 'f32[6,8]')
        self.assertEqual(self.rules_of(repeats % (2, 5)), [])
        self.assertEqual(self.rules_of(DIAGONAL), [])

    def test_reordered_and_read_in_order(self):
        """Where something else reads it as it is, one of both orders has to be copied, and the fix has no effect."""
        for reader, expected in (('tanh(x)', ['transposed-parameter']), ('dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}', []),
                                 ('custom-call(x), custom_call_target="f"', [])):
            module = USED.replace('  ROOT', f'  z = f32[1024,1024]{{1,0}} {reader}\n  ROOT')
            self.assertEqual(self.rules_of(module % ('0,1', 'copy(x)')), expected, reader)

    def test_what_no_order_spares(self):
        """Between two batched products, and of a parameter that is only returned in another order; not of two sides of one matrix."""
        product = 'dot(h, k), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}'
        for user, expected in ((product, []), ('custom-call(h, k), custom_call_target="f"', ['layout-copy'])):
            self.assertEqual(self.rules_of(HEADS % user), expected, user)
        matrix = ('HloModule m, is_scheduled=true\nENTRY e {\n  x = f32[1024,1024]{1,0} parameter(0)\n  y = f32[1024,1024]{1,0} dot(x, x), '
                  'lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  t = f32[1024,1024]{1,0} transpose(y), dimensions={1,0}\n'
                  '  ROOT z = f32[1024,1024]{1,0} dot(t, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n')
        self.assertEqual(self.rules_of(matrix), ['layout-copy'])
        returned = ('HloModule m, is_scheduled=true\nENTRY e {\n  x = f32[1024,1024]{1,0} parameter(0)\n  c = f32[1024,1024]{0,1} copy(x)\n%s}\n')
        pair = '  ROOT t = (f32[1024,1024]{0,1}, f32[1024,1024]{0,1}) tuple(c, %s)\n'
        for end, expected in ((pair % 'c', []), ('  y = f32[1024,1024]{0,1} tanh(c)\n' + pair % 'y', ['transposed-parameter'])):
            self.assertEqual(self.rules_of(returned % end), expected, end)

    def test_f64_on_purpose(self):
        """Nothing in the module has another type."""
        module = 'HloModule m\n\nENTRY e {\n  i = %s[2048]{0} iota(), iota_dimension=0\n  x = f64[2048]{0} convert(i)\n  ROOT y = f64[2048]{0} sine(x)\n}\n'
        self.assertEqual(self.rules_of(module % 's32'), [])
        self.assertEqual(self.rules_of(module % 'f32'), 2 * ['accidental-f64'])

    def test_casts_that_were_kept(self):
        """Of the given and the compiled module: what it still rounds is not lost; f16 and bf16 do not hold each other."""
        given = ('HloModule m\n\nENTRY e {\n  x = %s[64]{0} parameter(0)\n  a = %s[64]{0} convert(x)\n  ROOT b = %s[64]{0} convert(a)\n}\n')
        compiled = ('HloModule m, is_scheduled=true\n\nENTRY e {\n  x = f32[64]{0} parameter(0)\n%s}\n')
        rounds = '  a = bf16[64]{0} convert(x)\n  ROOT b = f32[64]{0} convert(a)\n'
        # A library need not round within a fusion; code of the compiler does.
        fused = compiled.replace('ENTRY', 'f {\n  x = f32[64]{0} parameter(0)\n' + rounds + '}\n\nENTRY')
        fusion = '  ROOT f = f32[64]{0} fusion(x), kind=k%s, calls=f, backend_config={"fusion_config":{"kind":"__%s_fusion"}}\n'
        for name, head, text, expected in (('kept', compiled, rounds, []), ('lost', compiled, '  ROOT c = f32[64]{0} copy(x)\n', ['lost-cast']),
                                           ('library', fused, fusion % ('Custom', 'ynn'), ['lost-cast']),
                                           ('other', fused, fusion.replace('__%s_fusion', '__%s$fusion') % ('Custom', 'cudnn'), []), ('loop', fused, fusion % ('Loop', 'loop'), [])):
            os.makedirs(self.path(name))
            self.path(f'{name}/module_0001.m.before_optimizations.txt', given % ('f32', 'bf16', 'f32'))
            self.path(f'{name}/module_0001.m.cpu_after_optimizations.txt', head % text)
            found = self.findings(self.path(name))
            self.assertEqual([f['rule'] for f in found], expected)
            # --xla_allow_excess_precision=false changes nothing there (jaxlib 0.10.2 and plugin 0.11.2).
            self.assertEqual(['only reduce_precision rounds there' in f['cost'] for f in found], [name == 'library'] * len(expected))
            self.assertEqual(['xla_allow_excess_precision=false' in f['fix'] for f in found], [name != 'library'] * len(expected))
        for types, expected in ((('f16', 'bf16', 'f16'), ['lost-cast']), (('bf16', 'f16', 'bf16'), ['lost-cast']), (('f16', 'f32', 'f16'), [])):
            self.assertEqual(self.rules_of(given % types), expected, types)

    def test_casts_of_which_a_library_computes_some(self):
        """Which of the casts are the library's is not known: all say how many are, and the flag mends the others."""
        pairs = ''.join(f'  {v} = f32[64]{{0}} parameter({k})\n  {v}n = bf16[64]{{0}} convert({v})\n  {v}f = f32[64]{{0}} convert({v}n)\n' for k, v in enumerate('xy'))
        inside = '  y = f32[64]{0} parameter(0)\n  a = bf16[64]{0} convert(y)\n  ROOT b = f32[64]{0} convert(a)\n'
        os.makedirs(self.path('some'))
        self.path('some/module_0001.m.before_optimizations.txt', f'HloModule m\n\nENTRY e {{\n{pairs}  ROOT t = (f32[64]{{0}}, f32[64]{{0}}) tuple(xf, yf)\n}}\n')
        self.path('some/module_0001.m.cpu_after_optimizations.txt',
                  f'HloModule m, is_scheduled=true\n\nf {{\n{inside}}}\n\nENTRY e {{\n  x = f32[64]{{0}} parameter(0)\n  y = f32[64]{{0}} parameter(1)\n'
                  '  c = f32[64]{0} copy(x)\n  f = f32[64]{0} fusion(y), kind=kCustom, calls=f, backend_config={"fusion_config":{"kind":"__ynn_fusion"}}\n'
                  '  ROOT t = (f32[64]{0}, f32[64]{0}) tuple(c, f)\n}\n')
        found = self.findings(self.path('some'))
        self.assertEqual([(f['rule'], f['instruction']) for f in found], [('lost-cast', 'xf'), ('lost-cast', 'yf')])
        for finding in found:
            self.assertIn('a library computes 1 of the 2 casts of this kind within a fusion', finding['cost'])
            self.assertIn('xla_allow_excess_precision=false', finding['fix'])

    def test_copies_that_keep_or_change_the_order(self):
        for layout, text, expected in (('1,0', 'copy(y)', []), ('0,1', 'copy(y)', ['layout-copy']),
                                       ('0,1', 'transpose(y), dimensions={1,0}', []), ('1,0', 'transpose(y), dimensions={1,0}', ['layout-copy']),
                                       ('0,1', 'copy(x)', [])):
            self.assertEqual(self.rules_of(SLOT % (layout, text)), expected, (layout, text))
        self.assertEqual(self.rules_of(USED % ('0,1', 'copy(x)')), ['transposed-parameter'])

    def test_a_dump_is_looked_at_as_given_and_as_compiled(self):
        os.makedirs(self.path('dump'))
        for stage, rule in (('before_optimizations', 'lost-cast'), ('cpu_after_optimizations', 'copied-cache')):
            with open(os.path.join(HERE, rule + '.bad.hlo'), encoding='utf-8') as file:
                self.path(f'dump/module_0002.jit__lambda.{stage}.txt', file.read())
        self.path('dump/stderr.txt', "a.py:3: UserWarning: Some donated buffers were not usable: float32[512,1024].\n"
                  '  warnings.warn("Some donated buffers were not usable: x")\n')
        found = self.findings(self.path('dump'))
        self.assertEqual([(f['rule'], f['stage']) for f in found],
                         [('lost-cast', 'before_optimizations'), ('copied-cache', 'cpu_after_optimizations'), ('refused-donation', 'stderr.txt')])
        self.assertIn('float32[512,1024]', found[2]['cost'])

    def trace(self, name, *rules):
        """A profile that carries a module with the pattern of each rule."""
        plane = data(2, '/host:metadata') + data(5, number(1, 1) + data(2, number(1, 1) + data(2, 'Hlo Proto')))
        for program, rule in enumerate(rules, 1):
            proto = self.path(f'{rule}.hlo.pb')
            subprocess.run([HLOSCOPE, 'convert', os.path.join(HERE, rule + '.bad.hlo'), proto], check=True)
            with open(proto, 'rb') as file:
                stat = data(5, number(1, 1) + data(6, file.read()))
            plane += data(4, number(1, program) + data(2, number(1, program) + data(2, f'jit_{rule}({program})') + stat))
        with open(self.path(name), 'wb') as file:
            file.write(space([[('step', 0, 1000)]]) + (data(1, plane) if rules else b''))
        return self.path(name)

    def test_modules_of_a_trace(self):
        one, two = self.trace('one.xplane.pb', 'lost-cast'), self.trace('two.xplane.pb', 'lost-cast', 'gather-slice')
        self.assertEqual([f['rule'] for f in self.findings(one)], ['lost-cast'])
        self.assertEqual([(f['rule'], f['module']) for f in self.findings(two)], [('lost-cast', 'jit_lost-cast'), ('gather-slice', 'jit_gather-slice')])
        self.assertEqual([f['rule'] for f in self.findings(two + ':jit_gather-slice')], ['gather-slice'])
        bare = self.trace('bare.xplane.pb')
        os.makedirs(self.path('run/plugins/profile/now'))
        os.rename(one, self.path('run/plugins/profile/now/host.xplane.pb'))
        self.path('run/plugins/profile/now/host.trace.json', '{"traceEvents": []}')  # listed before it, and without modules
        for path, words in ((bare, 'no module was found in this profile'), (self.path('run'), 'plugins/profile/now/host.xplane.pb')):
            done = run(path)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(words, done.stderr)

    def test_files_that_cannot_be_read(self):
        folder = os.path.join(self.folder, 'closed')
        os.mkdir(folder)
        file = os.path.join(folder, 'module_0000.m.before_optimizations.txt')
        with open(file, 'w', encoding='utf-8') as out:
            out.write(INDICES % ('1,2,3,4', 'f32[4,1]{1,0} convert(r)'))
        os.chmod(file, 0)
        # root reads any file
        other = {'user': 65534, 'extra_groups': []} if os.geteuid() == 0 else {}
        for path in (self.folder, folder):
            os.chmod(path, 0o755)
        if other and not os.access(os.path.dirname(HLOSCOPE), os.X_OK):
            self.skipTest('the program is in a folder that only root enters')
        done = subprocess.run([HLOSCOPE, 'lint', folder], capture_output=True, text=True, check=False, **other)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn('Permission denied', done.stderr)

    def test_exit_status_and_baseline(self):
        warns, informs = (os.path.join(HERE, rule + '.bad.hlo') for rule in ('lost-cast', 'gather-slice'))
        self.findings(warns, '--fail-on', 'warning', status=1)
        self.findings(warns, '--fail-on', 'error')
        self.findings(informs, '--fail-on', 'info', status=1)
        self.findings(informs, '--fail-on', 'warning')
        baseline = self.path('known.json', run('--json', warns).stdout)
        self.assertEqual(self.findings(warns, '--baseline', baseline, '--fail-on', 'info'), [])
        self.assertEqual(len(self.findings(warns, informs, '--baseline', baseline)), 1)
        # Lines about files that could not be read are no findings.
        broken = self.path('known_too.json', run('--json', warns, self.path('absent')).stdout)
        self.assertEqual(self.findings(warns, '--baseline', broken), [])
        # One place more than the baseline has.
        with open(warns, encoding='utf-8') as file:
            text = file.read()
        twice = re.sub(r'(?m)^  (convert_element_type\.[23]) = (.*)$', lambda m: m[0] + '\n  again.' + m[1][-1] + ' = ' + m[2], text)
        self.assertEqual(len(self.findings(self.path('twice.hlo', twice), '--baseline', baseline)), 2)
        bad = self.path('bad.json', '{"file": "x"}\n')
        self.assertEqual(run(warns, '--baseline', bad).returncode, 2)
        self.assertEqual(run(warns, '--baseline', self.path('absent')).returncode, 2)
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run(self.path('broken.hlo', 'HloModule m\nENTRY e {')).returncode, 2)

    def test_what_is_no_hlo_is_not_found_good(self):
        program = 'module @jit_f {\n  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {\n    return %arg0 : tensor<f32>\n  }\n}\n'
        os.makedirs(self.path('programs'))
        alone, inside = self.path('f.mlir', program), self.path('programs/f.mlir', program)
        ptx = self.path('k.ptx', '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n')
        for paths, status in (((alone,), 3), ((self.path('programs'),), 3), ((ptx,), 2), ((alone, '--fail-on', 'info'), 3)):
            for more in ((), ('--json',)):
                done = subprocess.run([HLOSCOPE, 'lint', *paths, *more], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, status, (paths, done.stdout, done.stderr))
                self.assertIn('not an HLO module: this is ' if status == 3 else 'no module to look at', done.stdout + done.stderr)
                self.assertNotIn('0 errors', done.stdout)
                self.assertEqual('hloscope convert' in done.stdout + done.stderr, status == 3)
        for command in (['bundle', 'create', self.path('programs'), '-o', self.path('x.hlob')], ['why', inside, 'a'], ['show', inside],
                        ['verify', inside]):
            done = subprocess.run([HLOSCOPE, *command], capture_output=True, text=True, timeout=100)
            self.assertIn(done.returncode, (0, 3) if command[0] == 'bundle' else (3,), (command, done.stderr))
        # Beside a module it is said, and the module is checked.
        self.path('programs/m.hlo', LOOP % 'y = f32[8]{0} negate(x)')
        done = subprocess.run([HLOSCOPE, 'lint', self.path('programs')], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('note: not checked: ' + inside, done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
