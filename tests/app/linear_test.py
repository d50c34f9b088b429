#!/usr/bin/env python3
"""The work of every command that reads grows as its input does: instructions of the processor, counted by valgrind, for inputs
of n, 2n and 4n. Between 2n and 4n linear work grows twice as much as between n and 2n, quadratic work four times.

  linear_test.py HLOSCOPE [COMMAND…]"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HLOSCOPE = sys.argv[1]
SIZE, BOUND = 700, 2.7
SKIPPED = 77


def module(n, scheduled=False):
    """About 6n instructions: fusions, called computations, custom calls, constants, metadata."""
    frames = ''.join(f'{k} {{file_location_id={k} parent_frame_id={k}}}\n' for k in range(1, n + 1))
    lines = ''.join(f'{k} {{file_name_id=1 function_name_id=1 line={k} end_line={k} column=1 end_column=2}}\n' for k in range(1, n + 1))
    tables = f'\n\nFileNames\n1 "a.py"\n\nFunctionNames\n1 "f"\n\nFileLocations\n{lines}\nStackFrames\n{frames}\n'
    bodies = ''.join(f'f_{k} {{\n  p_{k} = f32[8] parameter(0)\n  ROOT n_{k} = f32[8] negate(p_{k})\n}}\n' for k in range(n))
    entry = ''.join(f'  k_{k} = f32[8] constant({{1,2,3,4,5,6,7,{k}}})\n'
                    f'  a_{k + 1} = f32[8] add(q_{k}, k_{k}), metadata={{op_name="layer_{k}/add" stack_frame_id={k + 1}}}\n'
                    f'  q_{k + 1} = f32[8] fusion(a_{k + 1}), kind=kLoop, calls=f_{k}\n'
                    f'  c_{k + 1} = f32[8] custom-call(a_{k + 1}), custom_call_target="call_{k % 9}"\n' for k in range(n))
    schedule = ', is_scheduled=true' if scheduled else ''
    return f'HloModule jit_f{schedule}{tables}\n{bodies}\nENTRY e {{\n  q_0 = f32[8] parameter(0)\n{entry}  ROOT r = f32[8] add(q_{n}, c_{n})\n}}\n'


def elements(n):
    """A tuple of n elements, of which each is taken."""
    shape = '(' + ', '.join(['f32[]'] * n) + ')'
    taken = ''.join(f'  g_{k} = f32[] get-tuple-element(p), index={k}\n  n_{k} = f32[] negate(g_{k})\n' for k in range(n))
    return f'HloModule m\n\nENTRY e {{\n  p = {shape} parameter(0)\n{taken}  ROOT r = {shape} tuple({", ".join(f"n_{k}" for k in range(n))})\n}}\n'


def write(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def dump(folder, n):
    """A dump for a GPU: kernels and thunks, half of them tied to an instruction by name, the others by nothing."""
    stem, target = 'module_0001.jit_f.', 'sm_9.0_gpu_after_optimizations'
    text = module(n, scheduled=True)
    write(folder, stem + 'before_optimizations.txt', module(n))
    write(folder, stem + '0001.simplify.after_one.before_two.txt', module(n).replace('negate', 'tanh'))
    write(folder, stem + target + '.txt', text)
    kernels = [f'q_{k + 1}' if k % 2 else f'unknown_{k}' for k in range(n)]
    write(folder, stem + 'ptx', '.version 8.0\n.target sm_90\n' + ''.join(f'.visible .entry {k}(\n)\n{{\n\tret;\n}}\n' for k in kernels))
    thunks = [f'{k + 1:06}: kKernel {kernel} grid: [1, 1, 1] threads: [32, 1, 1]' for k, kernel in enumerate(kernels)]
    thunks += [f'{n + k + 1:06}: kCustomCall custom call' for k in range(n // 2)]
    write(folder, stem + target + '.thunk_sequence.txt', '\n'.join(thunks) + '\n')
    for k in range(0, n, 10):
        write(folder, f'{stem}fusion_{k}.ttir.txt', 'module {\n}\n')
    return folder


def trace(path, n):
    events = [{'ph': 'X', 'pid': 1, 'tid': 1, 'ts': 10 * k, 'dur': 5, 'name': f'q_{k + 1}' if k % 2 else f'other_{k}',
               'args': {'hlo_op': f'q_{k + 1}', 'hlo_module': 'jit_f'} if k % 3 else {}} for k in range(n)]
    events.append({'ph': 'M', 'pid': 1, 'name': 'process_name', 'args': {'name': '/device:GPU:0'}})
    return write(os.path.dirname(path), os.path.basename(path), json.dumps({'traceEvents': events}))


# Beginnings of error texts that are none where they stand, many in a line; the nodes of one message.
LONG_LINES = (' we saw a Segmentation fault (core dumped)', ' a CUDA_ERROR_OUT_OF_MEMORY', ' users NOT_FOUND: 3,', ' x "INTERNAL: ')
NODES_HEAD = 'Detected unsupported operations when trying to compile graph f[_XlaMustCompile=true] on XLA_CPU_JIT: StringLower ('
NODES = "No registered 'StringLower' OpKernel for XLA_CPU_JIT devices compatible with node {{{{node lower_{0}}}}} "


# By name: the arguments for a folder of inputs of one size.
COMMANDS = {
    'show': lambda d: ['show', d + '/m.hlo'],
    'show json': lambda d: ['show', d + '/m.hlo', '--format', 'json'],
    'show dot': lambda d: ['show', d + '/m.hlo', '--format', 'dot'],
    'show svg': lambda d: ['show', d + '/tuple.hlo', '--format', 'svg'],
    'show around': lambda d: ['show', d + '/m.hlo', '--around', 'a_1', '--radius', '1000000', '--format', 'hlo-elided'],
    'find': lambda d: ['find', 'layer_77', d + '/m.hlo'],
    'find in a dump': lambda d: ['find', 'q_', d + '/dump'],
    'info': lambda d: ['info', d + '/m.hlo'],
    'info of a dump': lambda d: ['info', d + '/dump', '--no-cache', '--json'],
    'info passes': lambda d: ['info', d + '/dump', '--passes'],
    'info diff': lambda d: ['info', d + '/dump', '--diff', '0001'],
    'info select': lambda d: ['info', d + '/dump', '--select', 'q_5'],
    'verify': lambda d: ['verify', '--strict', d + '/m.hlo'],
    'convert': lambda d: ['convert', d + '/m.hlo', d + '/m.hlo.pb'],
    'compare': lambda d: ['compare', d + '/m.hlo', d + '/dump/module_0001.jit_f.0001.simplify.after_one.before_two.txt'],
    'explain long lines': lambda d: ['explain', d + '/long.log'],
    'explain nodes': lambda d: ['explain', d + '/nodes.log'],
    'profile': lambda d: ['profile', d + '/t.trace.json', '--module', d + '/m.hlo', '--json'],
}


def work(arguments):
    """How many instructions the processor runs."""
    command = ['valgrind', '--tool=cachegrind', '--cache-sim=no', '--branch-sim=no', '--cachegrind-out-file=/dev/null', HLOSCOPE, *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    errors = done.stderr.decode(errors='replace')
    found = re.search(r'I\s+refs:\s+([\d,]+)', errors)
    if done.returncode not in (0, 1) or found is None:
        sys.exit(f'{arguments}: exit {done.returncode}\n{errors[-2000:]}')
    return int(found[1].replace(',', ''))


def main():
    if shutil.which('valgrind') is None:
        print('no valgrind: scripts/setup tests installs it')
        return SKIPPED
    chosen = sys.argv[2:] or list(COMMANDS)
    with tempfile.TemporaryDirectory() as top, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folders = []
        for factor in (1, 2, 4):
            folder, n = os.path.join(top, str(factor)), SIZE * factor
            write(folder, 'm.hlo', module(n))
            write(folder, 'tuple.hlo', elements(n))
            dump(folder + '/dump', n)
            write(folder, 'long.log', ''.join(text * n + '\n' for text in LONG_LINES))
            write(folder, 'nodes.log', NODES_HEAD + ''.join(NODES.format(k) for k in range(n)) + '\n')
            trace(folder + '/t.trace.json', n)
            folders.append(folder)
        counts = {name: [pool.submit(work, COMMANDS[name](folder)) for folder in folders] for name in chosen}
        failed = []
        for name in chosen:
            one, two, four = (count.result() for count in counts[name])
            growth = (four - two) / (two - one)
            print(f'{name}: {one / 1e6:.0f}, {two / 1e6:.0f} and {four / 1e6:.0f} million instructions, growth {growth:.2f}', flush=True)
            if growth > BOUND:
                failed.append(name)
    if failed:
        print('more than linear: ' + ', '.join(failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
