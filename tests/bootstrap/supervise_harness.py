"""Real supervisors over real processes, as root and as an ordinary user."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from gate.bootstrap.containment import Census, Process, end
from gate.bootstrap.supervise_files import Supervised
from gate.documents import dump, load
from gate.plan import identity
from gate.plan.model import ArtifactPlan, Resources
from gate.rundir import layout
from gate.rundir.formats import Assignment, Kept

REPOSITORY = Path(__file__).resolve().parents[2]
ROOT = os.geteuid() == 0
USERS = ("root", "nobody") if ROOT else (pwd.getpwuid(os.geteuid()).pw_name,)
"""Who runs the supervisor: as root both kinds of users are tried, else only the one there is."""
LEVELS = tuple(
    (user, level) for user in USERS for level in ("namespace", "subreaper") if user == "root" or level != "namespace"
)
ESCAPES = 5
"""Processes that `escape_artist` leaves."""

ASSIGNMENT = Assignment(
    gate="g",
    repository="local/test",
    run="run-1",
    attempt=1,
    tag="",
    workload="w",
    run_dir="",
    legs=(),
    resources=Resources(cpus=0, memory=0, gpus=0, image=None, privileged=False, options={}),
    timeout=60.0,
    keep_on_fail=0.0,
    artifact=ArtifactPlan(kind="none", source="", name="", digest="", size=0),
    stage_agent=False,
    isolation="subreaper",
)


def interpreter(user: str) -> str:
    """A Python that `user` may execute: a virtual environment below root's home is closed to others."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        tried = (
            subprocess.run(
                [candidate, "-c", "import sys; sys.exit(sys.version_info < (3, 10))"], user=_switch(user), check=False
            )
            if Path(candidate).exists() and _may_run(candidate, user)
            else None
        )
        if tried is not None and tried.returncode == 0:
            return candidate
    raise AssertionError(f"no Python 3.10 or newer that {user} may execute: install python3 for all users")


def _switch(user: str) -> str | None:
    return user if ROOT and user != "root" else None


def _may_run(candidate: str, user: str) -> bool:
    try:
        return subprocess.run([candidate, "-c", ""], user=_switch(user), check=False).returncode == 0
    except PermissionError:
        return False


def wait_until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    """Fail unless `holds` becomes true."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {holds}"
        time.sleep(0.01)


@dataclass
class Bench:
    """A place for supervised workloads of one user; nothing of them may be left at its end."""

    user: str
    path: Path
    python: str
    tags: list[str] = field(default_factory=list)

    def start(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        grace: float = 5.0,
        before: str = "",
        **changes: object,
    ) -> Workload:
        tag = uuid.uuid4().hex[:10]
        self.tags.append(tag)
        run_dir = self.path / f"run-{tag}"
        (run_dir / "legs").mkdir(parents=True)
        assignment = replace(ASSIGNMENT, tag=tag, run_dir=str(run_dir), **changes)  # type: ignore[arg-type]
        path = run_dir / "assignment.json"
        path.write_bytes(dump(assignment))
        self.own(run_dir, run_dir / "legs")
        words = ["supervise", "--assignment", str(path), "--grace", str(grace)]
        with (run_dir / "out").open("wb") as out:
            process = subprocess.Popen(
                [self.python, "-c", f"{before}\n{PROGRAM}", *words, "--", *command],
                env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=_switch(self.user),
                cwd=self.path,
            )
        return Workload(assignment, process, run_dir / "out")

    def own(self, *paths: Path) -> None:
        if name := _switch(self.user):
            for path in paths:
                shutil.chown(path, name)


@dataclass
class Workload:
    """One supervised workload."""

    assignment: Assignment
    process: subprocess.Popen[bytes]
    out: Path

    @property
    def mark(self) -> int:
        return identity.mark(self.assignment.tag, self.assignment.workload)

    def members(self) -> tuple[Process, ...]:
        return Census().workload(self.assignment.tag, self.assignment.workload)

    def wait(self, seconds: float = 30.0) -> int:
        return self.process.wait(seconds)

    def status(self) -> Supervised:
        """The record beside the legs."""
        path = self.record
        return load(Supervised, path.read_bytes(), str(path))

    @property
    def record(self) -> Path:
        return Path(self.assignment.run_dir, layout.supervised(self.assignment.tag, self.assignment.workload))

    def phase(self) -> str:
        return self.status().phase if self.record.exists() else ""

    def text(self) -> str:
        return self.out.read_text(encoding="utf-8", errors="replace")

    def lease(self, until: float | None, holder: str = "somebody") -> None:
        """Write, change or take away (None) the lease."""
        path = Path(self.assignment.run_dir, layout.kept(self.assignment.tag, self.assignment.workload))
        path.parent.mkdir(parents=True, exist_ok=True)
        if until is None:
            path.unlink()
            return
        temporary = path.with_suffix(".new")
        temporary.write_bytes(
            dump(Kept(self.assignment.workload, self.assignment.tag, until, why="test", holder=holder))
        )
        temporary.replace(path)


PROGRAM = "import sys; from gate.bootstrap.supervise import main; sys.exit(main(sys.argv[2:]))"

ESCAPE_ARTIST = '''
import os, signal, sys, time

def leave(*, bare, deaf, twice=True):
    """A grandchild in a session of its own, without environment, descriptors or manners."""
    if os.fork():
        return
    os.setsid()
    if twice and os.fork():
        os._exit(0)
    if deaf:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    os.closerange(0, 256)
    os.execve("/bin/sleep", ["sleep", "301"], {} if bare else dict(os.environ))

leave(bare=True, deaf=False)
leave(bare=True, deaf=True)
leave(bare=False, deaf=True)
leave(bare=True, deaf=True, twice=False)
if os.fork() == 0:
    os.setsid()
    # A tree that renews itself: whoever kills the parent first meets the child.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        if os.fork():
            time.sleep(0.2)
            os._exit(0)
        time.sleep(0.05)
print("escaped", flush=True)
'''


@contextmanager
def bench(user: str) -> Iterator[Bench]:
    """A bench below /tmp (pytest's own folder is closed to other users); checks that nothing is left behind."""
    path = Path(tempfile.mkdtemp(prefix="gate-test-"))
    made = Bench(user, path, interpreter(user))
    path.chmod(0o755)
    made.own(path)
    try:
        yield made
        left = [process for tag in made.tags for process in Census().workload(tag, "w")]
        end(left, 0.0)
        assert left == []
    finally:
        shutil.rmtree(path)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait(10)
