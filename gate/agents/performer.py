"""One turn of a scripted agent, as a process of its own: `python -c … ROOT` with the turn as JSON on stdin.

It prints one JSON object a line: `{"shown": TEXT}` for the transcript and, last, `{"result": {...}}`. What its commands
print goes to stderr. Conversations lie in `$HOME/.gate-scripted/SESSION.json`; turns are counted over all of them.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from gate.agents.scenario import steps_of
from gate.documents import Json
from gate.plan.identity import marker

SESSION_LOST = 64
SESSION_USED = 65

MARKER = re.compile(rf"^{re.escape(marker('', '').partition(' ')[0])} \S+/\S+$", re.MULTILINE)
"""The completion line in a prompt."""


@dataclass(frozen=True)
class Play:
    """What a turn is given."""

    scenario: dict[str, Json]
    leg: str
    session: str
    resume: bool
    prompt: str


@dataclass
class Turn:
    """A turn being played. `muted`: nothing is printed yet."""

    play: Play
    marker: str
    conversation: Path
    said: list[str] = field(default_factory=list)
    usage: dict[str, Json] = field(default_factory=dict)
    muted: bool = False
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def show(self, text: str) -> None:
        if not self.muted:
            _print({"shown": text})

    def filled(self, text: str) -> str:
        """`text` with the completion line that the prompts ask for."""
        return text.replace("{marker}", self.marker)

    def finish(self, text: str, *, failed: bool) -> NoReturn:
        """End the turn with a result."""
        self.muted = False
        _print({"result": {"text": text, "failed": failed, **self.usage}})
        _leave(1 if failed else 0)


def main() -> None:
    """Play one turn."""
    play = Play(**json.load(sys.stdin))
    home = Path(os.environ["HOME"], ".gate-scripted")
    home.mkdir(parents=True, exist_ok=True)
    conversation = home / f"{play.session}.json"
    if play.resume != conversation.exists():
        print(f"session {play.session}: {'lost' if play.resume else 'in use'}", file=sys.stderr)  # noqa: T201 - its log
        _leave(SESSION_LOST if play.resume else SESSION_USED)
    prompts = [*_read(conversation, []), play.prompt]
    _write(conversation, prompts)
    number = _read(home / "turns.json", 0)
    _write(home / "turns.json", number + 1)
    asked = [found for prompt in reversed(prompts) for found in reversed(MARKER.findall(prompt))]
    turn = Turn(play, marker=asked[0] if asked else "", conversation=conversation)
    steps = steps_of(play.scenario, play.leg, number)
    if steps is None:
        turn.finish(f"The scenario has no turn {number + 1} for leg {play.leg!r}.", failed=True)
    turn.muted = "mute" in steps[0]
    turn.show(f"[turn {number + 1} of the scenario]")
    for position, step in enumerate(steps):
        ((name, value),) = step.items()
        shown = turn.filled(value) if name == "say" else value
        turn.show(f"[{name}] {shown if isinstance(shown, str) else json.dumps(shown)}")
        _STEPS[name](turn, value)
        turn.muted = turn.muted and position == 0
    turn.finish("\n\n".join(turn.said), failed=False)


def _say(turn: Turn, text: str) -> None:
    turn.said.append(turn.filled(text))


def _write_step(turn: Turn, value: dict[str, Json]) -> None:
    path = Path(os.path.expandvars(value["path"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    text = value["text"] if "text" in value else json.dumps(value["json"], indent=1) + "\n"
    if value.get("append"):
        with path.open("a") as file:
            file.write(text)
    else:
        fresh = path.with_name(f".{path.name}.fresh")
        fresh.write_text(text)
        fresh.replace(path)


def _run(turn: Turn, value: str | dict[str, Json]) -> None:
    given = {"command": value} if isinstance(value, str) else value
    code = subprocess.call(("sh", "-c", given["command"]), stdout=sys.stderr)
    turn.show(f"[exit code {code}]")
    if code and given.get("check", True):
        turn.finish(f"`{given['command']}` ended with {code}.", failed=True)


def _background(turn: Turn, command: str) -> None:
    turn.children.append(subprocess.Popen(("sh", "-c", command), stdout=sys.stderr))


def _detach(turn: Turn, command: str) -> None:
    nothing = subprocess.DEVNULL
    started = subprocess.Popen(
        ("nohup", "sh", "-c", command), stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
    )
    turn.children.append(started)


def _hang(_: Turn, how: bool | str) -> NoReturn:
    if how == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        threading.Event().wait()


def _lose_session(turn: Turn, _: bool) -> None:
    turn.conversation.unlink(missing_ok=True)


def _die(_: Turn, name: str) -> NoReturn:
    number = signal.Signals[f"SIG{name}"]
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    _leave(1)


_STEPS: dict[str, Callable[[Turn, Json], None]] = {
    "say": _say,
    "write": _write_step,
    "run": _run,
    "background": _background,
    "detach": _detach,
    "sleep": lambda _, seconds: time.sleep(seconds),
    "hang": _hang,
    "mute": lambda _, __: None,
    "fail": lambda turn, text: turn.finish(text, failed=True),
    "empty": lambda turn, _: turn.finish("", failed=False),
    "exit": lambda _, code: _leave(code),
    "die": _die,
    "lose_session": _lose_session,
    "usage": lambda turn, value: turn.usage.update(value),
}


def _leave(code: int) -> NoReturn:
    """End at once: what was started is left as it is."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _print(event: dict[str, Json]) -> None:
    print(json.dumps(event), flush=True)  # noqa: T201 - its protocol


def _read(path: Path, default: Json) -> Json:
    return json.loads(path.read_text()) if path.exists() else default


def _write(path: Path, value: Json) -> None:
    fresh = path.with_suffix(".fresh")
    fresh.write_text(json.dumps(value))
    fresh.replace(path)
