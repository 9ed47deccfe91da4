"""Entry point of `gate` and of `gate.pyz`: in images nobody prepared only bootstrap's part is there."""

from __future__ import annotations

import sys


def main() -> None:
    """Hand over by the first word, so that a workload never imports what its image lacks."""
    if sys.argv[1:2] in (["supervise"], ["bootstrap"]):
        from gate.bootstrap.entry import main as inside  # noqa: PLC0415 - the command line is not in gate.pyz

        raise SystemExit(inside(sys.argv[1:]))
    from gate.cli import main as outside  # noqa: PLC0415

    outside()


if __name__ == "__main__":
    main()
