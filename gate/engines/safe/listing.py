"""One round of lists: every page, and the ends of what has ended since, within a bounded number of requests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import anyio

from gate.contracts import Scope
from gate.documents import Json
from gate.engines.safe.about import ENV_OF, ENV_TAG, owner
from gate.engines.safe.http import Api
from gate.engines.safe.record import Record, fields, number, record, rows
from gate.errors import EngineError, EngineUnreachable

PAGE = 200
REQUESTS = 11
"""Of one round, all told."""
REMEMBERED = timedelta(days=14)
"""Ended workloads stay in lists for good: of a whole gate only these are asked for, and whatever lives."""
LIVING = "Pending,Running,Updating,NotReady"


@dataclass(frozen=True, slots=True)
class Round:
    """`requests`: sent for it."""

    records: tuple[Record, ...]
    complete: bool
    requests: int


async def listed(api: Api, workspace: str, scope: Scope, name: str = "") -> Round:
    """All workloads that may be of `scope`; `name` narrows it to ids that hold it. Errors as of `Api.read`."""
    query: dict[str, str | int] = {"workspaceId": workspace, "sortBy": "creationTime", "order": "asc"}
    if name:
        query["workloadId"] = name
    if scope.tag is not None:
        return await _pages(api, query | {"envKey": ENV_TAG, "envValue": scope.tag})
    query |= {"envKey": ENV_OF, "envValue": owner(scope.repository, scope.gate)}
    since = (datetime.now(timezone.utc) - REMEMBERED).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    recent = await _pages(api, query | {"since": since})
    living = await _pages(api, query | {"phase": LIVING})
    both = {one.id: one for one in (*living.records, *recent.records)}
    return Round(tuple(both.values()), recent.complete and living.complete, recent.requests + living.requests)


async def _pages(api: Api, query: dict[str, str | int]) -> Round:
    """Oldest first, so that what is created meanwhile comes behind; what is deleted meanwhile shows in the count."""
    first, total = await _page(api, query, 0)
    offsets = range(PAGE, total, PAGE)
    more: dict[int, tuple[Sequence[Record], int]] = {}

    failed: list[EngineError] = []

    async def fetch(offset: int) -> None:
        try:
            more[offset] = await _page(api, query, offset)
        except EngineError as error:
            failed.append(error)

    async with anyio.create_task_group() as tasks:
        for offset in offsets:
            tasks.start_soon(fetch, offset)
    if failed:
        raise failed[0]
    found = {one.id: one for one in first}
    for offset in offsets:
        found |= {one.id: one for one in more[offset][0]}
    totals = {total, *(count for _, count in more.values())}
    return Round(tuple(found.values()), len(found) >= max(totals), 1 + math.ceil(len(offsets)))


async def _page(api: Api, query: dict[str, str | int], offset: int) -> tuple[list[Record], int]:
    body: Json = await api.read("/workloads", query | {"offset": offset, "limit": PAGE})
    found = fields(body)
    if not isinstance(found.get("items"), list) or not isinstance(found.get("totalCount"), int):
        raise EngineUnreachable(f"a list without items or totalCount: {str(body)[:200]}")
    return [record(one) for one in rows(found["items"])], number(found, "totalCount")
