"""Who this process is, as leases and kept workloads name it."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
import sys
import time

from gate.rundir import lease
from gate.rundir.formats import Lease


def my_lease(period: float) -> Lease:
    """A lease that nobody has yet, for this process."""
    command = " ".join(["gate", *sys.argv[1:]])[:200]
    return lease.fresh(secrets.token_hex(8), socket.gethostname(), os.getpid(), command, period, time.time())


def me() -> str:
    """`user@host`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())  # a container whose uid has no name
    return f"{user}@{socket.gethostname()}"
