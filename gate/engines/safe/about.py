"""What a workload says of itself: in its description, which lists show, and its environment, which they filter by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from gate.contracts import Scope, WorkloadRequest
from gate.documents import Json

ENV_TAG = "GATE_RUN_TAG"
"""Not `GATE_TAG`: by that one the supervisor finds what it has to end, and must not find itself or the launcher."""
ENV_OF = "GATE_RUN_OF"
ENV_ABOUT = "GATE_RUN_ABOUT"
_FORMAT = 1
_KEYS = ("tag", "run", "ref", "workload", "secret")


@dataclass(frozen=True, slots=True)
class About:
    """Whose workload it is. `secret` is the id of the secret that was made for it, "" for none."""

    tag: str
    run: str
    ref: str
    repository: str
    gate: str
    workload: str
    secret: str

    def text(self) -> str:
        """As the description holds it."""
        return json.dumps(
            {
                "gate": _FORMAT,
                "of": [self.repository, self.gate],
                "ref": self.ref,
                "run": self.run,
                "tag": self.tag,
                "workload": self.workload,
                "secret": self.secret,
            },
            separators=(",", ":"),
        )

    def within(self, scope: Scope) -> bool:
        """Is it one of `scope`?"""
        return (
            (self.repository, self.gate) == (scope.repository, scope.gate)
            and scope.ref in (None, self.ref)
            and scope.tag in (None, self.tag)
        )


def about(request: WorkloadRequest, secret: str) -> About:
    """What the workload of `request` will say."""
    return About(
        tag=request.tag,
        run=request.run,
        ref=request.ref,
        repository=request.repository,
        gate=request.gate,
        workload=request.workload,
        secret=secret,
    )


def environment(said: About) -> Mapping[str, str]:
    """The variables that lists are filtered by, and the whole once more: a description can be edited."""
    return {ENV_TAG: said.tag, ENV_OF: owner(said.repository, said.gate), ENV_ABOUT: said.text()}


def owner(repository: str, gate: str) -> str:
    """Value of `ENV_OF`."""
    return f"{repository} {gate}"


def parse(text: Json) -> About | None:
    """What a description says; None where it is not one of gate's."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if not isinstance(found, dict) or found.get("gate") != _FORMAT:
        return None
    of = found.get("of")
    words = [*of, *(found.get(key) for key in _KEYS)] if isinstance(of, list) else []
    texts = [one for one in words if isinstance(one, str)]
    if len(words) != len(texts) or len(texts) != 2 + len(_KEYS):
        return None
    repository, gate, tag, run, ref, workload, secret = texts
    return About(tag, run, ref, repository, gate, workload, secret)
