"""From a function of jax to a bug report that somebody else can check: record, look, run on two platforms, find where they differ, measure, pack."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

import hloscope


@jax.jit
def attention(query, key, value):
    weights = jax.nn.softmax(query @ key.T / jnp.sqrt(query.shape[-1]))
    return {'weights': weights, 'result': weights @ value}


random = np.random.default_rng(0)
inputs = [random.normal(size=(8, 16)).astype(np.float32) for _ in range(3)]
out = sys.argv[1] if len(sys.argv) > 1 else '.'

with hloscope.record(f'{out}/dump', passes=True) as dump:
    attention(*inputs)
for module in hloscope.info(dump).modules:
    print(module['name'], len(module['stages']), 'stages')

run = hloscope.run(attention, *inputs, platform='cpu', reference='interpreter')
print(run.status, {name: array.shape for name, array in run.value.items()})
np.testing.assert_allclose(run.value['result'], attention(*inputs)['result'], rtol=1e-4, atol=1e-5)

print(hloscope.diverge(attention, *inputs, platform='cpu', reference='interpreter').verdict)
profile = hloscope.profile(attention, *inputs, platform='cpu', repeat=3, out=f'{out}/attention.hloprof')
print('wrote', profile['written'])

bundle = hloscope.bundle(attention, *inputs, platform='cpu', reference='interpreter', values='all', profile=profile['written'], out=f'{out}/attention.hlob')
print(bundle.verdict)
print(hloscope.bundle('check', bundle.file).status)
