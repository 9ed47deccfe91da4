"""One journal entry as a line of JSON.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from gate.documents import Json

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def line(entry: Mapping[str, Json]) -> bytes:
    """`entry` on one line of its own."""
    return (_encode(entry) + "\n").encode("utf-8", "backslashreplace")
