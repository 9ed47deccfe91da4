"""What a glob of gate_paths means."""

from __future__ import annotations

import pytest

from gate.scope.globs import matches


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("ci/gate/**", "ci/gate/a/b.sh"),
        ("ci/gate", "ci/gate/a/b.sh"),
        ("ci/gate/", "ci/gate/x"),
        ("/ci/gate", "ci/gate"),
        ("./ci", "ci/x"),
        ("**/judge.py", "judge.py"),
        ("**/judge.py", "a/b/judge.py"),
        ("*.md", "README.md"),
        ("a[.]py", "a.py"),
        ("[!b].py", "a.py"),
        ("a[*]b", "a*b"),
        ("a[[]b", "a[b"),
        ("a/*/c", "a/b/c/d"),
        ("ü?.txt", "üé.txt"),
    ],
)
def test_matches(pattern: str, path: str) -> None:
    assert matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("ci/gate", "ci/gateway/x"),
        ("*.md", "docs/README.md"),
        ("a?c", "a/c"),
        ("judge.py", "tools/judge.py"),
        ("a.py", "axpy"),
        ("[!b].py", "b.py"),
        ("a[*]b", "axb"),
    ],
)
def test_does_not_match(pattern: str, path: str) -> None:
    assert not matches(pattern, path)
