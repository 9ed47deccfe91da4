"""The batch script, run by real shells, and the files in which secrets reach it."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gate.bootstrap import exits
from gate.engines.slurm.script import Script, render
from gate.engines.slurm.secretfiles import FORGOTTEN, SecretFiles, check_place
from gate.errors import ConfigError, EngineRefused
from tests.bootstrap.supervise_harness import wait_until

SHELLS = [shell for shell in ("sh", "bash", "dash") if shutil.which(shell)]
CLAIM = ("g-w-abcdefghij", "0123abcd")


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def start(shell: str, script: Script) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [shell, "-c", render(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={"PATH": os.environ["PATH"]},
    )


def python(program: str) -> list[str]:
    return [sys.executable, "-u", "-c", program]


def test_it_hands_over_environment_and_secrets_and_takes_the_file_away(shell: str, tmp_path: Path) -> None:
    value = 'it\'s a `$SECRET` \\ "two\nlines"'
    file = SecretFiles(tmp_path / "new" / "secrets").write(CLAIM, {"KEY": value})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    program = "import os; print(os.environ['KEY'] + '|' + os.environ['PLAIN'], end=''); raise SystemExit(10)"
    with start(shell, Script("w", {"PLAIN": "a 'b' $c"}, file, python(program))) as process:
        out, err = process.communicate(timeout=20)
    assert (out, err, process.returncode) == (f"{value}|a 'b' $c", "", 10)
    assert not file.exists()


def test_a_secrets_file_that_is_not_there_is_said(shell: str, tmp_path: Path) -> None:
    with start(shell, Script("w", {}, tmp_path / "none", python("print('never')"))) as process:
        out, err = process.communicate(timeout=20)
    assert (out, process.returncode) == ("", exits.BAD_ASSIGNMENT)
    assert "none cannot be read on this node" in err


_STOPPABLE = """
import signal, sys, time
heard = []
for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, lambda n, _: heard.append(n))
print("ready", flush=True)
time.sleep(0.3)
while not heard: time.sleep(0.05)
time.sleep(0.5)
print(heard, flush=True)
sys.exit(11)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_reaches_the_supervisor_once_and_its_code_is_the_jobs(
    shell: str, tmp_path: Path, number: signal.Signals
) -> None:
    """As Slurm sends them: TERM to everything that runs, USR1 to the batch shell."""
    with start(shell, Script("w", {}, None, python(_STOPPABLE))) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (os.killpg if number == signal.SIGTERM else os.kill)(process.pid, number)
        out, err = process.communicate(timeout=20)
    assert (out, err, process.returncode) == (f"[{int(number)}]\n", "", 11)


def test_a_supervisor_that_was_killed_is_told_by_the_code(shell: str, tmp_path: Path) -> None:
    file = SecretFiles(tmp_path).write(CLAIM, {"KEY": "x"})
    killed = python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    with start(shell, Script("w", {}, file, killed)) as process:
        process.communicate(timeout=20)
    assert process.returncode == 137
    assert not file.exists()


def test_files_of_ended_workloads_are_swept_and_old_ones_of_nobodys(tmp_path: Path) -> None:
    files = SecretFiles(tmp_path)
    claims = [("a-abcdefghij", f"0000000{number}") for number in range(4)]
    ended, live, fresh, old = claims
    paths = {claim: files.write(claim, {"KEY": "x"}) for claim in claims}
    long_ago = time.time() - FORGOTTEN - 1
    for claim in (old, live):
        os.utime(paths[claim], (long_ago, long_ago))
    other = tmp_path / "somebody-elses"
    other.touch()
    os.utime(other, (long_ago, long_ago))
    files.sweep([live], [ended])
    assert sorted(tmp_path.iterdir()) == sorted([paths[live], paths[fresh], other])
    files.remove(live)
    files.remove(live)
    wait_until(lambda: not paths[live].exists())
    SecretFiles(tmp_path / "none").sweep([], [])


def test_a_folder_that_cannot_be_written_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EngineRefused, match="Name another folder"):
        SecretFiles(tmp_path / "file").write(CLAIM, {"KEY": "x"})


def test_secrets_never_lie_below_the_shared_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (tmp_path / "link").symlink_to(root / "in")
    for folder in (root, root / "in", root / "new" / "er", tmp_path / "link" / "x"):
        with pytest.raises(ConfigError, match="below the shared root"):
            check_place(folder, root)
    check_place(tmp_path / "home", root)
    check_place(tmp_path / "root-2", root)
