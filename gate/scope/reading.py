"""A change, read: the paths that differ and the version on both sides; and what gate.yaml says of scopes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gate.errors import ConfigError, ScopeError
from gate.plan.config import VersionSource
from gate.plan.legs import select
from gate.plan.load import Gate
from gate.plan.nodes import MapNode, read_yaml
from gate.plan.templates import SHIPPED_PREFIX
from gate.plan.version import read_version
from gate.scope.history import EMPTY_TREE, History
from gate.scope.model import Change, Rules, Versions
from gate.scope.span import Span

STANDARD = "pyproject.toml"
"""Where the version stands unless gate.yaml says otherwise (PEP 621)."""


def rules_of(gate: Gate, top: Path) -> Rules:
    """What gate.yaml says of scopes. The gate's own files are gate.yaml, its prompts, and `scope.gate_paths`."""
    every = tuple(leg.id for leg in gate.legs)
    patterns = gate.file.scope.fast
    fast = select(patterns, every) if patterns else ()
    return Rules((*own_files(gate, top), *gate.file.scope.gate_paths), every, fast)


def own_files(gate: Gate, top: Path) -> tuple[str, ...]:
    """gate.yaml and the folders (or files beside gate.yaml) in which its prompts lie, as globs from `top`."""
    found = [_from(top, gate.path)]
    for name in _prompts(gate):
        path = gate.folder / name
        alone = path.parent.resolve() == gate.folder.resolve()
        found.append(_from(top, path if alone else path.parent))
    return tuple(dict.fromkeys(_escaped(one) for one in found))


def read_change(history: History, span: Span, gate: Gate) -> Change:
    """The change of `span`. Raises ConfigError (a version that cannot be read at the head), ScopeError."""
    base = span.base if span.base is not None else EMPTY_TREE
    paths = history.changed(base, span.head)
    source = _source(history, span.head, gate)
    return Change(span.base, span.head, span.since, paths, source.versions(span))


def version_at(history: History, commit: str, gate: Gate) -> str | None:
    """The product's version at `commit`, or None where its file is not there. Raises ConfigError, ScopeError."""
    return _source(history, commit, gate).at(commit)


@dataclass(frozen=True, slots=True)
class _Source:
    history: History
    gate: Gate
    source: VersionSource
    folder: Path
    """Where `source.file` starts."""

    @property
    def path(self) -> str:
        return _from(self.history.folder, self.folder / self.source.file)

    def at(self, commit: str) -> str | None:
        """The version there."""
        return self._at(commit, self.path, self.source)

    def versions(self, span: Span) -> Versions:
        after = self.at(span.head)
        if after is None:
            gone = "" if span.base is None or self._raw(span.base, self.path) is None else ", and was before"
            hint = f"{_where(self.gate)} says where the version stands: scope.version: {{file: …, key: …}}"
            raise ScopeError(f"{self.path} is not there at {span.head[:10]}{gone}", hint=hint)
        if span.base is None:
            return Versions(None, after, span.since)
        try:
            return self._before(span, span.base, after)
        except ConfigError as error:
            return Versions(None, after, f"the one before cannot be read: {error.message}")

    def _before(self, span: Span, base: str, after: str) -> Versions:
        """Under its name, under the one it had, or where gate.yaml said then."""
        path = self.path
        names = (path, self.history.name_before(base, span.head, path))
        for name in names:
            found = None if name is None else self._at(base, name, self.source)
            if found is not None:
                return Versions(found, after)
        then = self._source_then(base)
        found = None if then is None else self._at(base, _from(self.history.folder, self.folder / then.file), then)
        return Versions(found, after, "" if found is not None else f"{path} is new")

    def _source_then(self, base: str) -> VersionSource | None:
        """`scope.version` of the gate.yaml of that time, or None."""
        raw = self._raw(base, _from(self.history.folder, self.gate.path))
        root = None if raw is None else read_yaml(raw, self.gate.path.name)
        rules = root.items.get("scope") if isinstance(root, MapNode) else None
        node = rules.items.get("version") if isinstance(rules, MapNode) else None
        plain = None if node is None else node.plain()
        if isinstance(plain, str):
            return VersionSource(file=plain, key=None)
        if isinstance(plain, dict) and isinstance(plain.get("file"), str):
            key = plain.get("key")
            return VersionSource(file=plain["file"], key=key if isinstance(key, str) else None)
        return None

    def _raw(self, commit: str, path: str) -> bytes | None:
        return self.history.content(commit, path)

    def _at(self, commit: str, path: str, source: VersionSource) -> str | None:
        raw = self._raw(commit, path)
        if raw is None:
            return None
        where = f"at {commit[:10]}"
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConfigError(f"scope.version: {path} {where} is no UTF-8 text: {error}") from None
        named = VersionSource(file=PurePosixPath(path).name, key=source.key)
        try:
            return read_version(named, Path(path).parent, text)
        except ConfigError as error:
            raise ConfigError(f"{error.message} ({where})", hint=error.hint) from None


def _source(history: History, head: str, gate: Gate) -> _Source:
    if gate.file.scope.version is not None:
        return _Source(history, gate, gate.file.scope.version, gate.folder)
    for folder in dict.fromkeys((gate.folder.resolve(), history.folder.resolve())):
        if history.content(head, _from(history.folder, folder / STANDARD)) is not None:
            return _Source(history, gate, VersionSource(file=STANDARD, key=None), folder)
    raise ScopeError(
        f"where the product's version stands is not known: there is no {STANDARD}, and {_where(gate)} does not say",
        hint="Say it in gate.yaml: scope: {version: {file: package.json, key: version}}",
    )


def _where(gate: Gate) -> str:
    return gate.path.name


def _prompts(gate: Gate) -> list[str]:
    """Prompt files of this gate's own, as gate.yaml names them."""
    names = list(gate.file.prompts.model_dump().values())
    for source in gate.legs:
        if source.config is not None:
            names += [part.prompt for part in (source.config.setup, source.config.task) if part is not None]
    return [name for name in dict.fromkeys(names) if not name.startswith(SHIPPED_PREFIX) and len(name.split()) == 1]


def _from(top: Path, path: Path) -> str:
    """`path` from the repository's top, with slashes. Raises ScopeError for one outside of it."""
    full, root = Path(os.path.normpath(path.absolute())), top
    for candidate in (full, full.parent.resolve() / full.name):
        for start in (root, root.resolve()):
            if candidate.is_relative_to(start):
                return candidate.relative_to(start).as_posix()
    raise ScopeError(f"{path} lies outside of the repository {top}", hint="Its history cannot be looked at there.")


def _escaped(path: str) -> str:
    """A path as a glob that means just it."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)
