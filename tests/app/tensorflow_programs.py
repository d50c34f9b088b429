#!/usr/bin/env python3
"""Small TensorFlow and Keras programs under auto-clustering, and what `hloscope info` says of each, judged against TensorFlow's own log.

  tensorflow_programs.py HLOSCOPE PYTHON [--keep DIR]

PYTHON is the interpreter of an environment that has TensorFlow. Each node that the log refuses must be named, with the log as its evidence, and
the sentence over the dump must have the words of its row. --keep leaves the dumps in DIR and takes those that are there. Exit status 77: it
has no TensorFlow."""
import json
import os
import re
import subprocess
import sys
import tempfile

HLOSCOPE, PYTHON = map(os.path.abspath, sys.argv[1:3])
CPU, GLOBAL, NONE = '--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit', '--tf_xla_auto_jit=2', ''
LOG = 'mark_for_compilation_pass=4,compilability_check_util=4'
HEAD = 'import tensorflow as tf, numpy as np\n'
# Name: flags of TF_XLA_FLAGS, program, auto_clustering of the report, words of its sentence.
PROGRAMS = {
    'nothing': (CPU, '''
@tf.function
def clean(s): return tf.strings.length(tf.strings.regex_replace(tf.strings.lower(s), 'a', 'b'))
clean(tf.constant(['Abc', 'x']))''', 'on', 'auto-clustering was on for the CPU: none of the 3 operations is in a cluster; outside: StringLower, StaticRegexReplace, StringLength (works on strings'),
    'mixed': (CPU, '''
@tf.function
def f(x, s): return tf.reduce_sum(tf.tanh(x @ x) * 2. + tf.exp(x)) + tf.cast(tf.strings.length(s), tf.float32)
f(tf.ones((4, 4)), tf.constant('abc'))''', 'on', 'in 1 cluster; outside: '),
    'no_cpu': (GLOBAL, '''
@tf.function
def f(x): return tf.tanh(x @ x) + tf.exp(x)
f(tf.ones((4, 4)))''', 'not_for_cpu', 'auto-clustering was on, but not for the CPU: none of the 4 operations is in a cluster'),
    'off': (NONE, '''
@tf.function
def f(x): return tf.tanh(x @ x) + tf.exp(x)
f(tf.ones((4, 4)))''', 'off', 'TF_XLA_FLAGS did not enable auto-clustering: none of the 4 operations is in a cluster'),
    'whole': (NONE, '''
@tf.function(jit_compile=True)
def inner(x): return tf.tanh(x @ x) + tf.exp(x)
@tf.function
def outer(x): return inner(x) * 2.
outer(tf.ones((4, 4)))''', 'off', '`inner` was compiled as a whole; '),
    'keras_jit': (NONE, '''
import keras
m = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, activation='relu'), keras.layers.Dense(1)])
m.compile(loss='mse', jit_compile=True)
m.fit(np.ones((16, 4), 'f'), np.ones((16, 1), 'f'), verbose=0)''', 'off', '`one_step_on_data` was compiled as a whole'),
    'keras_cluster': (CPU, '''
import keras
m = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, activation='relu'), keras.layers.Dense(1)])
m.compile(loss='mse', jit_compile=False)
m.fit(np.ones((16, 4), 'f'), np.ones((16, 1), 'f'), verbose=0)
m.evaluate(np.ones((16, 4), 'f'), np.ones((16, 1), 'f'), verbose=0)''', 'on', 'auto-clustering was on for the CPU: '),
    'variables': (CPU, '''
v = tf.Variable(tf.ones((4, 4)))
@tf.function
def f(x):
    v.assign_add(tf.tanh(x @ v) * 0.1 + tf.exp(x))
    return v.read_value()
f(tf.ones((4, 4)))''', 'on', 'auto-clustering was on for the CPU: '),
    'random': (CPU, '''
@tf.function
def f(x): return tf.random.uniform((4, 4)) @ tf.tanh(x) + tf.exp(x) * 3.
f(tf.ones((4, 4)))''', 'on', 'outside: RandomUniform (stateful random numbers'),
    'table': (CPU, '''
t = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant([1]), tf.constant([2])), -1)
@tf.function
def f(x): return tf.reduce_sum(tf.cast(t.lookup(x), tf.float32) * 2. + 1.) ** 2
f(tf.constant([1, 3]))''', 'on', 'LookupTableFindV2'),
    'py_function': (CPU, '''
@tf.function
def f(x): return tf.py_function(lambda v: v * 2, [tf.tanh(x @ x) + tf.exp(x)], tf.float32)
f(tf.ones((4, 4)))''', 'on', 'outside: EagerPyFunc (runs Python on the host'),
    'dense': (CPU, '''
@tf.function
def f(x, w, b): return tf.reduce_mean(tf.exp(tf.nn.relu(tf.nn.bias_add(x @ w, b))) * 2. + 1.) ** 2
f(tf.ones((4, 8)), tf.ones((8, 4)), tf.ones((4,)))''', 'on', "outside: _FusedMatMul (made by TensorFlow's remapper"),
    'dense_kept': (CPU, '''
tf.config.optimizer.set_experimental_options({'remapping': False})
@tf.function
def f(x, w, b): return tf.reduce_mean(tf.exp(tf.nn.relu(tf.nn.bias_add(x @ w, b))) * 2. + 1.) ** 2
f(tf.ones((4, 8)), tf.ones((8, 4)), tf.ones((4,)))''', 'on', 'all 7 operations are in 1 cluster'),
    'loop': (CPU, '''
@tf.function
def f(x):
    for i in tf.range(3): x = tf.tanh(x @ x) + tf.exp(x)
    return x
f(tf.ones((4, 4)))''', 'on', 'auto-clustering was on for the CPU: '),
    'session': (CPU, '''
tf1 = tf.compat.v1
with tf.Graph().as_default(), tf1.Session() as s:
    x = tf1.placeholder(tf.float32, (4, 4))
    v = tf1.get_variable('v', (4, 4), use_resource=False)
    y = tf.tanh(x @ v) + tf.exp(x) * 2.
    s.run(tf1.global_variables_initializer()); s.run(y, {x: np.ones((4, 4))})''', 'on', 'auto-clustering was on for the CPU: '),
    'session_set_jit': (CPU, '''
tf.config.optimizer.set_jit(True)
@tf.function
def g(x): return tf.nn.softmax(tf.sort(x) * 2. + tf.exp(x))
@tf.function
def f(x): return g(x) + g(x * 2.)
f(tf.ones((4, 4)))''', 'on', 'auto-clustering was on for the CPU: '),
    'keras_custom_layer': (CPU, '''
import keras
class Clip(keras.layers.Layer):
    def compute_output_shape(self, shape): return (shape[0], 4)
    def build(self, shape): self.w = self.add_weight(shape=(shape[-1], 4))
    def call(self, x): return tf.numpy_function(lambda v: np.clip(v, -1, 1), [tf.tanh(x @ self.w) * 2. + tf.exp(x @ self.w)], tf.float32)
m = keras.Sequential([keras.layers.Input((4,)), Clip()])
m.compile(jit_compile=False)
m.predict(np.ones((8, 4), 'f'), verbose=0)''', 'on', 'EagerPyFunc'),
    'keras_callbacks': (CPU, '''
import keras
class Seen(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None): self.model.optimizer.learning_rate = 0.01
def worst(y, p): return tf.reduce_max(tf.abs(y - p))
m = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(8, activation='gelu'), keras.layers.LayerNormalization(), keras.layers.Dense(1)])
m.compile('adam', 'mse', metrics=[worst, 'mae'], jit_compile=False)
m.fit(np.ones((24, 6), 'f'), np.ones((24, 1), 'f'), epochs=2, batch_size=8, validation_split=.25, verbose=0, callbacks=[Seen(), keras.callbacks.EarlyStopping(patience=1)])''', 'on', 'auto-clustering was on for the CPU: '),
    'keras_evaluate': (GLOBAL, '''
import keras
m = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, activation='softmax')])
m.compile(loss='categorical_crossentropy', metrics=['accuracy'], jit_compile=False)
m.evaluate(np.ones((8, 4), 'f'), np.eye(3, dtype='f')[[0] * 8], verbose=0)''', 'not_for_cpu', 'auto-clustering was on, but not for the CPU: none of the '),
    'keras_text': (CPU, '''
import keras
v = keras.layers.TextVectorization(max_tokens=10, output_sequence_length=4)
v.adapt(np.array(['a b', 'b c']))
m = keras.Sequential([keras.layers.Embedding(10, 4), keras.layers.LSTM(3), keras.layers.Dense(1)])
@tf.function
def f(s): return m(v(s))
f(tf.constant(['a c', 'b']))''', 'on', '31 of the 55 operations are in 3 clusters; outside: ReadVariableOp, Less, StridedSlice, … (could be'),
    'keras_lookup': (CPU, '''
import keras
lookup = keras.layers.StringLookup(vocabulary=['a', 'b'])
@tf.function
def f(s): return lookup(tf.strings.lower(s))
f(tf.constant(['A', 'c']))''', 'on', 'none of the 2 operations is in a cluster; outside: StringLower (works on strings'),
    'mirrored': (CPU, '''
tf.config.set_logical_device_configuration(tf.config.list_physical_devices('CPU')[0], [tf.config.LogicalDeviceConfiguration()] * 2)
s = tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1'])
with s.scope(): v = tf.Variable(tf.ones((4, 4)))
@tf.function
def step(x):
    def one(x):
        with tf.GradientTape() as t: loss = tf.reduce_sum(tf.tanh(x @ v) ** 2)
        g = tf.distribute.get_replica_context().all_reduce('sum', t.gradient(loss, v))
        v.assign_sub(g * 0.1)
        return loss
    return s.reduce('sum', s.run(one, [x]), axis=None)
step(tf.ones((2, 4)))''', 'on', '(could be compiled, but its cluster would wait for another device)'),
    'one_device': (NONE, '''
s = tf.distribute.OneDeviceStrategy('/cpu:0')
with s.scope(): v = tf.Variable(2.)
@tf.function
def step(x): return s.run(lambda x: tf.reduce_sum(tf.exp(x) * v), [x])
step(tf.ones((4,)))''', 'off', 'TF_XLA_FLAGS did not enable auto-clustering: none of the 4 operations is in a cluster'),
    'session_config': ('--tf_xla_cpu_global_jit', '''
tf1 = tf.compat.v1
config = tf1.ConfigProto()
config.graph_options.optimizer_options.global_jit_level = tf1.OptimizerOptions.ON_1
with tf.Graph().as_default(), tf1.Session(config=config) as s:
    x = tf1.placeholder(tf.float32, (None, 4))
    y = tf1.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y) * 2. + tf.exp(y)), [0, x])[1]
    s.run(y, {x: np.ones((2, 4))}); s.run(y, {x: np.ones((3, 4))})''', 'on', "tf.while_loop is run by TensorFlow's executor, not by XLA (lowered control flow); a call of `cluster_0` ran without XLA"),
    'session_strings': (CPU, '''
tf1 = tf.compat.v1
with tf.Graph().as_default(), tf1.Session() as s:
    x = tf1.placeholder(tf.string, (None,))
    n = tf.strings.to_number(tf.strings.split(x, ',').values)
    y = tf1.Print(tf.reduce_sum(tf.exp(n) * 2. + tf.tanh(n)), [n])
    s.run(y, {x: ['1,2', '3']})''', 'on', '5 of the 8 operations are in 1 cluster; outside: StringSplitV2, StringToNumber (works on strings'),
    'saved_model': (CPU, '''
import tempfile
class M(tf.Module):
    def __init__(self): self.v = tf.Variable(tf.ones((4, 2)))
    @tf.function(input_signature=[tf.TensorSpec((None, 4)), tf.TensorSpec((None,), tf.string)])
    def serve(self, x, s): return {'y': tf.tanh(x @ self.v) * 2. + tf.exp(x @ self.v), 'n': tf.strings.length(s)}
with tempfile.TemporaryDirectory() as d:
    m = M(); tf.saved_model.save(m, d, signatures=m.serve)
    tf.saved_model.load(d).signatures['serving_default'](x=tf.ones((3, 4)), s=tf.constant(['a', 'bc', 'd']))''', 'on', '8 of the 9 operations are in 1 cluster; outside: StringLength (works on strings'),
    'saved_model_jit': (NONE, '''
import tempfile
class M(tf.Module):
    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec((None, 4))])
    def serve(self, x): return tf.tanh(x) * 2. + tf.exp(x)
with tempfile.TemporaryDirectory() as d:
    tf.saved_model.save(M(), d)
    tf.saved_model.load(d).serve(tf.ones((3, 4)))''', 'off', '`restored_function_body` was compiled as a whole'),
    'nested': (CPU, '''
@tf.function
def deep(x): return tf.exp(x) + tf.cast(tf.strings.length(tf.strings.as_string(tf.reduce_sum(x))), tf.float32)
@tf.function
def inner(x, n): return tf.cond(n > 1, lambda: deep(tf.tanh(x)), lambda: x * 2.)
@tf.function
def outer(x, n): return inner(x @ x, n) + inner(x * 3., n - 1)
outer(tf.ones((4, 4)), tf.constant(2))''', 'on', "outside: Tanh, Sum, Exp, … (could be compiled, but in its neighbour's cluster it would make a cycle)"),
    'dataset': (CPU, '''
v = tf.Variable(tf.zeros((4, 1)))
data = tf.data.Dataset.range(8).map(lambda i: (tf.fill((4,), tf.cast(i, tf.float32)), tf.cast(i, tf.float32))).shuffle(4).batch(4)
@tf.function
def epoch():
    total = 0.
    for x, y in data:
        with tf.GradientTape() as t: loss = tf.reduce_mean((tf.squeeze(x @ v, 1) - y) ** 2)
        v.assign_sub(t.gradient(loss, v) * .01)
        total += loss
    return total
epoch()''', 'on', '29 of the 33 operations are in 1 cluster; outside: ScanDataset, ReduceDataset (input pipeline on the host'),
    'sparse': (CPU, '''
@tf.function
def f(x, d):
    r = tf.RaggedTensor.from_row_lengths(x, [2, 3])
    s = tf.sparse.from_dense(tf.reshape(x[:4], (2, 2)))
    return tf.reduce_sum(tf.exp(r) * 2.) + tf.reduce_sum(tf.sparse.sparse_dense_matmul(s, tf.tanh(d)))
f(tf.ones((5,)), tf.ones((2, 2)))''', 'on', '10 of the 14 operations are in 2 clusters; outside: Assert (a check on the host'),
    'jit_scope': (NONE, '''
tf1 = tf.compat.v1
with tf.Graph().as_default(), tf1.Session() as s:
    x = tf1.placeholder(tf.float32, (4, 4))
    with tf.xla.experimental.jit_scope(): y = tf.tanh(x @ x) + tf.exp(x)
    s.run(tf.reduce_sum(y) * 2., {x: np.ones((4, 4))})''', 'in_scopes', 'auto-clustering was on only inside jit_scope: 4 of the 6 operations are in 1 cluster; outside: Sum, Mul (outside of jit_scope'),
    'eager': (CPU, '''
x = tf.ones((4, 4))
for k in range(3): x = tf.tanh(x @ x) * k
print(float(tf.reduce_sum(x)))''', 'on', 'eager mode ran each operation by itself'),
    'keras_conv': (CPU, '''
import keras
m = keras.Sequential([keras.layers.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, activation='relu'), keras.layers.BatchNormalization(), keras.layers.Dropout(.2), keras.layers.Flatten(), keras.layers.Dense(3, activation='softmax')])
m.compile('adam', 'sparse_categorical_crossentropy', metrics=['accuracy'], jit_compile='auto')
m.fit(np.ones((16, 8, 8, 1), 'f'), np.arange(16) % 3, batch_size=8, verbose=0)
print(m.jit_compile)
''', 'on', '264 of the 278 operations are in 3 clusters'),
    'keras_strings': (CPU, '''
import keras
class Length(keras.layers.Layer):
    def build(self, shape): self.w = self.add_weight(shape=(1, 4))
    def compute_output_shape(self, shape): return (shape[0], 4)
    def call(self, x):
        n = tf.cast(tf.strings.length(tf.strings.as_string(x)), tf.float32)
        return tf.tanh(n @ self.w) * 2. + tf.exp(x @ self.w)
m = keras.Sequential([keras.layers.Input((1,)), Length(), keras.layers.Dense(1)])
m.compile('sgd', 'mse', jit_compile=False)
m.fit(np.ones((8, 1), 'f'), np.ones((8, 1), 'f'), verbose=0)
''', 'on', '72 of the 77 operations are in 3 clusters'),
    'nested_gradient': (CPU, '''
@tf.function(jit_compile=True)
def core(x): return tf.linalg.matmul(x, x) * tf.sigmoid(x)
@tf.function
def noisy(x):
    tf.print('norm', tf.norm(x))
    return tf.nn.softplus(x) - tf.math.log1p(tf.abs(x))
@tf.function
def outer(x):
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.reduce_sum(core(x) + noisy(x * .5))
    return t.gradient(y, x)
outer(tf.ones((6, 6)) * .1)
''', 'on', '17 of the 19 operations are in 3 clusters; outside: StringFormat (works on strings'),
    'session_adam': (CPU, '''
tf1 = tf.compat.v1
config = tf1.ConfigProto(); config.graph_options.optimizer_options.global_jit_level = tf1.OptimizerOptions.ON_2
with tf.Graph().as_default(), tf1.Session(config=config) as s:
    x = tf1.placeholder(tf.float32, (None, 4)); y = tf1.placeholder(tf.int64, (None,))
    w = tf1.get_variable('w', (4, 3), use_resource=False); b = tf1.get_variable('b', (3,), use_resource=True)
    logits = tf.tanh(x @ w) * 2. + b
    loss = tf.reduce_mean(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf1.train.AdamOptimizer(.01).minimize(loss)
    top = tf1.py_func(lambda v: v.max().astype('float32'), [logits], tf.float32)
    summary = tf1.summary.scalar('loss', loss)
    s.run(tf1.global_variables_initializer())
    print(s.run([train, loss, top, summary], {x: np.ones((5, 4)), y: np.array([0, 1, 2, 0, 1])})[1:3])
''', 'on', '29 of the 37 operations are in 2 clusters; outside: VariableV2, ApplyAdam'),
    'keras_mirrored': (CPU, '''
import keras
tf.config.set_logical_device_configuration(tf.config.list_physical_devices('CPU')[0], [tf.config.LogicalDeviceConfiguration()] * 2)
st = tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1'])
with st.scope():
    m = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, activation='tanh'), keras.layers.Dense(1)])
    m.compile('sgd', 'mse', jit_compile=False)
m.fit(np.ones((16, 4), 'f'), np.ones((16, 1), 'f'), batch_size=8, verbose=0)
''', 'on', '72 of the 116 operations are in 4 clusters'),
    'served': (CPU, '''
import tempfile, keras
m = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, activation='gelu'), keras.layers.Dense(2, activation='softmax')])
with tempfile.TemporaryDirectory() as d:
    class Served(tf.Module):
        def __init__(self): self.m = m; self.vars = m.variables
        @tf.function(input_signature=[tf.TensorSpec((None,), tf.string)])
        def serve(self, s):
            f = tf.io.parse_example(s, {'x': tf.io.FixedLenFeature((4,), tf.float32)})
            p = self.m(f['x'] * 2. - 1.)
            return {'p': p, 'label': tf.gather(tf.constant(['no', 'yes']), tf.argmax(p, -1))}
    tf.saved_model.save(Served(), d)
    ex = tf.train.Example(features=tf.train.Features(feature={'x': tf.train.Feature(float_list=tf.train.FloatList(value=[1, 2, 3, 4]))})).SerializeToString()
    loaded = tf.saved_model.load(d); print(loaded.serve(tf.constant([ex, ex])))
''', 'on', "2 of the 12 operations are in 1 cluster; outside: ReadVariableOp (could be compiled, but in its neighbour's cluster it would make a cycle"),
    'map_in_graph': (CPU, '''
@tf.function
def total(n):
    d = tf.data.Dataset.range(n).map(lambda i: tf.cast(i, tf.float32) * 2.).map(lambda x: tf.py_function(lambda v: v + 1, [x], tf.float32))
    d = d.map(lambda x: tf.ensure_shape(x, ())).batch(2).prefetch(1)
    s = tf.zeros(())
    for x in d:
        s += tf.reduce_sum(tf.exp(-x) * tf.tanh(x))
    return s, tf.reduce_mean(tf.random.stateless_normal((4, 4), [1, 2]) @ tf.ones((4, 4)))
print(total(tf.constant(5, tf.int64)))
''', 'on', '5 of the 17 operations are in 1 cluster; outside: RangeDataset, MapDataset, BatchDatasetV2, … (input pipeline on the host'),
    'switch_case': (CPU, '''
@tf.function(jit_compile=True)
def newton(x):
    return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, .5 * (y + x / y)), [0, x], maximum_iterations=5)[1]
@tf.function
def f(x, k):
    y = newton(x)
    a = tf.TensorArray(tf.float32, 3)
    for i in tf.range(3): a = a.write(i, tf.reduce_sum(y * tf.cast(i, tf.float32)))
    return tf.switch_case(k, [lambda: tf.reduce_sum(a.stack()), lambda: tf.math.reduce_max(tf.sin(y)) * 2.])
print(f(tf.constant([4., 9.]), tf.constant(1)))
''', 'on', '5 of the 14 operations are in 2 clusters; outside: Less, Sin, Max, … (could be'),
    'ragged': (CPU, '''
@tf.function
def f(s, x):
    words = tf.strings.split(s)
    n = tf.cast(words.row_lengths(), tf.float32)
    r = tf.RaggedTensor.from_row_splits(x, [0, 2, 5])
    r = tf.concat([r, r * 2.], axis=1)
    return tf.reduce_sum(tf.nn.softmax(r.to_tensor(-1e9))) + tf.reduce_mean(r, axis=1) * n, tf.math.segment_sum(x, tf.constant([0, 0, 1, 1, 1]))
print(f(tf.constant(['a b c', 'd']), tf.constant([1., 2., 3., 4., 5.])))
''', 'on', '46 of the 57 operations are in 1 cluster; outside: Assert (a check on the host'),
    'images': (CPU, '''
@tf.function
def f(x, boxes, scores):
    i = tf.io.decode_jpeg(tf.io.encode_jpeg(tf.cast(x * 255., tf.uint8)), channels=3)
    i = tf.image.resize(tf.cast(i, tf.float32), (5, 5), method='bicubic')
    keep = tf.image.non_max_suppression(boxes, scores, 3)
    v, _ = tf.math.top_k(tf.gather(scores, keep), 2)
    z = tf.abs(tf.signal.fft(tf.complex(scores, scores)))
    h = tf.cast(tf.cast(scores, tf.float16) * 2, tf.float32)
    q = tf.cast(tf.clip_by_value(scores * 100., -128., 127.), tf.int8)
    u, c = tf.unique(tf.cast(q, tf.int32) // 2)
    e = tf.linalg.eigh(tf.linalg.matmul(boxes, boxes, transpose_b=True))[0]
    return tf.reduce_sum(i) + tf.reduce_sum(v) + tf.reduce_sum(z * h) + tf.reduce_sum(e) + tf.cast(tf.size(u), tf.float32) + tf.cast(tf.reduce_max(tf.cumsum(c)), tf.float32)
b = tf.constant([[0., 0, 1, 1], [0, 0, 1, .9], [.5, .5, 1, 1], [0, 0, .1, .1]])
print(f(tf.random.stateless_uniform((8, 8, 3), [1, 2]), b, tf.constant([.9, .8, .7, .1])))
''', 'on', '26 of the 37 operations are in 2 clusters; outside: Mul, MatMul, Cast, … (could be compiled, but its cluster would be smaller'),
    'autoclustering': (NONE, '''
tf.config.optimizer.set_jit('autoclustering')
@tf.function
def f(x): return tf.nn.softmax(tf.sort(x) * 2. + tf.exp(x))
f(tf.ones((4, 4)))''', 'off', 'TF_XLA_FLAGS did not enable auto-clustering'),
}


def record(name, flags, program, dump):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(('XLA_', 'TF_')) and key != 'PYTHONPATH'}
    environment.update(TF_CPP_VMODULE=LOG, CUDA_VISIBLE_DEVICES='')
    if flags:
        environment['TF_XLA_FLAGS'] = flags
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f'{name}.py')  # AutoGraph reads the source
        with open(path, 'w', encoding='utf-8') as file:
            file.write(HEAD + program + '\n')
        subprocess.run([HLOSCOPE, 'record', '--dump', dump, '--', PYTHON, path], env=environment, capture_output=True, text=True, timeout=600,
                       check=True)


def judge(name, state, words, dump):
    """What is wrong with the report, line by line."""
    report = json.loads(subprocess.run([HLOSCOPE, 'info', '--json', '--no-cache', dump], capture_output=True, text=True, check=True).stdout)
    tensorflow = report['tensorflow']
    with open(os.path.join(dump, 'stderr.log'), encoding='utf-8') as file:
        refused = set(re.findall(r'\] Found uncompilable node (\S+) \(op (\S+)\)', file.read()))
    named = {(node['name'], node['op']): node for node in tensorflow['unclustered']}
    inside = {(node['name'], node['op']) for node in tensorflow['in_functions']}
    for node in sorted(refused):
        # Nodes of called functions are refused by their inner names.
        if node not in named and node not in inside and not any(node[0] in (one['evidence'] or '') for one in named.values()):
            yield f'{node} is refused by the log and not named'
        elif node in named and not named[node]['by_log']:
            yield f'{node} is refused by the log, which is not said'
    if tensorflow.get('auto_clustering') != state:
        yield f'auto_clustering is {tensorflow.get("auto_clustering")}, not {state}'
    if words not in (tensorflow.get('sentence') or ''):
        yield f'the sentence has not "{words}": {tensorflow.get("sentence")}'
    for error in report['errors']:
        if error.get('severity') == 'error':
            yield f'an error of a program that succeeded: {error["kind"]} {error["reason"]}'
    for warning in report['warnings']:
        yield f'warning: {warning}'
    print(f'{name}: {tensorflow.get("sentence")}; fix: {tensorflow.get("fix")}', flush=True)


def main():
    if not os.path.exists(PYTHON) or subprocess.run([PYTHON, '-c', 'import importlib.util as u, sys; sys.exit(u.find_spec("tensorflow") is None)'],
                                                     check=False).returncode != 0:
        print(f'skipped: no TensorFlow in {PYTHON}; fix: scripts/setup frameworks')
        return 77
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = sys.argv[4] if '--keep' in sys.argv else scratch
        for name, (flags, program, state, words) in PROGRAMS.items():
            dump = os.path.join(folder, name)
            if not os.path.exists(dump):
                record(name, flags, program, dump)
            for fault in judge(name, state, words, dump):
                wrong += 1
                print(f'  {name}: {fault}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
