"""`make browser`: Debian's chromium, where it is missing and this user may install it; else what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.browser.chromium import EXECUTABLES

INSTALL = ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium")


def main() -> int:
    """0 where a browser is there afterwards; 1 where it is not, and why."""
    if any(map(shutil.which, EXECUTABLES)):
        return 0
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        sys.stderr.write("chromium is missing, and only root can install it: sudo apt-get install chromium\n")
        return 1
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (("apt-get", "update", "-qq"), INSTALL):
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            sys.stderr.write(f"{' '.join(command)} ended with exit code {done.returncode}\n")
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
