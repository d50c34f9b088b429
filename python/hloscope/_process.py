"""One call of the program: by a resident one, or where that cannot be a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass

from hloscope import _server
from hloscope._program import environment, program

# How long an interrupted command has to end by itself.
GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Done:
    code: int  # the exit status; of a signal its negative number
    out: str
    err: str


def run(words: list[str], timeout: float | None = None) -> Done:
    """Runs the program. Ctrl+C ends the command too: it is asked first, as on a terminal, and killed after GRACE_SECONDS."""
    if os.environ.get("HLOSCOPE_RESIDENT", "1") != "0" and hasattr(os, "memfd_create"):
        done = _by_server(words, timeout)
        if done is not None:
            return done
    return _by_process(words, timeout)


def _by_process(words: list[str], timeout: float | None) -> Done:
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


def _by_server(words: list[str], timeout: float | None) -> Done | None:
    """None: there is no server that takes the request, which has not begun."""
    files = []
    try:
        for name in ("hloscope-out", "hloscope-err"):
            files.append(os.memfd_create(name))
        try:
            found, server = _server.take()
        except _server.Lost:
            return None
        try:
            server.ask(words, files[0], files[1])
        except _server.Lost:
            server.close()
            return None
        except BaseException:
            server.close()
            raise
        code = _wait(server, words, timeout)
        if server.process.returncode is None:
            _server.give_back(found, server)
        return Done(code, _text(files[0]), _text(files[1]))
    finally:
        for file in files:
            os.close(file)


def _wait(server: _server.Server, words: list[str], timeout: float | None) -> int:
    try:
        code = server.wait(timeout)
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(words, timeout)
        return code
    except _server.Lost:
        server.close()
        return -signal.SIGKILL  # the command went with it
    except BaseException:
        server.signal(signal.SIGINT)
        with contextlib.suppress(BaseException):
            server.wait(GRACE_SECONDS)
        server.close()  # which kills what still runs
        raise


def _text(file: int) -> str:
    size = os.fstat(file).st_size
    return os.pread(file, size, 0).decode("utf-8", "replace") if size else ""
