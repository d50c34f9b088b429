"""What a command raises: one class for each exit status that is no answer."""

from __future__ import annotations

from typing import Any


class HloscopeError(Exception):
    """A command that could not answer. `status` is its exit status, `report` the objects that it printed, `result` both as a result."""

    def __init__(self, message: str, status: int, report: tuple[dict[str, Any], ...] = (), result: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.report = report
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.status, self.report, self.result)


class BadInput(HloscopeError):
    """Exit status 2: bad input or usage."""


class Unsupported(HloscopeError):
    """Exit status 3: the platform cannot run it, and the message names what."""


class Died(HloscopeError):
    """Exit status 4, or a signal: the run crashed or hit its deadline. Of a signal `status` is its negative number."""


def error_of(status: int, message: str, report: tuple[dict[str, Any], ...], result: Any) -> HloscopeError:
    kind = {2: BadInput, 3: Unsupported}.get(status, Died)
    return kind(message, status, report, result)
