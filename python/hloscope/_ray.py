"""Ray as an executor of concurrent.futures, of which it has none."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any

from hloscope._arrays import imported


def _call(work: Callable[..., Any], given: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return work(*given, **keywords)


class RayExecutor(concurrent.futures.Executor):
    """Runs work as tasks of Ray, on the cluster that `ray.init()` connected to, or that is started by the first task. `options` are those of
    `ray.remote`: by default a task takes one CPU and is not run again by Ray, since `map` does that."""

    def __init__(self, **options: Any) -> None:
        self._task = imported("ray").remote(**{"num_cpus": 1, "max_retries": 0, **options})(_call)
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        if self._closed:
            raise RuntimeError("this RayExecutor was shut down")
        future: concurrent.futures.Future[Any] = self._task.remote(fn, args, kwargs).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more tasks; those that were submitted go on, and Ray stays connected."""
        self._closed = True
