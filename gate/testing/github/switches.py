"""What a test may make GitHub do: tokens and what they may, limits, faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from gate.testing.github.repository import OWN_LOGIN

TOKEN = "ghs_0123456789abcdefghijABCDEFGHIJ012345"  # noqa: S105 - opens nothing but the fake
"""The fake's own."""

Permission = Literal["statuses", "pull-requests", "contents", "actions"]
Access = Literal["none", "read", "write"]
WORKFLOW: dict[Permission, Access] = {
    "statuses": "write",
    "pull-requests": "write",
    "contents": "write",
    "actions": "read",
}
FORK: dict[Permission, Access] = {
    "statuses": "read",
    "pull-requests": "read",
    "contents": "read",
    "actions": "read",
}
"""What a pull request from a public fork gets, whatever its workflow asks for."""


@dataclass
class Token:
    """`expires`: wall time from when on it is not accepted. `sees`: whether the repository is there for it at all."""

    login: str = OWN_LOGIN
    may: dict[Permission, Access] = field(default_factory=lambda: dict(WORKFLOW))
    expires: float = float("inf")
    sees: bool = True

    @property
    def installation(self) -> bool:
        """An app's: `/user` is not for it."""
        return self.login.endswith("[bot]")


Way = Literal["refused", "lost", "lost_after", "502", "html", "503", "slow", "secondary", "secondary_bare", "429"]
"""refused: nobody listens. lost: the connection breaks before anything is done; lost_after: after it was done.
html: a proxy's page with 200. slow: the answer comes after `seconds`. secondary_bare: 403 without Retry-After."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault of the next `times` calls that `hits`; -1: of all."""

    way: Way
    times: int = -1
    seconds: float = 60.0
    hits: Callable[[str, str], bool] = lambda _method, _path: True


@dataclass
class Switches:
    """All may be changed at any time."""

    tokens: dict[str, Token] = field(default_factory=lambda: {TOKEN: Token()})
    hourly: int = 1000
    """Requests an hour of one token that are not answered 304."""
    content_a_minute: int = 80
    """Things created in a minute, before the secondary limit."""
    latency: float = 0.0
    troubles: list[Trouble] = field(default_factory=list)

    def down(self, way: Way = "refused", times: int = -1, seconds: float = 60.0) -> Trouble:
        """From now on (or for `times` calls) every call goes that way; `up` ends it."""
        trouble = Trouble(way, times, seconds)
        self.troubles.append(trouble)
        return trouble

    def up(self) -> None:
        """No troubles any more."""
        self.troubles.clear()

    def next_trouble(self, method: str, path: str) -> Trouble | None:
        """The first that hits; one of its times is used up."""
        for at, trouble in enumerate(self.troubles):
            if trouble.times != 0 and trouble.hits(method, path):
                left = trouble.times - 1 if trouble.times > 0 else -1
                self.troubles[at] = Trouble(trouble.way, left, trouble.seconds, trouble.hits)
                return trouble
        return None
