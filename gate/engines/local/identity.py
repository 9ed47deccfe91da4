"""Ids of local workloads: they say on which machine, since which boot, and which process.

`host:boot:pid:start:name`. The host is this registry's own name for its machine: host names repeat (CI images), and a
foreign machine's workload must be "cannot see", never "vanished".
"""

from __future__ import annotations

import os
import platform
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from gate.errors import EngineUnreachable

TAG_LENGTH = 10


@dataclass(frozen=True, slots=True)
class Machine:
    """Where we are: the registry's name for this host, and the first eight characters of its boot id."""

    host: str
    boot: str


@dataclass(frozen=True, slots=True)
class LocalId:
    """A workload's id, taken apart. `pid` and `start` are the supervisor's."""

    host: str
    boot: str
    pid: int
    start: int
    name: str

    @property
    def tag(self) -> str:
        """The attempt's tag, with which the name of every workload ends."""
        return tag_of(self.name)

    def __str__(self) -> str:
        return f"{self.host}:{self.boot}:{self.pid}:{self.start}:{self.name}"

    def check_host(self, here: Machine) -> None:
        """Raises EngineUnreachable for a workload of another machine."""
        if self.host != here.host:
            raise EngineUnreachable(
                f"{self.name} runs on {self.host} and cannot be seen from here ({here.host})",
                hint=f"Run the command on {self.host}, by the user who dispatched it.",
            )


_PATTERN = re.compile(r"(?P<host>[^:]+):(?P<boot>[0-9a-f]{8}):(?P<pid>[0-9]+):(?P<start>[0-9]+):(?P<name>[a-z0-9-]+)")


def tag_of(name: str) -> str:
    """The tag in a workload's name, or in the name of its folder in the registry."""
    return name.partition("~")[0][-TAG_LENGTH:]


def parse(text: str) -> LocalId | None:
    """The id, or None for something that no local engine ever gave out."""
    if (found := _PATTERN.fullmatch(text)) is None:
        return None
    return LocalId(found["host"], found["boot"], int(found["pid"]), int(found["start"]), found["name"])


def this_machine(registry: Path) -> Machine:
    """Who we are to `registry`; the name is made at first use and kept."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    node = re.sub(r"[^A-Za-z0-9.-]", "-", platform.node()) or "localhost"
    path = registry / ".hosts" / node
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f".{secrets.token_hex(4)}")
        temporary.write_text(f"{node}-{secrets.token_hex(3)}", encoding="ascii")
        try:
            os.link(temporary, path)
        except FileExistsError:
            # Another dispatcher was first; its name is the name.
            return Machine(path.read_text(encoding="ascii"), boot)
        finally:
            temporary.unlink()
    return Machine(path.read_text(encoding="ascii"), boot)
