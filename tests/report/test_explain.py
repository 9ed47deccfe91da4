"""`gate explain` and `gate status`: the text, the JSON, and both commands over a run that was really polled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gate import cli
from gate.commands.standing import closing_of
from gate.contracts import Phase
from gate.machines.verdict import Reason, StateView
from gate.poll.driver import poll
from gate.report.decision import Closing, closing
from gate.report.explain import deciding, explain_json, explain_text
from gate.rundir import layout
from gate.rundir.run import Run
from gate.simulate.store import MemoryStore
from tests.machines.gate_world import BUSY, EVIDENCE, GOOD, LOST, Player, leg, result, rules, view
from tests.poll.worlds import RUN, Scene, attempt_of, virtual
from tests.report.reports import HOSTILE, OBEYED


def verdict_text(played: Player, name: str = "a") -> str:
    return explain_text(played.verdicts[name]).plain


def test_a_failure_as_a_derivation() -> None:
    played = Player(rules())
    played.tick(a=view(LOST))
    said = verdict_text(played)
    lines = said.splitlines()
    assert lines[0] == "✘ FAIL a: not_accepted"
    assert [line.strip() for line in lines if line.startswith(("  ✔", "  ✘"))] == [
        "✔ one start",
        "✔ ours",
        "✔ finished: done = true",
        '✘ pass: stop_reason in "converged", "target_reached"   ◀ decided',
        "✔ limit: crashes ≤ 0",
    ]
    evidence = played.verdicts["a"].evidence
    assert evidence is not None
    assert "      observed  tag abcdefghij, incarnation i1, pointer number 3" in lines
    assert "      from      legs/a/abcdefghij/i1/pointer.json, 0 s old" in lines
    assert f"      from      session/run/state.json, 0 s old, sha256:{evidence.state.sha256[:12]}" in lines
    assert lines[2] == '  decided by  pass: stop_reason in "converged", "target_reached"; observed "gave_up"'
    assert f"          sha256:{evidence.state.sha256}" in lines
    assert "          read 2027-01-15T08:00:30Z, 0 s old when judged" in lines
    assert lines[-1] == "judged    2027-01-15T08:00:30Z, 30 s after the first poll of attempt 1 (tag abcdefghij)"


def test_an_end_that_says_why_decides_and_the_time_that_was_given_afterwards_is_shown() -> None:
    played = Player(rules())
    played.tick(a=view(BUSY))
    played.says("a", Phase.FAILED, "out_of_memory", exit_code=137)
    played.tick()
    played.ticks(EVIDENCE)
    verdict = played.verdicts["a"]
    rule = deciding(verdict.rules)
    assert rule is not None
    assert (rule.name, rule.observed) == ("workload a is not over", "Failed, out_of_memory, exit code 137")
    assert verdict.rules[-1].name == "finished within the evidence budget after the end"
    stopped = Player(rules())
    stopped.tick(a=view(BUSY, result=result(outcome="stopped", sentence="signal 15")))
    stopped.ticks(EVIDENCE)
    rule = deciding(stopped.verdicts["a"].rules)
    assert rule is not None
    assert (rule.name, rule.observed) == ("leg.json says that the leg finished", "stopped: signal 15")


@pytest.mark.parametrize(
    ("seen", "decides"),
    [
        (view(GOOD), "all criteria met"),
        (view(BUSY, incarnations=("i1", "i2")), "one start"),
        (view(StateView("torn", "x")), "readable within the evidence budget"),
        (
            view(BUSY, result=result(outcome="failed", reason=Reason.SETUP_STALLED)),
            "leg.json says that the leg finished",
        ),
        (view(BUSY, result=result()), "finished within the evidence budget after the end"),
    ],
)
def test_each_verdict_names_the_rule_that_decided(seen: Any, decides: str) -> None:
    played = Player(rules())
    played.tick(a=seen)
    played.ticks(EVIDENCE)
    verdict = played.verdicts["a"]
    rule = deciding(verdict.rules)
    assert rule is not None
    assert rule.name == decides
    body = explain_json(verdict)
    assert body["decided_by"]["name"] == decides
    assert body["evidence_age"] == 0.0
    assert json.loads(json.dumps(body)) == body


def test_flaky_and_carried_are_said() -> None:
    first = Player(rules(leg(failed_before=True)))
    first.tick(a=view(GOOD))
    second = Player(rules(leg(carried=first.verdicts["a"]), attempt=2))
    second.tick()
    said = verdict_text(second)
    assert "carried: measured by the attempt with tag abcdefghij" in said
    assert "flaky: an earlier attempt of this run did not pass" in said


def test_hostile_text_is_text() -> None:
    played = Player(rules())
    played.tick(a=view({**LOST, "stop_reason": HOSTILE}, problem=HOSTILE))
    said = verdict_text(played)
    assert "[bold red]" in said
    assert not [char for char in OBEYED if char in said]


# --- the commands ------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a gate.yaml; the root of runs below it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_RUN_ID", raising=False)
    return tmp_path / "root"


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.run(list(argv))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_explain_a_leg_of_a_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost(root)
    code, out, err = call(capsys, "explain", "a", "--root", str(root), "--run", RUN)
    assert (code, err) == (0, "")
    assert out.startswith("✘ FAIL a: not_accepted")
    assert "ok is false" in out
    code, out, _ = call(capsys, "explain", "a", "--root", str(root), "--json")
    assert code == 0
    assert json.loads(out)["decided_by"]["decides"] is True


def lost(root: Path) -> None:
    """A run of which leg a failed and b was not judged."""
    scene = Scene(attempt_of())

    async def work() -> None:
        await scene.begin()
        scene.finish("a", ok=False)
        scene.pointer("b")
        await poll(scene.world(), scene.attempt)

    virtual(work)
    lay_down(root, scene)


def running(root: Path) -> None:
    """A run that was polled once: leg a waits with a torn state file, b has not begun."""
    scene = Scene(attempt_of())

    async def work() -> None:
        await scene.begin()
        scene.pointer("a")
        scene.state("a", b'{"done": tr')
        await poll(scene.world(), scene.attempt, once=True)

    virtual(work)
    lay_down(root, scene)


def lay_down(root: Path, scene: Scene) -> None:
    home = layout.run(root, "local/demo", "demo", RUN)
    for key, raw in scene.disk.files.items():
        path = home / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(raw))


def test_explain_a_leg_that_is_not_judged_yet(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    running(root)
    code, out, _ = call(capsys, "explain", "a", "--root", str(root))
    assert code == 0
    assert out.startswith("a is not judged yet: reading; as seen at")
    assert "the state file is torn" in out
    code, out, _ = call(capsys, "explain", "b", "--root", str(root), "--json")
    body = json.loads(out)
    assert (code, body["outcome"], body["phase"]) == (0, None, "starting")


def test_a_leg_that_does_not_exist_is_a_usage_error_that_helps(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost(root)
    code, _, err = call(capsys, "explain", "aa", "--root", str(root))
    assert code == 2
    assert "has no leg 'aa'" in err
    assert "Did you mean a? Its legs are: a, b." in err
    code, _, err = call(capsys, "explain", "a", "--root", str(root), "--attempt", "7")
    assert code == 2
    assert "There are: 1." in err


def test_status_of_a_decided_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost(root)
    code, out, err = call(capsys, "status", "--root", str(root))
    assert (code, err) == (0, "")
    assert "✘ FAIL" in out
    assert "NO-GO" in out
    code, out, _ = call(capsys, "status", RUN, "--root", str(root), "--json")
    body = json.loads(out)
    assert (code, body["word"], body["decision"]["exit_code"]) == (0, "NO-GO", 1)
    assert [(row["leg"], row["outcome"]) for row in body["legs"]] == [("a", "FAIL"), ("b", "NOT_JUDGED")]
    assert "ok is false" in body["legs"][0]["sentence"]


def test_status_of_a_running_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    running(root)
    code, out, _ = call(capsys, "status", "--root", str(root))
    assert code == 0
    assert "\n RUNNING\n" in out
    assert "poller    none; go on with: gate poll 12" in out
    assert "workload  a created (id-a)" in out
    code, out, _ = call(capsys, "status", "--root", str(root), "--json")
    assert json.loads(out)["word"] == "RUNNING"


def test_status_of_a_run_that_nobody_polled(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene(attempt_of())
    virtual(scene.begin)  # type: ignore[arg-type]
    lay_down(root, scene)
    code, out, _ = call(capsys, "status", "--root", str(root))
    assert code == 0
    assert "never: nobody has polled this attempt yet" in out


def test_status_without_a_run_says_where_it_looked(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "status", "--root", str(root))
    assert code == 2
    assert str(root) in err


def test_half_an_emoji_in_a_state_file_is_judged_written_and_shown(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = Scene(attempt_of())

    async def work() -> None:
        await scene.begin()
        scene.finish("a")
        scene.pointer("b")
        scene.state("b", b'{"done": true, "ok": "\\ud83d"}')
        await poll(scene.world(), scene.attempt)

    virtual(work)
    assert scene.verdicts() == {"a": ("PASS", "criteria_met"), "b": ("ERROR", "value_missing")}
    lay_down(root, scene)
    code, out, err = call(capsys, "explain", "b", "--root", str(root))
    assert (code, err) == (0, "")
    assert "\\ud83d" in out
    code, out, err = call(capsys, "explain", "b", "--root", str(root), "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["evidence"]["state"]["fields"]["ok"]["value"] == "\ud83d"


def test_the_closing_text_of_a_run_is_made_from_its_directory() -> None:
    scene = Scene(attempt_of())
    found: list[Closing] = []

    async def work() -> None:
        await scene.begin()
        scene.finish("a", ok=False)
        scene.pointer("b")
        end = await poll(scene.world(), scene.attempt)
        assert end.decision is not None
        found.append(await closing_of(Run(MemoryStore(scene.disk)), end.decision, end.remaining, 0.0))

    virtual(work)
    said = closing(found[0]).plain
    first, second = said.splitlines()[:2]
    assert first == " NO-GO  leg a: ok is false, expected true; 1 leg not judged: another leg decided first"
    assert second == "  ✘ FAIL       a  not_accepted"
    assert "next  gate explain a --run 12" in said
