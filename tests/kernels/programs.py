"""Small JAX programs of which XLA:GPU makes the kernels of kernels.tar.xz: `programs.py OUT` writes NAME.hlo.pb of each."""
import os
import sys

os.environ['JAX_PLATFORMS'] = 'cpu'
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

S = jax.ShapeDtypeStruct
f32, bf16, f16, s32, s8, f64 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32, jnp.int8, jnp.float64
P = {}


def prog(*shapes):
    def keep(f):
        P[f.__name__] = (f, [S(s, t) for s, t in shapes])
        return f
    return keep


@prog(((96, 130), f32))
def softmax_rows(x):
    return jax.nn.softmax(x, -1)


@prog(((33, 1000), f32))
def softmax_long(x):
    return jax.nn.softmax(x, -1)


@prog(((64, 300), bf16), ((300,), bf16), ((300,), bf16))
def layernorm(x, g, b):
    x = x.astype(f32)
    m = x.mean(-1, keepdims=True)
    v = x.var(-1, keepdims=True)
    return ((x - m) * lax.rsqrt(v + 1e-5) * g.astype(f32) + b.astype(f32)).astype(bf16)


@prog(((70, 513), f32), ((513,), f32))
def rmsnorm(x, g):
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * g


@prog(((300, 70), f32))
def sum_columns(x):
    return x.sum(0)


@prog(((1000, 33), f32))
def max_columns(x):
    return jnp.maximum(x, 0.25).max(0)


@prog(((5000,), f32))
def sum_all(x):
    return (x * x).sum()


@prog(((40, 2000), f32))
def argmax_rows(x):
    return jnp.argmax(x, -1)


@prog(((50, 700), f32))
def minmax_rows(x):
    return x.min(-1), x.max(-1)


@prog(((20, 600), f32))
def logsumexp_rows(x):
    return jax.nn.logsumexp(x, -1)


@prog(((65, 97), f32))
def transpose_scale(x):
    return x.T * 1.7


@prog(((5, 40, 66), bf16))
def transpose_021(x):
    return jnp.transpose(x, (0, 2, 1)) + 1


@prog(((7, 33, 20), f32))
def transpose_210(x):
    return jnp.transpose(x, (2, 1, 0)) * jnp.float32(0.3)


@prog(((64, 64), bf16), ((64, 64), bf16))
def gemm_bf16(a, b):
    return a @ b


@prog(((64, 160), f16), ((160, 48), f16), ((48,), f16))
def gemm_f16_relu(a, b, c):
    return jnp.maximum(a @ b + c, 0)


@prog(((50, 70), f32), ((70, 90), f32))
def gemm_f32(a, b):
    return a @ b


@prog(((64, 96), bf16), ((96, 64), bf16), ((64,), bf16))
def gemm_gelu(a, b, c):
    return jax.nn.gelu(a @ b + c)


@prog(((3, 48, 40), bf16), ((3, 40, 56), bf16))
def gemm_batched(a, b):
    return jnp.einsum('bik,bkj->bij', a, b)


@prog(((64, 64), s8), ((64, 64), s8))
def gemm_s8(a, b):
    return lax.dot(a, b, preferred_element_type=s32)


@prog(((2, 48, 32), bf16), ((2, 48, 32), bf16), ((2, 48, 32), bf16))
def attention(q, k, v):
    s = jnp.einsum('bqd,bkd->bqk', q, k).astype(f32) * 0.176
    s = jnp.where(jnp.tril(jnp.ones((48, 48), bool)), s, -1e9)
    return jnp.einsum('bqk,bkd->bqd', jax.nn.softmax(s, -1).astype(bf16), v)


@prog(((2100,), f32))
def gelu_tanh(x):
    return jax.nn.gelu(x) * jnp.tanh(x)


@prog(((1500,), f32))
def erf_log(x):
    return lax.erf(x) + jnp.log1p(jnp.abs(x)) * jnp.sin(x)


@prog(((900,), f32))
def exp_pow(x):
    return jnp.exp(-x * x) + jnp.power(jnp.abs(x) + 0.5, 1.3)


@prog(((1200,), f32))
def atan_lgamma(x):
    return jnp.arctan(x) + lax.lgamma(jnp.abs(x) + 1.5)


@prog(((1200,), f64))
def f64_exp(x):
    return jnp.exp(-jnp.abs(x)) * jnp.float64(1.25)


@prog(((31, 57), f32), ((31, 57), f32))
def clamp_select(x, y):
    return jnp.where(x > 0.3, jnp.clip(y, -0.5, 0.7), jnp.minimum(x, y) * 0.4)


@prog(((64, 40), f32), ((77,), s32))
def gather_rows(x, i):
    return x[i] * 2.5


@prog(((64, 40), f32), ((77,), s32), ((77, 40), f32))
def scatter_add(x, i, u):
    return x.at[i].add(u)


@prog(((64, 30), f32), ((40,), s32), ((40, 30), f32))
def scatter_max(x, i, u):
    return x.at[i].max(u)


@prog(((130, 50), f32), ((3,), s32))
def dynamic_slices(x, i):
    return lax.dynamic_slice(x, (i[0], i[1]), (60, 30)) * 1.5


@prog(((33, 40), f32), ((33, 25), f32), ((33, 17), f32))
def concat_pad(a, b, c):
    return jnp.pad(jnp.concatenate([a, b, c], 1), ((1, 2), (3, 0)), constant_values=0.5) * 3


@prog(((40, 600), f32))
def cumsum_rows(x):
    return jnp.cumsum(x, 1)


@prog(((30, 200), f32))
def cummax_rows(x):
    return lax.cummax(x, 1)


@prog(((2, 30, 30, 5), f32))
def maxpool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME')


@prog(((2, 30, 30, 5), f32))
def avgpool(x):
    return lax.reduce_window(x, 0., lax.add, (1, 3, 3, 1), (1, 1, 1, 1), 'VALID') / 9


@prog(((30, 200), f32))
def sort_rows(x):
    return jnp.sort(x, -1)


@prog(((100,), s32), ((2000,), f32))
def threefry(k, x):
    return jax.random.uniform(jax.random.PRNGKey(3), (2000,)) * x + k[0]


@prog(((31, 61), s32), ((31, 61), s32))
def integers(a, b):
    return (a // (jnp.abs(b) + 1)) * 3 + (a % 7) - jnp.minimum(a, b) * jnp.maximum(b, 5)


@prog(((64, 90), bf16), ((64, 90), bf16), ((64, 90), bf16))
def adam(p, m, g):
    m2 = 0.9 * m.astype(f32) + 0.1 * g.astype(f32)
    v = g.astype(f32) ** 2 * 0.01
    return (p.astype(f32) - 0.003 * m2 / (jnp.sqrt(v) + 1e-4)).astype(bf16), m2.astype(bf16)


@prog(((40, 64), f32), ((40,), s32))
def cross_entropy(x, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean()


@prog(((20, 48), f32), ((48, 24), f32), ((24, 10), f32))
def mlp_grad(x, w, v):
    return jax.grad(lambda w, v: (jnp.tanh(x @ w) @ v).var(), (0, 1))(w, v)


@prog(((66, 66), f32))
def stencil(x):
    return x[1:-1, 1:-1] * -4 + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]


@prog(((500,), f32))
def iota_rope(x):
    t = jnp.arange(500, dtype=f32)
    a = t * 0.02
    return x * jnp.cos(a) + jnp.roll(x, 250) * jnp.sin(a)


@prog(((24, 30, 8), f32), ((24, 30), f32))
def reduce_middle(x, w):
    return (x * w[..., None]).sum(1), x.max(1)


@prog(((4, 2100), f32))
def mean_var(x):
    return x.mean(1), x.var(1)


if __name__ == '__main__':
    jax.config.update('jax_enable_x64', True)
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    for name, (f, shapes) in P.items():
        text = jax.jit(f).lower(*shapes).compiler_ir('hlo').as_serialized_hlo_module_proto()
        open(f'{out}/{name}.hlo.pb', 'wb').write(text)
