"""Programs that make a change which hloscope advises, and fail where it is not there or does not help: the rows of core/dump/advice.def
whose effect is `program:NAME`. tried_advice.py runs them."""

# modules(): the text of all modules that XLA compiled so far.
HEAD = '''
import glob, os
def modules(): return '\\n'.join(open(f).read() for f in sorted(glob.glob(os.environ['DUMP'] + '/*before_optimizations.txt')))
'''
CLUSTERS = "os.environ['TF_XLA_FLAGS'] = '--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit --tf_xla_min_cluster_size=1'\nimport tensorflow as tf\n"
PLAIN = 'import tensorflow as tf\n'
TORCH = '''
import torch, torch_xla
import torch_xla.core.xla_model as xm, torch_xla.debug.metrics as met
def compiled(): return (met.metric_data('CompileTime') or [0])[0]
'''
CHANGES = {
    # TensorFlow
    'jit_compile': PLAIN + '''
@tf.function(jit_compile=True)
def f(x): return tf.tanh(x) * 2.
f(tf.ones(4)); assert 'tanh' in modules()''',
    'jit_compile_control_flow': PLAIN + '''
@tf.function(jit_compile=True)
def f(x):
    a = tf.TensorArray(tf.float32, 3)
    for i in tf.range(3): a = a.write(i, tf.random.uniform(()) + tf.reduce_sum(x))
    return a.stack(), tf.unique(tf.cast(x, tf.int32))[0], tf.linalg.qr(tf.ones((2, 2)))[0]
f(tf.ones(4)); assert 'while' in modules()''',
    'set_jit': PLAIN + '''
tf.config.optimizer.set_jit(True)
assert tf.config.optimizer.get_jit()''',
    'remapping': CLUSTERS + '''
tf.config.optimizer.set_experimental_options({'remapping': False})
@tf.function
def f(x, w, b): return tf.reduce_mean(tf.exp(tf.nn.relu(tf.nn.bias_add(x @ w, b))) * 2. + 1.)
f(tf.ones((4, 8)), tf.ones((8, 4)), tf.ones(4)); assert ' dot(' in modules()''',
    'onednn': CLUSTERS + '''
@tf.function
def f(x, w): return tf.reduce_mean(tf.exp(x @ w) * 2. + 1.)
f(tf.ones((64, 64)), tf.ones((64, 64))); assert ' dot(' in modules()''',
    'stateless': CLUSTERS + '''
@tf.function
def f(x, seed): return tf.random.stateless_uniform((4,), seed) * tf.exp(x) + tf.tanh(x)
f(tf.ones(4), tf.constant([1, 2])); assert 'xor(' in modules() or 'rng-bit-generator(' in modules()''',
    'gather': CLUSTERS + '''
t = tf.constant([3., 1., 2.])
@tf.function
def f(i): return tf.exp(tf.gather(t, i)) * 2. + 1.
f(tf.constant([1, 2])); assert 'gather(' in modules()''',
    'resource_variables': CLUSTERS + '''
tf1 = tf.compat.v1; tf1.enable_resource_variables()
with tf.Graph().as_default(), tf1.Session() as s:
    v = tf1.get_variable('v', (4, 4)); y = tf.tanh(tf.ones((4, 4)) @ v) + tf.exp(v)
    s.run(tf1.global_variables_initializer()); s.run(y); assert v.op.type == 'VarHandleOp' and ' dot(' in modules()''',
    'jit_scope': PLAIN + '''
tf1 = tf.compat.v1
with tf.Graph().as_default(), tf1.Session() as s:
    x = tf1.placeholder(tf.float32, (4, 4))
    with tf.xla.experimental.jit_scope(): y = tf.tanh(x @ x) + tf.exp(x)
    s.run(y, {x: [[1.] * 4] * 4}); assert ' dot(' in modules()''',
    'retracing': PLAIN + '''
@tf.function(reduce_retracing=True)
def f(x): return x * 2.
for n in (2, 3, 4, 5): f(tf.ones(n))
assert f.experimental_get_tracing_count() == 2''',
    'input_signature': PLAIN + '''
@tf.function(input_signature=[tf.TensorSpec((None,), tf.float32)])
def f(x): return x * 2.
for n in (2, 3): f(tf.ones(n))
assert f.experimental_get_tracing_count() == 1''',
    'drop_remainder': PLAIN + '''
assert [len(x) for x in tf.data.Dataset.range(7).batch(3, drop_remainder=True)] == [3, 3]''',
    'soft_placement': PLAIN + '''
tf.config.set_soft_device_placement(False); tf.config.set_soft_device_placement(True)
@tf.function
def f(x):
    with tf.device('/GPU:0'): return x * 2.
f(tf.ones(4))''',
    'logical_devices': PLAIN + '''
assert [d.name for d in tf.config.list_logical_devices()] == ['/device:CPU:0']''',
    'maximum_iterations': PLAIN + '''
@tf.function(jit_compile=True)
def f(x):
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v)), [0, x], maximum_iterations=3)[1]
    return t.gradient(y, x)
f(tf.ones(4)); assert 'while(' in modules()''',
    'recompute_grad': PLAIN + '''
g = tf.recompute_grad(lambda x: tf.tanh(x @ x))
@tf.function(jit_compile=True)
def f(x):
    with tf.GradientTape() as t: t.watch(x); y = tf.reduce_sum(g(x))
    return t.gradient(y, x)
f(tf.ones((4, 4))); assert modules().count(' tanh(') == 2''',
    'keras_jit': PLAIN + '''
import keras, numpy as np
for on in (False, True):
    m = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2)]); m.compile('sgd', 'mse', jit_compile=on)
    m.fit(np.ones((8, 4), 'f'), np.ones((8, 2), 'f'), verbose=0); assert (' dot(' in modules()) == on''',
    'flatten_layers': PLAIN + '''
import keras
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2)])
assert [layer.name for layer in model._flatten_layers() if not layer.supports_jit] == []''',
    'ensure_shape': PLAIN + '''
@tf.function(input_signature=[tf.TensorSpec(None)], jit_compile=True)
def f(x): return tf.ensure_shape(x, (2, 3)) @ tf.ones((3, 2))
f(tf.ones((2, 3)))''',
    'run_eagerly': PLAIN + '''
import keras, numpy as np
seen = []
class Layer(keras.layers.Layer):
    def call(self, x): seen.append(x.numpy()); return x
m = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2)]); m.compile('sgd', lambda y, p: (seen.append(p.numpy()), tf.reduce_mean(p))[1], run_eagerly=True)
m.fit(np.ones((8, 4), 'f'), np.ones((8, 2), 'f'), verbose=0); assert seen''',
    'tensors': PLAIN + '''
@tf.function(jit_compile=True)
def f(x, n): return tf.cast(tf.slice(x, [1], [2]), tf.float64) * tf.cast(n, tf.float64)
for n in (2, 3): f(tf.ones(4), tf.constant(n))
assert f.experimental_get_tracing_count() == 1''',
    'variables': PLAIN + '''
class M(tf.Module):
    def __init__(self): self.v = tf.Variable(1.)
    @tf.function(jit_compile=True)
    def f(self, x): return x * self.v
with tf.device('/CPU:0'): m = M(); m.f(tf.ones(4)); m.v.assign(2.); m.f(tf.ones(4))
assert m.f.experimental_get_tracing_count() == 1''',
    'no_op': CLUSTERS + '''
@tf.function
def f(x):
    y = tf.tanh(x)
    with tf.control_dependencies([y]): n = tf.no_op()
    with tf.control_dependencies([n]): return tf.exp(x) + y
f(tf.ones(4)); assert 'tanh' in modules() and 'exponential' in modules()''',
    'numpy_function': PLAIN + '''
@tf.function(jit_compile=True)
def inner(x): return tf.tanh(x)
@tf.function
def f(x): return inner(tf.numpy_function(lambda v: v * 2, [x], tf.float32))
f(tf.ones(4)); assert 'tanh' in modules()''',
    'session': PLAIN + '''
tf1 = tf.compat.v1; config = tf1.ConfigProto(); config.graph_options.optimizer_options.global_jit_level = tf1.OptimizerOptions.ON_1
with tf.Graph().as_default(), tf1.Session(config=config) as s: s.run(tf1.placeholder(tf.float32, ()) + 1., {'Placeholder:0': 1.})''',
    # PyTorch/XLA
    'device': TORCH + '''
x = torch.ones(4).to(torch_xla.device()); assert x.device.type == 'xla' ''',
    'devices': TORCH + 'assert torch_xla.devices()\n',
    'xla_device': TORCH + "assert torch.ones(4).to(xm.xla_device()).device.type == 'xla'\n",
    'supported_devices': TORCH + 'assert xm.get_xla_supported_devices()\n',
    'sync': TORCH + '''
x = torch.ones(4).to(xm.xla_device())
for k in range(3):
    x = torch.sin(x); torch_xla.sync()
assert compiled() == 1, compiled()''',
    'step_closure': TORCH + '''
x, seen = torch.ones(4).to(xm.xla_device()), []
for k in range(3):
    x = torch.sin(x); loss = x.sum()
    xm.add_step_closure(lambda loss: seen.append(loss.item()), args=(loss,))
    xm.mark_step()
assert len(seen) == 3 and compiled() == 1, (seen, compiled())''',
    'tensor_value': TORCH + '''
d = xm.xla_device(); x = torch.ones(4).to(d); xm.mark_step(); counts = []
for numbers in ((0, 1, -1), tuple(torch.tensor(float(v), device=d) for v in (0, 1, -1))):
    before = compiled()
    for v in numbers: y = torch.sin(x * 2) + v; xm.mark_step()
    counts.append(compiled() - before)
assert counts[1] == 1, counts''',
    'drop_last': TORCH + '''
d = xm.xla_device()
for batch in torch.utils.data.DataLoader(torch.ones(7, 4), batch_size=3, drop_last=True):
    y = torch.sin(batch.to(d)).sum(); xm.mark_step()
assert compiled() == 1, compiled()''',
    'compile': TORCH + '''
d = xm.xla_device()
@torch_xla.compile
def step(x): return torch.sin(x).sum()
for k in range(3): y = step(torch.full((4,), float(k)).to(d))
assert compiled() == 1, compiled()''',
    'device_type': TORCH + "import torch_xla.runtime as xr\nassert xr.device_type() == 'CPU'\n",
    'map_location': TORCH + '''
import io
f = io.BytesIO(); torch.save(torch.ones(4).to(xm.xla_device()), f); f.seek(0)
assert torch.load(f, map_location='cpu').device.type == 'cpu' ''',
    'experimental': TORCH + '''
x = torch.arange(8.).to(xm.xla_device()); sizes = len(torch.nonzero(x > 3)), len(torch.masked_select(x, x > 4))
assert sizes == (4, 3) and not any(name.startswith('aten::') for name in met.counter_names())''',
    'index_select': TORCH + '''
x = torch.ones(4, 3).to(xm.xla_device()); i = torch.tensor([1, 2]).to(x.device)
assert torch.index_select(x, 0, i).cpu().shape == (2, 3)''',
}
