"""Resident programs, `hloscope serve`: each forks for a command, which saves starting the program. One command at a time in each; as many as
threads call at once."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import threading
import weakref
from collections.abc import Sequence

from hloscope._program import environment, program


class Lost(Exception):
    """The server has ended, and its command with it; or it cannot take the request."""


class Server:
    def __init__(self, path: str) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            variables = environment()
            del variables["HLOSCOPE_PARENT"]  # it ends with its socket
            self.process = subprocess.Popen(
                [path, "serve", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=variables,
            )
        self.socket = ours
        _all.add(self)
        if self._receive(None) != b"ready":
            raise Lost("the program does not serve")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # also where another process has a copy of it
        self.socket.close()
        self.process.wait()

    def ask(self, words: Sequence[str], out: int, err: int) -> None:
        variables = environment()
        del variables["HLOSCOPE_PARENT"]
        try:
            folder = os.getcwd()
        except OSError as error:
            raise Lost(str(error)) from error
        parts = [str(len(words)), folder, *words, *(f"{name}={value}" for name, value in variables.items())]
        if any("\0" in part for part in parts):
            raise ValueError("embedded null byte")
        message = b"".join(os.fsencode(part) + b"\0" for part in parts)
        try:
            socket.send_fds(self.socket, [message], [out, err])
        except OSError as error:
            raise Lost(str(error)) from error

    def wait(self, timeout: float | None) -> int | None:
        """The exit status, or the negative number of a signal; None: not yet."""
        answer = self._receive(timeout)
        if answer is None:
            return None
        kind, number = answer.split()
        return int(number) if kind == b"status" else -int(number)

    def signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            self.socket.send(str(number).encode())

    def _receive(self, timeout: float | None) -> bytes | None:
        self.socket.settimeout(timeout)
        try:
            answer = self.socket.recv(100)
        except (TimeoutError, socket.timeout):
            return None
        except OSError as error:
            raise Lost(str(error)) from error
        if not answer:
            self.close()
            raise Lost("the resident program has ended")
        return answer


_lock = threading.Lock()
_idle: list[tuple[tuple[str, int], Server]] = []
_all: weakref.WeakSet[Server] = weakref.WeakSet()


def _forget() -> None:
    """In a forked process: the servers are those of the parent, which this must not keep alive."""
    global _lock
    _lock = threading.Lock()
    for server in list(_all):
        server.socket.close()
        server.process.returncode = 0  # no child of this process
    _idle.clear()


def _close() -> None:
    with _lock:
        for _, server in _idle:
            server.close()
        _idle.clear()


os.register_at_fork(after_in_child=_forget)
atexit.register(_close)


def mark() -> tuple[str, int]:
    path = str(program())
    return path, os.stat(path).st_mtime_ns


def take() -> tuple[tuple[str, int], Server]:
    """A server of the program as it is now, which does nothing else."""
    wanted = mark()
    with _lock:
        while _idle:
            found, server = _idle.pop()
            if found == wanted and server.process.poll() is None:
                return found, server
            server.close()
    return wanted, Server(wanted[0])


def give_back(found: tuple[str, int], server: Server) -> None:
    with _lock:
        if len(_idle) < (os.cpu_count() or 1):
            _idle.append((found, server))
            return
    server.close()

