"""Styled text on stdout: words wrap in a terminal, and in a pipe a line is a line."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def show(text: Text) -> None:
    """Print `text`, which ends in a newline. In a terminal no word is cut in two, and no path where it fits a line."""
    console = Console(markup=False, highlight=False, emoji=False)
    console.print(text, end="", soft_wrap=not console.is_terminal)
