"""One workload as the API shows it, read defensively: lists and maps come as null, times without a zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from gate.documents import Json
from gate.engines.safe.about import ENV_ABOUT, About, parse
from gate.errors import EngineUnreachable


@dataclass(frozen=True, slots=True)
class Record:
    """What both a list's item and a single answer hold."""

    id: str
    name: str
    phase: str
    message: str
    position: int
    dispatches: int
    started: bool
    ended: float | None
    """Wall time of the server, None while it runs."""
    about: About | None


def record(body: Json) -> Record:
    """Raises EngineUnreachable where it is not one."""
    found = fields(body)
    id_, name, phase = found.get("workloadId"), found.get("displayName"), found.get("phase")
    if not isinstance(id_, str) or not isinstance(name, str) or not isinstance(phase, str):
        raise EngineUnreachable(f"a workload without id, name or phase: {str(body)[:200]}")
    return Record(
        id=id_,
        name=name,
        phase=phase,
        message=text(found, "message"),
        position=number(found, "queuePosition"),
        dispatches=number(found, "dispatchCount"),
        started=bool(text(found, "startTime")),
        ended=_wall(text(found, "endTime")),
        about=parse(found.get("description")) or parse(fields(found.get("env")).get(ENV_ABOUT)),
    )


def fields(body: Json) -> dict[str, Json]:
    """A mapping; empty where there is none."""
    return body if isinstance(body, dict) else {}


def rows(body: Json) -> list[dict[str, Json]]:
    """A list of mappings; empty where there is none."""
    return [one for one in body if isinstance(one, dict)] if isinstance(body, list) else []


def text(found: dict[str, Json], key: str) -> str:
    """Text; empty where there is none."""
    value = found.get(key)
    return value if isinstance(value, str) else ""


def number(found: dict[str, Json], key: str) -> int:
    """A whole number; 0 where there is none."""
    value = found.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _wall(stamp: str) -> float | None:
    try:
        return datetime.fromisoformat(stamp).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
