"""`gate replay RUN`: what it prints and exits with, over runs that were really polled; it writes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gate import cli
from gate.rundir import layout
from tests.poll.worlds import RUN, TAG
from tests.report.test_explain import call, lost, running


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a gate.yaml; the root of runs below it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_RUN_ID", raising=False)
    return tmp_path / "root"


def run_dir(root: Path) -> Path:
    return layout.run(root, "local/demo", "demo", RUN)


def spoil(root: Path, leg: str, old: str, new: str) -> None:
    """Make the record of a verdict another one."""
    path = run_dir(root) / layout.verdict(TAG, leg)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def everything(root: Path) -> dict[Path, tuple[int, bytes]]:
    """Every file with its time of change and content, and every folder."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in root.rglob("*")}


def test_a_run_that_agrees(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost(root)
    before = everything(root)
    code, out, err = call(capsys, "replay", RUN, "--root", str(root))
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"run 12, attempt 1 (tag {TAG}): 1 observation of 0 s",
        "  ✔ a  FAIL not_accepted at observation 1 (0:00:00)",
        "  ✔ b  NOT_JUDGED fail_fast at observation 1 (0:00:00)",
        "  ✔ decision: NO-GO (exit 1) after 0:00:00",
        "",
        "Nothing differs.",
    ]
    assert everything(root) == before, "it writes nothing"


def test_a_run_that_differs_shows_both_sides_and_exits_6(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost(root)
    spoil(root, "a", '"outcome": "FAIL"', '"outcome": "PASS"')
    spoil(root, "a", '"reason": "not_accepted"', '"reason": "criteria_met"')
    before = everything(root)
    code, out, err = call(capsys, "replay", RUN, "--root", str(root))
    assert (code, err) == (6, "")
    assert "  ✘ a  differs: outcome, reason\n" in out
    by = "decided by pass: ok in true: false"
    assert f"      recorded  PASS criteria_met at observation 1 (0:00:00); {by}\n" in out
    assert f"      replayed  FAIL not_accepted at observation 1 (0:00:00); {by}\n" in out
    assert out.endswith("\n1 of 2 verdicts differs from what was recorded.\n")
    assert everything(root) == before


def test_json_for_programs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost(root)
    spoil(root, "b", '"reason": "fail_fast"', '"reason": "cancelled"')
    code, out, _ = call(capsys, "replay", RUN, "--root", str(root), "--json")
    body = json.loads(out)
    assert (code, body["agrees"]) == (6, False)
    (attempt,) = body["attempts"]
    a, b = attempt["legs"]
    assert (a["leg"], a["differs"], a["replayed"]["observation"]) == ("a", [], 1)
    assert (b["differs"], b["recorded"]["reason"], b["replayed"]["reason"]) == (["reason"], "cancelled", "fail_fast")
    assert b["replayed"]["decided_by"]["source"] == f"gate/verdicts/{TAG}/a.json"
    assert attempt["decision"] == {
        "differs": [],
        "recorded": {"word": "NO-GO", "exit_code": 1, "elapsed": 0.0},
        "replayed": {"word": "NO-GO", "exit_code": 1, "elapsed": 0.0},
    }


def test_a_decision_that_differs_alone(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost(root)
    path = run_dir(root) / layout.decision(TAG)
    path.write_text(path.read_text().replace('"exit_code": 1', '"exit_code": 3'))
    code, out, _ = call(capsys, "replay", RUN, "--root", str(root))
    assert code == 6
    assert "  ✘ decision differs: exit code\n      recorded  NO-GO (exit 3)" in out
    assert out.endswith("The decision differs from what was recorded.\n")


def test_a_run_that_is_not_decided(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    running(root)
    code, out, _ = call(capsys, "replay", RUN, "--root", str(root))
    assert code == 0
    assert "  · a  not judged\n" in out
    assert "  · undecided\n" in out


@pytest.mark.parametrize("how", ["absolute", "relative", "inside"])
def test_a_run_directory_by_its_path(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    lost(root)
    path = run_dir(root)
    text = {"absolute": str(path), "relative": str(path.relative_to(Path.cwd())), "inside": "."}[how]
    if how == "inside":
        monkeypatch.chdir(path)
    code, out, err = call(capsys, "replay", text)
    assert (code, err) == (0, "")
    assert "Nothing differs." in out


def test_only_what_was_recorded_is_needed(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A corpus entry: observations, verdicts, decision; nothing of legs, attempts or workloads."""
    lost(root)
    entry = tmp_path / "entry"
    (entry / "gate").mkdir(parents=True)
    for folder in ("observations", "verdicts", "decisions"):
        (run_dir(root) / "gate" / folder).rename(entry / "gate" / folder)
    code, out, _ = call(capsys, "replay", str(entry))
    assert (code, out.splitlines()[-1]) == (0, "Nothing differs.")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nowhere/at/all"], "nowhere/at/all is no run directory: there is no nowhere/at/all/gate"),
        (["99"], "no run '99' below"),
        ([RUN, "--attempt", "2"], "--attempt 2: the run has no such attempt"),
        ([], "Missing argument 'RUN'"),
    ],
)
def test_what_does_not_exist_is_a_usage_error(
    root: Path, capsys: pytest.CaptureFixture[str], argv: list[str], words: str
) -> None:
    lost(root)
    code, out, err = call(capsys, "replay", *argv, "--root", str(root))
    assert (code, out) == (2, "")
    assert words in err


def test_a_run_without_observations(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost(root)
    (run_dir(root) / layout.observations(TAG)).unlink()
    code, out, err = call(capsys, "replay", RUN, "--root", str(root))
    assert (code, out) == (2, "")
    assert "the run has no observations to replay: nobody has polled it yet" in err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b'"format_version":1', b'"format_version":9', "version 9 is not the one this gate reads (1)"),
        (b"\n[1,0,", b"\n[1,0", "line 2: not JSON"),
        (b'"format":"gate.observations"', b'"format":"gate.plan"', "expected a journal of observations"),
    ],
)
def test_a_damaged_or_newer_journal_is_an_error_and_nothing_is_shown(
    root: Path, capsys: pytest.CaptureFixture[str], old: bytes, new: bytes, words: str
) -> None:
    lost(root)
    path = run_dir(root) / layout.observations(TAG)
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new, 1))
    code, out, err = call(capsys, "replay", RUN, "--root", str(root))
    assert (code, out) == (2, "")
    assert words in err
    assert f"{TAG}.jsonl" in err


def test_it_is_listed_and_helps(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["replay", "--help"]) == 0
    assert "exit 6 where something differs" in " ".join(capsys.readouterr().out.split())
