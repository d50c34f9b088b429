#!/usr/bin/env python3
"""Writes the files of jax.export beside it: make_exports.py, with jax 0.10.2 and flatbuffers. What they compute is in EXPECTED of
tests/app/export_test.py, worked out by hand."""
import os

os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=4'
os.environ['JAX_PLATFORMS'] = 'cpu'
import jax
import jax.numpy as jnp
from jax import export
from jax._src.export import serialization_generated as schema
from jax.sharding import AxisType, NamedSharding, PartitionSpec

jax.config.update('jax_hlo_source_file_canonicalization_regex', '.*/')
HERE = os.path.dirname(os.path.abspath(__file__))


def spec(shape, kind='float32'):
    return jax.ShapeDtypeStruct(shape, kind)


def write(name, exported, **options):
    with open(os.path.join(HERE, name + '.export'), 'wb') as file:
        file.write(bytes(exported.serialize(**options)))


def per_platform(x):
    return jax.lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: x + 2, tpu=lambda x: x + 3)


def of_version_2(exported):
    """Bytes as jax wrote them until November 2025: without unique values, with few devices and without memory spaces."""
    kept = {name: getattr(schema, name) for name in dir(schema) if '_' not in name and 'Add' in name}
    for field in ('UniqueAvals', 'UniqueAbstractMeshes', 'UniqueNamedShardings', 'InAvalsIdxs', 'OutAvalsIdxs', 'InShardingsIdxs',
                  'OutShardingsIdxs'):
        setattr(schema, 'ExportedAdd' + field, lambda builder, value: None)
    schema.ExportedAddNrDevices = schema.ExportedAddNrDevicesShort
    schema.AbstractValueAddMemorySpace = lambda builder, value: None
    data = bytes(exported.serialize())
    for name, function in kept.items():
        setattr(schema, name, function)
    return data


def main():
    fixed = export.export(jax.jit(lambda x, unused, y: (x * 2 + y, y.sum())))(spec((2, 3)), spec((5,), 'int32'), spec((3,)))
    write('fixed', fixed)
    with open(os.path.join(HERE, 'version_2.export'), 'wb') as file:
        file.write(of_version_2(fixed))
    write('platforms', export.export(jax.jit(per_platform), platforms=('tpu', 'cpu', 'cuda'))(spec((3,))))
    a, b = export.symbolic_shape('a, b', constraints=['a >= 2'])
    symbolic = jax.jit(lambda x, y: (per_platform(x).reshape(-1), y + jnp.ones((2 * a + 1,)), x.shape[0] * 1.0))
    write('symbolic', export.export(symbolic, platforms=('cpu', 'cuda'))(spec((a, b)), spec((2 * a + 1,))))
    mesh = jax.make_mesh((4,), ('i',), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec('i'))
    write('devices', export.export(jax.jit(lambda x, y: (x @ y).sum(0), in_shardings=(rows, None)))(spec((8, 4)), spec((4, 2))))
    types = jax.jit(lambda a, b, c, k: (a + 1, ~b, c.astype('float32'), jax.random.key_data(k)))
    key = jax.random.key(0).dtype
    write('types', export.export(types)(spec((3,), 'int4'), spec((2,), 'bool'), spec((2,), 'float8_e4m3fn'), spec((), key)))
    write('gradient', export.export(jax.jit(lambda x: (x * x).sum()))(spec((3,))), vjp_order=2)
    keys = jax.jit(lambda x: x + jax.random.uniform(jax.random.key(1), (4,)))
    write('random', export.export(keys, platforms=('cuda', 'cpu'))(spec((4,))))


main()
