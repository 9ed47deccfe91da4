"""What a simulated run of the product writes: state files that fit the leg's own judge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from gate.documents import Json
from gate.machines.judge import kind_of
from gate.machines.verdict import Scalar
from gate.plan.model import Judge, Limit
from gate.rundir.statefile import counts
from gate.simulate.scenario import Result


class Content:
    """State files for one judge. Deterministic; `bytes_` of the same arguments are the same."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def progress(self, step: int, of: int) -> bytes:
        """The run is at `step` of `of`, and not finished."""
        values = {key: _another(value) for key, value in self._judge.finished.items()}
        shown = (key for key in self._judge.show if key not in self._judge.passes and key not in values)
        return _dump({**dict.fromkeys(shown, round(1 + step / (of + 1), 3)), **values, "step": step})

    def final(self, result: Result, *, wrong_types: bool = False) -> bytes:
        """The run's last word."""
        judge = self._judge
        if result == "never":
            return self.progress(1, 1)
        values: dict[str, Json] = dict.fromkeys(judge.show, 1.25)
        values |= {key: _within(limit) for key, limit in judge.limits.items()}
        values |= {key: accepted[0] for key, accepted in judge.passes.items()}
        self._spoil(values, result, wrong_types=wrong_types)
        return _dump({**values, **judge.finished})

    def _spoil(self, values: dict[str, Json], result: Result, *, wrong_types: bool) -> None:
        judge = self._judge
        judged = (*judge.passes, *judge.limits)
        if wrong_types and judged:
            values[judged[0]] = {"is": "an object"}
        elif result == "missing" and judged:
            del values[judged[0]]
        elif result == "over_limit" and (key := next(_breakable(judge.limits.items()), None)) is not None:
            values[key] = _outside(judge.limits[key])
        elif result in ("fail", "over_limit") and judge.passes:
            key = next(iter(judge.passes))
            values[key] = _not_among(judge.passes[key])
        elif result == "fail" and (key := next(_breakable(judge.limits.items()), None)) is not None:
            values[key] = _outside(judge.limits[key])

    def can_fail(self) -> bool:
        """Is there a finished state file that this judge does not accept?"""
        return bool(self._judge.passes) or any(True for _ in _breakable(self._judge.limits.items()))


def place(globs: Iterable[str]) -> str:
    """A path that counts as a state file: `session/run/state.json` for `session/**/state.json`."""
    every = tuple(globs)
    for glob in every:
        for filler in ("run/", "run/a/", ""):
            rel = glob.replace("**/", filler).replace("**", "run/state").replace("*", "run").replace("?", "r")
            if counts(rel, every):
                return rel
    return "session/run/state.json"


def _breakable(limits: Iterable[tuple[str, Limit]]) -> Iterator[str]:
    return (key for key, limit in limits if limit.min is not None or limit.max is not None)


def _within(limit: Limit) -> float | int:
    if limit.min is not None:
        return _whole(limit.min)
    return _whole(limit.max) if limit.max is not None else 0


def _outside(limit: Limit) -> float | int:
    if limit.max is not None:
        return _whole(limit.max + 1)
    assert limit.min is not None
    return _whole(limit.min - 1)


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _another(value: Scalar) -> Scalar:
    """A value of the same kind that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value - 1
    return "running" if value != "running" else "starting"


def _not_among(accepted: tuple[Scalar, ...]) -> Scalar:
    first = accepted[0]
    if isinstance(first, bool):
        return "neither" if {True, False} <= set(accepted) else not first
    if kind_of(first) in ("a number", "number") and isinstance(first, (int, float)):
        return max(v for v in accepted if isinstance(v, (int, float)) and not isinstance(v, bool)) + 1
    return "gave_up" if "gave_up" not in accepted else "gave_up_too"


def _dump(values: dict[str, Json]) -> bytes:
    """Dotted keys as nested objects, where that is possible."""
    body: dict[str, Json] = {}
    for key, value in values.items():
        at, parts = body, key.split(".")
        for part in parts[:-1]:
            inner = at.setdefault(part, {})
            if not isinstance(inner, dict):
                inner = at[part] = {}
            at = inner
        at[parts[-1]] = value
    return json.dumps(body, separators=(",", ":")).encode()
