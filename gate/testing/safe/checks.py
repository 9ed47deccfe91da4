"""What is wrong with a create, in the order and with the codes of the server; and what it makes of the rest."""

from __future__ import annotations

import base64
import binascii
import re
from decimal import Decimal
from typing import Any

from gate.testing.safe.job import Row
from gate.testing.safe.switches import Role, Switches
from gate.testing.safe.wire import Refusal, bad, denied

NAME = re.compile(r"[a-z][-a-z0-9]{0,44}[a-z0-9]")
LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
TTL = 60
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|[KMGT]i?)?")
_UNITS = {"": Decimal(1), "m": Decimal("0.001")} | {
    **{f"{c}i": Decimal(1024) ** n for n, c in enumerate("KMGT", 1)},
    **{c: Decimal(1000) ** n for n, c in enumerate("KMGT", 1)},
}


def spec_of(body: Row, role: Role, switches: Switches, secrets: set[str]) -> Row:
    """The request as it is kept. Raises Refusal. Unknown fields are ignored, as the server ignores them."""
    kind = _typed(body, "groupVersionKind", dict, {}).get("kind") or "PyTorchJob"
    if body.get("workloadId"):
        raise AssertionError("a create that names a workloadId deletes what lives under it when it fails")
    spec = _kept(body, kind)
    if spec["workspaceId"] != switches.workspace and role != "admin":
        raise Refusal(403, "Primus.00003", "The user is not allowed to create workload")
    if role == "member" and spec["priority"] == 2:
        raise Refusal(403, "Primus.00003", "The user is not allowed to use high priority")
    if role == "member" and spec["privileged"]:
        raise Refusal(403, "Primus.00003", "The user is not allowed to create a privileged workload")
    for each in spec["secrets"]:
        if each.get("id") not in secrets:
            raise Refusal(404, "NotFound", f'secrets "{each.get("id")}" not found')
    spec["priority"] = max(0, min(2, spec["priority"]))
    if spec["displayName"] and not LABEL.fullmatch(spec["displayName"]):
        raise Refusal(422, "Invalid", f'Workload.amd.com "{spec["displayName"]}" is invalid')
    _required(spec, switches)
    _fits(spec, kind, switches)
    return spec


def _kept(body: Row, kind: str) -> Row:
    resources = [dict(one) for one in _typed(body, "resources", list, []) if one.get("replica", 0) > 0]
    for one in resources:
        for key in ("cpu", "memory", "gpu", "sharedMemory", "ephemeralStorage"):
            if key in one and not isinstance(one[key], str):
                raise bad(f"json: cannot unmarshal number into Go struct field .resources.{key} of type string")
        if one.get("gpu") == "0":
            del one["gpu"]
        if "gpu" in one:
            one["gpuName"] = "amd.com/gpu"
        one.setdefault("ephemeralStorage", "50Gi")
    authoring = kind == "Authoring"
    timeout = body.get("timeout")
    return {
        "displayName": _typed(body, "displayName", str, ""),
        "workspaceId": body.get("workspaceId") or body.get("workspace") or "",
        "description": _typed(body, "description", str, ""),
        "groupVersionKind": {"kind": kind, "version": "v1"},
        "resources": resources[:1] if authoring else resources,
        "images": [str(one).strip() for one in _typed(body, "images", list, [])],
        "entryPoints": ["sleep infinity"]
        if authoring
        else [_encoded(one) for one in _typed(body, "entryPoints", list, [])],
        "env": {key.strip(): value for key, value in _typed(body, "env", dict, {}).items()},
        "priority": _typed(body, "priority", int, 0),
        "timeout": timeout or None,
        "ttlSecondsAfterFinished": body.get("ttlSecondsAfterFinished", TTL),
        "maxRetry": 0 if authoring else max(0, min(50, body.get("maxRetry", 0))),
        "privileged": body.get("privileged", False),
        "secrets": [{**one, "type": "general"} for one in _typed(body, "secrets", list, [])],
        "customerLabels": {
            key: value for key, value in _typed(body, "customerLabels", dict, {}).items() if key and value
        },
        "useWorkspaceStorage": body.get("useWorkspaceStorage", True),
        "forceHostNetwork": body.get("forceHostNetwork", False),
        "dependencies": _typed(body, "dependencies", list, []),
    }


def _typed(body: Row, key: str, kind: type, default: Any) -> Any:
    value = body.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool):
        raise bad(f"json: cannot unmarshal into Go struct field .{key}")
    return value


def _required(spec: Row, switches: Switches) -> None:
    wrong: list[str] = []
    if not spec["displayName"]:
        wrong.append("the displayName is empty")
    elif not NAME.fullmatch(spec["displayName"]):
        wrong.append("the name must be 1 to 44 characters of lower-case letters, digits and dashes")
    if spec["workspaceId"] != switches.workspace:
        wrong.append("the cluster is empty")
    if not spec["resources"]:
        wrong.append("the resources are empty")
    wrong += [f"the {key} is empty" for one in spec["resources"] for key in ("cpu", "memory") if not one.get(key)]
    if wrong:
        raise denied(400, "Primus.00002", f"Bad request. {', '.join(wrong)}")


def _fits(spec: Row, kind: str, switches: Switches) -> None:
    replicas = sum(one["replica"] for one in spec["resources"])
    gpus = sum(int(quantity(one.get("gpu", "0"))) * one["replica"] for one in spec["resources"])
    if replicas > switches.nodes and gpus > switches.gpus:
        raise denied(503, "Primus.00008", "Insufficient resource: the workspace has not as much")
    for one in spec["resources"]:
        cpu, memory = quantity(one["cpu"]), quantity(one["memory"])
        if cpu > Decimal(switches.node_cpu) * Decimal("0.94") or memory > switches.node_memory * Decimal("0.98"):
            raise denied(403, "Primus.00003", "Resource request exceeds maximum available: cpu or memory")
    if kind not in switches.kinds:
        raise denied(500, "Primus.00001", f"Internal error. no template of {kind}")
    if not switches.scopes_train:
        raise denied(403, "Primus.00003", "The workspace does not allow Train")


def quantity(text: str) -> Decimal:
    """A Kubernetes quantity."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise denied(400, "Primus.00002", f"Bad request. quantity {text!r}")
    return Decimal(match[1]) * _UNITS[match[2] or ""]


def _encoded(entry: str) -> str:
    """Left alone where it looks like base64, as `test` does; else encoded."""
    entry = entry.strip()
    try:
        base64.b64decode(entry, validate=True)
    except binascii.Error:
        return base64.b64encode(entry.encode()).decode()
    return entry
