#!/usr/bin/env python3
"""Stands for a Python with jaxlib, so that faults of a platform can be planted: `--platform jaxlib --python THIS`.

It speaks as core/backends/jaxlib/jaxlib_child.py does, whose script it is given, but computes with `PLANTED_HLOSCOPE run`, the reference
itself, and then does to the results what PLANTED_FAULT says (FAULTS below), unless XLA_FLAGS has the text PLANTED_CURE.
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

TYPES = {'<f4': ('f32', 'f'), '<f8': ('f64', 'd'), '<i4': ('s32', 'i')}
NAMES = {name: (descr, code) for descr, (name, code) in TYPES.items()}


def f32(value):
    return struct.unpack('<f', struct.pack('<f', value))[0]


def steps(value, count):
    """The f32 so many steps away from zero."""
    return struct.unpack('<f', struct.pack('<i', struct.unpack('<i', struct.pack('<f', value))[0] + count))[0]


def first(change):
    return lambda inputs, values: [change(values[0])] + values[1:]


def contracted(inputs, values):
    """Of a * b - c, the product is not rounded."""
    return [f32(a * b - c) for a, b, c in zip(*inputs)] if len(inputs) == 3 else values


# What is done to a result, from the inputs and its elements.
FAULTS = {
    'one percent': first(lambda value: value * 1.01),
    'a step': first(lambda value: steps(value, 1)),
    'three steps': lambda inputs, values: [steps(value, 3) for value in values],
    'a tenth': first(lambda value: value + 0.1),
    'no NaN': lambda inputs, values: [1.0 if math.isnan(value) else value for value in values],
    'flushed': lambda inputs, values: [0.0 if abs(value) < 2 ** -126 else value for value in values],
    'contracted': contracted,
    'first two swapped': lambda inputs, values: [values[1], values[0], *values[2:]] if inputs else values,
    'one more': lambda inputs, values: [value + 1 for value in values],
    'its argument': lambda inputs, values: list(inputs[0]) if inputs else values,
    'other side': lambda inputs, values: [2 * round(x) - 1 - value for x, value in zip(inputs[0], values)] if inputs else values,
    'other side, one more': lambda inputs, values: [2 * round(x) - 1 - value if x == round(x) else value + 1
                                                    for x, value in zip(inputs[0], values)] if inputs else values,
    'noise': first(lambda value: value + struct.unpack('<H', os.urandom(2))[0] + 1),
}

OF_INDICES = {'first two swapped'}


def npy(spec, data):
    head = f"{{'descr': '{NAMES[spec['type']][0]}', 'fortran_order': False, 'shape': {tuple(spec['dims'])}, }}"
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    return b'\x93NUMPY\x01\0' + struct.pack('<H', len(head)) + head.encode() + data


def read_npy(data):
    size, = struct.unpack_from('<H', data, 8)
    head = eval(data[10:10 + size], {'__builtins__': {}})  # a dictionary that hloscope wrote
    name, code = TYPES[head['descr']]
    body = data[10 + size:]
    return {'type': name, 'dims': list(head['shape']), 'bytes': len(body)}, list(struct.unpack(f'<{math.prod(head["shape"])}{code}', body))


def values_of(spec, data):
    code = NAMES[spec['type']][1]
    return list(struct.unpack(f'<{math.prod(spec["dims"])}{code}', bytes(data)))


class Planted:
    """In the place of the class Jaxlib of the child."""

    def __init__(self):
        self.version, self.note, self.client, self.modules = '9.9', None, self, {}
        self.platform = 'cpu'
        cure = os.environ.get('PLANTED_CURE')
        self.is_cured = bool(cure) and cure in os.environ.get('XLA_FLAGS', '')

    def open(self):
        pass

    def devices(self):
        return [0]

    def compile(self, job, data):
        module = bytes(take_parts(data, job['sizes'])[0])
        self.modules[job['id']] = module
        answer({'compile_ms': 1, 'memory': {}, 'sizes': [len(module), len(module) if job['optimized'] else 0]},
               [module, module if job['optimized'] else b''])

    def run(self, job, data):
        specs = job['arguments'][0]
        inputs = take_parts(data, [spec['bytes'] for spec in specs])
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ('m.hlo.pb', 'in.npz', 'out.npz')]
            with open(paths[0], 'wb') as file:
                file.write(self.modules[job['id']])
            with zipfile.ZipFile(paths[1], 'w') as archive:
                for number, (spec, part) in enumerate(zip(specs, inputs)):
                    archive.writestr(f'in{number}.npy', npy(spec, bytes(part)))
            done = subprocess.run([os.environ['PLANTED_HLOSCOPE'], 'run', paths[0], '--inputs', paths[1], '--outputs', paths[2]],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                raise Refused('xla', done.stdout + done.stderr)
            with zipfile.ZipFile(paths[2]) as archive:
                results = [read_npy(archive.read(name)) for name in archive.namelist()]
        outputs, parts = [], []
        for spec, values in results:
            fault = os.environ['PLANTED_FAULT']
            if spec['type'] == ('s32' if fault in OF_INDICES else 'f32') and values and not self.is_cured:
                values = FAULTS[fault]([values_of(s, i) for s, i in zip(specs, inputs)], values)
            outputs.append(spec)
            parts.append(struct.pack(f'<{len(values)}{NAMES[spec["type"]][1]}', *values))
        answer({'run_us': 1, 'outputs': [outputs]}, parts)

    def unload(self, job, data):
        self.modules.pop(job['id'], None)


if __name__ == '__main__':
    script = sys.argv[2]
    sys.argv[:] = ['-c'] + sys.argv[3:]
    exec(script[:script.rindex('serve()')])  # the child, but for its last line
    Jaxlib = Planted
    serve()
