"""Any other command line as an agent, by templates.

`{session}` and `{prompt_file}` in `start` and `resume` are filled in. The prompt comes on stdin, or in the file that
`{prompt_file}` names; the answer is what the command prints to stdout.
Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gate.agents.options import Options
from gate.agents.place import AgentPlace
from gate.agents.process import CommandLine, Ended
from gate.agents.turns import Report, Tail, by_time, concluded, last_line, mirrored, signal_name, version_of
from gate.contracts import TurnEnd, TurnOutcome, TurnRequest
from gate.plan.model import AgentPlan

ANSWER = 1 << 20
"""Bytes of an answer that are kept, from its end: the completion marker is its last line."""

PROMPT_FILE = "{prompt_file}"


class CommandAgent:
    """`options`: start, resume, version_command, exit_codes, probe, tool_sessions (see `gate.agents.options`).

    Without `resume` no conversation can be resumed, and each later turn is a fresh one with a recap. The start-up probe
    holds only with `probe: true`: many command lines print nothing until they have finished.
    """

    def __init__(self, plan: AgentPlan, place: AgentPlace) -> None:
        self._options = Options(plan)
        self._pinned = plan.version
        self._place = place

    @property
    def kind(self) -> str:
        return "command"

    async def version(self) -> str:
        """The first line that `version_command` prints (`PROGRAM --version` by default). Raises AgentError."""
        argv = self._options.texts("version_command") or (self._options.texts("start")[0], "--version")
        said = await version_of(self._line(argv, b""), self._pinned, "See `agent:` in gate.yaml.")
        return said.splitlines()[0]

    async def turn(self, request: TurnRequest) -> TurnOutcome:
        """One run of `start` or `resume`; see the contract."""
        template = self._options.texts("resume" if request.resume else "start")
        if not template:
            detail = "`agent.resume` is not set: this agent cannot go on with a conversation"
            return TurnOutcome(TurnEnd.SESSION_LOST, "", detail, None, None, None, None)
        place, answer = self._place, Tail(ANSWER)

        async def out(chunk: bytes) -> None:
            await answer.add(chunk)
            await place.transcript.write(chunk)

        probe = request.startup_probe if self._options.switch("probe") else 0.0
        with self._filled(template, request) as line:
            ended, errors = await mirrored(place, request, line, out, probe=probe)
        report = by_time(ended, request, probe) or self._report(ended, answer.text(), errors)
        outcome = TurnOutcome(
            end=report.end,
            text=answer.text(),
            detail=report.detail,
            session=request.session,
            exit_code=ended.exit_code,
            usage=None,
            cost_usd=None,
        )
        return await concluded(place, request, outcome)

    def _report(self, ended: Ended, answer: str, errors: str) -> Report:
        code = ended.exit_code
        said = last_line(errors) or last_line(answer) or "no output"
        if known := self._options.table("exit_codes").get(str(code)):
            end = TurnEnd(known)
            return Report(end, detail="" if end is TurnEnd.COMPLETED else f"exit code {code}: {said}")
        if code == 0:
            return (
                Report(TurnEnd.COMPLETED) if answer.strip() else Report(TurnEnd.EMPTY, detail="exit code 0, no output")
            )
        if name := signal_name(code):
            return Report(TurnEnd.KILLED, detail=f"killed by {name} (exit code {code})")
        return Report(TurnEnd.FAILED, detail=f"exit code {code}: {said}")

    @contextmanager
    def _filled(self, template: tuple[str, ...], request: TurnRequest) -> Iterator[CommandLine]:
        prompt = request.prompt.encode("utf-8", "replace")
        argv = tuple(word.replace("{session}", request.session) for word in template)
        if not any(PROMPT_FILE in word for word in template):
            yield self._line(argv, prompt)
            return
        with tempfile.NamedTemporaryFile(dir=self._place.scratch, prefix="prompt-", suffix=".md") as file:
            file.write(prompt)
            file.flush()
            yield self._line(tuple(word.replace(PROMPT_FILE, file.name) for word in argv), b"")

    def _line(self, argv: tuple[str, ...], stdin: bytes) -> CommandLine:
        place = self._place
        env = {**place.env, "HOME": place.home}
        program = argv[0]
        if "/" in program:
            program = str(Path(place.cwd, program))
        else:
            program = shutil.which(program, path=env.get("PATH")) or program
        return CommandLine(
            argv=(program, *argv[1:]),
            stdin=stdin,
            cwd=place.cwd,
            env=env,
            scratch=place.scratch,
            tool_sessions=self._options.switch("tool_sessions"),
        )
