"""What the functions return: frozen, typed, with all that the command printed in `raw`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hloscope import _arrays


@dataclass(frozen=True)
class Problem:
    """What `verify` found: an error or a warning."""

    line: int | None
    column: int | None
    rule: str
    message: str
    hint: str | None


@dataclass(frozen=True)
class Output:
    """One array of a result. What was not compared has None for the errors."""

    index: str
    shape: str
    elements: int | None
    mismatched: int | None
    max_abs_error: float | None
    max_rel_error: float | None
    max_ulp: float | None
    raw: dict[str, Any] = field(repr=False)


def number(value: Any) -> Any:
    """JSON has no infinities and no NaN: the program writes them as strings."""
    return float(value) if value in ("nan", "inf", "-inf") else value


@dataclass(frozen=True)
class Result:
    """The answer of a command: `raw` is the last object that it printed, `lines` all of them, `code` its exit status, `text` what a
    command without `--json` printed, `messages` its standard error."""

    command: str
    code: int
    lines: tuple[dict[str, Any], ...] = field(repr=False)
    text: str = field(default="", repr=False)
    messages: str = field(default="", repr=False)
    words: tuple[str, ...] = field(default=(), repr=False)
    npz: bytes | None = field(default=None, repr=False)
    restore: Callable[[Sequence[Any]], Any] | None = field(default=None, repr=False, compare=False)

    @property
    def raw(self) -> dict[str, Any]:
        return self.lines[-1] if self.lines else {}

    @property
    def status(self) -> str | None:
        """`equal`, `differs`, `ran`, `ok`, …; None where the command has none."""
        return self.raw.get("status")

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(w if isinstance(w, str) else str(w.get("message", w)) for w in self.raw.get("warnings") or ())

    @property
    def verdict(self) -> str:
        """The answer in a sentence: the command's own, else its status."""
        return str(self.raw.get("verdict") or self.raw.get("error") or self.status or f"exit status {self.code}")

    def __getitem__(self, key: str) -> Any:
        return self.raw[key]

    def __getstate__(self) -> dict[str, Any]:
        # Functions of jax's trees do not travel to other processes.
        return {name: value for name, value in self.__dict__.items() if name != "restore"} | {"restore": None}

    def _repr_html_(self) -> str | None:
        from hloscope import _html

        return _html.of(self)

    def _repr_svg_(self) -> str | None:
        from hloscope import _html

        return _html.svg_of(self)


@dataclass(frozen=True)
class RunResult(Result):
    @property
    def outputs(self) -> tuple[Output, ...]:
        def output(row: dict[str, Any]) -> Output:
            return Output(
                str(row.get("index", "")),
                str(row.get("shape", "")),
                row.get("elements"),
                row.get("mismatched"),
                number(row.get("max_abs_error")),
                number(row.get("max_rel_error")),
                number(row.get("max_ulp")),
                row,
            )

        return tuple(output(row) for row in self.raw.get("outputs") or ())

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The arrays of the result, flat, as numpy arrays."""
        if self.npz is None:
            raise ValueError("this run kept no values: it was given `outputs`, or did not finish")
        return _arrays.read_outputs(self.npz)

    @property
    def value(self) -> Any:
        """The result as the function returned it: jax's structure restored; else one array, or a tuple of several."""
        if self.restore is not None:
            return self.restore(self.values)
        return self.values[0] if len(self.values) == 1 else self.values

    @property
    def reference(self) -> str | None:
        return self.raw.get("reference")

    @property
    def platform(self) -> str | None:
        return self.raw.get("platform")

    def assert_equal(self) -> None:
        """Raises AssertionError unless the values were compared and are equal within the bounds."""
        if self.status != "equal":
            from hloscope import _html

            raise AssertionError(_html.sentence(self))


@dataclass(frozen=True)
class VerifyResult(Result):
    def _problems(self, kind: str) -> tuple[Problem, ...]:
        return tuple(
            Problem(row.get("line"), row.get("column"), str(row.get("rule", "")), str(row.get("message", "")), row.get("hint"))
            for line in self.lines
            for row in line.get(kind) or ()
        )

    @property
    def errors(self) -> tuple[Problem, ...]:
        return self._problems("errors")

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Errors and warnings."""
        return self._problems("errors") + self._problems("warnings")


@dataclass(frozen=True)
class CompareResult(Result):
    @property
    def equal(self) -> bool:
        return self.code == 0


@dataclass(frozen=True)
class DivergeResult(Result):
    @property
    def instruction(self) -> str | None:
        return self.raw.get("instruction")

    @property
    def pass_name(self) -> str | None:
        return self.raw.get("pass")

    @property
    def cause(self) -> str | None:
        return self.raw.get("cause")

    @property
    def confirmed(self) -> bool | None:
        return self.raw.get("confirmed")


@dataclass(frozen=True)
class ReduceResult(Result):
    @property
    def instructions(self) -> int | None:
        return self.raw.get("instructions")


@dataclass(frozen=True)
class BundleResult(Result):
    @property
    def file(self) -> str | None:
        return self.raw.get("file")


@dataclass(frozen=True)
class InfoResult(Result):
    @property
    def modules(self) -> tuple[dict[str, Any], ...]:
        return tuple(self.raw.get("modules") or ())


@dataclass(frozen=True)
class ProfileResult(Result):
    @property
    def instructions(self) -> tuple[dict[str, Any], ...]:
        return tuple(self.raw.get("instructions") or ())


KINDS: dict[str, type[Result]] = {
    "run": RunResult,
    "verify": VerifyResult,
    "compare": CompareResult,
    "diverge": DivergeResult,
    "reduce": ReduceResult,
    "bundle": BundleResult,
    "info": InfoResult,
    "profile": ProfileResult,
}
