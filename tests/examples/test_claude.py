"""The example with the real Claude CLI, by following its README literally; a scripted model answers on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.plan.identity import marker
from tests.examples.tree import ROOT, Tree, commands, exit_codes, make_tree
from tests.tools.claude_cli import VERSION, claude
from tests.tools.messages_api import MessagesApi, bash, text

README = Path("examples/claude/README.md")
KEY = "sk-ant-of-the-example"


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    """The model."""
    with MessagesApi() as server:
        yield server


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A newcomer's copy after `make wheel claude`."""
    made = make_tree(tmp_path)
    claude()
    (tmp_path / ".cache").symlink_to(ROOT / ".cache")
    return made


def test_it_passes_as_the_readme_says(tree: Tree, api: MessagesApi) -> None:
    api.script(
        [
            text("The wheel is there. I will unpack it next."),
            bash('python3 -m zipfile --extract "$GATE_ARTIFACT" product'),
            text(f"It is unpacked.\n{marker('claude', 'agent')}"),
            bash("setsid nohup python3 smoke.py product >smoke.log 2>&1 </dev/null &"),
            text("smoke.py runs."),
        ]
    )
    script = commands(tree.path / README).replace("ANTHROPIC_API_KEY=...", f"ANTHROPIC_API_KEY={KEY}")
    ended = tree.run(script, ANTHROPIC_BASE_URL=api.env["ANTHROPIC_BASE_URL"])
    assert re.findall(r"^\d+$", ended.stdout, re.MULTILINE) == exit_codes(tree.path / README), (
        ended.stdout + ended.stderr
    )
    assert ended.returncode == 0, ended.stderr
    assert f"{VERSION} (Claude Code)" in ended.stdout
    (run,) = (tree.path / "home/state/runs").glob("*/claude/runs/*")
    (verdict,) = run.glob("gate/verdicts/*/agent.json")
    assert json.loads(verdict.read_text())["outcome"] == "PASS"
    (result,) = run.glob("legs/agent/*/*/leg.json")
    leg = json.loads(result.read_text())
    # Its outcome is "finished" or "stopped": the poller may see the finished state file before bootstrap does.
    assert (leg["turns"], leg["recaps"], leg["agent_version"]) == (3, 0, VERSION)
    assert any("is not complete yet" in prompt for prompt in api.prompts(1))
    written = [path for path in (tree.path / "home").rglob("*") if path.is_file()]
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


def test_the_version_of_readme_gate_and_tests_is_one(tree: Tree) -> None:
    page = (tree.path / README).read_text()
    assert set(re.findall(r"\d+\.\d+\.\d{3}", page)) == {VERSION}
    assert f"version: {VERSION}" in (tree.path / "examples/claude/gate.yaml").read_text()
