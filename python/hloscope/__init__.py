"""Replay, compare and debug what the XLA compiler writes.

Every command of the program `hloscope` is a function here, with the names of its options as keywords: `hloscope help --json` is the one
table of both. Importing the package imports neither numpy nor jax; docs/python.md explains it.
"""

import importlib

__version__ = "@VERSION@"

# Where the names are that are not commands.
_PLACES = {
    "program": "_program", "commands": "_commands", "call": "_api", "open": "_viewer", "map": "_map", "record": "_record",
    "HloscopeError": "_errors", "BadInput": "_errors", "Unsupported": "_errors", "Died": "_errors",
    "Result": "_results", "RunResult": "_results", "VerifyResult": "_results", "CompareResult": "_results", "DivergeResult": "_results",
    "ReduceResult": "_results", "BundleResult": "_results", "InfoResult": "_results", "ProfileResult": "_results", "Output": "_results",
    "Problem": "_results", "MapItem": "_map", "RayExecutor": "_ray",
}
__all__ = ["__version__", *_PLACES]


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    if name in _PLACES:
        found = getattr(importlib.import_module("hloscope." + _PLACES[name]), name)
    else:
        found = importlib.import_module("hloscope._api").function(name)
    globals()[name] = found
    return found


def __dir__():
    api = importlib.import_module("hloscope._api")
    return sorted({*__all__, *api.function_names()})
