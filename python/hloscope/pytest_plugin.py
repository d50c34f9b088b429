"""The pytest fixture `hloscope_equal(f, *args, **options)`: a function of jax gives the same values on two platforms."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hloscope")
    group.addoption("--hloscope-bundles", metavar="DIR", help="where hloscope_equal leaves the bundle of a failure; by default the test's tmp_path")


@pytest.fixture
def hloscope_equal(request: pytest.FixtureRequest, tmp_path: Any) -> Callable[..., Any]:
    """Runs the module of `f` (jax.jit(f), a Lowered, HLO …) for `args` on `platform` (cpu) and on `reference` (interpreter). Where the values
    differ, or one of them cannot run it, the test fails with the verdict, and a bundle is left that reproduces it."""

    def check(f: Any, *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        from hloscope import _html
        from hloscope._api import call

        options.setdefault("platform", "cpu")
        if not options.keys() & {"reference", "reference_platform", "expect"}:
            options["reference"] = "interpreter"
        result = call("run", f, *args, errors="return", **options)
        if result.status == "equal":
            return result
        folder = request.config.getoption("--hloscope-bundles") or str(tmp_path)
        os.makedirs(folder, exist_ok=True)
        stem = re.sub(r"[^\w.-]+", "_", request.node.nodeid).strip("_")
        path = os.path.join(folder, stem + ".hlob")
        number = 1
        while os.path.exists(path):
            number += 1
            path = os.path.join(folder, f"{stem}-{number}.hlob")
        bundle = call("bundle", "create", f, *args, errors="return", out=path, values="all", **options)
        lines = [f"hloscope: {_html.sentence(result)}", *result.warnings]
        if os.path.exists(path):
            lines += [f"bundle: {path}", f"verdict: {bundle.verdict}"]
        else:
            lines.append(f"no bundle: {bundle.verdict}: {bundle.messages.strip()}")
        pytest.fail("\n".join(lines), pytrace=False)

    return check
