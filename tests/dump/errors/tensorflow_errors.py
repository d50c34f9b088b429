# Errors of TensorFlow and Keras, one a function: tensorflow_errors.py [NAME…]. The recorded texts name these lines.
import os, sys, traceback, warnings, tensorflow as tf, keras, numpy as np
def xla_gpu_device():
    with tf.device('/XLA_GPU:0'): tf.constant(1.0) + 1
def no_gpu():
    tf.config.set_soft_device_placement(False)
    try:
        with tf.device('/GPU:0'): tf.ones(3) + 1
    finally: tf.config.set_soft_device_placement(True)
def xla_compile():
    tf.xla.experimental.compile(lambda x: x, [tf.ones(3)])
def jit_scope():
    with tf.xla.experimental.jit_scope(): print(tf.ones(3) + 1)
def compat_xla():
    tf.compat.v1.xla.experimental.compile
def contrib():
    tf.contrib.compiler.xla.compile
def session():
    tf.Session()
def placeholder():
    tf.placeholder(tf.float32)
def config_proto():
    tf.ConfigProto()
def list_devices():
    from tensorflow.python.client import device_lib; print(device_lib.list_local_devices())
def set_jit_bad():
    tf.config.optimizer.set_jit('gpu')
def experimental_compile():
    tf.function(lambda x: x, experimental_compile=True)(tf.ones(3))
def tf_print():
    @tf.function(jit_compile=True)
    def f(x):
        tf.print('x', x)
        return x
    f(tf.ones(3))
def table():
    t = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant([1]), tf.constant([2])), -1)
    @tf.function(jit_compile=True)
    def f(x): return t.lookup(x)
    f(tf.constant([1]))
def string_arg():
    @tf.function(jit_compile=True)
    def f(s): return tf.strings.length(s)
    f(tf.constant('a'))
def py_function():
    @tf.function(jit_compile=True)
    def f(x): return tf.py_function(lambda v: v, [x], tf.float32)
    f(tf.ones(3))
def numpy_function():
    @tf.function(jit_compile=True)
    def f(x): return tf.numpy_function(np.sin, [x], tf.float32)
    f(tf.ones(3))
def eig():
    @tf.function(jit_compile=True)
    def f(x): return tf.linalg.eigvals(x)
    f(tf.eye(3))
def keras_fit():
    class Spectral(keras.layers.Layer):
        def call(self, x):
            m = tf.einsum('bi,bj->bij', x, x)
            return tf.math.real(tf.linalg.eigvals(m))
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(4), Spectral(), keras.layers.Dense(1)])
    model.compile(optimizer='adam', loss='mse', jit_compile=True)
    model.fit(np.random.rand(8, 4).astype('f'), np.ones((8, 1), 'f'), epochs=1, verbose=0)
def keras_print():
    class L(keras.layers.Layer):
        def call(self, x):
            tf.print('in', x)
            return x
    model = keras.Sequential([keras.layers.Input((4,)), L(), keras.layers.Dense(1)])
    model.compile(optimizer='adam', loss='mse', jit_compile=True)
    model.fit(np.random.rand(8, 4).astype('f'), np.ones((8, 1), 'f'), epochs=1, verbose=0)
def keras_unsupported():
    class L(keras.layers.Layer):
        def __init__(self): super().__init__(); self.supports_jit = False
        def call(self, x): return x
    model = keras.Sequential([keras.layers.Input((4,)), L(), keras.layers.Dense(1)])
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter('always')
        model.compile(optimizer='adam', loss='mse', jit_compile=True)
        model.fit(np.random.rand(8, 4).astype('f'), np.ones((8, 1), 'f'), epochs=1, verbose=0)
    for one in w: print(warnings.formatwarning(one.message, one.category, one.filename, one.lineno))
    print([layer.name for layer in model._flatten_layers() if not layer.supports_jit])
def keras_shape():
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile(loss='mse')
    model.fit(np.random.rand(8, 5), np.ones((8, 1)), verbose=0)
def mirrored():
    strategy = tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1'])
    with strategy.scope(): v = tf.Variable(1.0)
    @tf.function(jit_compile=True)
    def run(): return strategy.run(lambda: v * 2.0)
    run()
def mirrored_inner():
    strategy = tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1'])
    with strategy.scope(): v = tf.Variable(1.0)
    @tf.function(jit_compile=True)
    def inner(): return v * 2.0
    @tf.function
    def run(): return strategy.run(inner)
    print('inner works', run())
def k5():
    @tf.function(jit_compile=True)
    def f(x, n): return tf.tile(x, [n]) + tf.zeros([tf.cast(tf.reduce_max(x), tf.int32)])
    f(tf.constant([1., 2., 4.]), tf.constant(2))
def retval_ragged():
    @tf.function(jit_compile=True)
    def f(x): return tf.RaggedTensor.from_row_lengths(x, [1, 2]) + 1.
    print(f(tf.ones(3)))
def checks():
    @tf.function(jit_compile=True)
    def f(x): return tf.debugging.check_numerics(x, 'no')
    print(f(tf.constant([float('nan')])))
def assign_shape():
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    @tf.function(jit_compile=True)
    def f(): v.assign([1.0, 2.0, 3.0])
    f()
def oom():
    tf.ones((400000, 400000))
def oom_xla():
    @tf.function(jit_compile=True)
    def f(x): return tf.reduce_sum(tf.broadcast_to(x, (100000, 100000)) @ tf.broadcast_to(x, (100000, 100000)))
    f(tf.constant(1.0))
def while_shape():
    @tf.function(jit_compile=True)
    def f(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.concat([y, y], 0)), (0, x), shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])))[1]
    f(tf.ones(3))
def image():
    @tf.function(jit_compile=True)
    def f(s): return tf.io.decode_png(s)
    f(tf.constant(b''))
def sparse():
    @tf.function(jit_compile=True)
    def f(x): return tf.sparse.to_dense(tf.sparse.from_dense(x))
    f(tf.eye(3))
def iterator():
    ds = tf.data.Dataset.range(3)
    @tf.function(jit_compile=True)
    def f():
        t = tf.constant(0, tf.int64)
        for x in ds: t += x
        return t
    f()
def dtype():
    @tf.function(jit_compile=True)
    def f(x): return tf.linalg.matmul(x, tf.cast(x, tf.float64))
    f(tf.eye(3))
def summary():
    w = tf.summary.create_file_writer('/tmp/sum')
    @tf.function(jit_compile=True)
    def f(x):
        with w.as_default(): tf.summary.scalar('x', x, step=1)
        return x
    f(tf.constant(1.0))
def attr_typo():
    tf.linalg.foo(1)
cpus = tf.config.list_physical_devices('CPU')
tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2)
for name, f in list(globals().items()):
    if callable(f) and getattr(f, '__module__', '') == '__main__' and (len(sys.argv) < 2 or name in sys.argv[1:]):
        fd = os.open(f'/tmp/{name}.txt', os.O_WRONLY | os.O_CREAT | os.O_TRUNC); old = os.dup(2), os.dup(1)
        os.dup2(fd, 2); os.dup2(fd, 1)
        try: f()
        except BaseException: traceback.print_exc()
        sys.stdout.flush(); sys.stderr.flush(); os.dup2(old[0], 2); os.dup2(old[1], 1)
