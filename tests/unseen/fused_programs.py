"""Twenty JAX programs whose operations XLA:GPU fuses, of sizes drawn by seed: `python fused_programs.py FOLDER SEED` lowers each for CUDA, which
needs no GPU, and writes FOLDER/NAME.hlo.pb. Nothing is compiled."""
import pathlib
import random
import sys

import jax
import jax.numpy as jnp
from jax import lax


def struct(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def mlp(draw):
    rows, width, hidden = draw.choice((48, 96)), draw.choice((64, 120)), draw.choice((256, 200))

    def step(w1, b1, w2, x, y):
        loss = lambda w1, b1, w2: jnp.mean((jax.nn.gelu(x @ w1 + b1) @ w2 - y) ** 2)
        grads = jax.grad(loss, (0, 1, 2))(w1, b1, w2)
        return [w - 0.01 * g for w, g in zip((w1, b1, w2), grads)]
    return step, struct(width, hidden), struct(hidden), struct(hidden, width), struct(rows, width), struct(rows, width)


def attention(draw):
    batch, heads, tokens, size = draw.choice((2, 3)), draw.choice((4, 6)), draw.choice((64, 100)), draw.choice((32, 48))

    def forward(q, k, v, bias):
        scores = jnp.einsum('bhqd,bhkd->bhqk', q, k) / size ** 0.5 + bias
        keep = jnp.arange(tokens)[:, None] >= jnp.arange(tokens)
        return jnp.einsum('bhqk,bhkd->bhqd', jax.nn.softmax(jnp.where(keep, scores, -1e9)), v)
    of = struct(batch, heads, tokens, size)
    return jax.grad(lambda *a: forward(*a).sum(), (0, 1, 2)), of, of, of, struct(heads, tokens, tokens)


def convolution(draw):
    batch, size, channels = draw.choice((4, 8)), draw.choice((20, 28)), draw.choice((16, 24))

    def forward(x, kernel, scale):
        x = lax.conv_general_dilated(x, kernel, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
        x = jax.nn.relu(x * scale + 0.5)
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID').mean((1, 2))
    return forward, struct(batch, size, size, channels), struct(3, 3, channels, 2 * channels), struct(2 * channels)


def norms(draw):
    rows, width = draw.choice((64, 130)), draw.choice((256, 520))

    def forward(x, scale, shift):
        x = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift
        columns = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-3)
        groups = columns.reshape(rows, 4, width // 4)
        return (groups * lax.rsqrt((groups ** 2).mean(-1, keepdims=True))).reshape(rows, width) + x
    return jax.grad(lambda *a: jnp.sum(jnp.sin(forward(*a))), (0, 1, 2)), struct(rows, width), struct(width), struct(width)


def scan(draw):
    width, steps = draw.choice((32, 56)), draw.choice((10, 33))

    def run(x, w):
        def body(carry, row):
            carry = jnp.tanh(carry @ w + row) * 0.9
            return carry, (carry ** 2).sum()
        return lax.scan(body, x[0], x)
    return run, struct(steps, width), struct(width, width)


def scatter(draw):
    rows, width, updates = draw.choice((200, 512)), draw.choice((16, 40)), draw.choice((64, 333))

    def update(table, ids, values):
        table = table.at[ids].add(jnp.exp(values) * 0.1)
        return table.at[ids // 2, 0].max(values.sum(-1)), jnp.take(table, ids[::-1], axis=0) * 2
    return update, struct(rows, width), struct(updates, dtype=jnp.int32), struct(updates, width)


def cross_entropy(draw):
    rows, classes = draw.choice((32, 77)), draw.choice((1000, 513))

    def loss(logits, labels, weights):
        scaled = jax.nn.log_softmax(logits / 1.7)
        picked = jnp.take_along_axis(scaled, labels[:, None], 1)[:, 0]
        return -(picked * weights).sum() / weights.sum() + 1e-4 * jnp.square(jax.nn.logsumexp(logits, -1)).mean()
    return jax.value_and_grad(loss), struct(rows, classes), struct(rows, dtype=jnp.int32), struct(rows)


def gated_recurrent(draw):
    batch, width, steps = draw.choice((3, 8)), draw.choice((24, 64)), draw.choice((5, 9))

    def run(xs, h, w, u):
        def cell(h, x):
            z, r, n = jnp.split(x @ w, 3, -1)
            hz, hr, hn = jnp.split(h @ u, 3, -1)
            z, r = jax.nn.sigmoid(z + hz), jax.nn.sigmoid(r + hr)
            h = (1 - z) * jnp.tanh(n + r * hn) + z * h
            return h, h
        return lax.scan(cell, h, xs)[1].sum()
    return jax.grad(run, (2, 3)), struct(steps, batch, width), struct(batch, width), struct(width, 3 * width), struct(width, 3 * width)


def adam(draw):
    shapes = [(draw.choice((64, 100)), draw.choice((64, 30))) for _ in range(draw.choice((3, 5)))]

    def update(params, grads, means, squares, count):
        total = jnp.sqrt(sum(jnp.sum(g ** 2) for g in grads))
        grads = [g * jnp.minimum(1.0, 1.0 / (total + 1e-6)) for g in grads]
        means = [0.9 * m + 0.1 * g for m, g in zip(means, grads)]
        squares = [0.999 * s + 0.001 * g * g for s, g in zip(squares, grads)]
        rate = 1e-3 * jnp.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
        return [p - rate * (m / (jnp.sqrt(s) + 1e-8) + 0.01 * p) for p, m, s in zip(params, means, squares)], means, squares
    of = [struct(*shape) for shape in shapes]
    return update, of, of, of, of, struct()


def rotary(draw):
    tokens, heads, size = draw.choice((64, 90)), draw.choice((4, 8)), draw.choice((32, 64))

    def rotate(x, positions):
        angles = positions[:, None] * (10000.0 ** -(jnp.arange(size // 2) * 2 / size))
        left, right = x[..., :size // 2], x[..., size // 2:]
        sin, cos = jnp.sin(angles)[:, None], jnp.cos(angles)[:, None]
        return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], -1).astype(jnp.bfloat16)
    return rotate, struct(tokens, heads, size), struct(tokens)


def dropout(draw):
    rows, width = draw.choice((100, 256)), draw.choice((64, 96))

    def forward(key, x, w):
        keys = jax.random.split(jax.random.wrap_key_data(key))
        keep = jax.random.bernoulli(keys[0], 0.8, x.shape)
        noise = jax.random.normal(keys[1], (rows, width)) * 0.1
        return jnp.where(keep, jax.nn.silu(x @ w) / 0.8, 0.0) + noise
    return forward, struct(2, dtype=jnp.uint32), struct(rows, width), struct(width, width)


def mixed_precision(draw):
    rows, width = draw.choice((64, 128)), draw.choice((128, 192))

    def forward(x, w, q, scale):
        y = (x @ w.astype(jnp.bfloat16)).astype(jnp.float32)
        dequantized = (q.astype(jnp.float32) - 3.0) * scale
        return jax.nn.relu(y @ dequantized.astype(jnp.bfloat16).astype(jnp.float32)).astype(jnp.float16), jnp.round(y / scale).astype(jnp.int8)
    return forward, struct(rows, width, dtype=jnp.bfloat16), struct(width, width), struct(width, width, dtype=jnp.int8), struct(width)


def stencil(draw):
    size, steps = draw.choice((64, 100)), draw.choice((3, 6))

    def evolve(u, k):
        for _ in range(steps):
            around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
            u = jnp.pad(u + 0.1 * k * (around - 4 * u), 1)[1:-1, 1:-1]
        return u, jnp.abs(u).max(), u[::2, ::2].mean()
    return evolve, struct(size, size), struct(size, size)


def prefix_sums(draw):
    rows, length = draw.choice((8, 20)), draw.choice((128, 300))

    def f(x):
        sums = jnp.cumsum(x, 1)
        return sums / (jnp.arange(length) + 1), lax.cummax(x, 1) - x, lax.associative_scan(jnp.multiply, 1 + 0.01 * x, axis=0)
    return f, struct(rows, length)


def sorting(draw):
    rows, length, k = draw.choice((16, 40)), draw.choice((100, 256)), draw.choice((4, 9))

    def f(x, noise):
        values, places = lax.top_k(x + noise, k)
        order = jnp.argsort(-x.sum(-1))
        return jax.nn.softmax(values), places * 2, jnp.sort(x, -1)[:, -k:] - values, x[order] * noise
    return f, struct(rows, length), struct(rows, length)


def branches(draw):
    width = draw.choice((64, 144))

    def f(k, x):
        y = lax.switch(k, (lambda x: jnp.sin(x) * x, lambda x: jnp.cumsum(x, 0) / 3, lambda x: x @ x.T), x)
        return lax.while_loop(lambda s: (s[0] < 8) & (jnp.abs(s[1]).max() < 50), lambda s: (s[0] + 1, s[1] * 1.5 + jnp.cos(s[1])), (0, y))[1]
    return f, struct(dtype=jnp.int32), struct(width, width)


def spectrum(draw):
    rows, length = draw.choice((6, 12)), draw.choice((128, 240))

    def f(x, window):
        spectrum = jnp.fft.rfft((x - x.mean(-1, keepdims=True)) * window)
        power = jnp.abs(spectrum) ** 2
        return jnp.log1p(power) / power.max(-1, keepdims=True), jnp.fft.irfft(spectrum * jnp.exp(-power), length).real * 2
    return f, struct(rows, length), struct(length)


def segments(draw):
    nodes, edges, width = draw.choice((50, 120)), draw.choice((300, 444)), draw.choice((16, 32))

    def layer(x, source, target, w):
        messages = jax.nn.leaky_relu(x[source] @ w - x[target])
        scores = jnp.exp(messages.sum(-1))
        total = jax.ops.segment_sum(scores, target, nodes)
        return jax.ops.segment_sum(messages * (scores / total[target])[:, None], target, nodes) + x
    return jax.grad(lambda *a: layer(*a).sum(), (0, 3), allow_int=True), struct(nodes, width), struct(edges, dtype=jnp.int32), struct(edges, dtype=jnp.int32), struct(width, width)


def experts(draw):
    tokens, width, count = draw.choice((64, 120)), draw.choice((32, 48)), draw.choice((4, 6))

    def f(x, gate, up, down):
        share = jax.nn.softmax(x @ gate)
        top = jnp.where(share >= lax.top_k(share, 2)[0][:, -1:], share, 0.0)
        y = jnp.einsum('tw,ewh->teh', x, up)
        return jnp.einsum('teh,ehw,te->tw', jax.nn.swish(y), down, top / top.sum(-1, keepdims=True)) + x, (share.mean(0) ** 2).sum()
    return f, struct(tokens, width), struct(width, count), struct(count, width, 2 * width), struct(count, 2 * width, width)


def statistics(draw):
    rows, width = draw.choice((200, 333)), draw.choice((48, 100))

    def f(x, mask):
        x = jnp.where(mask, x, 0.0)
        count = mask.sum(0)
        mean = x.sum(0) / count
        spread = jnp.sqrt((jnp.where(mask, x - mean, 0.0) ** 2).sum(0) / count)
        z = (x - mean) / spread
        return jnp.clip(z, -3, 3).astype(jnp.bfloat16), (z ** 3).mean(), (z ** 4).mean() - 3, jnp.argmax(z, 0), z.min(1), (z.T @ z) / rows
    return f, struct(rows, width), struct(rows, width, dtype=jnp.bool_)


PROGRAMS = (mlp, attention, convolution, norms, scan, scatter, cross_entropy, gated_recurrent, adam, rotary, dropout, mixed_precision, stencil,
            prefix_sums, sorting, branches, spectrum, segments, experts, statistics)


def main(folder, seed):
    draw = random.Random(seed)
    for program in PROGRAMS:
        function, *arguments = program(draw)
        lowered = jax.jit(function).trace(*arguments).lower(lowering_platforms=('cuda',))
        (pathlib.Path(folder) / f'{program.__name__}.hlo.pb').write_bytes(lowered.compiler_ir('hlo').as_serialized_hlo_module_proto())


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
