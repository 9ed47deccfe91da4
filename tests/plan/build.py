"""Small gates on disk, for tests."""

from __future__ import annotations

from pathlib import Path

from gate.plan.resolve import Choice, Resolved, resolve_unchecked

JUDGE = "judge: {finished: {done: true}, pass: {ok: true}}\n"
COMMAND = f"version: 1\ngate: g\nartifact: none\n{JUDGE}legs:\n  a: {{run: 'true', budget: 10m}}\n"
AGENT = (
    f"version: 1\ngate: g\nartifact: none\n{JUDGE}"
    "agent: {kind: command, version: '1', start: [agent], resume: [agent]}\n"
    "legs:\n  a:\n    setup: {prompt: Set it up.}\n    task: {prompt: Run it now.}\n"
)


def write(folder: Path, text: str, **files: str) -> Path:
    """gate.yaml with `text`, and other files by their paths."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    path = folder / "gate.yaml"
    path.write_text(text)
    return path


def resolved(folder: Path, text: str, choice: Choice | None = None, **files: str) -> Resolved:
    """The plan of such a gate, outside CI."""
    return resolve_unchecked(write(folder, text, **files), choice, {})
