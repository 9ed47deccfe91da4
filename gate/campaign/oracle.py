"""A second opinion on state files, written apart from the judge: what a PASS and a FAIL really take."""

from __future__ import annotations

import json
from typing import Literal

from gate.documents import Json
from gate.plan.model import Judge

Truth = Literal["pass", "fail", "not_finished", "unusable"]
"""What the bytes of a state file amount to. `unusable`: finished or not, nothing can be measured from it."""

_MISSING = object()


def truth(raw: bytes, judge: Judge) -> Truth:
    """What a careful person would say of these bytes."""
    try:
        body = json.loads(raw)
    except ValueError:
        return "unusable"
    if not isinstance(body, dict):
        return "unusable"
    wanted = [_compare(_find(body, key), value) for key, value in judge.finished.items()]
    if "other" in wanted:
        return "unusable"
    if not wanted or "no" in wanted:
        return "not_finished"
    return _criteria(body, judge)


def _criteria(body: dict[str, Json], judge: Judge) -> Truth:
    """Of a finished file: every accepted value and every limit."""
    failed = False
    for key, accepted in judge.passes.items():
        answers = [_compare(_find(body, key), value) for value in accepted]
        if "yes" in answers:
            continue
        if all(answer == "other" for answer in answers) or _find(body, key) in (_MISSING, None):
            return "unusable"
        failed = True
    for key, limit in judge.limits.items():
        value = _find(body, key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return "unusable"
        failed = (
            failed or not (limit.min is None or value >= limit.min) or not (limit.max is None or value <= limit.max)
        )
    return "fail" if failed else "pass"


def _find(body: Json, key: str) -> Json:
    for part in key.split("."):
        if not isinstance(body, dict) or part not in body:
            return _MISSING
        body = body[part]
    return body


def _compare(found: Json, wanted: Json) -> Literal["yes", "no", "other"]:
    if found is _MISSING or found is None:
        return "no"
    if _kind(found) != _kind(wanted):
        return "other"
    return "yes" if found == wanted else "no"


def _kind(value: Json) -> type:
    return float if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value)
