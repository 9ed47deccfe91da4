"""A real `gate bootstrap` on real files: command legs, shared workloads, secrets, signals, refusals."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from gate.bootstrap import exits
from gate.bootstrap.containment import Census
from gate.machines.verdict import Reason
from gate.plan.model import ArtifactPlan
from gate.rundir import layout
from tests.bootstrap.legs import command_leg
from tests.bootstrap.workloads import stage

FINISH = """echo '{"done": true, "stop_reason": "converged"}' > "$GATE_STATE_FILE"\n"""
KEY = "correct-horse-battery"


def test_a_command_leg_end_to_end(tmp_path: Path) -> None:
    tune = """
import json, os
print("artifact", open(os.environ["GATE_ARTIFACT"]).read())
print("key", os.environ["API_KEY"])
assert os.getcwd() == os.environ["GATE_WORKSPACE"]
with open(os.environ["GATE_STATE_FILE"], "w") as file:
    json.dump({"done": True, "stop_reason": "converged"}, file)
"""
    artifact = ArtifactPlan("file", "dist/p.whl", "p.whl", f"sha256:{sha256(b'wheel').hexdigest()}", 5)
    leg = command_leg("python3 tune.py", files=("tune.py",), secrets=("API_KEY",))
    staged = stage(tmp_path, leg, files={"tune.py": tune}, artifact=artifact)
    (tmp_path / layout.STAGED_ARTIFACT).mkdir()
    (tmp_path / layout.STAGED_ARTIFACT / "p.whl").write_text("wheel")
    code, said = staged.run(env={"API_KEY": KEY})
    assert code == exits.LEGS_FINISHED, said
    assert staged.result().outcome == "finished"
    assert staged.pointer().state == "session/run/state.json"
    transcript = (staged.base() / layout.TRANSCRIPT).read_text()
    assert "artifact wheel" in transcript
    assert "key ***API_KEY***" in transcript
    kept = b"".join(path.read_bytes() for path in staged.base().rglob("*") if path.is_file())
    assert KEY.encode() not in kept
    for name in (layout.POINTER, layout.LEG_RESULT, layout.JOURNAL):
        assert (staged.base() / name).stat().st_mode & 0o444 == 0o444
    assert not staged.left()


def test_a_failing_command_says_code_and_last_words(tmp_path: Path) -> None:
    staged = stage(tmp_path, command_leg("echo out of paper >&2; exit 7", evidence=0.3))
    code, said = staged.run()
    assert code == exits.LEG_FAILED, said
    assert staged.result().reason is Reason.COMMAND_FAILED
    assert "exit code 7" in staged.result().sentence
    assert "out of paper" in staged.result().sentence


def test_a_secret_that_the_command_writes_to_a_file_is_reported(tmp_path: Path) -> None:
    staged = stage(tmp_path, command_leg(f'echo "$API_KEY" > leaked.txt; {FINISH}', secrets=("API_KEY",)))
    code, said = staged.run(env={"API_KEY": KEY})
    assert code == exits.LEGS_FINISHED, said
    assert staged.result().secret_hits == ("workspace/leaked.txt: API_KEY",)


def test_a_missing_secret_is_said_before_anything_runs(tmp_path: Path) -> None:
    staged = stage(tmp_path, command_leg("touch ran", secrets=("NO_SUCH_KEY",)))
    code, said = staged.run()
    assert code == exits.LEG_FAILED, said
    assert staged.result().reason is Reason.PREPARE_FAILED
    assert "NO_SUCH_KEY" in staged.result().sentence
    assert not (staged.base() / "workspace/ran").exists()


def test_a_staged_file_is_never_the_state_file_of_a_leg_that_has_not_begun(tmp_path: Path) -> None:
    leg = command_leg("touch ran", files=("out/state.json",), state=("workspace/**/state.json",))
    staged = stage(tmp_path, leg, files={"out/state.json": '{"done": true, "stop_reason": "converged"}'})
    code, said = staged.run()
    assert code == exits.LEG_FAILED, said
    assert staged.result().reason is Reason.PREPARE_FAILED
    assert "'out/state.json'" in staged.result().sentence
    assert not list((staged.base() / "workspace").iterdir()), "neither copied nor run"


def test_a_root_with_a_step_up_is_a_root(tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    staged = stage(tmp_path / "beside" / ".." / "root", command_leg(FINISH, files=("a.txt",)), files={"a.txt": ""})
    code, said = staged.run()
    assert code == exits.LEGS_FINISHED, said


def test_a_staged_file_that_is_missing_is_said(tmp_path: Path) -> None:
    staged = stage(tmp_path, command_leg("true", files=("gone.py",)))
    code, said = staged.run()
    assert code == exits.LEG_FAILED, said
    assert staged.result().reason is Reason.PREPARE_FAILED
    assert "gone.py" in staged.result().sentence


def test_an_artifact_that_is_not_what_its_digest_says_is_the_legs_own_verdict(tmp_path: Path) -> None:
    artifact = ArtifactPlan("file", "dist/p.whl", "p.whl", f"sha256:{sha256(b'wheel').hexdigest()}", 5)
    staged = stage(tmp_path, command_leg("touch ran"), artifact=artifact)
    (tmp_path / layout.STAGED_ARTIFACT).mkdir(parents=True)
    (tmp_path / layout.STAGED_ARTIFACT / "p.whl").write_text("whale")
    code, said = staged.run()
    assert code == exits.LEG_FAILED, said
    assert staged.result().reason is Reason.PREPARE_FAILED
    assert artifact.digest in staged.result().sentence
    assert staged.pointer().phase == "ended"
    assert not (staged.base() / "workspace/ran").exists()


def test_legs_of_a_shared_workload_run_side_by_side_each_with_its_own(tmp_path: Path) -> None:
    meet = 'touch "$MEET/$GATE_LEG"; while [ ! -e "$MEET/a" ] || [ ! -e "$MEET/b" ]; do sleep 0.05; done; '
    show = 'echo "$GATE_GPU $CUDA_VISIBLE_DEVICES ${KEY_A:-none} ${KEY_B:-none}" > seen; '
    legs = [
        replace(command_leg(meet + show + FINISH, secrets=("KEY_A",)), id="a"),
        replace(command_leg(meet + show + FINISH, secrets=("KEY_B",)), id="b"),
        replace(command_leg("exit 3", evidence=0.3), id="c"),
    ]
    staged = stage(tmp_path / "run", *legs, gpus=3)
    (tmp_path / "meet").mkdir()
    env = {"MEET": str(tmp_path / "meet"), "CUDA_VISIBLE_DEVICES": "4,5,6", "KEY_A": "aaaaaaaa", "KEY_B": "bbbbbbbb"}
    code, said = staged.run(env=env)
    assert code == exits.LEG_FAILED, said
    assert [staged.result(leg).outcome for leg in "abc"] == ["finished", "finished", "failed"]
    assert (staged.base("a") / "workspace/seen").read_text() == "0 4 aaaaaaaa none\n"
    assert (staged.base("b") / "workspace/seen").read_text() == "1 5 none bbbbbbbb\n"
    assert staged.pointer("b").gpu == 1


def test_one_legs_end_leaves_the_others_processes_alone(tmp_path: Path) -> None:
    legs = [
        replace(command_leg(FINISH), id="quick"),
        replace(command_leg(f"sleep 2; {FINISH}"), id="slow"),
    ]
    staged = stage(tmp_path, *legs)
    code, said = staged.run()
    assert code == exits.LEGS_FINISHED, said


def test_what_a_command_detached_is_named_and_ended(tmp_path: Path) -> None:
    detach = "setsid nohup sleep 987 >/dev/null 2>&1 & env -i setsid sleep 986 >/dev/null 2>&1 & "
    staged = stage(tmp_path, command_leg(f"{detach}{FINISH}"))
    code, said = staged.run()
    assert code == exits.LEGS_FINISHED, said
    assert any("sleep 987" in one for one in staged.result().survivors)
    assert not [one for one in staged.left() if "sleep 987" in str(one)]
    for one in Census().started_with("sleep", "986"):
        os.kill(one.pid, signal.SIGKILL)  # without a mark from the supervisor nothing tells whose it is


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_everything_within_its_grace(tmp_path: Path, number: signal.Signals) -> None:
    staged = stage(tmp_path, command_leg("trap '' TERM INT; touch here; sleep 600"))
    process = staged.start()
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob("legs/leg/*/1-*/workspace/here")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    began = time.monotonic()
    process.send_signal(number)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == exits.STOPPED, said
    assert time.monotonic() - began < 5
    assert staged.result().outcome == "stopped"
    assert not staged.left()


def test_a_second_start_gets_a_directory_of_its_own_and_is_refused(tmp_path: Path) -> None:
    staged = stage(tmp_path, command_leg(FINISH))
    assert staged.run()[0] == exits.LEGS_FINISHED
    code, said = staged.run()
    assert code == exits.LEG_FAILED
    assert "workload_restarted" in said
    assert json.loads((staged.base(number=2) / layout.LEG_RESULT).read_text())["reason"] == "workload_restarted"


def test_a_crash_in_one_legs_driver_is_named_and_ends_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import anyio  # noqa: PLC0415 - this test drives the workload within this process

    from gate.bootstrap import driver, workload  # noqa: PLC0415
    from gate.documents import load  # noqa: PLC0415
    from gate.rundir.formats import Assignment  # noqa: PLC0415

    legs = [replace(command_leg(FINISH), id="good"), replace(command_leg("true"), id="bad")]
    staged = stage(tmp_path, *legs)
    real = driver.drive

    async def drive(world: object, who: object) -> object:
        if world.leg.id == "bad":  # type: ignore[attr-defined]
            await world.home.open()  # type: ignore[attr-defined]
            raise ZeroDivisionError("a bug")
        return await real(world, who)  # type: ignore[arg-type]

    monkeypatch.setattr(workload, "drive", drive)
    assignment = load(Assignment, staged.path.read_bytes(), "a")
    code = anyio.run(workload.run_workload, assignment, dict(os.environ))
    assert code == exits.BUG
    assert staged.result("good").outcome == "finished"
    assert staged.result("bad").reason is Reason.LEG_CRASHED
    assert "a bug" in (staged.base("bad") / layout.JOURNAL).read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "needs the path"),
        (("--assignment",), "needs the path"),
        (("--assignment", "/nonexistent"), "cannot be read"),
        (("--nonsense",), "unknown option '--nonsense'"),
        (("--assignment", "/etc/passwd"), "not a gate.assignment file"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    code, output = stage(tmp_path).run("bootstrap", *words)
    assert code == exits.BAD_ASSIGNMENT
    assert said in output


def test_an_assignment_without_legs_is_refused(tmp_path: Path) -> None:
    code, output = stage(tmp_path).run()
    assert code == exits.BAD_ASSIGNMENT
    assert "no legs" in output


def test_a_share_that_hangs_delays_no_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call on the leg's directory hangs; the stop is answered within its grace all the same."""
    import threading  # noqa: PLC0415 - this test drives the workload within this process

    import anyio  # noqa: PLC0415

    from gate.bootstrap import home, searching, workload  # noqa: PLC0415
    from gate.documents import load  # noqa: PLC0415
    from gate.rundir.formats import Assignment  # noqa: PLC0415

    hung, release = threading.Event(), threading.Event()

    def hang(*_: object, **__: object) -> None:
        hung.set()
        release.wait()

    def stop_when_hung() -> None:
        hung.wait()
        os.kill(os.getpid(), signal.SIGTERM)

    staged = stage(tmp_path, command_leg("sleep 600"))
    monkeypatch.setattr(searching, "find_states", hang)
    monkeypatch.setattr(home, "replace_whole", lambda path, *_: hang() if path.name == "pointer.json" else None)
    assignment = load(Assignment, staged.path.read_bytes(), "a")
    killer = threading.Thread(target=stop_when_hung)
    killer.start()
    began = time.monotonic()
    try:
        code = anyio.run(workload.run_workload, assignment, dict(os.environ))
    finally:
        release.set()
        killer.join()
    assert code == exits.STOPPED
    assert time.monotonic() - began < 8
    assert not staged.left()
