"""In CI a test that did not run is a failure: a skip and a pass would otherwise share an exit code."""

from __future__ import annotations

import os

import pytest

NOT_RUN = ("skipped", "xfailed", "xpassed")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CI=true, end the whole session with a failure when any test was skipped or expected to fail."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") != "true" or reporter is None:
        return
    counts = {kind: len(reporter.stats.get(kind, ())) for kind in NOT_RUN}
    found = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    if not found:
        return
    reporter.ensure_newline()
    reporter.write_line(
        f"CI: {found}. In CI every test runs: install what it misses in the Makefile, or mend the test."
    )
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
