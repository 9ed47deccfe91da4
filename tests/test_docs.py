"""The documentation agrees with the code where both say the same thing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gate import cli, errors
from gate.agents.options import OPTIONS
from gate.agents.scenario import STEPS
from gate.machines.verdict import Outcome, Reason

ROOT = Path(__file__).parents[1]
DOCS = sorted(ROOT.glob("docs/**/*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS, *sorted(ROOT.glob("examples/*/README.md"))]
ROW = re.compile(r"^\| `(?P<reason>[a-z_]+)` \| (?P<outcome>[A-Z_]+) \| (?P<meaning>[^|]+) \|", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?://|#)(?P<target>[^)#]+)")


def test_every_reason_stands_once_in_the_table_in_the_order_of_the_code() -> None:
    rows = list(ROW.finditer((ROOT / "docs/verdicts.md").read_text()))
    assert [row["reason"] for row in rows] == [reason.value for reason in Reason]


def test_the_reasons_of_each_verdict_stand_together() -> None:
    """The order in the code is PASS, FAIL, ERROR, NOT_JUDGED; so a row with the wrong verdict breaks the order."""
    outcomes = [row["outcome"] for row in ROW.finditer((ROOT / "docs/verdicts.md").read_text())]
    order = [outcome.value for outcome in Outcome]
    assert outcomes == sorted(outcomes, key=order.index)


def test_the_exit_codes_are_those_of_the_code() -> None:
    text = (ROOT / "docs/verdicts.md").read_text()
    listed = {int(code) for row in re.findall(r"^\| ([0-9, ]+) \|", text, re.MULTILINE) for code in row.split(",")}
    assert listed == {value for name, value in vars(errors).items() if name.startswith("EXIT_")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    missing = [t for t in (m["target"] for m in LINK.finditer(page.read_text())) if not (page.parent / t).exists()]
    assert missing == []


def words(page: str) -> str:
    """The text of a page of docs/."""
    return (ROOT / "docs" / page).read_text()


def test_every_command_of_people_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    assert [name for name, entry in cli.COMMANDS.items() if entry.module and f"gate {name}" not in text] == []


def test_every_agent_option_is_documented() -> None:
    text = words("agents.md")
    assert [key for options in OPTIONS.values() for key in options if f"{key}:" not in text] == []


def test_every_scenario_step_is_documented() -> None:
    text = words("agents.md")
    assert [step for step in STEPS if f"| `{step}:" not in text] == []


CALL = re.compile(r"\bgate (?P<command>[a-z]+)(?P<rest>[^`|\n]*)")
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_option_in_a_call_exists(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`gate reap --stale` in a page: reap must have --stale."""
    unknown = []
    for call in CALL.finditer(page.read_text()):
        entry = cli.COMMANDS.get(call["command"])
        options = OPTION.findall(call["rest"])
        if entry is None or entry.module is None or not options:
            continue
        assert cli.run([call["command"], "--help"]) == 0
        known = set(OPTION.findall(capsys.readouterr().out))
        unknown += [f"{call['command']} {option}" for option in options if option not in known]
    assert unknown == []
