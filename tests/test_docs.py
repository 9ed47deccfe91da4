"""The documentation agrees with the code where both say the same thing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gate import errors
from gate.machines.verdict import Outcome, Reason

ROOT = Path(__file__).parents[1]
DOCS = sorted(ROOT.glob("docs/*.md"))
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
