"""Why a workload ended, from its conditions and pods: the phase alone tells a time-out from nothing."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from gate.bootstrap import exits
from gate.contracts import EndReason, Phase
from gate.documents import Json
from gate.engines.safe.record import fields, number, rows, text

TERMINAL = ("Succeeded", "Failed", "Stopped")
_KILLED = 137
_SHOWN = 300
_SIGNS: tuple[tuple[EndReason, re.Pattern[str]], ...] = (
    ("out_of_memory", re.compile(r"OOM|out of memory", re.IGNORECASE)),
    ("image_unavailable", re.compile(r"ErrImage|ImagePullBackOff|InvalidImageName|pull(ing)? image", re.IGNORECASE)),
    (
        "node_lost",
        re.compile(r"NodeLost|NodeShutdown|node is not ready|node (was|is) lost|Terminated.*node", re.IGNORECASE),
    ),
    ("evicted", re.compile(r"Evict|low on resource", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class Ending:
    """How it ended. `certain` False: its exit code may still come, pods and phases are written by different hands."""

    phase: Phase
    reason: EndReason
    exit_code: int | None
    message: str
    certain: bool = True


SUCCEEDED = Ending(Phase.SUCCEEDED, "exit", 0, "")


def ending(detail: dict[str, Json]) -> Ending:
    """Of a workload whose phase is terminal."""
    match text(detail, "phase"):
        case "Succeeded":
            return SUCCEEDED
        case "Stopped":
            return _stopped(detail)
        case _:
            return _failed(detail)


def _stopped(detail: dict[str, Json]) -> Ending:
    said = _last(detail, "AdminStopped")
    if said is None:
        return Ending(Phase.STOPPED, "lost", None, "its Kubernetes job was deleted behind SaFE's back")
    if "timed out" in said:
        return Ending(Phase.FAILED, "timeout", None, said)
    return Ending(Phase.STOPPED, "stopped", None, said)


def _failed(detail: dict[str, Json]) -> Ending:
    code, words = _container(detail)
    refused, failed = _last(detail, "AdminFailed"), _last(detail, "K8sFailed")
    if code == exits.TIMED_OUT:
        return Ending(Phase.FAILED, "timeout", code, "ended by its supervisor")
    if code == exits.STOPPED:
        return Ending(Phase.STOPPED, "stopped", code, "ended by its supervisor")
    if code is None and failed is None and refused is not None:
        return Ending(Phase.FAILED, _sign(refused) or "unschedulable", None, refused[:_SHOWN])
    everything = " ".join([*words, failed or ""])
    reason = _sign(everything) if code in (None, _KILLED) else None
    message = "; ".join(words)[:_SHOWN] or ((failed or "")[:_SHOWN] if reason or code is None else "")
    return Ending(Phase.FAILED, reason or "exit", code, message, certain=code is not None or reason is not None)


def _sign(words: str) -> EndReason | None:
    return next((reason for reason, pattern in _SIGNS if pattern.search(words)), None)


def _container(detail: dict[str, Json]) -> tuple[int | None, list[str]]:
    """Exit code of the main container, from its pod or else from the condition, and what is said beside it."""
    words: list[str] = []
    code: int | None = None
    for pod in rows(detail.get("pods")):
        words += [text(pod, "failedMessage")]
        for container in rows(pod.get("containers")):
            words += [text(container, "message")]
            code = number(container, "exitCode") if code is None else code
    if code is None:
        for told in _details(_last(detail, "K8sFailed") or ""):
            container = fields(told.get("container"))
            if isinstance(container.get("exitCode"), int):
                return number(container, "exitCode"), [*words, text(container, "message"), text(told, "message")]
    return code, [one for one in words if one]


def _details(message: str) -> list[dict[str, Json]]:
    _, mark, found = message.partition(", details: ")
    try:
        return rows(json.loads(found)) if mark else []
    except ValueError:
        return []


def _last(detail: dict[str, Json], kind: str) -> str | None:
    found = [text(one, "message") for one in rows(detail.get("conditions")) if one.get("type") == kind]
    return found[-1] if found else None
