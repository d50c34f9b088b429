#!/usr/bin/env python3
"""The lexer and the grammar of integrations/hlo: grammar_test.py HLOSCOPE SOURCE [FOLDER…]. Without Pygments it is skipped (77).

Every HLO text of the samples (and of the folders) is read without an error token, by Pygments and by the patterns of the grammar."""
import gzip
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

HLOSCOPE, SOURCE, FOLDERS = sys.argv[1], Path(sys.argv[2]), [Path(folder) for folder in sys.argv[3:]]
HLO = SOURCE / 'integrations/hlo'
sys.path.insert(0, str(HLO))
try:
    import pygments.token
    from hlo_lexer import HloLexer
except ModuleNotFoundError:
    print('skipped: no Pygments')
    sys.exit(77)
MODULE = '''HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0), metadata={op_name="a \\" b"} /*index=5*/
  %c-1.2 = f32[] constant(-1.5e-05)  // half
  ROOT %reduce.add = f32[4]{0} reduce-window(%x, %c-1.2), window={size=3x3 pad=-1_0x0_2}, dim_labels=b01f_01io->b01f, to_apply=%add
}
'''


def texts():
    """Every file that begins as HLO text does, but for those that are broken on purpose."""
    for folder in (SOURCE / 'samples', SOURCE / 'tests', *FOLDERS):
        for path in sorted(folder.rglob('*')):
            if 'hostile' in path.parts or not path.name.endswith(('.hlo', '.txt', '.hlo.gz', '.txt.gz')) or not path.is_file():
                continue
            data = path.read_bytes()
            if path.suffix == '.gz':
                data = gzip.decompress(data)
            if re.match(rb'\s*HloModule ', data) and len(data) < 1 << 20:
                yield path, data.decode('utf-8', 'replace')


class Grammar(unittest.TestCase):
    def test_made_of_the_table_of_opcodes(self):
        done = subprocess.run([sys.executable, HLO / 'make_grammar.py', HLOSCOPE, '--check'], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_tokens(self):
        found = [(str(kind)[6:], text) for kind, text in HloLexer().get_tokens(MODULE)]
        for pair in [('Keyword', 'HloModule'), ('Keyword', 'ROOT'), ('Keyword.Type', 'f32'), ('Name.Builtin', 'reduce-window'), ('Name.Variable', '%c-1.2'),
                     ('Name.Variable', '%reduce.add'), ('Literal.String.Double', '"a \\" b"'), ('Literal.Number', '-1.5e-05'), ('Name.Attribute', 'dim_labels'),
                     ('Comment.Multiline', '/*index=5*/'), ('Comment.Single', '// half'), ('Operator', '->')]:
            self.assertIn(pair, found)

    def test_every_text(self):
        rules = json.loads((HLO / 'hlo.tmLanguage.json').read_text())['patterns']
        lexer, count = HloLexer(), 0
        for path, text in texts():
            count += 1
            with self.subTest(path=path):
                wrong = [part for kind, part in lexer.get_tokens(text) if kind is pygments.token.Error]
                self.assertEqual(wrong[:5], [])
                if len(text) < 100000:  # the patterns are those of the lexer
                    self.assertEqual(unmatched(rules, text), '')
        self.assertGreater(count, 100)


def unmatched(rules, text):
    """The beginning of what no rule of the grammar matches, read as an editor does: line by line, in the rule that is open."""
    patterns = [(re.compile(rule.get('match') or rule['begin']), rule) for rule in rules]
    inside = None
    for line in text.splitlines():
        at = 0
        while at < len(line):
            if inside:
                match = re.compile(inside['end']).match(line, at)
                escape = re.compile(inside['patterns'][0]['match']).match(line, at)
                at = match.end() if match else escape.end() if escape else at + 1
                inside = None if match else inside
            elif line[at].isspace():
                at += 1
            else:
                match, inside = next(((m, rule if 'begin' in rule else None) for p, rule in patterns if (m := p.match(line, at))), (None, None))
                if match is None:
                    return line[at:at + 80]
                at = match.end()
    return line[at:] if inside else ''


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
