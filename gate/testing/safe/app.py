"""The server: who asks, what for, and what is answered. Thread-safe, without a socket of its own."""

from __future__ import annotations

import base64
import binascii
import json
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from gate.testing.safe.checks import spec_of
from gate.testing.safe.job import Job
from gate.testing.safe.life import Life
from gate.testing.safe.pods import Pods, PretendedPods
from gate.testing.safe.query import listing
from gate.testing.safe.switches import Fault, Role, Switches, What
from gate.testing.safe.wire import Answer, Call, Refusal, bad, ok, refused

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
LARGEST = 2 << 20


class Safe:
    """State and rules. `clock`: wall seconds; everything moves by it, whenever somebody asks or `advance` is called."""

    def __init__(
        self, switches: Switches | None = None, pods: Pods | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.switches = switches or Switches()
        self.jobs: dict[str, Job] = {}
        self.secrets: dict[str, dict[str, bytes]] = {}
        self.calls: list[Call] = []
        """All that were received, the refused ones too."""
        self._clock = clock
        self._lock = threading.RLock()
        self._dice = random.Random(7)  # noqa: S311 - five letters behind a name
        self._life = Life(self.switches, pods or PretendedPods(), lambda id_: self.secrets.get(id_, {}))

    # --- for tests -----------------------------------------------------------------------------------

    def advance(self) -> None:
        """Bring everything to now."""
        with self._lock:
            self._life.step(list(self.jobs.values()), self._clock())

    def live(self) -> list[str]:
        """Ids of what has not ended, whatever lists show."""
        with self._lock:
            self.advance()
            return [job.id for job in self.jobs.values() if not job.terminal]

    def preempt(self, id_: str) -> None:
        """Send a running one back to the queue."""
        with self._lock:
            self._life.preempt(self.jobs[id_], self._clock())

    def fail(self, *faults: Fault) -> None:
        """The next requests that fit go wrong."""
        with self._lock:
            self.switches.faults += faults

    def close(self) -> None:
        """End every pod."""
        with self._lock:
            for job in self.jobs.values():
                if not job.terminal:
                    self._life.stop(job, "the server ends", self._clock())

    # --- the API -------------------------------------------------------------------------------------

    def answer(self, call: Call) -> Answer:
        """One request, whole."""
        with self._lock:
            self.calls.append(call)
            fault = self._fault(call)
            if fault is not None and fault.what not in ("reset_after", "slow"):
                return _broken(fault)
            self.advance()
            try:
                found = ok(self._route(call))
            except Empty:
                found = Answer(500, b"")
            except Refusal as error:
                found = refused(error)
        delay = self.switches.latency + (fault.seconds if fault is not None and fault.what == "slow" else 0.0)
        cut = fault is not None and fault.what == "reset_after"
        return Answer(found.status, found.body, found.content_type, delay, cut)

    def _fault(self, call: Call) -> Fault | None:
        for fault in self.switches.faults:
            if fault.times > 0 and fault.method in ("", call.method) and call.path.startswith(fault.path):
                fault.times -= 1
                return fault
        return None

    def _route(self, call: Call) -> Any:
        role = self._role(call)
        for method, pattern, name in _ROUTES:
            if method == call.method and (found := re.fullmatch(pattern, call.path.removeprefix("/api/v1/"))):
                return getattr(self, name)(call, role, *found.groups())
        raise Refusal(404, "Primus.00005", f"{call.target} not found")

    def _role(self, call: Call) -> Role:
        words = call.headers.get("authorization", "").split(" ")
        if words == [""]:
            raise Refusal(401, "Primus.00009", "token not present")
        if len(words) != 2 or words[0].lower() != "bearer" or words[1] not in self.switches.keys:
            raise Refusal(401, "Primus.00009", "invalid API key")
        return self.switches.keys[words[1]]

    def _database(self) -> None:
        if not self.switches.database:
            raise Refusal(500, "Primus.00001", "Internal error. the database is not enabled")

    def _list(self, call: Call, role: Role) -> Any:
        self._database()
        if role != "admin" and not call.query.get("workspaceId"):
            raise Refusal(403, "Primus.00003", "The user is not allowed to list workload")
        now, lag = self._clock(), self.switches.lag
        rows = [row for job in self.jobs.values() if not job.hidden and (row := job.shown(now, lag)) is not None]
        return listing(rows, call.query)

    def _get(self, call: Call, role: Role, id_: str) -> Any:
        return self._row(id_)

    def _row(self, id_: str) -> Any:
        self._database()
        job = self.jobs.get(id_)
        row = None if job is None or job.hidden else job.shown(self._clock(), self.switches.lag)
        if row is None:
            raise Refusal(404, "Primus.01001", f"Workload {id_} not found.")
        return row

    def _create(self, call: Call, role: Role) -> Any:
        if len(call.body) > LARGEST:
            raise Refusal(413, "Primus.00006", "request body too large")
        spec = spec_of(_body(call), role, self.switches, set(self.secrets))
        suffix = "".join(self._dice.choice(ALPHABET) for _ in range(5))
        id_ = f"{spec['displayName'][:57]}-{suffix}".lower().replace("_", "-")
        job = Job(id_, "user", spec, self._clock())
        self.jobs[id_] = job
        job.export(self._clock())
        return {"workloadId": id_}

    def _stop(self, call: Call, role: Role, id_: str) -> None:
        """Unknown, ended and forgotten ones are no error, and nobody asks who wants it."""
        job = self.jobs.get(id_)
        if job is None or job.terminal or job.gone is not None:
            return
        if role == "member" and job.user != "user":
            raise Refusal(403, "Primus.00003", "The user is not allowed to delete workload")
        self._life.stop(job, "the workload is stopped by user", self._clock())

    def _delete(self, call: Call, role: Role, id_: str) -> None:
        """Hides the row where there is one already: one that was not exported yet appears later, as Stopped."""
        job = self.jobs.get(id_)
        if job is None:
            return
        shown = job.shown(self._clock(), self.switches.lag) is not None
        if not job.terminal:
            self._life.stop(job, "the workload is deleted by user", self._clock())
        job.hidden = job.hidden or shown

    def _batch(self, call: Call, role: Role, what: str) -> None:
        ids = _body(call).get("workloadIds")
        if not ids:
            raise Empty
        for id_ in ids:
            if what == "stop":
                self._stop(call, role, id_)
            else:
                self._delete(call, role, id_)

    def _pod_log(self, call: Call, role: Role, id_: str, pod: str) -> Any:
        """Of the kubelet: it dies with the pod."""
        job = self.jobs.get(id_)
        if job is None or job.gone is not None or pod not in [each["podId"] for each in job.pods] or job.pod is None:
            raise Refusal(404, "NotFound", f'pods "{pod}" not found')
        lines = job.pod.log(self._clock()).splitlines()[-int(call.query.get("tailLines", "1000")) :]
        return {"workloadId": id_, "podId": pod, "namespace": self.switches.workspace, "logs": lines}

    def _stored_log(self, call: Call, role: Role, id_: str) -> Any:
        """Survives the pod."""
        if not self.switches.logs:
            raise Refusal(500, "Primus.00001", "Internal error. the logging function is not enabled")
        self._row(id_)
        job, body = self.jobs[id_], _body(call) if call.body else {}
        lines = (job.kept_log or (job.pod.log(self._clock()) if job.pod else "")).splitlines()
        offset, limit = int(body.get("offset", 0)), min(10_000, int(body.get("limit", 100)))
        hits = [{"_source": {"message": line, "stream": "stdout"}} for line in lines[offset : offset + limit]]
        return {"hits": {"total": {"value": len(lines)}, "hits": hits}}

    def _self(self, call: Call, role: Role) -> Any:
        return {"id": "user", "roles": [role], "workspaces": [{"id": self.switches.workspace}]}

    def _no_secret(self, call: Call, role: Role, id_: str) -> None:
        if self.secrets.pop(id_, None) is None:
            raise Refusal(404, "NotFound", f'secrets "{id_}" not found')

    def _secret(self, call: Call, role: Role) -> Any:
        body = _body(call)
        name, kind, params = body.get("name"), body.get("type"), body.get("params")
        if not name or kind != "general" or not params:
            raise bad("the name, type and params of request are required")
        if name in self.secrets:
            raise Refusal(409, "AlreadyExists", f'secrets "{name}" already exists')
        try:
            self.secrets[name] = {key: base64.b64decode(value, validate=True) for key, value in params[0].items()}
        except binascii.Error as error:
            raise bad(str(error)) from error
        return {"secretId": name}


_ROUTES = (
    ("GET", "workloads", "_list"),
    ("POST", "workloads", "_create"),
    ("POST", "workloads/(stop|delete)", "_batch"),
    ("GET", "workloads/([^/]+)", "_get"),
    ("POST", "workloads/([^/]+)/stop", "_stop"),
    ("DELETE", "workloads/([^/]+)", "_delete"),
    ("GET", "workloads/([^/]+)/pods/([^/]+)/logs", "_pod_log"),
    ("POST", "workloads/([^/]+)/logs", "_stored_log"),
    ("POST", "secrets", "_secret"),
    ("DELETE", "secrets/([^/]+)", "_no_secret"),
    ("GET", "users/self", "_self"),
)


class Empty(Refusal):
    """A handler that panicked: 500 without a body."""

    def __init__(self) -> None:
        super().__init__(500, "", "")


_REFUSALS: Mapping[What, Refusal] = {
    "unauthorized": Refusal(401, "Primus.00009", "API key expired"),
    "forbidden": Refusal(403, "Primus.00003", "The user is not allowed to do this"),
    "conflict": Refusal(409, "Conflict", "the object has been modified"),
    "internal": Refusal(500, "InternalError", "etcdserver: request timed out"),
}


def _broken(fault: Fault) -> Answer:
    if fault.what in _REFUSALS:
        return refused(_REFUSALS[fault.what])
    if fault.what == "html":
        return Answer(fault.code, b"<html><body><h1>Bad Gateway</h1></body></html>", "text/html")
    return Answer(500, b"", cut=fault.what == "reset")


def _body(call: Call) -> dict[str, Any]:
    try:
        found = json.loads(call.body)
    except ValueError as error:
        raise bad(str(error)) from error
    if not isinstance(found, dict):
        raise bad("json: cannot unmarshal into Go value")
    return found
