"""A command leg: the command runs, and the state file is waited for.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from dataclasses import replace

from gate.contracts import CommandResult
from gate.machines import leg_states, leg_task
from gate.machines.clock import Now, reading
from gate.machines.leg_model import CommandStarted, Finish, LegState, Looked, StartCommand, Step, finish
from gate.machines.verdict import Reason, StateView

TAIL = 600
"""Characters of a failed command's output that are kept …"""
LINES = 3
"""… of which the sentence shows the last lines."""


def begin(state: LegState, states: tuple[StateView, ...], now: Now) -> Step:
    """The leg is prepared, and holds `states`: its command."""
    files = leg_states.begin(states)
    state = replace(state, phase="launch", doing="start", task_began=reading(now, "task"), files=files)
    return state, (StartCommand(),)


def step(state: LegState, seen: CommandStarted | Looked, now: Now) -> Step:
    """One observation of a command leg."""
    match seen:
        case CommandStarted(problem=""):
            return replace(state, doing="watch", watch_began=now.mono), ()
        case CommandStarted():
            return finish(state, "failed", Reason.COMMAND_FAILED, f"The command cannot be started: {seen.problem}.")
        case Looked():
            return _looked(state, seen, now)


def _looked(state: LegState, seen: Looked, now: Now) -> Step:
    state, actions = leg_task.looked(state, seen, now)
    if state.phase == "ended" or state.doing != "watch" or seen.command is None:
        return state, actions
    ending = Finish("failed", Reason.COMMAND_FAILED, f"The command {_ended(seen.command)} before the run was finished.")
    return leg_task.closing(replace(state, command_ended=True, command_said=seen.command.output[-TAIL:]), ending, now)


def _ended(result: CommandResult) -> str:
    code = result.exit_code
    how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
    lines = [" ".join(line.split()) for line in result.output[-TAIL:].splitlines() if line.strip()]
    return f"{how} (its last output: {' / '.join(lines[-LINES:])})" if lines else how
