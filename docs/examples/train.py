"""A training step in JAX, to be recorded: hloscope record -- python train.py."""
import jax
import jax.numpy as jnp

x = jax.random.normal(jax.random.key(0), (256, 64))
w = jnp.zeros((64, 32))
y = jax.random.randint(jax.random.key(1), (256,), 0, 32)


def loss(w):
    logits = jnp.tanh(x @ w)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1).mean()


@jax.jit
def train_step(w):
    value, gradient = jax.value_and_grad(loss)(w)
    return w - 0.1 * gradient, value


for _ in range(3):
    w, value = train_step(w)
print(f'loss {value:.4f}')
