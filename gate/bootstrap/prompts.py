"""What a turn is told, put together from the rendered prompts; and the slots that only the workload can fill.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gate.machines.leg_model import RunTurn
from gate.plan.model import SLOTS, Prompts

SLOT = re.compile("<<gate:(" + "|".join(SLOTS) + ")>>")

STANDS = "For reference, the task as it was given before; do not start it a second time:"


def compose(prompts: Prompts, turn: RunTurn) -> str:
    """The text of one turn. A fresh conversation that replaces a lost one gets the recap and all that it must know."""
    parts = {
        "setup": [prompts.setup],
        "nudge": [prompts.nudge],
        "task": [prompts.task],
        "finish_launch": [prompts.finish_launch],
        "redrive": [prompts.redrive],
    }[turn.kind]
    if turn.recap:
        if turn.kind in ("finish_launch", "redrive"):
            parts = [STANDS, prompts.task, *parts]
        parts = [prompts.recap, *parts]
    if turn.extra:
        parts = [*parts, turn.extra]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def fill(text: str, slots: Mapping[str, str]) -> str:
    """`text` with every `<<gate:NAME>>` of the closed set replaced. What merely looks like one stays as it is."""
    return SLOT.sub(lambda found: slots[found.group(1)], text)
