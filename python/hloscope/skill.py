"""`hloscope skill`: the instructions for coding agents, printed or installed."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "skill"


def install(folder: str) -> list[str]:
    """Copies the skill into `folder`/hloscope; the files that it wrote. A folder of another kind there is left alone."""
    target = Path(folder) / "hloscope"
    if target.is_symlink() or (target.exists() and not (target / "SKILL.md").is_file() and any(target.iterdir())):
        raise FileExistsError(f"{target}: expected a new folder or an installed skill; name another folder, or remove it")
    written = []
    for source in sorted(FOLDER.rglob("*.md")):
        path = target / source.relative_to(FOLDER)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
        written.append(str(path))
    return written


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="hloscope skill")
    parser.add_argument("--install", metavar="DIR")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words)
    if asked.install is None:
        text = (FOLDER / "SKILL.md").read_text("utf-8")
        sys.stdout.write(json.dumps({"skill": text}) + "\n" if asked.json else text)
        return 0
    try:
        written = install(asked.install)
    except OSError as error:
        print(f"hloscope skill: {error}", file=sys.stderr)
        if asked.json:
            print(json.dumps({"status": "error", "error": str(error)}))
        return 2
    if asked.json:
        print(json.dumps({"status": "ok", "files": written}))
    else:
        sys.stdout.write("".join(f"{path}\n" for path in written))
    return 0
