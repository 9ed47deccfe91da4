"""The accounts of observed time, and outages of the engine and of the shared root."""

from __future__ import annotations

from dataclasses import replace

from gate.machines.clock import Now
from gate.machines.duration import spell
from gate.machines.gate_state import Ages, GateState, Moment, Outage, Watch
from gate.machines.observations import Action, EngineBlind, Resumed, RootBlind, Say

TOLD = 2
"""Failed polls in a row before people are told: a single one decides nothing and is no news."""


def advance(watch: Watch, now: Now, *, root: bool, engine: bool, interval: float) -> Watch:
    """The accounts after a reading at which `root` and `engine` could or could not be seen.

    Time between two looks that both saw counts in full. The first look after blind time stands for one poll interval
    at most, on `looks` alone: a gate polled from cron comes to an end, and blind time is never charged as silence.
    """
    passed = max(0.0, now.mono - watch.last.mono)
    looked = (passed if watch.root else min(passed, interval)) if root else 0.0
    clear = root and engine and watch.root and watch.engine
    return Watch(
        last=now,
        root=root,
        engine=engine,
        looks=watch.looks + looked,
        clear=watch.clear + (passed if clear else 0.0),
        looked=now if root else watch.looked,
        listed=now if engine else watch.listed,
    )


def resumed(state: GateState, again: Resumed, actions: list[Action]) -> GateState:
    """The poller was down. The next look is the first after blind time, measured from the last one before it."""
    text = f"watching again after {spell(again.gap)} unseen"
    actions.append(Say("resumed_watch", None, text, {"gap": again.gap}))
    rules = state.rules
    if again.interval is not None:
        rules = replace(rules, poll=replace(rules.poll, interval=again.interval))
    if again.fail_fast is not None:
        rules = replace(rules, fail_fast=again.fail_fast)
    # A loss that was announced, and did not decide, does so where the poller that goes on is told to fail fast.
    lost = state.lost and not (rules.fail_fast and not state.rules.fail_fast)
    return replace(state, rules=rules, lost=lost, watch=replace(state.watch, root=False, engine=False))


def moment_of(state: GateState, now: Now, *, seen: bool) -> Moment:
    """The moment for the reducers of this observation."""
    watch = state.watch
    return Moment(now, watch.looks, watch.clear, seen, state.outage, state.rules, ages_of(watch, now))


def ages_of(watch: Watch, now: Now) -> Ages:
    """How old at `now` what was read last is: on this process's own clock, never by a time that a file carries."""

    def since(read: Now | None) -> float | None:
        return None if read is None else max(0.0, now.mono - read.mono)

    return Ages(since(watch.looked), since(watch.listed))


def blind_tick(state: GateState, engine: EngineBlind, now: Now, actions: list[Action]) -> GateState:
    """No query of this poll was answered."""
    before = state.outage
    if before is None:
        return replace(state, outage=Outage(state.watch.looks, now.boot, 1, engine.kind, engine.detail))
    outage = replace(before, ticks=before.ticks + 1, kind=engine.kind, detail=engine.detail)
    if outage.ticks == TOLD:
        budget = spell(state.rules.poll.outage)
        detail = f": {engine.detail}" if engine.detail else ""
        text = f"the engine cannot be seen{detail}; legs that stand still for {budget} meanwhile will be errors"
        actions.append(Say("blind", None, text, {"kind": engine.kind, "detail": engine.detail}))
    return replace(state, outage=outage)


def seen_tick(state: GateState, now: Now, actions: list[Action]) -> GateState:
    """The engine answered; an outage is over with the first answer."""
    outage = state.outage
    if outage is None:
        return state
    if outage.ticks >= TOLD:
        gap = now.boot - outage.boot
        text = f"the engine can be seen again after {spell(gap)} ({outage.ticks} polls)"
        actions.append(Say("seen_again", None, text, {"gap": gap, "polls": outage.ticks}))
    return replace(state, outage=None)


def root_tick(state: GateState, blind: RootBlind | None, now: Now, actions: list[Action]) -> GateState:
    """Whether the shared root could be seen in this poll."""
    since = state.root_blind_boot
    if blind is not None and since is None:
        detail = f": {blind.detail}" if blind.detail else ""
        text = f"the shared root does not answer{detail}; nothing is decided until it does"
        actions.append(Say("root_blind", None, text, {"detail": blind.detail}))
        return replace(state, root_blind_boot=now.boot)
    if blind is None and since is not None:
        gap = now.boot - since
        actions.append(Say("root_seen_again", None, f"the shared root answers again after {spell(gap)}", {"gap": gap}))
        return replace(state, root_blind_boot=None)
    return state
