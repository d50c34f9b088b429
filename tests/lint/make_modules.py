#!/usr/bin/env python3
"""Makes the modules of lint_test.py with JAX 0.10.2: make_modules.py [HLOSCOPE].

For each rule RULE.bad.hlo, which has its pattern, RULE.good.hlo, which looks alike and has it not, and RULE.fixed.hlo, where the fix that the
rule names was carried out on the first and it was compiled again. With HLOSCOPE those for a GPU are compiled as well (platform xla-gpu, target h100)."""
import os
import re
import subprocess
import sys
import tempfile

os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=2'
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

jax.config.update('jax_enable_x64', True)
HERE = os.path.dirname(os.path.abspath(__file__))
F32, BF16, F8, I32, N = jnp.float32, jnp.bfloat16, jnp.float8_e4m3fn, jnp.int32, 1024


def shape(*sizes, of=F32, split=None):
    return jax.ShapeDtypeStruct(sizes, of, sharding=split)


def write(rule, kind, text):
    text = re.sub(r'\n(FileNames|FunctionNames|FileLocations|StackFrames)\n.*?\n\n', '\n', text, flags=re.S)
    text = re.sub(r', metadata=\{[^}]*\}', '', text)
    for table in ('FileNames', 'FunctionNames', 'FileLocations', 'StackFrames'):
        text = re.sub(r'(?m)^' + table + r'\n(\d+ .*\n)*\n?', '', text)
    text = re.sub(r'constant\(\{[^()]{20000,}\}\)', 'constant({...})', text)
    with open(os.path.join(HERE, f'{rule}.{kind}.hlo'), 'w', encoding='utf-8') as file:
        file.write(text)


def module(stage, rule, kind, function, *arguments, donate=()):
    lowered = jax.jit(function, donate_argnums=donate).lower(*arguments)
    if stage == 'given':
        write(rule, kind, lowered.as_text('hlo'))
    elif stage == 'cpu':
        write(rule, kind, lowered.compile().as_text())
    elif len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            given, compiled = os.path.join(folder, 'given.hlo'), os.path.join(folder, 'compiled.hlo')
            with open(given, 'w', encoding='utf-8') as file:
                file.write(lowered.as_text('hlo'))
            subprocess.run([sys.argv[1], 'compile', given, '--with', 'xla-gpu', '--target', 'h100', '--emit', 'hlo', '-o', compiled], check=True)
            with open(compiled, encoding='utf-8') as file:
                write(rule, kind, file.read())


SQUARE = shape(N, N)
module('cpu', 'transposed-parameter', 'bad', lambda w, x: lax.sort(w.T, dimension=1) + x, SQUARE, SQUARE)
module('cpu', 'transposed-parameter', 'fixed', lambda w, x: lax.sort(w, dimension=1) + x, SQUARE, SQUARE)
module('cpu', 'transposed-parameter', 'good', lambda w, x: w.T @ x, SQUARE, SQUARE)

module('cpu', 'layout-copy', 'bad', lambda x: lax.sort(lax.sort(x, dimension=1).T, dimension=1), SQUARE)
module('cpu', 'layout-copy', 'fixed', lambda x: lax.sort(lax.sort(x, dimension=1), dimension=1), SQUARE)
module('cpu', 'layout-copy', 'good', lambda x: jnp.tanh(lax.sort(x, dimension=1)).T @ x, SQUARE)

barrier = lax.optimization_barrier
module('gpu', 'upcast-reduce', 'bad', lambda x: barrier(x.astype(F32)).sum(1).astype(BF16), shape(N, N, of=BF16))
module('gpu', 'upcast-reduce', 'fixed', lambda x: x.sum(1, dtype=F32).astype(BF16), shape(N, N, of=BF16))
module('gpu', 'upcast-reduce', 'good', lambda x: barrier(x.astype(F32)) * 2, shape(N, N, of=BF16))

module('given', 'lost-cast', 'bad', lambda x: x.astype(BF16).astype(F32) * 2, SQUARE)
module('given', 'lost-cast', 'fixed', lambda x: lax.reduce_precision(x, 8, 7) * 2, SQUARE)
module('given', 'lost-cast', 'good', lambda x: x.astype(F32).astype(BF16) * 2, shape(N, N, of=BF16))

module('gpu', 'missed-f8', 'bad', lambda a, b: a.astype(BF16) @ b.astype(BF16), shape(N, N, of=F8), shape(N, N, of=F8))
product = lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=BF16)
module('gpu', 'missed-f8', 'fixed', product, shape(N, N, of=F8), shape(N, N, of=F8))
module('gpu', 'missed-f8', 'good', lambda a, b: a.astype(BF16) @ b, shape(N, N, of=F8), shape(N, N, of=BF16))

module('given', 'accidental-f64', 'bad', lambda x: x * np.float64(0.1), SQUARE)
module('given', 'accidental-f64', 'fixed', lambda x: x * np.float32(0.1), SQUARE)
module('given', 'accidental-f64', 'good', lambda x: x * 0.1, shape(N, N, of=jnp.float64))


def print_in_loop(x):
    def body(i, x):
        jax.debug.print('{}', x[0])
        return x * 2
    return lax.fori_loop(0, 10, body, x)


def print_after(x):
    x = lax.fori_loop(0, 10, lambda i, x: x * 2, x)
    jax.debug.print('{}', x[0])
    return x


module('given', 'host-transfer-in-loop', 'bad', print_in_loop, shape(N))
module('given', 'host-transfer-in-loop', 'fixed', print_after, shape(N))
module('given', 'host-transfer-in-loop', 'good', lambda x: (jax.debug.print('{}', x[0]), x * 2)[1], shape(N))

rows = NamedSharding(jax.make_mesh((2,), ('d',), axis_types=(AxisType.Auto,)), PartitionSpec('d'))
two = shape(N, 512, split=rows), shape(512, N, split=rows)
flat_sum = lambda x, y: x.reshape(-1) + y.reshape(-1)
module('cpu', 'refused-donation', 'bad', flat_sum, *two, donate=(0, 1))
module('cpu', 'refused-donation', 'fixed', flat_sum, *two, donate=(0,))
module('cpu', 'refused-donation', 'good', lambda x, y: (x.reshape(-1) * 2, y.reshape(-1) + 1), *two, donate=(0, 1))

update = lambda cache, row, i: lax.dynamic_update_slice(cache, row, (i, I32(0)))
cache = shape(4096, N), shape(1, N), shape(of=I32)
module('cpu', 'copied-cache', 'bad', update, *cache)
module('cpu', 'copied-cache', 'fixed', update, *cache, donate=(0,))
module('cpu', 'copied-cache', 'good', lambda c, half, i: update(c, half, i), cache[0], shape(2048, N), cache[2])

decay = lambda c, x: (c * np.float32(0.9) + x, c)
module('cpu', 'tiny-loop', 'bad', lambda x: lax.scan(decay, F32(0), x), shape(512))
module('cpu', 'tiny-loop', 'fixed', lambda x: lax.scan(decay, F32(0), x, unroll=16), shape(512))
module('cpu', 'tiny-loop', 'good', lambda x: lax.scan(lambda c, x: (jnp.tanh(c @ x), None), jnp.ones((64, 64), F32), x)[0], shape(512, 64, 64))

module('given', 'gather-slice', 'bad', lambda x: x[jnp.arange(100)], SQUARE)
module('given', 'gather-slice', 'fixed', lambda x: x[:100], SQUARE)
module('given', 'gather-slice', 'good', lambda x, i: x[i], SQUARE, shape(100, of=I32))

LARGE = np.arange(N * N, dtype=np.float32).reshape(N, N)
module('given', 'large-constant', 'bad', lambda x: x + LARGE, SQUARE)
module('given', 'large-constant', 'fixed', lambda x, y: x + y, SQUARE, SQUARE)
module('given', 'large-constant', 'good', lambda x: x + LARGE[:100, :100], shape(100, 100))
