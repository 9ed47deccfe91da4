"""The Primus-SaFE engine's offer."""

from __future__ import annotations

from collections.abc import Mapping

from gate.contracts import Engine
from gate.documents import Json
from gate.engines.offer import Offer
from gate.engines.safe.limits import CAPABILITIES
from gate.engines.safe.parameters import CREDENTIALS, KEYS, notes, parameters
from gate.engines.safe.unfit import unfit
from gate.errors import ConfigError


def _open(given: Mapping[str, Json], credentials: Mapping[str, str]) -> Engine:
    key = credentials.get("api_key")
    if key is None:
        raise ConfigError(
            "engine safe: api_key is missing: the name of the secret that holds the API key (ak-…)",
            hint="Declare it under `secrets:` and name it there.",
        )
    from gate.engines.safe.engine import SafeEngine  # noqa: PLC0415 - a plan is checked without httpx
    from gate.engines.safe.http import Api  # noqa: PLC0415

    asked = parameters(given)
    return SafeEngine(asked, Api(asked, key))


def _mount(given: Mapping[str, Json]) -> str | None:
    return parameters(given).mount


OFFER = Offer(
    capabilities=CAPABILITIES,
    parameters=KEYS,
    credentials=CREDENTIALS,
    unfit=unfit,
    open=_open,
    notes=notes,
    mount=_mount,
)
