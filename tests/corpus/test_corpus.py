"""Every recorded run, replayed with today's rules: a verdict that comes out otherwise is accepted with a reason."""

from __future__ import annotations

import re
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from gate.machines.judge import Judgement, judge
from gate.machines.verdict import Outcome, Reason
from tests.corpus import accept, local, paths, record, simulated
from tests.corpus.outcome import expected, outcome, replays

ACCEPT = 'If that is meant: python -m tests.corpus.accept "why"'

ENTRY_BYTES = 64 * 1024
CORPUS_BYTES = 2 * 1024 * 1024

MACHINE = re.compile(rb"/(tmp|home|root|var|Users)/")
LOCAL_ID = re.compile(rb"[\w.-]+:[0-9a-f]{8}:[0-9]+:[0-9]+:")

NOT_IN_IT = {
    Reason.EVIDENCE_AMBIGUOUS,  # bootstrap names its state file, or says that the leg failed, before it ends
    Reason.LEG_CRASHED,  # a bug in bootstrap
    Reason.API_GONE,  # no engine says so of itself
    Reason.ENDED_WITHOUT_RESULT,  # the supervisor's record, or leg.json, knows better
    Reason.PREPARE_FAILED,  # needs an artifact that cannot be fetched
}
"""Reasons that no entry shows; tests of the machine do."""


@pytest.mark.parametrize("name", paths.names())
def test_a_recorded_run_comes_to_what_was_accepted(name: str) -> None:
    assert outcome(name) == expected().get(name), f"{name}: today's rules come to something else. {ACCEPT}"


def test_every_change_of_the_corpus_was_accepted_with_a_reason() -> None:
    assert paths.digest() == paths.accepted(), f"the corpus is not the one that CHANGES.md names last. {ACCEPT}"
    assert sorted(expected()) == sorted(paths.names())


def test_what_the_record_says_otherwise_is_marked() -> None:
    """Exit 6 of `gate replay` and the marks in the file of expectations are the same thing."""
    marked = {name for name, attempts in expected().items() if "differs" in str(attempts)}
    assert marked == {name for name in paths.names() if not all(one.agrees for one in replays(name))}


def test_every_reason_is_there() -> None:
    shown = {
        given.verdict.reason
        for name in paths.names()
        for one in replays(name)
        for leg in one.legs
        for given in (leg.replayed, leg.recorded)
        if given is not None
    }
    assert set(Reason) - shown == NOT_IN_IT


def test_every_entry_is_described_and_recorded() -> None:
    assert set(paths.names()) == {*simulated.ENTRIES, *local.ENTRIES}


@pytest.mark.parametrize("name", paths.names())
def test_an_entry_is_small_and_holds_nothing_of_the_machine_it_was_recorded_on(name: str) -> None:
    found = [path for path in (paths.RUNS / name).rglob("*") if path.is_file()]
    assert all(path.relative_to(paths.RUNS / name).as_posix().startswith(paths.FOLDERS) for path in found)
    raw = b"".join(path.read_bytes() for path in found)
    assert len(raw) < ENTRY_BYTES
    assert not MACHINE.search(raw)
    assert set(LOCAL_ID.findall(raw)) <= {b"machine:00000000:1:1:"}
    assert len(socket.gethostname()) < 4 or socket.gethostname().encode() not in raw


def test_the_corpus_is_small() -> None:
    assert sum(path.stat().st_size for path in paths.files()) < CORPUS_BYTES


# --- recording ---------------------------------------------------------------------------------------


def test_a_recording_is_what_was_observed_and_what_it_came_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "RUNS", tmp_path)
    monkeypatch.setattr("tests.corpus.outcome.RUNS", tmp_path)
    assert record.main(["nonsense"]) == 2
    assert record.main(["carried"]) == 0
    kept = sorted(path.relative_to(tmp_path).parts[2] for path in tmp_path.rglob("*.json*"))
    assert kept == ["decisions"] * 2 + ["observations"] * 2 + ["verdicts"] * 4
    first, second = replays("carried")
    assert first.agrees
    assert second.agrees
    (journal,) = (tmp_path / "carried" / "gate" / "observations").glob(f"{first.tag}*")
    journal.write_bytes(b"")
    assert record.main(["carried"]) == 0
    assert journal.read_bytes() == b"", "what is there stays"
    assert record.main(["--again", "carried"]) == 0
    assert journal.read_bytes() != b""


def test_nothing_of_the_machine_stays() -> None:
    raw = b'{"id":"box-7:1a2b3c4d:4711:998877:corpus-main-abc","message":"no /tmp/x1/leg.py"}'
    assert record.anonymous(raw, "/tmp/x1") == (
        b'{"id":"machine:00000000:1:1:corpus-main-abc","message":"no /somewhere/leg.py"}'
    )


# --- accepting ---------------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus of two entries to change."""
    for name in ("pass", "fail"):
        shutil.copytree(paths.RUNS / name, tmp_path / "runs" / name)
    for module in (paths, accept):
        for attribute in ("EXPECTED", "CHANGES"):
            monkeypatch.setattr(module, attribute, tmp_path / getattr(paths, attribute).name)
    monkeypatch.setattr(paths, "HERE", tmp_path)
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    monkeypatch.setattr("tests.corpus.outcome.RUNS", tmp_path / "runs")
    monkeypatch.setattr("tests.corpus.outcome.EXPECTED", tmp_path / "expected.json")
    replays.cache_clear()
    return tmp_path


@pytest.fixture(autouse=True)
def forget() -> None:
    replays.cache_clear()


def test_accepting_needs_a_reason_and_leaves_a_line(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert accept.main([]) == 2
    assert not paths.CHANGES.exists()
    assert accept.main(["the", "first", "two"]) == 0
    assert sorted(expected()) == ["fail", "pass"]
    assert paths.accepted() == paths.digest()
    assert paths.CHANGES.read_text().splitlines()[-1] == f"- `{paths.digest()}` fail, pass: the first two"
    capsys.readouterr()
    assert accept.main(["nothing new"]) == 0
    assert capsys.readouterr().out == "Nothing changed: nothing to accept.\n"


def test_a_rule_that_changes_a_verdict_is_not_silent(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accept.main(["the first two"])
    before = paths.digest()

    def lenient(*args: Any) -> Judgement:
        return judge(*args)._replace(outcome=Outcome.PASS, reason=Reason.CRITERIA_MET)

    monkeypatch.setattr("gate.machines.gate_derive.judge", lenient)
    replays.cache_clear()
    assert outcome("fail") != expected()["fail"]
    assert accept.main(["everything is accepted now"]) == 0
    assert paths.digest() != before
    changed = expected()["fail"]["1"]["legs"]["main"]
    assert changed["verdict"] == "PASS criteria_met"
    assert changed["differs"] == ["outcome", "reason"]
    assert paths.CHANGES.read_text().count("- `") == 2


def test_a_record_that_is_touched_is_not_silent(copy: Path) -> None:
    accept.main(["the first two"])
    (journal,) = (copy / "runs" / "pass" / "gate" / "observations").iterdir()
    journal.write_bytes(journal.read_bytes() + b"\n")
    assert paths.digest() != paths.accepted()
