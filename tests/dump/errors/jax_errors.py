# Errors of JAX, one a function: jax_errors.py NAME. The recorded texts name these lines.
def nonzero():
    @jax.jit
    def f(x): return jnp.nonzero(x)
    f(jnp.ones(3))
def string_arg():
    jax.jit(lambda x: x)("abc")
def vmap_sizes():
    jax.vmap(lambda a, b: a + b)(jnp.ones(3), jnp.ones(4))
def setitem():
    x = jnp.ones(3); x[0] = 1
def reshape():
    jnp.ones(4).reshape(3)
def concat():
    jnp.concatenate([jnp.ones((2, 3)), jnp.ones((2, 4))])
def unique():
    jax.jit(jnp.unique)(jnp.ones(3))
def boolmask():
    jax.jit(lambda x: x[x > 0])(jnp.ones(3))
def intconv():
    jax.jit(lambda n: jnp.zeros(n))(3)
def pyrange():
    jax.jit(lambda n: [i for i in range(n)])(3)
def whileshape():
    jax.lax.while_loop(lambda c: c.sum() < 9, lambda c: jnp.concatenate([c, c]), jnp.ones(2))
def devices():
    jax.jit(lambda a, b: a + b)(jax.device_put(jnp.ones(3), jax.devices()[0]), jax.device_put(jnp.ones(3), jax.devices()[1]))
def gradint():
    jax.grad(lambda x: x * 2)(3)
def keyerr():
    jax.random.normal(0, (3,))
def leak():
    s = []
    @jax.jit
    def f(x): s.append(x); return x
    f(1.0); s[0] + 1
def outsize():
    jnp.linalg.inv(jnp.ones((2, 3)))
def einsum():
    jnp.einsum('ij,jk->ik', jnp.ones((2, 3)), jnp.ones((4, 5)))
def badaxis():
    jnp.ones((2, 3)).sum(axis=5)
def indexoob():
    jax.jit(lambda x: x[5.0])(jnp.ones(3))
def switchtypes():
    jax.lax.switch(0, [lambda x: x, lambda x: (x, x)], 1.0)
def fori():
    jax.lax.fori_loop(0, 3, lambda i, x: x.astype(jnp.int32), 1.0)
def mesh():
    from jax.sharding import PartitionSpec as P
    jax.make_mesh((16,), ('d',))
def shapeint():
    jax.jit(lambda x: jnp.arange(x.sum()))(jnp.ones(3))
def floatcall():
    jax.jit(lambda x: float(x))(1.0)
def iff():
    jax.jit(lambda x: 1 if x else 2)(1.0)
def memory():
    jnp.ones((200000, 200000, 4))
def custom_vjp():
    @jax.custom_vjp
    def f(x): return x
    jax.grad(f)(1.0)
def platform():
    jax.config.update('jax_platforms', 'cuda'); jnp.ones(3)
def nodevice():
    jax.devices('gpu')
import sys, jax, jax.numpy as jnp, numpy as np, functools
globals()[sys.argv[1]]()
