"""One of the scripts beside this file, as tests use it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 180.0


@dataclass(frozen=True)
class Cluster:
    """A running engine below `path`, a short one: the scripts take at most 70 characters."""

    script: str
    path: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def call(self, *words: str) -> str:
        """Run the script with these words; fails with all that it said."""
        done = subprocess.run(
            [str(HERE / self.script), *words],
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{self.script} {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def up(self) -> str:
        """Start whatever does not run."""
        return self.call("up", str(self.path))

    def down(self) -> None:
        """End everything."""
        self.call("down", str(self.path))

    def pid(self, name: str) -> int:
        """Of one of its processes."""
        return int((self.path / "run" / f"{name}.pid").read_text())


@contextmanager
def cluster(script: str, prefix: str, env: Mapping[str, str]) -> Iterator[Cluster]:
    """A cluster of one's own, gone at the end whatever happened. Raises AssertionError where it does not come up."""
    made = Cluster(script, Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp")), env)
    try:
        made.up()
        yield made
    finally:
        made.down()
        shutil.rmtree(made.path)


def missing(*commands: str, install: str) -> str:
    """Why the engine cannot be brought up here, with what to do about it; "" where it can."""
    if os.geteuid() != 0:
        return "needs root: run `make test-engines` as root, on a machine that may be changed"
    absent = [each for each in commands if shutil.which(each) is None]
    return f"{', '.join(absent)} not installed: run `{install}`" if absent else ""


def free_ports(count: int) -> int:
    """The first of `count` ports in a row that nobody listens on; several sessions may look at the same time."""
    for _ in range(100):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = probe.getsockname()[1]
        if first + count < 60_000 and all(_free(first + number) for number in range(count)):
            return int(first)
    raise AssertionError("no free ports in a row")


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
