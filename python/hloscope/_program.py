"""Where the program is, and the environment that it runs in."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def program() -> Path:
    """The program that this package calls: that of $HLOSCOPE_PROGRAM, else the one in the package, else the first on PATH."""
    named = os.environ.get("HLOSCOPE_PROGRAM")
    if named:
        return Path(named)
    own = Path(__file__).parent / "prefix" / "bin" / "hloscope"
    if own.is_file():
        return own
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        found = Path(folder) / "hloscope"
        if folder and found.is_file() and os.access(found, os.X_OK):
            return found
    raise FileNotFoundError(f"no program `hloscope` in {own.parent} or on PATH; install the wheel again, or set HLOSCOPE_PROGRAM")


def environment() -> dict[str, str]:
    """The variables of a child: plugins of the environment that this Python runs in are found, and the child ends with this process."""
    variables = dict(os.environ)
    if sys.prefix != sys.base_prefix:
        variables.setdefault("VIRTUAL_ENV", sys.prefix)
    variables["HLOSCOPE_PARENT"] = str(os.getpid())
    return variables
