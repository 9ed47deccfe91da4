"""Requests to the API, and what each kind of answer means. The only module here that knows httpx.

Reads and stops are sent again within a bounded budget; a create never is.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping

import anyio
import httpx

from gate.documents import Json
from gate.engines.safe.answers import Said, error_of, said_by
from gate.engines.safe.parameters import Parameters
from gate.errors import (
    ConfigError,
    CreateUnclear,
    EngineRefused,
    EngineUnreachable,
    WorkloadNotFound,
)

TRIES = 3
BUDGET = 60.0
"""Seconds for all tries of one read."""
PAUSE = 0.5
"""Before the second try; doubled before each next one."""
CONNECT = 10.0
_BUSY = 409


class Api:
    """The API of one workspace's server."""

    def __init__(self, asked: Parameters, key: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._url = asked.url
        self._limit = anyio.Semaphore(asked.concurrency)
        limits = httpx.Limits(max_connections=asked.concurrency, max_keepalive_connections=asked.concurrency)
        self._client = httpx.AsyncClient(
            base_url=f"{asked.url}/api/v1",
            headers={
                "Authorization": f"Bearer {key}",
                "Accept": "application/json",
                "Content-Type": "application/json",
            },
            timeout=httpx.Timeout(asked.request_timeout, connect=min(CONNECT, asked.request_timeout), pool=None),
            limits=limits,
            verify=_verify(asked),
            transport=transport,
            trust_env=not asked.insecure,
        )
        self.requests = 0
        """Sent so far."""

    async def read(self, path: str, params: Mapping[str, str | int] | None = None) -> Json:
        """GET. Raises EngineUnreachable, EngineAuthError, EngineRefused, WorkloadNotFound."""
        return await self._again("GET", path, params, None)

    async def ask(self, path: str, body: Json) -> Json:
        """POST of a question: it changes nothing, and is sent again like any read."""
        return await self._again("POST", path, None, body)

    async def repeatable(self, method: str, path: str, body: Json = None) -> Json:
        """A change that is the same done twice. Errors as of `read`."""
        return await self._again(method, path, None, body)

    async def create(self, path: str, body: Json) -> Json:
        """POST, once. Raises EngineRefused, EngineAuthError (nothing was created), CreateUnclear (it may have been)."""
        try:
            said = await self._send("POST", path, None, body)
        except EngineUnreachable as error:
            if error.kind == "refused":
                raise
            raise CreateUnclear(error.message, hint=error.hint) from error
        if said.status == 200 and said.json:
            return said.body
        found = error_of("POST", path, said)
        if isinstance(found, EngineUnreachable):
            raise CreateUnclear(found.message, hint=found.hint)
        raise EngineRefused(found.message) if isinstance(found, WorkloadNotFound) else found

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _again(self, method: str, path: str, params: Mapping[str, str | int] | None, body: Json) -> Json:
        deadline, pause = anyio.current_time() + BUDGET, PAUSE
        for last in (number == TRIES for number in range(1, TRIES + 1)):
            try:
                said = await self._send(method, path, params, body)
                if said.status == 200 and said.json:
                    return said.body
                if said.status != _BUSY:
                    raise error_of(method, path, said)
                if last or anyio.current_time() + pause >= deadline:
                    raise error_of(method, path, said)
            except EngineUnreachable as error:
                if last or error.kind == "gone" or anyio.current_time() + pause >= deadline:
                    raise
            await anyio.sleep(pause)
            pause *= 2
        raise AssertionError("the last try returns or raises")

    async def _send(self, method: str, path: str, params: Mapping[str, str | int] | None, body: Json) -> Said:
        """One request. Raises EngineUnreachable where there is no whole answer."""
        async with self._limit:
            self.requests += 1
            try:
                content = None if body is None else json.dumps(body).encode()
                answer = await self._client.request(method, path, params=params, content=content)
            except httpx.TimeoutException as error:
                raise EngineUnreachable(
                    f"{self._url}: no answer to {method} {path} in time", kind="timed_out"
                ) from error
            except httpx.ConnectError as error:
                raise EngineUnreachable(f"{self._url}: {error}", hint=_hint(error), kind="refused") from error
            except httpx.HTTPError as error:
                raise EngineUnreachable(
                    f"{self._url}: {method} {path}: the connection broke: {error or type(error).__name__}"
                ) from error
        return said_by(answer.status_code, answer.content, answer.headers.get("location", ""))


def _verify(asked: Parameters) -> ssl.SSLContext | bool:
    if asked.insecure:
        return False
    if asked.ca_bundle is None:
        return True
    try:
        return ssl.create_default_context(cafile=asked.ca_bundle)
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(f"engine safe: ca_bundle {asked.ca_bundle} cannot be used: {error}") from error


def _hint(error: httpx.ConnectError) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "Name the CA's certificates with engine.ca_bundle."
    return ""
