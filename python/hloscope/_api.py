"""The functions of the package: one for each command, written from the program's own table."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from hloscope import _arrays, _modules, _process
from hloscope._commands import Command, commands, words_of
from hloscope._errors import error_of
from hloscope._results import KINDS, Result

# Keywords whose values may be arrays, and the names of these in the file.
ARRAYS = {"inputs": "in", "expect": "out", "infeed": "in"}
# Commands without answers as JSON, or that become other programs.
_TEXT = {"completions", "man"}
_NOT_FUNCTIONS = {"open", "record", "mcp", "skill", "help", "serve"}


def function_names() -> list[str]:
    return [name for name in commands() if name not in _NOT_FUNCTIONS]


class _Folder:
    """A folder of files that a call needs, in memory where there is one for it."""

    def __enter__(self) -> str:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.path = tempfile.mkdtemp(prefix="hloscope-", dir=memory)
        return self.path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def _parsed(out: str, folder: str) -> tuple[dict[str, Any], ...] | None:
    """The objects of JSON Lines; None: it is other text. Files of the call's own folder are named without it."""
    lines = []
    for line in out.replace(folder + "/", "").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            return None
        if not isinstance(value, dict):
            return None
        lines.append(value)
    return tuple(lines)


def _message(command: str, code: int, lines: Sequence[dict[str, Any]], messages: str) -> str:
    for line in reversed(lines):
        if isinstance(line.get("error"), str):
            return str(line["error"])
        for row in line.get("errors") or ():
            place = f"{line.get('file', '')}:{row.get('line')}:{row.get('column')}: " if row.get("line") else ""
            return place + str(row.get("message", row))
    if messages.strip():
        return messages.strip()
    ended = f"was ended by signal {-code}" if code < 0 else f"has exit status {code}"
    return f"hloscope {command} {ended}"


def _split(command: Command, given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Positional arguments of a function: modules and other words of the command line, and inputs of the module."""
    takes_inputs = command.option("inputs") is not None and bool(command.arguments)
    if not takes_inputs:
        return list(given), []
    head = 1
    if command.arguments[0].choices:  # an action such as `create`
        head = 2
    words, inputs = list(given[:head]), list(given[head:])
    if command.name == "run":
        return words, inputs
    while inputs and _modules.is_module(inputs[0]):
        words.append(inputs.pop(0))
    return words, inputs


def _word(value: Any, folder: str, position: int) -> str:
    """A positional argument that is not the module of the inputs."""
    if not _modules.is_module(value) and _arrays.is_arrays(value):
        return _arrays.write_values(folder, f"values{position}", value, "out")
    if isinstance(value, Result) and isinstance(value.npz, bytes):
        path = os.path.join(folder, f"values{position}.npz")
        with open(path, "wb") as file:
            file.write(value.npz)
        return path
    return _modules.module_of(value, folder, stem=f"module{position}").path


def call(name: str, *given: Any, errors: str = "raise", timeout: float | None = None, **keywords: Any) -> Result:
    """Runs the command `name` as its function does. `errors="return"` returns results of exit status 2, 3 and 4 as well."""
    if errors not in ("raise", "return"):
        raise ValueError(f'errors: expected "raise" or "return", got {errors!r}')
    command = commands().get(name)
    if command is None:
        raise AttributeError(f"hloscope has no command {name!r}")
    if command.name == "bundle" and given and given[0] not in ("create", "check", "open"):
        given = ("create", *given)
    with _Folder() as folder:
        return _call(command, given, errors, timeout, keywords, folder)


def _flat(module: _modules.Module, keywords: dict[str, Any]) -> dict[str, Any]:
    """Expected results and inputs of a function of jax, in the structure that it has, as the arrays of its module."""
    expected, inputs = keywords.get("expect"), keywords.get("inputs")
    flat = dict(keywords)
    if expected is not None and not isinstance(expected, (str, os.PathLike, Result)):
        flat["expect"] = _modules.leaves_of_jax(expected)
    if isinstance(inputs, (list, tuple)) and not all(isinstance(item, (str, os.PathLike)) for item in inputs):
        flat["inputs"] = _modules.parameters(module, inputs)
    return flat


def _call(command: Command, given: Sequence[Any], errors: str, timeout: float | None, keywords: dict[str, Any], folder: str) -> Result:
    positional, inputs = _split(command, given)
    words: list[str] = [command.name]
    action = bool(command.arguments) and bool(command.arguments[0].choices)
    module: _modules.Module | None = None
    for position, value in enumerate(positional):
        if action and position == 0:
            words.append(str(value))
        elif position == int(action) and command.option("inputs"):
            module = _modules.module_of(value, folder, inputs)
            words.append(module.path)
        else:
            words.append(_word(value, folder, position))
    if any(word.startswith("-") and word != "-" for word in words):
        words = [f"./{word}" if word.startswith("-") else word for word in words]
    keywords = dict(keywords)
    if inputs:
        if keywords.get("inputs") is not None:
            raise TypeError("inputs are given twice: as arguments and as `inputs`")
        if all(isinstance(item, (str, os.PathLike)) for item in inputs):
            keywords["inputs"] = list(inputs)
        elif module is not None:
            flat = _modules.parameters(module, inputs)
            keywords["inputs"] = _arrays.write_values(folder, "inputs", flat, "in") if flat else None
    if module is not None and module.restore is not None:
        keywords = _flat(module, keywords)
    for name, prefix in ARRAYS.items():
        value = keywords.get(name)
        paths = value if isinstance(value, (list, tuple)) else [value]
        if value is not None and not all(isinstance(item, (str, os.PathLike)) for item in paths):
            if isinstance(value, Result) and value.npz is not None:
                keywords[name] = _word(value, folder, 90)
            else:
                keywords[name] = _arrays.write_values(folder, name, value, prefix)
    keeps_values = command.name == "run" and keywords.get("outputs") is None and not words[-1].endswith(".ptx")
    outputs = os.path.join(folder, "results.npz")
    words += words_of(command, keywords)
    if keeps_values:
        words.append(f"--outputs={outputs}")
    as_json = command.name not in _TEXT and not (command.name == "show" and keywords.get("format") not in (None, "json"))
    if as_json and keywords.get("json") is None:
        words.append("--json")
    done = _process.run(words, timeout)
    return _result(command, words, done, errors, folder, outputs, module)


def _result(
    command: Command, words: list[str], done: _process.Done, errors: str, folder: str, outputs: str, module: _modules.Module | None
) -> Result:
    lines = _parsed(done.out, folder)
    messages = done.err.replace(folder + "/", "")
    if command.name == "run" and lines and len({line.get("module") for line in lines if "outputs" in line and "instruction" not in line}) > 1:
        raise ValueError(f"{words[1]} has several modules; name one of them, or use hloscope.map")
    npz = None
    if os.path.isfile(outputs):
        with open(outputs, "rb") as file:
            npz = file.read()
    kind = KINDS.get(command.name, Result)
    result = kind(
        command.name,
        done.code,
        lines or (),
        done.out if lines is None else "",
        messages,
        tuple(words),
        npz,
        module.restore if module else None,
    )
    if errors == "raise" and done.code not in (0, 1):
        raise error_of(done.code, _message(command.name, done.code, result.lines, messages), result.lines, result)
    return result


def function(name: str) -> Callable[..., Result]:
    """The function of a command. Raises AttributeError where the program has none of that name."""
    command = None if name in _NOT_FUNCTIONS else commands().get(name)
    if command is None:
        raise AttributeError(f"module 'hloscope' has no attribute {name!r}")

    def function(*given: Any, **keywords: Any) -> Result:
        return call(name, *given, **keywords)

    function.__name__ = function.__qualname__ = name
    options = "\n".join(f"    {o.keyword}: {o.help}" for o in command.options if not o.positional)
    function.__doc__ = f"{command.summary}\n\nAs `{command.usage}`; keywords:\n{options}"
    function.__module__ = "hloscope"
    return function
