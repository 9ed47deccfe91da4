"""A workload's log: of the pod while it is there, of the log store afterwards, as one text with stable offsets."""

from __future__ import annotations

from gate.contracts import LogChunk
from gate.documents import Json
from gate.engines.safe.http import Api
from gate.engines.safe.record import fields, number, rows, text
from gate.errors import EngineError, EngineRefused, EngineUnreachable, WorkloadNotFound

LINES = 10_000
"""Of one answer; the log store gives no more at once."""
MOST = 20 * LINES


async def read_log(api: Api, detail: dict[str, Json], *, over: bool) -> str:
    """All of it. `over`: the workload has ended. Errors as of `Api.read`; nothing is lost silently."""
    try:
        return "\n".join(await _pod(api, detail)) + ("\n" if over else "")
    except (WorkloadNotFound, EngineRefused) as gone:
        if not over:
            return ""
        return await _stored(api, text(detail, "workloadId"), gone)


def chunk(whole: bytes, offset: int, limit: int, *, over: bool) -> LogChunk:
    """At most `limit` bytes of `whole` from `offset` (negative: from the end)."""
    start = max(0, len(whole) + offset) if offset < 0 else min(offset, len(whole))
    data = whole[start : start + limit]
    return LogChunk(data, start + len(data), over and start + len(data) >= len(whole))


async def _pod(api: Api, detail: dict[str, Json]) -> list[str]:
    """Of the latest pod. Lines are joined without a last line end: the last one may still grow."""
    pods = [text(pod, "podId") for pod in rows(detail.get("pods"))]
    if not pods or not pods[-1]:
        raise WorkloadNotFound(f"{text(detail, 'workloadId')}: it has no pod")
    answer = await api.read(f"/workloads/{text(detail, 'workloadId')}/pods/{pods[-1]}/logs", {"tailLines": MOST})
    lines = fields(answer).get("logs")
    return [str(line) for line in lines] if isinstance(lines, list) else []


async def _stored(api: Api, workload_id: str, gone: EngineError) -> str:
    found: list[str] = []
    while len(found) < MOST:
        body: Json = {"offset": len(found), "limit": LINES, "order": "asc"}
        try:
            answer = fields(await api.ask(f"/workloads/{workload_id}/logs", body))
        except EngineUnreachable as error:
            raise EngineUnreachable(
                f"{workload_id}: its pod is gone ({gone.message}), and its stored log cannot be read: {error.message}",
                kind=error.kind,
            ) from error
        hits = fields(answer.get("hits"))
        lines = [text(fields(hit.get("_source")), "message") for hit in rows(hits.get("hits"))]
        found += [line.rstrip("\n") for line in lines]
        if not lines or len(found) >= number(fields(hits.get("total")), "value"):
            break
    return "\n".join(found) + "\n" if found else ""
