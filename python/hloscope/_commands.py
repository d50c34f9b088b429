"""The table of commands and options, read from the program, and how keywords become words of its command line."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hloscope._program import environment, program

# Short names of keywords.
SHORT = {"reference": "reference_platform", "abs": "abs_error_bound", "rel": "rel_error_bound", "out": "o"}


def key(name: str) -> str:
    """The keyword of an option: `--save-inputs` is save_inputs."""
    return name.lstrip("-").replace("-", "_")


@dataclass(frozen=True)
class Option:
    name: str  # as on the command line: "--platform", "-o", or of an argument "module"
    type: str  # flag, integer, number, string, list
    help: str
    value: str
    positional: bool
    required: bool
    choices: tuple[str, ...]
    raw: dict[str, Any]

    @property
    def keyword(self) -> str:
        return key(self.name)


@dataclass(frozen=True)
class Command:
    name: str
    summary: str
    usage: str
    options: tuple[Option, ...]
    raw: dict[str, Any]

    @property
    def arguments(self) -> tuple[Option, ...]:
        return tuple(option for option in self.options if option.positional)

    def option(self, keyword: str) -> Option | None:
        """The option of a keyword, by its long name, letter or short keyword."""
        keyword = keyword.rstrip("_")  # with_ where Python has the word
        wanted = {keyword, SHORT.get(keyword, keyword)}
        for option in self.options:
            if not option.positional and ({option.keyword, key(option.raw["letter"])} & wanted):
                return option
        return None


def _read(text: str) -> dict[str, Command]:
    found = {}
    for line in text.splitlines():
        row = json.loads(line)
        options = tuple(
            Option(o["name"], o["type"], o["help"], o["value"], o["positional"], o["required"], tuple(o["choices"]), o) for o in row["options"]
        )
        found[row["command"]] = Command(row["command"], row["summary"], row["usage"], options, row)
    return found


_tables: dict[tuple[str, int], dict[str, Command]] = {}


def commands() -> Mapping[str, Command]:
    """Every command of the program by name. Read once for each program."""
    path = str(program())
    mark = (path, os.stat(path).st_mtime_ns)
    if mark not in _tables:
        done = subprocess.run([path, "help", "--json"], capture_output=True, text=True, check=True, env=environment(), stdin=subprocess.DEVNULL)
        _tables[mark] = _read(done.stdout)
    return _tables[mark]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, float):
        return repr(value)
    return str(value)


def _flags(flags: Mapping[str, Any]) -> Iterator[str]:
    for name, value in flags.items():
        yield f"--{name.lstrip('-')}={_text(value)}"


def words_of(command: Command, keywords: Mapping[str, Any]) -> list[str]:
    """The options of `keywords` as words. Raises TypeError for one that the command has not."""
    words: list[str] = []
    for name, value in keywords.items():
        if value is None:
            continue
        option = command.option(name)
        if option is None and name.startswith("xla_") and command.option("xla_*"):
            words += _flags(value if name == "xla_flags" and isinstance(value, Mapping) else {name: value})
            continue
        if option is None:
            import difflib

            known = [o.keyword for o in command.options if not o.positional and "*" not in o.name] + list(SHORT)
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise TypeError(f"hloscope.{command.name}() has no option `{name}`{hint}")
        long = option.name.startswith("--")
        if option.type == "flag" and isinstance(value, bool):
            if value:
                words.append(option.name)
            elif long:
                words.append(option.name + "=false")
            continue
        if isinstance(value, Mapping):
            value = [f"{k}={_text(v)}" for k, v in value.items()]  # shape={"b": 4}
        for item in value if isinstance(value, (list, tuple)) else [value]:
            words += [f"{option.name}={_text(item)}"] if long else [option.name, _text(item)]
    return words
