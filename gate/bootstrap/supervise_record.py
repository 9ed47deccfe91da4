"""What became of the workload, kept on disk as it changes.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from gate.bootstrap.supervise_files import LOG, STATUS, STOP, Supervised, write
from gate.bootstrap.supervise_log import cap, say
from gate.rundir import layout
from gate.rundir.formats import Assignment

_SHARED_SECONDS = 10.0
"""A hung share must not keep the workload's end from the registry, which is on this machine's own disk."""
_LAST_WORD = 10.0
_BEAT = 0.5


class Record:
    """Writes `status.json` in the registry entry, where there is one, and a copy beside the legs."""

    def __init__(self, registry: Path | None) -> None:
        self.status = Supervised(tag="", workload="", host=platform.node(), pid=0, start=0, phase="pending")
        self._registry = registry
        self._run_dir = Path()
        self._shared: Path | None = None
        self._unwritten = False
        self._told = False
        self._log = os.open(registry / LOG, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) if registry else None

    def belongs_to(self, assignment: Assignment) -> None:
        """From here on the copy is written too."""
        self._run_dir = Path(assignment.run_dir)
        self._shared = self._run_dir / layout.supervised(assignment.tag, assignment.workload)
        self.status = replace(self.status, tag=assignment.tag, workload=assignment.workload)

    def update(self, **changes: Any) -> None:
        """Change fields of the status and write it, durably; nothing is written where nothing changed.

        What cannot be written now (a full disk, an entry that was removed) is written later, or never: no workload is
        ended for it.
        """
        changed = replace(self.status, **changes)
        if changed == self.status:
            return
        self.status = changed
        self._unwritten = self._registry is not None
        self._write()
        # Not while pending: a thread that hangs on the share would make the fork that follows unsafe.
        if self._shared is not None and changed.phase != "pending":
            self._share(self._shared, changed)

    def _write(self) -> None:
        if self._registry is None or not self._unwritten:
            return
        try:
            write(self._registry / STATUS, self.status)
        except OSError as error:
            if not self._told:
                say(f"cannot write {self._registry / STATUS}: {error.strerror}; going on")
            self._told = True
        else:
            self._unwritten = self._told = False

    def stop_requested(self) -> bool:
        """Has somebody left a request to stop in the registry?"""
        return self._registry is not None and (self._registry / STOP).exists()

    def last_word(self) -> None:
        """The end was not written yet: try for a while more. Nothing of the workload runs."""
        deadline = time.monotonic() + _LAST_WORD
        while self._unwritten and time.monotonic() < deadline:
            time.sleep(_BEAT)
            self._write()

    def tend(self) -> None:
        """At every tick: write what could not be written before, and keep the log in the registry below its cap."""
        self._write()
        if self._log is not None and cap(self._log):
            say("the log grew past its cap: its middle was given up")

    def _share(self, path: Path, status: Supervised) -> None:
        problem: list[OSError] = []

        def work() -> None:
            try:
                # Step by step: a root that is not mounted is not to be made here, or it would pass for an empty one.
                for folder in reversed(path.relative_to(self._run_dir).parents[:-1]):
                    (self._run_dir / folder).mkdir(mode=0o755, exist_ok=True)
                write(path, status)
            except OSError as error:
                problem.append(error)

        thread = threading.Thread(target=work, name="gate-record", daemon=True)
        thread.start()
        thread.join(_SHARED_SECONDS)
        if thread.is_alive():
            say(f"no answer from {path.parent} within {_SHARED_SECONDS:g} s; going on without it")
        elif problem:
            say(f"cannot write {path}: {problem[0]}")
