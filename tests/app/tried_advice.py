#!/usr/bin/env python3
"""Tries what hloscope advises: each row of core/dump/advice.def in a small program of a framework, and compares how it went with
core/dump/advice_tried.def.

  tried_advice.py FRAMEWORK PYTHON [--write] [--new]

FRAMEWORK is jax, tensorflow or pytorch, PYTHON the interpreter of an environment that has it. --write puts the results of this version in
place of those that the table has; --new tries only rows that the table has not of this version. Exit status 77: it has it not."""
import collections
import os
import re
import subprocess
import sys
import tempfile

from advised_changes import CHANGES, HEAD

Row = collections.namedtuple('Row', 'name variable value frameworks effect')
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ADVICE, TRIED = (os.path.join(ROOT, 'core', 'dump', name) for name in ('advice.def', 'advice_tried.def'))
# Compiled by XLA as a whole; TensorFlow's second step is left to auto-clustering, with a string that nothing compiles.
PROGRAMS = {
    'jax': ('JAX', 'jax', '''
import jax, numpy
@jax.jit
def step(x, w): return (jax.nn.relu(x @ w) ** 2).mean()
for rows in (16, 32): print(float(step(numpy.ones((rows, 8), 'f'), numpy.ones((8, 4), 'f'))))
'''),
    'tensorflow': ('TensorFlow', 'tensorflow', '''
import os, tensorflow as tf
@tf.function(jit_compile='auto_jit' not in os.environ.get('TF_XLA_FLAGS', ''))
def step(x, w): return tf.reduce_mean(tf.tanh(x @ w) ** 2 + tf.exp(x @ w) * 3)
@tf.function
def words(s): return tf.strings.length(tf.strings.upper(s))
print(float(step(tf.ones((16, 8)), tf.ones((8, 4)))), words(tf.constant('a')).numpy())
'''),
    'pytorch': ('PyTorch/XLA', 'torch_xla', '''
import torch, torch_xla
x, w = (torch.ones(shape).to(torch_xla.device()) for shape in ((16, 8), (8, 4)))
loss = (torch.relu(x @ w) ** 2).mean()
torch_xla.sync()
print(float(loss))
'''),
}
NAME, PACKAGE, PROGRAM = PROGRAMS[sys.argv[1]]
PYTHON = os.path.abspath(sys.argv[2])
OURS = ('XLA_', 'JAX_', 'TF_', 'PT_XLA')


def rows_of(path, macro):
    with open(path, encoding='utf-8') as file:
        for line in file:
            if line.startswith(macro + '('):
                yield [text.replace('\\\\', '\\') for text in re.findall(r'"((?:[^"\\]|\\.)*)"|(k\w+)', line) for text in [text[0] or text[1]]]


def run(settings, dump, program):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(OURS) and key != 'PYTHONPATH'}
    environment['PJRT_DEVICE'] = 'CPU'
    environment['CUDA_VISIBLE_DEVICES'] = ''
    environment.update(settings, DUMP=dump)
    path = os.path.join(dump, 'program.py')  # AutoGraph reads the source
    with open(path, 'w', encoding='utf-8') as file:
        file.write(program)
    done = subprocess.run([PYTHON, path], env=environment, cwd=dump, capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stderr


def settings_of(row, dump):
    """The variables with which the row is tried."""
    value = row.value.replace('{dump}', dump)
    settings = {'XLA_FLAGS': f'--xla_dump_to={dump} --xla_dump_hlo_as_text=true'} if row.name != '--xla_dump_to' else {}
    if not row.variable:
        if value:
            settings[row.name] = value
        if row.name == 'TF_CPP_VMODULE':
            settings['TF_XLA_FLAGS'] = '--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit'
        return settings
    flag = f'{row.name}={value}' if value else row.name
    if row.variable == 'TF_XLA_FLAGS':
        others = ['--tf_xla_auto_jit=2', '--tf_xla_cpu_global_jit']
        flag = ' '.join([other for other in others if not other.startswith(row.name)] + [flag])
        settings['TF_DUMP_GRAPH_PREFIX'] = dump
    settings[row.variable] = ' '.join(filter(None, [settings.get(row.variable, ''), flag]))
    return settings


def outcome_of(row):
    """How it went, and what was seen."""
    with tempfile.TemporaryDirectory() as dump:
        kind, _, wanted = row.effect.partition(':')
        is_program = kind == 'program'
        status, log = run(settings_of(row, dump), dump, HEAD + CHANGES[wanted] + '\n' if is_program else PROGRAM)
        if status != 0:
            print(log[-1500:], file=sys.stderr)
            if is_program and re.search(r'^(AttributeError|ModuleNotFoundError|ImportError|TypeError: .* unexpected keyword)', log, re.M):
                return 'kUnknown', ''
            if is_program and status > 0:
                return 'kNoEffect', ''
            if re.search(r'Unknown flags? in (TF_)?XLA_FLAGS', log):
                return 'kUnknown', 'it ends the program'
            return 'kCrashes', 'SIGSEGV' if status == -11 else f'killed by signal {-status}' if status < 0 else f'exit status {status}'
        files = [file for _, _, names in os.walk(dump) for file in names]
        seen = {'': True, 'program': True, 'file': any(re.search(wanted, file) for file in files), 'log': any(words in log for words in wanted.split('|'))}
        return ('kWorks' if seen[kind] else 'kNoEffect'), ''


def tried():
    return {(row[0], row[1], row[2]): (row[3], row[4]) for row in rows_of(TRIED, 'ADVICE_TRIED')}


def version_of():
    asked = f"import importlib.metadata as m; print({{d.metadata['Name'].replace('-', '_'): d.version for d in m.distributions() if d.metadata['Name']}}.get('{PACKAGE}') or m.version('{PACKAGE}-cpu'))"
    return subprocess.run([PYTHON, '-c', asked], capture_output=True, text=True, check=True).stdout.strip()


def main():
    there = os.path.exists(PYTHON) and subprocess.run([PYTHON, '-c', f'import importlib.util as u, sys; sys.exit(u.find_spec("{PACKAGE}") is None)'],
                                                      check=False).returncode == 0
    if not there:
        print(f'skipped: no {NAME} in {PYTHON}')
        return 77
    version = version_of()
    known = tried()
    found, programs, wrong = {}, {}, 0
    for row in (Row(*row) for row in rows_of(ADVICE, 'ADVICE')):
        if NAME not in row.frameworks.split():
            continue
        key = (row.name, NAME, version)
        expected = known.get(key)
        if expected and '--new' in sys.argv:
            continue
        program = (row.effect, row.value)
        if row.effect.startswith('program:') and program in programs:
            found[key] = programs[program]
        else:
            found[key] = programs[program] = outcome_of(row)
        print(*key, *found[key], '' if expected in (None, found[key]) else f'EXPECTED {expected}', flush=True)
        wrong += expected is not None and expected != found[key]
    if '--write' in sys.argv:
        known = tried()  # another framework's may have been written in between
        known.update(found)
        with open(TRIED, encoding='utf-8') as file:
            head = [line for line in file if line.startswith('//')]
        with open(TRIED, 'w', encoding='utf-8') as file:
            file.writelines(head)
            file.writelines(f'ADVICE_TRIED("{name}", "{framework}", "{at}", {how}, "{seen}")\n' for (name, framework, at), (how, seen) in sorted(known.items()))
        return 0
    if not any(key in known for key in found):
        print(f'skipped: nothing is recorded of {NAME} {version}; --write records it')
        return 77
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
