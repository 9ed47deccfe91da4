"""The poller's look at a leg's files, over every implementation: a real folder, and the disk in memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from gate import documents
from gate.contracts import LegFiles, LegQuery, LegView
from gate.errors import StoreUnavailable
from gate.machines.verdict import Field
from gate.rundir.formats import LegResult, Pointer
from gate.rundir.legfiles import FileLegFiles
from gate.simulate.legfiles import MemoryLegFiles
from gate.simulate.store import MemoryDisk

TAG = "abcdefghij"
QUERY = LegQuery("sort", TAG, ("session/**/state.json",), ("done", "gain"))
HOME = f"legs/sort/{TAG}/1-x"
STATE = f"{HOME}/session/run/state.json"
GOOD = json.dumps({"done": True, "gain": 1.5}).encode()
POINTER = Pointer("sort", TAG, "1-x", 1, "wait", "session/run/state.json", 2, 1, 0, 0, 0.0, None, None, 0.0)
RESULT = LegResult(
    "sort", TAG, "1-x", "finished", None, "done", "session/run/state.json", 2, 1, 0, 0, None, None, (), (), 0.0
)


@dataclass
class Case:
    legs: LegFiles
    write: Callable[[str, bytes], None]
    delete: Callable[[str], None]
    vanish: Callable[[], None]

    def look(self, query: LegQuery = QUERY) -> LegView:
        async def main() -> LegView:
            return (await self.legs.look([query]))[query.leg]

        return anyio.run(main)

    def point(self, **changes: Any) -> None:
        self.write(f"{HOME}/pointer.json", documents.dump(replace(POINTER, **changes)))


def files_case(tmp_path: Path) -> Case:
    run_dir = tmp_path / "run"
    run_dir.mkdir()

    def write(key: str, data: bytes) -> None:
        path = run_dir / key
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(".tmp")
        temporary.write_bytes(data)
        temporary.rename(path)

    return Case(FileLegFiles(run_dir), write, lambda key: (run_dir / key).unlink(), lambda: shutil.rmtree(run_dir))


def memory_case(_: Path) -> Case:
    disk = MemoryDisk()

    def vanish() -> None:
        disk.present = False

    def delete(key: str) -> None:
        assert disk.delete(key)

    return Case(MemoryLegFiles(disk), disk.write, delete, vanish)


@pytest.fixture(params=[files_case, memory_case], ids=["files", "memory"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    made: Case = request.param(tmp_path)
    return made


def test_nothing_there_yet(case: Case) -> None:
    assert case.look() == LegView()


def test_a_leg_that_finished(case: Case) -> None:
    case.point()
    case.write(STATE, GOOD)
    case.write(f"{HOME}/leg.json", documents.dump(RESULT))
    view = case.look()
    assert view.incarnations == ("1-x",)
    assert (view.pointer, view.result, view.problem) == (POINTER, RESULT, "")
    assert (view.state.status, view.state.path, view.state.size) == ("ok", STATE, len(GOOD))
    assert view.state.fields == {"done": Field("value", True), "gain": Field("value", 1.5)}


def test_equal_views_while_nothing_changes_and_a_new_stamp_when_something_does(case: Case) -> None:
    case.point()
    case.write(STATE, GOOD)
    first = case.look()
    assert case.look() == first
    case.write(f"{HOME}/transcript.log", b"a turn\n")
    second = case.look()
    assert second.stamp != first.stamp
    assert replace(second, stamp="") == replace(first, stamp="")
    case.point(sequence=2, turns=3)
    third = case.look()
    assert third.stamp != second.stamp
    assert third.pointer is not None
    assert third.pointer.turns == 3
    case.write(STATE, GOOD.replace(b"1.5", b"2.5"))
    assert case.look().state.fields["gain"] == Field("value", 2.5)


def test_a_state_file_that_appears_later(case: Case) -> None:
    case.point(state=None, earlier=())
    assert case.look().state.status == "absent"
    case.point(sequence=2)
    absent = case.look()
    assert (absent.state.status, absent.state.path) == ("absent", STATE)
    case.write(STATE, GOOD)
    assert case.look().state.status == "ok"
    case.delete(STATE)
    assert case.look().state.status == "absent"


def test_the_only_file_that_counts_is_used_where_nothing_names_it(case: Case) -> None:
    """Evidence first: bootstrap may have been killed before it wrote that the state file is there."""
    case.write(STATE, GOOD)
    assert case.look().state.status == "ok"
    case.point(state=None, earlier=())
    assert case.look().state.path == STATE


def test_several_files_and_nothing_says_which(case: Case) -> None:
    case.write(STATE, GOOD)
    case.write(f"{HOME}/session/b/state.json", GOOD)
    assert case.look().state.status == "ambiguous"
    assert "session/b/state.json, session/run/state.json" in case.look().state.detail
    case.point(state=None, earlier=())
    waiting = case.look().state
    assert (waiting.status, "names none of them yet" in waiting.detail) == ("absent", True)
    case.point(state=None, phase="ended", sequence=2, earlier=())
    assert case.look().state.status == "ambiguous"
    case.point(sequence=3)
    assert (case.look().state.status, case.look().state.path) == ("ok", STATE)


def test_strays_are_named_and_never_read(case: Case) -> None:
    case.point(state=None, earlier=())
    case.write(f"{HOME}/session/state.json", GOOD)
    case.write(f"{HOME}/workspace/out/state.json", GOOD)
    stray = case.look().state
    assert (stray.status, stray.detail) == ("absent", "session/state.json lies where no state file counts")
    case.write(f"{HOME}/leg.json", documents.dump(replace(RESULT, state=None)))
    ended = case.look().state
    assert ended.status == "absent"
    assert ended.detail == "session/state.json, workspace/out/state.json lies where no state file counts"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", "empty"),
        (b'{"done": tr', "torn"),
        (b'{"done": NaN}', "malformed"),
        (b'{"done": 1, "done": 2}', "malformed"),
        (b"[]", "malformed"),
    ],
)
def test_states_that_are_not_whole(case: Case, raw: bytes, status: str) -> None:
    """BigDataScript#89: zero length is "not yet"; dvc-task#53: a bad read never becomes defaults."""
    case.point()
    case.write(STATE, raw)
    view = case.look()
    assert (view.state.status, view.state.fields) == (status, {})
    assert view.state.detail
    case.write(STATE, GOOD)
    assert case.look().state.status == "ok"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tag": "zzzzzzzzzz"}, "its tag is 'zzzzzzzzzz'"),
        ({"leg": "other"}, "its leg is 'other'"),
        ({"incarnation": "2-y"}, "its incarnation is '2-y'"),
    ],
)
def test_somebody_elses_pointer(case: Case, changes: dict[str, str], words: str) -> None:
    """SkerrySSH#367: an older run's result must not satisfy the check."""
    case.point(**changes)
    case.write(STATE, GOOD)
    view = case.look()
    assert view.state.status == "foreign"
    assert words in view.problem


def test_somebody_elses_result(case: Case) -> None:
    case.point()
    case.write(STATE, GOOD)
    case.write(f"{HOME}/leg.json", documents.dump(replace(RESULT, tag="zzzzzzzzzz")))
    view = case.look()
    assert (view.state.status, "leg.json: somebody else's" in view.problem) == ("foreign", True)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "pointer.json: not a gate.pointer file"),
        (b'{"format": "gate.poi', "not a gate.pointer file"),
        (b'{"format": "gate.leg", "format_version": 1}', "expected format 'gate.pointer'"),
        (b'{"format": "gate.pointer", "format_version": 2}', "newer than this gate reads"),
        (b'{"format": "gate.pointer", "format_version": true}', "version number"),
        (b'{"format": "gate.pointer", "format_version": 1, "leg": "sort"}', "key 'tag'"),
        (documents.dump(POINTER).replace(b'"sequence": 1', b'"sequence": "1"'), "sequence: expected int"),
        (documents.dump(POINTER).replace(b'"wait"', b'"napping"'), "phase: expected one of"),
        (documents.dump(POINTER).replace(b'"turns"', b'"rounds"'), "no key 'rounds'"),
        (b'{"a": "' + b"x" * (1024 * 1024) + b'"}', "longer than"),
    ],
)
def test_a_broken_pointer_is_a_problem_in_words_and_the_evidence_is_still_read(
    case: Case, raw: bytes, words: str
) -> None:
    case.write(STATE, GOOD)
    case.write(f"{HOME}/pointer.json", raw)
    view = case.look()
    assert words in view.problem
    assert (view.pointer, view.state.status) == (None, "ok")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{}", "leg.json: expected format 'gate.leg'"),
        (documents.dump(RESULT).replace(b'"finished"', b'"fine"'), "outcome: expected one of"),
        (documents.dump(RESULT).replace(b'"ended": 0.0', b'"ended": null'), "ended: expected float"),
    ],
)
def test_a_broken_leg_json(case: Case, raw: bytes, words: str) -> None:
    case.point()
    case.write(STATE, GOOD)
    case.write(f"{HOME}/leg.json", raw)
    view = case.look()
    assert words in view.problem
    assert (view.result, view.state.status) == (None, "ok")


@pytest.mark.parametrize("named", ["../2-y/session/run/state.json", "/etc/passwd", "session/state.json", "workspace/x"])
def test_a_pointer_that_names_what_cannot_count(case: Case, named: str) -> None:
    case.write(STATE, GOOD)
    case.point(state=named)
    view = case.look()
    assert view.state.status == "foreign"
    assert named in view.state.detail


def test_the_last_incarnation_is_looked_at_and_all_are_named(case: Case) -> None:
    case.point()
    case.write(STATE, GOOD)
    assert case.look().state.status == "ok"
    for number in (2, 10, 9):
        case.write(f"legs/sort/{TAG}/{number}-y/journal.jsonl", b"")
    view = case.look()
    assert view.incarnations == ("1-x", "2-y", "9-y", "10-y")
    assert (view.pointer, view.state.status) == (None, "absent")


def test_only_what_is_asked_for_is_answered(case: Case) -> None:
    case.write(STATE, GOOD)
    other = LegQuery("other", TAG, QUERY.globs, QUERY.keys)
    stale = replace(QUERY, tag="zzzzzzzzzz")

    async def main() -> None:
        assert set(await case.legs.look([other, QUERY])) == {"other", "sort"}
        assert await case.legs.look([]) == {}
        assert (await case.legs.look([stale]))["sort"] == LegView()

    anyio.run(main)


def test_a_vanished_root_is_not_absence(case: Case) -> None:
    case.point()
    case.vanish()
    with pytest.raises(StoreUnavailable):
        case.look()
