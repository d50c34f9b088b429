"""Modules of frameworks as files that the program reads, and what is known of their arguments and results."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hloscope import _arrays


@dataclass(frozen=True)
class Module:
    path: str
    # Of jax: which arguments are parameters of the module, how many there were, their types, how its results are put together again.
    kept: tuple[int, ...] | None = None
    arguments: int | None = None
    types: tuple[Any, ...] | None = None
    restore: Callable[[Sequence[Any]], Any] | None = None


def _write(folder: str, name: str, data: bytes) -> str:
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def _ending(data: bytes) -> str:
    if data.startswith(b"ML\xefR"):
        return ".mlirbc"
    head = data[:4096].lstrip()
    if re.match(rb"(//[^\n]*\n\s*)*(HloModule\b|\w*\s*\{|ENTRY\b)", head):
        return ".hlo"
    if re.match(rb"(//[^\n]*\n\s*)*(#\w+ ?=|module\b|builtin\.module\b|func\.func\b)", head):
        return ".mlir"
    return ".hlo.pb"


def is_text(value: Any) -> bool:
    """Text of a module, and not the name of a file."""
    return isinstance(value, str) and ("\n" in value or bool(re.match(r"\s*(HloModule\s|module\s*(@|\{|attributes))", value)))


def _made_by_jax(value: Any, name: str) -> bool:
    return any(kind.__name__ == name and kind.__module__.split(".")[0] in ("jax", "jaxlib") for kind in type(value).__mro__)


def is_module(value: Any) -> bool:
    """Something that is a module whatever the command: a path, bytes, or what a framework compiles."""
    return isinstance(value, (str, bytes, bytearray, os.PathLike)) or _made_by_jax(value, "Lowered") or _made_by_jax(value, "Compiled")


def _private(value: Any, *names: str) -> Any:
    """value.a.b["c"] of names that another version may not have; None there."""
    for name in names:
        try:
            value = value[name] if isinstance(value, dict) else getattr(value, name)
        except Exception:  # whatever another version raises
            return None
    return value


def _of_jax(value: Any, folder: str, proto: bytes, kept: Any) -> Module:
    jax = _arrays.imported("jax")
    types = tuple(jax.tree_util.tree_leaves(value.args_info, is_leaf=lambda leaf: hasattr(leaf, "shape")))
    tree = value.out_tree
    name = re.search(rb"[A-Za-z_][\w.]*", proto[:80])
    stem = name[0].decode().replace(".", "_") if name else "module"
    return Module(
        _write(folder, f"{stem}.hlo.pb", proto),
        tuple(sorted(kept)) if kept is not None else None,
        len(types),
        types,
        lambda values: jax.tree_util.tree_unflatten(tree, values),
    )


def _lowered(value: Any, folder: str) -> Module:
    hlo = value.compiler_ir("hlo")
    if hlo is None:
        raise TypeError("this jax.stages.Lowered has no HLO (compiler_ir('hlo') is None)")
    return _of_jax(value, folder, hlo.as_serialized_hlo_module_proto(), _private(value, "_lowering", "compile_args", "kept_var_idx"))


def _compiled(value: Any, folder: str) -> Module:
    modules = value.runtime_executable().hlo_modules()
    if len(modules) != 1:
        raise TypeError(f"this jax.stages.Compiled has {len(modules)} modules, expected one")
    return _of_jax(value, folder, modules[0].as_serialized_hlo_module_proto(), _private(value, "_executable", "_kept_var_idx"))


def _tensorflow(value: Any, folder: str, inputs: Sequence[Any]) -> Module:
    text = value.experimental_get_compiler_ir(*inputs)(stage="hlo")
    data = text.encode() if isinstance(text, str) else bytes(text)
    return Module(_write(folder, "tensorflow_function.hlo", data))


def _torch_xla(values: Sequence[Any], folder: str) -> Module:
    text = _arrays.imported("torch_xla")._XLAC._get_xla_tensors_hlo(list(values))
    return Module(_write(folder, "torch_xla_graph.hlo", text.encode()))


def _is_xla_tensor(value: Any) -> bool:
    return type(value).__module__.startswith("torch") and str(getattr(value, "device", "")).startswith("xla")


def module_of(value: Any, folder: str, inputs: Sequence[Any] = (), stem: str = "module") -> Module:
    """The file of a module. A function of jax or TensorFlow is lowered for `inputs`."""
    if isinstance(value, os.PathLike) or (isinstance(value, str) and not is_text(value)):
        return Module(os.fspath(value))
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, (bytes, bytearray)):
        return Module(_write(folder, stem + _ending(bytes(value)), bytes(value)))
    if _made_by_jax(value, "Lowered"):
        return _lowered(value, folder)
    if _made_by_jax(value, "Compiled"):
        return _compiled(value, folder)
    if hasattr(value, "experimental_get_compiler_ir"):
        return _tensorflow(value, folder, inputs)
    if callable(getattr(value, "lower", None)):
        return _lowered(value.lower(*inputs), folder)
    tensors = list(value) if isinstance(value, (list, tuple)) else [value]
    if tensors and all(_is_xla_tensor(tensor) for tensor in tensors):
        return _torch_xla(tensors, folder)
    if callable(getattr(value, "as_text", None)) and not callable(getattr(value, "__array__", None)):
        return Module(_write(folder, stem + ".hlo", value.as_text().encode()))
    if callable(value):
        raise TypeError(f"{getattr(value, '__name__', type(value).__name__)} is not compiled by XLA; pass jax.jit(f), jax.jit(f).lower(…) or a tf.function")
    raise TypeError(
        f"expected a module, got {type(value).__name__}: a path, text or bytes of HLO or StableHLO, a jax.stages.Lowered or Compiled, a tf.function, "
        "or tensors of PyTorch/XLA"
    )


def _leaf(value: Any, wanted: Any) -> Any:
    if type(value).__module__.split(".")[0] in ("jax", "jaxlib"):
        jax = _arrays.imported("jax")
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
            value = jax.random.key_data(value)
            wanted = None
    dtype = getattr(wanted, "dtype", None)
    is_number = isinstance(value, (bool, int, float, complex))
    return _arrays.plain(value, dtype if is_number and dtype is not None else None)


def leaves_of_jax(values: Any) -> list[Any]:
    """The arrays of a structure in jax's order; a list of names of files stays one."""
    leaves: list[Any] = _arrays.imported("jax").tree_util.tree_leaves(values)
    return leaves


def parameters(module: Module, inputs: Sequence[Any]) -> list[Any]:
    """The arrays of the module's parameters from the arguments of the function: flat, without those that jax dropped as unused."""
    if module.types is None:
        return [_leaf(leaf, None) for leaf in _arrays.leaves(tuple(inputs))]
    jax = _arrays.imported("jax")
    flat = jax.tree_util.tree_leaves(tuple(inputs))
    types = module.types
    if module.kept is not None and len(flat) == len(module.kept) and len(flat) != len(types):
        return [_leaf(leaf, None) for leaf in flat]  # already without the unused ones
    if len(flat) != len(types):
        raise TypeError(f"the function was lowered for {len(types)} arrays, got {len(flat)}")
    if module.kept is None:
        return [_leaf(leaf, kind) for leaf, kind in zip(flat, types)]
    return [_leaf(flat[k], types[k]) for k in module.kept if k < len(flat)]
