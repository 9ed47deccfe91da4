"""The engine's word: what is missing from a list, and what only another host can see."""

from __future__ import annotations

import anyio
import pytest

from gate.contracts import Phase
from gate.errors import EngineUnreachable
from gate.machines.observations import EngineBlind, EngineSeen
from gate.poll.engine import SECOND_SOURCE, EngineEye, Wanted
from tests.poll.worlds import TAG, ScriptedEngine, attempt_of


async def cannot_see() -> None:
    raise EngineUnreachable("local workloads of another host")


def look(engine: ScriptedEngine, names: list[str]) -> EngineSeen | EngineBlind:
    targets = tuple(Wanted(name, f"id-{name}", TAG, f"demo-{name}-{TAG}") for name in names)
    return anyio.run(EngineEye(engine, attempt_of(), targets, lambda: ()).look)


def test_another_hosts_local_workloads_cannot_be_seen_which_is_not_gone() -> None:
    found = look(ScriptedEngine(on_get=cannot_see), ["a", "b"])
    assert isinstance(found, EngineBlind)
    assert "another host" in found.detail


def test_absence_counts_for_nothing_while_one_of_them_could_not_be_asked_for() -> None:
    found = look(ScriptedEngine(phases={"a": Phase.RUNNING}, on_get=cannot_see), ["a", "b"])
    assert isinstance(found, EngineSeen)
    assert set(found.workloads) == {"a"}
    assert not found.complete
    assert found.not_found == ()


@pytest.mark.parametrize("missing", [1, SECOND_SOURCE, SECOND_SOURCE + 1])
def test_only_what_was_asked_for_by_its_id_may_be_called_gone(missing: int) -> None:
    engine = ScriptedEngine(phases={"a": Phase.RUNNING})
    found = look(engine, ["a", *(f"m{number}" for number in range(missing))])
    assert isinstance(found, EngineSeen)
    assert len(found.not_found) == len(engine.gets) == min(missing, SECOND_SOURCE)
    assert found.complete is (missing <= SECOND_SOURCE)
