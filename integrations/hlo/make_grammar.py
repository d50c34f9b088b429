#!/usr/bin/env python3
"""Writes the opcodes and types of `hloscope ops` into hlo_lexer.py, and hlo.tmLanguage.json: make_grammar.py HLOSCOPE

With --check it writes nothing and fails where the files are not what it would write."""
import importlib.util
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEXER, GRAMMAR = HERE / "hlo_lexer.py", HERE / "hlo.tmLanguage.json"
# Types that have no values, so no accuracy.
NO_VALUES = {"token", "opaque", "buffer"}


def listed(name, words):
    lines = textwrap.wrap(", ".join(f'"{word}"' for word in sorted(words)), 140, break_on_hyphens=False)
    return f"{name} = [\n" + "".join(f"    {line}\n" for line in lines).rstrip("\n") + ",\n]\n"


def lexer_text(program):
    rows = [json.loads(line) for line in subprocess.run([program, "ops", "--json"], capture_output=True, text=True, check=True).stdout.splitlines()]
    text = LEXER.read_text(encoding="utf-8")
    opcodes = {row["opcode"] for row in rows}
    types = {name for row in rows for name in row["types"]} | NO_VALUES
    for name, words in (("OPCODES", opcodes), ("TYPES", types)):
        text = re.sub(rf"^{name} = \[.*?\]\n", lambda _, w=words, n=name: listed(n, w), text, count=1, flags=re.M | re.S)
    return text


def pattern_of(regex, scope):
    if scope == "string.quoted.double":  # over lines
        return {"begin": '"', "end": '"', "name": f"{scope}.hlo", "patterns": [{"match": r"\\.", "name": "constant.character.escape.hlo"}]}
    return {"match": regex, "name": f"{scope}.hlo"}


def grammar_text(lexer):
    spec = importlib.util.spec_from_loader("lexer", loader=None)
    module = importlib.util.module_from_spec(spec)
    exec(compile(lexer, str(LEXER), "exec"), module.__dict__)
    grammar = {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "HLO",
        "scopeName": "source.hlo",
        "fileTypes": ["hlo"],
        "patterns": [pattern_of(regex, scope) for regex, _, scope in module.RULES],
    }
    return json.dumps(grammar, indent=2) + "\n"


def main():
    lexer = lexer_text(sys.argv[1])
    made = {LEXER: lexer, GRAMMAR: grammar_text(lexer)}
    for path, text in made.items():
        if "--check" in sys.argv:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                sys.exit(f"{path.name} is not what make_grammar.py writes; run it without --check")
        else:
            path.write_text(text, encoding="utf-8")


main()
