"""Results as HTML and SVG for notebooks: plain tables, no scripts, nothing loaded from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from hloscope._results import Result, RunResult, VerifyResult

MOST_ROWS = 50


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    def cells(row: Sequence[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape('' if c is None else str(c))}</{tag}>" for c in row) + "</tr>"

    left_out = f"<p>{len(rows) - MOST_ROWS} rows left out</p>" if len(rows) > MOST_ROWS else ""
    return f"<table>{cells(head, 'th')}{''.join(cells(row, 'td') for row in rows[:MOST_ROWS])}</table>{left_out}"


def sentence(result: Result) -> str:
    """What a run says, in a sentence."""
    raw = result.raw
    if not isinstance(result, RunResult) or raw.get("error"):
        return result.verdict
    where = f" on {raw.get('platform')}"
    if result.status == "ran":
        return f"ran{where}; compared with nothing"
    expected, reference = "the expected values", raw.get("reference")
    sides = [expected if o.raw.get("against") == "expected" else o.raw.get("against") for o in result.outputs]
    against = f"{reference} and {expected}" if reference and any(sides) else reference or expected
    parts = [
        f"output {o.index or '{}'}: {o.mismatched} of {o.elements} elements differ{f' from {side}' if side else ''}, largest error {o.max_abs_error}"
        for o, side in zip(result.outputs, sides)
        if o.mismatched
    ]
    text = f"{result.status}{where} and {against}"
    return text + "; " + "; ".join(parts) if parts else text


def svg_of(result: Result) -> str | None:
    text = result.text.lstrip()
    return result.text if text.startswith("<svg") or (text.startswith("<?xml") and "<svg" in text[:1000]) else None


def of(result: Result) -> str | None:
    if svg_of(result) is not None:
        return None  # the picture says it
    if result.text:
        if result.text.lstrip()[:9].lower() == "<!doctype":
            return f'<iframe sandbox srcdoc="{html.escape(result.text)}" width="100%" height="480"></iframe>'
        return f"<pre>{html.escape(result.text)}</pre>"
    body = f"<p><b>{html.escape(result.command)}</b>: {html.escape(sentence(result))}</p>"
    if isinstance(result, RunResult):
        rows = [(o.index, o.shape, o.elements, o.mismatched, o.max_abs_error, o.max_ulp) for o in result.outputs]
        body += _table(("output", "shape", "elements", "mismatched", "largest error", "ULP"), rows)
    elif isinstance(result, VerifyResult):
        body += _table(("line", "column", "rule", "message"), [(p.line, p.column, p.rule, p.message) for p in result.problems])
    else:
        body += _table(("field", "value"), [(key, value if not isinstance(value, list) else f"{len(value)} entries") for key, value in result.raw.items()])
    for warning in result.warnings:
        body += f"<p>{html.escape(warning)}</p>"
    return body
