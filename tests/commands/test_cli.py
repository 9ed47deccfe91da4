"""The command line through real processes: help, usage errors, exit codes, how errors and bugs are shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gate.cli import COMMANDS

INSIDE = ("supervise", "bootstrap")


class Cli:
    """`gate` in a folder of its own, with a state folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "GATE_"))}
        self.environment["GATE_STATE_DIR"] = str(folder / "state")

    def __call__(self, *argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gate", *argv],
            cwd=self.folder,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            check=False,
        )


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_version(cli: Cli) -> None:
    done = cli("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("gate 0.")


def test_help_lists_every_command(cli: Cli) -> None:
    done = cli("--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert f"  {name} " in done.stdout


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in INSIDE])
def test_help_speaks_of_files_times_and_legs_and_not_of_types(cli: Cli, name: str) -> None:
    lines = cli(name, "--help").stdout.splitlines()
    for word in ("<path>", "<str>", "<list[str]>", "{leg}", "[leg]", "[path]"):
        assert not [line for line in lines if line.startswith(("  -", "Usage:", "      --")) and word in line]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in INSIDE])
def test_every_command_has_help(cli: Cli, name: str) -> None:
    done = cli(name, "--help")
    assert done.returncode == 0, done.stderr
    assert f"Usage: gate {name}" in done.stdout


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in INSIDE])
def test_an_unknown_option_is_a_usage_error_in_every_command(cli: Cli, name: str) -> None:
    done = cli(name, "--no-such-option")
    assert done.returncode == 2
    assert "--no-such-option" in done.stderr
    assert done.stdout == ""


def test_an_unknown_command_is_a_usage_error_with_a_guess(cli: Cli) -> None:
    done = cli("dispach")
    assert done.returncode == 2
    assert "'dispatch'" in done.stderr


@pytest.mark.parametrize(
    "argv",
    [
        ["plan", "-c", "nowhere.yaml"],
        ["run", "-c", "nowhere.yaml"],
        ["dispatch"],
        ["dispatch", "--run", "../x"],
        ["poll", "nosuchrun"],
        ["retry", "nosuchrun"],
        ["reap", "--run", "nosuchrun"],
        ["reap", "--stale"],
        ["keep", "leg", "--for", "soon"],
        ["keep", "leg", "--for", "2h"],
        ["stop"],
        ["logs", "leg"],
        ["prune"],
        ["prune", "--older-than", "yesterday"],
        ["status", "nosuchrun"],
        ["explain", "leg", "--run", "nosuchrun"],
    ],
)
def test_what_a_person_gets_wrong_exits_2_and_says_what_to_do(cli: Cli, argv: list[str]) -> None:
    done = cli(*argv)
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


def test_bare_gate_says_where_you_stand_in_twelve_lines(cli: Cli) -> None:
    done = cli()
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) <= 12
    assert "gate init" in done.stdout


def test_init_writes_a_gate_that_plans_and_never_overwrites(cli: Cli) -> None:
    assert cli("init").returncode == 0
    written = (cli.folder / "gate.yaml").read_text(encoding="utf-8")
    planned = cli("plan")
    assert planned.returncode == 0, planned.stderr
    assert "gate " in cli().stdout
    again = cli("init", "--name", "other")
    assert again.returncode == 2
    assert (cli.folder / "gate.yaml").read_text(encoding="utf-8") == written


def test_a_bug_is_saved_shown_and_70_and_holds_no_secret(cli: Cli, tmp_path: Path) -> None:
    """A directory where a file is expected, in the one place that nobody thought of."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import gate.commands.schema as schema\n"
        "def command() -> None:\n"
        "    raise RuntimeError('with sk-s3cr3t-key-value-1 inside')\n"
        "schema.command = command\n",
        encoding="utf-8",
    )
    done = cli("schema", PYTHONPATH=str(site), MY_API_KEY="sk-s3cr3t-key-value-1")
    assert done.returncode == 70
    (log,) = (tmp_path / "state" / "logs").iterdir()
    assert str(log) in done.stderr
    text = log.read_text(encoding="utf-8")
    assert "RuntimeError" in text
    assert "Traceback" in text
    assert "anyio 4." in text
    assert "sk-s3cr3t-key-value-1" not in text


def test_a_closed_pipe_is_no_failed_leg(cli: Cli) -> None:
    command = f"{sys.executable} -m gate schema | head -c 10 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=cli.folder,
        env=cli.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 141), done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
