"""GitHub's two kinds of limits: requests an hour, and things created a minute."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gate.testing.github.switches import Switches
from gate.testing.github.wire import Answer, Call, refusal

HOUR = 3600.0
_PRIMARY = "API rate limit exceeded for installation. If you reach out to GitHub Support, include the request ID."
_SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@dataclass
class Window:
    """One token's hour."""

    reset: float
    used: int = 0


class Limits:
    """Who has used how much."""

    def __init__(self, switches: Switches, now: Callable[[], float]) -> None:
        self._switches = switches
        self._now = now
        self._windows: dict[str, Window] = {}
        self._made: defaultdict[str, deque[float]] = defaultdict(deque)

    def refuse(self, call: Call) -> Answer | None:
        """The refusal where a limit is reached; the call counts where it is let through."""
        window = self._window(call.token)
        if window.used >= self._switches.hourly:
            return refusal(403, _PRIMARY).with_headers(**self._headers(window))
        if call.method == "POST" and call.path != ("graphql",):
            made = self._made[call.token]
            while made and self._now() - made[0] >= 60.0:
                made.popleft()
            if len(made) >= self._switches.content_a_minute:
                return self.secondary(call)
            made.append(self._now())
        window.used += 1
        return None

    def secondary(self, call: Call, *, seconds: float | None = 60.0, status: int = 403) -> Answer:
        """The secondary limit's refusal, with Retry-After or without."""
        said = refusal(status, _SECONDARY).with_headers(**self._headers(self._window(call.token)))
        return said if seconds is None else said.with_headers(retry_after=str(int(seconds)))

    def unchanged(self, call: Call) -> None:
        """The call was answered 304: it does not count."""
        self._window(call.token).used -= 1

    def mark(self, call: Call, given: Answer) -> Answer:
        """The answer with what is left."""
        return given.with_headers(**self._headers(self._window(call.token)))

    def _window(self, token: str) -> Window:
        window = self._windows.get(token)
        if window is None or self._now() >= window.reset:
            window = self._windows[token] = Window(self._now() + HOUR)
        return window

    def _headers(self, window: Window) -> Mapping[str, str]:
        limit = self._switches.hourly
        return {
            "x_ratelimit_limit": str(limit),
            "x_ratelimit_remaining": str(max(0, limit - window.used)),
            "x_ratelimit_used": str(window.used),
            "x_ratelimit_reset": str(int(window.reset) + 1),
            "x_ratelimit_resource": "core",
        }
