"""Asking people before something is lost."""

from __future__ import annotations

import sys

import typer

from gate.errors import Declined


def ask(question: str, *, yes: bool) -> None:
    """Return if the answer is yes. Raises Declined: no, or nobody is there to ask and `--yes` was not given."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Declined(f"{question} Nobody can be asked here", hint="Give --yes to do it without asking.")
    if not typer.confirm(question, default=False, err=True):
        raise Declined("nothing was changed")
