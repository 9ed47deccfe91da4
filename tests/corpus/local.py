"""Entries from real gates on this machine: the command line, the local engine, real processes and files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

RUN = "r1"
TIMEOUT = 90.0

HEAD = """\
version: 1
gate: corpus
artifact: none
judge: {finished: {done: true}, pass: {stop_reason: [converged]}, limits: {crashes: {max: 0}}, show: [gain]}
budgets: {interval: 400ms, evidence: 2s}
keep_on_fail: 0
legs:
"""

LEG = """\
import os, pathlib, sys, time
where = os.environ["GATE_STATE_FILE"]
for word in sys.argv[1:]:
    if word.startswith("at:"):
        where = word[3:]
    elif word.startswith("sleep:"):
        time.sleep(float(word[6:]))
    elif word.startswith("exit:"):
        sys.exit(int(word[5:]))
    else:
        path = pathlib.Path(where)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name("part")
        part.write_text(word)
        part.replace(path)
"""
"""Writes each argument as its state file; `sleep:S`, `exit:N` and `at:PATH` do what they say."""

BUSY = '{"done": false, "gain": 1.0}'
GOOD = '{"done": true, "stop_reason": "converged", "crashes": 0, "gain": 1.25}'
LOST = '{"done": true, "stop_reason": "gave_up", "crashes": 0, "gain": 1.0}'


def _leg(name: str, *words: str, more: str = "") -> str:
    argv = " ".join(f"'{word}'" for word in words)
    return f"  {name}:\n    run: |-\n      python3 leg.py {argv}\n    budget: 1m\n{more}"


class Gate:
    """`gate` in a folder of its own, with a state folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._env = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "GATE_"))}
        self._env["GATE_STATE_DIR"] = str(folder / "state")

    def start(self, *argv: str) -> subprocess.Popen[bytes]:
        """Begin a command."""
        command = [sys.executable, "-m", "gate", *argv]
        return subprocess.Popen(
            command, cwd=self.folder, env=self._env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def __call__(self, *argv: str) -> int:
        return self.start(*argv).wait(TIMEOUT)

    def write(self, *legs: str) -> None:
        """The gate of these legs."""
        (self.folder / "gate.yaml").write_text(HEAD + "".join(legs), encoding="utf-8")
        (self.folder / "leg.py").write_text(LEG, encoding="utf-8")

    def run_dir(self) -> Path:
        """Where the run lies."""
        (found,) = (self.folder / "state" / "runs").glob(f"*/*/runs/{RUN}")
        return found

    def wait_for(self, pattern: str) -> None:
        """Until a file of the run matches. Raises TimeoutError."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            if any((self.folder / "state" / "runs").glob(f"*/*/runs/{RUN}/{pattern}")):
                return
            time.sleep(0.05)
        raise TimeoutError(pattern)


Play = Callable[[Gate], None]


def _ran(code: int, *legs: str) -> Play:
    def work(gate: Gate) -> None:
        gate.write(*legs)
        found = gate("run", "--run", RUN)
        assert found == code, f"exit {found}, expected {code}"

    return work


def _retried(gate: Gate) -> None:
    gate.write(_leg("steady", GOOD), _leg("main", "sleep:1", BUSY, "exit:3"))
    assert gate("run", "--run", RUN) == 3
    gate.write(_leg("steady", GOOD), _leg("main", "sleep:1", GOOD))
    assert gate("retry", RUN) == 0


def _cancelled(gate: Gate) -> None:
    gate.write(_leg("main", BUSY, "sleep:60"))
    running = gate.start("run", "--run", RUN)
    gate.wait_for("legs/main/*/*/session/run/state.json")
    time.sleep(1)
    running.send_signal(signal.SIGTERM)
    assert running.wait(TIMEOUT) == 143


def _poller_killed(gate: Gate) -> None:
    gate.write(_leg("main", BUSY, "sleep:6", GOOD))
    running = gate.start("run", "--run", RUN)
    gate.wait_for("legs/main/*/*/session/run/state.json")
    time.sleep(1)
    running.kill()
    running.wait(TIMEOUT)
    assert gate("poll", RUN, "--take-over") == 0


def _stopped(gate: Gate) -> None:
    gate.write(_leg("main", BUSY, "sleep:60"))
    assert gate("dispatch", "--run", RUN) == 0
    gate.wait_for("legs/main/*/*/session/run/state.json")
    polling = gate.start("poll", RUN)
    gate.wait_for("gate/observations/*")
    time.sleep(1)
    (entry,) = gate.run_dir().glob("gate/workloads/*/main.json")
    engine_id = entry.read_text().partition('"engine_id": "')[2].partition('"')[0]
    os.kill(int(engine_id.split(":")[2]), signal.SIGTERM)  # somebody else ends its supervisor, by hand
    assert polling.wait(TIMEOUT) == 3


ENTRIES: Mapping[str, Play] = {
    "local-pass": _ran(0, _leg("main", BUSY, "sleep:2", GOOD)),
    "local-fail": _ran(1, _leg("main", BUSY, "sleep:1", LOST)),
    "local-fail-fast": _ran(1, _leg("main", "sleep:1", LOST), _leg("other", BUSY, "sleep:60")),
    "local-informing": _ran(0, _leg("main", "sleep:2", GOOD), _leg("aside", "exit:7", more="    informing: true\n")),
    "local-malformed": _ran(3, _leg("main", BUSY, "sleep:1", '{"done": true, "done": false}')),
    "local-not-a-number": _ran(3, _leg("main", '{"done": true, "stop_reason": "converged", "crashes": NaN}')),
    "local-missing": _ran(3, _leg("main", '{"done": true, "stop_reason": "converged"}')),
    "local-wrong-type": _ran(3, _leg("main", '{"done": true, "stop_reason": "converged", "crashes": false}')),
    "local-half-an-emoji": _ran(1, _leg("main", '{"done": true, "stop_reason": "\\ud83d", "crashes": 0}')),
    "local-command-failed": _ran(3, _leg("main", BUSY, "sleep:1", "exit:3")),
    "local-nothing-written": _ran(3, _leg("main", "sleep:1")),
    "local-stray": _ran(3, _leg("main", "at:state.json", GOOD)),
    "local-retried": _retried,
    "local-cancelled": _cancelled,
    "local-poller-killed": _poller_killed,
    "local-stopped-by-hand": _stopped,
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run directory's files, and the folder in which they were made."""

    files: Mapping[str, bytes]
    folder: str


def record(name: str) -> Recorded:
    """Run the gate and read what it left. Raises AssertionError where it ended otherwise than it should."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        gate = Gate(Path(folder))
        try:
            ENTRIES[name](gate)
        finally:
            gate("stop", "--run", RUN, "--yes")
        home = gate.run_dir()
        found = {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}
        return Recorded(found, folder)
