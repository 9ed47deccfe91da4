"""Which version of the product this is about."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import tomllib

from gate.errors import ArtifactError, ConfigError
from gate.plan.artifact import wheel_version
from gate.plan.config import VersionSource
from gate.plan.model import ArtifactPlan
from gate.plan.nodes import read_yaml

KEYS = {"pyproject.toml": "project.version", "package.json": "version", "Cargo.toml": "package.version"}
UNVERSIONED = "unversioned"
"""Of a gate without an artifact, whose version nobody says."""


def product_version(given: str | None, source: VersionSource | None, artifact: ArtifactPlan, folder: Path) -> str:
    """`given`, else what `source` says, else the wheel's, else the artifact's digest, short.

    Raises ConfigError (the source cannot be read) and ArtifactError (the wheel is of another version than the source).
    """
    if given is not None:
        if not given.strip():
            raise ConfigError("--version: found nothing; expected the product's version")
        return given.strip()
    wheel = wheel_version(artifact.name)
    if source is not None:
        written = read_version(source, folder)
        if wheel is not None and _normal(wheel) != _normal(written):
            hint = "The artifact is stale: build it again, or say --version."
            raise ArtifactError(f"{artifact.name} is version {wheel}, {source.file} says {written}", hint=hint)
        return written
    if wheel is not None:
        return wheel
    return artifact.digest.removeprefix("sha256:")[:12] or UNVERSIONED


def read_version(source: VersionSource, folder: Path, text: str | None = None) -> str:
    """The version that stands in `source`; `text` stands for its content at another commit. Raises ConfigError."""
    path = folder / source.file
    key = source.key or KEYS.get(path.name)
    if key is None:
        raise ConfigError(f"scope.version: found {source.file} without a key; expected {{file: {source.file}, key: …}}")
    try:
        content = path.read_text(encoding="utf-8") if text is None else text
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"scope.version: {path} cannot be read: {error}") from None
    found = _look_up(path, key, content)
    if not isinstance(found, str) or not found.strip():
        raise ConfigError(f"scope.version: {path} has no text at {key!r}, found {found!r}")
    return found.strip()


def _look_up(path: Path, key: str, content: str) -> Any:
    try:
        if path.suffix == ".toml":
            return _dotted(tomllib.loads(content), key)
        if path.suffix == ".json":
            return _dotted(json.loads(content), key)
    except ValueError as error:
        raise ConfigError(f"scope.version: {path} is malformed: {error}") from None
    if path.suffix in (".yaml", ".yml"):
        return _dotted(read_yaml(content.encode(), path.name).plain(), key)
    match = re.search(rf"^\s*{re.escape(key)}\s*(?::\s*\w+\s*)?=\s*[\"']([^\"']+)[\"']", content, re.MULTILINE)
    return match[1] if match else None


def _dotted(value: Any, key: str) -> Any:
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _normal(version: str) -> str:
    return re.sub(r"[-_.+]+", ".", version.lower()).removeprefix("v")
