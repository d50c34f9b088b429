#!/usr/bin/env python3
"""Writes the programs of programs_test.py with JAX 0.10.2: ten, each before and after what `info --memory --advise` says of it was carried out in JAX."""
import os
import re

import jax
import jax.numpy as jnp
from jax import lax

HERE = os.path.dirname(os.path.abspath(__file__))
F32, BF16, S8, I32, N = jnp.float32, jnp.bfloat16, jnp.int8, jnp.int32, 1024


def shape(*sizes, of=F32):
    return jax.ShapeDtypeStruct(sizes, of)


def write(name, kind, function, arguments, donate=()):
    text = jax.jit(function, donate_argnums=donate).lower(*arguments).as_text('hlo')
    text = re.sub(r'\n(FileNames|FunctionNames|FileLocations|StackFrames)\n(\d+ .*\n)*', '\n', re.sub(r', metadata=\{[^}]*\}', '', text))
    with open(os.path.join(HERE, f'{name}.{kind}.hlo'), 'w', encoding='utf-8') as file:
        file.write(text)


def donated(name, function, arguments, *numbers):
    write(name, 'before', function, arguments)
    write(name, 'after', function, arguments, numbers)


def adam(p, m, v, g):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v


def cache(k, row, i):
    k = lax.dynamic_update_slice(k, row, (i, I32(0)))
    return k, (k * 2).sum(1)


def momentum(p, m, x):
    def body(state, row):
        p, m = state
        m = 0.9 * m + jnp.outer(row, row)
        return (p - 0.1 * m, m), None
    return lax.scan(body, (p, m), x)[0]


def master(wide, g):
    wide = wide - 0.1 * g.astype(F32)
    return wide, wide.astype(BF16)


def upcast(w, x):
    w = w.astype(F32)
    y = jnp.tanh(x @ w)
    return (jnp.tanh(y @ w.T) @ w)[:8]


def convolve(x, w):
    y = lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
    return jnp.tanh(y).mean((1, 2, 3))


def rows(x):
    """The mean of each sorted row, of twice the array."""
    return lax.sort(jnp.concatenate([x, x]), dimension=1).reshape(8, 256, N).mean(1)


def positions(p):
    return jnp.sin(p[:, None] * jnp.arange(N, dtype=F32)[None])


def encode(x, p):
    t = positions(p)
    return rows(x @ t) @ t


def encode_again(x, p):
    y = rows(x @ positions(p))
    return y @ positions(lax.optimization_barrier((p, y))[0])


W, KERNEL = shape(N, N), shape(3, 3, 64, 64)
IMAGES, CHANNELS_FIRST = shape(16, 64, 64, 64), shape(16, 64, 80, 64)
donated('sgd', lambda p, g: p - 0.1 * g, [W, W], 0)
donated('adam', adam, [W] * 4, 0, 1, 2)
donated('cache', cache, [shape(4096, N), shape(1, N), shape(of=I32)], 0)
donated('momentum', momentum, [W, W, shape(64, N)], 0, 1)
donated('master', master, [W, shape(N, N, of=BF16)], 0, 1)
for name, of in (('upcast', BF16), ('dequantize', S8)):
    write(name, 'before', upcast, [shape(N, N, of=of), W])
    write(name, 'after', upcast, [W, W])
write('widened', 'before', lambda x, w: convolve(x.astype(F32), w), [shape(16, 64, 64, 64, of=BF16), KERNEL])
write('widened', 'after', convolve, [IMAGES, KERNEL])
write('channels', 'before', lambda x, w: convolve(jnp.transpose(x, (0, 2, 3, 1)), w), [CHANNELS_FIRST, KERNEL])
write('channels', 'after', convolve, [shape(16, 80, 64, 64), KERNEL])
write('positions', 'before', encode, [W, shape(N)])
write('positions', 'after', encode_again, [W, shape(N)])
