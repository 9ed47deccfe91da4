"""Gates on this machine, from the command line to the last process seen gone: the whole fits together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bootstrap.supervise_harness import wait_until
from tests.commands.test_cli import Cli

GATE = """\
version: 1
gate: tune
artifact: none
budgets: {interval: 200ms}
legs:
  sort:
    run: python3 leg.py %(what)s
    budget: 2m
    judge: {finished: {done: true}, pass: {stop_reason: [converged]}}
"""

LEG = """\
import json, os, pathlib, sys, time
what = sys.argv[1]
print("leg says hello\\x1b[31m red", flush=True)
state = pathlib.Path(os.environ["GATE_STATE_FILE"])
state.parent.mkdir(parents=True, exist_ok=True)
def write(**values):
    part = state.with_name("part")
    part.write_text(json.dumps(values))
    part.replace(state)
write(done=False, stop_reason=None)
if what == "long":
    time.sleep(600)
if what == "fail-later":
    time.sleep(6)
write(done=True, stop_reason="converged" if what == "pass" else "gave_up")
"""


class Gate(Cli):
    """A folder with a gate of one command leg."""

    def write(self, what: str) -> None:
        (self.folder / "gate.yaml").write_text(GATE % {"what": what}, encoding="utf-8")
        (self.folder / "leg.py").write_text(LEG, encoding="utf-8")

    def json(self, *argv: str) -> Any:
        done = self(*argv, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def start(self, *argv: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "gate", *argv],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def runs(self) -> list[str]:
        return [path.name for path in (self.folder / "state" / "runs").glob("*/*/runs/*")]

    def live(self) -> list[str]:
        """Processes of this gate's workloads, by their command line and working directory."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    place = str((entry / "cwd").readlink())
                except OSError:
                    continue  # it ended meanwhile
                if str(self.folder) in words + place and int(entry.name) != os.getpid() and "-m gate" not in words:
                    found.append(words)
        return found

    def wait(self, what: str, seconds: float = 60.0) -> None:
        """Until `gate logs` shows `what`."""
        end = time.monotonic() + seconds
        while what not in self("logs", "sort").stdout:
            assert time.monotonic() < end, "it never began"
            time.sleep(0.2)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    made = Gate(tmp_path)
    yield made
    for run in made.runs():
        made("stop", "--run", run, "--yes")
    assert made.live() == []


def test_a_leg_that_converges_passes_and_leaves_nothing(gate: Gate) -> None:
    gate.write("pass")
    done = gate("run", "--run", "r1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "GO" in done.stdout
    assert done.stdout.endswith("  ✔ 1 passed\nnext  gate status r1\n")
    assert gate.live() == []
    where = gate().stdout
    assert "latest run     r1 of tune unversioned, attempt 1\n" in where
    assert "GO, " in where
    assert gate("poll", "r1").returncode == 0, "the decision stands"
    assert gate("dispatch", "--run", "r1").stdout.count("Decided already: GO") == 1


def test_a_leg_that_gives_up_fails_and_says_why(gate: Gate) -> None:
    gate.write("fail")
    done = gate("run")
    assert done.returncode == 1, done.stdout + done.stderr
    run = gate.runs()[0]
    after = done.stdout.partition("NO-GO: ")[2]
    assert '✘ FAIL       sort  not_accepted\n      stop_reason is "gave_up"' in after
    assert f"next  gate explain sort --run {run}\n      gate logs sort --run {run}\n      gate retry {run}\n" in after
    assert gate.live() == []
    assert gate().stdout.endswith(
        f"  gate explain sort --run {run}\n  gate logs sort --run {run}\n  gate retry {run}\n"
    )


def test_a_pass_of_a_subset_says_so_wherever_one_looks(gate: Gate) -> None:
    gate.write("pass")
    file = gate.folder / "gate.yaml"
    text = file.read_text(encoding="utf-8")
    other = text[text.index("  sort:") :].replace("  sort:", "  other:")
    file.write_text(text + other, encoding="utf-8")
    done = gate("run", "--legs", "sort")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "(only a full pass is a release pass)" in done.stdout
    assert "PASSED (subset only: no release pass), " in gate().stdout


def test_a_kept_workload_is_named_at_the_end_with_what_ends_it(gate: Gate) -> None:
    gate.write("fail-later")  # only what a poll has seen running is kept
    done = gate("run", "--run", "r1", "--keep-on-fail", "5m")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "still running: workload sort, until " in done.stdout
    assert "stop it: gate stop --run r1" in done.stdout
    where = gate().stdout
    assert "not seen gone  sort, kept until " in where
    assert "  gate stop --run r1   (it is kept)\n" in where, "reap would leave it alone"


def test_a_refused_run_has_no_id_yet(gate: Gate) -> None:
    gate.write("long")
    assert gate("dispatch", "--run", "r1").returncode == 0
    done = gate("run")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert lines[1].startswith("gate: run r1 of gate tune, version unversioned is live: attempt 1, 1 workload (")
    assert not any(line.startswith("run ") for line in lines), "it was never made"


def test_dispatch_poll_and_logs_as_separate_commands(gate: Gate) -> None:
    gate.write("pass")
    made = gate.json("dispatch")
    assert [workload["stage"] for workload in made["workloads"]] == ["created"]
    assert gate("poll", made["run"]).returncode == 0
    shown = gate("logs", "sort").stdout
    assert "leg says hello" in shown
    assert "\x1b" not in shown, "a log cannot steer the terminal"


def test_retry_runs_what_did_not_pass_on_the_same_artifact(gate: Gate) -> None:
    gate.write("fail")
    assert gate("run", "--run", "r1").returncode == 1
    gate.write("pass")
    done = gate("retry", "r1")
    assert done.returncode == 0, done.stdout + done.stderr
    again = gate("retry", "r1")
    assert "carried" in again.stderr, "what passed is not run again"
    assert again.returncode == 0


def test_a_live_twin_is_named_and_refused(gate: Gate) -> None:
    gate.write("long")
    gate.json("dispatch", "--run", "r1")
    refused = gate("dispatch", "--run", "r2")
    assert refused.returncode == 2
    assert "run r1 of gate tune" in refused.stderr
    assert gate("dispatch", "--run", "r2", "--new").returncode == 0
    assert gate("stop", "--run", "r2", "--yes").returncode == 0
    assert gate.live() != [], "the twin lives on"


def test_stop_asks_and_then_sees_it_gone(gate: Gate) -> None:
    gate.write("long")
    gate.json("dispatch", "--run", "r1")
    assert gate("stop", "sort").returncode == 2, "nobody is there to ask"
    assert gate("stop", "sort", "--dry-run").stdout.strip().endswith("would stop sort")
    assert gate("stop", "sort", "--yes").returncode == 0
    assert gate.live() == []


def test_keep_is_honoured_by_reap_until_all_is_asked_for(gate: Gate) -> None:
    gate.write("long")
    gate.json("dispatch", "--run", "r1")
    lease = gate.json("keep", "sort", "--for", "1h")
    assert lease["until"] > time.time() + 3000
    reaped = gate("reap", "--run", "r1")
    assert reaped.returncode == 0, reaped.stderr
    assert "kept" in reaped.stdout
    assert gate.live() != []
    refused = gate("prune", "--run", "r1", "--yes")
    assert "not seen gone" in refused.stdout + refused.stderr
    assert gate("reap", "--run", "r1", "--all").returncode == 0
    assert gate.live() == []
    assert gate("prune", "--run", "r1", "--yes").returncode == 0
    assert list((gate.folder / "state" / "runs").iterdir()) == []


def test_reap_after_the_dispatcher_is_long_gone(gate: Gate) -> None:
    gate.write("long")
    gate.json("dispatch", "--run", "r1")
    gate.wait("hello")
    shown = gate.json("reap", "--run", "r1", "--dry-run")
    assert [one["run"] for one in shown["stopped"]] == ["r1"]
    assert gate("reap", "--run", "r1").returncode == 0
    assert gate.live() == []


def _cut(path: Path) -> None:
    os.truncate(path, 20)


def _linked(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("elsewhere")))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("what", "damage"),
    [
        *(("attempts/0001.json", damage) for damage in (_cut, Path.unlink, _linked, _folder)),
        *(("lease.json", damage) for damage in (_linked, _folder)),
    ],
)
def test_what_lives_of_a_run_that_cannot_be_read_is_named_and_can_be_ended(
    gate: Gate, what: str, damage: Callable[[Path], None]
) -> None:
    gate.write("long")
    assert gate("dispatch").returncode == 0
    (run,) = gate.runs()
    (path,) = (gate.folder / "state/runs").glob("*/*/runs/*/gate")
    if not (path / what).exists():
        (path / what).write_text("{}")
    damage(path / what)
    named = gate("reap", "--run", run, "--dry-run")
    assert "tune-sort-" in named.stdout + named.stderr
    shown = gate()
    assert run in shown.stdout, shown.stderr
    ended = gate("reap", "--run", run, "--all")
    assert ended.returncode == 0, ended.stderr
    assert "stopped  tune-sort-" in ended.stdout
    wait_until(lambda: gate.live() == [], 5.0)


def test_an_older_run_that_cannot_be_read_is_named_by_stale(gate: Gate) -> None:
    gate.write("long")
    assert gate("dispatch").returncode == 0
    (run,) = gate.runs()
    (path,) = (gate.folder / "state/runs").glob("*/*/runs/*/gate/attempts/0001.json")
    _cut(path)
    named = gate("reap", "--stale")
    assert named.returncode == 6
    assert f"gate reap --run {run} --all" in named.stdout + named.stderr
    assert gate("reap", "--run", run, "--all").returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_tensorrt_16404_an_interrupted_run_ends_its_workloads_and_not_itself(
    gate: Gate, number: signal.Signals, code: int
) -> None:
    gate.write("long")
    process = gate.start("run", "--run", "r1")
    gate.wait("hello")
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, out + err
    assert time.monotonic() - began < 7
    assert gate("reap", "--run", "r1").returncode == 0
    assert gate.live() == []


def test_runner_2128_a_killed_run_is_cleaned_up_from_another_process(gate: Gate) -> None:
    gate.write("long")
    process = gate.start("run", "--run", "r1")
    gate.wait("hello")
    process.kill()
    process.communicate()
    done = gate("reap", "--run", "r1")
    assert done.returncode == 0, done.stderr
    assert gate.live() == []


def test_a_killed_run_goes_on_under_its_id(gate: Gate) -> None:
    gate.write("long")
    process = gate.start("run", "--run", "r1")
    gate.wait("hello")
    process.kill()
    process.communicate()
    again = gate.json("dispatch", "--run", "r1")
    assert (again["attempt"], again["continued"]) == (1, True)
    assert len(again["workloads"]) == 1


def test_dispatch_killed_anywhere_and_run_again_leaves_one_workload_a_leg(gate: Gate) -> None:
    """Real kills of the real command on the real engine, spread over its life; what each left is gone on with."""
    gate.write("long")
    for after in (0.3, 0.5, 0.7, 0.9):
        process = gate.start("dispatch", "--run", "r1")
        time.sleep(after)  # the instant of the kill is what varies
        process.kill()
        process.communicate()
    made = gate.json("dispatch", "--run", "r1")
    assert (made["attempt"], len(made["workloads"])) == (1, 1)
    assert made["workloads"][0]["stage"] == "created"
    gate.wait("hello")
    assert len(list((gate.folder / "state" / "local").glob("tune-sort-*"))) == 1
    assert gate("reap", "--run", "r1").returncode == 0
    assert gate.live() == []


def test_reuse_takes_the_artifact_of_an_earlier_run_and_says_whose(gate: Gate) -> None:
    gate.write("pass")
    config = (gate.folder / "gate.yaml").read_text(encoding="utf-8")
    (gate.folder / "gate.yaml").write_text(config.replace("artifact: none", "artifact: x-*.tgz"), encoding="utf-8")
    (gate.folder / "x-1.tgz").write_bytes(b"built once")
    assert gate("run", "--run", "r1", "--version", "1.0").returncode == 0
    (gate.folder / "x-1.tgz").unlink()
    assert gate("run", "--run", "r2", "--version", "1.0").returncode == 2, "there is nothing to gate"
    unknown = gate("run", "--run", "r2", "--reuse", "2.0")
    assert (unknown.returncode, "Staged: 1.0" in unknown.stderr) == (2, True)
    done = gate("run", "--run", "r2", "--reuse", "1.0")
    assert done.returncode == 0, done.stderr
    assert "as staged by run r1" in done.stderr
    manifest = json.loads(next(gate.folder.glob("state/runs/*/*/runs/r2/gate/manifest.json")).read_text("utf-8"))
    assert (manifest["run"], manifest["ci"]["run"]) == ("r1", "r1")
    staged = next(gate.folder.glob("state/runs/*/*/runs/r2/staged/artifact/x-1.tgz"))
    staged.write_bytes(b"tampered with")
    assert "found sha256" in gate("run", "--run", "r3", "--reuse", "1.0").stderr


def test_in_ci_the_run_and_its_attempts_are_the_cis(gate: Gate) -> None:
    gate.write("fail")
    first = {"GITHUB_RUN_ID": "4711", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_REPOSITORY": "acme/product"}
    assert gate("run", **first).returncode == 1
    again = gate("run", **first)
    assert again.returncode == 1, "the same attempt of the CI run is decided"
    assert "→" not in again.stderr, "and launches nothing"
    gate.write("pass")
    second = gate("run", **(first | {"GITHUB_RUN_ATTEMPT": "2"}))
    assert second.returncode == 0, second.stderr
    assert sorted(p.name for p in gate.folder.glob("state/runs/acme%2Fproduct/tune/runs/4711/gate/attempts/*")) == [
        "0001.json",
        "0002.json",
    ]


def test_ctrl_c_while_workloads_are_being_launched_ends_those_that_were(gate: Gate) -> None:
    gate.write("long")
    head, leg = (gate.folder / "gate.yaml").read_text(encoding="utf-8").split("  sort:\n")
    legs = "".join(f"  leg{number}:\n{leg}" for number in range(12))
    (gate.folder / "gate.yaml").write_text(head + legs, encoding="utf-8")
    process = gate.start("run", "--run", "r1")
    assert process.stderr is not None
    while "→" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, out + err
    assert gate("reap", "--run", "r1").returncode == 0
    assert gate.live() == []


def test_a_missing_secret_is_said_before_anything_is_written(gate: Gate) -> None:
    gate.write("pass")
    config = (gate.folder / "gate.yaml").read_text(encoding="utf-8")
    config = config.replace("legs:\n", "secrets: {API_KEY: {env: NOT_SET_HERE}}\nlegs:\n")
    config = config.replace("    budget: 2m\n", "    budget: 2m\n    secrets: [API_KEY]\n")
    (gate.folder / "gate.yaml").write_text(config, encoding="utf-8")
    done = gate("run")
    assert done.returncode == 2
    assert "NOT_SET_HERE is not set" in done.stderr
    assert gate.runs() == []
    secret = "s3cr3t-" + "v4lue-0815"
    leg = gate.folder / "leg.py"
    leg.write_text(leg.read_text(encoding="utf-8") + "print(os.environ['API_KEY'])\n", encoding="utf-8")
    assert gate("run", NOT_SET_HERE=secret).returncode == 0
    held = [str(path) for path in (gate.folder / "state").rglob("*") if path.is_file() and _holds(path, secret)]
    assert held == [], "its value stands in no file"


def _holds(path: Path, text: str) -> bool:
    return text.encode() in path.read_bytes()


SHOWS = """\
import json, os, pathlib
print("\\n".join(f"{name}={value}" for name, value in os.environ.items()))
pathlib.Path(os.environ["GATE_STATE_FILE"]).write_text(json.dumps({"done": True}))
"""

TWO = """\
version: 1
gate: tune
artifact: none
budgets: {interval: 200ms}
secrets: {API_KEY: {env: SOURCE_OF_KEY}}
judge: {finished: {done: true}, pass: {done: true}}
legs:
  given: {run: python3 shows.py, budget: 2m, secrets: [API_KEY]}
  other: {run: python3 shows.py, budget: 2m}
"""


def test_a_leg_gets_no_secret_that_only_another_was_given(gate: Gate) -> None:
    """The dispatcher has them all in its environment, which a local workload otherwise inherits."""
    (gate.folder / "gate.yaml").write_text(TWO, encoding="utf-8")
    (gate.folder / "shows.py").write_text(SHOWS, encoding="utf-8")
    value = "s3cr3t-of-one-leg"
    done = gate("run", "--run", "r1", SOURCE_OF_KEY=value, API_KEY=value)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "API_KEY=***API_KEY***" in gate("logs", "given").stdout
    shown = gate("logs", "other").stdout
    assert "GATE_LEG=other" in shown
    assert "KEY" not in shown
    kept = [path for path in (gate.folder / "state").rglob("*") if path.is_file()]
    assert [path for path in kept if value.encode() in path.read_bytes()] == []


def test_logs_are_followed_until_the_leg_has_ended(gate: Gate) -> None:
    gate.write("long")
    gate.json("dispatch", "--run", "r1")
    following = gate.start("logs", "-f", "sort")
    assert following.stdout is not None
    assert following.stdout.readline().startswith("--- $ python3 leg.py long")
    assert following.stdout.readline() == "leg says hello\\x1b[31m red\n"
    assert following.poll() is None
    assert gate("stop", "--run", "r1", "--yes").returncode == 0
    following.communicate(timeout=30)
    assert following.returncode == 0
