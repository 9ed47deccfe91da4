"""One round: statuses that GitHub lacks, the report where it tells something new, and at the end one look back."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace

from gate.contracts import CommitStatus, GitHub
from gate.errors import GateError, GitHubDenied, GitHubError, GitHubRefused
from gate.publish.desired import desired
from gate.publish.facts import Facts
from gate.publish.outbox import Outbox, SentComment, Stage
from gate.publish.pace import Pace
from gate.publish.statuses import post, read_back
from gate.publish.sticky import LIMIT, Sticky

Body = Callable[[int, int], Awaitable[str]]
"""The report from the run directory as it is now: (calls so far, characters at most) to Markdown. Raises GateError."""
MARKER = 200
"""Characters kept free for the marker."""
LOOKS = 3
"""Looks back after which what GitHub does not show is left to the next process."""
SETTLED = ("confirmed", "refused")

Write = Callable[[], Awaitable[None]]


class Round:
    """The rounds of one process. `outbox` is what they have come to. `late`: an earlier process has reported too."""

    def __init__(self, github: GitHub, outbox: Outbox, sticky: Sticky, body: Body, *, late: bool) -> None:
        self.outbox = outbox
        self._github = github
        self._sticky = sticky
        self._body = body
        self._late = late
        self._calls = outbox.calls - github.calls
        self._taken: frozenset[str] = frozenset()
        self._works = False
        """GitHub has taken something of this process."""
        self._denied: dict[str, bool] = {}
        """What the token may not do, to whether that was found out once more after the decision."""
        self._looks = 0

    @property
    def calls(self) -> int:
        """Requests for this attempt so far, of all processes."""
        return self._calls + self._github.calls

    async def run(self, facts: Facts, pace: Pace, now: float, write: Write, notes: list[str]) -> None:
        """Post what is due at `now`; `write` makes the outbox durable. What GitHub says against it goes to `notes`."""
        wanted = desired(facts, self.outbox.site)
        if not wanted:
            return
        self.outbox = replace(self.outbox, ended=facts.ended)
        failed = await self._statuses(facts, wanted, pace, now, write, notes)
        failed = failed or await self._comment(facts, pace, now, write, notes)
        failed = failed or await self._look_back(facts, wanted, write, notes)
        if failed and not pace.failures:
            notes.append(f"GitHub does not answer, and is tried again: {failed}")
        elif pace.failures and not failed:
            notes.append("GitHub answers again")
        pace.tried(now, failed=bool(failed))

    def remaining(self, facts: Facts) -> tuple[str, ...]:
        """What GitHub has not taken yet. Nothing where its token could never do anything: nobody waits for that."""
        wanted = desired(facts, self.outbox.site)
        if not wanted or (self._denied and not self.outbox.used):
            return ()
        left = [f"status {s.context}" for s in wanted.values() if self.outbox.stage_of(s) not in SETTLED]
        comment = self.outbox.comment
        if comment.told != told_by(facts, wanted.values()) or comment.stage not in SETTLED:
            left.append("the report")
        if not left and facts.closed and not self.outbox.read_back and self._any_confirmed(wanted):
            left.append("a last look at the statuses")
        return tuple(left)

    # --- statuses ------------------------------------------------------------------------------------

    async def _statuses(
        self,
        facts: Facts,
        wanted: Mapping[str, CommitStatus],
        pace: Pace,
        now: float,
        write: Write,
        notes: list[str],
    ) -> str:
        pace.refill(now, len(wanted))
        due = [s for s in wanted.values() if s.context not in self._taken and self.outbox.stage_of(s) not in SETTLED]
        due.reverse()  # the gate's own first: where there is little time, it is what branch protection asks for
        final = [s for s in due if s.state != "pending"]
        others = [s for s in due if s.state == "pending"][: int(pace.room)]
        if not (final or others) or self._may_not("statuses", facts):
            return ""
        if self._late and (failed := await self._mind_newer(wanted, notes)):
            return failed
        failed = await self._post([s for s in (*final, *others) if s.context not in self._taken], write, notes)
        pace.room -= sum(self.outbox.stage_of(status) == "confirmed" for status in others)
        return failed

    async def _post(self, due: list[CommitStatus], write: Write, notes: list[str]) -> str:
        self.outbox = replace(self.outbox.with_(due, "intended"), read_back=False)
        await write()

        def became(status: CommitStatus, stage: Stage, why: str) -> None:
            self.outbox = self.outbox.with_([status], stage)
            self._works = self._works or stage == "confirmed"
            if stage == "refused":
                notes.append(f"GitHub does not take status {status.context}, which is left as it is: {why}")

        trouble = await post(self._github, self.outbox.sha, due, became, probe=not self._works)
        if trouble.denied:
            self._deny("statuses", f"this token may not set statuses on {self.outbox.sha[:12]}", trouble.denied, notes)
        return trouble.failed

    async def _mind_newer(self, wanted: Mapping[str, CommitStatus], notes: list[str]) -> str:
        """Before anything is posted late: what a newer run reports on this commit stands."""
        try:
            seen = await read_back(self._github, self.outbox.sha, wanted, ())
        except GitHubDenied:
            pass  # a token may post what it may not read; posting says so itself
        except GitHubError as error:
            return error.message
        else:
            self._leave(seen.taken, wanted, notes)
        self._late = False
        return ""

    def _leave(self, taken: Collection[str], wanted: Mapping[str, CommitStatus], notes: list[str]) -> None:
        if taken:
            notes.append(f"a newer run reports {', '.join(taken)} on this commit: left as it is")
        self._taken |= frozenset(taken)
        self.outbox = self.outbox.with_([wanted[context] for context in taken], "refused")

    async def _look_back(self, facts: Facts, wanted: Mapping[str, CommitStatus], write: Write, notes: list[str]) -> str:
        """Terminal statuses are read back: an answer that said yes is no proof that GitHub shows it."""
        while facts.closed and self._unread(wanted):
            refused = {c for c, s in wanted.items() if self.outbox.stage_of(s) == "refused"}
            self._looks += 1
            try:
                seen = await read_back(self._github, self.outbox.sha, wanted, refused)
            except GitHubDenied as error:
                self._deny("reading", "this token may not read statuses: they are not read back", error.message, notes)
                self.outbox = replace(self.outbox, read_back=True)
                return ""
            except GitHubError as error:
                return error.message
            self._leave(seen.taken, wanted, notes)
            if not seen.missing:
                self.outbox = replace(self.outbox, read_back=True)
                return ""
            missing = [wanted[context] for context in seen.missing]
            if self._looks >= LOOKS:
                self.outbox = self.outbox.with_(missing, "intended")
                return f"it took {', '.join(seen.missing)} and does not show it"
            if failed := await self._post(missing, write, notes):
                return failed
        return ""

    def _unread(self, wanted: Mapping[str, CommitStatus]) -> bool:
        settled = all(self.outbox.stage_of(s) in SETTLED for s in wanted.values())
        return settled and not self.outbox.read_back and self._looks < LOOKS and self._any_confirmed(wanted)

    def _any_confirmed(self, wanted: Mapping[str, CommitStatus]) -> bool:
        return any(self.outbox.stage_of(status) == "confirmed" for status in wanted.values())

    # --- the report ----------------------------------------------------------------------------------

    async def _comment(self, facts: Facts, pace: Pace, now: float, write: Write, notes: list[str]) -> str:
        told = told_by(facts, desired(facts, self.outbox.site).values())
        before = self.outbox.comment
        same = before.told == told and before.stage in SETTLED
        if pace.edited is None and same:
            pace.edited = now  # an earlier process told the same
        due = not same if facts.closed else pace.may_edit(now, news=not same)
        if not due or self._may_not("the report", facts):
            return ""
        try:
            text = await self._body(self.calls, LIMIT - MARKER)
        except GateError as error:
            notes.append(f"the report cannot be made: {error.message}")
            return ""
        self.outbox = replace(self.outbox, comment=SentComment(before.id, told, "intended"))
        await write()
        try:
            put = await self._sticky.put(text[: LIMIT - MARKER])
        except GitHubRefused as error:
            notes.append(f"GitHub does not take the report: {error.message}")
            self.outbox = replace(self.outbox, comment=SentComment(before.id, told, "refused"))
        except GitHubDenied as error:
            where = "the commit" if self.outbox.number is None else f"pull request {self.outbox.number}"
            self._deny("the report", f"this token may not comment on {where}", error.message, notes)
        except GitHubError as error:
            return error.message
        else:
            self.outbox = replace(self.outbox, comment=SentComment(put.id, told, "confirmed"))
            if put.left:
                notes.append("a newer run has taken the report over: left as it is")
        pace.edited = now
        return ""

    # --- what the token may not ----------------------------------------------------------------------

    def _may_not(self, what: str, facts: Facts) -> bool:
        """Denied before; asked once more when all is decided, as a token may have been renewed."""
        again = self._denied.get(what)
        if again is None:
            return False
        if facts.closed and not again:
            self._denied[what] = True
            return False
        return True

    def _deny(self, what: str, may_not: str, why: str, notes: list[str]) -> None:
        if what not in self._denied:
            notes.append(f"{may_not} ({why}); the verdict stands, and the step summary holds the report")
        self._denied.setdefault(what, False)


def told_by(facts: Facts, statuses: Collection[CommitStatus]) -> str:
    """A digest of everything that a report tells and that does not change with time alone."""
    shown = [(s.context, s.state, s.description) for s in statuses if s.state != "pending"]
    word = "" if facts.decision is None else facts.decision.word
    return hashlib.sha256(repr((shown, word, facts.cancelled, facts.ended, facts.burning)).encode()).hexdigest()[:16]
