"""What this machine can never take is told before anything is launched."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.cli import run
from gate.engines import check_fit
from gate.errors import CapabilityError, ConfigError
from tests.plan.build import COMMAND, resolved, write

MUCH = COMMAND + "engine: {kind: local, cpus: 2, gpus: 1}\nworkloads: {w: {legs: a, resources: %s}}\n"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("{cpus: 400}", "workload a: it asks for 400 CPUs, and there are 2"),
        ("{gpus: 8}", "workload a: it asks for 8 GPUs, and there are 1"),
        ("{memory: 9000Ti}", "Mi of memory, and there are"),
    ],
)
def test_what_never_fits(tmp_path: Path, asked: str, says: str) -> None:
    with pytest.raises(CapabilityError, match=says):
        check_fit(resolved(tmp_path, MUCH % asked).plan)


def test_what_fits(tmp_path: Path) -> None:
    check_fit(resolved(tmp_path, MUCH % "{cpus: 2, gpus: 1}").plan)


def test_a_slip_in_the_engine_is_found(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown parameter 'gpu' \\(did you mean 'gpus'"):
        check_fit(resolved(tmp_path, COMMAND + "engine: {kind: local, gpu: 2}\n").plan)


@pytest.mark.parametrize("command", ["plan", "dispatch", "run"])
def test_commands_say_so_and_launch_nothing(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GATE_STATE_DIR", str(tmp_path / "state"))
    assert run([command, "-c", str(write(tmp_path, MUCH % "{cpus: 400}"))]) == 2
    said = capsys.readouterr()
    assert "can never take what the plan asks" in said.err
    assert not said.err.startswith("run ")
    assert not (tmp_path / "state").exists()
