"""At most one terminal report a leg, and of nothing that is not durable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gate.simulate.played import Played


def check(played: Played) -> Iterator[str]:
    """Reports that say of themselves that they repeat an earlier one do not count; they must say the same."""
    written = {
        (verdict.verdict.tag, verdict.verdict.leg): (verdict.at, verdict.verdict)
        for one in played.attempts
        for verdict in one.verdicts
        if verdict.effect
    }
    first: Counter[tuple[str, str]] = Counter()
    for told in played.told:
        if told.event.kind != "verdict" or not told.accepted:
            continue
        shown = told.event.data["verdict"]
        key = (shown["tag"], shown["leg"])
        first[key] += not told.event.data["again"]
        at, verdict = written.get(key, (float("inf"), None))
        if verdict is None or told.at < at:
            yield f"{told.process} told of a verdict of {key[1]} that was not on disk"
        elif (verdict.outcome.value, verdict.reason.value) != (shown["outcome"], shown["reason"]):
            yield f"{told.process} told {shown['outcome']} of {key[1]}, and {verdict.outcome.value} stands"
    for (tag, leg), count in first.items():
        if count > 1:
            yield f"{leg} of {tag} got {count} terminal reports"
