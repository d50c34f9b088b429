"""Runs serialized HLO modules on a PJRT plugin (the C API of XLA's backends), one device, through ctypes.

As a program: `pjrt.py PLUGIN` reads lines `MODULE.pb INPUTS.npz OUTPUTS.npz` and answers each with `ok` or `error …`;
it may die on a module, which is why it is a process of its own.
"""
import ctypes
import sys

import numpy as np

from element_types import TYPES

SIZE, POINTER, INT, LONG = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64

# Functions by their place in PJRT_Api (pjrt_c_api.h, version 0.114).
FUNCTIONS = {
    "Error_Destroy": 0, "Error_Message": 1, "Plugin_Initialize": 3, "Event_Destroy": 5, "Event_Await": 8,
    "Client_Create": 10, "Client_AddressableDevices": 16, "Client_Compile": 20, "Client_BufferFromHostBuffer": 22,
    "Executable_NumOutputs": 44, "LoadedExecutable_Destroy": 50, "LoadedExecutable_GetExecutable": 51,
    "LoadedExecutable_Execute": 55, "Buffer_Destroy": 58, "Buffer_ElementType": 59, "Buffer_Dimensions": 60,
    "Buffer_ToHostBuffer": 70,
}
# The arguments' fields after struct_size and extension_start.
ARGUMENTS = {
    "Error_Destroy": [("error", POINTER)],
    "Error_Message": [("error", POINTER), ("message", POINTER), ("message_size", SIZE)],
    "Plugin_Initialize": [],
    "Event_Destroy": [("event", POINTER)],
    "Event_Await": [("event", POINTER)],
    "Client_Create": [("options", POINTER), ("num_options", SIZE)] + [(f"callback{i}", POINTER) for i in range(4)] +
                     [("client", POINTER)] + [(f"callback{i}", POINTER) for i in range(4, 6)],
    "Client_AddressableDevices": [("client", POINTER), ("devices", ctypes.POINTER(POINTER)), ("num_devices", SIZE)],
    "Client_Compile": [("client", POINTER), ("program", POINTER), ("options", ctypes.c_char_p), ("options_size", SIZE),
                       ("executable", POINTER)],
    "Client_BufferFromHostBuffer": [
        ("client", POINTER), ("data", POINTER), ("type", INT), ("dims", POINTER), ("num_dims", SIZE),
        ("strides", POINTER), ("num_strides", SIZE), ("semantics", INT), ("device", POINTER), ("memory", POINTER),
        ("layout", POINTER), ("done", POINTER), ("buffer", POINTER)],
    "Executable_NumOutputs": [("executable", POINTER), ("num_outputs", SIZE)],
    "LoadedExecutable_Destroy": [("executable", POINTER)],
    "LoadedExecutable_GetExecutable": [("loaded", POINTER), ("executable", POINTER)],
    "LoadedExecutable_Execute": [
        ("executable", POINTER), ("options", POINTER), ("arguments", POINTER), ("num_devices", SIZE),
        ("num_args", SIZE), ("outputs", POINTER), ("events", POINTER), ("device", POINTER)],
    "Buffer_Destroy": [("buffer", POINTER)],
    "Buffer_ElementType": [("buffer", POINTER), ("type", INT)],
    "Buffer_Dimensions": [("buffer", POINTER), ("dims", ctypes.POINTER(LONG)), ("num_dims", SIZE)],
    "Buffer_ToHostBuffer": [("source", POINTER), ("layout", POINTER), ("target", POINTER), ("target_size", SIZE),
                            ("event", POINTER)],
}
# Options of one device and one computation: CompileOptionsProto.executable_build_options with device_ordinal -1,
# num_replicas 1, num_partitions 1.
COMPILE_OPTIONS = bytes.fromhex("1a0f08ffffffffffffffffff0120012801")
BY_PJRT = {t.pjrt: t for t in TYPES if t.pjrt is not None}


def _structure(fields):
    return type("Args", (ctypes.Structure,), {"_fields_": [("struct_size", SIZE), ("extension", POINTER), *fields]})


STRUCTURES = {name: _structure(fields) for name, fields in ARGUMENTS.items()}
Program = _structure([("code", ctypes.c_char_p), ("code_size", SIZE), ("format", ctypes.c_char_p),
                      ("format_size", SIZE)])
ExecuteOptions = _structure([(f"field{i}", POINTER) for i in range(4)] + [("launch_id", INT)] +
                            [("kept_inputs", POINTER), ("num_kept_inputs", SIZE)] +
                            [(f"field{i}", POINTER) for i in range(4, 11)])
TiledLayout = _structure([("minor_to_major", POINTER), ("num_minor_to_major", SIZE), ("tile_dims", POINTER),
                          ("tile_dim_sizes", POINTER), ("num_tiles", SIZE)])
MemoryLayout = _structure([("tiled", TiledLayout), ("type", INT)])


def _sized(structure, **values):
    return structure(struct_size=ctypes.sizeof(structure), **values)


def module_of(file):
    """The HloModuleProto in an HloProto: its field 1, which must come first."""
    at, size, shift = 1, 0, 0
    if file[:1] != b"\x0a":
        raise RuntimeError("no HloProto")
    while True:
        byte = file[at]
        size |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return file[at:at + size]


class Client:
    """The first device of a plugin."""

    def __init__(self, plugin):
        library = ctypes.CDLL(plugin)
        library.GetPjrtApi.restype = POINTER
        table = library.GetPjrtApi() + 40  # after struct_size, extension_start and the version
        signature = ctypes.CFUNCTYPE(POINTER, POINTER)
        self.functions = {name: signature(POINTER.from_address(table + 8 * at).value)
                          for name, at in FUNCTIONS.items()}
        self.call("Plugin_Initialize")
        self.client = self.call("Client_Create").client
        self.device = self.call("Client_AddressableDevices", client=self.client).devices[0]

    def call(self, name, **values):
        args = _sized(STRUCTURES[name], **values)
        error = self.functions[name](ctypes.addressof(args))
        if not error or name.startswith("Error_"):  # those return nothing
            return args
        message = self.call("Error_Message", error=error)
        text = ctypes.string_at(message.message, message.message_size).decode(errors="replace")
        self.call("Error_Destroy", error=error)
        raise RuntimeError(text)

    def wait(self, event):
        if event:
            self.call("Event_Await", event=event)
            self.call("Event_Destroy", event=event)

    def compile(self, module):
        program = _sized(Program, code=module, code_size=len(module), format=b"hlo", format_size=3)
        return self.call("Client_Compile", client=self.client, program=ctypes.addressof(program),
                         options=COMPILE_OPTIONS, options_size=len(COMPILE_OPTIONS)).executable

    def put(self, t, dimensions, bits):
        bits = np.ascontiguousarray(bits)
        data = bits if bits.nbytes else np.zeros(16, "u1")
        dims = (LONG * max(1, len(dimensions)))(*dimensions)
        args = self.call("Client_BufferFromHostBuffer", client=self.client, data=data.ctypes.data, type=t.pjrt,
                         dims=ctypes.addressof(dims), num_dims=len(dimensions), device=self.device)
        self.wait(args.done)
        return args.buffer

    def get(self, buffer):
        """Bits of the elements in row-major order; a complex number's parts are two."""
        shape = self.call("Buffer_Dimensions", buffer=buffer)
        dimensions = [shape.dims[i] for i in range(shape.num_dims)]
        t = BY_PJRT[self.call("Buffer_ElementType", buffer=buffer).type]
        parts = 2 if t.kind == "complex" else 1
        out = np.empty(max(1, int(np.prod(dimensions, dtype=np.int64))) * parts, t.storage)
        order = (LONG * max(1, len(dimensions)))(*reversed(range(len(dimensions))))
        layout = _sized(MemoryLayout)
        layout.tiled = _sized(TiledLayout, minor_to_major=ctypes.addressof(order), num_minor_to_major=len(dimensions))
        args = self.call("Buffer_ToHostBuffer", source=buffer, layout=ctypes.addressof(layout), target=out.ctypes.data,
                         target_size=out.nbytes)
        self.wait(args.event)
        return out[:int(np.prod(dimensions, dtype=np.int64)) * parts]

    def run(self, module, arguments):
        """The results of a module on `arguments`, (type, dimensions, bits) each."""
        executable = self.compile(module)
        loaded = self.call("LoadedExecutable_GetExecutable", loaded=executable)
        count = self.call("Executable_NumOutputs", executable=loaded.executable).num_outputs
        buffers = [self.put(*argument) for argument in arguments]
        inputs = (POINTER * max(1, len(buffers)))(*buffers)
        outputs = (POINTER * max(1, count))()
        input_lists = (POINTER * 1)(ctypes.addressof(inputs))
        output_lists = (POINTER * 1)(ctypes.addressof(outputs))
        events = (POINTER * 1)()
        kept = (LONG * max(1, len(buffers)))(*range(len(buffers)))
        options = _sized(ExecuteOptions, kept_inputs=ctypes.addressof(kept), num_kept_inputs=len(buffers))
        self.call("LoadedExecutable_Execute", executable=executable, options=ctypes.addressof(options),
                  arguments=ctypes.addressof(input_lists), num_devices=1, num_args=len(buffers),
                  outputs=ctypes.addressof(output_lists), events=ctypes.addressof(events))
        self.wait(events[0])
        results = [self.get(buffer) for buffer in outputs[:count]]
        for buffer in [*outputs[:count], *buffers]:
            self.call("Buffer_Destroy", buffer=buffer)
        self.call("LoadedExecutable_Destroy", executable=executable)
        return results


def main():
    client = Client(sys.argv[1])
    by_name = {t.name: t for t in TYPES}
    for line in sys.stdin:
        module, inputs, outputs = line.split()
        try:
            given = np.load(inputs)
            arguments = []
            for key in given.files:
                _, name, *dimensions = key.split("_")
                arguments.append((by_name[name], [int(d) for d in dimensions], given[key]))
            with open(module, "rb") as file:
                results = client.run(module_of(file.read()), arguments)
            np.savez(outputs, **{f"out{i}": r for i, r in enumerate(results)})
            print("ok", flush=True)
        except (RuntimeError, KeyError) as error:
            print("error", " ".join(str(error).split())[:300], flush=True)


if __name__ == "__main__":
    main()
