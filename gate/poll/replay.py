"""A recorded attempt folded again with today's rules, beside the verdicts that were written. Writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from gate.errors import UsageError
from gate.machines import gate
from gate.machines.gate_state import GateState
from gate.machines.observations import Observation, VerdictsFound, WriteVerdict
from gate.machines.verdict import Evidence, Verdict
from gate.poll import journal
from gate.poll.journal import Codec
from gate.poll.timeline import Instant
from gate.rundir.formats import Decision
from gate.rundir.run import Run

OBSERVATIONS = "gate/observations"

Moment = tuple[float, float]
"""`elapsed` and `at` of a verdict: exactly those of one observation."""


@dataclass(frozen=True, slots=True)
class Given:
    """One verdict, and the number of the observation at which it came; None: of none in the journal."""

    verdict: Verdict
    observation: int | None


@dataclass(frozen=True, slots=True)
class Compared:
    """One leg. `differs` says in what; empty where both agree, or where nothing can be compared, which `note` says."""

    leg: str
    recorded: Given | None
    replayed: Given | None
    differs: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """One attempt, replayed."""

    run: str
    attempt: int
    tag: str
    observations: int
    seconds: float
    """From the first poll to the last observation."""
    legs: tuple[Compared, ...]
    recorded: Decision | None
    replayed: Decision | None
    decision_differs: tuple[str, ...]
    state: GateState
    """Where the fold ended."""

    @property
    def agrees(self) -> bool:
        """Nothing differs."""
        return not self.decision_differs and not any(leg.differs for leg in self.legs)


async def replay_run(run: Run, number: int | None = None) -> tuple[Replay, ...]:
    """Every attempt of `run` that was polled, oldest first, or attempt `number` alone.

    Raises UsageError where there is nothing to replay, DocumentError for a journal or verdict that is damaged or of a
    newer version, StoreError.
    """
    found: list[Replay] = []
    for key in await run.store.list(OBSERVATIONS):
        raw = await run.store.read(key) if key.endswith(".jsonl") else None
        opened = journal.read(raw, key) if raw is not None else None
        if opened is None:
            continue  # its first line is not whole: the poller died before anything was observed
        codec, past = opened
        rules = codec.header.rules
        if number in (None, rules.attempt):
            found.append(replay(codec, past, await run.verdicts(rules.tag), await run.decision(rules.tag)))
    if not found:
        raise await _nothing(run, number)
    return tuple(sorted(found, key=lambda one: one.attempt))


def replay(
    codec: Codec,
    past: Iterable[tuple[Instant, Observation]],
    recorded: Mapping[str, Verdict],
    decision: Decision | None,
) -> Replay:
    """Fold the observations of one journal (as `journal.read` gives it) and compare. Raises DocumentError."""
    rules = codec.header.rules
    fold = _fold(codec, past, {moment_of(verdict) for verdict in recorded.values()})
    ids = dict.fromkeys((*(leg.id for leg in rules.legs), *recorded))
    return Replay(
        run=rules.run,
        attempt=rules.attempt,
        tag=rules.tag,
        observations=fold.count,
        seconds=codec.last.boot / 1000,
        legs=tuple(_leg(fold, leg, recorded.get(leg), decided=decision is not None) for leg in ids),
        recorded=decision,
        replayed=fold.state.decision,
        decision_differs=_decisions(decision, fold.state.decision),
        state=fold.state,
    )


def moment_of(verdict: Verdict) -> Moment:
    """When it came, as the observation that led to it has it."""
    return verdict.elapsed, verdict.at


@dataclass(slots=True)
class _Fold:
    state: GateState
    count: int = 0
    last: int = 0
    written: dict[str, Given] = field(default_factory=dict)
    found: dict[str, Given] = field(default_factory=dict)
    """Verdicts that stood on disk when a poller looked, and how they are known to the journal."""
    moments: dict[Moment, list[int]] = field(default_factory=dict)


def _fold(codec: Codec, past: Iterable[tuple[Instant, Observation]], wanted: Collection[Moment]) -> _Fold:
    fold = _Fold(gate.start(codec.header.rules, Instant(0, 0, codec.header.wall).now()))
    for at, observation in past:
        now, number = at.now(), codec.number
        fold.count, fold.last = fold.count + 1, number
        if (now.boot, now.wall) in wanted:
            fold.moments.setdefault((now.boot, now.wall), []).append(number)
        if isinstance(observation, VerdictsFound):
            fold.found.update({verdict.leg: Given(verdict, number) for verdict in observation.verdicts})
        fold.state, actions = gate.step(fold.state, observation, now)
        for action in actions:
            if isinstance(action, WriteVerdict):
                fold.written[action.verdict.leg] = Given(action.verdict, number)
    return fold


def _leg(fold: _Fold, leg: str, on_disk: Verdict | None, *, decided: bool) -> Compared:
    replayed, found = fold.written.get(leg), fold.found.get(leg)
    verdict = on_disk if on_disk is not None or found is None else found.verdict
    recorded = None if verdict is None else Given(verdict, _number(fold, verdict, replayed))
    if recorded is None:
        if replayed is None:
            return Compared(leg, None, None, (), "not judged")
        if not decided and replayed.observation == fold.last:
            return Compared(leg, None, replayed, (), "not written down yet")
        return Compared(leg, None, replayed, ("judged",))
    if replayed is None and found is not None and recorded.observation is None:
        note = f"found on disk at observation {found.observation}: what it rests on was not recorded"
        return Compared(leg, recorded, None, (), note)
    if replayed is None:
        return Compared(leg, recorded, None, ("judged",))
    differs = _verdicts(recorded.verdict, replayed.verdict)
    worded = not differs and _words(recorded.verdict) != _words(replayed.verdict)
    return Compared(leg, recorded, replayed, differs, "in other words" if worded else "")


def _number(fold: _Fold, verdict: Verdict, replayed: Given | None) -> int | None:
    """Of several observations in the same millisecond, that of the replay."""
    numbers = fold.moments.get(moment_of(verdict), [])
    if replayed is not None and replayed.observation in numbers:
        return replayed.observation
    return numbers[0] if numbers else None


def _verdicts(recorded: Verdict, replayed: Verdict) -> tuple[str, ...]:
    pairs = {
        "outcome": (recorded.outcome, replayed.outcome),
        "reason": (recorded.reason, replayed.reason),
        "blocking": (recorded.blocking, replayed.blocking),
        "flaky": (recorded.flaky, replayed.flaky),
        "carried": (recorded.carried_from, replayed.carried_from),
        "evidence": (_snapshot(recorded.evidence), _snapshot(replayed.evidence)),
        "moment": (moment_of(recorded), moment_of(replayed)),
    }
    return tuple(name for name, (one, other) in pairs.items() if one != other)


def _snapshot(evidence: Evidence | None) -> object:
    """What evidence is, apart from its words."""
    if evidence is None:
        return None
    state = replace(evidence.state, detail="")
    return state, evidence.tag, evidence.incarnation, evidence.sequence


def _words(verdict: Verdict) -> object:
    return verdict.sentence, verdict.rules, verdict.evidence


def _decisions(recorded: Decision | None, replayed: Decision | None) -> tuple[str, ...]:
    if recorded is None:
        return ()  # undecided, or not written down yet: the legs say what differs
    if replayed is None:
        return ("decided",)
    pairs = {
        "word": (recorded.word, replayed.word),
        "exit code": (recorded.exit_code, replayed.exit_code),
        "legs": (recorded.legs, replayed.legs),
        "moment": ((recorded.elapsed, recorded.at), (replayed.elapsed, replayed.at)),
    }
    return tuple(name for name, (one, other) in pairs.items() if one != other)


async def _nothing(run: Run, number: int | None) -> UsageError:
    numbers = await run.attempt_numbers()
    if number is not None and numbers and number not in numbers:
        return UsageError(
            f"--attempt {number}: the run has no such attempt", hint=f"There are: {', '.join(map(str, numbers))}."
        )
    which = f"attempt {number} of the run" if number is not None else "the run"
    return UsageError(
        f"{which} has no observations to replay: nobody has polled it yet (no journal below {OBSERVATIONS}/)",
        hint="`gate poll` records them.",
    )
