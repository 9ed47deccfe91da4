"""Sizes as people write them (`512Gi`, `64M`): to bytes and back, exactly."""

from __future__ import annotations

import re

_UNITS: dict[str, int] = {
    **{letter: 1000**power for power, letter in enumerate("KMGT", start=1)},
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGT", start=1)},
}
_PATTERN = re.compile(r"(\d{1,15})([KMGT]i?)", re.ASCII)

EXPECTED = "a size such as 64Mi, 512Gi or 2Ti"


def parse_size(text: str) -> int:
    """Bytes of `text`: a whole number and K, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024). Else ValueError."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(EXPECTED)
    return int(match[1]) * _UNITS[match[2]]


def format_size(size: int) -> str:
    """`size` bytes in the unit that leaves the smallest whole number; `17 bytes` where no unit divides it."""
    fitting = [(size // factor, unit) for unit, factor in _UNITS.items() if size and size % factor == 0]
    return "{}{}".format(*min(fitting)) if fitting else f"{size} bytes"


def rough_size(size: int) -> str:
    """`size` bytes for a glance: `17 bytes`, `2.6 MiB`."""
    if size < 1024:
        return f"{size} bytes"
    value, unit = size / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if value < 1000:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"
