"""One call of the program as a child process."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass

from hloscope._program import environment, program

# How long an interrupted child has to end by itself.
GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Done:
    code: int  # the exit status; of a signal its negative number
    out: str
    err: str


def run(words: list[str], timeout: float | None = None) -> Done:
    """Runs the program. Ctrl+C ends the child too: it is asked first, as on a terminal, and killed after GRACE_SECONDS."""
    child = subprocess.Popen(
        [str(program()), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    try:
        out, err = child.communicate(timeout=timeout)
    except BaseException:
        child.send_signal(signal.SIGINT)
        try:
            child.communicate(timeout=GRACE_SECONDS)
        except BaseException:
            child.kill()
            child.communicate()
        raise
    return Done(child.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
