"""The engine of bench/server.py behind the product's contract: one list call over one kept connection."""

from __future__ import annotations

import httpx

from gate.contracts import Capabilities, Listing, LogChunk, Phase, Scope, Workload, WorkloadRequest
from gate.errors import EngineRefused, EngineUnreachable, WorkloadNotFound

CAPABILITIES = Capabilities(
    list_lag=0,
    max_name=63,
    name_pattern=".+",
    privileged=False,
    shared=True,
    images=False,
    timeouts=False,
    logs_after_end=False,
    shell=False,
    queue_position=False,
    gpus=False,
    protects_gate=False,
)


class HttpEngine:
    """Reads bench/server.py. It creates and stops nothing: the server's workloads are always there."""

    kind = "bench"
    capabilities = CAPABILITIES

    def __init__(self, url: str, run: str, tag: str) -> None:
        self._client = httpx.AsyncClient(base_url=url)
        self._run = run
        self._tag = tag

    async def create(self, request: WorkloadRequest) -> str:
        """Nothing is created here."""
        raise EngineRefused(f"{request.name}: this engine only shows what its server was started with")

    async def list(self, scope: Scope) -> Listing:
        """Everything in one call."""
        try:
            answer = await self._client.get("/workloads")
            answer.raise_for_status()
        except httpx.HTTPError as error:
            raise EngineUnreachable(f"GET /workloads: {error}") from error
        return Listing(tuple(self._workload(item) for item in answer.json()["items"]), complete=True)

    async def get(self, workload_id: str) -> Workload:
        """One of them."""
        for workload in (await self.list(Scope("", ""))).workloads:
            if workload.id == workload_id:
                return workload
        raise WorkloadNotFound(workload_id)

    async def stop(self, workload_id: str) -> None:
        """Nothing runs that could be stopped."""

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        """There are none."""
        return LogChunk(b"", offset, ended=True)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    def _workload(self, item: dict[str, str]) -> Workload:
        return Workload(
            id=item["id"], name=item["name"], tag=self._tag, run=self._run, ref="main", phase=Phase(item["phase"])
        )
