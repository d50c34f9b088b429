# Five programs of JAX for the CPU, each traced by jax.profiler with XLA's dump beside: run as `traced_programs.py NAME FOLDER`, leaves the trace in
# FOLDER/trace and the dump in FOLDER/dump. The first calls, which compile, are outside of the trace.
import functools
import os
import sys

NAME, FOLDER = sys.argv[1], sys.argv[2]
os.environ['XLA_FLAGS'] = f'--xla_dump_to={FOLDER}/dump --xla_dump_hlo_as_proto'
os.environ['JAX_PLATFORMS'] = 'cpu'

import jax  # noqa: E402, XLA_FLAGS is read when it is imported
import jax.numpy as jnp  # noqa: E402


def made_up(seed, *shape):
    return jax.random.normal(jax.random.key(seed), shape) * 0.1


def mlp():
    """A training step of a perceptron, with its gradients and the update of its weights."""
    weights = [made_up(k, *shape) for k, shape in enumerate(((128, 256), (256, 256), (256, 10)))]

    def loss(weights, x, y):
        for w in weights[:-1]:
            x = jax.nn.gelu(x @ w)
        return jnp.mean((x @ weights[-1] - y) ** 2)

    @jax.jit
    def step(weights, x, y):
        value, gradients = jax.value_and_grad(loss)(weights, x, y)
        return value, [w - 0.1 * g for w, g in zip(weights, gradients)]

    x, y = made_up(7, 64, 128), made_up(8, 64, 10)
    return lambda: step(weights, x, y)


def transformer():
    """Blocks of attention and a perceptron, one behind the other in a scan."""
    width, heads, length, layers = 128, 4, 64, 6

    def block(x, w):
        q, k, v = (jnp.reshape(x @ w[name], (length, heads, -1)) for name in ('q', 'k', 'v'))
        scores = jnp.einsum('ihd,jhd->hij', q, k) / (width / heads) ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        x = x + jnp.einsum('hij,jhd->ihd', jax.nn.softmax(scores), v).reshape(length, width) @ w['out']
        x = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)
        return x + jax.nn.silu(x @ w['up']) @ w['down'], None

    shapes = {'q': (width, width), 'k': (width, width), 'v': (width, width), 'out': (width, width), 'up': (width, 512), 'down': (512, width)}
    weights = {name: made_up(k, layers, *shape) for k, (name, shape) in enumerate(shapes.items())}
    forward = jax.jit(lambda x, w: jax.lax.scan(block, x, w)[0])
    x = made_up(9, length, width)
    return lambda: forward(x, weights)


def convolution():
    """A small network of convolutions and pooling."""
    @jax.jit
    def network(x, kernels):
        for kernel in kernels:
            x = jax.lax.conv_general_dilated(x, kernel, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
            x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')
        return x.mean((1, 2))

    kernels = [made_up(0, 3, 3, 3, 16), made_up(1, 3, 3, 16, 32)]
    x = made_up(2, 4, 32, 32, 3)
    return lambda: network(x, kernels)


def sort_and_scatter():
    """Sorts, gathers and scatters in a loop that ends by its values, with a conditional in it."""
    @jax.jit
    def shuffle(keys, values):
        def body(state):
            turn, keys, values, table = state
            order = jnp.argsort(keys)
            values = values[order]
            table = table.at[order % table.shape[0]].add(values)
            keys = jax.lax.cond(turn % 2 == 0, lambda k: jnp.cumsum(k) % 997, lambda k: k[::-1] * 31 % 1009, keys)
            return turn + 1, keys, values, table

        return jax.lax.while_loop(lambda s: (s[0] < 12) & (s[3].sum() < 1e9), body, (0, keys, values, jnp.zeros(257)))

    keys = jax.random.randint(jax.random.key(3), (4096,), 0, 1000)
    values = made_up(4, 4096)
    return lambda: shuffle(keys, values)


def interleaved():
    """Several modules in turns, among them two of one name and instructions of the same names."""
    def made(k):
        @jax.jit
        def step(x):
            return jnp.tanh(x @ x.T) * k + jnp.fft.ifft(jnp.fft.fft(x)).real
        return step

    steps = [made(1.0), made(2.5)]
    solve = jax.jit(lambda x: jnp.linalg.cholesky(x @ x.T + 100 * jnp.eye(x.shape[0])))
    draw = jax.jit(functools.partial(jax.random.normal, shape=(96, 96)))
    x, key = made_up(5, 96, 96), jax.random.key(6)
    return lambda: (steps[0](x), solve(x), steps[1](x), draw(key), steps[0](x))


PROGRAMS = {program.__name__: program for program in (mlp, transformer, convolution, sort_and_scatter, interleaved)}

call = PROGRAMS[NAME]()
jax.block_until_ready(call())
options = jax.profiler.ProfileOptions()
options.python_tracer_level = 0
with jax.profiler.trace(FOLDER + '/trace', profiler_options=options):
    for _ in range(5):
        jax.block_until_ready(call())
