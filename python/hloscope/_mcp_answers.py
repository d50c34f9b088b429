"""Answers that fit: lists and lines shortened until an answer has so many bytes, with what was left out."""

from __future__ import annotations

import json
from typing import Any


def _cut(value: Any, most: int) -> Any:
    """Lists of at most `most` entries below `value`; what is left out by name, on top of what the program left out."""
    if isinstance(value, list):
        return [_cut(item, most) for item in value]
    if not isinstance(value, dict):
        return value
    left_out = dict(value.get("not_shown") or {})
    short = {}
    for key, item in value.items():
        if isinstance(item, list) and len(item) > most and key != "not_shown":
            left_out[key] = left_out.get(key, 0) + len(item) - most
            item = item[:most]
        short[key] = _cut(item, most)
    if left_out:
        short["not_shown"] = left_out
    return short


def _objects(text: str) -> list[Any] | None:
    try:
        return [json.loads(line) for line in text.splitlines()]
    except (ValueError, RecursionError):
        return None


def _print(objects: list[Any]) -> str:
    return "".join(json.dumps(item, separators=(",", ":"), ensure_ascii=False) + "\n" for item in objects)


def shortened(text: str, most_bytes: int) -> str:
    """`text` where it fits; else JSON Lines with fewer entries and objects, or the first lines, and what was left out."""
    if len(text.encode()) <= most_bytes:
        return text
    objects = _objects(text)
    for most in (20, 10, 5, 3, 2, 1) if objects else ():
        short = _print([_cut(item, most) for item in objects or ()])
        if len(short.encode()) <= most_bytes:
            return short
    lines = text.splitlines()
    if objects and len(objects) > 1:
        lines = _print([_cut(item, 1) for item in objects]).splitlines()
    kept, size = [], 0
    for line in lines:
        size += len(line.encode()) + 1
        if size > most_bytes - 200:
            break
        kept.append(line)
    if kept:
        return "\n".join([*kept, f"{len(lines) - len(kept)} lines left out: ask for less, as one module or a smaller limit_output"]) + "\n"
    whole = text.encode()
    start = whole[: most_bytes - 200].decode("utf-8", "ignore")
    return f"{start}\n{len(whole) - len(start.encode())} bytes left out: ask for less, as one module or a smaller limit_output\n"
