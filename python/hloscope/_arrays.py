"""Arrays as files of numpy, and back. Imports numpy only where arrays are used."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
from collections.abc import Mapping
from typing import Any


def imported(name: str) -> Any:
    """A package that is there where its values are."""
    return importlib.import_module(name)


def is_array(value: Any) -> bool:
    return hasattr(value, "__array__") or isinstance(value, (bool, int, float, complex))


def is_arrays(value: Any) -> bool:
    """An array, or a list, tuple or dictionary of some (also nested)."""
    if isinstance(value, Mapping):
        return bool(value) and all(is_arrays(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return bool(value) and all(is_arrays(item) for item in value)
    return is_array(value)


def leaves(value: Any) -> list[Any]:
    """The arrays of nested lists, tuples and dictionaries in jax's order: keys sorted, None has none."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [leaf for name in sorted(value) for leaf in leaves(value[name])]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def plain(value: Any, dtype: Any = None) -> Any:
    """A numpy array whose type numpy itself can write: bfloat16 and the like as integers of their width."""
    import numpy

    if hasattr(value, "detach"):  # a tensor of PyTorch
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.view(imported("torch").int16)
    array = numpy.asarray(value, dtype=dtype)
    if array.dtype.hasobject:
        raise TypeError(f"expected an array of numbers, got {type(value).__name__}")
    if array.dtype.isbuiltin != 1 and array.dtype.kind not in "?biufc":
        width = array.dtype.itemsize
        array = numpy.ascontiguousarray(array).view(f"u{width}").reshape(array.shape)
    return array


def write_npz(path: str, arrays: Mapping[str, Any]) -> None:
    import numpy

    with open(path, "wb") as file:
        numpy.savez(file, **{name: plain(array) for name, array in arrays.items()})


def write_values(folder: str, stem: str, values: Any, prefix: str) -> str:
    """The file of arrays that are given as one array, a list or a dictionary by name."""
    path = os.path.join(folder, stem + ".npz")
    if isinstance(values, Mapping) and all(is_array(item) for item in values.values()):
        named = {str(name): array for name, array in values.items()}
    else:
        named = {f"{prefix}{k}": leaf for k, leaf in enumerate(leaves(values))}
    write_npz(path, named)
    return path


def read_outputs(data: bytes) -> tuple[Any, ...]:
    """The arrays out0, out1, … of a .npz."""
    import numpy

    with contextlib.suppress(ImportError):
        imported("ml_dtypes")  # makes numpy read bfloat16 and float8
    with numpy.load(io.BytesIO(data), allow_pickle=False) as archive:
        names = [name for name in archive.files if re.fullmatch(r"out\d+", name)]
        try:
            return tuple(archive[name] for name in sorted(names, key=lambda name: int(name[3:])))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{error}: numpy has no such element type; pip install ml_dtypes") from None
