#!/usr/bin/env python3
"""Makes the trace that lies beside a sample: runs its program on the CPU under jax.profiler.trace and keeps what that leaves.

  .venv/bin/python samples/make_trace.py [NAME] [--runs N] [--out FOLDER]

FOLDER (that of the sample) gets NAME.xplane.pb.gz and NAME.trace.json.gz. Times differ from run to run; what is measured
does not."""
import argparse
import glob
import gzip
import os
import sys
import tempfile

import make_samples

TRACED = make_samples.SAMPLES + make_samples.LARGE_SAMPLES


def trace(name, runs, folder):
    """Compiles first: the trace holds nothing but runs, each a step."""
    import jax
    jax.config.update('jax_hlo_source_file_canonicalization_regex', '.*/')
    sample = next(s for s in TRACED if s.__name__ == name)
    function, arguments = sample()
    arguments = jax.device_put(arguments)
    program = jax.jit(function)
    jax.block_until_ready(program(*arguments))
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(folder, profiler_options=options):
        for step in range(runs):
            with jax.profiler.StepTraceAnnotation('step', step_num=step):
                jax.block_until_ready(program(*arguments))


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def without_host(space):
    """An XSpace without the name of the machine, its field 4."""
    kept, at = [], 0
    while at < len(space):
        tag, value = varint(space, at)
        length, value = varint(space, value)
        if tag >> 3 != 4:
            kept.append(space[at:value + length])
        at = value + length
    return b''.join(kept)


def keep(source, target):
    with (gzip.open if source.endswith('.gz') else open)(source, 'rb') as file:
        data = file.read()
    if source.endswith('.xplane.pb'):
        data = without_host(data)
    make_samples.pack(data, target)
    print(os.path.relpath(target), os.path.getsize(target) // 1024, 'KiB')


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('name', nargs='?', default='conv_net', choices=[s.__name__ for s in TRACED])
    parser.add_argument('--runs', type=int, default=20)
    parser.add_argument('--out')
    options = parser.parse_args(arguments)
    target = options.out or os.path.join(make_samples.HERE, options.name)
    os.makedirs(target, exist_ok=True)
    # One thread: the executor then runs one instruction after the other, and no two wait for one another.
    os.environ.update(JAX_PLATFORMS='cpu', NPROC='1', XLA_FLAGS='--xla_cpu_multi_thread_eigen=false')
    with tempfile.TemporaryDirectory() as scratch:
        trace(options.name, options.runs, scratch)
        for end in ('xplane.pb', 'trace.json.gz'):
            made, = glob.glob(f'{scratch}/plugins/profile/*/*.{end}')
            keep(made, os.path.join(target, f'{options.name}.{end.removesuffix(".gz")}.gz'))


if __name__ == '__main__':
    main(sys.argv[1:])
