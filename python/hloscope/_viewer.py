"""`hloscope.open`: the window as a process of its own."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from hloscope._api import call
from hloscope._commands import commands, words_of
from hloscope._program import environment, program


def open(*given: Any, **keywords: Any) -> Any:
    """Opens dumps, modules, bundles or profiles in the viewer and returns its process; with `screenshot=FILE` draws one picture and returns
    the result of the command."""
    if keywords.get("screenshot") is not None:
        return call("open", *given, **keywords)
    words = ["open", *(os.fspath(item) for item in given), *words_of(commands()["open"], keywords)]
    variables = environment()
    del variables["HLOSCOPE_PARENT"]  # the window stays when this process ends
    return subprocess.Popen([str(program()), *words], stdin=subprocess.DEVNULL, start_new_session=True, env=variables)
