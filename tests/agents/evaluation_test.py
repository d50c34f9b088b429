#!/usr/bin/env python3
"""The questions of questions.json, asked with the calls of calls.json through the command line and through `hloscope mcp`.

evaluation_test.py HLOSCOPE SOURCE            every answer is there
evaluation_test.py HLOSCOPE SOURCE --table    the table of docs/agents-evaluation.md
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HLOSCOPE, SOURCE = map(os.path.abspath, sys.argv[1:3])
HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(SOURCE, 'python')
os.environ['HLOSCOPE_PROGRAM'] = HLOSCOPE
sys.path.insert(0, PACKAGE)
from hloscope._commands import commands  # noqa: E402
from hloscope.mcp import Tool  # noqa: E402


def read(name):
    with open(os.path.join(HERE, name), encoding='utf-8') as file:
        return json.load(file)


class CommandLine:
    def __init__(self):
        self.tools = {name: Tool(command, True) for name, command in commands().items()}

    def ask(self, tool, arguments):
        done = subprocess.run([HLOSCOPE, *self.tools[tool].words(arguments)], cwd=SOURCE, capture_output=True, text=True, timeout=300)
        return done.stdout or done.stderr


class Mcp:
    def __init__(self, *options):
        self.process = subprocess.Popen([HLOSCOPE, 'mcp', *options], cwd=SOURCE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, tool, arguments):
        message = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': tool, 'arguments': arguments}}
        self.process.stdin.write(json.dumps(message) + '\n')
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer['result']['content'][0]['text'] if 'result' in answer else answer['error']['message']

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(60)


def attempt(route, question, calls, folder):
    """The calls in order until the answer is there: how many, bytes of their answers, whether it is there, which parts are not."""
    text, number = '', 0
    missing = question['answer']
    for call in calls:
        arguments = json.loads(json.dumps({k: v for k, v in call.items() if k != 'tool'}).replace('{OUT}', folder))
        text += route.ask(call['tool'], arguments) + '\n'
        number += 1
        missing = [part for part in question['answer'] if not re.search(part, text)]
        if not missing:
            break
    return number, len(text.encode()), not missing, missing, text


class Evaluation(unittest.TestCase):
    def ask_all(self, route):
        calls = read('calls.json')
        questions = read('questions.json')
        self.assertEqual([q['id'] for q in questions], list(calls))
        with tempfile.TemporaryDirectory() as folder:
            for question in questions:
                with self.subTest(question=question['question']):
                    *_, missing, text = attempt(route, question, calls[question['id']], folder)
                    self.assertEqual(missing, [], text[:3000])

    def test_command_line(self):
        self.ask_all(CommandLine())

    def test_mcp(self):
        server = Mcp('--allow-run')
        self.addCleanup(server.close)
        self.ask_all(server)


def table():
    calls, routes = read('calls.json'), (CommandLine(), Mcp('--allow-run'))
    print('| question | calls | command line, calls | bytes | answer | `mcp`, calls | bytes | answer |\n|---|---|---|---|---|---|---|---|')
    there, tried, size = [0, 0], [0, 0], [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        for question in read('questions.json'):
            cells = []
            for i, route in enumerate(routes):
                number, count, found, missing, text = attempt(route, question, calls[question['id']], folder)
                cells += [str(number), str(count), 'yes' if found else 'no']
                there[i] += found
                tried[i] += number
                size[i] += count
                if not found:
                    print(question['id'], missing, text[:6000], file=sys.stderr)
            names = ', '.join(f'`{call["tool"]}`' for call in calls[question['id']])
            print(f'| {question["question"]} | {names} | {" | ".join(cells)} |')
    print(f'| together | | {tried[0]} | {size[0]} | {there[0]} | {tried[1]} | {size[1]} | {there[1]} |')
    routes[1].close()


if __name__ == '__main__':
    if '--table' in sys.argv:
        table()
    else:
        unittest.main(argv=sys.argv[:1])
