"""The Claude CLI, driven by `claude --print`, one invocation a turn.

How it behaves differs by version; what is said here was seen with 2.1.112, 2.1.197 and 2.1.332. Pin one.
Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

from gate.agents.claude_events import Events, text_of
from gate.agents.options import Options
from gate.agents.place import AgentPlace
from gate.agents.process import CommandLine, Ended
from gate.agents.turns import Lines, Report, by_time, concluded, last_line, mirrored, version_of, without_result
from gate.contracts import TurnEnd, TurnOutcome, TurnRequest
from gate.documents import Json
from gate.plan.model import AgentPlan

PACKAGE = "@anthropic-ai/claude-code"
LOST = "No conversation found with session ID"
USED = "is already in use"
UNSPENT = (TurnEnd.SESSION_LOST, TurnEnd.SESSION_USED, TurnEnd.UNAVAILABLE)

QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
"""A pinned version that updates itself is none, and a workload talks to nobody but the model."""


class ClaudeAgent:
    """`options`: executable, model, max_turns, max_budget_usd, args (see `gate.agents.options`)."""

    def __init__(self, plan: AgentPlan, place: AgentPlace) -> None:
        self._options = Options(plan)
        self._pinned = plan.version
        self._place = place

    @property
    def kind(self) -> str:
        return "claude"

    async def version(self) -> str:
        """As 2.1.332. Raises AgentError."""
        pinned = f"@{self._pinned}" if self._pinned else ""
        hint = f"Install it (`npm install {PACKAGE}{pinned}`), name it with `executable`, or set `stage_agent: true`."
        said = await version_of(self._line(("--version",), b""), self._pinned, hint)
        return said.split()[0]

    async def turn(self, request: TurnRequest) -> TurnOutcome:
        """One `claude --print`; see the contract."""
        if not _is_uuid(request.session):
            # cc#34360: the CLI would refuse it too, but only after the turn was journalled as spent.
            detail = f"session id {request.session!r} is not a UUID; no turn was spent"
            return TurnOutcome(TurnEnd.FAILED, "", detail, None, None, None, 0.0)
        events = Events()

        async def each(line: bytes) -> None:
            await self._place.transcript.write(events.take(line).encode(errors="replace"))

        lines = Lines(each)
        line = self._line(self._arguments(request), request.prompt.encode("utf-8", "replace"))
        ended, errors = await mirrored(self._place, request, line, lines.add, probe=request.startup_probe)
        await lines.finish()
        report = by_time(ended, request, request.startup_probe) or _report(request, events, ended, errors)
        if ended.how != "exited" and events.last is not None:
            # Ended while it waited for a background task: it had said something.
            report = Report(report.end, text_of(events.last), report.detail)
        outcome = TurnOutcome(
            end=report.end,
            text=report.text,
            detail=report.detail,
            session=events.session,
            exit_code=ended.exit_code,
            usage=events.usage(),
            # A conversation that was turned down never reached the model.
            cost_usd=0.0 if report.end in UNSPENT else events.cost(resumed=request.resume),
        )
        return await concluded(self._place, request, outcome)

    def _arguments(self, request: TurnRequest) -> tuple[str, ...]:
        options = self._options
        chosen = {
            "--model": options.text("model"),
            "--max-turns": options.integer("max_turns"),
            "--max-budget-usd": options.number("max_budget_usd"),
        }
        return (
            *("--print", "--verbose", "--output-format", "stream-json", "--dangerously-skip-permissions"),
            *("--resume" if request.resume else "--session-id", request.session),
            *(word for flag, value in chosen.items() if value is not None for word in (flag, str(value))),
            *options.texts("args"),
        )

    def _line(self, arguments: tuple[str, ...], prompt: bytes) -> CommandLine:
        place = self._place
        env = {**place.env, **QUIET, "HOME": place.home, "CLAUDE_CONFIG_DIR": str(Path(place.home, ".claude"))}
        if os.geteuid() == 0:
            env["IS_SANDBOX"] = "1"  # as root it refuses --dangerously-skip-permissions otherwise
        return CommandLine(
            argv=(self._executable(env), *arguments),
            stdin=prompt,
            cwd=place.cwd,
            env=env,
            scratch=place.scratch,
            tool_sessions=True,
        )

    def _executable(self, env: Mapping[str, str]) -> str:
        """`executable` of the options (a path, or a name on PATH), else what was staged, else `claude` on PATH."""
        named = self._options.text("executable")
        staged = Path(self._place.staged or "/nonexistent", "claude")
        if named is None and staged.exists():
            return str(staged)
        wanted = named or "claude"
        return shutil.which(wanted, path=env.get("PATH", os.defpath)) or wanted


def _is_uuid(text: str) -> bool:
    """In the one spelling that is found again: the CLI compares ids as text."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _report(request: TurnRequest, events: Events, ended: Ended, errors: str) -> Report:
    """What a turn came to whose command line ended by itself, or by a signal of somebody else."""
    result, code = events.last, ended.exit_code
    text = text_of(result) if result is not None else ""
    if code != 0 and (end := _refused(request, result, errors + text)):
        what = "is gone" if end is TurnEnd.SESSION_LOST else "has an id that is already in use"
        return Report(end, detail=f"the conversation {request.session} {what}")
    if result is None:
        return without_result(ended, errors)
    if result.get("is_error") is not False or code != 0:
        # An API failure has the subtype "success"; only is_error and the exit code tell.
        return Report(
            TurnEnd.FAILED, text, f"{_kind(result)}, exit code {code}: {text.strip()[:500] or last_line(errors)}"
        )
    if not text.strip():
        return Report(TurnEnd.EMPTY, detail="the answer is empty")
    return Report(TurnEnd.COMPLETED, text)


def _refused(request: TurnRequest, result: Mapping[str, Json] | None, said: str) -> TurnEnd | None:
    """Did the CLI turn the conversation down before it asked the model anything?"""
    if result is not None and result.get("num_turns"):
        return None
    if request.resume:
        return TurnEnd.SESSION_LOST if LOST in said else None
    return TurnEnd.SESSION_USED if USED in said else None


def _kind(result: Mapping[str, Json]) -> str:
    status = result.get("api_error_status")
    reason = result.get("terminal_reason") or result.get("subtype")
    return f"{reason} {status}" if status else str(reason)
