"""Pallas kernels, which JAX lowers for Triton: `pallas_programs.py OUT` writes NAME.hlo.pb of a module around each."""
import os
import sys

os.environ['JAX_PLATFORMS'] = 'cpu'
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.experimental import pallas as pl  # noqa: E402
from jax.experimental.pallas import triton as plt  # noqa: E402

S = jax.ShapeDtypeStruct
f32, bf16, f16 = jnp.float32, jnp.bfloat16, jnp.float16
P = {}


def prog(out, grid, ins, outs, *shapes):
    def keep(kernel):
        def run(*arrays):
            return pl.pallas_call(kernel, out_shape=out, grid=grid, in_specs=ins, out_specs=outs,
                                  compiler_params=plt.CompilerParams(num_warps=4, num_stages=1))(*arrays)
        run.__name__ = 'pallas_' + kernel.__name__
        P[run.__name__] = (run, [S(*shape) for shape in shapes])
        return kernel
    return keep


def rows(*sizes):
    return pl.BlockSpec(sizes, lambda i: (i,) + (0,) * (len(sizes) - 1))


def whole(*sizes):
    return pl.BlockSpec(sizes, lambda i: (0,) * len(sizes))


@prog(S((512,), f32), (4,), [rows(128)] * 2, rows(128), ((512,), f32), ((512,), f32))
def add(x, y, o):
    o[...] = x[...] + y[...] * 2


@prog(S((32, 128), f32), (4,), [rows(8, 128)], rows(8, 128), ((32, 128), f32))
def softmax(x, o):
    v = x[...]
    e = jnp.exp(v - v.max(1, keepdims=True))
    o[...] = e / e.sum(1, keepdims=True)


@prog(S((64, 64), f32), (2, 2), [pl.BlockSpec((32, 64), lambda i, j: (i, 0)), pl.BlockSpec((64, 32), lambda i, j: (0, j))],
      pl.BlockSpec((32, 32), lambda i, j: (i, j)), ((64, 64), f16), ((64, 64), f16))
def matmul(x, y, o):
    o[...] = jnp.dot(x[...], y[...], preferred_element_type=f32)


@prog(S((64, 64), bf16), (2,), [rows(32, 64), whole(64, 64), whole(64)], rows(32, 64), ((64, 64), bf16), ((64, 64), bf16), ((64,), bf16))
def matmul_gelu(x, y, b, o):
    o[...] = jax.nn.gelu(jnp.dot(x[...], y[...], preferred_element_type=f32) + b[...].astype(f32)).astype(bf16)


@prog(S((16, 256), bf16), (4,), [rows(4, 256), whole(256)], rows(4, 256), ((16, 256), bf16), ((256,), bf16))
def rmsnorm(x, g, o):
    v = x[...].astype(f32)
    o[...] = (v * jax.lax.rsqrt((v * v).mean(1, keepdims=True) + 1e-6) * g[...].astype(f32)).astype(bf16)


@prog(S((512,), f32), (4,), [rows(128)], rows(128), ((512,), f32))
def functions(x, o):
    v = x[...]
    o[...] = jnp.tanh(v) * jnp.sin(v) + jnp.exp2(v) + jnp.sqrt(jnp.abs(v))


@prog(S((32, 32), f32), (1,), [whole(32, 32)] * 3, whole(32, 32), ((32, 32), f16), ((32, 32), f16), ((32, 32), f16))
def attention(q, k, v, o):
    s = jnp.dot(q[...], k[...].T, preferred_element_type=f32) * 0.17
    p = jnp.exp(s - s.max(1, keepdims=True))
    o[...] = jnp.dot(p.astype(f16), v[...], preferred_element_type=f32) / p.sum(1, keepdims=True)


@prog(S((64,), f32), (2,), [rows(32, 64)], rows(32), ((64, 64), f32))
def row_loop(x, o):
    o[...] = jax.lax.fori_loop(0, 8, lambda i, a: a * 0.9 + x[...].sum(1) * i, jnp.zeros((32,), f32))


if __name__ == '__main__':
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, (f, shapes) in P.items():
        module = jax.jit(f).trace(*shapes).lower(lowering_platforms=('cuda',)).compiler_ir('hlo')
        with open(f'{sys.argv[1]}/{name}.hlo.pb', 'wb') as file:
            file.write(module.as_serialized_hlo_module_proto())
