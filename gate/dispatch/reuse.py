"""`--reuse VERSION`: the artifact that an earlier run of that version staged, and whose it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gate.dispatch.digests import sha256_file
from gate.errors import ArtifactError, DocumentError
from gate.plan.model import ArtifactPlan
from gate.rundir import layout
from gate.rundir.formats import Manifest
from gate.rundir.runs import RunPlace


@dataclass(frozen=True, slots=True)
class Reused:
    """`artifact` has the staged copy as its source. `origin` goes into the new run's manifest."""

    version: str
    artifact: ArtifactPlan
    origin: Mapping[str, str]

    def sentence(self) -> str:
        """Whose commit and run staged it, for people."""
        by = f"run {self.origin['run']}, commit {self.origin['commit'] or '(none)'}"
        url = f", {self.origin['url']}" if self.origin.get("url") else ""
        what = f"artifact {self.artifact.name} ({self.artifact.digest})"
        return f"{what} as staged by {by}{url}; prompts and files are of this checkout"


async def reuse(places: Sequence[RunPlace], version: str) -> Reused:
    """The newest staging of `version` among the gate's runs, its digest verified. Raises ArtifactError, StoreError."""
    found: list[tuple[RunPlace, Manifest]] = []
    seen: set[str] = set()
    for place in places:
        try:
            manifest = await place.open().manifest()
        except DocumentError:
            continue  # what cannot be read was not staged by a run that can be named
        if manifest is not None:
            seen.add(manifest.version)
            if manifest.version == version:
                found.append((place, manifest))
    if not found:
        known = ", ".join(sorted(seen)) or "none at all"
        raise ArtifactError(f"--reuse {version}: no run of this gate staged that version", hint=f"Staged: {known}.")
    place, manifest = max(found, key=lambda each: each[1].staged_at)
    return Reused(version, _verified(place, manifest), _origin(place, manifest))


def _verified(place: RunPlace, manifest: Manifest) -> ArtifactPlan:
    artifact = manifest.artifact
    if artifact.kind in ("image", "none"):
        return artifact
    path = place.path / layout.STAGED_ARTIFACT / artifact.name
    digest = sha256_file(path) if path.is_file() else "nothing"
    if digest != artifact.digest:
        raise ArtifactError(
            f"--reuse: {path}: staged as {artifact.digest}, found {digest}",
            hint="Build it again instead of reusing it.",
        )
    return replace(artifact, kind="file", source=str(path))


def _origin(place: RunPlace, manifest: Manifest) -> Mapping[str, str]:
    origin = {"version": manifest.version, "commit": manifest.commit, "run": manifest.run or place.run}
    return origin | {"url": manifest.ci["url"]} if manifest.ci.get("url") else origin
