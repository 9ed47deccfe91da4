"""`gate poll` as people call it: real processes, exit codes, what stands on stdout and stderr."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from gate import documents
from gate.rundir import layout, lease
from gate.rundir.files import FileStore
from gate.rundir.formats import WorkloadEntry
from gate.rundir.run import Run
from tests.dispatch.plans import plan
from tests.poll.test_killed import finish
from tests.poll.worlds import RUN, TAG, attempt_of


def gate(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `gate poll` with the runner's own disk and the root below `folder`."""
    env = {**os.environ, "GATE_STATE_DIR": str(folder / "own")}
    env.pop("GITHUB_RUN_ID", None)
    argv = [sys.executable, "-m", "gate", "poll", *words, "--root", str(folder / "root")]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run whose workloads were seen gone, with its run directory also under the name `run`."""
    made = plan()
    attempt = attempt_of(replace(made, poll=replace(made.poll, interval=0.2)))
    run_dir = layout.run(tmp_path / "root", made.repository, made.gate, RUN)
    run_dir.mkdir(parents=True)
    (tmp_path / "run").symlink_to(run_dir)
    (tmp_path / "engine").mkdir()

    async def main() -> None:
        run = Run(FileStore(run_dir))
        await run.store.create(layout.attempt(1), documents.dump(attempt))
        for workload in made.workloads:
            (tmp_path / "engine" / f"id-{workload.id}").write_text("{}")
            entry = WorkloadEntry(workload.id, TAG, f"n-{workload.id}", workload.legs, "seen_gone", None, 0.0, "")
            await run.record_entry(entry)

    anyio.run(main)
    return tmp_path


def test_a_gate_that_passes(folder: Path) -> None:
    finish(folder, "a", ok=True)
    finish(folder, "b", ok=True)
    done = gate(folder, RUN, "--plain", "--events", "events.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert "run 12, attempt 1; 2 legs, 2 blocking" in done.stdout
    assert "a: PASS" in done.stdout
    lines = done.stdout.splitlines()
    assert lines[-3].endswith(" GO: all 2 blocking legs passed")
    assert lines[-2:] == ["  ✔ 2 passed", "next  gate status 12"]
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert events[0]["kind"] == "run"
    assert [event["kind"] for event in events].count("verdict") == 2
    again = gate(folder, "1", "--json")  # the beginning of its id; decided long ago
    assert again.returncode == 0
    body = json.loads(again.stdout)
    assert (body["decision"]["word"], body["exit_code"], body["remaining"]) == ("GO", 0, [])


def test_a_gate_that_fails_and_the_latest_run_is_meant_where_none_is_named(folder: Path) -> None:
    finish(folder, "a", ok=False)
    finish(folder, "b", ok=True, done=False)
    done = gate(folder, "--plain", "--no-fail-fast", "--once")
    assert done.returncode == 5
    assert "undecided: b" in done.stdout
    finish(folder, "b", ok=True)
    assert gate(folder, "--plain").returncode == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["99"], "no run '99'"),
        ([RUN, "--interval", "soon"], "--interval"),
        ([RUN, "--events", "/nowhere/at/all.jsonl"], "/nowhere/at/all.jsonl"),
        ([RUN, "--config", "missing.yaml"], "missing.yaml"),
    ],
)
def test_what_cannot_be_is_exit_code_2_and_says_so(folder: Path, words: list[str], said: str) -> None:
    done = gate(folder, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_that_another_poller_holds(folder: Path) -> None:
    other = lease.fresh("other", "ci-9", 4711, "gate poll 12", 0.1, 0.0)

    async def main() -> None:
        store = FileStore(folder / "run")
        await store.create(layout.LEASE, documents.dump(other))
        counter = 0
        with anyio.move_on_after(20):
            async with anyio.create_task_group() as tasks:

                async def beat() -> None:
                    nonlocal counter
                    while True:
                        await anyio.sleep(0.1)
                        counter += 1
                        await store.replace(layout.LEASE, documents.dump(replace(other, counter=counter)))

                tasks.start_soon(beat)
                argv = [sys.executable, "-m", "gate", "poll", RUN, "--root", str(folder / "root")]
                done = await anyio.run_process(argv, check=False, cwd=folder)
                tasks.cancel_scope.cancel()
                assert done.returncode == 2
                for word in (b"ci-9", b"4711", b"--take-over"):
                    assert word in done.stderr
                assert b"not watched" not in done.stderr

    anyio.run(main)


@pytest.mark.parametrize(
    ("key", "raw", "said"),
    [
        (layout.attempt(1), b"{", "gate/attempts/0001.json"),
        (layout.observations(TAG), b"[]\n", "expected a journal of observations"),
        (layout.verdict(TAG, "a"), b"{}", "expected format 'gate.verdict'"),
        (layout.decision(TAG), b"[]", "expected an object"),
        (layout.cancel(TAG), b'{"format": "gate.cancel", "format_version": 9}', "newer than this gate reads"),
        (layout.workload(TAG, "a"), b"NaN", "gate/workloads"),
    ],
)
def test_a_damaged_record_is_named_and_left_alone(folder: Path, key: str, raw: bytes, said: str) -> None:
    path = folder / "run" / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    done = gate(folder, RUN, "--plain")
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert path.read_bytes() == raw
    assert ("gate reap --run 12" in done.stderr) == (key != layout.attempt(1)), "what may live on is named"
