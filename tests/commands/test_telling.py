"""What commands print reaches any terminal and any program."""

from __future__ import annotations

import io
import json
import sys

import pytest

from gate.commands.telling import tell, tell_json

HALF = "half \ud83d"
"""The first half of an emoji, cut by a program that counts UTF-16."""


def printed(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="utf-8", errors="strict", write_through=True))
    return raw


def test_half_an_emoji_is_json_that_reads_back_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = printed(monkeypatch)
    tell_json({"said": HALF, "name": "Ω 🎉"})
    said = raw.getvalue().decode("utf-8")
    assert json.loads(said) == {"said": HALF, "name": "Ω 🎉"}
    assert "🎉" in said, "what can be written is"


def test_half_an_emoji_in_a_line_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = printed(monkeypatch)
    tell(HALF)
    assert raw.getvalue() == b"half \\ud83d\n"
