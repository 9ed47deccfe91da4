"""The end of a simulated process.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations


class Killed(BaseException):
    """The process that owns this contract handle is dead (simulation only): nothing may catch it and go on."""
