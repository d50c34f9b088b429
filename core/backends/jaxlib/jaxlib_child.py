# The child of the platform jaxlib: compiles and runs modules with the jaxlib of the Python that runs this. It speaks the
# frames of core/base/frame_socket.h on descriptor 3; a job is JSON and arrays, as core/backends/jaxlib/jaxlib_process.h says.
import sys
sys.path[:] = [folder for folder in sys.path if folder]  # nothing is imported from the folder it is started in
import ctypes, fcntl, importlib.util, io, json, mmap, os, socket, struct, time

MAGIC, HEADER = 0x48534652, struct.Struct('<IIQQQ')  # magic, kind, bytes of the fields, of inline data, of shared memory
READY, TASK, TASK_DONE = (int(kind) for kind in sys.argv[1].split(','))
STAGE = dict(zip(('idle', 'load', 'compile', 'run', 'read'), map(int, sys.argv[2].split(','))))
PROTOCOL = sys.argv[3]
MOST_INLINE, SEAL, SEALS, CLOEXEC, ALLOW_SEALING = 32 << 10, 1033, 15, 1, 2
PR_SET_PDEATHSIG, SIGKILL = 1, 9

page = mmap.mmap(4, 4096)
connection = socket.socket(fileno=3)


class Refused(Exception):
    """What this jaxlib cannot do: class of the error, message."""


def at(stage):
    page[0:4] = struct.pack('<I', STAGE[stage])


def text(value):
    value = value.encode()
    return struct.pack('<Q', len(value)) + value


def receive_exactly(size):
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(size - len(data), 1 << 20))
        if not piece:
            os._exit(0)
        data += piece
    return bytes(data)


def receive():
    """Name of the job, its JSON, and its data."""
    start, descriptors, _, _ = socket.recv_fds(connection, HEADER.size, 4)
    if not start:
        os._exit(0)
    _, _, fields, inline, shared = HEADER.unpack(start + receive_exactly(HEADER.size - len(start)))
    data, head = receive_exactly(inline), receive_exactly(fields)
    if shared:
        data = mmap.mmap(descriptors[0], shared, prot=mmap.PROT_READ)
    for descriptor in descriptors:
        os.close(descriptor)
    size, = struct.unpack_from('<Q', head)
    return json.loads(head[8:8 + size]), data


def aligned(size):
    return (size + 63) // 64 * 64


def sealed(parts):
    memory = os.memfd_create('hloscope', CLOEXEC | ALLOW_SEALING)
    with os.fdopen(os.dup(memory), 'wb', buffering=0) as file:
        for part in parts:
            view = memoryview(part).cast('B') if len(part) else memoryview(b'')
            while len(view):
                view = view[file.write(view):]
            file.seek(aligned(file.tell()))
        file.truncate(file.tell())
    for _ in range(500):
        try:
            fcntl.fcntl(memory, SEAL, SEALS)
            break
        except OSError:  # the kernel still holds a page
            time.sleep(0.01)
    return memory


def send(kind, head, parts=()):
    size, inline, descriptors = sum(aligned(len(part)) for part in parts), b'', []
    if size <= MOST_INLINE:
        inline, size = b''.join(bytes(part) + bytes(aligned(len(part)) - len(part)) for part in parts), 0
    else:
        descriptors = [sealed(parts)]
    message = memoryview(HEADER.pack(MAGIC, kind, len(head), len(inline), size) + inline + head)
    message = message[socket.send_fds(connection, [message], descriptors):]
    connection.sendall(message)
    for descriptor in descriptors:
        os.close(descriptor)


def answer(value, parts=()):
    send(TASK_DONE, text(json.dumps(value)), parts)


def take_parts(data, sizes):
    parts, start = [], 0
    for size in sizes:
        parts.append(memoryview(data)[start:start + size])
        start += aligned(size)
    return parts


NUMPY = {'pred': 'bool', 's8': 'int8', 's16': 'int16', 's32': 'int32', 's64': 'int64', 'u8': 'uint8', 'u16': 'uint16', 'u32': 'uint32',
         'u64': 'uint64', 'f16': 'float16', 'f32': 'float32', 'f64': 'float64', 'c64': 'complex64', 'c128': 'complex128'}
# Types of ml_dtypes; those narrower than a byte take one each, as here and there.
NARROW = {'bf16': 'bfloat16', 'f8e5m2': 'float8_e5m2', 'f8e4m3fn': 'float8_e4m3fn', 'f8e4m3b11fnuz': 'float8_e4m3b11fnuz',
          'f8e5m2fnuz': 'float8_e5m2fnuz', 'f8e4m3fnuz': 'float8_e4m3fnuz', 'f8e4m3': 'float8_e4m3', 'f8e3m4': 'float8_e3m4',
          'f8e8m0fnu': 'float8_e8m0fnu', 'f4e2m1fn': 'float4_e2m1fn', 's4': 'int4', 'u4': 'uint4', 's2': 'int2', 'u2': 'uint2'}


class Arrays:
    """Bytes as arrays of jaxlib and back."""

    def __init__(self, numpy, ml_dtypes):
        self.numpy = numpy
        self.types = {name: numpy.dtype(type_name) for name, type_name in NUMPY.items()}
        for name, type_name in NARROW.items():
            if hasattr(ml_dtypes, type_name):
                self.types[name] = numpy.dtype(getattr(ml_dtypes, type_name))
        self.names = {dtype: name for name, dtype in self.types.items()}

    def from_bytes(self, spec, data):
        if spec['type'] not in self.types:
            raise Refused('unsupported', 'its ml_dtypes has no ' + spec['type'])
        dtype, numpy = self.types[spec['type']], self.numpy
        if spec['type'] in ('s4', 's2', 'u4', 'u2'):
            flat = numpy.frombuffer(data, dtype=numpy.int8 if spec['type'][0] == 's' else numpy.uint8).astype(dtype)
        else:
            flat = numpy.frombuffer(data, dtype=dtype)
        return flat.reshape(spec['dims'])

    def to_bytes(self, array):
        numpy = self.numpy
        name = self.names.get(array.dtype)
        if name is None:
            raise Refused('unsupported', f'a result is of the type {array.dtype}')
        if name in ('s4', 's2', 'u4', 'u2'):
            array = array.astype(numpy.int8 if name[0] == 's' else numpy.uint8)
        data = numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
        return {'type': name, 'dims': list(array.shape), 'bytes': len(data)}, data


class Shaped:
    """What jaxlib asks of the abstract value of an array."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.weak_type = shape, dtype, False


def installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


class Jaxlib:
    """One face for the interfaces that jaxlib has had since 0.4.30."""

    def __init__(self):
        import jaxlib
        from jaxlib import xla_client
        import ml_dtypes
        import numpy
        self.version = getattr(jaxlib, '__version__', None) or __import__('jaxlib.version').version.__version__
        self.xla_client, self.xla, self.numpy = xla_client, xla_client._xla, numpy
        self.arrays, self.client, self.executables = Arrays(numpy, ml_dtypes), None, {}
        self.note = None

    def open(self):
        """The client; the state that jax itself would set, which is not needed but would be in the way later."""
        gpu = self.gpu_client()
        if not hasattr(self.xla.Client, 'buffer_from_pyval'):
            try:
                import jax  # these jaxlibs import it at the first result, which then sets its own state
            except Exception:
                pass
        state = self.xla.jax_jit
        if hasattr(state, 'set_enable_x64_state'):
            self.x64 = self.xla.config.Config('jax_enable_x64', True)
            state.set_enable_x64_state(self.x64)
        else:
            state.set_thread_local_state_initialization_callback(lambda: None)
            state.global_state().enable_x64 = True
            if hasattr(state.global_state(), 'enable_memories'):
                state.global_state().enable_memories = False
        # XLA reads its flags now, and ends the process where it does not know one.
        self.xla_client.CompileOptions().executable_build_options.debug_options
        self.client = gpu or self.xla_client.make_cpu_client()

    def gpu_client(self):
        """The client that jax would take: for a GPU where its plugin is installed, unless JAX_PLATFORMS says otherwise."""
        wanted = os.environ.get('JAX_PLATFORMS', '').split(',')[0]
        if wanted not in ('', 'cuda', 'gpu') or not any(map(installed, ('jax_plugins.xla_cuda12', 'jax_plugins.xla_cuda13'))):
            return None
        try:
            import jax
            from jax._src import xla_bridge
            return xla_bridge.get_backend('gpu')
        except (ImportError, RuntimeError) as error:
            if wanted:
                raise Refused('environment', f'JAX_PLATFORMS is {wanted}: {error}')
            self.note = 'the CUDA plugin of jax is installed, but has no device: ran on the CPU'
            return None

    def register_calls(self, module):
        """The library calls that jax would have registered."""
        for word, name in ((b'lapack_', 'lapack'), (b'blas_', 'lapack'), (b'sparse_', 'cpu_sparse')):
            if word not in module or name in sys.modules.get('hloscope_registered', ()):
                continue
            sys.modules.setdefault('hloscope_registered', set()).add(name)
            try:
                library = __import__('jaxlib.' + name, fromlist=[name])
                kernels = getattr(library, '_lapack', None)
                if kernels is not None and hasattr(kernels, 'initialize'):
                    kernels.initialize()
                for target in getattr(library, 'registrations', dict)().get('cpu', ()):
                    self.xla_client.register_custom_call_target(target[0], target[1], platform='cpu', api_version=target[2])
            except ImportError as error:
                return f'the library calls of jaxlib.{name} are missing: {error}'
        return None

    def stablehlo(self, module):
        mlir = self.xla.mlir
        try:
            if hasattr(mlir, 'hlo_to_stablehlo'):
                return mlir.hlo_to_stablehlo(module)
            computation = self.xla_client.XlaComputation(module)
            try:
                return mlir.xla_computation_to_mlir_module(computation)
            except Exception as error:
                if 'MHLO => StableHLO' not in str(error):
                    raise
                return mlir.xla_computation_to_mlir_module(computation, emit_stable_hlo=False)
        except Exception as error:
            raise Refused('unsupported', 'it cannot write the module as StableHLO: ' + str(error))

    def taken(self, stablehlo):
        """The module as XLA gets it of the StableHLO, before all passes."""
        try:
            computation = self.xla.mlir.mlir_module_to_xla_computation(stablehlo, False, False)
            return computation.as_serialized_hlo_module_proto()
        except Exception as error:
            raise Refused('unsupported', 'it cannot read its StableHLO back: ' + str(error))

    def compile(self, job, data):
        module, options = (bytes(part) for part in take_parts(data, job['sizes']))
        at('load')
        warning = self.register_calls(module)
        stablehlo = self.stablehlo(module)
        taken = self.taken(stablehlo)
        at('compile')
        options = self.xla_client.CompileOptions.ParseFromString(options)
        session, trace_note, trace_start = self.profiler() if job['trace'] else (None, '', 0)
        start = time.perf_counter()
        if hasattr(self.client, 'compile_and_load'):
            devices = self.xla_client.DeviceList(tuple(self.client.devices()[:job['devices']]))
            executable = self.client.compile_and_load(stablehlo, devices, options)
        else:
            executable = self.client.compile(stablehlo, options)
        milliseconds = 1e3 * (time.perf_counter() - start)
        trace = session.stop() if session else b''
        self.executables[job['id']] = executable
        optimized = b''
        if job['optimized']:
            optimized = executable.hlo_modules()[0].as_serialized_hlo_module_proto()
        result = {'compile_ms': milliseconds, 'memory': self.memory(executable), 'sizes': [len(taken), len(optimized)], 'trace': len(trace),
                  'trace_note': trace_note, 'trace_start': trace_start}
        if warning:
            result['warning'] = warning
        answer(result, [taken, optimized, trace])

    def translate(self, job, data):
        code, = (bytes(part) for part in take_parts(data, job['sizes']))
        at('load')
        refined = refined_module(code, job['dimensions'], job['platform'], self.xla.mlir)
        answer_bytes = self.taken(refined)
        answer({'bytes': len(answer_bytes)}, [answer_bytes])

    def memory(self, executable):
        try:
            stats = executable.get_compiled_memory_stats()
        except Exception:
            return {}
        names = {'generated_code': 'generated_code', 'argument': 'arguments', 'output': 'outputs', 'alias': 'aliased', 'temp': 'temporary'}
        sizes = {name: getattr(stats, field + '_size_in_bytes', 0) for field, name in names.items()}
        peak = getattr(stats, 'peak_memory_in_bytes', 0)
        sizes['peak'] = peak or sizes['arguments'] + sizes['outputs'] + sizes['temporary'] - sizes['aliased']
        return {name: int(size) for name, size in sizes.items()}

    def put(self, values, devices):
        """One argument of all devices: each has its own value."""
        xla_client = self.xla_client
        shaped = Shaped(values[0].shape, values[0].dtype)
        if hasattr(self.client, 'buffer_from_pyval'):
            singles = [self.client.buffer_from_pyval(value, device, force_copy=True) for value, device in zip(values, devices)]
            return singles[0] if len(singles) == 1 else singles
        def replicated(some):
            return xla_client.GSPMDSharding(xla_client.DeviceList(tuple(some)), xla_client.HloSharding.replicate())
        singles = [xla_client.batched_device_put(shaped, replicated([device]), [value], [device])
                   for value, device in zip(values, devices)]
        if len(singles) == 1:
            return singles[0]
        return xla_client.ArrayImpl(shaped, replicated(devices), singles, True, _skip_checks=True)

    def run(self, job, data):
        executable = self.executables[job['id']]
        specs = job['arguments']
        parts = iter(take_parts(data, [spec['bytes'] for device in specs for spec in device]))
        values = [[self.arrays.from_bytes(spec, next(parts)) for spec in device] for device in specs]
        devices = executable.local_devices()
        if len(devices) != len(values):
            raise Refused('internal', f'it compiled for {len(devices)} devices, expected {len(values)}')
        arguments = [self.put(list(each), devices) for each in zip(*values)]
        session, trace_note, trace_start = self.profiler() if job['trace'] else (None, '', 0)
        at('run')
        start = time.perf_counter()
        outputs = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        for output in outputs:
            for array in output:
                array.block_until_ready()
        microseconds = 1e6 * (time.perf_counter() - start)
        at('read')
        trace = session.stop() if session else b''
        specs, parts = [[] for _ in devices], [[] for _ in devices]
        for output in outputs:
            for device, array in enumerate(output):
                spec, part = self.arrays.to_bytes(self.host(array))
                specs[device].append(spec)
                parts[device].append(part)
        answer({'run_us': microseconds, 'outputs': specs, 'trace': len(trace), 'trace_note': trace_note, 'trace_start': trace_start},
               [part for device in parts for part in device] + [trace])

    def profiler(self):
        """A session of the profiler in this jaxlib, whose stop() gives an XSpace, or why there is none; and when its time begins, in nanoseconds
        of the clock of all processes."""
        try:
            profiler = getattr(self.xla, 'profiler', None)
            if profiler is None:
                from jaxlib import _profiler as profiler
            options = profiler.ProfileOptions()
            options.python_tracer_level = 0
            start = time.monotonic_ns()
            return profiler.ProfilerSession(options), '', start
        except Exception as error:
            return None, f'its profiler cannot be started: {error}', 0

    def host(self, array):
        if hasattr(array, '_single_device_array_to_np_array_did_copy'):
            return array._single_device_array_to_np_array_did_copy()[0]
        return array._single_device_array_to_np_array()

    def unload(self, job, data):
        """Nothing answers: the next answer read is that of the next job."""
        self.executables.pop(job['id'], None)


def mlir_context(ir):
    """A context with every dialect that a program of JAX may use."""
    context = ir.Context()
    try:
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext
        registry = ir.DialectRegistry()
        _jax_mlir_ext.register_dialects(registry)
        context.append_dialect_registry(registry)
        context.load_all_available_dialects()
    except (ImportError, AttributeError):
        pass
    for name in ('stablehlo', 'chlo', 'mhlo', 'sdy'):
        try:
            importlib.import_module('jaxlib.mlir.dialects.' + name).register_dialect(context)
        except (ImportError, AttributeError):
            pass
    return context


def parsed(code, context, ir, stablehlo):
    if not code.startswith(b'ML\xefR'):
        return ir.Module.parse(code.decode('utf-8', 'replace'))
    try:
        return stablehlo.deserialize_portable_artifact(context, code)
    except Exception as error:
        try:
            return ir.Module.parse(code)
        except Exception:
            raise error


def argument_types(types, dimensions, ir):
    """The types of the arguments with all their dimensions."""
    static, given = [], list(dimensions)
    for number, old in enumerate(types):
        known = given[number] if number < len(given) else None
        try:
            old = ir.RankedTensorType(old)
        except ValueError:  # a token
            static.append(old)
            continue
        if known is None:
            if not old.has_static_shape:
                raise Refused('input', f'the shape of argument {number} is not set: it is {old}')
            known = old.shape
        fits = len(known) == old.rank and all(old.is_dynamic_dim(d) or old.get_dim_size(d) == known[d] for d in range(old.rank))
        if not fits:
            raise Refused('input', f'argument {number} is of the shape {list(known)}, expected {old}')
        static.append(ir.RankedTensorType.get(known, old.element_type, old.encoding))
    return static


def call_with_shapes(module, dimensions, platform, ir, func, stablehlo):
    """Makes the main function one of these shapes, that calls what was the main function."""
    table = ir.SymbolTable(module.operation)
    if 'main' not in table:
        raise Refused('input', 'it has no function main')
    callee = table['main']
    types, results = list(callee.type.inputs), list(callee.type.results)
    first = 0 if platform is None else 1
    static = argument_types(types[first:], dimensions, ir)
    attributes = list(callee.arg_attrs)[first:] if types and 'arg_attrs' in callee.attributes else None
    result_attributes = callee.result_attrs if results and 'res_attrs' in callee.attributes else None
    callee.attributes['sym_visibility'] = ir.StringAttr.get('private')
    table.set_symbol_name(callee, 'main_of_any_shape')
    main = func.FuncOp('main', ir.FunctionType.get(static, results), ip=ir.InsertionPoint.at_block_begin(module.body))
    main.attributes['sym_visibility'] = ir.StringAttr.get('public')
    if attributes is not None:
        main.arg_attrs = ir.ArrayAttr.get(attributes)
    if result_attributes is not None:
        main.result_attrs = result_attributes
    with ir.InsertionPoint(main.add_entry_block()):
        passed = []
        if platform is not None:
            index = ir.IntegerAttr.get(ir.RankedTensorType(types[0]).element_type, platform)
            passed.append(stablehlo.ConstantOp(ir.DenseElementsAttr.get_splat(types[0], index)).result)
        for argument, wanted in zip(main.arguments, types[first:]):
            passed.append(argument if argument.type == wanted else stablehlo.ConvertOp(wanted, argument).result)
        call = func.CallOp(results, ir.FlatSymbolRefAttr.get('main_of_any_shape'), passed)
        func.ReturnOp(list(call.results))


def refined_module(code, dimensions, platform, tools):
    """A program with the shapes of its arguments refined through all of it, as bytecode; JAX does the same before it compiles."""
    try:
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import func, stablehlo
    except ImportError as error:
        raise Refused('unsupported', f'it has no MLIR for Python: {error}')
    with mlir_context(ir) as context, ir.Location.unknown():
        try:
            module = parsed(code, context, ir, stablehlo)
        except Exception as error:
            raise Refused('input', f'it cannot read the module: {error}')
        call_with_shapes(module, dimensions, platform, ir, func, stablehlo)
        out = io.BytesIO()
        module.operation.write_bytecode(out)
    more = {'enable_shardy': True} if b'sdy' in code else {}
    try:
        return tools.refine_polymorphic_shapes(out.getvalue(), enable_shape_assertions=True, validate_static_shapes=True, **more)
    except Exception as error:
        message, sign = str(error), 'Input shapes do not match'
        if sign in message:  # JAX's own assertion, and not where in MLIR it is
            message = sign + message.split(sign, 1)[1].split('\n')[0].split('Using the following polymorphic shapes')[0].rstrip()
        raise Refused('input', f'these shapes do not fit the program: {message}')


def serve():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)
    send(READY, text(PROTOCOL))
    jaxlib = None
    while True:
        at('idle')
        job, data = receive()
        try:
            at('load')
            if job['do'] == 'open':
                jaxlib = Jaxlib()
                if job['folder']:
                    os.chdir(job['folder'])
                jaxlib.open()
                answer({'version': jaxlib.version, 'python': sys.version.split()[0], 'platform': jaxlib.client.platform,
                        'devices': len(jaxlib.client.devices()), 'note': jaxlib.note or ''})
            else:
                assert job['do'] in ('compile', 'run', 'translate', 'unload'), job['do']
                getattr(jaxlib, job['do'])(job, data)
        except Refused as error:
            answer({'refused': error.args[0], 'message': error.args[1]})
        except ImportError as error:
            answer({'refused': 'environment', 'message': f'cannot import jaxlib: {error}'})
        except MemoryError:
            answer({'refused': 'environment', 'message': 'no memory'})
        except Exception as error:
            answer({'refused': 'xla' if 'RuntimeError' in type(error).__name__ else 'internal',
                    'message': str(error) if 'RuntimeError' in type(error).__name__ else f'{type(error).__name__}: {error}'})


serve()
