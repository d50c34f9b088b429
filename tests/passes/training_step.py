#!/usr/bin/env python3
"""A training step of a small transformer with Adam, as HLO before optimizations: training_step.py LAYERS OUT.hlo

For `known_faults.py --step`, and to see how `diverge` fares with size: 5 layers are 2,278 instructions, 29 are 12,142. Needs jax.
"""
import sys

import jax
import jax.numpy as jnp

WIDTH, HEADS, TOKENS, BATCH, WORDS = 16, 4, 8, 2, 32


def parameters(key, layers):
    def layer(key):
        qkv, out, up, down = (jax.random.normal(k, shape) * .1 for k, shape in zip(jax.random.split(key, 4), (
            (WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))))
        return {'qkv': qkv, 'o': out, 'u': up, 'd': down, 'g': jnp.ones(WIDTH), 'b': jnp.zeros(WIDTH)}
    return {'e': jax.random.normal(key, (WORDS, WIDTH)) * .1, 'l': [layer(k) for k in jax.random.split(key, layers)]}


def normalized(x, layer):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * layer['g'] + layer['b']


def heads(x):
    return x.reshape(BATCH, TOKENS, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)


def logits(p, tokens):
    x = p['e'][tokens]
    for layer in p['l']:
        q, k, v = (heads(part) for part in jnp.split(normalized(x, layer) @ layer['qkv'], 3, -1))
        attended = jax.nn.softmax(q @ k.swapaxes(-1, -2) / 2., -1) @ v
        x = x + attended.transpose(0, 2, 1, 3).reshape(BATCH, TOKENS, WIDTH) @ layer['o']
        x = x + jax.nn.gelu(normalized(x, layer) @ layer['u']) @ layer['d']
    return x @ p['e'].T


def loss(p, tokens, wanted):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits(p, tokens)), wanted[..., None], -1).mean()


def step(p, m, v, tokens, wanted):
    value, gradients = jax.value_and_grad(loss)(p, tokens, wanted)
    m = jax.tree.map(lambda m, g: .9 * m + .1 * g, m, gradients)
    v = jax.tree.map(lambda v, g: .999 * v + .001 * g * g, v, gradients)
    return jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), p, m, v), m, v, value


if __name__ == '__main__':
    given = parameters(jax.random.PRNGKey(0), int(sys.argv[1]))
    ids = jnp.zeros((BATCH, TOKENS), jnp.int32)
    lowered = jax.jit(step).lower(given, given, given, ids, ids)
    with open(sys.argv[2], 'w', encoding='utf-8') as file:
        file.write(lowered.compiler_ir('hlo').as_hlo_text())
