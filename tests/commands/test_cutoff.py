"""A dispatch without an end: what it launched is stopped or named, whatever cannot be read or written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from gate import places
from gate.adapters.clock import SystemClock
from gate.commands import cutoff
from gate.commands.cutoff import Interrupted, clean, dispatch_or_cut, leave
from gate.commands.dispatching import Ready, Wanted
from gate.contracts import Engine
from gate.dispatch.driver import Dispatched, dispatch
from gate.dispatch.world import Order
from gate.errors import EngineError, GateError, RunHeld, StoreFull, UsageError
from gate.plan.model import Plan
from gate.rundir import layout
from gate.rundir.files import FileStore
from tests.dispatch.fake_engine import FolderEngine
from tests.dispatch.plans import plan
from tests.dispatch.worlds import world


class Case:
    """A run on disk with two live workloads, and everything a cut-off dispatch has in its hands."""

    def __init__(self, folder: Path) -> None:
        (folder / "engine").mkdir()
        self.engine = FolderEngine(folder / "engine")
        made: Plan = replace(plan(), root=str(folder / "root"))
        path = layout.run(folder / "root", made.repository, made.gate, "r1")
        self.ready = Ready(made, Wanted(folder / "gate.yaml"), "r1", path, None)

    async def launch(self) -> Dispatched:
        store = FileStore(self.ready.path)
        await store.make_root()
        return await dispatch(world(store, self.engine, clock=SystemClock()), self.ready.plan, Order("r1"))


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.setattr(places, "cancel_notes", lambda: tmp_path / "notes")
    return Case(tmp_path)


def test_nothing_was_launched(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    anyio.run(leave, case.ready)
    anyio.run(clean, case.ready, case.engine, Interrupted(2))
    assert capsys.readouterr().err.splitlines() == ["interrupted: nothing of run r1 was launched"] * 2


@pytest.mark.parametrize("how", ["leave", "clean"])
def test_what_cannot_be_read_is_not_called_nothing(
    case: Case, how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A root that does not answer while ^C is pressed: whether anything lives is not known, and that is said."""

    async def away(self: FileStore, key: str) -> bytes | None:
        raise StoreFull(f"cannot read {key}")

    anyio.run(case.launch)
    monkeypatch.setattr(FileStore, "read", away)
    if how == "leave":
        anyio.run(leave, case.ready)
    else:
        anyio.run(clean, case.ready, case.engine, Interrupted(2))
    said = capsys.readouterr().err
    assert "nothing of run r1" not in said
    assert "cannot be read: cannot read gate/attempts/0001.json" in said
    assert "gate reap --run r1" in said


def test_a_cancel_that_cannot_be_noted_is_still_cleaned_up(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").write_text("a file where a folder should be")
    anyio.run(case.launch)
    anyio.run(clean, case.ready, case.engine, Interrupted(15))
    assert case.engine.live() == []
    said = capsys.readouterr().err
    assert "could not be noted" in said
    assert "2 of 2 workloads stopped" in said


@pytest.mark.parametrize("error", [StoreFull("no space"), EngineError("what?"), RuntimeError("a bug")])
def test_a_dispatch_that_fails_in_the_middle_names_what_it_launched(
    case: Case, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fails(ready: Ready, engine: Engine, secrets: Mapping[str, str]) -> Dispatched:
        await case.launch()
        raise error

    monkeypatch.setattr(cutoff, "carry_out", fails)
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - a group of what tasks raise, as the command line takes it
        anyio.run(dispatch_or_cut, case.ready, case.engine, {})
    assert caught.group_contains(type(error)) or caught.type is type(error)
    said = capsys.readouterr().err
    assert "cut short: a, b of run r1 live on" in said
    assert "gate reap --run r1" in said


@pytest.mark.parametrize("error", [RunHeld("somebody holds it"), UsageError("another plan")])
def test_what_is_found_out_before_says_nothing_of_what_others_watch(
    case: Case, error: GateError, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fails(ready: Ready, engine: Engine, secrets: Mapping[str, str]) -> Dispatched:
        await case.launch()
        raise error

    monkeypatch.setattr(cutoff, "carry_out", fails)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - as above
        anyio.run(dispatch_or_cut, case.ready, case.engine, {})
    assert capsys.readouterr().err == ""
