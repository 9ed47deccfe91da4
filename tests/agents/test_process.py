"""One turn's command line: nothing is lost, nothing hangs, and what is ended is exactly what belongs to the turn."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from exceptiongroup import ExceptionGroup

from gate.agents import process
from gate.agents.process import CommandLine, Ended, run_command
from gate.agents.processes import TurnProcesses, row
from gate.agents.turns import Lines, Tail, signal_name
from tests.agents.places import make_place, runs


class Turn:
    """Runs shell commands as turns in `tmp_path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = make_place(path).agent
        self.out = b""
        self.err = b""

    def line(self, command: str, stdin: bytes = b"", *, tool_sessions: bool = False) -> CommandLine:
        return CommandLine(
            argv=("/bin/bash", "-c", command),
            stdin=stdin,
            cwd=self.place.cwd,
            env=self.place.env,
            scratch=self.place.scratch,
            tool_sessions=tool_sessions,
        )

    def run(self, line: CommandLine | str, budget: float = 30.0, probe: float = 0.0) -> Ended:
        chosen = self.line(line) if isinstance(line, str) else line

        async def out(chunk: bytes) -> None:
            self.out += chunk

        async def err(chunk: bytes) -> None:
            self.err += chunk

        return anyio.run(run_command, chosen, budget, probe, out, err)


@pytest.fixture
def turn(tmp_path: Path) -> Turn:
    return Turn(tmp_path)


def gone(pid: int, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while runs(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not runs(pid)


def test_output_and_exit_code(turn: Turn) -> None:
    assert turn.run("echo out; echo err >&2; exit 3") == Ended("exited", 3)
    assert (turn.out, turn.err) == (b"out\n", b"err\n")


def test_a_long_prompt_arrives_whole_and_ends(turn: Turn) -> None:
    prompt = os.urandom(3_000_000)
    assert turn.run(turn.line("cat", prompt)).exit_code == 0
    assert turn.out == prompt


def test_no_byte_is_lost_at_the_end(turn: Turn) -> None:
    """More than a pipe holds, read by a slow reader, from a process that ends at once."""
    got = bytearray()

    async def slow(chunk: bytes) -> None:
        await anyio.sleep(0.01)
        got.extend(chunk)

    async def main() -> Ended:
        return await run_command(turn.line("head -c 500000 /dev/zero; echo last"), 30, 0, slow, slow)

    assert anyio.run(main).exit_code == 0
    assert len(got) == 500_005
    assert got.endswith(b"last\n")


def test_the_prompt_is_not_in_argv(turn: Turn) -> None:
    turn.run(turn.line("tr '\\0' ' ' </proc/$$/cmdline", b"the prompt"))
    assert b"prompt" not in turn.out


def test_the_environment_is_exactly_what_was_given(turn: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/not/ours")
    turn.run("env")
    names = {line.partition(b"=")[0] for line in turn.out.splitlines()}
    assert names == {b"PATH", b"LANG", b"TOKEN", b"PWD", b"SHLVL", b"_"}


def test_a_turn_ends_though_a_child_holds_its_output_and_the_child_lives_on(
    turn: Turn, tmp_path: Path, pids: Callable[[str], int]
) -> None:
    """It writes to the turn's output after the turn: a closed pipe would kill it, an unread one would block it."""
    script = (
        "(trap '' HUP; echo $BASHPID > child; sleep 1; head -c 300000 /dev/zero && touch wrote; exec sleep 60) & exit 0"
    )
    began = time.monotonic()
    assert turn.run(script).how == "exited"
    assert time.monotonic() - began < 0.9
    deadline = time.monotonic() + 10
    while not (tmp_path / "workspace" / "wrote").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert (tmp_path / "workspace" / "wrote").exists()
    assert runs(pids("child"))


def test_cc16135_an_end_by_time_takes_the_session_and_spares_what_was_detached(
    turn: Turn, pids: Callable[[str], int]
) -> None:
    script = """
        setsid nohup sh -c 'echo $$ > detached; exec tail -f /dev/null' >/dev/null 2>&1 </dev/null &
        (sh -c 'echo $$ > orphan; exec tail -f /dev/null' &)
        set -m  # a process group of its own, in the same session
        sh -c 'echo $$ > grouped; exec tail -f /dev/null' &
        until [ -s detached ] && [ -s orphan ] && [ -s grouped ]; do sleep 0.01; done
        echo $$ > leader; wait
    """
    ended = turn.run(script, budget=1.5)
    assert (ended.how, ended.exit_code, ended.left) == ("timed_out", -signal.SIGTERM, ())
    assert runs(pids("detached"))
    assert [runs(pids(name)) for name in ("leader", "orphan", "grouped")] == [False, False, False]


TOOL = """
    setsid sh -c '
        setsid nohup sh -c "echo \\$\\$ > detached; exec tail -f /dev/null" >/dev/null 2>&1 </dev/null &
        sh -c "echo \\$\\$ > inner; exec tail -f /dev/null" &
        echo $$ > tool; wait' &
    until [ -s detached ] && [ -s tool ] && [ -s inner ]; do sleep 0.01; done
    wait
"""
"""As the Claude CLI runs a tool command: in a session of its own."""


def test_a_tool_command_in_a_session_of_its_own_belongs_to_the_turn(turn: Turn, pids: Callable[[str], int]) -> None:
    assert turn.run(turn.line(TOOL, tool_sessions=True), budget=1.5).how == "timed_out"
    assert runs(pids("detached"))
    assert [runs(pids(name)) for name in ("tool", "inner")] == [False, False]


def test_without_tool_sessions_a_session_of_its_own_is_detached(turn: Turn, pids: Callable[[str], int]) -> None:
    assert turn.run(TOOL, budget=1.5).how == "timed_out"
    assert [runs(pids(name)) for name in ("detached", "tool", "inner")] == [True, True, True]


def test_what_ignores_sigterm_is_killed(
    turn: Turn, monkeypatch: pytest.MonkeyPatch, pids: Callable[[str], int]
) -> None:
    monkeypatch.setattr(process, "GRACE", 0.3)
    ended = turn.run("trap '' TERM; echo $$ > leader; while :; do sleep 0.05; done", budget=0.7)
    assert (ended.how, ended.exit_code) == ("timed_out", -signal.SIGKILL)
    assert not runs(pids("leader"))


def test_what_forks_while_it_is_ended_is_ended_too(turn: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.2)
    script = "trap '' TERM; echo $$ > leader; while :; do (trap '' TERM; exec tail -f /dev/null) & sleep 0.02; done"
    assert turn.run(script, budget=0.5).left == ()
    leader = int((turn.path / "workspace" / "leader").read_text())
    assert TurnProcesses(leader, tool_sessions=False).look() == ()


def test_cc75613_no_byte_is_no_start(turn: Turn) -> None:
    began = time.monotonic()
    assert turn.run("exec tail -f /dev/null", budget=30, probe=0.4).how == "no_start"
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("script", ["echo a; exec sleep 1", "echo a >&2; exec sleep 1", "exit 0"])
def test_a_byte_of_either_output_or_an_end_satisfies_the_probe(turn: Turn, script: str) -> None:
    assert turn.run(script, budget=30, probe=0.7).how == "exited"


def test_cancelling_ends_the_turn_within_a_runners_patience(turn: Turn, pids: Callable[[str], int]) -> None:
    async def main() -> float:
        async def out(_: bytes) -> None:
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                run_command,
                turn.line("trap '' TERM; echo $$ | tee leader; while :; do sleep 0.05; done"),
                60,
                0,
                out,
                out,
            )
            await anyio.sleep_forever()
        return anyio.current_time()

    began = time.monotonic()
    anyio.run(main)
    assert time.monotonic() - began < 2.5
    assert not runs(pids("leader"))


def test_a_failing_sink_ends_the_turn(turn: Turn, pids: Callable[[str], int]) -> None:
    async def broken(_: bytes) -> None:
        raise RuntimeError("a bug in a sink")

    with pytest.raises(ExceptionGroup, match="unhandled errors"):
        anyio.run(run_command, turn.line("echo $$ > leader; echo x; exec tail -f /dev/null"), 60, 0, broken, broken)
    assert gone(pids("leader"))


@pytest.mark.parametrize(
    ("program", "text", "said"),
    [
        ("absent", None, "No such file"),
        ("not-executable", "#!/bin/sh\n", "Permission denied"),
        ("foreign", "\x7fELF\x02\x01\x01" + "\0" * 60, "Exec format error"),
        ("no-interpreter", "#!/no/such/node\n", "No such file"),
    ],
)
def test_cc85939_what_cannot_be_executed_is_said(turn: Turn, program: str, text: str | None, said: str) -> None:
    path = turn.path / program
    if text is not None:
        path.write_text(text)
        path.chmod(0o644 if program == "not-executable" else 0o755)
    line = CommandLine((str(path),), b"", turn.place.cwd, turn.place.env, turn.place.scratch)
    ended = turn.run(line)
    assert (ended.how, ended.exit_code) == ("unavailable", None)
    assert said in ended.why
    assert program in ended.why


def test_a_start_that_hangs_is_given_up_and_ended_when_it_comes(turn: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
    """A share hangs while the process is being started; later it answers."""
    share = threading.Event()
    started: list[int] = []
    make = tempfile.TemporaryFile
    popen = subprocess.Popen

    def hanging(**where: Any) -> Any:
        share.wait(20)
        return make(**where)

    class Watched(popen):  # type: ignore[valid-type, misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            started.append(self.pid)

    monkeypatch.setattr(process, "SPAWN_DEADLINE", 0.2)
    monkeypatch.setattr(tempfile, "TemporaryFile", hanging)
    monkeypatch.setattr(subprocess, "Popen", Watched)
    ended = turn.run("exec tail -f /dev/null")
    assert ended.how == "unavailable"
    assert "no start within 0.2 s" in ended.why
    share.set()
    deadline = time.monotonic() + 5
    while not started and time.monotonic() < deadline:
        time.sleep(0.01)
    assert gone(started[0])


def test_tensorrt_llm16404_never_its_own_session() -> None:
    for own in {os.getpid(), os.getsid(0)}:
        with pytest.raises(ValueError, match="own session"):
            TurnProcesses(own, tool_sessions=False)


def test_a_row_of_proc_survives_strange_names(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to("/bin/sleep")
    pid = os.spawnv(os.P_NOWAIT, str(program), [str(program), "60"])
    try:
        found = row(pid)
        assert found is not None
        assert (found.pid, found.parent, found.session) == (pid, os.getpid(), os.getsid(0))
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert row(pid) is None


def test_lines_across_chunks_and_one_that_is_too_long() -> None:
    got: list[bytes] = []

    async def main() -> None:
        async def each(line: bytes) -> None:
            got.append(line)

        lines = Lines(each, limit=10)
        for chunk in (b"a", b"b\n\nc", b"\n", b"0123456789", b"0123", b"456\nd\nlast"):
            await lines.add(chunk)
        await lines.finish()

    anyio.run(main)
    assert got == [b"ab", b"", b"c", b"d", b"last"]


def test_a_tail_is_bounded() -> None:
    async def main() -> Tail:
        tail = Tail(10)
        for number in range(1000):
            await tail.add(f"{number:05}".encode())
            assert len(tail._kept) <= 25
        return tail

    tail = anyio.run(main)
    assert (tail.text(), tail.size) == ("0099800999", 5000)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (0, None),
        (1, None),
        (127, None),
        (128, None),
        (-9, "SIGKILL"),
        (137, "SIGKILL"),
        (143, "SIGTERM"),
        (255, None),
        (None, None),
    ],
)
def test_signals_in_exit_codes(code: int | None, name: str | None) -> None:
    assert signal_name(code) == name
