#!/usr/bin/env python3
"""`compare` of dumps: all modules, of two dumps and of many; fingerprints in `info`; processes that share a folder; values that are not there.

  compare_dumps_test.py HLOSCOPE SAMPLES"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

HLOSCOPE, SAMPLES = sys.argv[1], sys.argv[2]
SOFTMAX = os.path.join(SAMPLES, 'softmax_passes_a100')
TAILS = ('before_optimizations.txt', 'sm_8.0_gpu_after_optimizations.txt', 'sm_8.0_gpu_after_optimizations-buffer-assignment.txt')
LARGE = 'HloModule {name}\n\nENTRY e {{\n  x = f32[16] parameter(0)\n  c = f32[16] constant({value})\n  ROOT r = f32[16] add(x, c)\n}}\n'
NUMBERS = '{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}'


def run(*arguments, **environment):
    done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def record(*arguments):
    status, out, err = run(*arguments, '--json')
    assert out.count('\n') == 1, (status, out, err)
    return status, json.loads(out)


class CompareDumps(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.texts = {}
        for tail in TAILS:
            with open(os.path.join(SOFTMAX, 'module_0000.jit_softmax.' + tail), encoding='utf-8') as file:
                self.texts[tail] = file.read()

    def write(self, dump, name, text):
        os.makedirs(os.path.join(self.folder, dump), exist_ok=True)
        path = os.path.join(self.folder, dump, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def dump(self, name, rows, prefix='', first_id=0, edit=lambda text: text):
        """A dump of one module for each of `rows`, which has that many rows."""
        for k, count in enumerate(rows):
            for tail, text in self.texts.items():
                text = text.replace('jit_softmax', f'jit_f{k}').replace('64,1000', f'{count},1000').replace('[64]', f'[{count}]')
                text = text.replace('256000', str(count * 4000))
                self.write(name, f'{prefix}module_{k + first_id:04}.jit_f{k}.{tail}', edit(text))
        return os.path.join(self.folder, name)

    def test_many_modules_are_a_table(self):
        many = self.dump('many', [64 + k % 7 for k in range(60)] + [4096])
        few = self.dump('few', [64, 65])
        status, out, err = run('info', many, '--no-cache')
        self.assertEqual((status, err), (0, ''))
        lines = out.splitlines()
        head = next(k for k, line in enumerate(lines) if line.split()[:1] == ['module'])
        self.assertEqual(lines[head].split(), ['module', 'stages', 'instructions', 'memory', 'peak'])
        self.assertEqual(lines[head + 1].split()[:2], ['module_0060', 'jit_f60'])
        self.assertIn('  and 41 more modules (--top 0 lists all)', lines)
        self.assertLess(len(lines), 40)
        # The totals are those of the JSON.
        modules = record('info', many, '--no-cache')[1]['modules']
        total = sum(module['peak_bytes'] for module in modules)
        self.assertIn(f'  memory: {total / 1e6:.1f} MB together, most in module_0060 jit_f60 (', out)
        status, out, _ = run('info', many, '--no-cache', '--top', '0', '--sort', 'name')
        rows = [line.split()[1] for line in out.splitlines() if line.startswith('  module_')]
        self.assertEqual(rows, sorted(f'jit_f{k}' for k in range(61)))
        # Cached reports are of one table each; modules are read once.
        with tempfile.TemporaryDirectory() as cache:
            first = [run('info', many, *options, XDG_CACHE_HOME=cache)[1] for options in ((), ('--top', '3'), ('--top', '5'), ())]
            self.assertEqual(first[0], first[3])
            self.assertIn('and 58 more modules', first[1])
            self.assertIn('and 56 more modules', first[2])
        self.assertIn('runs on:', run('info', few, '--no-cache')[1])
        self.assertNotIn('runs on:', run('info', few, '--no-cache', '--sort', 'peak')[1])
        self.assertIn('runs on:', run('info', many, '--no-cache', '--module', 'jit_f7')[1])

    def test_passes_hold_two_stages_at_a_time(self):
        body = ''.join(f'  v{k + 1} = f32[8] add(v{k}, v{k}), metadata={{op_name="jit(f)/layer_{k}/add"}}\n' for k in range(30_000))
        text = f'HloModule jit_f\n\nENTRY e {{\n  v0 = f32[8] parameter(0)\n{body}  ROOT r = f32[8] negate(v30000)\n}}\n'
        most = []
        for count in (3, 12):
            for k in range(count):
                dump = os.path.dirname(self.write(f'stages{count}', f'module_0001.jit_f.{k:04}.simplify.after_a.before_b.txt', text))
            # What the largest of the processes held.
            measured = subprocess.run([sys.executable, '-c', 'import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, '
                                       'stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)',
                                       HLOSCOPE, 'info', dump, '--passes', '--jobs', '1'], capture_output=True, text=True, check=True)
            most.append(int(measured.stdout))
        self.assertLess(most[1], 1.25 * most[0])

    def test_spellings_of_replicated(self):
        text = 'HloModule m, num_partitions=4\n\nENTRY e {{\n  x = f32[8] parameter(0), sharding={}\n  ROOT r = f32[8] negate(x)\n}}\n'
        forms = ['{replicated}', '{mesh[], [{}]}', '{mesh[\'x\'=4], [{}]}', '{devices=[1,4]<=[4] last_tile_dim_replicate}']
        others = ['{mesh[\'x\'=4], [{\'x\'}]}', '{mesh[\'x\'=4], [{?}]}', '{devices=[4]<=[4]}', '{maximal device=0}']
        paths = {form: self.write('m', f'{k}.hlo', text.format(form)) for k, form in enumerate(forms + others)}
        for form in forms:
            self.assertEqual(record('compare', paths[forms[0]], paths[form])[0], 0, form)
        for form in others:
            self.assertEqual(record('compare', paths[forms[0]], paths[form])[0], 1, form)

    def test_what_is_no_hlo(self):
        dump = self.dump('a', [64])
        self.write('a', 'published.stablehlo.mlir', '// Source: a report\n\n// of two lines\nmodule {\n  func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n'
                                                    '    %y = stablehlo.sine %x : tensor<f32>\n    return %y : tensor<f32>\n  }\n}\n')
        self.write('a', 'ir_text.txt', 'IR {\n  %0 = f32[3] xla::device_data(), location=f@a.py:1, xla_shape=f32[3]{0}\n}\n')
        status, found = record('compare', dump, dump)
        self.assertEqual((status, found['equal'], found['modules']), (0, 2, []))
        _, found = record('info', dump)
        self.assertEqual(sorted(m['name'] for m in found['modules']), ['jit_f0', 'published'])
        other = self.dump('b', [64])
        self.write('b', 'published.stablehlo.mlir', 'module {\n  func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n    return %x : tensor<f32>\n  }\n}\n')
        status, found = record('compare', dump, other)
        self.assertEqual((status, found['equal'], [m['module'] for m in found['modules']]), (2, 1, ['published']))

    def test_all_modules_are_compared(self):
        a, b = self.dump('a', [64] * 5), self.dump('b', [64, 64, 65, 64, 4096])
        status, found = record('compare', a, b)
        self.assertEqual((status, found['status'], found['equal'], found['only_a'], found['only_b']), (1, 'differs', 3, [], []))
        # What grew most comes first.
        self.assertEqual([module['module'] for module in found['modules']], ['jit_f4', 'jit_f2'])
        grown = found['modules'][0]
        self.assertGreater(grown['peak_bytes'][1], grown['peak_bytes'][0])
        self.assertRegex(grown['what'], 'sm_8.0_gpu_after_optimizations: [0-9]+ changed')
        self.assertNotEqual(grown['classes'][0]['fingerprint'], grown['classes'][1]['fingerprint'])
        status, text, _ = run('compare', a, b)
        self.assertEqual(status, 1)
        self.assertTrue(text.startswith('3 modules equal in 2 dumps, 2 differ\n'), text)
        self.assertIn(', memory ', text)  # all allocations, which are not the peak
        self.assertNotIn('peak', text)
        self.assertLess(text.index('jit_f4'), text.index('jit_f2'))
        self.assertIn('and 1 more module (--top)', run('compare', a, b, '--top', '1')[1])
        for module, expected in (('jit_f1', 0), ('jit_f4', 1), ('4', 1), ('module_0003', 0)):
            self.assertEqual(run('compare', a, b, '--module', module)[0], expected, module)
        self.assertEqual(run('compare', a, b, '--module', 'jit_g')[0], 2)

    def test_names_ids_and_metadata_do_not_count(self):
        a = self.dump('a', [64, 65, 66])
        b = self.dump('b', [64, 65, 66], first_id=7, edit=lambda text: text.replace('source_line=', 'source_line=1').replace('jit(f', 'jit(g'))
        status, found = record('compare', a, b)
        self.assertEqual((status, found['status'], found['equal'], found['modules']), (0, 'equal', 3, []))
        self.assertEqual(record('compare', a, a)[1]['status'], 'equal')

    def test_modules_of_one_side_are_named(self):
        a, b = self.dump('a', [64, 65]), self.dump('b', [64, 65, 66])
        status, found = record('compare', a, b)
        self.assertEqual((status, found['status'], found['equal'], found['only_a'], found['only_b']), (1, 'differs', 2, [], ['jit_f2']))
        self.assertIn('jit_f2 is only in b\n', run('compare', a, b)[1])

    def test_one_module_each_is_paired_whatever_it_is_called(self):
        text = 'HloModule m\n\nENTRY e {{\n  x = f32[8] parameter(0)\n  ROOT r = f32[8] {}(x)\n}}\n'
        files = [self.write('single', name, text.format(opcode)) for name, opcode in (('a.hlo', 'negate'), ('b.hlo', 'negate'), ('c.hlo', 'sine'))]
        status, found = record('compare', *files)
        self.assertEqual((status, found['missing'], [len(one['classes']) for one in found['modules']]), (1, [], [2]))
        self.assertEqual(record('compare', files[0], files[1], files[0])[1]['equal'], 1)
        # Nor is it only in one of two dumps when its function has another name.
        a, b = self.dump('a', [64]), self.dump('b', [65])
        for file in os.listdir(b):
            os.rename(os.path.join(b, file), os.path.join(b, file.replace('jit_f0', 'jit_g')))
        status, found = record('compare', a, b)
        self.assertEqual((status, found['only_a'], found['only_b'], [one['module'] for one in found['modules']]), (1, [], [], ['jit_f0']))
        self.assertIn('  jit_f0 (jit_g in b)', run('compare', a, b)[1])

    def test_many_dumps_are_classes(self):
        dumps = [self.dump(f'rank{rank}', [64, 65 if rank == 3 else 64, 64]) for rank in range(6)]
        status, found = record('compare', *dumps)
        self.assertEqual((status, found['status'], found['equal'], found['dumps']), (1, 'differs', 2, dumps))
        module, = found['modules']
        self.assertEqual([one['dumps'] for one in module['classes']], [[0, 1, 2, 4, 5], [3]])
        text = run('compare', *dumps)[1]
        self.assertTrue(text.startswith('2 modules equal in 6 dumps, 1 differs\n'), text)
        self.assertIn('  jit_f1: 5 + rank3', text)
        # A line for each class and stage.
        three = [dumps[0], dumps[3], self.dump('more', [64, 4096, 64])]
        lines = run('compare', *three)[1].splitlines()
        self.assertEqual([line.split(':')[0] for line in lines if ' first ' in line],
                         ['    rank3', '    rank3', '    more', '    more'], lines)
        os.remove(os.path.join(dumps[5], 'module_0002.jit_f2.' + TAILS[0]))
        self.assertEqual(run('compare', *dumps[:3], dumps[5])[0], 0)  # the compiled stage is enough
        for tail in TAILS[1:]:
            os.remove(os.path.join(dumps[5], 'module_0002.jit_f2.' + tail))
        status, found = record('compare', *dumps[:3], dumps[5])
        self.assertEqual((status, found['missing']), (1, [{'module': 'jit_f2', 'dumps': [3]}]))

    def test_what_cannot_be_read_is_no_equal(self):
        a, b = self.dump('a', [64, 64]), self.dump('b', [64, 64])
        for dump in (a, b):
            for tail in TAILS[:2]:
                self.write(dump, 'module_0001.jit_f1.' + tail, 'HloModule jit_f1\n\nENTRY e {\n  broken\n}\n')
        status, found = record('compare', a, b)
        self.assertEqual((status, found['status'], found['equal']), (2, 'error', 1))
        self.assertIn('cannot be read', found['modules'][0]['what'])
        empty = os.path.join(self.folder, 'empty')
        os.mkdir(empty)
        status, _, err = run('compare', a, empty)
        self.assertEqual(status, 2)
        self.assertIn('no modules here', err)

    def test_elided_constants_are_not_equal(self):
        texts = {'a': '{...}', 'b': NUMBERS, 'c': NUMBERS.replace('1,', '9,', 1)}
        files = {key: self.write('.', key + '.hlo', LARGE.format(name='m', value=value)) for key, value in texts.items()}
        for pair, status, word, elided in (('ab', 3, 'unsupported', 1), ('ba', 3, 'unsupported', 1), ('aa', 3, 'unsupported', 1),
                                           ('bb', 0, 'equal', 0), ('bc', 1, 'differs', 0)):
            found = record('compare', files[pair[0]], files[pair[1]])
            self.assertEqual((found[0], found[1]['status'], found[1]['elided']), (status, word, elided), pair)
        self.assertIn('1 constant is elided', run('compare', files['a'], files['b'])[1])
        for key, text in texts.items():
            self.write('d' + key, 'module_0000.m.before_optimizations.txt', LARGE.format(name='m', value=text))
        folder = os.path.join(self.folder, 'd')
        self.assertEqual(record('compare', folder + 'a', folder + 'b')[1]['elided'], 1)
        self.assertEqual([run('compare', folder + x, folder + y)[0] for x, y in ('ab', 'aa', 'bb', 'bc')], [3, 3, 0, 1])
        status, checked = record('verify', files['a'])
        self.assertEqual((status, checked['status'], [w['rule'] for w in checked['warnings']]), (0, 'ok', ['elided-constants']))
        self.assertEqual(record('verify', files['b'])[1]['warnings'], [])
        status, _, err = run('convert', files['a'], os.path.join(self.folder, 'a.hlo.pb'))
        self.assertEqual(status, 0)
        self.assertIn('1 constant is elided', err)

    def test_large_constants_count_by_their_values(self):
        # Of two constants of one shape the names do not say which is which: the values do.
        def module(one, other, left, right):
            return (f'HloModule m\n\nENTRY e {{\n  {one} = f32[16] constant({NUMBERS})\n'
                    f'  {other} = f32[16] constant({NUMBERS.replace("1,", "9,", 1)})\n  ROOT r = f32[16] subtract({left}, {right})\n}}\n')
        a = self.write('.', 'a.hlo', module('p', 'q', 'p', 'q'))
        for names, status in (('xyxy', 0), ('xyyx', 1), ('qpqp', 0)):
            self.assertEqual(run('compare', a, self.write('.', 'b.hlo', module(*names)))[0], status, names)

    def test_the_first_instruction_is_named_before_the_header(self):
        text = ('HloModule m\n\nf {{\n  p = f32[{0}] parameter(0)\n  k = f32[] constant({1})\n  b = f32[{0}] broadcast(k), dimensions={{}}\n'
                '  ROOT a = f32[{0}] add(p, b)\n}}\n\nENTRY e {{\n  x = f32[{0}] parameter(0)\n  ROOT c = f32[{0}] fusion(x), kind=kLoop, calls=f\n}}\n')
        a = self.write('.', 'a.hlo', text.format(4, 1))
        # The entry's layout differs as well: it follows from the parameter.
        status, found = record('compare', a, self.write('.', 'b.hlo', text.format(5, 1)))
        self.assertEqual(status, 1)
        self.assertTrue(found['first']['what'].startswith('x in e: shape f32[4]{0} became f32[5]{0}'), found)
        self.assertEqual((found['first']['a'], found['first']['b']), ('x = f32[4]{0} parameter(0)', 'x = f32[5]{0} parameter(0)'))
        self.assertTrue(found['changed'][-1]['what'].startswith('module entry_computation_layout differs: '), found)
        # The constant, not the fusion that calls it.
        status, found = record('compare', a, self.write('.', 'c.hlo', text.format(4, 2)))
        self.assertEqual(found['first'], {'what': 'k in f: constant value differs: 1 became 2', 'a': 'k = f32[] constant(1)', 'b': 'k = f32[] constant(2)'})
        # The header where nothing else differs.
        status, found = record('compare', a, self.write('.', 'd.hlo', text.format(4, 1).replace('HloModule m', 'HloModule m, replica_count=2')))
        self.assertEqual((status, found['first']['what']), (1, 'module: module replica_count differs: 1 became 2'))
        large = LARGE.format(name='m', value=NUMBERS)
        status, found = record('compare', self.write('.', 'e.hlo', large), self.write('.', 'f.hlo', large.replace('7,', '70,')))
        self.assertEqual(found['first']['what'], 'c in e: constant value differs: element [6]: 7 became 70')

    def test_names_that_were_numbered_again(self):
        # JAX counts: what comes after an instruction that is gone has another number in its name.
        tanh = '''HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4,2] parameter(1)
  t.1 = f32[4] tanh(x)
  add.4 = f32[4] add(x, t.1)
  mul.5 = f32[4] multiply(t.1, t.1)
  mul.6 = f32[4,2] broadcast(add.4), dimensions={0}
  mul.7 = f32[4,2] multiply(mul.6, y)
  neg.8 = f32[4] negate(mul.5)
  ROOT r = (f32[4,2], f32[4]) tuple(mul.7, neg.8)
}
'''
        sine = '''HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4,2] parameter(1)
  s.1 = f32[4] sine(x)
  add.4 = f32[4] add(x, s.1)
  mul.5 = f32[4,2] broadcast(add.4), dimensions={0}
  mul.6 = f32[4,2] multiply(mul.5, y)
  neg.8 = f32[4] negate(s.1)
  ROOT r = (f32[4,2], f32[4]) tuple(mul.6, neg.8)
}
'''
        _, report = record('compare', self.write('renumbered', 'a.hlo', tanh), self.write('renumbered', 'b.hlo', sine))
        self.assertEqual([(one['instruction'], one['instruction_b'], one['what']) for one in report['changed']],
                         [('add.4', 'add.4', 'operand 1: t.1 became s.1'), ('neg.8', 'neg.8', 'operand 0: mul.5 became s.1')])
        self.assertEqual([[one['instruction'] for one in report[key]] for key in ('added', 'removed')], [['s.1'], ['t.1', 'mul.5']])

    def test_a_replaced_instruction_shifts_no_pairs(self):
        """Names are numbered by opcode: after a replaced instruction each later one of that opcode has the name of the one before it."""
        def chain(second):
            lines, last, activations = [], 'x', []
            for k in range(60):
                activations.append(second if k == 1 else 'exponential')
                name = f'{activations[-1]}.{activations.count(activations[-1])}'
                lines += [f'add.{k + 1} = f32[4] add({last}, x)', f'{"ROOT " if k == 59 else ""}{name} = f32[4] {activations[-1]}(add.{k + 1})']
                last = name
            return 'HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ' + '\n  '.join(lines) + '\n}\n'
        one, other = self.write('chains', 'a.hlo', chain('exponential')), self.write('chains', 'b.hlo', chain('tanh'))
        for a, b, was, now, next_of in ((one, other, 'exponential.2', 'tanh.1', 'add.3'), (other, one, 'tanh.1', 'exponential.2', 'add.3')):
            _, report = record('compare', a, b)
            changed = [(c['instruction'], c['instruction_b']) for c in report['changed']]
            self.assertEqual((changed, report['added'], report['removed']), ([(was, now)], [], []))
        # Read by many, whose names have other numbers.
        def wide(opcode, first):
            given = [f'x.{k} = f32[4] parameter({k})' for k in range(50)]
            adds = [f'add.{first + k} = f32[4] add({opcode}.1, x.{k})' for k in range(50)]
            names = ', '.join(f'add.{first + k}' for k in range(50))
            return ('HloModule m\nENTRY e {\n  ' + '\n  '.join([*given, f'{opcode}.1 = f32[4] {opcode}(x.0)', *adds])
                    + f'\n  ROOT r = ({", ".join(["f32[4]"] * 50)}) tuple({names})\n}}\n')
        one, other = self.write('wide', 'a.hlo', wide('cosine', 0)), self.write('wide', 'b.hlo', wide('sine', 7))
        for a, b, was, now in ((one, other, 'cosine.1', 'sine.1'), (other, one, 'sine.1', 'cosine.1')):
            _, report = record('compare', a, b)
            self.assertEqual([(c['instruction'], c['instruction_b']) for c in report['changed']], [(was, now)])
            self.assertEqual((report['added'], report['removed']), ([], []))

    def test_an_inserted_instruction_replaces_none(self):
        text = 'HloModule m\nENTRY e {{\n  x = f32[4] parameter(0)\n  {}exp.1 = f32[4] exponential({})\n  ROOT neg.1 = f32[4] negate(exp.1)\n}}\n'
        _, report = record('compare', self.write('inserted', 'a.hlo', text.format('', 'x')),
                           self.write('inserted', 'b.hlo', text.format('abs.1 = f32[4] abs(x)\n  ', 'abs.1')))
        self.assertEqual([(c['instruction'], c['instruction_b']) for c in report['changed']], [('exp.1', 'exp.1')])
        self.assertEqual(([one['instruction'] for one in report['added']], report['removed']), (['abs.1'], []))

    def test_parameters_belong_together_by_number(self):
        text = 'HloModule m\n\nENTRY e {{\n  {0}.1 = f32[4] parameter(0){1}\n  {0}.2 = f32[4] parameter(1){1}\n  ROOT r = f32[4] subtract({0}.1, {0}.2)\n}}\n'
        a = self.write('.', 'a.hlo', text.format('x', ''))
        status, found = record('compare', a, self.write('.', 'b.hlo', text.format('Arg', ', sharding={replicated}')))
        self.assertEqual([(c['instruction'], c['instruction_b'], c['what']) for c in found['changed']],
                         [(f'x.{k}', f'Arg.{k}', 'attribute sharding added: {replicated}') for k in (1, 2)])
        self.assertEqual((found['added'], found['removed']), ([], []))
        status, found = record('compare', a, self.write('.', 'c.hlo', text.format('Arg', '')))
        self.assertEqual((status, found['metadata']), (0, 'names of 2 instructions, first x.1 became Arg.1 in e'))

    def test_control_predecessors_and_stable_topk_count(self):
        text = 'HloModule m\n\nENTRY e {{\n  x = f32[8] parameter(0)\n  n = f32[8] negate(x)\n  t = (f32[2], s32[2]) topk(x), k=2, largest=true{}\n  ROOT r = (f32[8], (f32[2], s32[2])) tuple(n, t)\n}}\n'
        plain = self.write('.', 'a.hlo', text.format(''))
        for more, what in ((', control-predecessors={n}', 'control predecessors differ: nothing became n'), (', is_stable=true', 'attribute is_stable added: true')):
            status, found = record('compare', plain, self.write('.', 'b.hlo', text.format(more)))
            self.assertEqual((status, found['first']['what']), (1, 't in e: ' + what))
        # A proto does not tell false from absent.
        unstable, proto = self.write('.', 'c.hlo', text.format(', is_stable=false')), os.path.join(self.folder, 'c.hlo.pb')
        self.assertEqual(run('convert', unstable, proto)[0], 0)
        self.assertEqual([run('compare', unstable, other)[0] for other in (proto, plain)], [0, 0])
        stable, proto_of_stable = self.write('.', 'd.hlo', text.format(', is_stable=true')), os.path.join(self.folder, 'd.hlo.pb')
        self.assertEqual(run('convert', stable, proto_of_stable)[0], 0)
        self.assertEqual([run('compare', proto_of_stable, other)[0] for other in (proto, stable)], [1, 0])

    def test_a_dump_has_the_kernels_of_itself(self):
        # Kernels of which no operation of the given module is known.
        for name in ('softmax_passes_a100', 'attention_block_h100', 'conv_net'):
            a = os.path.join(self.folder, name)
            shutil.copytree(os.path.join(SAMPLES, name), a, ignore=shutil.ignore_patterns('*.gz', '*.npz'))
            status, found = record('compare', a, a)
            self.assertEqual((status, [g for g in found['groups'] if g['a'] != g['b']]), (0, []), name)

    def test_archives(self):
        a, b = self.dump('a', [64]), self.dump('b', [64], edit=lambda text: text.replace('exponential(', 'tanh('))
        for kind in ('zip', 'gztar'):
            packed = [shutil.make_archive(os.path.join(self.folder, f'{kind}-{os.path.basename(each)}'), kind, each) for each in (a, b)]
            self.assertEqual(run('compare', packed[0], packed[1])[0], 1)
            self.assertEqual(run('compare', packed[0], a)[0], 0)
            status, out, _ = run('compare', packed[0], b)
            self.assertEqual(status, 1)
            self.assertIn('1 differs', out)
        status, _, err = run('compare', packed[0], os.path.join(a, os.listdir(a)[0]))
        self.assertEqual(status, 2)
        self.assertIn('name the file in it', err)
        # Of one file that file is meant.
        one = os.path.join(self.folder, 'one')
        path = self.write('one', 'm.hlo', LARGE.format(name='m', value=NUMBERS))
        packed = shutil.make_archive(one, 'zip', one)
        self.assertEqual(run('compare', packed, path)[0], 0)
        self.assertEqual(run('compare', packed + '/m.hlo', path)[0], 0)

    def test_lines_that_are_the_same_show_nothing(self):
        # The operand of the same name in both is not the same value.
        module = ('HloModule m\nENTRY e {{\n  x = f32[4] parameter(0)\n  p = f32[] constant(1)\n  q = f32[] constant(2)\n'
                  '  u = f32[4] broadcast({0}), dimensions={{}}\n  v = f32[4] broadcast({1}), dimensions={{}}\n'
                  '  a = f32[4] add(x, u)\n  ROOT r = f32[4] multiply(a, v)\n}}\n')
        a, b = self.write('.', 'a.hlo', module.format('p', 'q')), self.write('.', 'b.hlo', module.format('q', 'p'))
        status, out, _ = run('compare', a, b)
        self.assertEqual(status, 1)
        self.assertIn('first a in e: operand 1: u (v there) became u', out)
        self.assertNotIn('  - ', out)
        # Elements that the line elides.
        a, b = (self.write('.', f'{k}.hlo', LARGE.format(name='m', value=NUMBERS.replace('16', str(k)))) for k in (16, 17))
        out = run('compare', a, b)[1]
        self.assertIn('element [15]: 16 became 17', out)
        self.assertNotIn('  + ', out)

    def test_loops_count_as_often_as_they_run(self):
        loop = """HloModule m, is_scheduled=true
f { a = f32[1000] parameter(0)
  ROOT n = f32[1000] negate(a) }
body { t = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[1000] get-tuple-element(t), index=1
  y = f32[1000] fusion(x), kind=kLoop, calls=f
  ROOT u = (s32[], f32[1000]) tuple(i, y) }
condition { t = (s32[], f32[1000]) parameter(0)
  ROOT p = pred[] constant(false) }
ENTRY e { s = (s32[], f32[1000]) parameter(0)
  ROOT w = (s32[], f32[1000]) while(s), condition=condition, body=body%s }
"""
        known = ', backend_config={"known_trip_count":{"n":"%d"}}'
        for name, text in (('seven', loop % (known % 7)), ('one', loop % (known % 1)), ('unknown', loop % ''),
                           ('many', loop % (known % 400)), ('fewer', loop % (known % 399))):
            for tail in ('before_optimizations.txt', 'cpu_after_optimizations.txt'):
                self.write(name, 'module_0000.m.' + tail, text if 'cpu' in tail else text.replace(', is_scheduled=true', ''))
        seven, one, unknown = (os.path.join(self.folder, name) for name in ('seven', 'one', 'unknown'))
        out = run('compare', seven, one)[1]
        self.assertIn('1 kernel, reads 28.0 kB, writes 28.0 kB', out)
        self.assertIn('1 kernel, reads 4.00 kB, writes 4.00 kB', out)
        self.assertIn('the first moves 7 times the bytes of the second', out)
        # Not "1 times the bytes".
        self.assertIn('the first moves 8.00 kB more than the second', run('compare', *(os.path.join(self.folder, name) for name in ('many', 'fewer')))[1])
        out = run('compare', one, unknown)[1]
        self.assertIn('both move the same number of bytes', out)
        self.assertIn('1 kernel in loops or branches that run an unknown number of times: counted once', out)
    def test_kernels_are_those_of_the_module_of_that_id(self):
        # Two modules of one name.
        both = [self.dump(name, [64]) and self.dump(name, [128], first_id=1) for name in ('a', 'b')]
        alone = self.dump('c', [128], first_id=1)
        _, expected = record('compare', alone, alone)
        _, found = record('compare', *both, '--module', '1')
        self.assertEqual((found['all_a'], found['all_b']), (expected['all_a'], expected['all_a']))
        _, other = record('compare', *both, '--module', '0')
        self.assertNotEqual(other['all_a'], expected['all_a'])

    def test_info_has_fingerprints(self):
        a = self.dump('a', [64, 65], edit=lambda text: text.replace('source_line=', 'source_line=1'))
        b = self.dump('b', [64, 66], first_id=3)
        of_a, of_b = (record('info', dump)[1]['modules'] for dump in (a, b))
        self.assertEqual(of_a[0]['fingerprint'], of_b[0]['fingerprint'])
        self.assertNotEqual(of_a[1]['fingerprint'], of_b[1]['fingerprint'])
        self.assertRegex(of_a[0]['fingerprint'], '^[0-9a-f]{16}$')
        self.assertEqual([s['fingerprint'] for s in of_a[0]['stages']], [s['fingerprint'] for s in of_b[0]['stages']])
        self.assertEqual(len({s['fingerprint'] for s in of_a[0]['stages']}), 2)
        self.assertEqual(of_a[0]['stages'][-1]['fingerprint'], of_a[0]['fingerprint'])

    def test_processes_of_one_folder_do_not_recompile(self):
        for prefixes in (('1700000001.', '1700000002.', '1700000003.'), ('rank0.', 'rank1.', 'rank2.')):
            dump = 'ranks' + prefixes[0]
            for prefix in prefixes:
                self.dump(dump, [64, 65], prefix)
            path = os.path.join(self.folder, dump)
            _, found = record('info', path)
            self.assertEqual((found['processes'], found['recompilations'], len(found['modules'])), (3, [], 6))
            text = run('info', path)[1]
            self.assertNotIn('compiled again', text)
            self.assertIn('written by 3 processes', text)
            for prefix in prefixes:
                self.assertIn(prefix[:-1] + ')', text)
        # The same with ids of their own is one process that compiles again.
        for k in range(2):
            self.write('again', f'module_{k:04}.jit_f.before_optimizations.txt', self.texts[TAILS[0]].replace('jit_softmax', 'jit_f'))
        _, found = record('info', os.path.join(self.folder, 'again'))
        self.assertEqual((found['processes'], len(found['recompilations'])), (1, 1))

    def test_arrays_of_ml_dtypes_are_compared(self):
        def npy(name, dtype, data):
            header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({len(data)},), }}".ljust(117) + '\n'
            path = os.path.join(self.folder, name)
            with open(path, 'wb') as file:
                file.write(b'\x93NUMPY\1\0' + struct.pack('<H', len(header)) + header.encode() + data)
            return path
        a, same = npy('a.npy', '<V1', bytes(range(6))), npy('same.npy', '|V1', bytes(range(6)))
        other, typed = npy('other.npy', '<V1', bytes(range(1, 7))), npy('typed.npy', 'float8_e4m3fn', bytes(range(6)))
        for path in (a, same):
            status, found = record('compare', a, path)
            self.assertEqual((status, found['status']), (0, 'equal'))
            self.assertIn('V1', found['outputs'][0]['note'])
        self.assertEqual(run('compare', a, other)[0], 1)
        status, found = record('compare', a, typed)
        self.assertEqual((status, found['status'], 'note' in found['outputs'][0]), (0, 'equal', False))
        self.assertEqual(found['outputs'][0]['shape'], 'f8e4m3fn[6]')

    def test_an_unused_element_does_not_hide_a_used_one(self):
        """Of equal elements some are used and one may be the root, in an order that a proto does not share with its text."""
        lines = ['  u = f32[4] get-tuple-element(t), index=0\n', '  v = f32[4] get-tuple-element(t), index=0\n']
        for end in ('  ROOT n = f32[4] negate(v)\n', '  n = f32[4] negate(u)\n  ROOT r = f32[4] get-tuple-element(t), index=0\n'):
            both = [self.write('.', f'{k}.hlo', 'HloModule m\nENTRY e {\n  t = (f32[4]) parameter(0)\n' + ''.join(order) + end + '}\n')
                    for k, order in enumerate((lines, lines[::-1]))]
            status, out, _ = run('compare', *both)
            self.assertEqual(status, 0, out)

    def test_compact_operands_lose_only_attributes_of_elements(self):
        head = ('HloModule m\n\nf {\n  p = (f32[4], f32[4]) parameter(0)\n')
        tail = '}\n\nENTRY e {\n  a = (f32[4], f32[4]) parameter(0)\n  ROOT c = f32[4] call(a), to_apply=f\n}\n'
        element = '  {0} = f32[4] get-tuple-element(p), index={1}, frontend_attributes={{k="v"}}, sharding={{replicated}}\n'
        long = head + element.format('x', 0) + element.format('y', 1) + '  ROOT s = f32[4] subtract(x, y)\n' + tail
        proto = os.path.join(self.folder, 'long.hlo.pb')
        self.assertEqual(run('convert', self.write('.', 'long.hlo', long), proto)[0], 0)
        for root, status in (('p#0, p#1', 0), ('p#1, p#0', 1)):
            short = self.write('.', 'short.hlo', head + f'  ROOT s = f32[4] subtract({root})\n' + tail)
            self.assertEqual(run('compare', short, proto)[0], status, root)
        # Where both sides have get-tuple-elements, their attributes count.
        self.assertEqual(run('compare', self.write('.', 'plain.hlo', long.replace(', sharding={replicated}', '')), proto)[0], 1)
        for dump, name, text in (('s', 'txt', head + '  ROOT s = f32[4] subtract(p#0, p#1)\n' + tail), ('l', 'txt', long)):
            self.write(dump, 'module_0000.m.before_optimizations.' + name, text)
        self.assertEqual(run('compare', os.path.join(self.folder, 's'), os.path.join(self.folder, 'l'))[0], 0)

    def test_a_batching_dimension_may_be_indexed(self):
        text = ('HloModule m\n\nENTRY e {\n  p = s32[2,3] constant({{1,2,3},{4,5,6}})\n  i = s32[2,1,2] constant({{{1,2}},{{1,0}}})\n'
                '  ROOT g = s32[2,1] gather(p, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={0,1}, index_vector_dim=2, '
                'slice_sizes={1,1}, operand_batching_dims={0}, start_indices_batching_dims={0}\n}\n')
        path = self.write('.', 'gather.hlo', text)
        self.assertEqual(record('verify', path)[1]['errors'], [])
        for platform in ('interpreter', 'cpu'):  # row k for batch k, whatever the index says
            status, out, err = run('run', path, '--platform', platform, '--print_literals', '--no-cache')
            self.assertEqual(status, 0, err)
            self.assertIn('{ {3}, {4} }', ' '.join(out.split()))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
