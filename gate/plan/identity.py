"""Names and tags: deterministic, valid where they are used, and different for different things.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import base64
import hashlib
import re
import uuid

ENV_TAG = "GATE_TAG"
ENV_WORKLOAD = "GATE_WORKLOAD"
ENV_LEG = "GATE_LEG"
ENV_LEG_ROOT = "GATE_LEG_ROOT"
ENV_WORKSPACE = "GATE_WORKSPACE"
ENV_SESSION = "GATE_SESSION_DIR"
ENV_STATE_FILE = "GATE_STATE_FILE"
ENV_ARTIFACT = "GATE_ARTIFACT"
ENV_GPU = "GATE_GPU"
ENV_LEG_SHARE = "GATE_LEG_"
"""`GATE_LEG_2_CONTAINER_CPUS` of a shared workload is `GATE_CONTAINER_CPUS` of its leg at position 2 and no other."""


def tag(repository: str, gate: str, version: str, run: str, attempt: int) -> str:
    """The attempt's tag: 10 lower-case base32 characters of sha256 over its identity."""
    text = "\0".join((repository, gate, version, run, str(attempt)))
    return base64.b32encode(hashlib.sha256(text.encode()).digest()).decode().lower()[:10]


def workload_name(gate: str, workload: str, run_tag: str, limit: int) -> str:
    """A workload's name for an engine that allows `limit` characters: a letter, then letters, digits and dashes.

    `gate-workload-tag` where it fits and loses nothing, else cut with a hash of the full names before the tag.
    """
    plain = f"{gate}-{workload}"
    slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-") or "x"
    slug = slug if slug[0].isalpha() else f"g{slug}"
    room = limit - len(run_tag) - 1
    if slug != plain or len(slug) > room:
        digest = hashlib.sha256(f"{gate}\0{workload}".encode()).hexdigest()[:6]
        slug = f"{slug[: room - 7].rstrip('-')}-{digest}"
    return f"{slug}-{run_tag}"


def session_id(run_tag: str, leg: str, incarnation: str, ordinal: int) -> str:
    """The id of the conversation that the turn `ordinal` starts, a UUID as the Claude CLI demands."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"gate:{run_tag}:{leg}:{incarnation}:{ordinal}"))


def marker(gate: str, leg: str) -> str:
    """The completion marker of a leg's set-up."""
    return f"GATE-SETUP-COMPLETE {gate}/{leg}"


def mark(run_tag: str, workload: str) -> int:
    """The inherited mark of a workload's processes: a value of the RLIMIT_RTTIME resource limit.

    It passes to every descendant, `env -i`, `setsid` and closed descriptors included, limits only processes under a
    real-time scheduler, and is far longer than any of those run (about 36,000 years in microseconds).
    """
    digest = hashlib.sha256(f"{run_tag}\0{workload}".encode()).digest()
    return (1 << 60) | (int.from_bytes(digest[:8], "big") >> 4)


def axis_variable(axis: str) -> str:
    """The environment variable in which a leg of a matrix finds its value of `axis`: `hours` is GATE_AXIS_HOURS."""
    return f"GATE_AXIS_{axis.upper()}"
