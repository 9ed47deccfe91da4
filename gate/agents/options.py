"""What each kind of agent can be told in `gate.yaml` (`agent: {kind: …, …}`), checked before anything is launched.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping

from gate.agents import scenario
from gate.contracts import TurnEnd
from gate.documents import Json
from gate.errors import AgentError
from gate.plan.model import AgentPlan

PLACEHOLDERS = ("session", "prompt_file")
"""What `{NAME}` in the argv templates of a `command` agent may stand for."""

Check = Callable[[Json], str]
"""What would be right, or "" where the value is."""


def _text(value: Json) -> str:
    return "" if isinstance(value, str) and value else "a text"


def _texts(value: Json) -> str:
    return "" if isinstance(value, list) and all(isinstance(word, str) for word in value) else "a list of texts"


def _positive(value: Json) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return "" if whole and value > 0 else "a whole number above 0"


def _amount(value: Json) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "" if number and value > 0 else "a number above 0"


def _switch(value: Json) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _argv(value: Json) -> str:
    if _texts(value) or not value:
        return "a list of words, the program first"
    unknown = [name for word in value for name in re.findall(r"\{([a-z_]+)\}", word) if name not in PLACEHOLDERS]
    known = " and ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    return f"no {{{unknown[0]}}}: {known} can be filled in" if unknown else ""


def _exit_codes(value: Json) -> str:
    ends = [end.value for end in (TurnEnd.COMPLETED, TurnEnd.EMPTY, TurnEnd.FAILED, TurnEnd.SESSION_LOST)]
    ends.append(TurnEnd.SESSION_USED.value)
    good = isinstance(value, dict) and all(str(code).isdigit() and end in ends for code, end in value.items())
    return "" if good else f"exit codes, each with one of {', '.join(ends)}"


OPTIONS: Mapping[str, Mapping[str, Check]] = {
    "claude": {
        "executable": _text,
        "model": _text,
        "max_turns": _positive,
        "max_budget_usd": _amount,
        "args": _texts,
    },
    "command": {
        "start": _argv,
        "resume": _argv,
        "version_command": _argv,
        "exit_codes": _exit_codes,
        "probe": _switch,
        "tool_sessions": _switch,
    },
    "scripted": {"scenario": scenario.check},
}
REQUIRED: Mapping[str, tuple[str, ...]] = {"claude": (), "command": ("start",), "scripted": ("scenario",)}


def problems(kind: str, options: Mapping[str, Json]) -> tuple[str, ...]:
    """Every fault in the options of an agent of `kind`, each in one sentence that begins with the key."""
    known = OPTIONS[kind]
    found = [f"{key}: missing; a {kind} agent needs it" for key in REQUIRED[kind] if key not in options]
    for key, value in options.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            found.append(f"{key}: a {kind} agent has no such option; {hint}")
        elif right := known[key](value):
            found.append(f"{key}: found {str(value)[:80]!r}; right would be {right}")
    return tuple(found)


class Options:
    """The options of a plan, read by type. Raises AgentError where they are not what the kind takes."""

    def __init__(self, plan: AgentPlan) -> None:
        if found := problems(plan.kind, plan.options):
            raise AgentError(f"agent options: {'; '.join(found)}", hint="Mend `agent:` in gate.yaml.")
        self._values = plan.options

    def text(self, key: str) -> str | None:
        value = self._values.get(key)
        return None if value is None else str(value)

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(map(str, self._values.get(key, ())))

    def integer(self, key: str) -> int | None:
        value = self._values.get(key)
        return None if value is None else int(value)

    def number(self, key: str) -> float | None:
        value = self._values.get(key)
        return None if value is None else float(value)

    def switch(self, key: str) -> bool:
        return bool(self._values.get(key, False))

    def table(self, key: str) -> Mapping[str, Json]:
        value: Mapping[str, Json] = self._values.get(key, {})
        return value
