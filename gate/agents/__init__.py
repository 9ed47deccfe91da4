"""Coding agents driven one bounded turn at a time: a closed registry of kinds.

Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gate.agents.place import AgentPlace
    from gate.contracts import Agent
    from gate.plan.model import AgentPlan


def open_agent(plan: AgentPlan, place: AgentPlace) -> Agent:
    """The agent that `plan` names, in `place`. Raises AgentError where its options are not what the kind takes."""
    match plan.kind:
        case "claude":
            from gate.agents.claude import ClaudeAgent  # noqa: PLC0415 - a scripted turn must start without anyio

            return ClaudeAgent(plan, place)
        case "command":
            from gate.agents.command import CommandAgent  # noqa: PLC0415 - as above

            return CommandAgent(plan, place)
        case "scripted":
            from gate.agents.scripted import ScriptedAgent  # noqa: PLC0415 - as above

            return ScriptedAgent(plan, place)
