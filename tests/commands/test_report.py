"""`gate report` through a real process over a run directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gate import documents
from gate.rundir import layout
from gate.rundir.formats import Decision
from tests.commands.test_cli import Cli
from tests.report.html.made import RUN, TAG, Made, Watching
from tests.report.html.scenes import eight, failing


class Reports(Cli):
    """`gate` beside a root that holds one made-up run."""

    def hold(self, made: Made) -> None:
        folder = layout.run(self.folder / "root", made.plan.repository, made.plan.gate, RUN)
        made.write(folder)

    def report(self, *argv: str) -> tuple[int, str, str]:
        done = self("report", *argv, "--root", "root")
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def reports(tmp_path: Path) -> Reports:
    return Reports(tmp_path)


def test_without_options_the_closing_text(reports: Reports) -> None:
    reports.hold(failing())
    code, out, err = reports.report(RUN)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(" NO-GO  leg docker-vllm-3h: stop_reason is")
    assert "not seen gone: workload docker-sglang-12h" in out, "its lease ended long ago"
    assert lines[-3:] == [
        f"next  gate explain docker-vllm-3h --run {RUN}",
        f"      gate logs docker-vllm-3h --run {RUN}",
        f"      gate retry {RUN}",
    ]


def test_json_is_the_decisions_document(reports: Reports) -> None:
    made = failing()
    reports.hold(made)
    code, out, _ = reports.report("--json")
    assert code == 0
    assert json.loads(out)["format"] == "gate.decision"
    assert documents.load(Decision, out.encode(), "stdout") == made.decision


def test_html_writes_the_page_whole_over_an_older_one(reports: Reports) -> None:
    reports.hold(failing())
    (reports.folder / "page.html").write_text("older")
    code, out, err = reports.report("--html", "page.html")
    assert (code, out) == (0, "")
    assert err == "NO-GO: the page is page.html\n"
    assert (reports.folder / "page.html").read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in reports.folder.iterdir()) == ["page.html", "root"]


def test_html_and_json_go_together(reports: Reports) -> None:
    reports.hold(failing())
    code, out, _ = reports.report("--html", "page.html", "--json")
    assert code == 0
    assert json.loads(out)["word"] == "NO-GO"
    assert (reports.folder / "page.html").exists()


def test_a_page_that_cannot_be_written_is_a_clear_error(reports: Reports) -> None:
    reports.hold(failing())
    code, out, err = reports.report("--html", "nowhere/page.html")
    assert (code, out) == (2, "")
    assert err == (
        "gate: --html nowhere/page.html: cannot be written: No such file or directory\n"
        "  Is the folder there, and yours?\n"
    )


def test_an_undecided_run_is_running_and_has_a_page_and_no_decision(reports: Reports) -> None:
    reports.hold(eight(Watching(until=9000.0)))
    code, out, _ = reports.report()
    assert code == 0
    assert out.splitlines()[0] == " RUNNING  0 of 8 legs judged: 8 running"
    assert "watched by pid 4242 on runner-7" in out
    code, out, err = reports.report("--json")
    assert (code, out) == (2, "")
    assert f"run {RUN}, attempt 1 is not decided yet" in err
    assert reports.report("--html", "page.html")[0] == 0


def test_an_attempt_that_is_not_there_names_those_that_are(reports: Reports) -> None:
    reports.hold(failing())
    code, _, err = reports.report("--attempt", "7")
    assert code == 2
    assert "There are: 1." in err


def test_a_record_that_cannot_be_read_is_never_left_out(reports: Reports) -> None:
    made = failing()
    made.files[layout.verdict(TAG, "docker-vllm-3h")] = b'{"torn": '
    reports.hold(made)
    for option in ((), ("--html", "page.html")):
        code, _, err = reports.report(*option)
        assert code == 2
        assert "docker-vllm-3h.json: not a gate.verdict file" in err
