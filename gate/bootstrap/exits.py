"""Exit codes of `gate supervise` and `gate bootstrap`, which engines read. Not those of `gate poll`.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

LEGS_FINISHED = 0
"""Every leg of the workload finished. Says nothing about PASS."""
LEG_FAILED = 10
"""At least one leg ended without a finished state file."""
STOPPED = 11
"""A signal asked it to end."""
BAD_ASSIGNMENT = 12
"""The assignment cannot be read, or is not for this workload."""
BUG = 70
"""A bug in bootstrap or supervisor; the log says where."""
TIMED_OUT = 124
"""The workload time-out passed; the supervisor ended it."""
