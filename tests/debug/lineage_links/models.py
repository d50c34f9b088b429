"""Programs behind the dumps of this folder (beside those of samples/): writes NAME.hlo.pb for each.

hloscope compile NAME.hlo.pb --with xla-cpu|xla-gpu --target h100 --dump DIR --passes made the dumps with
lammps-jax-pjrt-cpu 0.11.2 and jax-cuda13-pjrt 0.12.0; kept are the stages around the sampled links. In NAME.tsv
each row was judged by reading both texts: the instruction after, and what it comes from.
"""
import jax, jax.numpy as jnp, sys
from jax import lax
def recurrent_cell(params, xs):
    w, u, b = params
    def step(h, x):
        z = jax.nn.sigmoid(x @ w + h @ u + b)
        h = z * h + (1 - z) * jnp.tanh(x @ w)
        return h, h.sum(-1)
    def loss(w):
        h, ys = lax.scan(lambda h, x: ((jnp.tanh(x @ w + h @ u + b)), h.mean()), jnp.zeros((4, 8)), xs)
        return (h ** 2).sum() + ys.sum()
    h, ys = lax.scan(step, jnp.zeros((4, 8)), xs)
    return h, ys, jax.grad(loss)(w)
def nearest(points, queries):
    d = ((queries[:, None, :] - points[None, :, :]) ** 2).sum(-1)
    order = jnp.argsort(d, axis=1)
    val, idx = lax.top_k(-d, 3)
    return jnp.take_along_axis(d, order[:, :4], axis=1), val, idx, jnp.sort(points[:, 0]), jnp.cumsum(d, axis=1)
def newton_branches(x, n):
    def body(s):
        i, v = s
        v = lax.cond(i % 3 == 0, lambda v: v - (v * v - 2) / (2 * v), lambda v: jnp.where(v > 5, v / 2, v + 0.01), v)
        def inner(j, a): return a + jnp.sin(a) * j
        v = v + 0.001 * lax.fori_loop(0, 4, inner, v)
        return i + 1, v
    i, v = lax.while_loop(lambda s: s[0] < n, body, (jnp.int32(0), x))
    return i, v, jnp.sum(v)
def noisy_layer(key, x, w):
    k1, k2 = jax.random.split(key)
    mask = jax.random.bernoulli(k1, 0.9, x.shape)
    noise = jax.random.normal(k2, x.shape) * 0.1
    y = jnp.where(mask, x, 0) @ w + noise @ w
    return jax.nn.gelu(y), jax.random.permutation(k2, 6)
def embed_update(table, ids, target):
    def loss(t):
        e = t[ids]
        p = jax.nn.log_softmax(e @ t.T)
        return -jnp.take_along_axis(p, target[..., None], -1).mean()
    l, g = jax.value_and_grad(loss)(table)
    return l, table - 0.1 * g, jnp.argmax(table @ table.T, -1)
def whiten(x):
    c = x.T @ x / x.shape[0] + 0.1 * jnp.eye(x.shape[1])
    l = jnp.linalg.cholesky(c)
    z = jax.scipy.linalg.solve_triangular(l, x.T, lower=True)
    p = lax.reduce_window(z, -jnp.inf, lax.max, (1, 3), (1, 2), 'SAME')
    f = jnp.fft.rfft(z[:2, :16])
    return z.T, p, jnp.abs(f), lax.conv_general_dilated(z[None, None, :5, :8], jnp.ones((2, 1, 3, 3)), (1, 1), 'SAME')
f = jnp.float32
S = jax.ShapeDtypeStruct
P = {
 'recurrent_cell': (recurrent_cell, ((S((6, 8), f), S((8, 8), f), S((8,), f)), S((5, 4, 6), f))),
 'nearest': (nearest, (S((20, 3), f), S((6, 3), f))),
 'newton_branches': (newton_branches, (S((7,), f), S((), jnp.int32))),
 'noisy_layer': (noisy_layer, (S((2,), jnp.uint32), S((4, 6), f), S((6, 5), f))),
 'embed_update': (embed_update, (S((12, 8), f), S((3, 4), jnp.int32), S((3, 4), jnp.int32))),
 'whiten': (whiten, (S((24, 5), f),)),
}
for n, (fn, a) in P.items():
    m = jax.jit(fn).lower(*a).compiler_ir('hlo').as_serialized_hlo_module_proto()
    open(f'{n}.hlo.pb', 'wb').write(m); print(n, len(m))
