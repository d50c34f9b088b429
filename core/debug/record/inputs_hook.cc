// JAX: each executable is called through Python once, with the arguments that its module keeps, and
// knows the id that its files have. TensorFlow: a function that must be compiled is called with its
// tensors, then what it captured; which of them the module takes, the dump tells (saved_inputs.h).
// PyTorch/XLA: whatever makes it compile the operations of tensors is called with the tensors whose
// data those operations read, which are the parameters in order; the module is the file that is new
// then. A graph is saved once, by its hash.
#include "core/debug/record/inputs_hook.h"

namespace hloscope::debug {

const char* InputsHook() {
  static constexpr const char* kHook =
      R"(# Written by `hloscope record --inputs`: saves the arguments of the first call of each compiled function.
import atexit, gc, importlib, json, linecache, os, re, sys, threading, weakref

_root = os.environ['HLOSCOPE_INPUTS_TO']
_local = threading.local()
_lock = threading.Lock()
_count = 0


def _complain(what, error):
    text = '%s: %s: %s' % (what, type(error).__name__, error)
    try:
        with open(os.path.join(_folder(), 'failures'), 'a') as file:
            file.write(text[:500].replace('\n', ' ') + '\n')
    except Exception:
        sys.stderr.write('hloscope: %s\n' % text)


def _folder():
    folder = os.path.join(os.environ.get('HLOSCOPE_DUMP_FOLDER') or _root, 'hloscope-inputs')
    os.makedirs(folder, 0o700, exist_ok=True)
    return folder


def _type_name(dtype):
    name = dtype.name
    if name == 'bool':
        return 'pred'
    if name.startswith('float8_'):
        return 'f8' + name[7:]
    if name.startswith('float4_'):
        return 'f4' + name[7:]
    match = re.fullmatch('(bfloat|float|complex|uint|int)([0-9]+)', name)
    if match is None:
        raise TypeError('an array of %s' % name)
    return {'bfloat': 'bf', 'float': 'f', 'complex': 'c', 'uint': 'u', 'int': 's'}[match[1]] + match[2]


def _plain(array):
    import numpy

    if array.dtype.isbuiltin != 1:
        array = numpy.ascontiguousarray(array).view('u%d' % array.dtype.itemsize).reshape(array.shape)
    return array


# The arrays of one call, then what they are, so that a file without the other is not whole.
def _save(framework, function, arrays, module=None, dtypes=None):
    global _count
    import numpy

    types = [{'type': _type_name(dtype), 'dimensions': list(array.shape)}
             for array, dtype in zip(arrays, dtypes or [array.dtype for array in arrays])]
    with _lock:
        _count += 1
        stem = os.path.join(_folder(), '%d-%d' % (os.getpid(), _count))

    def create(ending):
        return os.open(stem + ending, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)

    with os.fdopen(create('.npz'), 'wb') as file:
        numpy.savez(file, **{'in%d' % k: _plain(array) for k, array in enumerate(arrays)})
    call = {'framework': framework, 'function': function, 'module': module, 'arrays': types}
    with os.fdopen(create('.json'), 'w') as file:
        json.dump(call, file)


# Calls `save` unless this thread is in it already: reading an argument may call compiled functions.
def _apart(function, save):
    if getattr(_local, 'saving', False):
        return
    _local.saving = True
    try:
        save()
    except Exception as error:
        _complain('the inputs of %s were not saved' % function, error)
    finally:
        _local.saving = False


# The id of a serialised HloModuleProto, as in the names of its files: field 5.
def _module_id(proto):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = proto[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(proto):
        key = varint()
        if key & 7 == 0:
            value = varint()
            if key >> 3 == 5:
                return value
        elif key & 7 == 2:
            size = varint()
            at += size
        else:
            at += 8 if key & 7 == 1 else 4
    return 0


def jax(module):
    import numpy

    pxla = importlib.import_module('jax._src.interpreters.pxla')
    call = pxla.ExecuteReplicated.__call__
    seen = weakref.WeakSet()

    def array_of(value):
        if type(value).__name__ == 'MutableArray' or hasattr(value, '_refs'):
            value = value._refs._buf
        if hasattr(value, 'dtype') and module.dtypes.issubdtype(value.dtype, module.dtypes.prng_key):
            value = module.random.key_data(value)
        if not getattr(value, 'is_fully_addressable', True):
            raise ValueError('an argument is spread over several processes')
        array = numpy.asarray(value)
        return array if hasattr(value, 'sharding') else array.astype(module.dtypes.canonicalize_dtype(array.dtype))

    def save(self, given):
        kept = [value for k, value in enumerate(given) if k in self.kept_var_idx]
        kept += self.mut.in_mut if self.mut else []
        hlo = self.xla_executable.hlo_modules()[0]
        _save('JAX', hlo.name, [array_of(value) for value in kept], _module_id(hlo.as_serialized_hlo_module_proto()))

    def replacement(self, *given):
        if self not in seen:
            seen.add(self)
            _apart('`%s`' % getattr(self, 'name', 'a function'), lambda: save(self, given))
        return call(self, *given)

    pxla.ExecuteReplicated.__call__ = replacement


def tensorflow(module):
    tf = module
    atomic = importlib.import_module('tensorflow.python.eager.polymorphic_function.atomic_function')
    graphs = importlib.import_module('tensorflow.python.framework.func_graph')
    ops = importlib.import_module('tensorflow.python.framework.ops')
    handles = importlib.import_module('tensorflow.python.ops.handle_data_util')
    record = importlib.import_module('tensorflow.python.eager.record')
    call = atomic.AtomicFunction.call_flat
    seen = set()

    def value_of(argument):
        if argument.dtype != tf.resource:
            return argument
        data = handles.get_handle_data(argument)
        if data is None or not data.is_set or len(data.shape_and_type) != 1:
            raise ValueError('an argument is a resource that is no variable')
        return tf.raw_ops.ReadVariableOp(resource=argument, dtype=tf.as_dtype(data.shape_and_type[0].dtype))

    def is_new(name, shapes):
        return (name, tuple(shapes)) not in seen

    def write(name, shapes, arrays):
        seen.add((name, tuple(shapes)))
        _save('TensorFlow', name, arrays)

    def shapes_of(arguments):
        return [tuple(a.shape) for a in arguments if a.dtype != tf.resource]

    def eagerly(name, arguments):
        shapes = shapes_of(arguments)
        if is_new(name, shapes):
            with record.stop_recording():
                write(name, shapes, [value_of(a).numpy() for a in arguments])

    # The compiled step of Keras is called inside of a graph that is not compiled: values are taken by
    # operations of that graph, which run before the step.
    def in_keras():
        graph, outer = ops.get_default_graph(), None
        while isinstance(graph, graphs.FuncGraph):
            graph, outer = graph.outer_graph, graph
        return outer is not None and outer.name.startswith(('multi_step_on_', 'one_step_on_data_distributed'))

    def in_graph(name, arguments):
        dense = [a for a in arguments if a.dtype != tf.resource]

        def ask(*shapes):
            return is_new(name, [tuple(int(n) for n in shape) for shape in shapes])

        def keep():
            def take(*arrays):
                shapes = [array.shape for array, a in zip(arrays, arguments) if a.dtype != tf.resource]
                _apart('`%s`' % name, lambda: write(name, shapes, list(arrays)))
                return True
            return tf.numpy_function(take, [value_of(a) for a in arguments], tf.bool)

        tf.cond(tf.numpy_function(ask, [tf.shape(a) for a in dense], tf.bool), keep, lambda: tf.constant(False))

    def replacement(self, *arguments):
        compiled = self.cached_definition.attr.get('_XlaMustCompile')
        if compiled is not None and compiled.b:
            name = self.name.decode() if isinstance(self.name, bytes) else str(self.name)
            if self._bound_context.executing_eagerly():
                _apart('`%s`' % name, lambda: eagerly(name, arguments))
            elif in_keras():
                _apart('`%s`' % name, lambda: in_graph(name, arguments))
        return call(self, *arguments)

    atomic.AtomicFunction.call_flat = replacement


class _TorchType:
    def __init__(self, dtype):
        self.name = str(dtype).replace('torch.', '')


def torch_xla(module):
    import torch

    core = module._XLAC
    waits_of, hash_of, data_of = core._check_tensor_need_materialization, core._get_graph_hash, core._get_tensors_xla_device_data_node
    seen = set()

    def modules():
        folder = os.environ.get('HLOSCOPE_DUMP_FOLDER') or _root
        names = (re.match(r'module_(\d+)\.([^.]+)', name) for name in os.listdir(folder))
        return {int(match[1]): match[2] for match in names if match}

    def is_xla(value):
        return issubclass(type(value), torch.Tensor) and value.device.type == 'xla'

    def number_of(tensor):
        try:
            return core._xla_get_tensor_id(tensor)
        except RuntimeError:  # one of dynamo's, without data
            return None

    def live():
        found = list(filter(is_xla, gc.get_objects()))
        found += [value.grad for value in found if value.is_leaf and value.grad is not None]
        numbered = {number_of(value): value for value in found}
        return [numbered[number] for number in sorted(number for number in numbered if number is not None)]

    def array_of(tensor):
        try:
            return tensor.numpy()
        except TypeError:  # a type that numpy lacks
            return tensor.view((torch.uint8, torch.int16)[tensor.element_size() - 1]).numpy()

    # Before what compiles the operations that the tensors wait for. What those read may be overwritten, and is copied.
    def look(tensors):
        pending = [t for t, waits in zip(tensors, waits_of(tensors)) if waits] if tensors else []
        key = hash_of(pending) if pending else None
        if key is None or key in seen:
            return
        seen.add(key)
        read = [t.detach().cpu() for t in data_of(pending)[1]]
        _local.looked = modules(), [array_of(t) for t in read], [_TorchType(t.dtype) for t in read]

    def save():
        known, arrays, dtypes = _local.looked
        _local.looked = None
        new = [(number, name) for number, name in modules().items() if number not in known]
        if len(new) > 1:
            raise ValueError('%d modules were compiled at once' % len(new))
        for number, name in new:
            _save('PyTorch/XLA', name, arrays, number, dtypes)

    def after():
        if getattr(_local, 'looked', None):
            _apart('a graph', save)

    def before(tensors):
        after()
        _apart('a graph', lambda: look(list(tensors())))

    # PyTorch/XLA tells causes and places from the innermost frames of Python, so functions are only looked up through the hook.
    class Core(type(core)):
        pass

    def on_use(name, act):
        call = getattr(core, name)

        def use(_):
            act()
            return call

        setattr(Core, name, property(use))

    on_use('_xla_step_marker', lambda: before(live))
    for name in ('_set_all_reduce_token', '_clear_pending_irs', '_run_cached_graph'):
        on_use(name, after)

    # Dynamo asks these about the tensors that it compiles or runs next.
    def hashed(tensors):
        before(lambda: [t for t in tensors if is_xla(t)])
        return hash_of(tensors)

    def checked(tensors):
        waits = waits_of(tensors)
        before(lambda: [t for t, one in zip(tensors, waits) if one])
        return waits

    core._get_graph_hash, core._check_tensor_need_materialization = hashed, checked
    core.__class__ = Core
    atexit.register(after)

    class Read:
        def __init__(self, name, tensors_of):
            self.call, self.tensors_of = getattr(torch.Tensor, name), tensors_of

        def __get__(self, tensor, owner=None):
            if tensor is None:
                return self.call
            if not getattr(_local, 'saving', False) and is_xla(tensor) and number_of(tensor) is not None:
                before(lambda: self.tensors_of(tensor))
            return self.call.__get__(tensor, owner)

    # Most of `to` stays on the device and reads nothing.
    def to_host(tensor):
        frame = sys._getframe(1)
        while frame.f_back and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        return [tensor] if 'cpu' in linecache.getline(frame.f_code.co_filename, frame.f_lineno) else []

    for name in ('__bool__', '__complex__', '__float__', '__index__', '__int__', 'cpu', 'item', 'tolist'):
        setattr(torch.Tensor, name, Read(name, lambda tensor: [tensor]))
    torch.Tensor.to = Read('to', to_host)
)";
  return kHook;
}

}  // namespace hloscope::debug
