#!/usr/bin/env python3
"""`info --select --json` against fusion membership that this script finds in the HLO text alone: computed_by_test.py HLOSCOPE SAMPLES [DUMP…]

Of every instruction of the compiled stage: one inside a fusion (or applied by what is inside) is computed by the outermost fusion, one that
executes by itself, by itself; parameters, bitcasts, tuples and control flow by nothing. XLA:CPU compiles a call that it marks as small as one
kernel, with loops and fusions in it."""
import glob
import gzip
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

NO_CODE = {'parameter', 'constant', 'bitcast', 'tuple', 'get-tuple-element', 'after-all', 'add-dependency', 'opt-barrier', 'domain'}
CONTROL = {'while', 'conditional', 'call', 'async-start', 'async-update', 'async-done'}
HEADER = re.compile(r'^(ENTRY )?%?([\w.-]+)(?: \(.*)? (?:->.*)?\{\s*$')
INSTRUCTION = re.compile(r'^\s+(?:ROOT )?%?([\w.-]+) = (.*)$')
OPCODE = re.compile(r'^(?:\((?:[^()]|\([^()]*\))*\)|[a-z]\w*\[[^\]]*\](?:\{[^}]*\})?|token\[\]) ([a-z][\w-]*)\(')
MOST = 60  # of a module


def read(path):
    opener = gzip.open if path.endswith('.gz') else open
    with opener(path, 'rt', encoding='utf-8') as file:
        return file.read()


def instructions(text):
    """(name, opcode, computation) of each, and by computation the instruction that calls it."""
    found, caller, computation = [], {}, None
    for line in text.split('\n'):
        if not line.startswith(' '):
            header = HEADER.match(line)
            computation = header.group(2) if header else computation
            continue
        one = INSTRUCTION.match(line)
        opcode = OPCODE.match(one.group(2)) if one else None
        if not opcode:
            continue
        kind = 'small-call' if 'xla_cpu_small_call="true"' in line else opcode.group(1)
        found.append((one.group(1), kind, computation))
        branches = re.findall(r'branch_computations=\{([^}]*)\}', one.group(2))
        callees = re.findall(r'(?:calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.-]+)', one.group(2))
        for callee in callees + [name.strip(' %') for names in branches for name in names.split(',')]:
            caller.setdefault(callee, (one.group(1), kind, computation))
    return found, caller


def expected(name, opcode, computation, caller):
    """Who computes it; None: this script does not know."""
    outer = None
    at = (name, opcode, computation)
    while at[2] in caller:
        at = caller[at[2]]
        outer = outer if at[1] in CONTROL else at[0]
    if opcode == 'parameter':
        return []
    if outer is not None:
        return [outer]
    if opcode in NO_CODE or opcode in CONTROL:
        return []
    return None if opcode.endswith(('-start', '-done', '-update')) else [name]


def check(hloscope, dump, path):
    """The sentences on what is wrong in one compiled stage."""
    module, stage = re.match(r'(module_\d+)\..+?\.((?:sm_|cpu_|gpu_|cpu_gpu_).*after_optimizations)\.txt', os.path.basename(path)).groups()
    module = int(module[7:])
    found, caller = instructions(read(path))
    known = [(name, opcode, expected(name, opcode, of, caller)) for name, opcode, of in found]
    known = [one for one in known if one[2] is not None]
    counts = {}
    for name, _, _ in known:
        counts[name] = counts.get(name, 0) + 1
    known = [one for one in known if counts[one[0]] == 1]  # a name alone says which
    wrong = []

    def ask(one):
        name, opcode, want = one
        done = subprocess.run([hloscope, 'info', dump, '--select', f'{module}:{name}@{stage}', '--json'], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            return f'{path}: {name}: {done.stderr}'
        facts = json.loads(done.stdout)
        got = [kernel['name'] for kernel in facts['computed_by']]
        both = set(got) & {kernel['name'] for kernel in facts['read_by']}
        return f'{path}: {opcode} {name}: computed by {got}, expected {want}, read too by {both}' if got != want or both else None
    with ThreadPoolExecutor(2) as pool:
        wrong = [line for line in pool.map(ask, known[::max(1, len(known) // MOST)]) if line]
    print(f'{path}: {min(len(known), MOST)} of {len(found)} instructions')
    return wrong


def main(hloscope, samples, *dumps):
    dumps = dumps or [os.path.join(samples, name) for name in ('attention_block_h100', 'softmax_passes_a100', 'mlp_train_step', 'conv_net',
                                                               'gpt_train_step')]
    wrong = []
    for dump in dumps:
        paths = [path for path in sorted(glob.glob(dump + '/module_*after_optimizations.txt*')) if re.search(r'\.(sm_|cpu_|gpu_)', path)]
        for path in sorted(paths, key=os.path.getsize)[-3:]:
            wrong += check(hloscope, dump, path)
    print('\n'.join(wrong[:40]) or 'as the text says')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
