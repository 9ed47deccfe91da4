"""Parses the command line and hands over; nothing else.

`--version` is answered before typer is imported, and of the commands only the one that was called: the start of a
program that people type all day is theirs, not ours.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from gate import __version__
from gate.errors import EXIT_BUG, EXIT_CANCELLED_INT, EXIT_PASSED, EXIT_USAGE, GateError, leaves
from gate.streams import PipeClosedError, guard, release

if TYPE_CHECKING:
    import typer

EXIT_PIPE = 141
"""What a shell reports of a program ended by SIGPIPE; 1 would read as a failed leg."""


class Entry(NamedTuple):
    """One row of `gate --help`. `module` is below gate.commands; None: handled before this file is reached."""

    module: str | None
    short: str


COMMANDS: dict[str, Entry] = {
    "init": Entry("init", "Write a commented gate.yaml to start from."),
    "plan": Entry("plan", "Show what would run: legs, prompts, artifact, the ladder of deadlines."),
    "schema": Entry("schema", "Print the JSON Schema of gate.yaml."),
    "scope": Entry("scope", "Say what a change costs: every leg, the fast ones, or none."),
    "dispatch": Entry("dispatch", "Make or continue a run: stage, verify, launch."),
    "supervise": Entry(None, "Inside a workload: hold its processes, its time-out and its exit code."),
    "bootstrap": Entry(None, "Inside a workload: drive its legs from set-up to a finished state file."),
    "poll": Entry("poll", "Watch a run until every leg is judged, report, reap."),
    "run": Entry("run", "Plan, dispatch and poll in one go."),
    "retry": Entry("retry", "Another attempt of a run: only what did not pass."),
    "status": Entry("status", "Show a run's legs, workloads and decision."),
    "explain": Entry("explain", "Show how a leg's verdict came about."),
    "report": Entry("report", "Show what a run came to; as a page with --html."),
    "replay": Entry("replay", "Judge a run's recorded observations again, with today's rules."),
    "logs": Entry("logs", "Show a leg's log, transcript or journal, also while it runs."),
    "keep": Entry("keep", "Keep a leg's workload for a while, for a look inside."),
    "stop": Entry("stop", "Stop a leg's workload, or all of a run's, and see them gone."),
    "reap": Entry("reap", "Stop what a run, or older runs, left behind."),
    "prune": Entry("prune", "Remove run directories by leg, age or worth."),
    "simulate": Entry("simulate", "Play the gate through in virtual time, with faults, before it costs anything."),
    "campaign": Entry("campaign", "Random gates, random faults: what gate promises is checked after each."),
}


ACTING = frozenset(("dispatch", "poll", "run", "retry", "keep", "stop", "reap", "prune"))
"""Commands that go on, and end with their own code, when nobody can be told any more; the others end then."""


def main() -> NoReturn:
    """The `gate` command. Never returns; every exit code is one of `gate.errors`."""
    guard(acts=_wanted(sys.argv[1:]) in ACTING)
    try:
        code = run(sys.argv[1:])
    finally:
        release()
    raise SystemExit(code)


def run(argv: list[str]) -> int:
    """Run `gate` with these arguments and return its exit code. Writes to stdout and stderr."""
    if argv == ["--version"]:
        print(f"gate {__version__}")  # noqa: T201 - the answer
        return EXIT_PASSED
    try:
        code = _invoke(argv)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - every end gets its exit code here
        return _ended(error, argv)
    return code


def _invoke(argv: list[str]) -> int:
    gc.disable()  # looking for garbage in half a thousand modules that are being imported costs a tenth of the start
    import typer  # noqa: PLC0415 - `gate --version` does not pay for it

    command = typer.main.get_command(_app(_wanted(argv)))
    gc.enable()
    if "_GATE_COMPLETE" in os.environ:
        command.main(argv, prog_name="gate")
    try:
        with command.make_context("gate", list(argv)) as context:
            result = command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, EOFError):
        sys.stderr.write("\nDeclined: nothing was changed.\n")
        return EXIT_USAGE
    except typer.exceptions.TyperException as error:
        show: Callable[[], None] | None = getattr(error, "show", None)
        if show is not None:
            show()
        else:
            sys.stderr.write(f"Error: {error.format_message()}\n")
        return EXIT_USAGE
    return result if isinstance(result, int) and not isinstance(result, bool) else EXIT_PASSED


def _wanted(argv: list[str]) -> str | None:
    """The command to import: the first word that is no option, also while a shell asks for completions."""
    words = os.environ["COMP_WORDS"].split()[1:] if "COMP_WORDS" in os.environ else argv
    return next((word for word in words if not word.startswith("-")), None)


def _app(wanted: str | None) -> typer.Typer:
    import typer  # noqa: PLC0415 - `gate --version` does not pay for it

    app = typer.Typer(
        help="Decides whether a release may go out, from fresh, owned, parsed evidence only.",
        epilog="Bare `gate` shows where you stand. Exit codes: 0 passed, 1 a blocking leg failed, 2 usage, "
        "3 not measured, 4 superseded, 5 undecided, 6 something remains, 70 a bug in gate.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def top(context: typer.Context, version: bool = typer.Option(False, "--version", help="Show the version.")) -> int:
        if version:
            typer.echo(f"gate {__version__}")
            raise typer.Exit(EXIT_PASSED)
        if context.invoked_subcommand is None:
            importlib.import_module("gate.commands.overview").command()
        return EXIT_PASSED

    # typer reads annotations from the module, where the name `typer` exists for type checkers only
    top.__annotations__.update(context=typer.Context, version=bool)
    for name, entry in COMMANDS.items():
        callback = _not_here
        if name == wanted and entry.module is not None:
            callback = importlib.import_module(f"gate.commands.{entry.module}").command
        app.command(name, short_help=entry.short)(callback)
    return app


def _not_here() -> None:
    """Stands for a command that was not called: only its line in the list of commands is shown."""
    raise AssertionError("the called command is always imported")


def _tell(errors: list[GateError]) -> int:
    for text in dict.fromkeys(map(str, errors)):
        sys.stderr.write(f"gate: {text}\n")
    return max(error.exit_code for error in errors)


def _ended(error: BaseException, argv: list[str]) -> int:
    """The exit code of an error, or of those of tasks that ran side by side. What nobody expects is a bug."""
    found = leaves(error)
    if any(isinstance(leaf, KeyboardInterrupt) for leaf in found):
        return EXIT_CANCELLED_INT
    expected = [leaf for leaf in found if isinstance(leaf, GateError)]
    if len(expected) == len(found):
        return _tell(expected)
    if all(isinstance(leaf, PipeClosedError) for leaf in found):
        return EXIT_PIPE
    return _bug(error, argv)


def _bug(error: BaseException, argv: list[str]) -> int:
    from gate.bugs import save  # noqa: PLC0415 - only where there is one

    place = save(error, argv)
    sys.stderr.write(
        f"gate: a bug in gate: {type(error).__name__}: {error}\n"
        f"  The log with what is needed to find it is {place}\n"
        "  Nothing was decided by this; the command can be run again.\n"
    )
    return EXIT_BUG
