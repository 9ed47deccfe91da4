"""What all kinds of agents share: a mirrored turn, its end in words, and reading lines.

Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import anyio

from gate.agents.pipes import Sink
from gate.agents.place import AgentPlace
from gate.agents.process import CommandLine, Ended, run_command
from gate.contracts import TurnEnd, TurnOutcome, TurnRequest
from gate.errors import AgentError

TAIL = 8192
"""Bytes of stderr that are looked at for the reason."""
VERSION_BUDGET = 60.0
"""Seconds for `--version`: a program of 400 MB comes over a share. cc#85939: the wrong Node or architecture hangs."""


class Tail:
    """The last `limit` bytes of a stream. `size` counts all of it."""

    def __init__(self, limit: int = TAIL) -> None:
        self.size = 0
        self._limit = limit
        self._kept = bytearray()

    async def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._kept += chunk
        if len(self._kept) > 2 * self._limit:
            del self._kept[: -self._limit]

    def text(self) -> str:
        return self._kept[-self._limit :].decode(errors="replace")


class Lines:
    """Splits a stream into lines; `each` gets them without their end. Longer ones than `limit` bytes are dropped."""

    def __init__(self, each: Callable[[bytes], Awaitable[None]], limit: int = 32 << 20) -> None:
        self._each = each
        self._limit = limit
        self._begun = bytearray()
        self._dropping = False

    async def add(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._begun += part
            line, self._begun = bytes(self._begun), bytearray()
            dropped, self._dropping = self._dropping, False
            if not dropped:
                await self._each(line)
        self._begun += rest
        if len(self._begun) > self._limit:
            self._begun.clear()
            self._dropping = True

    async def finish(self) -> None:
        """The last line, where it has no end."""
        if self._begun and not self._dropping:
            await self._each(bytes(self._begun))


@dataclass(frozen=True, slots=True)
class Report:
    """What the agent itself says of its turn, before the process's own end is looked at."""

    end: TurnEnd
    text: str = ""
    detail: str = ""


async def mirrored(
    place: AgentPlace, request: TurnRequest, line: CommandLine, out: Sink, *, probe: float
) -> tuple[Ended, str]:
    """Run one turn with its header, its stderr and, when cancelled, its closing line in the transcript.

    `out` mirrors stdout itself. Returns how it ended and the tail of stderr, not redacted.
    """
    await place.transcript.begin(request)
    errors = Tail()

    async def err(chunk: bytes) -> None:
        await errors.add(chunk)
        await place.transcript.write(chunk, "err")

    try:
        ended = await run_command(line, request.budget, probe, out, err)
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await place.transcript.end(f"turn {request.ordinal} cancelled")
        raise
    return ended, errors.text()


async def concluded(place: AgentPlace, request: TurnRequest, outcome: TurnOutcome) -> TurnOutcome:
    """`outcome` without secrets, and said at the end of the turn's transcript."""
    clean = place.redactor.redact_text
    outcome = replace(outcome, text=clean(outcome.text), detail=clean(outcome.detail))
    said = f": {outcome.detail}" if outcome.detail else ""
    await place.transcript.end(f"turn {request.ordinal} {outcome.end.value.replace('_', ' ')}{said}")
    return outcome


def by_time(ended: Ended, request: TurnRequest, probe: float) -> Report | None:
    """The report where the operating system or the clock decided, not the command line itself."""
    left = f"; still there: {', '.join(ended.left)}" if ended.left else ""
    match ended.how:
        case "unavailable":
            return Report(TurnEnd.UNAVAILABLE, detail=f"cannot be run: {ended.why}")
        case "no_start":
            return Report(TurnEnd.NO_START, detail=f"no byte of output within {probe:g} s{left}")
        case "timed_out":
            return Report(TurnEnd.TIMED_OUT, detail=f"ended after its budget of {request.budget:g} s{left}")
        case "exited":
            return None


def without_result(ended: Ended, errors: str) -> Report:
    """The report of a command line that ended by itself or by somebody else's signal, and gave no result."""
    code = ended.exit_code
    if name := signal_name(code):
        return Report(TurnEnd.KILLED, detail=f"killed by {name} (exit code {code}) without a result")
    if code == 0:
        # Seen after SIGINT, and in cc#38709.
        return Report(TurnEnd.EMPTY, detail="exit code 0 and no result")
    return Report(TurnEnd.FAILED, detail=f"exit code {code}: {last_line(errors) or 'no output'}")


def signal_name(exit_code: int | None) -> str | None:
    """The signal that an exit code stands for, as Python (-9) or a shell (137) tells it; None for none."""
    if exit_code is None:
        return None
    number = -exit_code if exit_code < 0 else exit_code - 128
    try:
        return signal.Signals(number).name if number > 0 else None
    except ValueError:
        return None


def last_line(text: str) -> str:
    """The last line of `text` that is not empty, cut; "" for none."""
    lines = [stripped for one in text.splitlines() if (stripped := one.strip())]
    return lines[-1][:500] if lines else ""


async def version_of(line: CommandLine, pinned: str | None, hint: str) -> str:
    """The output of a version command, checked: `pinned` must stand in it as a word.

    Raises AgentError: cannot be run, fails, does not answer, or is another version.
    """
    out, err = Tail(), Tail()
    name = " ".join(line.argv)
    ended = await run_command(line, VERSION_BUDGET, 0, out.add, err.add)
    match ended.how:
        case "unavailable":
            raise AgentError(f"agent: {ended.why}", hint=hint)
        case "timed_out" | "no_start":
            raise AgentError(
                f"agent: `{name}` did not answer within {VERSION_BUDGET:g} s",
                hint="A runtime (Node) or an architecture that does not fit may hang so. " + hint,
            )
        case "exited":
            said = out.text().strip()
    if ended.exit_code != 0 or not said:
        problem = last_line(err.text()) or last_line(said) or "no output"
        raise AgentError(f"agent: `{name}` ended with {ended.exit_code}: {problem}", hint=hint)
    words = said.replace("(", " ").replace(")", " ").split()
    if pinned is not None and pinned not in words and f"v{pinned}" not in words:
        raise AgentError(
            f"agent: the plan pins version {pinned}, but `{name}` says {said.splitlines()[0]!r}", hint=hint
        )
    return said
