"""A copy of the repository as a newcomer has it after `make wheel`, and the commands of its READMEs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 100


@dataclass(frozen=True)
class Tree:
    """`path` is the top of the copy; `env` the whole environment of its commands."""

    path: Path
    env: Mapping[str, str]

    def run(self, script: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a bash script at the top."""
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self.path,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def gate(self, *words: str) -> str:
        """The standard output of a `gate` command that must exit 0."""
        ended = subprocess.run(
            [str(self.path / ".venv/bin/gate"), *words],
            cwd=self.path,
            env=dict(self.env),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout


def make_tree(path: Path) -> Tree:
    """Copy what git would give, link this environment as `.venv`, and build the wheel."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, path / name)
    for name in ("gate", "examples"):
        shutil.copytree(ROOT / name, path / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", ".gate"))
    (path / ".venv").symlink_to(sys.prefix)
    (path / "home").mkdir()
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", "dist"]
    subprocess.run(build, cwd=path, capture_output=True, timeout=SECONDS, check=True)
    keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return Tree(path, {**keep, "HOME": str(path / "home"), "GATE_STATE_DIR": str(path / "home/state")})


def blocks(page: Path) -> list[str]:
    """The fenced and the indented blocks of a page, in their order, without fence and indentation."""
    found: list[list[str]] = []
    fenced = inside = False
    for line in page.read_text().splitlines():
        fence = line.startswith("```")
        indented = line.startswith("    ") and not fenced
        if fence:
            fenced = not fenced
        if not fence and (fenced or indented):
            if not inside:
                found.append([])
            found[-1].append(line if fenced else line[4:])
        elif inside and not line and not fenced:
            found[-1].append("")  # a blank line within an indented block
            continue
        inside = not fence and (fenced or indented)
    return ["\n".join(block).rstrip("\n") + "\n" for block in found]


def commands(page: Path) -> str:
    """The indented blocks of a page that call gate, as one script; what `make` makes is there already."""
    chosen = [block for block in blocks(page) if re.search(r"^(\.venv/bin/)?gate ", block, re.MULTILINE)]
    return "\n".join(line for block in chosen for line in block.splitlines() if not line.startswith("make "))


def exit_codes(page: Path) -> list[str]:
    """What each `echo $?` of those commands prints, as the page says beside it."""
    return re.findall(r"^echo \$\? +# (\d+)$", commands(page), re.MULTILINE)
