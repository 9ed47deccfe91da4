"""The SaFE server for tests has the quirks of the real one, on a clock that stands still."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from typing import Any

import pytest

from gate.testing.safe.app import Safe
from gate.testing.safe.pods import Course, PretendedPods
from gate.testing.safe.switches import KEY, Fault, Switches
from gate.testing.safe.wire import Call

BODY: dict[str, Any] = {
    "displayName": "job",
    "workspaceId": "ws",
    "resources": [{"replica": 1, "cpu": "1", "memory": "1Gi"}],
    "images": ["img"],
    "entryPoints": [base64.b64encode(b"true\n").decode()],
    "env": {"RUN": "r1"},
}


class Server:
    """Calls and a clock. Workloads end as `course` says."""

    def __init__(self, course: Course | None = None, **switches: Any) -> None:
        self.now = 1_800_000_000.0
        pods = PretendedPods(lambda _: course or Course())
        self.safe = Safe(Switches(**switches), pods, lambda: self.now)

    def call(self, method: str, path: str, body: Any = None, key: str = KEY) -> tuple[int, Any]:
        headers = {"authorization": f"Bearer {key}"}
        raw = b"" if body is None else json.dumps(body).encode()
        found = self.safe.answer(Call(method, f"/api/v1/{path}", headers, raw))
        return found.status, json.loads(found.body) if found.body else None

    def create(self, **changes: Any) -> str:
        status, body = self.call("POST", "workloads", BODY | changes)
        assert status == 200, body
        return str(body["workloadId"])

    def row(self, id_: str) -> Any:
        return self.call("GET", f"workloads/{id_}")[1]


def test_keys_and_roles() -> None:
    server = Server(keys={KEY: "member", "ak-admin": "admin"})
    assert server.call("GET", "workloads", key="ak-wrong")[1]["errorCode"] == "Primus.00009"
    assert server.call("GET", "workloads")[0] == 403
    assert server.call("GET", "workloads", key="ak-admin")[0] == 200
    assert server.call("POST", "workloads", BODY | {"priority": 2})[0] == 403
    assert server.call("POST", "workloads", BODY | {"privileged": True})[0] == 403
    assert server.call("POST", "workloads", BODY | {"priority": 5})[0] == 200


def test_what_was_created_is_seen_once_it_was_exported() -> None:
    server = Server(lag=2.0)
    id_ = server.create()
    assert server.call("GET", f"workloads/{id_}")[1]["errorCode"] == "Primus.01001"
    assert server.call("GET", "workloads?workspaceId=ws")[1] == {"totalCount": 0, "items": []}
    server.now += 2
    assert server.row(id_)["workloadId"] == id_
    server.call("POST", f"workloads/{id_}/stop")
    assert server.row(id_)["phase"] != "Stopped"
    server.now += 2
    assert server.row(id_)["phase"] == "Stopped"


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"displayName": "x"}, 400, "Primus.00002"),
        ({"displayName": "a" * 46}, 200, None),
        ({"displayName": "a" * 47}, 400, "Primus.00002"),
        ({"displayName": "Upper"}, 400, "Primus.00002"),
        ({"displayName": "with space"}, 422, "Invalid"),
        ({"resources": []}, 400, "Primus.00002"),
        ({"resources": [{"replica": 1, "cpu": 1, "memory": "1Gi"}]}, 400, "Primus.00002"),
        ({"resources": [{"replica": 1, "cpu": "228", "memory": "1Gi"}]}, 403, "Primus.00003"),
        ({"resources": [{"replica": 9, "cpu": "1", "memory": "1Gi", "gpu": "8"}]}, 503, "Primus.00008"),
        ({"groupVersionKind": {"kind": "Nonsense"}}, 500, "Primus.00001"),
        ({"secrets": [{"id": "none"}]}, 404, "NotFound"),
        ({"nobody": "knows this"}, 200, None),
    ],
)
def test_creates_are_checked(changes: dict[str, Any], status: int, code: str | None) -> None:
    found, body = Server().call("POST", "workloads", BODY | changes)
    assert (found, body.get("errorCode")) == (status, code)


def test_a_create_that_names_an_id_is_a_bug_of_the_client() -> None:
    with pytest.raises(AssertionError, match="workloadId"):
        Server().call("POST", "workloads", BODY | {"workloadId": "mine"})


def test_life_and_what_remains_of_it() -> None:
    server = Server(Course(seconds=10, code=3, output="said\n"), queue=5, pull=5, late_code=2)
    id_ = server.create()
    first = server.row(id_)
    assert (first["phase"], first["queuePosition"], first["pods"]) == ("Pending", 1, None)
    server.now += 5
    assert (server.row(id_)["phase"], server.row(id_)["message"]) == ("Pending", "")
    server.now += 5
    assert server.row(id_)["phase"] == "Running"
    server.now += 10
    assert server.row(id_)["phase"] == "Failed"
    assert server.row(id_)["pods"][0]["containers"] == []
    server.now += 2
    assert server.row(id_)["pods"][0]["containers"][0]["exitCode"] == 3
    pod_log = f"workloads/{id_}/pods/{id_}-master-0/logs"
    assert server.call("GET", pod_log)[1]["logs"] == ["said"]
    server.now += 60
    assert server.call("GET", pod_log)[0] == 404
    assert server.call("POST", f"workloads/{id_}/logs", {})[1]["hits"]["total"]["value"] == 1
    assert server.row(id_)["deletionTime"]


def test_a_time_out_is_told_from_a_stop_by_its_condition_alone() -> None:
    server = Server()
    late, stopped = server.create(timeout=10), server.create(timeout=10)
    server.row(late)
    server.call("POST", f"workloads/{stopped}/stop")
    server.now += 10
    rows = [server.row(late), server.row(stopped)]
    assert [row["phase"] for row in rows] == ["Stopped", "Stopped"]
    said = [row["conditions"][-1]["message"] for row in rows]
    assert said == ["the workload has timed out", "the workload is stopped by user"]


def test_an_image_that_never_comes_never_times_out() -> None:
    server = Server(unpullable=frozenset({"img"}))
    id_ = server.create(timeout=10)
    server.now += 1000
    assert (server.row(id_)["phase"], server.row(id_)["secondsUntilTimeout"]) == ("Pending", -1)


def test_preemption_goes_back_to_the_queue_and_starts_again() -> None:
    server = Server()
    id_ = server.create()
    server.safe.advance()
    server.safe.advance()
    server.safe.preempt(id_)
    assert server.safe.jobs[id_].phase == "Pending"
    server.safe.advance()
    server.safe.advance()
    assert (server.row(id_)["phase"], server.row(id_)["dispatchCount"]) == ("Running", 2)


def test_stops_and_deletes_of_whatever_there_is() -> None:
    server = Server()
    id_ = server.create()
    assert server.call("POST", "workloads/unknown/stop") == (200, None)
    assert server.call("POST", "workloads/stop", {"workloadIds": []}) == (500, None)
    assert server.call("POST", "workloads/stop", {"workloadIds": [id_]}) == (200, None)
    assert server.call("DELETE", f"workloads/{id_}") == (200, None)
    assert server.call("GET", f"workloads/{id_}")[0] == 404


def test_lists_have_sqls_wildcards_and_a_hundred_rows() -> None:
    server = Server()
    ids = [server.create(env={"RUN": str(number % 2)}) for number in range(120)]
    found = server.call("GET", "workloads?workspaceId=ws")[1]
    assert (found["totalCount"], len(found["items"])) == (120, 100)
    assert "env" not in found["items"][0]
    assert server.call("GET", "workloads?workspaceId=ws&envKey=RUN&envValue=1")[1]["totalCount"] == 60
    assert server.call("GET", f"workloads?workspaceId=ws&workloadId={ids[0].replace('-', '_')}")[1]["totalCount"] == 1
    assert server.call("GET", "workloads?workspaceId=ws&phase=Running,%20Pending")[1]["totalCount"] in (0, 120)
    assert server.call("GET", "workloads?workspaceId=ws&since=nonsense")[1]["totalCount"] == 120
    assert server.call("GET", "workloads?workspaceId=ws&order=up")[0] == 400


def test_faults_come_once_and_as_they_are_asked_for() -> None:
    server = Server()
    server.safe.fail(Fault("html", "GET"), Fault("empty", "GET"), Fault("unauthorized", "GET"))
    answers = [server.safe.answer(Call("GET", "/api/v1/users/self", {}, b"")) for _ in range(3)]
    assert [(each.status, each.body[:6]) for each in answers] == [(502, b"<html>"), (500, b""), (401, b'{"erro')]
    server.safe.fail(Fault("reset_after", "POST"))
    assert server.safe.answer(Call("POST", "/api/v1/workloads", {"authorization": f"Bearer {KEY}"}, b"{}")).cut


def test_it_starts_and_prints_where_it_is() -> None:
    command = [sys.executable, "-m", "gate.testing.safe", "--pretend"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = json.loads(server.stdout.readline())
        server.terminate()
        assert server.wait(10) == 0
    assert found["url"].startswith("http://127.0.0.1:")
