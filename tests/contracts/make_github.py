"""Makes `github.json` again: a tightened slice of GitHub's API description, without its prose.

`python -m tests.contracts.make_github` packs `@octokit/openapi` with npm (29 MB), checks it against `INTEGRITY`, and
writes the slice. The description alone lets through what GitHub refuses; what is added to it is in `_tighten`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from tests.tools.npm import npm_command, npm_environment

VERSION = "23.0.2"
INTEGRITY = "pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg=="
SLICE = Path(__file__).with_name("github.json")

Tree = dict[str, Any]
"""JSON as it comes."""

_REPO = "/repos/{owner}/{repo}"
OPERATIONS: dict[str, tuple[str, ...]] = {
    "/rate_limit": ("get",),
    "/user": ("get",),
    f"{_REPO}/actions/concurrency_groups/{{concurrency_group_name}}": ("get",),
    f"{_REPO}/actions/runs/{{run_id}}": ("get",),
    f"{_REPO}/actions/runs/{{run_id}}/cancel": ("post",),
    f"{_REPO}/actions/runs/{{run_id}}/concurrency_groups": ("get",),
    f"{_REPO}/actions/runs/{{run_id}}/deployment_protection_rule": ("post",),
    f"{_REPO}/actions/runs/{{run_id}}/jobs": ("get",),
    f"{_REPO}/actions/workflows/{{workflow_id}}/dispatches": ("post",),
    f"{_REPO}/actions/workflows/{{workflow_id}}/runs": ("get",),
    f"{_REPO}/check-runs": ("post",),
    f"{_REPO}/check-runs/{{check_run_id}}": ("get", "patch"),
    f"{_REPO}/comments/{{comment_id}}": ("get", "patch", "delete"),
    f"{_REPO}/commits/{{commit_sha}}/comments": ("get", "post"),
    f"{_REPO}/commits/{{commit_sha}}/pulls": ("get",),
    f"{_REPO}/commits/{{ref}}/status": ("get",),
    f"{_REPO}/commits/{{ref}}/statuses": ("get",),
    f"{_REPO}/dispatches": ("post",),
    f"{_REPO}/issues/comments/{{comment_id}}": ("get", "patch", "delete"),
    f"{_REPO}/issues/{{issue_number}}/comments": ("get", "post"),
    f"{_REPO}/pulls": ("get",),
    f"{_REPO}/statuses/{{sha}}": ("post",),
}
PROSE = ("description", "summary", "example", "examples", "externalDocs", "tags", "operationId")
COMMENT_BODIES = (
    (f"{_REPO}/comments/{{comment_id}}", "patch"),
    (f"{_REPO}/issues/comments/{{comment_id}}", "patch"),
    (f"{_REPO}/issues/{{issue_number}}/comments", "post"),
    (f"{_REPO}/commits/{{commit_sha}}/comments", "post"),
)


def main() -> None:
    """Write the slice."""
    with tempfile.TemporaryDirectory(prefix="gate-openapi-") as folder:
        full = _description(_packed(Path(folder)))
    made = _tighten(_sliced(full))
    SLICE.unlink(missing_ok=True)
    SLICE.write_text(json.dumps(made, sort_keys=True, separators=(",", ":")) + "\n", encoding="utf-8")
    sys.stdout.write(f"{SLICE.name}: {len(made['paths'])} paths, {SLICE.stat().st_size} bytes\n")


def _packed(folder: Path) -> Path:
    subprocess.run(
        (*npm_command(), "pack", f"@octokit/openapi@{VERSION}", "--silent", "--pack-destination", str(folder)),
        env=npm_environment(),
        cwd=folder,
        check=True,
        timeout=600,
        stdout=subprocess.DEVNULL,
    )
    (found,) = folder.glob("*.tgz")
    digest = base64.b64encode(hashlib.sha512(found.read_bytes()).digest()).decode()
    if digest != INTEGRITY:
        raise SystemExit(f"{found.name} is not what {INTEGRITY[:16]}… says: sha512 {digest}")
    return found


def _description(packed: Path) -> Tree:
    with tarfile.open(packed) as archive:
        member = archive.extractfile("package/generated/api.github.com.json")
        assert member is not None
        return cast("Tree", json.load(member))


def _sliced(full: Tree) -> Tree:
    paths = {
        path: {method: _bare(full["paths"][path][method]) for method in methods} for path, methods in OPERATIONS.items()
    }
    components: dict[str, Tree] = {}
    pending = list(_references(paths))
    while pending:
        _, kind, name = pending.pop().removeprefix("#/").split("/")
        if name not in components.setdefault(kind, {}):
            components[kind][name] = _bare(full["components"][kind][name])
            pending += _references(components[kind][name])
    info = {key: full["info"][key] for key in ("title", "version", "license", "contact", "termsOfService")}
    servers = [{"url": server["url"]} for server in full["servers"]]
    return {"openapi": full["openapi"], "info": info, "servers": servers, "paths": paths, "components": components}


def _bare(node: Any, *, names: bool = False) -> Any:
    """Without prose and extensions. `names`: the keys are names of properties, and all stay."""
    if isinstance(node, list):
        return [_bare(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: _bare(value, names=key == "properties" and not names)
        for key, value in node.items()
        if names or not (key in PROSE or key.startswith("x-"))
    }
    if not names and isinstance(node.get("description"), str) and ("content" in node or _is_response(node)):
        kept["description"] = ""  # a response must have one
    return kept


def _is_response(node: Tree) -> bool:
    return set(node) <= {"description", "headers", "content", "links"} or "x-github-response" in node


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            yield reference
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _tighten(made: Tree) -> Tree:
    """What GitHub enforces and its description does not say, and the one query that has no description of this kind."""
    status = _body(made, f"{_REPO}/statuses/{{sha}}", "post")
    status["additionalProperties"] = False
    status["properties"]["description"]["maxLength"] = 140
    for path, method in COMMENT_BODIES:
        body = _body(made, path, method)
        body["additionalProperties"] = False
        body["properties"]["body"]["maxLength"] = 65_536
    made["components"]["parameters"]["per-page"]["schema"]["maximum"] = 100
    made["paths"]["/graphql"] = {"post": _viewer()}
    for answer in _answers(made):
        content = answer.get("content", {})
        if "application/json" in content:
            content["application/vnd.github+json"] = content["application/json"]
    return made


def _body(made: Tree, path: str, method: str) -> Tree:
    return cast("Tree", made["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"])


def _answers(made: Tree) -> Iterator[Tree]:
    for operations in made["paths"].values():
        for operation in operations.values():
            yield from operation["responses"].values()
    yield from made["components"].get("responses", {}).values()


def _viewer() -> Tree:
    """GraphQL's `viewer`, asked in exactly one way: installation tokens have no `/user`."""
    login = _object({"login": {"type": "string"}})
    answer = _object({"data": _object({"viewer": login})})
    ask = _object({"query": {"type": "string", "enum": ["query { viewer { login } }"]}})
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": ask}}},
        "responses": {"200": {"description": "", "content": {"application/json": {"schema": answer}}}},
    }


def _object(properties: Tree) -> Tree:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


if __name__ == "__main__":
    main()
