"""JAX programs of many kinds and sizes, drawn by seed: `python programs.py KIND SEED SIZE`, with XLA_FLAGS set, compiles and runs one.

unseen_dumps.KINDS names them; SIZE is how many layers, steps or modules of it there are."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

WIDTHS = (8, 12, 16, 24, 32, 40)


def weights(draw, *shape):
    return jnp.asarray(draw.standard_normal(shape) * 0.2, jnp.float32)


def scalars(draw, size):
    x, y = float(draw.uniform(1, 2)), float(draw.uniform(3, 4))

    def f(a, b):
        for k in range(size):
            a = a * b + k
        return a
    jax.jit(f)(x, y)


def perceptron_step(draw, size):
    width = int(draw.choice(WIDTHS))
    params = [(weights(draw, width, width), weights(draw, width)) for _ in range(size)]

    def loss(params, x, y):
        for k, (w, b) in enumerate(params):
            with jax.named_scope(f'layer_{k}'):
                x = jnp.tanh(x @ w + b)
        return jnp.mean((x - y) ** 2)

    def train_step(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        with jax.named_scope('update'):
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value
    jax.jit(train_step, donate_argnums=0)(params, weights(draw, 4, width), weights(draw, 4, width))


def transformer(draw, size, grad=True):
    heads, width, tokens = 2, int(draw.choice((16, 32))), int(draw.choice((6, 10)))
    params = [{n: weights(draw, width, width) for n in 'qkvo'} | {'up': weights(draw, width, 2 * width), 'down': weights(draw, 2 * width, width)}
              for _ in range(size)]

    def norm(x):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-6)

    def block(p, x):
        with jax.named_scope('attention'):
            split = lambda a: a.reshape(tokens, heads, -1).transpose(1, 0, 2)
            q, k, v = (split(norm(x) @ p[n]) for n in 'qkv')
            mask = jnp.tril(jnp.ones((tokens, tokens), bool))
            scores = jnp.where(mask, q @ k.transpose(0, 2, 1) / np.sqrt(width), -1e9)
            x = x + (jax.nn.softmax(scores) @ v).transpose(1, 0, 2).reshape(tokens, width) @ p['o']
        with jax.named_scope('mlp'):
            return x + jax.nn.gelu(norm(x) @ p['up']) @ p['down']

    def forward(params, x):
        for k, p in enumerate(params):
            with jax.named_scope(f'block_{k}'):
                x = block(p, x)
        return x
    x = weights(draw, tokens, width)
    f = jax.grad(lambda p, x: forward(p, x).sum()) if grad else forward
    jax.jit(f)(params, x)


def transformer_forward(draw, size):
    transformer(draw, size, grad=False)


def adam_over_scan(draw, size):
    width = int(draw.choice(WIDTHS))
    stacked = {'w': weights(draw, size, width, width), 'b': weights(draw, size, width)}

    def loss(params, x):
        layer = jax.checkpoint(lambda x, p: (jax.nn.relu(x @ p['w'] + p['b']), None))
        return jnp.sum(lax.scan(layer, x, params)[0] ** 2)

    def step(params, mean, square, count, x):
        grads = jax.grad(loss)(params, x)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
        square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, grads)
        return jax.tree.map(lambda p, m, s: p - 0.01 * m / (jnp.sqrt(s) + 1e-8), params, mean, square), mean, square, count + 1
    zero = jax.tree.map(jnp.zeros_like, stacked)
    jax.jit(step)(stacked, zero, zero, 0, weights(draw, 3, width))


def convolutions(draw, size):
    kernels = [weights(draw, 3, 3, 3 if k == 0 else 8, 8) for k in range(size)]

    def loss(kernels, x):
        for k, w in enumerate(kernels):
            x = lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
            x = jax.nn.relu((x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5))
            if k % 2 == 0:
                x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), 'SAME')
        return x.mean()
    jax.jit(jax.grad(loss))(kernels, weights(draw, 2, 12, 12, 3))


def recurrent(draw, size):
    width = int(draw.choice(WIDTHS))
    w = weights(draw, 2 * width, 4 * width)

    def cell(state, x):
        h, c = state
        i, f, g, o = jnp.split(jnp.concatenate([x, h]) @ w, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    jax.jit(lambda xs: lax.scan(cell, (jnp.zeros(width), jnp.zeros(width)), xs)[1])(weights(draw, size, width))


def newton(draw, size):
    def f(a):
        return lax.while_loop(lambda s: jnp.any(jnp.abs(s[0] ** 2 - a) > 1e-4) & (s[1] < size),
                              lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a, 0))
    jax.jit(f)(jnp.abs(weights(draw, 17)) + 1)


def branches(draw, size):
    def f(k, x):
        return lax.switch(k, [lambda x, s=s: lax.cond(x.sum() > s, jnp.sin, jnp.cos, x) * s for s in range(size)], x)
    jax.jit(f)(1, weights(draw, 33))


def spectrum(draw, size):
    def f(x):
        for _ in range(size):
            z = jnp.fft.fft2(x)
            x = jnp.real(jnp.fft.ifft2(z * jnp.exp(-jnp.abs(z))))
        return x
    jax.jit(f)(weights(draw, 16, 16))


def sorting(draw, size):
    def f(x):
        top, index = lax.top_k(x, 5)
        for _ in range(size):
            x = jnp.take_along_axis(x, jnp.argsort(x, -1), -1)[:, ::-1]
        return x, top, index, jnp.cumsum(x, 0), jnp.median(x)
    jax.jit(f)(weights(draw, 7, 40))


def embedding(draw, size):
    table, ids = weights(draw, 50, 16), jnp.asarray(draw.integers(0, 50, 4 * size))

    def f(table, ids):
        picked = table[ids]
        return jax.ops.segment_sum(picked, ids % 7, 7), jax.grad(lambda t: (t[ids] ** 2).sum())(table)
    jax.jit(f)(table, ids)


def solving(draw, size):
    a = weights(draw, size + 3, size + 3)

    def f(a):
        spd = a @ a.T + jnp.eye(len(a))
        chol = jnp.linalg.cholesky(spd)
        return jax.scipy.linalg.solve_triangular(chol, a, lower=True), jnp.linalg.eigvalsh(spd), jnp.linalg.det(spd)
    jax.jit(f)(a)


def callbacks(draw, size):
    def f(x):
        for k in range(size):
            x = jax.pure_callback(lambda v: np.sort(v), jax.ShapeDtypeStruct(x.shape, x.dtype), jnp.sin(x) + k)
        jax.debug.print('sum {s}', s=x.sum())
        return x * 2
    jax.block_until_ready(jax.jit(f)(weights(draw, 5, 6)))


def randomness(draw, size):
    def f(key, x):
        for k in range(size):
            key, sub = jax.random.split(key)
            x = jnp.where(jax.random.bernoulli(sub, 0.9, x.shape), x, 0) + jax.random.normal(sub, x.shape)
        return x, jax.random.categorical(key, x)
    jax.jit(f)(jax.random.key(size), weights(draw, 6, 9))


def mesh(names, *shape):
    return Mesh(np.array(jax.devices()[:int(np.prod(shape))]).reshape(shape), names)


def mapped(draw, size):
    one = mesh(('x',), 4)

    def f(x):
        for _ in range(size):
            x = x + lax.psum(x, 'x') + lax.ppermute(x, 'x', [(k, (k + 1) % 4) for k in range(4)])
        return lax.all_gather(x, 'x', tiled=True)
    shard = jax.shard_map(f, mesh=one, in_specs=PartitionSpec('x'), out_specs=PartitionSpec(None), check_vma=False)
    jax.jit(shard)(weights(draw, 16, 8))


def partitioned(draw, size):
    two = mesh(('data', 'model'), 2, 2)
    place = lambda a, *axes: jax.device_put(a, NamedSharding(two, PartitionSpec(*axes)))
    w = [place(weights(draw, 16, 16), None, 'model') for _ in range(size)]

    def f(w, x):
        for each in w:
            x = jax.nn.relu(x @ each)
        return x.sum()
    jax.jit(jax.grad(f))(w, place(weights(draw, 8, 16), 'data', None))


def narrow_types(draw, size):
    w = weights(draw, 32, 32).astype(jnp.bfloat16)

    def f(w, x, q):
        for _ in range(size):
            x = jax.nn.silu(x @ w).astype(jnp.float16).astype(jnp.bfloat16)
        return x, lax.population_count(q ^ (q >> 3)), lax.dot(q.astype(jnp.int32), q.astype(jnp.int32))
    jax.jit(f)(w, weights(draw, 8, 32).astype(jnp.bfloat16), jnp.asarray(draw.integers(0, 99, (9, 9)), jnp.uint8))


def prefix_sums(draw, size):
    def f(x):
        for _ in range(size):
            x = lax.associative_scan(jnp.maximum, x) + jnp.cumsum(x)
        return jax.nn.logsumexp(x)
    jax.jit(f)(weights(draw, 64))


def many_modules(draw, size):
    for k in range(size):
        jax.jit(lambda x, k=k: jnp.sum(jnp.cos(x) * k) + x)(weights(draw, 5 + k, 4))


def integrator(draw, size):
    m = weights(draw, 6, 6)

    def f(x0):
        def step(_, x):
            k1 = jnp.tanh(m @ x)
            return x + 0.1 * jnp.tanh(m @ (x + 0.05 * k1))
        return lax.fori_loop(0, size, step, x0)
    jax.jit(jax.vmap(f))(weights(draw, 11, 6))


if __name__ == '__main__':
    import model_programs
    (globals().get(sys.argv[1]) or getattr(model_programs, sys.argv[1]))(np.random.default_rng(int(sys.argv[2])), int(sys.argv[3]))
    jax.effects_barrier()
