"""`python -m gate.testing.github`: starts the fake, prints its address and token as JSON, and runs until ended."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time

from gate.testing.github.app import FakeGitHub
from gate.testing.github.repository import Repository
from gate.testing.github.serve import served
from gate.testing.github.switches import FORK, TOKEN, Switches, Token


def main(argv: list[str] | None = None) -> int:
    """Returns 0 once it was asked to end."""
    asked = _parser().parse_args(argv)
    repository = Repository(asked.repository)
    for sha in asked.commit:
        repository.push(sha)
    for each in asked.pull:
        number, _, sha = each.partition("=")
        repository.open_pull(int(number), sha)
    token = Token(may=dict(FORK)) if asked.fork else Token()
    github = FakeGitHub(repository, time.time, Switches(tokens={TOKEN: token}))
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    with served(github, asked.port) as url:
        told = {"url": url, "token": TOKEN, "repository": repository.name}
        print(json.dumps(told), flush=True)  # noqa: T201 - the result
        signal.sigwait((signal.SIGINT, signal.SIGTERM))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gate.testing.github", description="A GitHub for tests.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--repository", default="octo/product", metavar="OWNER/NAME")
    parser.add_argument("--commit", action="append", default=[], metavar="SHA", help="is there")
    parser.add_argument("--pull", action="append", default=[], metavar="NUMBER=SHA", help="is open")
    parser.add_argument("--fork", action="store_true", help="the token is what a fork's pull request gets: read-only")
    return parser


if __name__ == "__main__":
    sys.exit(main())
