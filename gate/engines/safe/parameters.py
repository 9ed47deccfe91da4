"""What `engine: {kind: safe, …}` may say, checked before anything is asked of the server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gate.documents import Json
from gate.engines.safe.limits import LIST_LAG
from gate.engines.safe.options import priority
from gate.errors import ConfigError
from gate.plan.duration import EXPECTED as DURATION
from gate.plan.duration import parse_duration

KEYS = (
    "url",
    "workspace",
    "api_key",
    "image",
    "priority",
    "ca_bundle",
    "insecure",
    "mount",
    "share",
    "python",
    "secrets",
    "ttl",
    "list_lag",
    "request_timeout",
    "concurrency",
)
CREDENTIALS = ("api_key",)
MOST_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Parameters:
    """Durations in seconds."""

    url: str
    workspace: str
    image: str | None
    priority: int
    ca_bundle: str | None
    insecure: bool
    mount: str | None
    """The shared root as workloads see it; None: at the same path as here."""
    share: str | None
    """The whole share as workloads see it, for legs that start containers; None: the run directory's."""
    python: str
    secrets: Mapping[str, str]
    """Secret name to the id of a general secret that is there already and holds it under its name."""
    ttl: float
    """How long the pod and its log stay after the end."""
    list_lag: float
    request_timeout: float
    concurrency: int


def parameters(given: Mapping[str, Json]) -> Parameters:
    """Raises ConfigError, which says of one key what was found and what is meant."""
    return Parameters(
        url=_url(given.get("url")),
        workspace=_word(given, "workspace") or _missing("workspace", "the id of the workspace"),
        image=_word(given, "image"),
        priority=priority(given.get("priority", 0), "priority"),
        ca_bundle=_bundle(given),
        insecure=_flag(given, "insecure"),
        mount=_path(given, "mount"),
        share=_path(given, "share"),
        python=_word(given, "python") or "python3",
        secrets=_secrets(given.get("secrets", {})),
        ttl=_duration(given, "ttl", 24 * 3600.0),
        list_lag=_duration(given, "list_lag", LIST_LAG),
        request_timeout=_duration(given, "request_timeout", 30.0),
        concurrency=_at_once(given.get("concurrency", 16)),
    )


def notes(given: Mapping[str, Json]) -> tuple[str, ...]:
    """What has to be said aloud before anything is sent. Raises ConfigError."""
    asked, found = parameters(given), list[str]()
    if asked.insecure:
        found.append(f"the certificate of {asked.url} is NOT checked (engine safe: insecure: true)")
    if asked.url.startswith("http://") and not _loopback(asked.url):
        found.append(f"the API key and all secrets go to {asked.url} unencrypted: it is plain http")
    return tuple(found)


# --- one kind of value each --------------------------------------------------------------------------


def _wrong(key: str, expected: str, found: object) -> ConfigError:
    return ConfigError(f"engine safe: {key} is {expected}, found {found!r}", hint="See docs/engines/safe.md.")


def _missing(key: str, what: str) -> str:
    raise ConfigError(f"engine safe: {key} is missing: {what}", hint="See docs/engines/safe.md.")


def _url(value: Json) -> str:
    if value is None:
        return _missing("url", "where the API is, as https://safe.example.com")
    if not isinstance(value, str) or urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname:
        raise _wrong("url", "an http or https address", value)
    parts = urlsplit(value)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            "engine safe: url is an address alone, without user, password or query",
            hint="The key is a secret: name it under api_key.",
        )
    return value.rstrip("/").removesuffix("/api/v1")


def _word(given: Mapping[str, Json], key: str) -> str | None:
    value = given.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value or any(each.isspace() for each in value):
        raise _wrong(key, "a word", value)
    return value


def _path(given: Mapping[str, Json], key: str) -> str | None:
    value = given.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.startswith("/"):
        raise _wrong(key, "an absolute path", value)
    return value.rstrip("/") or "/"


def _bundle(given: Mapping[str, Json]) -> str | None:
    value = given.get("ca_bundle")
    if value is None:
        return None
    if not isinstance(value, str) or not Path(value).expanduser().is_file():
        raise _wrong("ca_bundle", "a file of CA certificates (PEM)", value)
    if given.get("insecure"):
        raise ConfigError("engine safe: ca_bundle and insecure do not go together", hint="Leave out insecure.")
    return str(Path(value).expanduser())


def _flag(given: Mapping[str, Json], key: str) -> bool:
    value = given.get(key, False)
    if not isinstance(value, bool):
        raise _wrong(key, "true or false", value)
    return value


def _duration(given: Mapping[str, Json], key: str, default: float) -> float:
    value = given.get(key)
    if value is None:
        return default
    try:
        seconds = parse_duration(value) if isinstance(value, str) else 0.0
    except ValueError as error:
        raise _wrong(key, DURATION, value) from error
    if seconds <= 0:
        raise _wrong(key, DURATION, value)
    return seconds


def _at_once(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_AT_ONCE:
        raise _wrong("concurrency", f"a number of requests at once, 1 to {MOST_AT_ONCE}", value)
    return value


def _secrets(value: Json) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise _wrong("secrets", "a mapping of secret name to the id of a secret in SaFE", value)
    found: dict[str, str] = {}
    for name, id_ in value.items():
        if not isinstance(id_, str) or not re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", id_):
            raise _wrong(f"secrets.{name}", "the id of a secret in SaFE", id_)
        found[name] = id_
    return found


def _loopback(url: str) -> bool:
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
