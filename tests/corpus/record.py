"""`python -m tests.corpus.record [--again] [NAME...]`: record runs for the corpus; by default those that are missing.

What is kept of a run is what was observed and what it came to, without anything of the machine it ran on. Afterwards:
`python -m tests.corpus.accept "why"`.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping

from tests.corpus import local, simulated
from tests.corpus.paths import FOLDERS, RUNS

LOCAL_ID = re.compile(rb"[\w.-]+:[0-9a-f]{8}:[0-9]+:[0-9]+:(?=[\w.-]+)")


def main(argv: list[str]) -> int:
    """Returns 0, or 2 for a name that is unknown."""
    known = (*simulated.ENTRIES, *local.ENTRIES)
    wanted = [word for word in argv if word != "--again"] or list(known)
    if unknown := sorted(set(wanted) - set(known)):
        sys.stderr.write(f"no such entry: {', '.join(unknown)}; there are {', '.join(known)}" + "\n")
        return 2
    for name in wanted:
        if "--again" in argv or not (RUNS / name).is_dir():
            _say(name)
            _write(name, _record(name))
    for path in sorted(RUNS.iterdir()):
        if path.name not in known:
            _say(f"{path.name}: recorded once, and not described any more; kept")
    return 0


def _record(name: str) -> Mapping[str, bytes]:
    if name in simulated.ENTRIES:
        return simulated.record(name)
    made = local.record(name)
    return {key: anonymous(data, made.folder) for key, data in made.files.items()}


def anonymous(data: bytes, folder: str) -> bytes:
    """`data` without the folder, and with nothing of the machine in the ids of local workloads."""
    return LOCAL_ID.sub(b"machine:00000000:1:1:", data.replace(folder.encode(), b"/somewhere"))


def _write(name: str, files: Mapping[str, bytes]) -> None:
    kept = {key: data for key, data in files.items() if key.rpartition("/")[0].startswith(FOLDERS)}
    shutil.rmtree(RUNS / name, ignore_errors=True)
    for key, data in kept.items():
        path = RUNS / name / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
