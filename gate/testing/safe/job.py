"""One workload as the server keeps it, and as GET and LIST show it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from gate.testing.safe.pods import Pod

TERMINAL = ("Succeeded", "Failed", "Stopped")
Row = dict[str, Any]


@dataclass(slots=True)
class Job:
    """`spec`: the request after the mutating webhook. `gone`: when the object was deleted; the row stays."""

    id: str
    user: str
    spec: Row
    created: float
    phase: str = "Pending"
    message: str = ""
    position: int = 0
    placed: float | None = None
    started: float | None = None
    ended: float | None = None
    gone: float | None = None
    hidden: bool = False
    dispatches: int = 0
    conditions: list[Row] = field(default_factory=list)
    pods: list[Row] = field(default_factory=list)
    pod: Pod | None = None
    code_at: float | None = None
    """When the exit code appears in the pod's row."""
    code: int | None = None
    why: str = ""
    """What the pod's row says beside the code: OOMKilled, Evicted …"""
    kept_log: str = ""
    rows: list[tuple[float, Row]] = field(default_factory=list)
    """What was exported when."""

    @property
    def terminal(self) -> bool:
        return self.phase in TERMINAL

    @property
    def gpus(self) -> int:
        return int(self.spec["resources"][0].get("gpu", "0"))

    def condition(self, kind: str, message: str, now: float) -> None:
        """Appended in order; the reason is the number of the attempt."""
        reason = f"run_{max(1, self.dispatches)}_times"
        if any((each["type"], each["reason"]) == (kind, reason) for each in self.conditions):
            return
        stamp = datetime.fromtimestamp(now, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.conditions.append(
            {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": stamp}
        )

    def export(self, now: float) -> None:
        """Write the row that GET and LIST will show once the export has caught up."""
        self.rows.append((now, self._row(now)))

    def shown(self, now: float, lag: float) -> Row | None:
        """The row as it was `lag` seconds ago."""
        found = [row for at, row in self.rows if at <= now - lag]
        return found[-1] if found else None

    def _row(self, now: float) -> Row:
        spec, started, timeout = self.spec, self.started, self.spec["timeout"]
        left = 0
        if timeout and not self.terminal:
            left = -1 if started is None else max(0, math.floor(started + timeout - now))
        return {
            "workloadId": self.id,
            "workspaceId": spec["workspaceId"],
            "clusterId": "cluster",
            "displayName": spec["displayName"],
            "description": spec["description"],
            "userId": self.user,
            "userName": self.user,
            "phase": self.phase,
            "message": self.message if self.phase == "Pending" else "",
            "priority": spec["priority"],
            "maxRetry": spec["maxRetry"],
            "resources": spec["resources"],
            "groupVersionKind": spec["groupVersionKind"],
            "creationTime": stamp(self.created),
            "startTime": stamp(started),
            "endTime": stamp(self.ended if self.ended is not None else self.gone),
            "deletionTime": stamp(self.gone),
            "duration": "0s" if started is None else f"{math.floor((self.ended or now) - started)}s",
            "secondsUntilTimeout": left,
            "queuePosition": self.position if self.phase == "Pending" else 0,
            "dispatchCount": self.dispatches,
            "isTolerateAll": False,
            "timeout": timeout,
            "workloadUid": f"uid-{self.id}",
            "avgGpuUsage": -1,
            **self._detail(),
        }

    def _detail(self) -> Row:
        spec = self.spec
        ttl = spec["ttlSecondsAfterFinished"]
        return {
            "images": spec["images"] or None,
            "entryPoints": None if spec["groupVersionKind"]["kind"] == "Authoring" else spec["entryPoints"] or None,
            "env": spec["env"] or None,
            "isSupervised": False,
            "ttlSecondsAfterFinished": ttl or None,
            "conditions": [dict(each) for each in self.conditions] or None,
            "pods": [{**each, "containers": [dict(one) for one in each["containers"]]} for each in self.pods] or None,
            "nodes": [["node-1"]] * self.dispatches or None,
            "ranks": [["0"]] * self.dispatches or None,
            "customerLabels": spec["customerLabels"] or None,
            "secrets": spec["secrets"] or None,
            "privileged": spec["privileged"],
            "useWorkspaceStorage": spec["useWorkspaceStorage"],
            "forceHostNetwork": spec["forceHostNetwork"],
        }


DETAIL = (
    "images",
    "entryPoints",
    "env",
    "isSupervised",
    "ttlSecondsAfterFinished",
    "conditions",
    "pods",
    "nodes",
    "ranks",
    "customerLabels",
    "secrets",
    "privileged",
    "useWorkspaceStorage",
    "forceHostNetwork",
)
"""What a single answer holds and a list's item does not."""


def stamp(at: float | None) -> str:
    """UTC without a zone; empty for never."""
    return "" if at is None else datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
