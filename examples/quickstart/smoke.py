"""The program under test of the agent legs: try an unpacked wheel the way its user would. `smoke.py FOLDER`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

STATE = Path(os.environ["GATE_STATE_FILE"])


def publish(**values: object) -> None:
    """Write the state file whole: readers see the old one or the new one."""
    STATE.parent.mkdir(parents=True, exist_ok=True)
    new = STATE.with_suffix(".new")
    new.write_text(json.dumps(values))
    new.replace(STATE)


def starts(product: Path) -> bool:
    """`gate --version` says the version that the wheel's metadata names."""
    (metadata,) = product.glob("*.dist-info/METADATA")
    version = next(line.split()[1] for line in metadata.read_text().splitlines() if line.startswith("Version:"))
    command = [sys.executable, "-m", "gate", "--version"]
    said = subprocess.run(command, cwd=product, capture_output=True, text=True, check=True).stdout
    return said.split() == ["gate", version]


def compiles(product: Path) -> bool:
    """Every module is valid for this Python."""
    for module in product.rglob("*.py"):
        compile(module.read_bytes(), str(module), "exec")
    return True


def carries_its_data(product: Path) -> bool:
    """The prompts and the marker for type checkers are in the wheel."""
    return (product / "gate/prompts/_contract.md.j2").is_file() and (product / "gate/py.typed").is_file()


def main() -> None:
    product = Path(sys.argv[1])
    checks: tuple[Callable[[Path], bool], ...] = (starts, compiles, carries_its_data)
    failures = 0
    for done, check in enumerate(checks):
        publish(checks=done, failures=failures, stop_reason=None, close_sequence_done=False)
        time.sleep(0.5)  # so that a person at the board sees it move
        good = check(product)
        failures += not good
        print(f"{check.__name__}: {'ok' if good else 'FAILED'}", flush=True)
    publish(checks=len(checks), failures=failures, stop_reason="all_checked", close_sequence_done=True)


if __name__ == "__main__":
    main()
