#!/usr/bin/env python3
"""What fails is said in JSON as in words: one object an input, with its status and error, and of what died its kind.

  failures_test.py HLOSCOPE"""
import json
import os
import subprocess
import sys
import unittest

from command_tests import FolderTest, write_npz

HLOSCOPE = os.path.abspath(sys.argv[1])
SQUARE = 'HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  ROOT y = f32[3] multiply(x, x)\n}\n'
UNSUPPORTED = '''HloModule u
ENTRY e {
  x = f32[3] parameter(0)
  ROOT c = f32[3] custom-call(x), custom_call_target="no_library_has_this"
}
'''
ENDLESS = '''HloModule endless
c { i = s32[] parameter(0) n = s32[] constant(2147483647) ROOT t = pred[] compare(i, n), direction=LT }
b { i = s32[] parameter(0) one = s32[] constant(1) ROOT n = s32[] add(i, one) }
ENTRY e { z = s32[] constant(0) ROOT w = s32[] while(z), condition=c, body=b }
'''
PTX = '''.version 8.7
.target sm_90
.address_size 64
.visible .entry trap()
{
trap;
ret;
}
.visible .entry spin()
{
again:
bra again;
}
.visible .entry beyond(.param .u64 .ptr y)
{
.reg .b32 %r<2>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [y];
mov.u32 %r1, 1;
st.global.u32 [%rd1+4096], %r1;
ret;
}
'''
ERROR_TEXT = 'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 17179869184 bytes.\n'

# Arguments, exit status, the inputs that are answered. GONE is not there, BAD is no module.
CASES = [
    ('info GONE', 2, ['GONE']), ('info BAD GONE', 2, ['BAD', 'GONE']), ('info M --select nothing', 2, ['M']), ('info /proc', 2, ['/proc']),
    ('find x GONE', 2, ['GONE']), ('find x /proc', 2, ['/proc']), ('find ( M --regex', 2, ['M']),
    ('show GONE', 2, ['GONE']), ('show BAD', 2, ['BAD']), ('show M --computation nothing', 2, ['M']), ('show M --around nothing', 2, ['M']),
    ('convert GONE x.hlo', 2, ['GONE']), ('convert M x.unknown', 2, ['M']), ('convert GONE BAD --to pb --out-dir o', 2, ['GONE', 'BAD']),
    ('verify GONE BAD', 2, ['GONE', 'BAD']),
    ('run GONE BAD', 2, ['GONE', 'BAD']), ('run U', 3, ['U']), ('run M --platform nothing', 2, ['M']), ('run M --inputs GONE', 2, ['M']),
    ('run ENDLESS --deadline 0.2 --platform interpreter', 4, ['ENDLESS']), ('run M --expect GONE', 2, ['M']), ('run M --input_format what', 2, ['M']),
    ('run K --entry trap --block 1', 4, ['K']), ('run K --entry spin --block 1 --deadline 0.2', 4, ['K']),
    ('run K --entry spin --block 1 --limit deadline=1', 4, ['K']), ('run K --entry beyond --block 1 --args out:u32[1]', 4, ['K']),
    ('run K --entry nothing', 2, ['K']), ('run K --entry trap --block 1 --platform interpreter', 2, ['K']),
    ('diverge GONE', 2, ['GONE']), ('diverge M --platform nothing', 2, ['M']), ('diverge M --passes GONE', 2, ['M']),
    ('diverge ENDLESS --platform interpreter --reference_platform cpu --deadline 0.2', 4, ['ENDLESS']),
    ('reduce GONE -o x.hlo', 2, ['GONE']), ('reduce M -o x.hlo --platform nothing', 2, ['M']),
    ('hunt -o h --programs 1 --platform nothing', 2, ['']), ('hunt GONE -o h --programs 1', 2, ['']),
    ('extract GONE y -o x.hlo', 2, ['GONE']), ('extract M nothing -o x.hlo', 2, ['M']), ('extract M y -o x.bad', 2, ['M']),
    ('compare GONE M', 2, ['GONE']), ('compare M BAD', 2, ['M']), ('compare / /', 2, ['/']),
    ('profile GONE', 2, ['GONE']), ('profile BAD', 2, ['BAD']), ('profile M -o x.unknown', 2, ['M']),
    ('profile ENDLESS --platform interpreter --deadline 0.2 -o x.hloprof', 4, ['ENDLESS']),
    ('profile U -o x.hloprof --platform cpu', 3, ['U']),
    ('compile GONE --dump d', 2, ['GONE']), ('compile M --with nothing --dump d', 2, ['M']), ('compile M', 2, ['M']),
    ('bundle create GONE -o x.hlob', 2, ['x.hlob']), ('bundle create GONE -o x.hlob --plan', 2, ['x.hlob']),
    ('bundle create M -o GONE/x.hlob', 2, ['GONE/x.hlob']),
    ('bundle check GONE', 2, ['GONE']), ('bundle check M', 2, ['M']), ('bundle open GONE --into d', 2, ['GONE']),
    ('explain GONE M E', 2, ['GONE', 'M', 'E']), ('explain M', 2, ['M']),
    ('bench parse GONE BAD', 2, ['GONE', 'BAD']), ('bench run GONE', 2, ['GONE']), ('bench run M --platform nothing', 2, ['M']),
    ('bench run ENDLESS --platform interpreter --deadline 0.2', 4, ['ENDLESS']),
    ('open GONE --screenshot x.png', 2, ['GONE']), ('open M --screenshot x.jpg', 2, ['M']),
    ('limits --limit x=y', 2, ['']), ('ops --limit x=y', 2, ['']),
]
# Answers with words of their own for what is wrong.
OWN_WORDS = {'verify': 'errors', 'bundle check': 'verdict'}


class Failures(FolderTest):
    def setUp(self):
        super().setUp()
        for name, text in dict(M=SQUARE, U=UNSUPPORTED, ENDLESS=ENDLESS, BAD='no module at all\n', E=ERROR_TEXT).items():
            self.path(name, text)
        os.rename(self.path('M'), self.path('M.hlo'))
        self.path('K.ptx', PTX)
        write_npz(self.path('in.npz'), {})

    def words(self, text):
        names = {'M': 'M.hlo', 'K': 'K.ptx'}
        return [names.get(word, word) for word in text.split()]

    def test_one_object_an_input(self):
        for text, status, inputs in CASES:
            words = self.words(text)
            done = subprocess.run([HLOSCOPE, *words, '--json'], capture_output=True, text=True, timeout=200, cwd=self.folder)
            with self.subTest(text):
                self.answered(words, inputs, status, done)

    def answered(self, words, inputs, status, done):
        where = (words, done.returncode, done.stdout, done.stderr)
        self.assertEqual(done.returncode, status, where)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(rows), len(inputs), where)
        for row, given in zip(rows, inputs):
            name = self.words(given)[0] if given else ''
            said = row.get('file') or row.get('module') or row.get('a') or ''
            if not (row.get('kind') and row.get('in') == name):  # an error that was explained
                self.assertEqual(said, name, where)
                self.assertIn('status', row, where)
                self.assertTrue(row.get(OWN_WORDS.get(' '.join(words[:2]), OWN_WORDS.get(words[0], 'error'))), where)
            self.assertEqual('error_kind' in row, row.get('status') == 'died', where)
        self.assertEqual(any(row.get('status') == 'died' for row in rows), status == 4, where)
        self.assertTrue(done.stderr.strip() or words[0] == 'verify', where)
        self.assertFalse(os.path.exists(self.path('x.png')), where)


class Words(FolderTest):
    """What a run says of itself is what it did."""

    def run_it(self, *arguments):
        done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=200, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def setUp(self):
        super().setUp()
        self.module = self.path('m.hlo', 'HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  y = s32[] constant(3)\n'
                                '  z = f32[2] multiply(x, x)\n  ROOT t = (f32[2], s32[]) tuple(z, y)\n}\n')

    def test_iterations_and_their_inputs(self):
        self.assertIn('inputs generated from seeds 5 to 7', self.run_it('run', self.module, '--iterations', '3', '--seed', '5')[1])
        self.assertNotIn('seeds', self.run_it('run', self.module, '--seed', '5')[1])
        inputs = self.path('in.npz')
        write_npz(inputs, {'in0': ('<f4', (2,), bytes(8))})
        self.assertIn('all 3 iterations have the same inputs: those of --inputs',
                      self.run_it('run', self.module, '--iterations', '3', '--inputs', inputs)[1])

    def test_a_result_that_cannot_be_compared_does_not_hide_the_others(self):
        inputs, expected = self.path('in.npz'), self.path('out.npz')
        write_npz(inputs, {'in0': ('<f4', (2,), bytes(8))})
        write_npz(expected, {'out0': ('<f8', (2,), bytes(16)), 'out1': ('<i4', (), (3).to_bytes(4, 'little'))})
        status, out, err = self.run_it('run', self.module, '--inputs', inputs, '--expect', expected)
        self.assertEqual(status, 2, err)
        self.assertRegex(out, r'\{0\} .* 2 elements, not compared: .*the array.s type is <f8')
        self.assertRegex(out, r'\{1\} .* equal\n')
        status, out, _ = self.run_it('run', self.module, '--inputs', inputs, '--expect', expected, '--json')
        self.assertEqual((status, ['not_compared' in one for one in json.loads(out)['outputs']]), (2, [True, False]))

    def test_what_a_format_of_profiles_loses(self):
        status, out, err = self.run_it('profile', self.module, '--platform', 'interpreter', '-o', 'g.json')
        self.assertEqual(status, 0, err)
        self.assertIn('has no place in this format: modules (1), first: m', out)
        self.assertNotIn('0 to 0 bytes', out)
        told = json.loads(self.run_it('profile', self.module, '--platform', 'interpreter', '-o', 'g.json', '--json')[1])
        self.assertEqual(told['lost'][0]['what'], 'modules')
        told = json.loads(self.run_it('profile', self.module, '--platform', 'interpreter', '-o', 'g.hloprof', '--json')[1])
        self.assertEqual(told['lost'], [])

    def test_formats_of_inputs(self):
        self.assertIn('expected one of hlo, pb, pbtxt, stablehlo, mhlo', self.run_it('run', self.module, '--input_format', 'what')[2])
        err = self.run_it('compile', self.module, '--input_format', 'what', '--dump', 'd')[2]
        self.assertTrue('expected one of hlo, pb, pbtxt' in err and 'stablehlo' not in err, err)

    def test_isolation_shows_how_far_it_is(self):
        main, terminal = os.openpty()
        command = [HLOSCOPE, 'run', self.module, '--isolate_instructions', '--platform', 'cpu', '--reference_platform', 'interpreter']
        try:
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=terminal, timeout=200, check=True)
            self.assertIn(b'run: 0 of 1 instructions alone', os.read(main, 1 << 16))
        finally:
            os.close(main)
            os.close(terminal)


class Mistakes(FolderTest):
    """Where the file that is named is not what the command takes, what to do instead."""

    def answer(self, *arguments):
        done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stderr

    def test_find_says_that_the_pattern_comes_first(self):
        path = self.path('m.hlo', SQUARE)
        status, err = self.answer('find', path, 'dot')
        self.assertEqual(status, 2)
        self.assertIn(f'(the pattern comes first: `hloscope find dot {path}`)', err)
        self.assertNotIn('comes first', self.answer('find', 'dot', path + '.gone')[1])

    def test_a_folder_is_no_module(self):
        self.path('m.hlo', SQUARE)
        folder, new = self.folder, self.path('new.hlo')
        for arguments in (['show', folder], ['convert', folder, new], ['diverge', folder, '--platform', 'cpu', '--reference_platform', 'interpreter'],
                          ['extract', folder, 'y', '-o', new], ['reduce', folder, '-o', new]):
            status, err = self.answer(*arguments)
            self.assertEqual(status, 2, arguments)
            self.assertIn('is a folder, not a file (name a module file; `hloscope info` lists those of a dump)', err, arguments)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
