"""Evidence that the kernel ended something for want of memory.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from pathlib import Path


def kills() -> tuple[str, int]:
    """Where the kernel counts its out-of-memory kills nearest to us, and how many there were; ("", 0) for nowhere.

    The own cgroup's counter where there is one (v2 `memory.events`, v1 `memory.oom_control`), else the machine's.
    """
    for path in (*_own_cgroup(), Path("/proc/vmstat")):
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if len(words) == 2 and words[0] == "oom_kill" and words[1].isdigit():
                return str(path), int(words[1])
    return "", 0


def _own_cgroup() -> tuple[Path, ...]:
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    found: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        below = path.lstrip("/")
        if controllers == "":
            found.append(Path("/sys/fs/cgroup", below, "memory.events"))
        elif controllers == "memory":
            found.append(Path("/sys/fs/cgroup/memory", below, "memory.oom_control"))
    return tuple(found)
