"""`gate replay RUN`: fold the recorded observations again with today's rules, and show what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio
import typer

from gate.commands.options import CONFIG, Config, Json, Root
from gate.commands.telling import tell, tell_json
from gate.commands.where import Where, where
from gate.documents import Json as JsonValue
from gate.documents import encode
from gate.errors import EXIT_PASSED, EXIT_REMAINS, UsageError
from gate.machines.duration import spell
from gate.poll.replay import Compared, Given, Replay, replay_run
from gate.report.explain import deciding
from gate.report.text import clock
from gate.rundir.files import FileStore
from gate.rundir.formats import Decision
from gate.rundir.run import Run

Number = Annotated[
    int | None,
    typer.Option("--attempt", metavar="N", help="The attempt; default: every one that was polled."),
]


def command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run, or the path of a run directory.")],
    attempt: Number = None,
    config: Config = CONFIG,
    root: Root = None,
    json: Json = False,
) -> int:
    """Fold a run's recorded observations again with today's rules, and show every verdict that differs from the one
    that was written: exit 6 where something differs, else 0. Asks no engine and changes nothing."""
    directory = _directory(run)
    if directory is not None:
        return anyio.run(_replay, Run(FileStore(directory)), attempt, json)
    return anyio.run(_found, where(config, root), run, attempt, json)


async def _found(place: Where, run: str, number: int | None, json: bool) -> int:
    return await _replay((await place.find(run)).open(), number, json)


async def _replay(run: Run, number: int | None, json: bool) -> int:
    replays = await replay_run(run, number)
    agrees = all(each.agrees for each in replays)
    if json:
        tell_json({"agrees": agrees, "attempts": [replay_json(each) for each in replays]})
    else:
        for line in (line for each in replays for line in replay_lines(each)):
            tell(line)
        tell("Nothing differs." if agrees else f"{_differing(replays)} from what was recorded.")
    return EXIT_PASSED if agrees else EXIT_REMAINS


def _directory(text: str) -> Path | None:
    """The run directory at the path `text`; None where it is an id, which has no slash. Raises UsageError."""
    path = Path(text)
    if (path / "gate").is_dir():
        return path.absolute()
    if "/" not in text:
        return None
    raise UsageError(
        f"{text} is no run directory: there is no {path / 'gate'}",
        hint="Give a run's id, or the directory that holds its gate/ and legs/.",
    )


# --- for people --------------------------------------------------------------------------------------


def replay_lines(one: Replay) -> list[str]:
    """One attempt: a line for what agrees, both sides of what differs."""
    count = "1 observation" if one.observations == 1 else f"{one.observations} observations"
    lines = [f"run {one.run}, attempt {one.attempt} (tag {one.tag}): {count} of {spell(one.seconds)}"]
    width = max((len(leg.leg) for leg in one.legs), default=0)
    for leg in one.legs:
        lines += _leg(leg, width)
    return [*lines, *_decision(one), ""]


def _leg(leg: Compared, width: int) -> list[str]:
    name = leg.leg.ljust(width)
    if leg.differs:
        return [
            f"  ✘ {name}  differs: {', '.join(leg.differs)}",
            f"      recorded  {_given(leg.recorded)}",
            f"      replayed  {_given(leg.replayed)}",
        ]
    given = leg.recorded or leg.replayed
    if given is None:
        return [f"  · {name}  {leg.note}"]
    note = f"; {leg.note}" if leg.note else ""
    return [f"  ✔ {name}  {_word(given)}{note}"]


def _given(given: Given | None) -> str:
    if given is None:
        return "no verdict"
    rule = deciding(given.verdict.rules)
    by = "" if rule is None else f"; decided by {rule.name}: {rule.observed}"
    return f"{_word(given)}{by}"


def _word(given: Given) -> str:
    verdict = given.verdict
    word = f"{verdict.outcome.value} {verdict.reason.value}"
    if verdict.carried_from is not None:
        return f"{word}, carried from {verdict.carried_from}"
    where = "no recorded observation" if given.observation is None else f"observation {given.observation}"
    return f"{word} at {where} ({clock(verdict.elapsed)})"


def _decision(one: Replay) -> list[str]:
    recorded, replayed = one.recorded, one.replayed
    if one.decision_differs:
        return [
            f"  ✘ decision differs: {', '.join(one.decision_differs)}",
            f"      recorded  {_decided(recorded)}",
            f"      replayed  {_decided(replayed)}",
        ]
    if recorded is not None:
        return [f"  ✔ decision: {_decided(recorded)}"]
    return [f"  · {'undecided' if replayed is None else f'not written down yet: {_decided(replayed)}'}"]


def _decided(decision: Decision | None) -> str:
    if decision is None:
        return "undecided at the last observation"
    return f"{decision.word} (exit {decision.exit_code}) after {clock(decision.elapsed)}"


def _differing(replays: tuple[Replay, ...]) -> str:
    legs = [leg for each in replays for leg in each.legs]
    count = sum(bool(leg.differs) for leg in legs)
    if not count:
        return "The decision differs"
    return f"{count} of {len(legs)} verdicts differ{'s' if count == 1 else ''}"


# --- for programs ------------------------------------------------------------------------------------


def replay_json(one: Replay) -> JsonValue:
    """The same for programs."""
    return {
        "run": one.run,
        "attempt": one.attempt,
        "tag": one.tag,
        "observations": one.observations,
        "seconds": one.seconds,
        "agrees": one.agrees,
        "legs": [
            {
                "leg": leg.leg,
                "differs": list(leg.differs),
                "note": leg.note,
                "recorded": _given_json(leg.recorded),
                "replayed": _given_json(leg.replayed),
            }
            for leg in one.legs
        ],
        "decision": {
            "differs": list(one.decision_differs),
            "recorded": _decision_json(one.recorded),
            "replayed": _decision_json(one.replayed),
        },
    }


def _given_json(given: Given | None) -> JsonValue:
    if given is None:
        return None
    verdict = given.verdict
    return {
        "outcome": verdict.outcome.value,
        "reason": verdict.reason.value,
        "sentence": verdict.sentence,
        "observation": given.observation,
        "elapsed": verdict.elapsed,
        "carried_from": verdict.carried_from,
        "decided_by": encode(deciding(verdict.rules)),
    }


def _decision_json(decision: Decision | None) -> JsonValue:
    if decision is None:
        return None
    return {"word": decision.word, "exit_code": decision.exit_code, "elapsed": decision.elapsed}
