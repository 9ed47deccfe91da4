"""The real Claude CLI for tests: the version that `claude/package-lock.json` pins, from npm, kept in `.cache/`.

`python -m tests.tools.claude_cli` prints the path of the program, after installing it where it is missing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.tools.npm import installed

LOCK_FILES = Path(__file__).parent / "claude"
PACKAGE = "@anthropic-ai/claude-code"
VERSION: str = json.loads((LOCK_FILES / "package.json").read_text())["dependencies"][PACKAGE]


def claude() -> Path:
    """The program, installed at most once, whatever number of test processes ask at the same time."""
    return installed(LOCK_FILES, PACKAGE) / ".bin" / "claude"


if __name__ == "__main__":
    sys.stdout.write(f"{claude()}\n")
