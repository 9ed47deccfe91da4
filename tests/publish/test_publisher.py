"""Flushing: only differences are posted, and whatever befalls a flush is mended by the next one."""

from __future__ import annotations

import anyio
import pytest

from gate.contracts import Comment, CommitStatus, NewerRun, Place
from gate.documents import encode
from gate.errors import StoreError
from gate.machines.observations import CancelSeen, SupersedeSeen
from gate.publish.publisher import GitHubPublisher
from gate.publish.site import Site
from gate.publish.sticky import LIMIT, marker_in
from gate.rundir import journal, layout
from gate.simulate.clock import SimClock
from gate.simulate.life import survived
from gate.simulate.store import MemoryStore
from tests.poll.worlds import TAG, virtual
from tests.publish.cases import SHA, SITE, Records, eight
from tests.publish.hub import BOT, Client, Hub

PR = Place(7, None)
DONE = {f"demo/{name}": "success" for name in "abcdefgh"} | {"demo": "success"}


async def text(calls: int, limit: int) -> str:
    """The report of these tests."""
    return f"the report, {calls} calls"


def publisher(hub: Hub, records: Records, *, client: Client | None = None, site: Site = SITE) -> GitHubPublisher:
    """A process that reports."""
    github = client or Client(hub)
    return GitHubPublisher(github, site, MemoryStore(records.disk), SimClock(), records.attempt, text)


def passed() -> Records:
    records = Records()
    records.judge(**dict.fromkeys("abcdefgh", "PASS"))
    records.decide()
    return records


def test_a_gate_from_first_look_to_the_end() -> None:
    async def main() -> None:
        hub, records = Hub(), Records()
        client = Client(hub)
        reports = publisher(hub, records, client=client)
        reports.changed(dict.fromkeys("abcdefgh", "queued"))
        await reports.flush(60)
        assert hub.states(SHA) == dict.fromkeys(DONE, "pending")
        assert hub.shown(SHA)["demo/a"].description == "queued"
        assert client.counts() == {"post_status": 9, "me": 1, "comments": 2, "create_comment": 1}
        records.judge(a="PASS")
        told = await reports.flush(60)
        assert hub.states(SHA)["demo/a"] == "success"
        assert client.counts()["post_status"] == 10  # how many are judged waits until there is room
        assert told.remaining == ("status demo", "the report")
        before = client.calls
        records.judge(**dict.fromkeys("bcdefgh", "PASS"))
        records.decide()
        told = await reports.flush(60)
        assert hub.states(SHA) == DONE
        assert client.calls - before == 7 + 1 + 1 + 1  # legs, gate, report, one look back
        assert (told.remaining, told.notes) == ((), ())
        before = client.calls
        assert (await reports.flush(60)).remaining == ()
        assert client.calls == before
        assert len(hub.comments()) == 1

    virtual(main)


@pytest.mark.parametrize("side", ["before", "after", "lost", "hang", "down"])
@pytest.mark.parametrize("step", range(1, 14))
def test_whatever_befalls_a_call_the_next_process_mends(side: str, step: int) -> None:
    """Killed before or after any call, its answer lost, cut off: then once more, and GitHub shows what it should."""

    def fault(number: int, what: str) -> str:
        return side if number == step else ""

    async def main() -> None:
        hub, records = Hub(), passed()
        try:
            await publisher(hub, records, client=Client(hub, fault=fault)).flush(20)
        except BaseException as error:  # noqa: BLE001 - what is no simulated death is raised again
            if (rest := survived(error)) is not None:
                raise rest from None
        client = Client(hub)
        told = await publisher(hub, records, client=client).flush(60)
        assert told.remaining == ()
        assert hub.states(SHA) == DONE
        assert len(hub.comments()) == 1
        assert (await publisher(hub, records).flush(60)).remaining == ()
        assert len(hub.comments()) == 1

    virtual(main)


@pytest.mark.parametrize("seed", range(12))
def test_two_posters_at_once_leave_one_comment(seed: int) -> None:
    async def main() -> None:
        hub, records = Hub(), passed()
        async with anyio.create_task_group() as tasks:
            for number in range(2):
                client = Client(hub, latency=0.05 + 0.02 * ((seed >> number) % 4))
                tasks.start_soon(publisher(hub, records, client=client).flush, 60)
                await anyio.sleep(0.013 * seed)
        assert hub.states(SHA) == DONE
        assert len(hub.comments()) == 1

    virtual(main)


def test_an_outage_is_said_once_backed_off_from_and_made_up_for() -> None:
    async def main() -> None:
        hub, records, down = Hub(), Records(), [True]
        client = Client(hub, fault=lambda n, what: "down" if down[0] else "")
        reports = publisher(hub, records, client=client)
        notes: list[str] = []
        for _ in range(180):  # an hour of polls
            notes += (await reports.flush(60)).notes
            await anyio.sleep(20)
        assert len(notes) == 1
        assert "does not answer" in notes[0]
        assert client.calls <= 20
        down[0] = False
        await anyio.sleep(300)
        notes += (await reports.flush(60)).notes
        assert notes[1:] == ["GitHub answers again"]
        assert hub.states(SHA) == dict.fromkeys(DONE, "pending")

    virtual(main)


def test_what_was_not_taken_is_named_and_sent_by_the_next_process() -> None:
    async def main() -> None:
        hub, records = Hub(), passed()
        told = await publisher(hub, records, client=Client(hub, fault=lambda n, what: "down")).flush(60)
        assert told.remaining == (*(f"status demo/{name}" for name in "abcdefgh"), "status demo", "the report")
        assert hub.posted == []
        assert (await publisher(hub, records).flush(60)).remaining == ()
        assert hub.states(SHA) == DONE

    virtual(main)


def test_a_token_that_may_not_write_costs_one_line_and_few_calls() -> None:
    """A fork's pull request: the verdict is told by the summary alone."""

    async def main() -> None:
        hub, records = Hub(), Records()
        client = Client(hub, fault=lambda n, what: "denied")
        reports = publisher(hub, records, client=client)
        notes: list[str] = []
        for _ in range(100):
            notes += (await reports.flush(60)).notes
            await anyio.sleep(20)
        records.judge(**dict.fromkeys("abcdefgh", "PASS"))
        records.decide()
        told = await reports.flush(60)
        told = await reports.flush(60)
        assert [note.partition("(")[0] for note in notes] == [
            f"this token may not set statuses on {SHA[:12]} ",
            "this token may not comment on pull request 7 ",
        ]
        assert (told.remaining, told.notes) == ((), ())
        assert client.calls <= 4

    virtual(main)


def test_a_token_that_dies_in_mid_run_leaves_something_to_be_said() -> None:
    async def main() -> None:
        hub, records, dead = Hub(), Records(), [False]
        client = Client(hub, fault=lambda n, what: "denied" if dead[0] else "")
        reports = publisher(hub, records, client=client)
        await reports.flush(60)
        dead[0] = True
        records.judge(**dict.fromkeys("abcdefgh", "PASS"))
        records.decide()
        told = await reports.flush(60)
        assert len(told.remaining) == 10
        assert (await publisher(hub, records).flush(60)).remaining == ()
        assert hub.states(SHA) == DONE

    virtual(main)


def test_a_context_with_a_thousand_statuses_is_left_alone_and_the_others_go_on() -> None:
    async def main() -> None:
        hub, records = Hub(limit=3), passed()
        for _ in range(3):
            hub.posted.append((0.0, SHA, CommitStatus("demo/c", "pending", "", SITE.url)))
        told = await publisher(hub, records).flush(60)
        assert hub.states(SHA) == {**DONE, "demo/c": "pending"}
        assert told.remaining == ()
        assert len(told.notes) == 1
        assert told.notes[0].startswith("GitHub does not take status demo/c")

    virtual(main)


def test_a_status_that_github_took_and_lost_is_found_by_the_look_back() -> None:
    async def main() -> None:
        hub, records = Hub(), passed()

        class Forgetful(Client):
            async def post_status(self, sha: str, status: CommitStatus) -> None:
                await super().post_status(sha, status)
                if status.context == "demo" and self.counts()["statuses"] == 0:
                    self.hub.posted[:] = [each for each in self.hub.posted if each[2] is not status]

        told = await publisher(hub, records, client=Forgetful(hub)).flush(60)
        assert told.remaining == ()
        assert hub.states(SHA) == DONE

    virtual(main)


def test_a_newer_run_on_the_same_commit_is_not_overwritten_late() -> None:
    async def main() -> None:
        hub, records = Hub(), passed()
        await publisher(hub, records, client=Client(hub, fault=lambda n, what: "down")).flush(60)
        newer = "https://github.example/o/r/actions/runs/13"
        hub.posted.append((0.0, SHA, CommitStatus("demo", "pending", "0 of 8", newer)))
        first = hub.say(PR, "")
        theirs = (await _body()).replace("run=12 ", "run=13 ")
        hub.threads[PR] = [Comment(first.id, BOT, theirs, "")]
        told = await publisher(hub, records).flush(60)
        assert hub.shown(SHA)["demo"].target_url == newer
        assert hub.comments()[0].body == theirs
        assert told.remaining == ()
        assert any("newer run reports demo" in note for note in told.notes)
        assert "a newer run has taken the report over: left as it is" in told.notes

    virtual(main)


async def _body() -> str:
    """A report of ours, made elsewhere."""
    other = Hub()
    await publisher(other, passed()).flush(60)
    return other.comments()[0].body


def test_hostile_comments_are_never_taken_for_ours() -> None:
    async def main() -> None:
        hub, records = Hub(), passed()
        ours = await _body()
        forged = hub.say(PR, ours, author="mallory")
        quoted = hub.say(PR, f"> {ours}")
        other = hub.say(PR, ours.replace("gate-report ", "gate-report 0"))
        await publisher(hub, records).flush(60)
        assert [each.id for each in hub.comments()[:3]] == [forged.id, quoted.id, other.id]
        assert [each.body for each in hub.comments()[:3]] == [forged.body, quoted.body, other.body]
        made = marker_in(hub.comments()[3].body)
        assert made is not None
        assert (made.run, made.attempt) == ("12", 1)

    virtual(main)


def test_a_report_that_somebody_removed_is_made_again_and_duplicates_go() -> None:
    async def main() -> None:
        hub, records = Hub(), Records()
        reports = publisher(hub, records)
        await reports.flush(60)
        hub.threads[PR].clear()
        records.judge(**dict.fromkeys("abcdefgh", "PASS"))
        records.decide()
        assert (await reports.flush(60)).remaining == ()
        kept = hub.comments()[0]
        hub.say(PR, kept.body)
        records.disk.delete(layout.outbox(TAG))
        await publisher(hub, records).flush(60)
        assert [each.id for each in hub.comments()] == [kept.id]

    virtual(main)


def test_a_locked_conversation_is_one_line() -> None:
    async def main() -> None:
        hub, records = Hub(locked=True), passed()
        told = await publisher(hub, records).flush(60)
        assert hub.states(SHA) == DONE
        assert told.notes == ("GitHub does not take the report: 403: the conversation is locked",)
        assert told.remaining == ()

    virtual(main)


def test_without_a_pull_request_the_report_is_on_the_commit() -> None:
    async def main() -> None:
        hub, records = Hub(), passed()
        await publisher(hub, records, site=Site(SHA, None, SITE.url)).flush(60)
        assert list(hub.threads) == [Place(None, SHA)]

    virtual(main)


def test_a_cancel_that_is_not_durable_closes_everything_also_while_the_root_hangs() -> None:
    class Hung(MemoryStore):
        async def read(self, key: str) -> bytes | None:
            await anyio.sleep(10)
            raise StoreError("no answer")

    async def main() -> None:
        hub, records = Hub(), Records()
        github = Client(hub, latency=0.3)
        reports = GitHubPublisher(github, SITE, Hung(records.disk), SimClock(), records.attempt, text)
        began = anyio.current_time()
        await reports.flush(5.5, cancelled=2)
        assert anyio.current_time() - began < 5.5
        assert hub.states(SHA) == dict.fromkeys(DONE, "error")

    virtual(main)


def test_superseded_on_the_same_commit_says_nothing_and_on_another_closes() -> None:
    async def main() -> None:
        for commit, states in ((SHA, "pending"), ("beef" * 10, "error")):
            hub, records = Hub(), Records()
            newer = NewerRun("13", commit, "")
            reports = publisher(hub, records)
            await reports.flush(60)
            line = journal.line([1, 0, 0, 0, {"newer": encode(newer)}])
            records.disk.append(layout.observations(TAG), journal.line({"format": "x"}) + line)
            records.decide(SupersedeSeen(newer))
            assert (await reports.flush(60)).remaining == ()
            assert hub.states(SHA) == dict.fromkeys(DONE, states)

    virtual(main)


def test_what_nobody_goes_on_with_is_closed_and_opened_again_by_who_does() -> None:
    async def main() -> None:
        hub, records = Hub(), Records()
        await publisher(hub, records).flush(60)
        await publisher(hub, records).flush(60, ended=True)
        assert hub.states(SHA) == dict.fromkeys(DONE, "error")
        assert hub.shown(SHA)["demo"].description == "the run ended before it was decided; 0 of 8 legs judged"
        await publisher(hub, records).flush(60)
        assert hub.states(SHA) == dict.fromkeys(DONE, "pending")

    virtual(main)


def test_a_decided_cancel_is_told_as_one() -> None:
    async def main() -> None:
        hub, records = Hub(), Records(eight(count=2))
        records.judge(a="PASS")
        records.decide(CancelSeen(15))
        await publisher(hub, records).flush(60)
        assert hub.states(SHA) == {"demo/a": "success", "demo/b": "error", "demo": "error"}

    virtual(main)


def test_a_long_report_is_cut_to_what_github_takes() -> None:
    async def long(calls: int, limit: int) -> str:
        return "x" * (limit + 500)

    async def main() -> None:
        hub, records = Hub(), passed()
        reports = GitHubPublisher(Client(hub), SITE, MemoryStore(records.disk), SimClock(), records.attempt, long)
        assert (await reports.flush(60)).remaining == ()
        assert len(hub.comments()[0].body) <= LIMIT

    virtual(main)
