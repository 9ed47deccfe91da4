"""Staging on a real file system: what workloads read, where it comes from, and that it is what was planned."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import anyio
import pytest

from gate.dispatch.staging import FileStaging
from gate.dispatch.world import Staged
from gate.errors import AgentError, ArtifactError
from gate.plan.model import AgentPlan, ArtifactPlan, LegPlan, Plan
from gate.rundir import layout
from tests.dispatch.plans import leg, plan

WHEEL = b"not really a wheel" * 1000


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Checkout:
    """A folder with a gate.yaml, an artifact and a file of a leg; and a run directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        self.run_dir = folder / "run"
        (self.folder / "dist").mkdir(parents=True)
        self.run_dir.mkdir()
        (self.folder / "dist" / "x.whl").write_bytes(WHEEL)
        (self.folder / "tune.py").write_text("print('tuned')\n", encoding="utf-8")
        self.artifact = ArtifactPlan("file", "dist/x.whl", "x.whl", digest(WHEEL), len(WHEEL))

    def plan(self, *legs: LegPlan, artifact: ArtifactPlan | None = None) -> Plan:
        chosen = legs or (leg("a", files=["tune.py"]),)
        return plan(chosen, config=str(self.folder / "gate.yaml"), artifact=artifact or self.artifact)

    def stage(self, wanted: Plan | None = None) -> Staged:
        return anyio.run(FileStaging(self.run_dir).stage, wanted or self.plan())

    def verify(self, staged: Staged) -> None:
        anyio.run(FileStaging(self.run_dir).verify, staged.files)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_artifact_files_prompts_and_gate_itself_are_staged_with_their_digests(checkout: Checkout) -> None:
    staged = checkout.stage()
    assert {"artifact/x.whl", "files/tune.py", "prompts/a/command.sh", "gate.pyz"} == set(staged.files)
    assert staged.files["artifact/x.whl"] == digest(WHEEL)
    for name, found in staged.files.items():
        assert digest((checkout.run_dir / "staged" / name).read_bytes()) == found
    checkout.verify(staged)


def test_the_staged_gate_starts_without_what_its_image_lacks(checkout: Checkout) -> None:
    checkout.stage()
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            str(checkout.run_dir / layout.STAGED_PYZ),
            "bootstrap",
            "--assignment",
            "/nowhere",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 12, done.stderr


def test_another_user_can_read_it_whatever_the_umask(checkout: Checkout) -> None:
    before = os.umask(0o077)
    try:
        checkout.stage()
    finally:
        os.umask(before)
    for path in (checkout.run_dir / "staged").rglob("*"):
        assert path.stat().st_mode & 0o004, path


def test_staging_again_copies_the_artifact_once(checkout: Checkout) -> None:
    checkout.stage()
    before = (checkout.run_dir / "staged/artifact/x.whl").stat()
    checkout.stage()
    assert (checkout.run_dir / "staged/artifact/x.whl").stat().st_ino == before.st_ino


def test_an_artifact_that_changed_since_it_was_planned_is_refused_and_not_left_there(checkout: Checkout) -> None:
    wanted = checkout.plan()
    (checkout.folder / "dist" / "x.whl").write_bytes(b"another build")
    with pytest.raises(ArtifactError, match="plan again"):
        checkout.stage(wanted)
    assert list((checkout.run_dir / "staged" / "artifact").iterdir()) == []


@pytest.mark.parametrize("name", ["dist/x.whl", "tune.py"])
def test_what_is_missing_is_named(checkout: Checkout, name: str) -> None:
    wanted = checkout.plan()
    (checkout.folder / name).unlink()
    with pytest.raises(ArtifactError, match=Path(name).name):
        checkout.stage(wanted)


@pytest.mark.parametrize("tampered", ["artifact/x.whl", "gate.pyz"])
def test_what_changed_on_the_share_is_found_before_anything_is_launched(checkout: Checkout, tampered: str) -> None:
    staged = checkout.stage()
    (checkout.run_dir / "staged" / tampered).write_bytes(b"tampered with")
    with pytest.raises(ArtifactError, match=f"{tampered}: staged as sha256"):
        checkout.verify(staged)


class _Serve(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.path == "/x.whl"
        self.send_response(200 if found else 404)
        self.end_headers()
        if found:
            self.wfile.write(WHEEL)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[str]:
    httpd = HTTPServer(("127.0.0.1", 0), _Serve)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def test_an_artifact_by_url_is_fetched_once_and_held_to_its_digest(checkout: Checkout, server: str) -> None:
    good = ArtifactPlan("url", f"{server}/x.whl", "x.whl", digest(WHEEL), 0)
    staged = checkout.stage(checkout.plan(artifact=good))
    assert staged.files["artifact/x.whl"] == digest(WHEEL)
    bad = ArtifactPlan("url", f"{server}/x.whl", "y.whl", digest(b"other"), 0)
    with pytest.raises(ArtifactError, match="found sha256"):
        checkout.stage(checkout.plan(artifact=bad))
    gone = ArtifactPlan("url", f"{server}/z.whl", "z.whl", digest(WHEEL), 0)
    with pytest.raises(ArtifactError, match="HTTP 404"):
        checkout.stage(checkout.plan(artifact=gone))


def _agent_leg(version: str | None) -> LegPlan:
    return replace(leg("a"), agent=AgentPlan("claude", version, {}))


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A claude on PATH that is a script in a package, as older releases are."""
    package = tmp_path / "node_modules" / "claude-code"
    package.mkdir(parents=True)
    (package / "package.json").write_text("{}", encoding="utf-8")
    (package / "cli.js").write_text("#!/bin/sh\necho '1.0.128 (Claude Code)'\n", encoding="utf-8")
    (package / "cli.js").chmod(0o755)
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "claude").symlink_to(package / "cli.js")
    (bin_ / "node").write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo v20.1.0 && exit\nexec sh "$@"\n', encoding="utf-8"
    )
    (bin_ / "node").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:{os.environ['PATH']}")
    return package


def test_the_agents_command_line_is_staged_if_asked_and_runs_from_there(checkout: Checkout, claude: Path) -> None:
    staged = checkout.stage(replace(checkout.plan(_agent_leg("1.0.128")), stage_agent=True))
    assert staged.tools["claude"] == "1.0.128"
    assert staged.tools["node"] == "20.1.0"
    assert "agent/claude-code/cli.js" in staged.files
    done = subprocess.run(
        [str(checkout.run_dir / "staged/agent/claude"), "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("1.0.128")
    assert claude.is_dir()


def test_another_version_than_the_pinned_one_is_not_staged(checkout: Checkout, claude: Path) -> None:
    assert claude.is_dir()
    with pytest.raises(AgentError, match=r"is version 1\.0\.128, and gate\.yaml pins 2\.1\.112"):
        checkout.stage(replace(checkout.plan(_agent_leg("2.1.112")), stage_agent=True))


def test_a_plan_of_no_leg_stages_nothing_but_gate_itself(checkout: Checkout) -> None:
    nothing = replace(checkout.plan(artifact=ArtifactPlan("none", "", "", "", 0)), legs=(), workloads=())
    assert set(checkout.stage(nothing).files) == {"gate.pyz"}
