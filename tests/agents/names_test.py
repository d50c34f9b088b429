#!/usr/bin/env python3
"""Names in answers, also in shortened ones, are taken by the next call: names_test.py HLOSCOPE SOURCE"""
import json
import os
import subprocess
import sys
import unittest

HLOSCOPE, SOURCE = map(os.path.abspath, sys.argv[1:3])
DUMPS = [f'samples/{name}' for name in ('softmax_passes_a100', 'attention_block_h100', 'data_parallel_step_b200', 'conv_net', 'power_iteration', 'gpt_train_step')]
LIMIT = ('--json', '--limit-output', '4')


def run(*words):
    return subprocess.run([HLOSCOPE, *map(str, words)], cwd=SOURCE, capture_output=True, text=True, timeout=300)


def objects(*words):
    rows = [json.loads(line) for line in run(*words, *LIMIT).stdout.splitlines()]
    return [row for row in rows if set(row) != {'not_shown'}]


class Names(unittest.TestCase):
    def takes(self, *words, status=0):
        done = run(*words, *LIMIT)
        self.assertEqual(done.returncode, status, f'{words}: {done.stdout[:300]}{done.stderr[:300]}')

    def test_info(self):
        for dump in DUMPS:
            with self.subTest(dump=dump):
                module = objects('info', dump)[0]['modules'][0]
                for name in (module['name'], module['id'], f'module_{module["id"]:04}.{module["name"]}'):
                    self.takes('info', dump, '--module', name)
                for stage in module['stages']:
                    self.takes('find', '--stage', stage['name'], 'parameter', dump)
                    self.takes('show', os.path.join(dump, stage['file']))
                for kernel in module['kernels']:
                    self.takes('info', dump, '--select', 'kernel=' + kernel['name'])
                    self.takes('info', dump, '--select', kernel['instruction'])
                    self.takes('info', dump, '--select', f'{module["name"]}:{kernel["instruction"]}')
                for thunk in module['thunks']:
                    self.takes('info', dump, '--select', f'thunk={thunk["id"]}')
                for value in module['peak_values']:
                    self.takes('info', dump, '--select', value['instruction'])

    def test_info_select(self):
        for dump in DUMPS:
            with self.subTest(dump=dump):
                module = objects('info', dump)[0]['modules'][0]
                for name in {value['instruction'] for value in module['peak_values'] + module['kernels']}:
                    found = objects('info', dump, '--select', name)[0]
                    for step in found['ancestors'] + found['descendants']:
                        self.takes('info', dump, '--select', f'{step["instruction"]}@{step["stage"]}')
                    for value in found['buffers']:
                        self.takes('info', dump, '--select', f'buffer={value["id"]}')
                    source = found['source']
                    if source and source['stage'] == found['stage']:
                        self.takes('info', dump, '--select', f'line={source["file"]}:{source["line"]}')
                    for other in found['computed_by'] + found['read_by']:
                        self.takes('info', dump, '--select', other['name'])

    def test_info_passes(self):
        dump = 'samples/softmax_passes_a100'
        for row in objects('info', dump, '--passes', '--changed-only')[0]['modules'][0]['passes']:
            if row['pass']:  # the first stage has none before it
                self.takes('info', dump, '--diff', row['stage'])

    def test_info_memory(self):
        for dump in DUMPS:
            with self.subTest(dump=dump):
                for module in objects('info', dump, '--memory')[0]['modules']:
                    self.takes('info', dump, '--module', module['module'])
                    for holder in module['holders']:
                        self.takes('info', dump, '--select', holder['instruction'])

    def test_find(self):
        for dump in DUMPS:
            with self.subTest(dump=dump):
                for row in objects('find', 'dot', dump):
                    if row['what'] != 'instruction':
                        continue
                    self.takes('show', row['file'], '--around', row['instruction'])
                    self.takes('show', row['file'], '--computation', row['computation'])
                    self.takes('info', dump, '--select', f'{row["module"]}:{row["instruction"]}@{row["stage"]}')

    def test_why_and_lint(self):
        for dump in DUMPS:
            with self.subTest(dump=dump):
                for kernel in objects('info', dump)[0]['modules'][0]['kernels'][:4]:
                    for answer in objects('why', dump, kernel['instruction']):
                        if answer['status'] == 'unsupported':
                            continue  # a dump without decisions
                        for name in [*answer['instructions'], *(row['instruction'] for row in answer['because'] if row['instruction'])]:
                            self.takes('info', dump, '--select', name)
                for row in objects('lint', dump):
                    self.takes('info', dump, '--module', row['module'])
                    if row['instruction']:
                        self.takes('info', dump, '--select', f'{row["module"]}:{row["instruction"]}')

    def test_compare(self):
        old, new = 'tests/agents/files/old.hlo', 'tests/agents/files/new.hlo'
        for answer in objects('compare', old, new):
            for row in answer['changed']:
                self.takes('show', old, '--around', row['instruction'])
                self.takes('show', new, '--around', row['instruction_b'])
            for path, rows in ((old, answer['removed']), (new, answer['added'])):
                for row in rows:
                    self.takes('show', path, '--around', row['instruction'])

    def test_run_and_profile(self):
        module = 'tests/agents/files/nan.hlo'
        first = objects('run', module, '--find', 'nan')[0]['first_nonfinite']
        self.takes('show', module, '--around', first['instruction'])
        self.takes('show', module, '--computation', first['computation'])
        for dump in ('conv_net', 'gpt_train_step'):
            for row in objects('profile', f'samples/{dump}/{dump}.xplane.pb.gz')[0]['instructions']:
                self.takes('info', f'samples/{dump}', '--select', f'{row["module"]}:{row["instruction"]}')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
