#!/usr/bin/env python3
"""`why`: decisions of priority fusion and of our own compiler, replayed and explained: why_test.py HLOSCOPE."""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest

HLOSCOPE = os.path.abspath(sys.argv[1])

# a -> b -> c, and a -> r (a reduction) -> d
BEFORE = '''HloModule m

add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}

ENTRY e {
  x = f32[64,64]{1,0} parameter(0)
  zero = f32[] constant(0)
  a = f32[64,64]{1,0} negate(x), metadata={op_name="neg" source_file="model.py" source_line=3}
  b = f32[64,64]{1,0} exponential(a)
  c = f32[64,64]{1,0} tanh(b)
  r = f32[64]{0} reduce(a, zero), dimensions={1}, to_apply=add
  d = f32[64]{0} sine(r)
  k = f32[64]{0} cosine(d)
  ROOT t = (f32[64,64]{1,0}, f32[64]{0}, f32[64]{0}) tuple(c, d, k)
}
'''
AFTER = '''HloModule m

add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}

fused {
  x.1 = f32[64,64]{1,0} parameter(0)
  a.1 = f32[64,64]{1,0} negate(x.1)
  b.1 = f32[64,64]{1,0} exponential(a.1)
  ROOT c.1 = f32[64,64]{1,0} tanh(b.1)
}

fused.1 {
  x.2 = f32[64,64]{1,0} parameter(0)
  zero.1 = f32[] constant(0)
  a.2 = f32[64,64]{1,0} negate(x.2)
  ROOT r.1 = f32[64]{0} reduce(a.2, zero.1), dimensions={1}, to_apply=add
}

ENTRY e {
  x = f32[64,64]{1,0} parameter(0)
  fusion.1 = f32[64,64]{1,0} fusion(x), kind=kLoop, calls=fused
  fusion.2 = f32[64]{0} fusion(x), kind=kInput, calls=fused.1
  d = f32[64]{0} sine(fusion.2)
  k = f32[64]{0} cosine(d)
  ROOT t = (f32[64,64]{1,0}, f32[64]{0}, f32[64]{0}) tuple(fusion.1, d, k)
}
'''


def step(kind, producer, **fields):
    inner = f'    producer_name: "{producer}"\n'
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            inner += f'    {name}: ' + (f'"{one}"' if isinstance(one, str) else str(one)) + '\n'
    return f'fusion_steps {{\n  {kind} {{\n{inner}  }}\n}}\n'


def fuse(producer, consumer, name):
    return step('fusion', producer, fusion_name=name, consumer_name=consumer)


STEPS = [step('update_priority', 'b', consumer_names=['c'], us_fused=1.5, us_unfused=3.25), fuse('b', 'c', 'fusion'),
         step('update_priority', 'a', consumer_names=['fusion', 'r'], us_fused=2, us_unfused=6), fuse('a', 'fusion', 'fusion.1'),
         fuse('a', 'r', 'fusion.2'), step('producer_ineligible', 'fusion.2', reason='the output of a reduction'),
         step('update_priority', 'd', consumer_names=['k'], us_fused=9, us_unfused=4.5)]


class Why(FolderTest):
    def why(self, *arguments, status=0):
        done = subprocess.run([HLOSCOPE, 'why', '--json', *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, (done.stdout, done.stderr))
        plain = subprocess.run([HLOSCOPE, 'why', *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(plain.returncode, status)
        return json.loads(done.stdout)

    def dump(self, steps=STEPS, after=AFTER):
        os.makedirs(self.path('dump'), exist_ok=True)
        escaped = BEFORE.replace('"', '\\"').replace('\n', '\\n')
        for name, text in (('before_optimizations.txt', BEFORE), ('0001.fusion.after_pipeline-start.before_priority-fusion.txt', BEFORE),
                           ('0002.fusion.after_priority-fusion.before_cse.txt', after), ('sm_9.0_gpu_after_optimizations.txt', after),
                           ('priority_fusion_dump.txt', ''.join(steps) + f'hlo_module_before_fusion: "{escaped}"\n')):
            self.path('dump/module_0001.m.' + name, text)
        return self.path('dump')

    def test_a_fusion_in_its_order(self):
        found = self.why(self.dump(), 'fusion.1')
        self.assertEqual((found['status'], found['made_by'], found['replay_agrees'], found['step']), ('made', 'priority-fusion', True, 4))
        self.assertEqual([(b['instruction'], b['operand'], b['step'], b['source']) for b in found['because']],
                         [('b', 'c', 2, ''), ('a', 'fusion', 4, 'model.py:3')])
        self.assertIn('1.500 us fused, 3.250 us apart', found['because'][0]['text'])
        by_file = self.why(os.path.join(self.path('dump'), 'module_0001.m.before_optimizations.txt'), '%fusion.1')
        self.assertEqual(by_file['because'], found['because'])

    def test_why_two_are_not_fused(self):
        dump = self.dump()
        found = self.why(dump, '--not-fused', 'd', 'k')
        self.assertEqual((found['status'], found['step'], found['certain']), ('not_fused', 7, True))
        self.assertEqual(found['estimates'], {'us_fused': 9, 'us_unfused': 4.5, 'consumers': ['k']})
        self.assertIn('slower fused', found['reason'])
        found = self.why(dump, '--not-fused', 'r', 'd')
        self.assertEqual((found['status'], found['reason'], found['step'], found['certain'], found['estimates']),
                         ('not_fused', 'the output of a reduction', 6, True, None))
        found = self.why(dump, '--not-fused', 'k', 'd')  # the other way around
        self.assertEqual((found['step'], found['status']), (7, 'not_fused'))
        found = self.why(dump, '--not-fused', 'a', 'r')
        self.assertEqual((found['status'], found['reason']), ('fused', 'both are in fusion.2'))
        found = self.why(dump, '--not-fused', 'b', 'r')
        self.assertIn('neither uses the other', found['reason'])

    def test_a_refusal_may_be_another_users(self):
        steps = [step('producer_ineligible', 'a', reason='too many operands')]
        found = self.why(self.dump(steps, BEFORE), '--not-fused', 'a', 'b')
        self.assertEqual((found['reason'], found['certain']), ('too many operands', False))
        self.assertTrue(any('2 users' in note for note in found['notes']), found['notes'])

    def test_each_refusal_of_a_round_is_told(self):
        """XLA may refuse a producer several times between two fusions, for different reasons; those before a fusion are over."""
        steps = [step('producer_ineligible', 'd', reason='an old one'), fuse('b', 'c', 'fusion'),
                 step('producer_ineligible', 'd', reason='the output of a reduction'), step('producer_ineligible', 'd', reason='too many operands'),
                 step('producer_ineligible', 'd', reason='too many operands')]
        found = self.why(self.dump(steps), '--not-fused', 'd', 'k')
        self.assertEqual((found['reason'], found['step'], found['certain']), ('the output of a reduction; too many operands', 5, False))
        self.assertEqual([(one['step'], one['text']) for one in found['because']],
                         [(3, 'step 3: the output of a reduction'), (5, 'step 5: too many operands')])
        estimate = step('update_priority', 'd', consumer_names=['k'], us_fused=9, us_unfused=4.5)
        found = self.why(self.dump(steps[2:3] + [estimate]), '--not-fused', 'd', 'k')
        self.assertEqual([one['step'] for one in found['because']], [1, 2])
        self.assertIn('slower fused', found['reason'])

    def test_which_estimate_counts(self):
        """The first since something was fused into the producer is of all its users; one after it of those that changed."""
        def estimate(fused, apart):
            return step('update_priority', 'd', consumer_names=['k'], us_fused=fused, us_unfused=apart)
        moved = fuse('r', 'd', 'd')
        for steps, reason, certain in (([estimate(1, 3), moved, estimate(9, 4.5)], 'XLA estimates that it is slower fused: 9.000 us fused, 4.500 us apart', True),
                                       ([estimate(9, 4.5), moved, estimate(1, 3)], 'XLA estimated a gain (1.000 us fused, 3.000 us apart), and no later', False),
                                       ([estimate(1, 3), estimate(2, 1.5)],
                                        'slower fused with what its users have become since: 2.000 us fused, 1.500 us apart (at first 1.000 us fused, 3.000 us apart)', False),
                                       ([estimate(1, 3), moved], 'XLA estimated a gain (1.000 us fused', False),
                                       ([estimate(9, 4.5), moved], 'XLA estimated that it is slower fused, before something was fused into it: 9.000 us fused, 4.500 us apart', False)):
            found = self.why(self.dump(steps), '--not-fused', 'd', 'k')
            self.assertIn(reason, found['reason'])
            self.assertEqual(found['certain'], certain, steps)
        # Of a fusion: what was estimated before it.
        found = self.why(self.dump([step('update_priority', 'a', consumer_names=['b'], us_fused=1, us_unfused=3),
                                    step('update_priority', 'a', consumer_names=['b'], us_fused=2, us_unfused=2.5), fuse('a', 'b', 'fusion'),
                                    step('update_priority', 'a', consumer_names=['b'], us_fused=7, us_unfused=8)]), 'fusion')
        self.assertIn('step 3: a into b, called fusion from then on; estimated at first: 1.000 us fused, 3.000 us apart', found['because'][0]['text'])

    def test_names_of_the_compiled_module(self):
        """A fusion of one instruction, which has no record, by the name that it got later."""
        after = AFTER.replace('ENTRY e', 'fused.2 {\n  y = f32[64]{0} parameter(0)\n  ROOT d.1 = f32[64]{0} sine(y)\n}\n\nENTRY e')
        after = after.replace('d = f32[64]{0} sine(fusion.2)', 'fusion.9 = f32[64]{0} fusion(fusion.2), kind=kLoop, calls=fused.2').replace('cosine(d)', 'cosine(fusion.9)').replace('fusion.2, d, k', 'fusion.2, fusion.9, k').replace(', d, k)', ', fusion.9, k)')
        dump = self.dump(after=after)
        self.path('dump/module_0001.m.sm_9.0_gpu_after_optimizations.txt', after.replace('fusion.9', 'loop_sine_fusion').replace('fusion.1 ', 'loop_tanh_fusion ').replace('fusion.1,', 'loop_tanh_fusion,'))
        found = self.why(dump, '--not-fused', 'loop_sine_fusion', 'k')
        self.assertEqual((found['status'], found['step'], found['replay_agrees']), ('not_fused', 7, True))
        self.assertEqual(self.why(dump, 'loop_tanh_fusion')['because'], self.why(dump, 'fusion.1')['because'])

    def test_the_replay_notices_what_the_steps_do_not_explain(self):
        for steps, after in ((STEPS[:4], AFTER), (STEPS + [fuse('d', 'k', 'fusion.3')], AFTER), (STEPS, AFTER.replace('exponential(', 'sqrt('))):
            found = self.why(self.dump(steps, after), 'fusion.1')
            self.assertEqual(found['replay_agrees'], False)
            self.assertTrue(found['notes'])

    def test_our_own_compiler(self):
        module, dump = self.path('m.hlo', BEFORE), self.path('own')
        done = subprocess.run([HLOSCOPE, 'compile', module, '--dump', dump], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = self.why(dump, '--not-fused', 'b', 'c')
        with open(os.path.join(dump, [f for f in os.listdir(dump) if f.endswith('fusion_decisions.txt')][0]), encoding='utf-8') as file:
            lines = file.read().splitlines()
        line = lines[found['step'] - 1]
        self.assertEqual(line.strip(), found['because'][0]['text'])
        self.assertEqual(found['status'], 'fused' if line.strip().startswith('fused') else 'not_fused')

    def test_decisions_in_a_log(self):
        """What XLA:CPU logs with TF_CPP_VMODULE=instruction_fusion=3; the lines of two threads are mixed."""
        os.makedirs(self.path('dump'))
        for name, text in (('before_optimizations.txt', BEFORE), ('cpu_after_optimizations.txt', AFTER)):
            self.path('dump/module_0001.m.' + name, text)
        line = 'I1129 08:58:58.57 {} instruction_fusion.cc:{}] {}\n'
        lines = [(7, 1142, "Evaluating fusion: producer 'b' into consumer 'c'."), (8, 1142, "Evaluating fusion: producer 'd' into consumer 'k'."),
                 (7, 848, 'Fusing %b = f32[64]{0} exponential(%a) into %c = f32[64]{0} tanh(%b)'),
                 (8, 687, 'not fusing operand %d = f32[64]{0} sine(%r) because Producer is not loop-fusible.'),
                 (7, 855, '       created new fusion: %fusion.1 = f32[64]{0} fusion(%a), kind=kLoop, calls=%fused'),
                 (7, 1142, "Evaluating fusion: producer 'a' into consumer 'fusion.1'."),
                 (7, 848, 'Fusing %a = f32[64]{0} negate(%x) into %fusion.1 = f32[64]{0} fusion(%a), kind=kLoop, calls=%fused')]
        self.path('dump/stderr.log', 'unrelated\n' + ''.join(line.format(*one) for one in lines))
        found = self.why(self.path('dump'), 'fusion.1')
        self.assertEqual((found['status'], found['made_by'], found['reason']), ('made', 'fusion', '2 producers were fused into it'))
        self.assertEqual([(b['instruction'], b['operand'], b['text']) for b in found['because']],
                         [('b', 'c', 'stderr.log:4: fused: b into c, called fusion.1 from then on'),
                          ('a', 'fusion.1', 'stderr.log:8: fused: a into fusion.1')])
        found = self.why(self.path('dump'), '--not-fused', 'd', 'k')
        self.assertEqual((found['status'], found['reason'], found['step']), ('not_fused', 'Producer is not loop-fusible.', 5))
        self.assertEqual(self.why(self.path('dump'), '--not-fused', 'b', 'fusion.1')['status'], 'fused')
        self.assertEqual(self.why(self.path('dump'), '--not-fused', 'r', 'd')['status'], 'unknown')
        # The largest module is that of the largest HLO, whatever lies beside a smaller one.
        small = 'HloModule jit_small, is_scheduled=true\n\nENTRY e {\n  only_here = f32[2] parameter(0)\n  ROOT n = f32[2] negate(only_here)\n}\n'
        for name, text in (('before_optimizations.txt', small), ('cpu_after_optimizations.txt', small), ('ir-with-opt.ll', 9999 * '; \n')):
            self.path('dump/module_0000.jit_small.' + name, text)
        self.assertEqual(self.why(self.path('dump'), '--not-fused', 'r', 'd')['status'], 'unknown')
        # A name that is nowhere is a mistake, and no decision that is not known.
        for names in (('nothing', 'd'), ('r', 'nothing')):
            done = subprocess.run([HLOSCOPE, 'why', self.path('dump'), '--not-fused', *names], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn('no instruction nothing in the log or in a stage', done.stderr)
        self.why(self.path('dump'), 'fusion.2', status=3)
        os.remove(self.path('dump/stderr.log'))
        done = subprocess.run([HLOSCOPE, 'why', self.path('dump'), 'fusion.1'], capture_output=True, text=True, timeout=60)
        self.assertIn('TF_CPP_VMODULE=instruction_fusion=3 `hloscope record` keeps them in its log', done.stderr)

    def test_compilations_in_a_log(self):
        """Each compilation decides again: an answer is of the module that was asked about, and of all only where nothing tells them apart."""
        os.makedirs(self.path('dump'))
        for number in (0, 2):
            for name, text in (('before_optimizations.txt', BEFORE), ('cpu_after_optimizations.txt', AFTER)):
                self.path(f'dump/module_000{number}.jit_f.{name}', text.replace('HloModule m', 'HloModule jit_f'))
        line = 'I1129 08:58:58.57 7 instruction_fusion.cc:{}] {}\n'
        one = ''.join(line.format(*each) for each in (
            (1142, "Evaluating fusion: producer 'b' into consumer 'c'."), (848, 'Fusing %b = f32[64]{0} exponential(%a) into %c = f32[64]{0} tanh(%b)'),
            (855, '       created new fusion: %fusion.1 = f32[64]{0} fusion(%a), kind=kLoop, calls=%fused'),
            (1142, "Evaluating fusion: producer 'd' into consumer 'k'."), (687, 'not fusing operand %d = f32[64]{0} sine(%r) because it is so.')))
        end = 'Finished XLA compilation of jit(f) in 0.1 sec\n'
        self.path('dump/stderr.log', one + end + one + 'Finished XLA compilation of jit(g) in 0.1 sec\n' + one + end)
        for module, step in (('module_0000', 5), ('module_0002', 17)):
            found = self.why(self.path('dump'), f'{module}:fusion.1')
            self.assertEqual((found['reason'], found['certain'], found['step'], found['notes']), ('1 producer was fused into it', True, step - 3, []))
            found = self.why(self.path('dump'), '--module', module, '--not-fused', 'd', 'k')
            self.assertEqual((found['step'], len(found['because']), found['certain']), (step, 1, True))
        plain = subprocess.run([HLOSCOPE, 'why', self.path('dump'), '--module', 'module_0000', '--not-fused', 'd', 'k'],
                               capture_output=True, text=True, timeout=60).stdout
        self.assertIn('d and k: not fused at stderr.log:5\n', plain)
        # A compilation too many, two at a time, and no word of them.
        other = one.replace('58.57 7 ', '58.57 8 ')
        for log in (one + end + one + end + one + end, one + other + end + end, one + one):
            self.path('dump/stderr.log', log)
            found = self.why(self.path('dump'), 'module_0000:fusion.1')
            self.assertEqual((found['certain'], found['notes']), (False, ['the log does not say of which module a decision is']))
            self.assertIn(' into fusions of this name, in all that the log has', found['reason'])

    def test_names_come_before_decisions(self):
        os.makedirs(self.path('dump'))
        self.path('dump/module_0001.m.cpu_after_optimizations.txt', AFTER)
        done = subprocess.run([HLOSCOPE, 'why', self.path('dump'), '--not-fused', 'nope', 'nope2'], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn('no instruction nope in the log or in a stage', done.stderr)

    def test_what_is_wrong_with_the_names(self):
        """Each message has the file, what is wrong, and what is nearest."""
        os.makedirs(self.path('dump'))
        file = self.path('dump/module_0001.m.cpu_after_optimizations.txt', AFTER)
        for path in (self.path('dump'), file):
            for names, what in (('fusion.7 --not-fused', 'no instruction fusion.7 in the log or in a stage (did you mean `fusion.1`?)'),
                                ('fusion.7 k --not-fused', 'no instruction fusion.7 in the log or in a stage (did you mean `fusion.1`?)'),
                                ('zzzzzzzz --not-fused', "no instruction zzzzzzzz in the log or in a stage (`show` of a module's file prints the names)"),
                                ('d --not-fused', '--not-fused takes a producer and its user, and d alone is given (its users: k, t)'),
                                ('k d x --not-fused', 'x is one name too many (--not-fused takes a producer and its user)'),
                                ('k d', 'd is one name too many (--not-fused A B asks about two instructions)')):
                done = subprocess.run([HLOSCOPE, 'why', path, *names.split()], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (2, f'{path}: {what}\n'))

    def test_errors_say_what_is_absent(self):
        dump = self.dump()
        self.why(dump, '--not-fused', 'nothing', 'k', status=2)
        self.why(dump, '--not-fused', 'k', status=2)
        self.why(dump, 'nothing', status=2)
        os.remove(os.path.join(dump, 'module_0001.m.priority_fusion_dump.txt'))
        done = subprocess.run([HLOSCOPE, 'why', dump, '--not-fused', 'd', 'k'], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3)
        self.assertIn('--xla_dump_hlo_pass_re=priority-fusion', done.stderr)
        self.path('dump/module_0001.m.priority_fusion_dump.txt', 'fusion_steps {\n  fusion {\n')
        self.why(dump, '--not-fused', 'd', 'k', status=2)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
