"""Styled text on a real pseudo-terminal, and in a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

SCRIPT = (
    "from rich.text import Text; from gate.commands.printing import show; show(Text('word ' * 15 + 'unbroken-name\\n'))"
)


def test_a_terminal_gets_whole_words() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    child = subprocess.Popen([sys.executable, "-c", SCRIPT], stdin=theirs, stdout=theirs, env=environment)
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the kernel's way to say that the other side of a pseudo-terminal is closed
            break
        seen += piece
    os.close(ours)
    assert child.wait(20) == 0
    assert [len(line.rstrip()) for line in seen.decode().splitlines()] == [74, 13]


def test_a_pipe_gets_whole_lines() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["word " * 15 + "unbroken-name"]
