#!/usr/bin/env python3
"""What programs and agents read: `help --json`, --limit-output, `skill`, `mcp`. agents_test.py HLOSCOPE SAMPLES"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest

from command_tests import FolderTest

HLOSCOPE, SAMPLES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, '..', '..', 'python', 'hloscope')
MLP = os.path.join(SAMPLES, 'mlp_train_step')
MODULE = '''HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  ROOT r = f32[4] add(x, x)
}
'''


def run(*words, **options):
    return subprocess.run([HLOSCOPE, *words], capture_output=True, text=True, timeout=300, **options)


def objects(*words, **options):
    return [json.loads(line) for line in run(*words, **options).stdout.splitlines()]


class HelpAsData(FolderTest):
    def test_every_command_and_option_of_the_help_texts(self):
        table = {row['command']: row for row in objects('help', '--json')}
        overview = run('help').stdout
        self.assertEqual(set(table), set(re.findall(r'^  (\w+) {2,}', overview, re.M)))
        for name, row in table.items():
            text = run('help', name).stdout
            named = set(re.findall(r'^  (?:-\w, )?(--[\w*-]+|-\w)', text, re.M)) - {'--help'}
            options = {o['name'] for o in row['options'] if not o['positional']}
            self.assertEqual(named, options, name)
            self.assertIn(row['usage'], text.replace('\n', ' '))
            self.assertEqual(objects('help', name, '--json'), [row])

    def test_types_are_those_that_the_command_line_takes(self):
        module = self.path('m.hlo', MODULE)
        for option in objects('help', 'run', '--json')[0]['options']:
            if option['type'] in ('integer', 'number') and not option['positional']:
                done = run('run', module, option['name'] + '=word')
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, r'expected a (whole )?number, got `word`', option['name'])
            if option['choices'] and not option['commas']:
                done = run('run', module, option['name'] + '=word')
                self.assertIn('expected ' + ', '.join(option['choices']), done.stderr)

    def test_an_unknown_command_is_an_object_too(self):
        done = run('help', 'rnu', '--json')
        self.assertEqual((done.returncode, json.loads(done.stdout)['status']), (2, 'error'))


class LimitedOutput(FolderTest):
    def test_lists_and_objects_are_counted(self):
        whole, short = objects('help', 'run', '--json')[0], objects('help', 'run', '--json', '--limit-output', '3')[0]
        self.assertEqual(short['options'][0], whole['options'][0])
        self.assertEqual((len(short['options']), short['not_shown']['options']), (3, len(whole['options']) - 3))
        lines, few = objects('ops', '--json'), objects('ops', '--json', '--limit-output', '2')
        self.assertEqual([row.get('opcode') for row in few], [lines[0]['opcode'], lines[1]['opcode'], None, lines[-1]['opcode']])
        self.assertEqual(few[2], {'not_shown': {'objects': len(lines) - 3}})

    def test_what_fits_is_unchanged(self):
        self.assertEqual(run('limits', '--json', '--limit-output', '1000').stdout, run('limits', '--json').stdout)
        lines = run('limits').stdout.splitlines()
        self.assertEqual(run('limits', '--limit-output', str(len(lines) - 1)).stdout, run('limits').stdout)
        short = run('limits', '--limit-output', '2').stdout.splitlines()
        self.assertEqual(short, [*lines[:2], f'{len(lines) - 3} lines left out', lines[-1]])

    def test_refused(self):
        self.assertEqual(run('limits', '--limit-output', '0').returncode, 2)

    def test_numbers_and_unusual_text_pass_through(self):
        module = self.path('m.hlo', MODULE.replace('add(x, x)', 'add(x, x), metadata={op_name="\\"ü\\n"}'))
        row = {key: value for key, value in objects('show', module, '--json')[0].items()}
        self.assertEqual(objects('show', module, '--json', '--limit-output', '1000')[0], row)


class Skill(FolderTest):
    def test_installs_and_updates(self):
        done = run('skill', '--install', self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        installed = os.path.join(self.folder, 'hloscope', 'SKILL.md')
        with open(installed, encoding='utf-8') as file:
            self.assertEqual(file.read(), run('skill').stdout)
        with open(installed, 'w', encoding='utf-8') as file:
            file.write('old')
        self.assertEqual(objects('skill', '--install', self.folder, '--json')[0]['status'], 'ok')
        self.assertGreater(os.path.getsize(installed), 1000)

    def test_leaves_what_is_not_a_skill(self):
        os.mkdir(self.path('hloscope'))
        self.path('hloscope/mine.txt', 'mine')
        done = run('skill', '--install', self.folder)
        self.assertEqual((done.returncode, os.listdir(self.path('hloscope'))), (2, ['mine.txt']))

    def test_its_commands_options_and_fields_are_there(self):
        table = {row['command']: row for row in objects('help', '--json')}
        with open(os.path.join(HERE, 'json_keys.txt'), encoding='utf-8') as file:
            sections = re.split(r'^\[(.*)\]$', file.read(), flags=re.M)[1:]
        keys = {}
        for case, text in zip(sections[::2], sections[1::2]):
            keys.setdefault(re.split('[ :]', case)[0], set()).update(re.split(r'[.\n]', text.replace('[]', '')))
        for folder, _, names in os.walk(os.path.join(PACKAGE, 'skill')):
            for name in names:
                with open(os.path.join(folder, name), encoding='utf-8') as file:
                    text = file.read()
                for command in re.findall(r'`hloscope ([a-z]\w*)([^`]*)`', text):
                    self.assertIn(command[0], table)
                    known = {o['name'].replace('_', '-') for o in table[command[0]]['options']} | {'-o'}
                    for option in re.findall(r' (--?[a-z][\w-]*)', command[1]):
                        self.assertIn(option.replace('_', '-'), known, command)
                for row in re.findall(r'^\|[^|]*\| `hloscope (\w+)[^|]*\|([^|]*)\|', text, re.M):
                    for field in re.findall(r'`(\w+)(?:\[\])?`', row[1]):
                        if field not in ('equal', 'differs'):
                            self.assertIn(field, keys[row[0]], row)


class Server:
    """`mcp` with a program in between that writes down how it is called."""

    def __init__(self, test, *options):
        self.log = test.path('calls')
        program = test.path('program', f'#!/bin/sh\necho "$@" >> {self.log}\nexec {HLOSCOPE} "$@"\n')
        os.chmod(program, 0o755)
        self.work = test.path('work')
        os.makedirs(self.work, exist_ok=True)
        self.home = test.path('home')
        os.makedirs(self.home, exist_ok=True)
        temporary = test.path('temporary')
        os.makedirs(temporary, exist_ok=True)
        self.temporary = temporary
        environment = dict(os.environ, HLOSCOPE_PROGRAM=program, HOME=self.home, TMPDIR=temporary)
        environment.pop('XDG_CACHE_HOME', None)
        self.process = subprocess.Popen([sys.executable, '-I', '-B', os.path.join(PACKAGE, '__main__.py'), 'mcp', *options], cwd=self.work, env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.count = 0

    def send(self, data):
        self.process.stdin.write(data + b'\n')
        self.process.stdin.flush()

    def ask(self, method, params=None):
        self.count += 1
        self.send(json.dumps({'jsonrpc': '2.0', 'id': self.count, 'method': method, 'params': params or {}}).encode())
        return self.receive(self.count)

    def receive(self, identity):
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError('the server has ended')
            answer = json.loads(line)
            if answer.get('id') == identity:
                return answer

    def call(self, name, **arguments):
        return self.ask('tools/call', {'name': name, 'arguments': arguments})

    def calls(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding='utf-8') as file:
            return file.read().splitlines()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(60)


class Mcp(FolderTest):
    def start(self, *options):
        server = Server(self, *options)
        self.addCleanup(lambda: server.process.poll() is None and server.process.kill())
        return server

    def test_the_command_starts_it(self):
        message = json.dumps({'jsonrpc': '2.0', 'id': 'a', 'method': 'initialize', 'params': {'protocolVersion': '2024-11-05'}})
        done = run('mcp', input=message + '\n', cwd=self.folder)
        answer = json.loads(done.stdout)
        self.assertEqual((answer['id'], answer['result']['protocolVersion'], answer['result']['serverInfo']['name']), ('a', '2024-11-05', 'hloscope'))
        self.assertEqual(done.returncode, 0)

    def test_no_module_of_the_working_folder_is_imported(self):
        self.path('json.py', 'import os; open("ran", "w")')
        os.mkdir(self.path('hloscope'))
        self.path('hloscope/__init__.py', 'open("ran", "w")')
        run('mcp', input='\n', cwd=self.folder, env=dict(os.environ, PYTHONPATH=self.folder))
        self.assertFalse(os.path.exists(self.path('ran')))

    def test_reads_a_dump_and_forgets_it_at_the_end(self):
        server = self.start()
        tools = {tool['name']: tool for tool in server.ask('tools/list')['result']['tools']}
        self.assertEqual(set(tools), {'info', 'find', 'show', 'why', 'lint', 'verify', 'compare', 'explain', 'ops', 'limits', 'doctor'})
        self.assertNotIn('sass', tools['info']['inputSchema']['properties'])
        first = server.call('info', paths=[MLP])['result']
        self.assertFalse(first['isError'])
        self.assertEqual(json.loads(first['content'][0]['text'])['modules'][0]['name'], 'jit_mlp_train_step')
        second = server.call('info', paths=[MLP], select='dot.1')['result']
        self.assertIn('dot.1', second['content'][0]['text'])
        kept = [os.path.join(folder, name) for folder, _, names in os.walk(server.temporary) for name in names]
        self.assertTrue(kept)  # the dump as it was read, for the next question
        self.assertEqual(server.close(), 0)
        self.assertEqual(os.listdir(server.temporary), [])
        self.assertEqual((os.listdir(server.work), os.listdir(server.home)), ([], []))

    def test_every_command_is_offered_or_left_out_on_purpose(self):
        sys.path.insert(0, os.path.dirname(PACKAGE))
        from hloscope import mcp
        known = [*mcp.READING, *mcp.RUNNING, *mcp.NEVER]
        self.assertEqual(sorted(known), sorted(row['command'] for row in objects('help', '--json')))

    def test_what_runs_needs_the_switch(self):
        module = self.path('m.hlo', MODULE)
        server = self.start()
        for name in ('run', 'diverge', 'reduce', 'compile', 'convert', 'bundle', 'hunt', 'profile', 'extract', 'record', 'open', 'mcp', 'skill'):
            self.assertIn('error', server.call(name, modules=[module]))
        self.assertEqual([call for call in server.calls() if not call.startswith('help')], [])
        server.close()
        server = self.start('--allow-run')
        answer = server.call('run', modules=[module], reference_platform='interpreter')['result']
        self.assertEqual((answer['isError'], json.loads(answer['content'][0]['text'])['status']), (False, 'equal'))
        for name in ('record', 'open'):
            self.assertIn('error', server.call(name, paths=[module]))
        server.close()

    def test_arguments_are_checked(self):
        server = self.start()
        for arguments in ({}, {'paths': 'text'}, {'paths': [1]}, {'paths': ['-']}, {'paths': ['a\0b']}, {'paths': ['x'], 'passes': 1}, {'paths': ['x'], 'sass': True},
                          {'paths': ['x'], 'limit_output': True}, {'paths': ['x'], 'limit_output': 'many'}, {'paths': ['x'], 'unknown': 1}):
            self.assertEqual(server.call('info', **arguments)['error']['code'], -32602, arguments)
        self.assertEqual([call for call in server.calls() if call.startswith('info')], [])
        # The name of a file that looks like an option.
        text = server.call('verify', files=['--strict'])['result']['content'][0]['text']
        self.assertIn('./--strict', text)
        server.close()

    def test_answers_are_capped(self):
        server = self.start('--max-answer', '2000')
        text = server.call('ops', limit_output=1000)['result']['content'][0]['text']
        self.assertLessEqual(len(text.encode()), 2000)
        self.assertRegex(text, r'\d+ lines left out')
        text = server.call('show', module=os.path.join(MLP, 'module_0000.jit_mlp_train_step.before_optimizations.txt'), format='hlo')['result']['content'][0]['text']
        self.assertLessEqual(len(text.encode()), 2000)
        server.close()
        server = self.start('--max-answer', '8000')
        text = server.call('info', paths=[os.path.join(SAMPLES, 'attention_block_h100')])['result']['content'][0]['text']
        self.assertLessEqual(len(text.encode()), 8000)
        self.assertIn('not_shown', text)
        server.close()

    def test_a_call_is_cancelled(self):
        server = self.start('--allow-run')
        server.ask('tools/list')
        server.count += 1
        call = {'name': 'run', 'arguments': {'modules': [os.path.join(HERE, 'endless.hlo')]}}
        server.send(json.dumps({'jsonrpc': '2.0', 'id': server.count, 'method': 'tools/call', 'params': call}).encode())
        while not any(line.startswith('run') for line in server.calls()):
            time.sleep(0.01)
        server.send(json.dumps({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': server.count}}).encode())
        answer = server.receive(server.count)
        self.assertTrue(answer['result']['isError'])
        self.assertIn('result', server.ask('ping'))
        server.close()

    def test_malformed_messages(self):
        """10,000 of them: no death, no file, nothing run."""
        server = self.start()
        server.ask('initialize')
        server.ask('tools/list')
        chance = random.Random(46)
        good = [{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': name, 'arguments': {'modules': ['m.hlo'], 'o': 'written'}}}
                for name in ('run', 'compile', 'record', 'info', 'bundle')]
        good += [{'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': {'uri': 'hloscope://skill/../../__init__.py'}} for method in ('resources/read', 'initialize')]
        values = [None, True, -1, 1e308, 'text', [], {}, [[]], {'a': {}}, '\0', 'run', '../../etc/passwd']
        sent = 0
        while sent < 10000:
            kind = chance.randrange(5)
            message = json.loads(json.dumps(chance.choice(good)))
            if kind == 0:
                data = bytearray(json.dumps(message).encode())
                for _ in range(chance.randrange(1, 6)):
                    data[chance.randrange(len(data))] = chance.randrange(256)
                data = bytes(data)
            elif kind == 1:
                data = json.dumps(message).encode()[:chance.randrange(80)]
            elif kind == 2:
                data = chance.randbytes(chance.randrange(1, 200))
            elif kind == 3:
                message[chance.choice(['jsonrpc', 'id', 'method', 'params'])] = chance.choice(values)
                data = json.dumps(message).encode()
            else:
                message['params'][chance.choice(['name', 'arguments', 'uri'])] = chance.choice(values)
                data = json.dumps(message).encode()
            server.send(data.replace(b'\n', b' '))
            sent += 1
            if sent % 100 == 0:  # answers are read, so that neither side waits for the other
                self.assertIn('result', server.ask('ping'))
        for data in (b'[' * 100000, b'{"a":' * 100000, b'x' * (3 << 20), b'[]', b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]'):
            server.send(data)
            self.assertIn('result', server.ask('ping'))
        self.assertLessEqual({call.split()[0] for call in server.calls()}, {'help', '--version'})
        self.assertEqual((os.listdir(server.work), os.listdir(server.home), os.listdir(server.temporary)), ([], [], []))
        self.assertEqual(server.close(), 0)

    def test_ends_with_its_reader(self):
        server = self.start()
        server.ask('ping')
        server.process.send_signal(signal.SIGINT)
        self.assertIsNotNone(server.process.wait(60))
        server.close()


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=1)
