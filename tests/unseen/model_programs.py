"""Parts of models as people train them, beside the kinds of programs.py: partitioned steps, experts, ring attention, state in host memory."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding
from programs import mesh, weights


def sharded_step(draw, size):
    """Parameters cut along both axes of a mesh; every update of them reads alike."""
    both = mesh(('fsdp', 'tp'), 2, 2)
    place = lambda a, *axes: jax.device_put(a, NamedSharding(both, PartitionSpec(*axes)))
    params = [(place(weights(draw, 16, 32), 'fsdp', 'tp'), place(weights(draw, 32, 16), 'tp', 'fsdp')) for _ in range(size)]

    def loss(params, x):
        for k, (up, down) in enumerate(params):
            with jax.named_scope(f'ffn_{k}'):
                x = x + jax.nn.relu(x @ up) @ down
        return (x * x).mean()

    def step(params, x):
        value, grads = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value
    jax.jit(step, donate_argnums=0)(params, place(weights(draw, 8, 16), 'fsdp', None))


def experts(draw, size):
    """Rounds that read alike in a manual computation, with exchanges between devices."""
    count, width, tokens = 4, 8, 16

    def f(gate, up, down, x):
        for _ in range(size):
            with jax.named_scope('router'):
                share = jax.nn.softmax(x @ gate)
                chosen = jax.nn.one_hot(jnp.argmax(share, -1), count)
            with jax.named_scope('dispatch'):
                sent = lax.all_to_all(jnp.einsum('te,td->etd', chosen, x), 'expert', 0, 0, tiled=True)
            with jax.named_scope('expert'):
                sent = jax.nn.gelu(sent @ up[0]) @ down[0]
            with jax.named_scope('combine'):
                back = lax.all_to_all(sent, 'expert', 0, 0, tiled=True)
                x = x + jnp.einsum('te,etd->td', chosen, back) * share.max(-1, keepdims=True)
        return lax.psum_scatter(x, 'expert', scatter_dimension=1, tiled=True)
    cut = PartitionSpec('expert')
    mapped = jax.shard_map(f, mesh=mesh(('expert',), count), in_specs=(PartitionSpec(), cut, cut, cut), out_specs=cut, check_vma=False)
    jax.jit(mapped)(weights(draw, width, count), weights(draw, count, width, 16), weights(draw, count, 16, width), weights(draw, tokens * count, width))


def ring_attention(draw, size):
    def f(q, k, v):
        def body(_, state):
            out, total, most, k, v = state
            scores = q @ k.T / np.sqrt(q.shape[-1])
            now = jnp.maximum(most, scores.max(-1))
            p, keep = jnp.exp(scores - now[:, None]), jnp.exp(most - now)
            turn = lambda a: lax.ppermute(a, 'seq', [(j, (j + 1) % 4) for j in range(4)])
            return out * keep[:, None] + p @ v, total * keep + p.sum(-1), now, turn(k), turn(v)
        zero = q[:, 0] * 0
        out, total = lax.fori_loop(0, 4, body, (q * 0, zero, zero - jnp.inf, k, v), unroll=bool(size % 2))[:2]
        return out / total[:, None]
    cut = PartitionSpec('seq')
    a = [weights(draw, 4 * size, 8) for _ in range(3)]
    jax.jit(jax.shard_map(f, mesh=mesh(('seq',), 4), in_specs=(cut,) * 3, out_specs=cut))(*a)


def host_state(draw, size):
    """Momentum in the memory of the host."""
    device = jax.devices()[0]
    there, here = (SingleDeviceSharding(device, memory_kind=kind) for kind in ('pinned_host', 'device'))
    params = [weights(draw, 48, 48) for _ in range(size)]
    state = [jax.device_put(jnp.zeros((48, 48)), there) for _ in range(size)]

    def step(params, state, x):
        def loss(params):
            y = x
            for k, p in enumerate(params):
                with jax.named_scope(f'block_{k}'):
                    y = jax.nn.gelu(y @ p)
            return (y ** 2).mean()
        grads = jax.grad(loss)(params)
        with jax.named_scope('momentum'):
            state = [0.9 * jax.device_put(m, here) + g for m, g in zip(state, grads)]
            params = [p - 0.1 * m for p, m in zip(params, state)]
        return params, [jax.device_put(m, there) for m in state]
    jax.jit(step, out_shardings=([here] * size, [there] * size))(params, state, weights(draw, 8, 48))
