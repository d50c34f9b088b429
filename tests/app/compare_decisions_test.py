#!/usr/bin/env python3
"""`compare A B --decisions`: the first decision about fusion that differs: compare_decisions_test.py HLOSCOPE."""
import json
import os
import re
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])

OPCODES = ('negate', 'exponential', 'tanh', 'sine', 'cosine', 'sqrt', 'abs', 'floor')


def module(names, opcodes=OPCODES):
    """A chain, and beside its fourth value a reduction of the same: names are those of the chain and of the reduction."""
    lines = ['x = f32[64,64]{1,0} parameter(0)', 'zero = f32[] constant(0)']
    operand = 'x'
    for k, (name, opcode) in enumerate(zip(names, opcodes)):
        lines.append(f'{name} = f32[64,64]{{1,0}} {opcode}({operand}), metadata={{op_name="{opcode}" source_file="model.py" source_line={k + 3}}}')
        operand = name
    lines.append(f'{names[-1]} = f32[64]{{0}} reduce({names[3]}, zero), dimensions={{1}}, to_apply=add')
    lines.append(f'ROOT t = (f32[64,64]{{1,0}}, f32[64]{{0}}) tuple({operand}, {names[-1]})')
    return ('HloModule m\n\nadd {\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT s = f32[] add(p, q)\n}\n\nENTRY e {\n  ' +
            '\n  '.join(lines) + '\n}\n')


def step(kind, **fields):
    inner = ''.join(f'    {name}: ' + (f'"{value}"' if isinstance(value, str) else str(value)) + '\n' for name, value in fields.items())
    return f'fusion_steps {{\n  {kind} {{\n{inner}  }}\n}}\n'


def fuse(producer, consumer, name):
    return step('fusion', fusion_name=name, producer_name=producer, consumer_name=consumer)


def refuse(producer, reason):
    return step('producer_ineligible', producer_name=producer, reason=reason)


def estimate(producer, consumer, fused, apart):
    return step('update_priority', producer_name=producer, consumer_names=consumer, us_fused=fused, us_unfused=apart)


NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'r']
STEPS = [refuse('d', 'fusing d would duplicate too much'), estimate('a', 'b', 1, 3), estimate('e', 'f', 2, 6), estimate('g', 'h', 1, 2),
         fuse('e', 'f', 'fusion'), estimate('fusion', 'g', 1, 4), fuse('fusion', 'g', 'fusion.1'), refuse('r', 'both contain a reduce'),
         fuse('a', 'b', 'fusion.2'), fuse('fusion.1', 'h', 'fusion.3'), estimate('c', 'd', 9, 4)]
DEVICE = 'gpu_device_info {\n  core_count: 132\n  clock_rate_ghz: 1.98\n  rate_infos {\n    key: 4\n  }\n  rate_infos {\n    key: 8\n  }\n}\n'


class Decisions(FolderTest):
    def compare(self, a, b, status=1):
        done = subprocess.run([HLOSCOPE, 'compare', a, b, '--decisions', '--json'], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, (done.stdout, done.stderr))
        text = subprocess.run([HLOSCOPE, 'compare', a, b, '--decisions'], capture_output=True, text=True, timeout=60)
        self.assertEqual(text.returncode, status)
        found = json.loads(done.stdout)
        return found['decisions'][0] if 'decisions' in found else found

    def dump(self, name, steps=STEPS, before=module(NAMES), device=DEVICE):
        os.makedirs(self.path(name), exist_ok=True)
        escaped = before.replace('"', '\\"').replace('\n', '\\n')
        for file, text in (('before_optimizations.txt', before), ('0001.fusion.after_pipeline-start.before_priority-fusion.txt', before),
                           ('priority_fusion_dump.txt', ''.join(steps) + device + f'hlo_module_before_fusion: "{escaped}"\n')):
            self.path(f'{name}/module_0001.m.{file}', text)
        return self.path(name)

    def test_the_same(self):
        a = self.dump('a')
        self.assertEqual((self.compare(a, a, 0)['first'], self.compare(a, a, 0)['status']), (None, 'equal'))
        # Other names, numbers of fusions and order between two fusions, and a reason that names an instruction.
        names = [name + '.17' for name in NAMES]
        steps = [re.sub(r'"([a-hr])"', r'"\1.17"', one).replace('fusing d', 'fusing d.17') for one in STEPS]
        steps = [re.sub(r'"fusion(\.\d)?"', lambda m: f'"loop_fusion{m.group(1) or ""}"', one) for one in steps]
        steps[0], steps[3] = steps[3], steps[0]
        found = self.compare(a, self.dump('b', steps, module(names)), 0)
        self.assertEqual((found['same'], found['fused_a'], found['because'], found['notes']), (6, 4, [], []))

    def test_planted_differences(self):
        def changed(at, *to):
            return STEPS[:at] + list(to) + STEPS[at + 1:]

        # What is planted, the steps of A and B that are named, the producers there, and what the reasons say.
        planted = [
            ('another producer first', changed(4, fuse('a', 'b', 'fusion')), (5, 5), ('e', 'a'), ''),
            ('two in the other order', STEPS[:4] + [STEPS[8], STEPS[4], STEPS[5], STEPS[6], STEPS[7]] + STEPS[9:], (5, 5), ('e', 'a'),
             'B decides about it at step 6: e into f, called fusion from then on'),
            ('another user', changed(4, fuse('e', 'r', 'fusion')), (5, 5), ('e', 'e'), ''),
            ('refused instead', changed(4, refuse('e', 'not fusible')), (5, 5), ('e', 'e'), ''),
            ('refused and fused later', changed(7, STEPS[7], refuse('a', 'too many operands')), (9, 9), ('a', 'a'), ''),
            ('not refused', changed(7, estimate('r', 't', 1, 2)), (8, 9), ('r', 'a'), 'B decides nothing about r'),
            ('slower by another estimate', changed(1, estimate('a', 'b', 3, 1))[:8] + STEPS[9:], (9, 9), ('a', 'fusion.1'),
             'B estimates that a is slower fused: 3.000 us fused, 1.000 us apart'),
            ('the last is absent', STEPS[:9] + STEPS[10:], (10, None), ('fusion.1', None), 'B decides nothing'),
            ('one more at the end', STEPS + [fuse('c', 'd', 'fusion.4')], (None, 12), (None, 'c'),
             'A estimates that c is slower fused: 9.000 us fused, 4.000 us apart'),
            ('a fusion is absent, and a refusal comes after it', STEPS[:6] + STEPS[7:], (7, 7), ('fusion', 'r'), 'A decides about it at step 8: r not fused'),
            ('another estimate before', changed(2, estimate('e', 'f', 2.5, 6))[:4] + [fuse('a', 'b', 'fusion')] + STEPS[5:], (5, 5), ('e', 'a'),
             'the estimate for e differs: 2.000 us fused, 6.000 us apart in A, 2.500 us fused, 6.000 us apart in B'),
        ]
        a = self.dump('a')
        for what, steps, numbers, producers, reason in planted:
            with self.subTest(what):
                found = self.compare(a, self.dump('b', steps))
                sides = [found['first'][side] for side in 'ab']
                self.assertEqual(tuple(side and side['step'] for side in sides), numbers)
                self.assertEqual(tuple(side and side['instruction'] for side in sides), producers)
                self.assertTrue(not reason or any(reason in one for one in found['because']), found['because'])
                back = self.compare(self.path('b'), a)
                self.assertEqual((back['first']['a'], back['first']['b']), (found['first']['b'], found['first']['a']))

    def test_each_reason_of_a_round_counts(self):
        """Of a producer that is refused for two reasons between two fusions, one of which the other side lacks."""
        two = [refuse('d', 'too many operands'), refuse('d', 'the output of a reduction')]
        a = self.dump('a', two + STEPS[4:5])
        self.assertEqual(self.compare(a, self.dump('b', two[::-1] + STEPS[4:5]), 0)['notes'], [])
        for one in two:
            for pair in ((a, self.dump('b', [one] + STEPS[4:5])), (self.path('b'), a)):
                notes = self.compare(*pair, 0)['notes']
                self.assertEqual(len(notes), 1, notes)
                self.assertIn('1 producer is refused for another reason', notes[0])
                self.assertTrue(all(reason in notes[0] for reason in ('too many operands', 'the output of a reduction')), notes)

    def test_the_first_decision_about_a_producer(self):
        """Not one that follows: of a producer with several users, and of two that are refused in each other's place."""
        into_two = [fuse('e', 'f', 'fusion'), fuse('e', 'r', 'fusion.1')]
        again = [refuse('e', 'no'), *into_two]
        for of_a, of_b, producers in ((into_two, [refuse('e', 'no'), into_two[1]], ('e', 'e')),
                                      ([refuse('a', 'x'), *into_two, fuse('b', 'c', 'fusion.2')], [refuse('b', 'x'), *into_two, fuse('a', 'b', 'fusion.2')], ('a', 'b'))):
            a, b = self.dump('a', of_a), self.dump('b', of_b)
            for one, other, expected in ((a, b, producers), (b, a, producers[::-1])):
                first = self.compare(one, other)['first']
                self.assertEqual([(first[side]['instruction'], first[side]['step']) for side in 'ab'], [(name, 1) for name in expected])
        # One that both refuse before, and that is refused once more where the other fuses it.
        a, b = self.dump('a', again), self.dump('b', [again[0], refuse('e', 'no'), refuse('h', 'no'), again[2]])
        for one, other in ((a, b), (b, a)):
            first = self.compare(one, other)['first']
            self.assertEqual([(first[side]['instruction'], first[side]['step']) for side in 'ab'], [('e', 2), ('e', 2)])
        self.compare(a, self.dump('b', [again[0], *again]), 0)

    def test_what_the_decisions_rest_on(self):
        a = self.dump('a')
        steps = STEPS[:4] + [fuse('a', 'b', 'fusion')] + STEPS[5:]
        found = self.compare(a, self.dump('b', steps, device=DEVICE.replace('1.98', '1.70').replace('key: 8', 'key: 9')))
        self.assertEqual(found['because'][:2], ['the device differs: clock_rate_ghz is 1.98 in A, 1.70 in B',
                                                'the device differs: rate_infos[1].key is 8 in A, 9 in B'])
        self.assertEqual(found['first']['a']['source'], 'model.py:7')
        self.assertEqual(found['first']['a']['estimates'], {'us_fused': 2, 'us_unfused': 6})
        # An instruction that the other module has not.
        other = self.dump('b', [one.replace('"e"', '"e2"') for one in STEPS], module(NAMES).replace('cosine(d)', 'logistic(d)').replace('  e =', '  e2 =').replace('(e)', '(e2)'))
        found = self.compare(a, other)
        self.assertTrue(any(one.startswith('the modules differ before the pass') for one in found['because']), found)

    def test_reasons_are_notes(self):
        found = self.compare(self.dump('a'), self.dump('b', [STEPS[0].replace('too much', 'too often')] + STEPS[1:]), 0)
        self.assertEqual(len(found['notes']), 1)
        self.assertIn('1 producer is refused for another reason', found['notes'][0])

    def test_our_own_compiler_and_logs(self):
        dumps = []
        for name, text in (('p', module(NAMES)), ('q', module(NAMES).replace('sqrt(e)', 'negate(e), sharding={replicated}')), ('r', module([n + '.3' for n in NAMES]))):
            dumps.append(self.path('own_' + name))
            done = subprocess.run([HLOSCOPE, 'compile', self.path(name + '.hlo', text), '--dump', dumps[-1]], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
        found = self.compare(dumps[0], dumps[2], 0)
        self.assertEqual((found['made_by'], found['same'] > 0, found['because']), ('hloscope fusion', True, []))
        # A decision of the file turned around.
        [file] = [one for one in os.listdir(dumps[2]) if one.endswith('fusion_decisions.txt')]
        with open(os.path.join(dumps[2], file), encoding='utf-8') as text:
            lines = text.read().splitlines()
        at = next(k for k, line in enumerate(lines) if line.strip().startswith('fused: '))
        lines[at] = lines[at].replace('fused: ', 'not fused: ')
        self.path('own_r/' + file, '\n'.join(lines) + '\n')
        first = self.compare(dumps[0], dumps[2])['first']
        self.assertEqual((first['a']['fused'], first['b']['fused'], first['b']['step']), (True, False, at + 1))
        # Different compilers decide different things.
        done = subprocess.run([HLOSCOPE, 'compare', dumps[0], self.dump('a'), '--decisions'], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn('the decisions of A are those of hloscope fusion, of B those of priority-fusion', done.stderr)
        line = 'I1129 08:58:58.57 7 instruction_fusion.cc:1] {}\n'
        for name, lines in (('x', ["Evaluating fusion: producer 'b' into consumer 'c'.", 'Fusing %b = f32[64]{0} exponential(%a) into %c = f32[64]{0} tanh(%b)']),
                            ('y', ["Evaluating fusion: producer 'b' into consumer 'c'.", 'not fusing operand %b = f32[64]{0} exponential(%a) because it is big.'])):
            os.makedirs(self.path(name))
            self.path(name + '/module_0001.m.cpu_after_optimizations.txt', module(NAMES))
            self.path(name + '/stderr.log', ''.join(line.format(one) for one in lines))
        first = self.compare(self.path('x'), self.path('y'))['first']
        self.assertEqual((first['a']['step'], first['b']['step'], first['b']['reason']), (2, 2, 'it is big.'))

    def test_a_log_of_several_modules_is_compared_once(self):
        line = 'I1129 08:58:58.57 7 instruction_fusion.cc:1] {}\n'
        fused = ["Evaluating fusion: producer 'b' into consumer 'c'.", 'Fusing %b = f32[64]{0} exponential(%a) into %c = f32[64]{0} tanh(%b)']
        refused = [fused[0], 'not fusing operand %b = f32[64]{0} exponential(%a) because it is big.']
        for name, lines in (('x', fused + fused), ('y', fused + refused)):
            os.makedirs(self.path(name))
            for number, kind in ((1, 'm'), (2, 'n')):
                self.path(f'{name}/module_000{number}.{kind}.cpu_after_optimizations.txt', module(NAMES).replace('HloModule m', 'HloModule ' + kind))
            self.path(name + '/stderr.log', ''.join(line.format(one) for one in lines))
        for a, b, status in (('x', 'x', 0), ('x', 'y', 1)):
            done = subprocess.run([HLOSCOPE, 'compare', self.path(a), self.path(b), '--decisions', '--json'], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, status, done.stderr)
            [found] = json.loads(done.stdout)['decisions']
            self.assertEqual((found['module'], found['module_b'], found['count_a'], found['same']), ('all modules', 'all modules', 2, 2 - status))
            self.assertIn('A: the log does not say of which module a decision is', found['notes'])

    def test_errors(self):
        a = self.dump('a')
        os.makedirs(self.path('none'))
        self.path('none/module_0001.m.sm_9.0_gpu_after_optimizations.txt', module(NAMES))
        done = subprocess.run([HLOSCOPE, 'compare', a, self.path('none'), '--decisions'], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn('--xla_dump_hlo_pass_re=priority-fusion', done.stderr)
        done = subprocess.run([HLOSCOPE, 'compare', a, self.path('absent'), '--decisions'], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
