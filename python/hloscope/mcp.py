"""`hloscope mcp`: the commands as tools of the Model Context Protocol, over standard input and output.

JSON-RPC 2.0, one message a line. Without --allow-run only commands that read are offered, and of these no option that starts another
program or writes a file. Each call is a process of its own; the reading of a dump is kept for the session in a folder that goes with it.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import IO, Any

from hloscope._commands import Command, Option, commands, words_of
from hloscope._mcp_answers import shortened
from hloscope._program import environment, program

PROTOCOLS = ("2025-06-18", "2025-03-26", "2024-11-05")
READING = ("info", "find", "show", "why", "lint", "verify", "compare", "explain", "ops", "limits", "doctor")
RUNNING = ("run", "diverge", "reduce", "extract", "convert", "compile", "profile", "bundle", "hunt", "bench")
# Start any program, a window or this server, or are for people at a terminal.
NEVER = ("record", "open", "mcp", "skill", "help", "completions", "man")
# Options that start other programs, of commands that only read; and what has no meaning for a caller of tools.
STARTS = {"sass", "python"}
HIDDEN = {"json", "no_cache", "jobs"}
MOST_BYTES = 1 << 20  # of a message
CALL_SECONDS = 600.0
GRACE_SECONDS = 5.0
DEFAULT_ENTRIES = 20

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602


class Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def _schema(option: Option) -> dict[str, Any]:
    kinds: dict[str, dict[str, Any]] = {
        "flag": {"type": "boolean"},
        "integer": {"type": "integer"},
        "number": {"type": "number"},
        "string": {"type": "string"},
        "list": {"type": "array", "items": {"type": "string"}},
    }
    schema = dict(kinds[option.type])
    schema["description"] = option.help + (f" ({option.value})" if option.value else "")
    if option.choices:
        (schema["items"] if option.type == "list" else schema)["enum"] = list(option.choices)
    return schema


class Tool:
    def __init__(self, command: Command, allow_run: bool) -> None:
        self.command = command
        left_out = HIDDEN if allow_run else HIDDEN | STARTS
        self.options = {o.keyword: o for o in command.options if o.keyword not in left_out and "*" not in o.name}

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.command.name,
            "description": f"{self.command.summary}. As `{self.command.usage}`; answers are JSON Lines.",
            "inputSchema": {
                "type": "object",
                "properties": {name: _schema(option) for name, option in self.options.items()},
                "required": [name for name, option in self.options.items() if option.required],
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": self.command.name in READING, "openWorldHint": False},
        }

    def _check(self, name: str, value: Any) -> None:
        option = self.options.get(name)
        if option is None:
            raise Refused(PARAMS, f"{self.command.name} has no argument `{name}`; expected one of {', '.join(sorted(self.options))}")
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        fits = {
            "flag": isinstance(value, bool),
            "integer": is_number and isinstance(value, int),
            "number": is_number,
            "string": isinstance(value, str),
            "list": isinstance(value, list) and all(isinstance(item, str) for item in value),
        }[option.type]
        if not fits:
            raise Refused(PARAMS, f"{name}: expected {_schema(option)['type']}, got {json.dumps(value)[:100]}")
        texts = value if isinstance(value, list) else [value]
        for text in texts:
            if isinstance(text, str) and ("\0" in text or (option.positional and text == "-")):
                raise Refused(PARAMS, f"{name}: expected the name of a file")
            if isinstance(text, str) and option.choices and text not in option.choices:
                raise Refused(PARAMS, f"{name}: expected {', '.join(option.choices)}, got `{text[:100]}`")

    def words(self, arguments: dict[str, Any]) -> list[str]:
        for name, value in arguments.items():
            self._check(name, value)
        missing = [name for name, option in self.options.items() if option.required and not arguments.get(name)]
        if missing:
            raise Refused(PARAMS, f"{missing[0]} is missing")
        keywords = {name: value for name, value in arguments.items() if not self.options[name].positional}
        keywords.setdefault("limit_output", DEFAULT_ENTRIES)
        words = [self.command.name, *words_of(self.command, keywords)]
        if not (self.command.name == "show" and keywords.get("format") not in (None, "json")):
            words.append("--json")
        positional = []
        for option in self.command.arguments:
            value = arguments.get(option.keyword)
            positional += value if isinstance(value, list) else [value] if value else []
        # A file whose name begins with a dash is no option.
        return words + [f"./{word}" if word.startswith("-") else word for word in positional]


class Session:
    def __init__(self, allow_run: bool, max_answer: int, out: IO[bytes]) -> None:
        self.max_answer = max_answer
        self.out = out
        self.names = READING + (RUNNING if allow_run else ())
        self.allow_run = allow_run
        self.cancelled: set[Any] = set()
        self._tools: dict[str, Tool] | None = None
        self._cache: str | None = None

    @property
    def tools(self) -> dict[str, Tool]:
        if self._tools is None:
            table = commands()
            self._tools = {name: Tool(table[name], self.allow_run) for name in self.names if name in table}
        return self._tools

    def close(self) -> None:
        if self._cache is not None:
            shutil.rmtree(self._cache, ignore_errors=True)

    def send(self, message: dict[str, Any]) -> None:
        self.out.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n")
        self.out.flush()

    def answer(self, line: bytes) -> None:
        """Answers one message, whatever it is."""
        identity = None
        try:
            message = _message(line)
            identity = message.get("id")
            if "method" not in message:
                return  # an answer to a request, of which we made none
            result = self._result(message["method"], message.get("params", {}), identity)
            if "id" in message:
                self.send({"id": identity, "result": result})
        except Refused as error:
            self.send({"id": identity, "error": {"code": error.code, "message": str(error)}})

    def _result(self, method: str, params: Any, identity: Any) -> dict[str, Any]:
        if not isinstance(params, dict):
            raise Refused(PARAMS, "params: expected an object")
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in PROTOCOLS else PROTOCOLS[0],
                "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "hloscope", "version": _version()},
                "instructions": "Read the resource hloscope://skill/SKILL.md first: which question, which command, how to read the answer.",
            }
        if method == "ping" or method.startswith("notifications/"):
            return {}
        if method == "tools/list":
            return {"tools": [tool.describe() for tool in self.tools.values()]}
        if method == "tools/call":
            return self._call(params, identity)
        if method == "resources/list":
            return {"resources": [{"uri": uri, "name": uri.rsplit("/", 1)[1], "mimeType": "text/markdown"} for uri in _pages()]}
        if method == "resources/templates/list":
            return {"resourceTemplates": []}
        if method == "resources/read":
            path = _pages().get(str(params.get("uri")))
            if path is None:
                raise Refused(-32002, f"no resource {str(params.get('uri'))[:200]}; resources/list names them")
            with open(path, encoding="utf-8") as file:
                return {"contents": [{"uri": params["uri"], "mimeType": "text/markdown", "text": file.read()}]}
        raise Refused(METHOD, f"no method {method[:100]}")

    def _call(self, params: dict[str, Any], identity: Any) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments", {})
        tool = self.tools.get(name) if isinstance(name, str) else None
        if tool is None:
            switch = "; start the server with --allow-run for it" if name in RUNNING else ""
            raise Refused(PARAMS, f"no tool {str(name)[:100]}{switch}; tools/list names them")
        if not isinstance(arguments, dict):
            raise Refused(PARAMS, "arguments: expected an object")
        words = tool.words(arguments)
        code, out, err = self._run(words, identity)
        text = shortened(out, self.max_answer) if out.strip() else shortened(err, self.max_answer)
        content = [{"type": "text", "text": text}]
        # Values that differ are an answer.
        return {"content": content, "isError": code not in (0, 1), "_meta": {"exit_status": code}}

    def _run(self, words: list[str], identity: Any) -> tuple[int, str, str]:
        if self._cache is None:
            self._cache = tempfile.mkdtemp(prefix="hloscope-mcp-")
        variables = {**environment(), "XDG_CACHE_HOME": self._cache}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen([str(program()), *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=variables)
            self._wait(child, identity)
            return child.returncode, _read(out), _read(err)

    def _wait(self, child: subprocess.Popen[bytes], identity: Any) -> None:
        waited = 0.0
        step = 0.01
        while True:
            try:
                child.wait(step)
                return
            except subprocess.TimeoutExpired:
                waited += step
                step = min(0.1, step * 2)
            if waited > CALL_SECONDS or identity in self.cancelled:
                child.send_signal(signal.SIGINT)
                try:
                    child.wait(GRACE_SECONDS)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()
                return


def _version() -> str:
    done = subprocess.run([str(program()), "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment(), check=False)
    return (done.stdout.split() + ["?", "?"])[1]


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(64 << 20).decode("utf-8", "replace")


def _pages() -> dict[str, str]:
    from hloscope.skill import FOLDER

    return {f"hloscope://skill/{path.relative_to(FOLDER)}": str(path) for path in sorted(FOLDER.rglob("*.md"))}


def _message(line: bytes) -> dict[str, Any]:
    if len(line) > MOST_BYTES:
        raise Refused(PARSE, f"a message of more than {MOST_BYTES} bytes")
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise Refused(PARSE, "not JSON; expected one JSON-RPC 2.0 message a line") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise Refused(REQUEST, 'expected an object with "jsonrpc": "2.0"')
    identity = message.get("id")
    if identity is not None and (isinstance(identity, bool) or not isinstance(identity, (str, int, float))):
        raise Refused(REQUEST, "id: expected a string or a number")
    if "method" in message and not isinstance(message["method"], str):
        raise Refused(REQUEST, "method: expected a string")
    return message


def _lines(source: IO[bytes], session: Session, lines: queue.Queue[bytes | None]) -> None:
    """Reads messages in a thread of its own, so that a call can be cancelled while it runs."""
    while True:
        line = source.readline(MOST_BYTES + 1)
        if not line:
            break
        if len(line) > MOST_BYTES:
            while line[-1:] != b"\n":  # skip the rest of it, whatever its length
                rest = source.readline(MOST_BYTES)
                if not rest:
                    break
                line = line[:MOST_BYTES] + b" " + rest[-1:]
        if b"notifications/cancelled" in line:
            try:
                message = _message(line)
                asked = message["params"]["requestId"]
                if message["method"] == "notifications/cancelled" and isinstance(asked, (str, int)):
                    session.cancelled.add(asked)
                    continue
            except (Refused, KeyError, TypeError):
                pass
        if line.strip():
            lines.put(line)
    lines.put(None)


def serve(source: IO[bytes], out: IO[bytes], allow_run: bool, max_answer: int) -> None:
    session = Session(allow_run, max_answer, out)
    lines: queue.Queue[bytes | None] = queue.Queue(maxsize=1000)
    threading.Thread(target=_lines, args=(source, session, lines), daemon=True).start()
    try:
        while (line := lines.get()) is not None:
            session.answer(line)
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    finally:
        session.close()


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="hloscope mcp")
    parser.add_argument("--allow-run", action="store_true")
    parser.add_argument("--max-answer", type=int, default=20000)
    asked = parser.parse_args(words)
    serve(sys.stdin.buffer, sys.stdout.buffer, asked.allow_run, asked.max_answer)
    sys.stdout.flush()
    os._exit(0)  # the reading thread may still wait for input
