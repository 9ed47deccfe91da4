"""A leg's digest: equal where a PASS may be carried from one attempt to the next."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from gate.documents import Json, encode
from gate.plan.model import ArtifactPlan, EnginePlan, LegPlan, Resources

NOT_OF_THE_RESULT = frozenset(("digest", "blocking"))
"""Fields of a leg that change what follows from its result, not the result."""


def leg_digest(
    leg: LegPlan, files: Mapping[str, str], artifact: ArtifactPlan, engine: EnginePlan, resources: Resources
) -> str:
    """sha256 over all that can change the leg's result: its plan, the contents of its `files` (path to digest), the
    artifact, the kind of engine and what the workload gets. Where an artifact lies does not count, its digest does."""
    body: Json = {
        "leg": {key: value for key, value in encode(leg).items() if key not in NOT_OF_THE_RESULT},
        "files": dict(files),
        "artifact": [artifact.kind, artifact.digest],
        "engine": engine.kind,
        "resources": encode(resources),
    }
    text = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
