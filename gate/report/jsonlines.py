"""`--events FILE`: every event as one line of JSON, for programs. Follow it with `tail -f`."""

from __future__ import annotations

import json
from io import FileIO
from pathlib import Path

from gate.contracts import Event
from gate.documents import Json, encode
from gate.errors import UsageError
from gate.report.events import EVENTS_VERSION, Heading
from gate.report.outlet import Outlet

UNTIMED = ("elapsed", "changed")
"""Keys of a row that change with time alone."""


class JsonLines:
    """A reporter that appends to a file. A `tick` line holds only the rows that changed; one without any is left out.

    Raises UsageError where the file cannot be opened.
    """

    def __init__(self, path: Path, heading: Heading) -> None:
        try:
            # Unbuffered: what a full disk refused must not come up again when the file is closed.
            self._file: FileIO = path.open("ab", buffering=0)
        except OSError as error:
            raise UsageError(
                f"--events {path}: cannot be written: {error.strerror}", hint="Give a file in a folder that exists."
            ) from error
        self._rows: dict[str, dict[str, Json]] = {}
        self._seen: tuple[Json, ...] = ()
        self._heading: Heading | None = heading
        self._outlet: Outlet[Event] = Outlet(f"--events {path}", self._write, finish=self._file.close)

    async def emit(self, event: Event) -> None:
        """Write it, unless nothing changed."""
        self._outlet.put(event)

    async def aclose(self) -> None:
        """Write what is left and close the file."""
        await self._outlet.aclose()

    def _write(self, event: Event | None) -> None:
        if event is None:
            return
        if self._heading is not None:
            legs = [{"leg": leg, "blocking": blocking, "workload": w} for leg, blocking, w in self._heading.legs]
            data = {**encode(self._heading), "legs": legs}
            self._heading = None
            self._line(Event("run", event.at, event.elapsed, None, f"gate {data['gate']} run {data['run']}", data))
        if event.kind == "tick":
            self._tick(event)
        else:
            self._line(event)

    def _tick(self, event: Event) -> None:
        changed = [row for row in event.data["rows"] if self._changed(row)]
        seen = (event.data["engine"], event.data["root_blind"] > 0)
        if not changed and seen == self._seen:
            return
        self._seen = seen
        self._line(Event("tick", event.at, event.elapsed, None, "", {**event.data, "rows": changed}))

    def _changed(self, row: dict[str, Json]) -> bool:
        steady = {key: value for key, value in row.items() if key not in UNTIMED}
        if self._rows.get(row["leg"]) == steady:
            return False
        self._rows[row["leg"]] = steady
        return True

    def _line(self, event: Event) -> None:
        body = {
            "version": EVENTS_VERSION,
            "kind": event.kind,
            "at": event.at,
            "elapsed": event.elapsed,
            "leg": event.leg,
            "text": event.text,
            "data": event.data,
        }
        line = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
        self._file.write(line.encode("utf-8", "backslashreplace"))
