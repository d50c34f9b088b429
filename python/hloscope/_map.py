"""`hloscope.map`: one command on many modules, by threads, or by any executor of concurrent.futures on many machines."""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import queue
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from hloscope._api import call
from hloscope._errors import HloscopeError, error_of
from hloscope._program import program
from hloscope._results import KINDS, Result

Executor = Union[concurrent.futures.Executor, Callable[[], concurrent.futures.Executor]]


@dataclass(frozen=True)
class MapItem:
    """What became of one module: its `result`, or why there is none in `error`. `attempts` counts how often it was started; 0: it comes from
    the journal."""

    index: int
    module: Any
    result: Result | None
    error: BaseException | None
    attempts: int


# What a worker sends back: exit status, objects, text, messages, message of an error, arrays.
_Answer = tuple[int, tuple[dict[str, Any], ...], str, str, str, "bytes | None"]


def _work(command: str, module: Any, options: Mapping[str, Any], values: bool) -> _Answer:
    """What a worker does. Exit statuses are answers; what is raised here is the loss of a worker or a mistake of the call."""
    message = ""
    try:
        result = _hunt(module, **options) if command == "hunt" else call(command, module, **options)
    except HloscopeError as error:
        result, message = error.result, error.message
    return result.code, result.lines, result.text, result.messages, message, result.npz if values else None


def _hunt(rank: int, seeds: Sequence[Any] = (), **options: Any) -> Result:
    return call("hunt", *seeds, rank=rank, **options)


def _item(index: int, module: Any, command: str, answer: _Answer, attempts: int) -> MapItem:
    code, lines, text, messages, message, npz = answer
    result = KINDS.get(command, Result)(command, code, tuple(lines), text, messages, (), npz, None)
    error = error_of(code, message, result.lines, result) if code not in (0, 1) else None
    return MapItem(index, module, result, error, attempts)


def _key(command: str, module: Any, options: Mapping[str, Any]) -> str:
    """What a journal knows a task by: the command, the module's content, the options, the program."""
    if isinstance(module, (bytes, bytearray)):
        content = hashlib.sha256(module).hexdigest()
    elif isinstance(module, (str, os.PathLike)) and os.path.isfile(module):
        with open(module, "rb") as file:
            content = hashlib.sha256(file.read()).hexdigest() + os.fspath(module)
    elif isinstance(module, (str, int)):
        content = str(module)
    else:
        raise TypeError(f"a journal needs modules that are paths, text or bytes, got {type(module).__name__}")
    facts = os.stat(program())
    words = json.dumps([command, content, sorted(options.items()), facts.st_size, facts.st_mtime_ns], default=repr)
    return hashlib.sha256(words.encode()).hexdigest()


class _Journal:
    """A file of JSON Lines: an object for each finished task. A line that is cut short, by the end of the process, does not count."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.done: dict[str, _Answer] = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    self._read(line)
        self.file = open(path, "a", encoding="utf-8")  # noqa: SIM115
        if self.file.tell() > 0:
            self.file.write("\n")  # ends a line that was cut short

    def _read(self, line: str) -> None:
        try:
            row = json.loads(line)
            answer = row["code"], tuple(row["lines"]), row["text"], row["messages"], row["message"], None
            self.done[row["task"]] = answer
        except (ValueError, KeyError, TypeError):
            pass

    def add(self, key: str, answer: _Answer) -> None:
        code, lines, text, messages, message, _ = answer
        row = {"task": key, "code": code, "lines": lines, "text": text, "messages": messages, "message": message}
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()

    def close(self) -> None:
        self.file.close()


@dataclass
class _Task:
    index: int
    module: Any
    attempts: int = 0
    key: str = ""


class _Pool:
    """Tasks in an executor. Futures come back through a queue, since those of other libraries are no friends of concurrent.futures.wait."""

    def __init__(self, executor: Executor | None, submit: tuple[Any, ...]) -> None:
        self.make = executor if callable(executor) and not hasattr(executor, "submit") else None
        self.owned = executor is None or self.make is not None
        self.submitted = submit
        self.finished: queue.SimpleQueue[tuple[_Task, Any]] = queue.SimpleQueue()
        self.pending = 0
        self.executor: Any = self._new() if self.owned else executor

    def _new(self) -> Any:
        if self.make is not None:
            return self.make()
        return concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1)

    def start(self, task: _Task) -> None:
        task.attempts += 1
        command, options, values = self.submitted
        try:
            future = self.executor.submit(_work, command, task.module, options, values)
        except concurrent.futures.BrokenExecutor as error:
            failed: concurrent.futures.Future[Any] = concurrent.futures.Future()
            failed.set_exception(error)
            future = failed
        self.pending += 1
        future.add_done_callback(lambda done: self.finished.put((task, done)))

    def next(self) -> tuple[_Task, Any]:
        found = self.finished.get()
        self.pending -= 1
        return found

    def replace_broken(self) -> None:
        """A pool of processes that lost one takes no more tasks: another of its kind takes its place."""
        broken, self.executor = self.executor, None
        broken.shutdown(wait=False)
        if self.owned:
            self.executor = self._new()
        elif isinstance(broken, concurrent.futures.ProcessPoolExecutor):
            self.executor = concurrent.futures.ProcessPoolExecutor(broken._max_workers, mp_context=broken._mp_context)  # type: ignore[attr-defined]
            self.owned = True
        else:
            self.executor = broken

    def close(self) -> None:
        if self.owned:
            self.executor.shutdown(wait=True, cancel_futures=True)


def map(
    modules: Iterable[Any],
    command: str = "run",
    *,
    executor: Executor | None = None,
    ordered: bool = False,
    values: bool = False,
    journal: str | os.PathLike[str] | None = None,
    retries: int = 2,
    in_flight: int = 256,
    **options: Any,
) -> Iterator[MapItem]:
    """Runs `command` on each module, with the same options, and yields a MapItem for each, once: as they finish, or in order.

    `executor` is any Executor (threads without one; Dask's `Client.get_executor()`, `mpi4py.futures.MPIPoolExecutor`, …) or a function that makes
    one, which is called again when a pool breaks. A module whose worker was lost is started again, `retries` times. Exit statuses 2 to 4
    are results, with `error`, and not started again. `values` sends the arrays of results back. With `journal`, a file, what it holds already
    is not run again. At most `in_flight` modules are with the executor at a time.

    `map(range(8), "hunt", out=DIR, …)` shares a hunt among 8 ranks: the items are ranks, `seeds` are the modules to mutate."""
    if command == "hunt":
        modules = list(modules)
        options.setdefault("ranks", len(modules))
    if ordered:
        return _in_order(_stream(modules, command, executor, values, journal, retries, in_flight, options))
    return _stream(modules, command, executor, values, journal, retries, in_flight, options)


def _in_order(items: Iterator[MapItem]) -> Iterator[MapItem]:
    waiting: dict[int, MapItem] = {}
    following = 0
    for item in items:
        waiting[item.index] = item
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def _stream(
    modules: Iterable[Any],
    command: str,
    executor: Executor | None,
    values: bool,
    journal: str | os.PathLike[str] | None,
    retries: int,
    in_flight: int,
    options: dict[str, Any],
) -> Iterator[MapItem]:
    if journal is not None and values:
        raise TypeError("a journal keeps no arrays; leave out `values`")
    log = _Journal(journal) if journal is not None else None
    pool = _Pool(executor, (command, options, values))
    tasks = iter(enumerate(modules))
    try:
        more = True
        while more or pool.pending:
            while more and pool.pending < max(1, in_flight):
                following = next(tasks, None)
                if following is None:
                    more = False
                    break
                task = _Task(*following)
                if log is not None:
                    task.key = _key(command, task.module, options)
                    if task.key in log.done:
                        yield _item(task.index, task.module, command, log.done[task.key], 0)
                        continue
                pool.start(task)
            if not pool.pending:
                continue
            task, done = pool.next()
            lost = _loss(done)
            if lost is None:
                answer = done.result()
                if log is not None:
                    log.add(task.key, answer)
                yield _item(task.index, task.module, command, answer, task.attempts)
            elif task.attempts > retries or isinstance(lost, (TypeError, AttributeError, ValueError)):
                yield MapItem(task.index, task.module, None, lost, task.attempts)
            else:
                if isinstance(lost, concurrent.futures.BrokenExecutor) and _is_broken(pool.executor):
                    pool.replace_broken()
                pool.start(task)
    finally:
        pool.close()
        if log is not None:
            log.close()


def _loss(done: Any) -> BaseException | None:
    try:
        found: BaseException | None = done.exception()
        return found
    except concurrent.futures.CancelledError as error:
        return error


def _is_broken(executor: Any) -> bool:
    try:
        executor.submit(int).cancel()
        return False
    except (concurrent.futures.BrokenExecutor, RuntimeError):
        return True
