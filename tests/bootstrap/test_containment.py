"""Finding and ending processes, without ever touching the wrong one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.bootstrap.containment import Census, Process, alive, end, end_workload, marked_processes, started
from gate.bootstrap.containment_containers import end_containers
from gate.plan import identity
from tests.bootstrap.supervise_harness import wait_until

MARKED = (
    "import os, resource, sys; value = int(sys.argv[1]);"
    "resource.setrlimit(resource.RLIMIT_RTTIME, (value, value)); os.execv(sys.argv[2], sys.argv[2:])"
)


@pytest.fixture
def tag() -> str:
    return uuid.uuid4().hex[:10]


@pytest.fixture
def spawned() -> Iterator[list[subprocess.Popen[bytes]]]:
    found: list[subprocess.Popen[bytes]] = []
    yield found
    for process in found:
        process.kill()
        process.wait()


def spawn(
    found: list[subprocess.Popen[bytes]], mark: int, *command: str, session: bool = True, until: str = ""
) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", MARKED, str(mark), *command], start_new_session=session, env={"PATH": "/usr/bin:/bin"}
    )
    found.append(process)
    until = until or command[0]
    wait_until(lambda: Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(until.encode()))
    return process


def as_process(process: subprocess.Popen[bytes]) -> Process:
    start = started(process.pid)
    assert start is not None
    return Process(process.pid, start, "")


def test_marked_processes_are_found_without_environment(tag: str, spawned: list[subprocess.Popen[bytes]]) -> None:
    mark = identity.mark(tag, "w")
    process = spawn(spawned, mark, "/usr/bin/env", "-i", "/bin/sleep", "300", until="/bin/sleep")
    (found,) = marked_processes(mark)
    assert (found, found.command) == (as_process(process), "/bin/sleep 300")
    assert str(found) == f"{process.pid} /bin/sleep 300"
    assert marked_processes(mark + 1) == ()
    assert Census().workload(tag, "w") == (found,)
    assert Census().workload(tag, "other") == ()


def test_trtllm16404_own_group_and_ancestors_are_never_found(tag: str, spawned: list[subprocess.Popen[bytes]]) -> None:
    mark = identity.mark(tag, "w")
    ours = spawn(spawned, mark, "/bin/sleep", "300", session=False)
    assert marked_processes(mark) == ()
    text = (
        "import sys\n"
        "from gate.bootstrap.containment import marked_processes\n"
        "found = marked_processes(int(sys.argv[1]))\n"
        "print(*(p.pid for p in found))"
    )
    other = spawn(spawned, mark, "/bin/sleep", "300")
    # A marked shell starts a marked session that looks: it finds both of these, and not its own shell.
    command = f"setsid --wait {sys.executable} -c '{text}' {mark}; true"
    asked = subprocess.run(
        [sys.executable, "-c", MARKED, str(mark), "/bin/sh", "-c", command],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    assert [int(pid) for pid in asked.stdout.split()] == sorted((ours.pid, other.pid)), asked.stderr


def test_process_with_a_reused_pid_is_left_alone(tag: str, spawned: list[subprocess.Popen[bytes]]) -> None:
    process = spawn(spawned, identity.mark(tag, "w"), "/bin/sleep", "300")
    real = as_process(process)
    impostor = Process(real.pid, real.start - 1, "")
    assert not alive(impostor)
    assert end([impostor], 0.0) == ()
    assert process.poll() is None
    assert end([real], 0.0) == ()
    assert process.wait(5) == -signal.SIGKILL
    assert end([real], 0.0) == ()


@pytest.mark.parametrize("pidfds", [True, False])
def test_grace_comes_before_force(
    tag: str, spawned: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch, pidfds: bool
) -> None:
    if not pidfds:
        # An older kernel, or a seccomp profile.
        def refused(_pid: int) -> int:
            raise OSError(38, "Function not implemented")

        monkeypatch.setattr(os, "pidfd_open", refused)
    mark = identity.mark(tag, "w")
    polite = spawn(spawned, mark, "/bin/sleep", "300")
    deaf = spawn(spawned, mark, "/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    wait_until(lambda: _ignores_term(deaf.pid))
    before = time.monotonic()
    assert end([as_process(polite), as_process(deaf)], 0.3) == ()
    assert 0.3 <= time.monotonic() - before < 3
    assert (polite.wait(5), deaf.wait(5)) == (-signal.SIGTERM, -signal.SIGKILL)
    assert end_workload(tag, "w", grace=0.0, bound=5) == ()


def _ignores_term(pid: int) -> bool:
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return bool(int(status["SigIgn"], 16) >> (signal.SIGTERM - 1) & 1)


def test_zombie_is_nothing_that_runs(tag: str, spawned: list[subprocess.Popen[bytes]]) -> None:
    mark = identity.mark(tag, "w")
    process = spawn(spawned, mark, "/bin/sleep", "300")
    found = as_process(process)
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not alive(found))
    assert Path(f"/proc/{process.pid}").exists()
    assert marked_processes(mark) == ()


def test_leader_that_left_its_threads_behind_is_found(tag: str, spawned: list[subprocess.Popen[bytes]]) -> None:
    mark = identity.mark(tag, "w")
    text = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(300,)).start()\n"
        "ctypes.CDLL(None).syscall(60, 0)"  # exit, of this thread alone
    )
    process = spawn(spawned, mark, sys.executable, "-c", text)
    wait_until(lambda: " Z " in Path(f"/proc/{process.pid}/stat").read_text())
    (found,) = marked_processes(mark)
    assert found.pid == process.pid
    assert end([found], 0.0) == ()


# --- containers --------------------------------------------------------------------------------------

DOCKER = """#!/bin/sh
echo "$*" >> "$DOCKER_CALLS"
case "$1" in
ps) cat "$DOCKER_LIST" ;;
rm) [ "$4" != stuck ] || { echo "device busy" >&2; exit 1; } ;;
esac
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A docker that lists what stands in `list` and notes how it was called in `calls`."""
    program = tmp_path / "docker"
    program.write_text(DOCKER)
    program.chmod(0o755)
    (tmp_path / "calls").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("DOCKER_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("DOCKER_LIST", str(tmp_path / "list"))
    monkeypatch.setattr("gate.bootstrap.containment_containers._TOOLS", ("docker",))
    return tmp_path


def test_aorta222_containers_of_the_workload_are_removed_and_no_others(docker: Path, tag: str) -> None:
    (docker / "list").write_text("mine w\nsibling other\nanonymous \nold <no value>\n")
    assert end_containers(tag, "w") == ()
    listing, *removed = (docker / "calls").read_text().splitlines()
    assert f"--filter label=gate.tag={tag}" in listing
    assert [line.split()[-1] for line in removed] == ["mine", "anonymous", "old"]


def test_container_without_a_workload_waits_for_the_last_one_of_its_tag(docker: Path, tag: str) -> None:
    (docker / "list").write_text("anonymous \n")
    with subprocess.Popen(["/bin/sleep", "300"], env={identity.ENV_TAG: tag}, start_new_session=True) as sibling:
        assert end_containers(tag, "w") == ()
        sibling.kill()
    assert "rm --force" not in (docker / "calls").read_text()
    assert end_containers(tag, "w") == ()
    assert "rm --force --volumes anonymous" in (docker / "calls").read_text()


def test_container_that_cannot_be_removed_is_named(docker: Path, tag: str) -> None:
    (docker / "list").write_text("stuck w\n")
    assert end_containers(tag, "w") == ("docker rm: device busy",)


def test_daemon_that_is_not_there_is_no_problem_and_one_that_refuses_is(docker: Path, tag: str) -> None:
    (docker / "docker").write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon at x' >&2\nexit 1\n")
    assert end_containers(tag, "w") == ()
    (docker / "docker").write_text("#!/bin/sh\necho 'permission denied' >&2\nexit 1\n")
    assert end_containers(tag, "w") == ("docker ps: permission denied",)
