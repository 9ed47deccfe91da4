"""What is sent to create a workload, and the secret that goes with it."""

from __future__ import annotations

import base64
import math
import secrets as random
from collections.abc import Mapping

from gate.contracts import WorkloadRequest
from gate.documents import Json
from gate.engines.containers import shares
from gate.engines.safe.about import About, environment
from gate.engines.safe.entry import encoded, script
from gate.engines.safe.options import option
from gate.engines.safe.parameters import Parameters
from gate.plan import identity

KIND: Json = {"kind": "PyTorchJob", "version": "v1"}
MARGIN = 120
"""Seconds by which the server's time-out comes after the supervisor's, which says why and ends things in order."""
_NAMES = {
    "priority": "priority",
    "node_labels": "customerLabels",
    "nodes": "specifiedNodes",
    "excluded_nodes": "excludedNodes",
    "host_network": "forceHostNetwork",
}
_OF_RESOURCES = {"shared_memory": "sharedMemory", "ephemeral_storage": "ephemeralStorage"}


def secret_id(request: WorkloadRequest) -> str:
    """A new id each time: what an ended workload of this name leaves is removed without touching the next one's."""
    return f"{request.name}-{random.token_hex(4)}"


def secret_body(id_: str, values: Mapping[str, str], said: About, workspace: str) -> Json:
    """The body of POST /secrets. Values travel as base64, which the server decodes."""
    return {
        "name": id_,
        "type": "general",
        "workspaceIds": [workspace],
        "params": [{name: base64.b64encode(value.encode()).decode() for name, value in sorted(values.items())}],
        "labels": {"gate.tag": said.tag},
    }


def workload_body(request: WorkloadRequest, asked: Parameters, said: About, mounted: Mapping[str, str]) -> Json:
    """The body of POST /workloads. `mounted`: secret name to the id of the secret that holds it.

    Never with a workloadId: a create that fails deletes whatever lives under the id that it names.
    """
    wanted = request.resources
    resources: dict[str, Json] = {"replica": 1, "cpu": str(wanted.cpus), "memory": str(wanted.memory)}
    if wanted.gpus:
        resources["gpu"] = str(wanted.gpus)
    body: dict[str, Json] = {"priority": asked.priority}
    for key, value in wanted.options.items():
        if key in _OF_RESOURCES:
            resources[_OF_RESOURCES[key]] = option(key, value)
        else:
            body[_NAMES[key]] = option(key, value)
    text = script(request, mounted, asked.python, shares(request, asked.share or request.run_dir))
    return body | {
        "displayName": request.name,
        "description": said.text(),
        "workspaceId": asked.workspace,
        "groupVersionKind": KIND,
        "resources": [resources],
        "images": [wanted.image or asked.image],
        "entryPoints": [encoded(text)],
        "env": {**_plain(request), **environment(said)},
        "timeout": math.ceil(request.timeout) + MARGIN,
        "ttlSecondsAfterFinished": math.ceil(asked.ttl),
        "maxRetry": 0,
        "privileged": wanted.privileged,
        "useWorkspaceStorage": True,
        "secrets": [{"id": id_, "type": "general"} for id_ in sorted(set(mounted.values()))],
    }


def _plain(request: WorkloadRequest) -> dict[str, Json]:
    """Without the tag by which the supervisor finds what it has to end: it sets that itself, for bootstrap alone."""
    own = (identity.ENV_TAG, identity.ENV_WORKLOAD)
    return {name: value for name, value in request.env.items() if name not in own}
