"""What runs a workload's entry point: real processes of this machine, or a course that only pretends."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gate.bootstrap.containment import Census

MOUNTED = "/etc/secrets"
_ROUNDS = 50


class Pod(Protocol):
    """One run of an entry point."""

    def code(self, now: float) -> int | None:
        """Exit code once it has ended."""
        ...

    def kill(self) -> None:
        """SIGKILL to all of it: the launcher passes no signal on."""
        ...

    def log(self, now: float) -> str: ...


@dataclass(frozen=True, slots=True)
class Start:
    """What a pod is started with. `secrets`: id to key to value, each a file below /etc/secrets in a real pod."""

    id: str
    entry: str
    env: Mapping[str, str]
    secrets: Mapping[str, Mapping[str, bytes]]
    now: float


class Pods(Protocol):
    """Starts pods."""

    def start(self, what: Start) -> Pod: ...


# --- real processes ----------------------------------------------------------------------------------


class RealPods:
    """Each pod is a shell below `folder`, as the launcher of a real one runs the script."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(self, what: Start) -> Pod:
        place = self._folder / f"{what.id}.{what.env['DISPATCH_COUNT']}"
        mounted = place / "secrets"
        for id_, values in what.secrets.items():
            (mounted / id_).mkdir(parents=True, mode=0o700)
            for key, value in values.items():
                (mounted / id_ / key).write_bytes(value)
        place.mkdir(parents=True, exist_ok=True)
        # There is no mount here: the script is told where the secrets are instead.
        script = base64.b64decode(what.entry).decode().replace(f"{MOUNTED}/", f"{mounted}/")
        (place / ".run.sh").write_text(script, encoding="utf-8")
        log = (place / "log").open("wb")
        try:
            process = subprocess.Popen(
                ["bash", "-o", "pipefail", ".run.sh"],
                cwd=place,
                env={"PATH": os.environ["PATH"], "HOME": str(place), **what.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            log.close()
        return RealPod(process, place, what.id)


class RealPod:
    """A shell and all that came from it."""

    def __init__(self, process: subprocess.Popen[bytes], place: Path, id_: str) -> None:
        self._process = process
        self._place = place
        self._id = id_

    def code(self, now: float) -> int | None:
        """128 + n for signal n, as a container has it."""
        found = self._process.poll()
        return found if found is None or found >= 0 else 128 - found

    def kill(self) -> None:
        """Again until nothing of it is found: a tree that forks outruns one look."""
        for _ in range(_ROUNDS):
            census = Census()
            pids = {each.pid for each in census.descendants(self._process.pid)}
            pids |= {each.pid for each in processes(self._id)}
            if self._process.poll() is None:
                pids.add(self._process.pid)
            if not pids:
                return
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait()

    def log(self, now: float) -> str:
        said = (self._place / "log").read_text(encoding="utf-8", errors="replace")
        code = self._process.poll()
        if code is not None and code >= 0:
            line_end = "\n" if said and not said.endswith("\n") else ""
            said += f"{line_end}=== LAUNCHER: run.sh exited with code {code} ===\n"
        return said


@dataclass(frozen=True, slots=True)
class Found:
    """A process of a workload."""

    pid: int


def processes(id_: str) -> list[Found]:
    """Live processes that have this workload's id in their environment."""
    wanted, found = f"WORKLOAD_ID={id_}".encode(), list[Found]()
    for each in Path("/proc").iterdir():
        if not each.name.isdigit():
            continue
        try:
            environment = (each / "environ").read_bytes()
        except OSError:
            continue  # it ended, or is another user's
        if wanted in environment.split(b"\0"):
            found.append(Found(int(each.name)))
    return found


# --- courses -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Course:
    """`seconds` None: until it is killed."""

    seconds: float | None = None
    code: int = 0
    output: str = ""


class PretendedPods:
    """No process: each pod takes the course that `course` finds for the workload's id."""

    def __init__(self, course: Callable[[str], Course] = lambda _: Course()) -> None:
        self._course = course

    def start(self, what: Start) -> Pod:
        return PretendedPod(self._course(what.id), what.now)


class PretendedPod:
    """Ends by the server's clock."""

    def __init__(self, course: Course, start: float) -> None:
        self._course = course
        self._start = start
        self._killed = False

    def code(self, now: float) -> int | None:
        """137 where it was killed."""
        if self._killed:
            return 137
        seconds = self._course.seconds
        return self._course.code if seconds is not None and now - self._start >= seconds else None

    def kill(self) -> None:
        self._killed = True

    def log(self, now: float) -> str:
        return self._course.output
