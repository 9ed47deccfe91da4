"""The Primus-SaFE engine: PyTorchJobs of one pod each, found again by what stands in their environment."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio

from gate.contracts import Capabilities, Listing, LogChunk, Phase, Scope, Workload, WorkloadRequest
from gate.documents import Json
from gate.engines.safe.about import About, about
from gate.engines.safe.body import secret_body, secret_id, workload_body
from gate.engines.safe.ending import TERMINAL
from gate.engines.safe.http import Api
from gate.engines.safe.limits import CAPABILITIES, LONGEST_NAME, NAME
from gate.engines.safe.listing import REQUESTS, listed
from gate.engines.safe.logs import chunk, read_log
from gate.engines.safe.parameters import Parameters
from gate.engines.safe.record import Record, fields, record, text
from gate.engines.safe.view import Ends, alive, ended
from gate.errors import CreateUnclear, EngineError, EngineRefused, WorkloadNotFound

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,126}")


@dataclass(frozen=True, slots=True)
class Created:
    """What this process created, for as long as lists and gets may not show it."""

    name: str
    about: About
    at: float

    def workload(self, id_: str) -> Workload:
        """As long as nothing else is known of it."""
        said = self.about
        return Workload(id_, self.name, said.tag, said.run, said.ref, Phase.PENDING, message="created, not shown yet")


class SafeEngine:
    """The engine contract over the API of one workspace."""

    def __init__(self, asked: Parameters, api: Api) -> None:
        self._asked = asked
        self._api = api
        self._ends = Ends()
        self._created: dict[str, Created] = {}
        self._removed: set[str] = set()
        """Secrets that are gone."""
        self._logs: dict[str, bytes] = {}
        """Of what has ended: they grow no more."""

    @property
    def kind(self) -> str:
        return "safe"

    @property
    def capabilities(self) -> Capabilities:
        return replace(CAPABILITIES, list_lag=self._asked.list_lag)

    async def create(self, request: WorkloadRequest) -> str:
        if len(request.name) > LONGEST_NAME or not re.fullmatch(NAME, request.name):
            raise EngineRefused(f"{request.name!r} is no name for a PyTorchJob: at most {LONGEST_NAME} of a-z, 0-9, -")
        await self._refuse_duplicate(request)
        made = {name: value for name, value in request.secrets.items() if name not in self._asked.secrets}
        said = about(request, secret_id(request) if made else "")
        mounted = {name: self._asked.secrets.get(name, said.secret) for name in request.secrets}
        body = workload_body(request, self._asked, said, mounted)
        try:
            if made:
                await self._make_secret(said, made)
            answer = await self._api.create("/workloads", body)
        except CreateUnclear:
            raise
        except EngineError:
            await self._remove_secret(said.secret)  # nothing was created that could want it
            raise
        id_ = text(fields(answer), "workloadId")
        if not _ID.fullmatch(id_):
            raise CreateUnclear(f"{request.name}: the answer to its create names no workload: {str(answer)[:200]}")
        self._created[id_] = Created(request.name, said, anyio.current_time())
        return id_

    async def list(self, scope: Scope) -> Listing:
        found = await listed(self._api, self._asked.workspace, scope)
        records = await self._with_about(found.records)
        ours = [one for one in records if one.about is not None and one.about.within(scope)]
        for one in ours:
            self._ends.note(one)
        await self._read_ends(ours, scope, max(1, REQUESTS - found.requests))
        shown = [self._shown(one, scope) for one in ours]
        known = {one.id for one in records}
        shown += [
            each.workload(id_) for id_, each in self._unseen().items() if id_ not in known and each.about.within(scope)
        ]
        hidden = any(one.about is None for one in records)
        return Listing(tuple(shown), found.complete and not hidden)

    async def get(self, workload_id: str) -> Workload:
        detail = await self._detail(workload_id)
        found = self._created[workload_id] if detail is None else None
        if detail is None:
            assert found is not None
            return found.workload(workload_id)
        one = record(detail)
        tag = _tag(one)
        self._ends.note(one)
        if one.phase not in TERMINAL:
            return alive(one, tag)
        end = self._ends.of(one) or self._ends.read(one, detail, time.time())
        if end is None:
            return alive(one, tag, "ended; how is not told yet")
        if one.about is not None:
            await self._remove_secret(one.about.secret)
        return ended(one, tag, end)

    async def stop(self, workload_id: str) -> None:
        if _ID.fullmatch(workload_id):
            await self._api.repeatable("POST", f"/workloads/{workload_id}/stop")

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        if (kept := self._logs.get(workload_id)) is not None:
            return chunk(kept, offset, limit, over=True)
        detail = await self._detail(workload_id)
        if detail is None:
            return LogChunk(b"", 0, ended=False)
        over = text(detail, "phase") in TERMINAL
        whole = (await read_log(self._api, detail, over=over)).encode()
        if over:
            self._logs = {workload_id: whole}
        return chunk(whole, offset, limit, over=over)

    async def aclose(self) -> None:
        await self._api.aclose()

    # --- create --------------------------------------------------------------------------------------

    async def _refuse_duplicate(self, request: WorkloadRequest) -> None:
        """The server takes the same name twice, and a second POST is a second workload."""
        scope = Scope(request.repository, request.gate, tag=request.tag)
        found = await listed(self._api, self._asked.workspace, scope, request.name)
        live = [one.id for one in found.records if one.name == request.name and one.phase not in TERMINAL]
        known = {one.id for one in found.records}
        live += [id_ for id_, each in self._unseen().items() if each.name == request.name and id_ not in known]
        if live:
            raise EngineRefused(f"{request.name}: it lives already, as {live[0]}")

    async def _make_secret(self, said: About, values: dict[str, str]) -> None:
        body = secret_body(said.secret, values, said, self._asked.workspace)
        try:
            await self._api.create("/secrets", body)
        except CreateUnclear as error:
            # No workload asks for it yet, so it is simply removed: the create as a whole came to nothing.
            await self._remove_secret(said.secret)
            raise EngineRefused(f"its secret could not be stored: {error.message}") from error
        except EngineRefused as error:
            raise EngineRefused(f"its secret could not be stored: {error.message}", hint=error.hint) from error

    async def _remove_secret(self, id_: str) -> None:
        """Best-effort: it is tried again whenever somebody looks at how its workload ended."""
        if not id_ or id_ in self._removed:
            return
        try:
            await self._api.repeatable("DELETE", f"/secrets/{id_}")
        except WorkloadNotFound:
            self._removed.add(id_)
        except EngineError:
            return
        else:
            self._removed.add(id_)

    # --- reading -------------------------------------------------------------------------------------

    async def _detail(self, workload_id: str) -> dict[str, Json] | None:
        """The single answer; None for one that this process created and the server does not show yet."""
        if not _ID.fullmatch(workload_id):
            raise WorkloadNotFound(f"{workload_id!r} is not the id of a SaFE workload")
        try:
            return fields(await self._api.read(f"/workloads/{workload_id}"))
        except WorkloadNotFound:
            if workload_id in self._unseen():
                return None
            raise

    def _unseen(self) -> dict[str, Created]:
        """What was created so lately that it may not be shown yet."""
        now = anyio.current_time()
        self._created = {id_: one for id_, one in self._created.items() if now - one.at < self._asked.list_lag}
        return self._created

    async def _with_about(self, records: tuple[Record, ...]) -> tuple[Record, ...]:
        """A description that somebody edited says nothing more, but the environment does."""
        found: list[Record] = []
        for one in records:
            if one.about is not None:
                found.append(one)
                continue
            try:
                found.append(record(await self._api.read(f"/workloads/{one.id}")))
            except WorkloadNotFound:
                continue
        return tuple(found)

    async def _read_ends(self, records: Sequence[Record], scope: Scope, requests: int) -> None:
        """How the latest of those ended that nobody has asked about, at most so many requests' worth."""
        unread = [one for one in records if one.phase in TERMINAL and not self._done_with(one)]
        async with anyio.create_task_group() as tasks:
            for one in reversed(unread):
                requests -= 1 + bool(one.about and one.about.secret)
                if requests < 0:
                    break
                tasks.start_soon(self._read_end, one)

    def _done_with(self, one: Record) -> bool:
        secret = one.about.secret if one.about else ""
        return self._ends.of(one) is not None and (not secret or secret in self._removed)

    async def _read_end(self, one: Record) -> None:
        try:
            await self.get(one.id)
        except EngineError:
            return  # it stays unread, is shown as that, and is asked for again in the next round

    def _shown(self, one: Record, scope: Scope) -> Workload:
        if one.phase not in TERMINAL:
            return alive(one, _tag(one))
        end = self._ends.of(one)
        if end is None and (scope.tag is not None or one.id in self._ends.alive):
            return alive(one, _tag(one), "ended; how is read next")
        return ended(one, _tag(one), end)


def _tag(one: Record) -> str:
    return one.about.tag if one.about is not None else ""
