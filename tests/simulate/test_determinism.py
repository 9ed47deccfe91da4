"""The same plan, scenario and seed give the same play: in this process, in another one, whatever strings hash to."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import pytest
import trio
import trio._core._run as scheduler
from trio.testing import MockClock

from gate.simulate import determinism
from gate.simulate.determinism import HOOKS, deterministic
from gate.simulate.dice import Dice
from gate.simulate.outcome import as_json
from gate.simulate.scenario import Fault, Rerun, Span
from tests.simulate.gates import CONFIG, fault, played

BUSY: tuple[Fault, ...] = (
    fault("turn_429", probability=0.3),
    fault("kill_poller", probability=0.02),
    fault("api_5xx", probability=0.2),
    fault("oom", probability=0.5),
    fault("state_torn", at=2000.0),
)


def test_trio_still_has_the_two_hooks_that_make_its_order_repeatable() -> None:
    """A release of trio that moves them would make simulations random: then this is what to mend."""
    assert isinstance(getattr(scheduler, HOOKS[0]), bool)
    assert isinstance(getattr(scheduler, HOOKS[1]), random.Random)
    assert determinism.MockClock is MockClock


def _order(seed: str) -> list[int]:
    found: list[int] = []

    async def task(number: int) -> None:
        for _ in range(3):
            await trio.sleep(1)
            found.append(number)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(task, number)

    with deterministic(seed):
        trio.run(main, clock=MockClock(autojump_threshold=0))
    return found


def test_the_order_of_tasks_follows_the_seed_and_is_given_back() -> None:
    before = [getattr(scheduler, name) for name in HOOKS]
    assert _order("a") == _order("a")
    assert _order("a") != _order("b")
    assert [getattr(scheduler, name) for name in HOOKS] == before


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_two_plays_are_one(seed: int) -> None:
    first, second = (played(*BUSY, seed=seed, neighbours=True, reruns=(Rerun(60.0),)) for _ in range(2))
    assert first == second
    assert json.dumps(as_json(first)) == json.dumps(as_json(second))


def test_other_seeds_give_other_plays() -> None:
    assert len({json.dumps(as_json(played(*BUSY, seed=seed))) for seed in range(5)}) == 5


def test_another_process_with_other_hashes_prints_the_same_bytes() -> None:
    words = [sys.executable, "-m", "gate", "simulate", str(CONFIG), "--json", "--seed", "5"]
    words += ["--fault", "turn_429:probability=0.5", "--fault", "kill_poller:probability=0.02"]
    outputs = set()
    for hashes in ("1", "2"):
        done = subprocess.run(words, env={**os.environ, "PYTHONHASHSEED": hashes}, capture_output=True, check=False)
        assert done.returncode in (0, 6), done.stderr.decode()
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_a_fault_left_out_changes_nothing_that_others_draw() -> None:
    """Else shrinking a scenario would look at another gate with each step."""
    dice = Dice(3)
    assert dice.span("leg/a/install", Span(1, 9)) == Dice(3).span("leg/a/install", Span(1, 9))
    both = played(fault("turn_early"), fault("task_late", seconds=60.0))
    one = played(fault("task_late", seconds=60.0))
    late = [[state.at for state in result.states if state.leg == "command"] for result in (both, one)]
    assert late[0] == late[1]
