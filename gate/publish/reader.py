"""The facts of an attempt from its run directory, read again and again while somebody watches it."""

from __future__ import annotations

from collections.abc import Mapping

from gate import documents
from gate.contracts import NewerRun
from gate.documents import Json
from gate.machines.verdict import Verdict
from gate.publish.facts import Facts
from gate.rundir import journal, layout
from gate.rundir.formats import Attempt, CancelIntent, Decision
from gate.rundir.notes import may_live
from gate.rundir.run import Run


class FactsReader:
    """Reads what may have changed: verdicts, decision and cancel are written once, and are read once."""

    def __init__(self, run: Run, attempt: Attempt) -> None:
        self._run = run
        self._attempt = attempt
        self._verdicts: dict[str, Verdict] = {}
        self._decision: Decision | None = None
        self._cancel: CancelIntent | None = None
        self._newer: NewerRun | None = None
        self._burning: tuple[str, ...] = ()

    @property
    def known(self) -> Facts:
        """As last read: for when the run directory does not answer."""
        return Facts(
            attempt=self._attempt,
            verdicts=dict(self._verdicts),
            decision=self._decision,
            cancelled=None if self._cancel is None else self._cancel.signal,
            newer=self._newer,
            burning=self._burning,
        )

    async def read(self) -> Facts:
        """As they are now. Raises StoreError, and DocumentError for a record that cannot be read."""
        tag = self._attempt.tag
        if len(self._verdicts) < len(self._attempt.plan.legs):
            await self._read_verdicts()
        if self._decision is None:
            decision = await self._run.decision(tag)
            if decision is not None and decision.word == "SUPERSEDED":
                self._newer = await self._superseded_by()
            self._decision = decision
        if self._cancel is None and self._decision is None:
            self._cancel = await self._run.cancel(tag)
        if self._decision is not None or self._cancel is not None:
            self._burning = await self._still_burning()
        return self.known

    async def _read_verdicts(self) -> None:
        known = {layout.verdict(self._attempt.tag, leg) for leg in self._verdicts}
        for key in await self._run.store.list(f"gate/verdicts/{self._attempt.tag}"):
            if key not in known and key.endswith(".json"):
                raw = await self._run.store.read(key)
                if raw is not None:
                    verdict = documents.load(Verdict, raw, key)
                    self._verdicts[verdict.leg] = verdict

    async def _superseded_by(self) -> NewerRun | None:
        """The newer run, as the journal of observations names it: the decision says it in words only."""
        key = layout.observations(self._attempt.tag)
        raw = await self._run.store.read(key)
        for value in journal.values(raw or b"", key):
            body = value[4] if isinstance(value, list) and len(value) > 4 else None
            if isinstance(body, dict) and "newer" in body:
                return documents.decode(NewerRun, _json(body["newer"]), key)
        return None

    async def _still_burning(self) -> tuple[str, ...]:
        found: list[str] = []
        for tag in self._attempt.tags:
            kept = await self._run.kept(tag)
            for entry in (await self._run.entries(tag)).values():
                if may_live(entry):
                    lease = kept.get(entry.id)
                    found.append(f"{entry.id} {f'until {lease.until:.0f}' if lease is not None else entry.stage}")
        return tuple(sorted(found))


def _json(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
