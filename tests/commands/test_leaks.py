"""A secret that a leg writes to a file of its own is told at the end of the run, and whenever one asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.test_cli import Cli

GATE = """\
version: 1
gate: g
artifact: none
budgets: {interval: 200ms}
secrets: {TOKEN: {env: TOKEN}}
legs:
  a:
    run: echo "$TOKEN" > note; mkdir -p "$(dirname "$GATE_STATE_FILE")"; echo '{"done":true}' > "$GATE_STATE_FILE"
    secrets: [TOKEN]
    judge: {finished: {done: true}, pass: {done: true}}
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    (tmp_path / "gate.yaml").write_text(GATE, encoding="utf-8")
    return Cli(tmp_path)


def test_a_passed_leg_whose_secret_stands_in_a_file(cli: Cli) -> None:
    done = cli("run", "--run", "r1", TOKEN="very-secret-value")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "⚠ secrets in files of leg a: workspace/note: TOKEN\n" in done.stdout
    assert "secrets   in workspace/note: TOKEN\n" in cli("explain", "a").stdout
    assert json.loads(cli("explain", "a", "--json").stdout)["secret_hits"] == ["workspace/note: TOKEN"]
    assert "very-secret-value" not in done.stdout + done.stderr


def test_a_short_secret_says_what_to_do(cli: Cli) -> None:
    done = cli("run", TOKEN="short")
    assert done.returncode == 2
    assert "its value has 5 bytes; with fewer than 8" in done.stderr
    assert "what is no secret can stand in `env`" in done.stderr
