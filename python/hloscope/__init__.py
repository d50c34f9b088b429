"""Replay, compare and debug what the XLA compiler writes.

The package holds the program `hloscope`: the command of that name, and `python -m hloscope`, are the same.
"""

from pathlib import Path

__version__ = "@VERSION@"
__all__ = ["__version__", "program"]


def program() -> Path:
    """Where the program lies that this package brings."""
    return Path(__file__).parent / "prefix" / "bin" / "hloscope"
