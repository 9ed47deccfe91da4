"""Small repositories with a gate in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

GATE = """\
version: 1
gate: demo
artifact: none
scope: {version: pyproject.toml, fast: [a], gate_paths: [ci/gate/**, tools/judge.py]}
prompts: {nudge: prompts/nudge.md.j2}
judge: {finished: {done: true}, limits: {failures: {max: 0}}}
legs:
  a: {run: "true", budget: 1m}
  b: {run: "true", budget: 1m}
"""
PYPROJECT = '[project]\nname = "demo"\nversion = "{version}"\ndependencies = ["{needs}"]\n'


class Repository:
    """A git repository with a gate and a product of version 1.0.0 on its branch `main`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.write("gate.yaml", GATE)
        self.write("prompts/nudge.md.j2", "go on\n")
        self.write("README.md", "demo\n")
        self.product("1.0.0")
        self.first = self.commit("first")

    def git(self, *arguments: str) -> str:
        identity = {
            **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _WHO.items()},
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        command = ["git", "-C", str(self.folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **identity})
        return done.stdout.strip()

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def product(self, version: str, needs: str = "httpx>=0.27") -> None:
        self.write("pyproject.toml", PYPROJECT.format(version=version, needs=needs))

    def commit(self, message: str = "change") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


_WHO = {"NAME": "Someone", "EMAIL": "someone@example.org"}
