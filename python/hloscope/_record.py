"""`with hloscope.record() as dump:` writes a dump of what jax compiles inside of a process that is already running."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

_recording = threading.Lock()


def _flags(dump: str, passes: bool) -> dict[str, Any]:
    flags: dict[str, Any] = {"xla_dump_to": dump, "xla_dump_hlo_as_text": True, "xla_dump_hlo_as_proto": True}
    if passes:
        flags["xla_dump_hlo_pass_re"] = ".*"
    return flags


def _compiler() -> Any:
    """The part of jax that makes the options of a compilation, where it is as this knows it; else None."""
    try:
        compiler = importlib.import_module("jax._src.compiler")
        known = "env_options_overrides" in inspect.signature(compiler.get_compile_options).parameters
    except (ImportError, AttributeError, ValueError):
        return None
    return compiler if known else None


def _has_backend() -> bool:
    try:
        return bool(importlib.import_module("jax._src.xla_bridge").backends_are_initialized())
    except (ImportError, AttributeError):
        return True  # it may have one


@contextlib.contextmanager
def _by_options(compiler: Any, flags: dict[str, Any]) -> Iterator[None]:
    jax: Any = importlib.import_module("jax")
    original = compiler.get_compile_options

    def with_flags(*given: Any, **keywords: Any) -> Any:
        bound = inspect.signature(original).bind(*given, **keywords)
        bound.arguments["env_options_overrides"] = {**(bound.arguments.get("env_options_overrides") or {}), **flags}
        return original(*bound.args, **bound.kwargs)

    cached = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    jax.clear_caches()
    compiler.get_compile_options = with_flags
    try:
        yield
    finally:
        compiler.get_compile_options = original
        jax.config.update("jax_enable_compilation_cache", cached)
        jax.clear_caches()  # programs compiled with the flags would be used again without them


@contextlib.contextmanager
def _by_environment(flags: dict[str, Any]) -> Iterator[None]:
    before = os.environ.get("XLA_FLAGS")
    words = [f"--{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in flags.items()]
    os.environ["XLA_FLAGS"] = " ".join([before or "", *words]).strip()
    try:
        yield
    finally:
        if before is None:
            del os.environ["XLA_FLAGS"]
        else:
            os.environ["XLA_FLAGS"] = before


@contextlib.contextmanager
def record(dump: str | os.PathLike[str] | None = None, *, passes: bool = False) -> Iterator[str]:
    """Dumps what jax compiles inside of the block, also functions that were compiled before it; yields the dump's folder, a new temporary one
    without `dump`, which is the caller's to remove. `passes=True` writes the HLO after every pass too.

    Limits: of all threads what compiles inside of the block is dumped; the caches of compiled programs are emptied at both ends; XLA writes
    neither StableHLO nor compile options for flags of a compilation (`hloscope record -- python …` has them). It uses a function of jax
    that is not public: where that is not as in jax 0.10, XLA_FLAGS are set if no device was used yet, and stay in force until the process
    ends; else this raises RuntimeError."""
    if not _recording.acquire(blocking=False):
        raise RuntimeError("hloscope.record: a recording is already running in this process")
    try:
        folder = os.path.abspath(os.fspath(dump)) if dump is not None else tempfile.mkdtemp(prefix="hloscope-dump-")
        os.makedirs(folder, exist_ok=True)
        flags = _flags(folder, passes)
        compiler = _compiler()
        if compiler is not None:
            block = _by_options(compiler, flags)
        elif not _has_backend():
            block = _by_environment(flags)
        else:
            raise RuntimeError(
                "hloscope.record: this jax takes no flags any more once a device was used; set XLA_FLAGS before, or use `hloscope record -- python …`"
            )
        with block:
            yield folder
    finally:
        _recording.release()
