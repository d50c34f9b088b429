#!/usr/bin/env python3
"""`show --explain` and the sentences of `ops`: words_of_instructions_test.py HLOSCOPE HLO_FOLDER."""
import json
import os
import re
import subprocess
import sys
import unittest
from xml.etree import ElementTree

from command_tests import FolderTest

HLOSCOPE, HLO = map(os.path.abspath, sys.argv[1:3])


def rows(file, macro):
    with open(os.path.join(HLO, file), encoding='utf-8') as text:
        return re.findall(r'^' + macro + r'\((k\w+), "([^"]*)"', text.read(), re.M)


def run(*arguments, status=0):
    done = subprocess.run([HLOSCOPE, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, (done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


def place(sizes, tiles, index):
    """Where an element lies by the formula of XLA's page on tiled layouts; sizes and index with the slowest dimension first."""
    sizes, index = list(sizes), list(index)
    for tile in tiles:
        first = len(sizes) - len(tile)
        inner = [(tile[k], index[first + k] % tile[k]) for k in range(len(tile))]
        for k, size in enumerate(tile):
            index[first + k] //= size
            sizes[first + k] = -(-sizes[first + k] // size)
        sizes += [one[0] for one in inner]
        index += [one[1] for one in inner]
    linear = 0
    for size, at in zip(sizes, index):
        linear = linear * size + at
    return linear


class Words(FolderTest):
    def test_every_opcode_and_attribute_has_a_sentence(self):
        opcodes = rows('opcodes.def', 'OPCODE')
        found = {row['opcode']: row['sentence'] for row in map(json.loads, run('ops', '--json').splitlines())}
        self.assertEqual(set(found), {text for _, text in opcodes})
        self.assertEqual([opcode for opcode, sentence in found.items() if len(sentence) < 10], [])
        attributes = {text for _, text in rows('attributes.def', 'ATTRIBUTE') if text}
        self.assertGreater(len(attributes), 90)
        lines = run('ops', '--json', *sorted(attributes - set(found))).splitlines()
        named = {row['attribute']: row['sentence'] for row in map(json.loads, lines)}
        self.assertEqual(set(named), attributes - set(found))
        self.assertEqual([name for name, sentence in named.items() if len(sentence) < 8], [])

    def test_layouts(self):
        def parts(shape, *more):
            row = json.loads(run('ops', '--json', shape, *more))
            return {part['text']: part['meaning'] for part in row['parts']}, row['picture']
        found, picture = parts('f32[3,5]{1,0:T(2,2)}')
        self.assertEqual(list(found), ['{1,0}', 'T(2,2)'])
        self.assertIn('24 elements in memory', found['T(2,2)'])  # 4 by 6
        self.assertEqual([[int(cell) for cell in line.split()] for line in picture.splitlines()],
                         [[place((3, 5), [(2, 2)], (r, c)) for c in range(5)] for r in range(3)])
        # Two levels, as bf16 on a TPU; a column-major array.
        _, picture = parts('bf16[20,300]{1,0:T(8,128)(2,1)}')
        self.assertEqual([[int(cell) for cell in line.split() if cell != '…'] for line in picture.splitlines()[:16]],
                         [[place((20, 300), [(8, 128), (2, 1)], (r, c)) for c in range(16)] for r in range(16)])
        _, picture = parts('f32[3,2]{0,1}')
        self.assertEqual(picture.split(), ['0', '3', '1', '4', '2', '5'])
        self.assertEqual(parts('f32[3,2]{1,0}')[1], '')
        found, _ = parts('s4[8,128]{1,0:T(8,128)E(4)S(1)}', '--device', 'tpu')
        self.assertEqual(list(found), ['{1,0}', 'T(8,128)', 'E(4)', 'S(1)'])
        self.assertTrue(found['S(1)'].startswith('VMEM'))
        self.assertIn('collective', parts('f32[4]{0:S(1)}')[0]['S(1)'])
        self.assertTrue(parts('f32[4]{0:S(5)}')[0]['S(5)'].startswith('host'))
        self.assertIn('without a public name', parts('f32[4]{0:S(9)}')[0]['S(9)'])
        self.assertEqual(list(parts('f32[8,4]{1,0:T(2,4)L(8)SC(0:4)M(12)}')[0]), ['{1,0}', 'T(2,4)', 'L(8)', 'SC(0:4)', 'M(12)'])
        self.assertIn('SparseCore', parts('u32[]{:S(8)}', '--device', 'tpu')[0]['S(8)'])
        self.assertIn('no shape is given', run('ops', 'add', '--device', 'tpu', status=2))
        self.assertIn('not a shape', run('ops', 'f32[8', status=2))
        self.assertIn('found the end', run('ops', 'f32[8', status=2))

    def test_an_instruction(self):
        module = self.path('m.hlo', 'HloModule m\n\nENTRY e {\n  p = bf16[16,256]{1,0:T(8,128)(2,1)S(1)} parameter(0)\n'
                           '  q = bf16[256,16]{1,0} parameter(1)\n'
                           '  ROOT d = f32[16,16]{1,0} dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}, '
                           'metadata={op_name="x" source_file="a.py" source_line=3}\n}\n')
        found = json.loads(run('show', module, '--explain', 'd', '--json'))
        self.assertEqual((found['opcode'], found['source']), ('dot', 'a.py:3'))
        self.assertEqual([one['name'] for one in found['attributes']], ['lhs_contracting_dims', 'rhs_contracting_dims', 'metadata'])
        found = json.loads(run('show', module, '--explain', '%p', '--json'))
        self.assertTrue([part for part in found['layouts'][0]['parts'] if part['text'] == 'S(1)'][0]['meaning'].startswith('VMEM'))
        text = run('show', module, '--explain', 'p')
        self.assertIn('parameter: an argument of the computation', text)
        self.assertIn('no instruction dd', run('show', module, '--explain', 'dd', status=2))


class Picture(unittest.TestCase):
    def test_places_and_padding(self):
        """The numbers in the cells are those of XLA's formula; of f32[20,200] in tiles of 8 by 128 the last row and column of tiles are padded."""
        svg = ElementTree.fromstring(run('ops', 'f32[20,200]{1,0:T(8,128)(2,1)}', '--svg'))
        texts = [int(one.text) for one in svg.iter('{http://www.w3.org/2000/svg}text') if one.text.isdigit()]
        self.assertEqual(texts[:6], list(range(6)))
        self.assertEqual(texts[6:], [place([20, 200], [[8, 128], [2, 1]], [r, c]) for r in range(16) for c in range(16)])
        rects = [(int(one.get('width')), int(one.get('height'))) for one in svg.iter('{http://www.w3.org/2000/svg}rect') if one.get('fill').startswith('#')]
        self.assertEqual(rects[:6], [(120, 48), (67, 48), (120, 48), (67, 48), (120, 24), (67, 24)])

    def test_what_has_no_picture(self):
        for arguments in (['dot'], ['f32[]'], ['(f32[4])'], ['f32[0]{0}'], ['f32[4]{0}', 'f32[8]{0}'], [], ['f32[4]{0}', '--json']):
            error = run('ops', *arguments, '--svg', status=2)
            if '--json' not in arguments:
                self.assertRegex(error, '--svg is|no picture|not a shape')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
