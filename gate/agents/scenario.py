"""A scenario: what a scripted agent does in each turn. For demonstrations and tests; written beside `gate.yaml`.

    version: 1
    turns:                      # the turns in their order, each a list of steps
      - - say: Unpacking.
        - run: python3 -m zipfile --extract "$GATE_ARTIFACT" product
      - - say: "{marker}"
    then:                       # every later turn; without it a later turn fails
      - say: Nothing is left to do.
    legs:                       # other turns for some legs, by id or glob; the first that matches counts
      patient:
        turns: [...]

Steps (one key each):

| step | does |
|---|---|
| `say: TEXT` | adds a paragraph to the answer; `{marker}` is the completion line that the prompts ask for |
| `write: {path, text or json, append}` | writes a file; `$NAME` of the environment is filled in in the path |
| `run: COMMAND` or `{command, check}` | runs `sh -c` and waits; a failure fails the turn unless `check: false` |
| `background: COMMAND` | starts `sh -c … &` as a careless agent does: it ends with a turn that is ended by time |
| `detach: COMMAND` | starts it with `setsid nohup`: it outlives the turn |
| `sleep: SECONDS` | waits |
| `hang: true` or `stubborn` | waits for ever; a stubborn one ignores SIGTERM |
| `mute: true` | as a first step: not one byte of output until the next step has ended |
| `fail: TEXT` | ends the turn as an API error does |
| `empty: true` | ends the turn with an empty answer |
| `exit: CODE` | ends the command line without a result |
| `die: SIGNAL` | ends it by that signal (`KILL`, `TERM`, …) |
| `lose_session: true` | forgets the conversation: it cannot be resumed |
| `usage: {input_tokens, output_tokens, cost_usd}` | what the turn says that it used |

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import difflib
import fnmatch
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence

from gate.documents import Json
from gate.errors import ConfigError

VERSION = 1

Steps = Sequence[Mapping[str, Json]]
Fault = tuple[str, str]
"""A path in the scenario, and what is wrong there."""


def validate(value: Json, where: str) -> Json:
    """`value` (plain JSON), which is a scenario. Raises ConfigError with all faults; `where` names the file."""
    faults = [f"{where}: {path or 'top level'}: {fault}" for path, fault in _scenario(value)]
    if faults:
        raise ConfigError("\n".join(faults), hint="docs/agents.md describes scenarios.")
    return value


def check(value: Json) -> str:
    """What would be right, or "" where `value` is a scenario."""
    faults = [f"{path or 'top level'}: {fault}" for path, fault in _scenario(value)]
    return f"a scenario ({'; '.join(faults)})" if faults else ""


def steps_of(scenario: Mapping[str, Json], leg: str, turn: int) -> Steps | None:
    """The steps of `leg`'s turn number `turn` (from 0), or None where the scenario has none for it."""
    chosen = scenario
    for pattern, own in scenario.get("legs", {}).items():
        if fnmatch.fnmatchcase(leg, pattern):
            chosen = own
            break
    turns: Sequence[Steps] = chosen.get("turns", ())
    later: Steps | None = chosen.get("then")
    return turns[turn] if turn < len(turns) else later


def _scenario(value: Json) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield "", f"expected a mapping with version and turns, found {_shown(value)}"
        return
    yield from _keys(value, "", ("version", "turns", "then", "legs"))
    if value.get("version") != VERSION or isinstance(value.get("version"), bool):
        yield "version", f"expected {VERSION}, found {_shown(value.get('version'))}"
    legs = value.get("legs", {})
    if "turns" not in value and not legs:
        yield "turns", "missing; a list of turns, each a list of steps"
    yield from _course(value, "")
    if not isinstance(legs, dict):
        yield "legs", f"expected a mapping of leg ids or globs, found {_shown(legs)}"
        return
    for leg, own in legs.items():
        path = f"legs.{leg}"
        if not isinstance(own, dict) or "turns" not in own:
            yield path, f"expected a mapping with turns, found {_shown(own)}"
            continue
        yield from _keys(own, path, ("turns", "then"))
        yield from _course(own, f"{path}.")


def _course(value: Mapping[str, Json], prefix: str) -> Iterator[Fault]:
    turns = value.get("turns", [])
    if isinstance(turns, list):
        for number, steps in enumerate(turns):
            yield from _steps(steps, f"{prefix}turns[{number}]")
    else:
        yield f"{prefix}turns", f"expected a list of turns, found {_shown(turns)}"
    if "then" in value:
        yield from _steps(value["then"], f"{prefix}then")


def _steps(steps: Json, path: str) -> Iterator[Fault]:
    if not isinstance(steps, list) or not steps:
        yield path, f"expected a list of steps, found {_shown(steps)}"
        return
    for number, step in enumerate(steps):
        here = f"{path}[{number}]"
        if not isinstance(step, dict) or len(step) != 1:
            yield here, f"expected one step as `name: value`, found {_shown(step)}"
            continue
        ((name, value),) = step.items()
        if name not in STEPS:
            yield here, f"no step {name!r}{_near(str(name), STEPS)}"
        elif expected := STEPS[name](value):
            yield f"{here}.{name}", f"expected {expected}, found {_shown(value)}"


def _keys(value: Mapping[str, Json], path: str, known: Sequence[str]) -> Iterator[Fault]:
    for key in value:
        if key not in known:
            yield path, f"no key {key!r}{_near(str(key), known)}"


def _near(word: str, known: Sequence[str] | Mapping[str, object]) -> str:
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"


def _shown(value: Json) -> str:
    return "nothing" if value is None else repr(value)[:80]


# --- what each step takes: what is expected, or "" where the value is right -----------------------------


def _text(value: Json) -> str:
    return "" if isinstance(value, str) and value.strip() else "a text"


def _true(value: Json) -> str:
    return "" if value is True else "true"


def _seconds(value: Json) -> str:
    return "" if _number(value) and value >= 0 else "seconds, as a number"


def _code(value: Json) -> str:
    return "" if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 255 else "an exit code"


def _signal(value: Json) -> str:
    known = isinstance(value, str) and f"SIG{value}" in signal.Signals.__members__
    return "" if known else "a signal's name, as KILL"


def _hang(value: Json) -> str:
    return "" if value is True or value == "stubborn" else "true or 'stubborn'"


def _write(value: Json) -> str:
    expected = "a mapping with path, and either text or json (and append: true or false)"
    if not isinstance(value, dict) or _text(value.get("path")):
        return expected
    if set(value) - {"path", "text", "json", "append"} or ("text" in value) == ("json" in value):
        return expected
    good = isinstance(value.get("text", ""), str) and isinstance(value.get("append", False), bool)
    return "" if good else expected


def _run(value: Json) -> str:
    expected = "a command, or a mapping with command and check"
    if isinstance(value, str):
        return "" if value.strip() else expected
    if not isinstance(value, dict) or set(value) - {"command", "check"} or _text(value.get("command")):
        return expected
    return "" if isinstance(value.get("check", True), bool) else expected


def _usage(value: Json) -> str:
    known = {"input_tokens", "output_tokens", "cost_usd"}
    good = isinstance(value, dict) and set(value) <= known and all(_number(n) and n >= 0 for n in value.values())
    return "" if good else f"a mapping of {', '.join(sorted(known))} to numbers"


def _number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


STEPS: Mapping[str, Callable[[Json], str]] = {
    "say": _text,
    "write": _write,
    "run": _run,
    "background": _text,
    "detach": _text,
    "sleep": _seconds,
    "hang": _hang,
    "mute": _true,
    "fail": _text,
    "empty": _true,
    "exit": _code,
    "die": _signal,
    "lose_session": _true,
    "usage": _usage,
}
