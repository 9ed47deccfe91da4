"""A run's standing as text: the word, the legs, what of it still runs, who watches, what next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from gate.machines.duration import spell
from gate.machines.rows import LegRow
from gate.report.board_frame import counts, decided, leg_table, title
from gate.report.events import Heading
from gate.report.text import plain, stamp
from gate.rundir.formats import Decision, Kept, Lease, WorkloadEntry


@dataclass(frozen=True, slots=True)
class Status:
    """Everything `gate status` shows. Times are wall times, Unix seconds; `observed` None: never polled."""

    heading: Heading
    rows: Sequence[LegRow]
    elapsed: float
    decision: Decision | None
    entries: Sequence[WorkloadEntry]
    kept: Sequence[Kept]
    poller: Lease | None
    observed: float | None
    now: float


def word_of(status: Status) -> str:
    """The decision's word, or RUNNING."""
    return status.decision.word if status.decision is not None else "RUNNING"


def status_text(status: Status, width: int) -> RenderableType:
    """For people."""
    parts: list[RenderableType] = [title(status.heading, status.elapsed), counts(status.rows), Text()]
    parts += [leg_table(status.rows, width), Text()]
    parts.append(Text(" RUNNING ", style="bold black on cyan") if status.decision is None else decided(status.decision))
    parts += [Text(line, style="dim") for line in _facts(status)]
    return Group(*parts)


def _facts(status: Status) -> list[str]:
    lines = [_observed(status)]
    if status.poller is not None:
        holder = f"pid {status.poller.pid} on {plain(status.poller.host)}"
        lines.append(f"poller    {holder}, since {stamp(status.poller.since)}: {plain(status.poller.command)}")
    elif status.decision is None:
        lines.append(f"poller    none; go on with: gate poll {status.heading.run}")
    leases = {lease.workload: lease for lease in status.kept if lease.until > status.now}
    for entry in status.entries:
        if entry.stage == "seen_gone":
            continue
        lease = leases.get(entry.id)
        until = f", kept until {stamp(lease.until)}: {plain(lease.why)}" if lease is not None else ""
        lines.append(f"workload  {plain(entry.id)} {entry.stage} ({plain(entry.engine_id or 'no id')}){until}")
    if not any(entry.stage != "seen_gone" for entry in status.entries) and status.entries:
        lines.append("workloads all seen gone")
    return lines


def _observed(status: Status) -> str:
    if status.observed is None:
        return "observed  never: nobody has polled this attempt yet"
    return f"observed  {stamp(status.observed)} ({spell(max(0.0, status.now - status.observed))} ago)"
