"""Single calls: what is sent, and what each kind of answer is taken for."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx
import pytest
import respx

from gate.contracts import EndReason, Phase, Scope
from gate.engines.safe.about import about
from gate.engines.safe.engine import SafeEngine
from gate.engines.safe.http import TRIES, Api
from gate.engines.safe.parameters import parameters
from gate.errors import (
    CreateUnclear,
    EngineAuthError,
    EngineRefused,
    EngineUnreachable,
    GateError,
    WorkloadNotFound,
)
from gate.testing.safe.switches import KEY
from tests.conformance.engine_worlds import Job, plain_request

URL = "https://safe.test"
API = f"{URL}/api/v1"
NOTHING = {"totalCount": 0, "items": []}
SCOPE = Scope("local/test", "g", tag="t" * 10)
REQUEST = plain_request(Job(tag="t" * 10), "/share/run")


def run(main: Callable[[SafeEngine], Awaitable[Any]], **given: Any) -> Any:
    async def whole() -> Any:
        asked = parameters({"url": URL, "workspace": "ws", "image": "img", "list_lag": "1ms", **given})
        engine = SafeEngine(asked, Api(asked, KEY))
        try:
            return await main(engine)
        finally:
            await engine.aclose()

    return anyio.run(whole)


def row(**changes: Any) -> dict[str, Any]:
    plain = {
        "workloadId": "w-1",
        "displayName": REQUEST.name,
        "description": about(REQUEST, "").text(),
        "phase": "Running",
        "message": "",
        "queuePosition": 0,
        "dispatchCount": 1,
        "startTime": "2026-01-01T00:00:00",
        "endTime": "",
    }
    return plain | changes


def refusal(status: int, code: str, words: str) -> httpx.Response:
    return httpx.Response(status, json={"errorCode": code, "errorMessage": words})


# --- what is sent ------------------------------------------------------------------------------------


@respx.mock
def test_a_create_sends_no_id_no_secret_and_one_line_of_base64() -> None:
    respx.get(f"{API}/workloads").respond(json=NOTHING)
    secret = respx.post(f"{API}/secrets").respond(json={"secretId": "s"})
    create = respx.post(f"{API}/workloads").respond(json={"workloadId": "w-1"})
    request = plain_request(Job(tag="t" * 10, secrets=(("KEY", "the-value"),)), "/share/run")
    assert run(lambda engine: engine.create(request)) == "w-1"
    raw = create.calls.last.request.content
    body = json.loads(raw)
    assert b"the-value" not in raw
    assert base64.b64encode(b"the-value") not in raw
    assert "workloadId" not in body
    assert create.calls.last.request.headers["Authorization"] == f"Bearer {KEY}"
    assert body["env"]["GATE_RUN_TAG"] == request.tag
    assert "GATE_TAG" not in body["env"], "or the supervisor would find and end itself"
    assert body["timeout"] > request.timeout
    assert body["ttlSecondsAfterFinished"] >= 3600
    script = base64.b64decode(body["entryPoints"][0]).decode()
    made = json.loads(secret.calls.last.request.content)
    assert f"/etc/secrets/{made['name']}/KEY" in script
    assert body["secrets"] == [{"id": made["name"], "type": "general"}]
    assert "supervise --assignment /share/run/staged/assignments/" in script


@respx.mock
def test_a_list_is_read_to_its_last_page() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        offset, limit = int(request.url.params["offset"]), int(request.url.params["limit"])
        items = [row(workloadId=f"w-{number}") for number in range(450)]
        return httpx.Response(200, json={"totalCount": 450, "items": items[offset : offset + limit]})

    pages = respx.get(f"{API}/workloads").mock(side_effect=answer)
    listing = run(lambda engine: engine.list(SCOPE))
    assert (len(listing.workloads), listing.complete, pages.call_count) == (450, True, 3)


@respx.mock
def test_a_list_that_lacks_what_it_counts_is_not_complete() -> None:
    respx.get(f"{API}/workloads").respond(json={"totalCount": 2, "items": [row()]})
    assert not run(lambda engine: engine.list(SCOPE)).complete


@respx.mock
def test_a_description_that_somebody_edited_is_found_in_the_environment() -> None:
    edited = row(description="mine now")
    respx.get(f"{API}/workloads").respond(json={"totalCount": 1, "items": [edited]})
    respx.get(f"{API}/workloads/w-1").respond(json=edited | {"env": {"GATE_RUN_ABOUT": about(REQUEST, "").text()}})
    (found,) = run(lambda engine: engine.list(SCOPE)).workloads
    assert (found.tag, found.run) == (REQUEST.tag, REQUEST.run)


# --- what answers mean -------------------------------------------------------------------------------

ANSWERS: list[tuple[httpx.Response | Exception, type[GateError], type[GateError], int]] = [
    (refusal(401, "Primus.00009", "API key expired"), EngineAuthError, EngineAuthError, 1),
    (refusal(403, "Primus.00003", "The user is not allowed"), EngineAuthError, EngineAuthError, 1),
    (refusal(403, "Primus.00003", "request exceeds maximum available: cpu"), EngineRefused, EngineRefused, 1),
    (refusal(404, "Primus.01001", "Workload w-1 not found."), WorkloadNotFound, EngineRefused, 1),
    (refusal(404, "Primus.00005", "/api/v1/x not found"), EngineUnreachable, CreateUnclear, 1),
    (refusal(400, "Primus.00002", "Bad request."), EngineRefused, EngineRefused, 1),
    (refusal(422, "Invalid", "invalid"), EngineRefused, EngineRefused, 1),
    (refusal(503, "Primus.00008", "Insufficient"), EngineRefused, EngineRefused, 1),
    (refusal(409, "Conflict", "modified"), EngineRefused, EngineRefused, TRIES),
    (refusal(500, "Primus.00001", "Internal error."), EngineUnreachable, CreateUnclear, TRIES),
    (httpx.Response(500), EngineUnreachable, CreateUnclear, TRIES),
    (httpx.Response(502, html="<h1>Bad Gateway</h1>"), EngineUnreachable, CreateUnclear, TRIES),
    (httpx.Response(200, html="<h1>Log in</h1>"), EngineUnreachable, CreateUnclear, TRIES),
    (httpx.Response(301, headers={"location": "/x/"}), EngineUnreachable, CreateUnclear, TRIES),
    (httpx.ReadTimeout("late"), EngineUnreachable, CreateUnclear, TRIES),
    (httpx.ReadError("reset"), EngineUnreachable, CreateUnclear, TRIES),
    (httpx.ConnectError("refused"), EngineUnreachable, EngineUnreachable, TRIES),
]


@respx.mock
@pytest.mark.parametrize(("answer", "of_read", "of_create", "tries"), ANSWERS)
def test_each_answer_has_its_error_and_only_reads_are_sent_again(
    answer: httpx.Response | Exception,
    of_read: type[GateError],
    of_create: type[GateError],
    tries: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gate.engines.safe.http.PAUSE", 0.001)
    given: Any = {"side_effect": answer} if isinstance(answer, Exception) else {"return_value": answer}
    read = respx.get(f"{API}/workloads/w-1").mock(**given)
    respx.get(f"{API}/workloads").respond(json=NOTHING)
    create = respx.post(f"{API}/workloads").mock(**given)

    async def main(engine: SafeEngine) -> None:
        with pytest.raises(of_read):
            await engine.get("w-1")
        with pytest.raises(of_create):
            await engine.create(REQUEST)

    run(main)
    assert (read.call_count, create.call_count) == (tries, 1)


@respx.mock
@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (httpx.ConnectError("no"), "refused"),
        (httpx.ConnectTimeout("late"), "timed_out"),
        (httpx.ReadError("x"), "error"),
    ],
)
def test_how_it_cannot_be_reached_is_told(failure: Exception, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gate.engines.safe.http.PAUSE", 0.001)
    respx.get(f"{API}/workloads").mock(side_effect=failure)
    with pytest.raises(EngineUnreachable) as found:
        run(lambda engine: engine.list(SCOPE))
    assert found.value.kind == kind


@respx.mock
def test_a_refused_create_leaves_no_secret() -> None:
    respx.get(f"{API}/workloads").respond(json=NOTHING)
    respx.post(f"{API}/secrets").respond(json={"secretId": "s"})
    removed = respx.delete(url__startswith=f"{API}/secrets/").respond(text="null")
    respx.post(f"{API}/workloads").mock(return_value=refusal(400, "Primus.00002", "Bad request. no"))
    request = plain_request(Job(tag="t" * 10, secrets=(("KEY", "the-value"),)), "/share/run")
    with pytest.raises(EngineRefused, match="Bad request"):
        run(lambda engine: engine.create(request))
    assert removed.call_count == 1


# --- phases and ends ---------------------------------------------------------------------------------


def _stopped(message: str) -> dict[str, Any]:
    return {"phase": "Stopped", "conditions": [{"type": "AdminStopped", "message": message}]}


def _exited(code: int, message: str = "", failed: str = "") -> dict[str, Any]:
    pod = {
        "podId": "p",
        "failedMessage": failed,
        "containers": [{"name": "pytorch", "exitCode": code, "message": message}],
    }
    return {"phase": "Failed", "pods": [pod], "conditions": [{"type": "K8sFailed", "message": "failed"}]}


@respx.mock
@pytest.mark.parametrize(
    ("changes", "phase", "reason", "code"),
    [
        ({}, Phase.RUNNING, "", None),
        ({"phase": "Updating"}, Phase.RUNNING, "", None),
        ({"phase": "Dreaming"}, Phase.UNKNOWN, "", None),
        ({"phase": "Pending", "startTime": ""}, Phase.PENDING, "", None),
        ({"phase": "Pending", "dispatchCount": 1}, Phase.PENDING, "preempted", None),
        ({"phase": "Succeeded"}, Phase.SUCCEEDED, "exit", 0),
        (_stopped("the workload is stopped by me"), Phase.STOPPED, "stopped", None),
        (_stopped("the workload has timed out"), Phase.FAILED, "timeout", None),
        ({"phase": "Stopped", "conditions": None}, Phase.STOPPED, "lost", None),
        (_exited(10), Phase.FAILED, "exit", 10),
        (_exited(124), Phase.FAILED, "timeout", 124),
        (_exited(11), Phase.STOPPED, "stopped", 11),
        (_exited(137, "OOMKilled"), Phase.FAILED, "out_of_memory", 137),
        (_exited(137, failed="Evicted: The node was low on resource"), Phase.FAILED, "evicted", 137),
        (
            {
                "phase": "Failed",
                "pods": None,
                "conditions": [
                    {"type": "K8sFailed", "message": 'job, details: [{"pod":"p","container":{"exitCode":3}}]'}
                ],
            },
            Phase.FAILED,
            "exit",
            3,
        ),
        (
            {"phase": "Failed", "conditions": [{"type": "AdminFailed", "message": "no template"}]},
            Phase.FAILED,
            "unschedulable",
            None,
        ),
        (
            {"phase": "Failed", "endTime": "2026-01-01T00:00:00", "conditions": None},
            Phase.FAILED,
            "exit",
            None,
        ),
    ],
)
def test_phases_and_reasons(changes: dict[str, Any], phase: Phase, reason: EndReason, code: int | None) -> None:
    respx.get(f"{API}/workloads/w-1").respond(json=row(**changes))
    found = run(lambda engine: engine.get("w-1"))
    assert (found.phase, found.reason, found.exit_code) == (phase, reason, code)


@respx.mock
def test_an_exit_code_that_is_late_is_waited_for() -> None:
    respx.get(f"{API}/workloads/w-1").respond(json=row(phase="Failed", conditions=None, pods=None))
    found = run(lambda engine: engine.get("w-1"))
    assert (found.phase, found.exit_code) == (Phase.RUNNING, None)
