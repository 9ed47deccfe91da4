"""The attempt's own time: seconds since its first poll, going on through restarts.

Whole milliseconds throughout: what is folded from disk is exactly what was stepped with.
"""

from __future__ import annotations

from dataclasses import dataclass

from gate.machines.clock import Now


@dataclass(frozen=True, slots=True)
class Instant:
    """One reading, in milliseconds: since the attempt's first poll on `mono` and `boot`, Unix time on `wall`."""

    mono: int
    boot: int
    wall: int

    def now(self) -> Now:
        """As the gate machine takes it."""
        return Now(mono=self.mono / 1000, wall=self.wall / 1000, boot=self.boot / 1000)


def first(reading: Now) -> Instant:
    """The attempt's first poll."""
    return Instant(0, 0, _ms(reading.wall))


class Timeline:
    """Readings of this process's clocks on the attempt's time."""

    def __init__(self, begin: Instant, reading: Now) -> None:
        """`begin`: where the attempt's time stood at `reading`."""
        self._begin = begin
        self._mono = reading.mono
        self._boot = reading.boot

    @classmethod
    def resumed(cls, last: Instant, reading: Now) -> tuple[Timeline, float]:
        """Go on after a restart. Also the gap since `last`, in seconds, from wall anchors: the only clock that both
        processes share. It may have been set back meanwhile: then the gap is 0."""
        gap = max(0, _ms(reading.wall) - last.wall)
        begin = Instant(last.mono + gap, last.boot + gap, _ms(reading.wall))
        return cls(begin, reading), gap / 1000

    def at(self, reading: Now) -> Instant:
        """The attempt's time at `reading`."""
        return Instant(
            self._begin.mono + _ms(reading.mono - self._mono),
            self._begin.boot + _ms(reading.boot - self._boot),
            _ms(reading.wall),
        )


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
