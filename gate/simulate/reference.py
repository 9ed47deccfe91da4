"""`python -m gate.simulate.reference` writes the menu of faults into docs/simulate.md from the code that knows it."""

from __future__ import annotations

from pathlib import Path

from gate.plan.duration import format_duration
from gate.simulate.menu import MENU, Item
from gate.simulate.scenario_file import KEYS

FILE = Path(__file__).resolve().parents[2] / "docs" / "simulate.md"
BEGIN = "<!-- the menu: python -m gate.simulate.reference -->\n"
END = "<!-- end of the menu -->\n"


def menu() -> str:
    """The menu as a table."""
    rows = ["| fault | what happens | keys |", "|---|---|---|"]
    rows += [f"| `{kind}` | {_what(item)} | {_keys(item)} |" for kind, item in MENU.items()]
    return "\n".join(rows) + "\n"


def _what(item: Item) -> str:
    return item.what.replace("`seconds`", "`by`")


def _keys(item: Item) -> str:
    usual = {"lasts": item.lasts, "seconds": item.seconds}
    shown = []
    for field in item.fields:
        key, value = KEYS.get(field, field), usual.get(field)
        shown.append(f"`{key}`" if value is None else f"`{key}` ({_spelled(value)})")
    return ", ".join(shown)


def _spelled(seconds: float) -> str:
    return "for ever" if seconds > 5 * 86_400 else format_duration(seconds)


def page(text: str) -> str:
    """The page with its menu brought up to date."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{menu()}\n{END}{after}"


if __name__ == "__main__":
    FILE.write_text(page(FILE.read_text(encoding="utf-8")), encoding="utf-8")
