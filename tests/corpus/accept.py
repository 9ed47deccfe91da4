"""`python -m tests.corpus.accept "why"`: what today's rules make of the corpus is what is expected from now on.

Writes expected.json, and a line with the reason and the corpus's digest to CHANGES.md. A change that alters a verdict
of a recorded run says so there, or the tests fail.
"""

from __future__ import annotations

import json
import sys

from tests.corpus.outcome import expected, outcomes
from tests.corpus.paths import CHANGES, EXPECTED, accepted, digest

HEAD = """\
# Changes of the corpus

Every change of a recorded run, or of a verdict that today's rules give it, with its reason: the digest of the corpus
afterwards, what changed, why. Written by `python -m tests.corpus.accept "why"`; the last digest is checked.

"""


NAMED = 12
"""Entries that a line names before it counts them."""


def main(argv: list[str]) -> int:
    """Returns 0, or 2 for a reason that is missing."""
    reason = " ".join(" ".join(argv).split())
    if not reason:
        sys.stderr.write('Say why: python -m tests.corpus.accept "a torn file is read again for longer"' + "\n")
        return 2
    before, after = expected(), outcomes()
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    EXPECTED.write_text(json.dumps(after, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if digest() == accepted():
        _say("Nothing changed: nothing to accept.")
        return 0
    for name in changed:
        _say(f"{name}\n  was {json.dumps(before.get(name))}\n  is  {json.dumps(after.get(name))}")
    text = CHANGES.read_text(encoding="utf-8") if CHANGES.exists() else HEAD
    what = (
        "the records alone" if not changed else ", ".join(changed) if len(changed) <= NAMED else f"{len(changed)} runs"
    )
    CHANGES.write_text(f"{text}- `{digest()}` {what}: {reason}\n", encoding="utf-8")
    _say(f"{len(changed)} entries changed; now {digest()}. Look at the explanations too: pytest --snapshot-update")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
