#!/usr/bin/env python3
"""Makes the samples: runs five JAX programs on the CPU and keeps what XLA dumped, of the small ones also the inputs and the
results; and has XLA compile four for GPUs that are only described, by `hloscope compile`, and keeps those dumps.

  scripts/setup samples --plugins --gpu && .venv/bin/python samples/make_samples.py [NAME…]

Seeds are fixed, so the same jax version on the same kind of CPU gives the same files. HLOSCOPE names the program, if not
that of the release build."""
import glob
import gzip
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
JAX_VERSION = '0.10.2'
KEPT_OF_LARGE = ('before_optimizations.txt', 'cpu_after_optimizations*.txt', '*.ir-with-opt.ll')
KEPT = ('before_optimizations.txt', 'before_optimizations.hlo.pb', 'cpu_after_optimizations.txt', 'cpu_after_optimizations.hlo.pb')


def mlp_train_step():
    """One step of SGD with momentum on a three-layer classifier; returns the new state and the loss."""
    import jax
    import jax.numpy as jnp

    def loss(params, images, labels):
        x = images
        for weights, bias in params[:-1]:
            x = jax.nn.relu(x @ weights + bias)
        weights, bias = params[-1]
        log_probabilities = jax.nn.log_softmax(x @ weights + bias)
        return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))

    def mlp_train_step(params, velocity, images, labels):
        value, gradients = jax.value_and_grad(loss)(params, images, labels)
        velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradients)
        params = jax.tree.map(lambda p, v: p - 0.05 * v, params, velocity)
        return params, velocity, value

    r = random(1)
    sizes = (24, 32, 16, 10)
    params = [(normal(r, m, n) / np().sqrt(m).astype('f4'), normal(r, n) * 0.1) for m, n in zip(sizes, sizes[1:])]
    velocity = jax.tree.map(lambda p: 0.01 * normal(r, *p.shape), params)
    return mlp_train_step, (params, velocity, normal(r, 16, sizes[0]), r.integers(0, 10, 16).astype('i4'))


def attention_block():
    """A pre-norm transformer block: causal attention with four heads, then a GELU layer."""
    import jax
    import jax.numpy as jnp

    def norm(x, scale):
        centred = x - x.mean(-1, keepdims=True)
        return scale * centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)

    def attention_block(x, scales, qkv, out, up, down):
        q, k, v = jnp.einsum('btd,dnhk->nbhtk', norm(x, scales[0]), qkv)
        scores = jnp.einsum('bhtk,bhsk->bhts', q, k) / np().sqrt(q.shape[-1]).astype('f4')
        causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf))
        x = x + jnp.einsum('bhts,bhsk,hkd->btd', weights, v, out)
        return x + jax.nn.gelu(norm(x, scales[1]) @ up) @ down

    r = random(2)
    d, heads, k = 32, 4, 8
    return attention_block, (normal(r, 2, 12, d), 1 + 0.1 * normal(r, 2, d), normal(r, d, 3, heads, k) * 0.2,
                             normal(r, heads, k, d) * 0.2, normal(r, d, 2 * d) * 0.2, normal(r, 2 * d, d) * 0.2)


def conv_net():
    """Forward pass of a small image classifier: strided, dilated and grouped convolutions, max pooling, softmax."""
    import jax
    import jax.numpy as jnp

    def conv(x, kernel, **options):
        return jax.lax.conv_general_dilated(x, kernel, dimension_numbers=('NHWC', 'HWIO', 'NHWC'), **options)

    def conv_net(images, first, grouped, dilated, dense):
        x = jax.nn.relu(conv(images, first, window_strides=(1, 1), padding='SAME'))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'SAME')
        x = jax.nn.relu(conv(x, grouped, window_strides=(2, 1), padding=((1, 1), (0, 2)), feature_group_count=4))
        x = jnp.tanh(conv(x, dilated, window_strides=(1, 1), padding='SAME', rhs_dilation=(2, 2)))
        return jax.nn.softmax(x.mean((1, 2)) @ dense)

    r = random(3)
    return conv_net, (normal(r, 2, 13, 16, 3), normal(r, 3, 3, 3, 8) * 0.3, normal(r, 3, 3, 2, 16) * 0.3,
                      normal(r, 2, 2, 16, 12) * 0.3, normal(r, 12, 7))


def power_iteration():
    """The largest eigenvalue of a symmetric matrix by a while loop that stops when the vector settles."""
    import jax
    import jax.numpy as jnp

    def power_iteration(matrix, start):
        def unsettled(state):
            step, _, change = state
            return (step < 100) & (change > 3e-4)

        def multiply(state):
            step, vector, _ = state
            product = matrix @ vector
            product = product / jnp.linalg.norm(product)
            return step + 1, product, jnp.max(jnp.abs(product - vector))

        steps, vector, _ = jax.lax.while_loop(unsettled, multiply, (0, start, jnp.float32(1)))
        return vector @ (matrix @ vector), vector, steps

    r = random(4)
    basis, _ = np().linalg.qr(normal(r, 12, 12).astype('f8'))
    # Each value a half of the one before: every step halves the change, so rounding cannot move where the loop stops.
    matrix = (basis * 5.0 * 0.5 ** np().arange(12)) @ basis.T
    return power_iteration, (matrix.astype('f4'), normal(r, 12))


def softmax():
    """The logarithm of softmax over rows."""
    import jax

    def softmax(x):
        return jax.nn.log_softmax(x)

    return softmax, (normal(random(5), 64, 1000),)


def data_parallel_step():
    """One step of gradient descent on four devices, each with a quarter of the batch: the gradients meet in an all-reduce."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    def data_parallel_step(weights, x, y):
        def loss(w):
            return jnp.mean((jnp.tanh(x @ w) - y) ** 2)

        return weights - 0.1 * jax.grad(loss)(weights)

    mesh = Mesh(np().array(jax.devices()), ('batch',))
    whole, cut = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), ('batch',)))
    r = random(6)
    return data_parallel_step, tuple(jax.device_put(value, place) for value, place in (
        (normal(r, 32, 16), whole), (normal(r, 64, 32), cut), (normal(r, 64, 16), cut)))


def gpt(layers, d, heads, vocabulary, batch, length):
    """A training step of a decoder: mixed precision, AdamW, the inputs of its blocks kept in host memory for the backward
    pass, and the loss reported by a function on the host. Returns the step and the shapes of its arguments."""
    import jax
    import jax.numpy as jnp
    from jax.ad_checkpoint import checkpoint_name

    def norm(x, scale):
        wide = x.astype(jnp.float32)
        return (wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype) * scale

    def attention(x, w):
        q, k, v = jnp.einsum('btd,dnhk->nbhtk', x, w['qkv'])
        scores = jnp.einsum('bhtk,bhsk->bhts', q, k, preferred_element_type=jnp.float32) / np().sqrt(q.shape[-1]).astype('f4')
        causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf)).astype(x.dtype)
        return jnp.einsum('bhts,bhsk,hkd->btd', weights, v, w['out'])

    def mlp(x, w):
        return (jax.nn.silu(x @ w['gate']) * (x @ w['up'])) @ w['down']

    def block(x, w):
        x = checkpoint_name(x, 'block_input')
        with jax.named_scope('attention'):
            x = x + attention(norm(x, w['norm1']), w)
        with jax.named_scope('mlp'):
            return x + mlp(norm(x, w['norm2']), w)

    offload = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=['block_input'], offload_src='device', offload_dst='pinned_host')

    def loss(params, tokens):
        w = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
        x = w['embed'][tokens[:, :-1]]
        for i, layer in enumerate(w['layers']):
            with jax.named_scope(f'layer{i}'):
                x = jax.checkpoint(block, policy=offload)(x, layer)
        logits = (norm(x, w['norm']) @ w['embed'].T).astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1).mean()

    def report_loss(step, value):
        pass

    def gpt_train_step(params, mean, square, step, tokens):
        value, gradients = jax.value_and_grad(loss)(params, tokens)
        jax.debug.callback(report_loss, step, value)
        with jax.named_scope('adamw'):
            step = step + 1
            mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradients)
            square = jax.tree.map(lambda s, g: 0.95 * s + 0.05 * g * g, square, gradients)
            rate = 3e-4 * jnp.minimum(1.0, step / 100)
            first, second = 1 - 0.9 ** step, 1 - 0.95 ** step
            params = jax.tree.map(lambda p, m, s: p - rate * ((m / first) / (jnp.sqrt(s / second) + 1e-8) + 0.1 * p),
                                  params, mean, square)
        return params, mean, square, step, value

    def shape(*sizes):
        return jax.ShapeDtypeStruct(sizes, jnp.float32)

    k = d // heads
    layer = dict(qkv=shape(d, 3, heads, k), out=shape(heads, k, d), gate=shape(d, 3 * d), up=shape(d, 3 * d),
                 down=shape(3 * d, d), norm1=shape(d), norm2=shape(d))
    params = dict(embed=shape(vocabulary, d), norm=shape(d), layers=[layer] * layers)
    return gpt_train_step, (params, params, params, shape(), jax.ShapeDtypeStruct((batch, length + 1), jnp.int32))


def gpt_train_step():
    """Small enough to run on a CPU."""
    import jax
    vocabulary = 1024
    step, shapes = gpt(4, 128, 4, vocabulary, 4, 128)
    r = random(7)
    params, mean, square = (jax.tree.map(lambda s, scale=scale: scale * normal(r, *s.shape), shapes[0]) for scale in (0.05, 0, 0))
    return step, (params, mean, square, np().float32(0), r.integers(0, vocabulary, shapes[4].shape).astype('i4'))


def gpt_train_step_for_gpu():
    """Twenty-four layers, 360 million parameters."""
    return gpt(24, 1024, 16, 32000, 8, 1024)


SAMPLES = (mlp_train_step, attention_block, conv_net, power_iteration)
# Without inputs and results, which would be large.
LARGE_SAMPLES = (gpt_train_step,)
# Programs compiled for a described GPU: folder, program, device, options of `hloscope compile`.
GPU_SAMPLES = (('attention_block_h100', attention_block, 'h100', ()),
               ('softmax_passes_a100', softmax, 'a100', ('--passes',)),
               ('data_parallel_step_b200', data_parallel_step, 'b200', ()),
               # No Python is there for XLA to call.
               ('gpt_train_step_h100', gpt_train_step_for_gpu, 'h100', ('--xla_gpu_mock_custom_calls=true',)))
# Of those, programs that are lowered for a GPU and never run: their shapes are too large for a CPU.
LOWERED_FOR_GPU = (gpt_train_step_for_gpu,)
# Texts that are longer are kept compressed.
LARGEST_PLAIN = 1 << 12
# Left out of those: the IR before LLVM's passes and copies of texts as protos, for their size; what is not the same each time.
GPU_LEFT_OUT = ('.ir-no-opt.ll', 'memory-usage-report.pb', 'priority_fusion_dump.txt', 'priority_fusion_dump.pb')
GPU_LEFT_OUT_OF_LARGE = ('.hlo.pb', '.before_validation.ttir.txt', '.after_spmd_partitioner.txt', '.before_config_assignment.txt',
                         '.thunk_sequence_after_thunk_passes.txt')
GPU_KEPT_PROTOS = ('before_optimizations.hlo.pb', 'gpu_after_optimizations.hlo.pb')


def np():
    import numpy
    return numpy


def random(seed):
    return np().random.default_rng(seed)


def normal(generator, *shape):
    return generator.standard_normal(shape, 'f4')


def record(name):
    """In a process of its own: compiles and runs one sample; XLA dumps into the folder that XLA_FLAGS names."""
    import jax
    assert jax.__version__ == JAX_VERSION, f'jax {jax.__version__}, expected {JAX_VERSION}'
    # Source files by their bare names: a dump says nothing of the machine it was made on.
    jax.config.update('jax_hlo_source_file_canonicalization_regex', '.*/')
    programs = SAMPLES + LARGE_SAMPLES + tuple(program for _, program, _, _ in GPU_SAMPLES)
    program = next(s for s in programs if s.__name__ == name)
    function, arguments = program()
    if program in LOWERED_FOR_GPU:
        return lower_for_gpu(function, arguments)
    results = jax.jit(function)(*arguments)
    if program in LARGE_SAMPLES:
        return jax.block_until_ready(results)
    for file, prefix, tree in (('inputs.npz', 'in', arguments), ('expected.npz', 'out', results)):
        np().savez(file, **{f'{prefix}{i}': np().asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))})


def lower_for_gpu(function, arguments):
    """What JAX would pass to XLA on a GPU, as dump/NAME.before_optimizations.hlo.pb. Callbacks ask for a device, though only
    their addresses depend on it; any one does."""
    import jax
    from jax._src.interpreters import mlir
    mlir.ModuleContext.get_backend = lambda *_, **__: jax.devices('cpu')[0].client
    donated = tuple(range(len(arguments) - 1))
    lowered = jax.jit(function, donate_argnums=donated).trace(*arguments).lower(lowering_platforms=('cuda',))
    os.makedirs('dump', exist_ok=True)
    with open(f'dump/0.jit_{function.__name__}.before_optimizations.hlo.pb', 'wb') as file:
        file.write(lowered.compiler_ir('hlo').as_serialized_hlo_module_proto())


def dump(name, scratch):
    """Runs a program in a process of its own; what XLA dumped is in SCRATCH/dump."""
    flags = '--xla_dump_to=dump --xla_dump_hlo_as_text --xla_dump_hlo_as_proto --xla_dump_large_constants'
    if name == data_parallel_step.__name__:
        flags += ' --xla_force_host_platform_device_count=4'
    environment = dict(os.environ, XLA_FLAGS=flags, JAX_PLATFORMS='cpu', TZ='UTC')
    environment.pop('JAX_COMPILATION_CACHE_DIR', None)
    subprocess.run([sys.executable, os.path.join(HERE, 'make_samples.py'), '--record', name], cwd=scratch, env=environment, check=True)


def keep(name, files, packs):
    target = os.path.join(HERE, name)
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    for file in files:
        if packs and os.path.getsize(file) > LARGEST_PLAIN:
            with open(file, 'rb') as source:
                pack(source.read(), os.path.join(target, os.path.basename(file) + '.gz'))
        else:
            shutil.copy(file, target)
    kept = glob.glob(f'{target}/*')
    print(name, len(kept), 'files,', sum(os.path.getsize(f) for f in kept) // 1024, 'KiB')


def pack(data, target):
    """Without a time stamp or a name, so that the same bytes give the same file."""
    with open(target, 'wb') as file, gzip.GzipFile(filename='', mode='wb', compresslevel=9, mtime=0, fileobj=file) as packed:
        packed.write(data)


def make(name):
    with tempfile.TemporaryDirectory() as scratch:
        dump(name, scratch)
        is_large = any(name == s.__name__ for s in LARGE_SAMPLES)
        ends = KEPT_OF_LARGE if is_large else KEPT
        kept = [f for end in ends for f in glob.glob(f'{scratch}/dump/*.jit_{name}.{end}')]
        assert len(kept) >= len(ends), sorted(os.listdir(f'{scratch}/dump'))
        keep(name, kept + ([] if is_large else [f'{scratch}/inputs.npz', f'{scratch}/expected.npz']), packs=is_large)


def make_for_gpu(name, program, device, options):
    hloscope = os.environ.get('HLOSCOPE', os.path.join(HERE, '../build/release/app/hloscope'))
    with tempfile.TemporaryDirectory() as scratch:
        dump(program.__name__, scratch)
        module, = glob.glob(f'{scratch}/dump/*.before_optimizations.hlo.pb')
        subprocess.run([hloscope, 'compile', module, '--with', 'xla-gpu', '--target', device, '--dump', f'{scratch}/gpu', *options],
                       check=True, stdout=subprocess.DEVNULL)
        is_large = program in LOWERED_FOR_GPU
        left_out = GPU_LEFT_OUT + (GPU_LEFT_OUT_OF_LARGE if is_large else ())
        keep(name, sorted(f for f in glob.glob(f'{scratch}/gpu/*') if not f.endswith(left_out)
                          and (not f.endswith('.hlo.pb') or f.endswith(GPU_KEPT_PROTOS))), packs=is_large)


def main(arguments):
    if arguments[:1] == ['--record']:
        return record(arguments[1])
    for name in arguments or [s.__name__ for s in SAMPLES + LARGE_SAMPLES] + [row[0] for row in GPU_SAMPLES]:
        row = next((row for row in GPU_SAMPLES if row[0] == name), None)
        make_for_gpu(*row) if row else make(name)


if __name__ == '__main__':
    main(sys.argv[1:])
