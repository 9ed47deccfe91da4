"""Removing a run's directory: what the operating system refuses is named, never a crash."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from gate.reap.tree import Tree
from gate.rundir.runs import RunPlace


def test_a_plain_file_that_cannot_be_removed_is_named_as_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "owner" / "demo" / "runs" / "1"
    run.mkdir(parents=True)
    stubborn = run / "note"
    stubborn.write_text("x", encoding="utf-8")

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    freed, left = anyio.run(Tree(tmp_path, RunPlace("owner", "demo", "1", run)).remove, ())
    assert freed == 0
    assert left == [f"{stubborn}: Operation not permitted"]
    assert stubborn.exists()
