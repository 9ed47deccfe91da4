"""The local engine's offer: this machine, with as many slots as its parameters say."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gate.contracts import Engine
from gate.documents import Json
from gate.engines.local.limits import CAPABILITIES, Slots, unfit
from gate.engines.offer import Offer
from gate.errors import ConfigError
from gate.places import local_registry


def _slots(parameters: Mapping[str, Json]) -> Slots:
    return Slots(cpus=_count(parameters, "cpus", os.cpu_count() or 1), gpus=_count(parameters, "gpus", 0))


def _count(parameters: Mapping[str, Json], name: str, default: int) -> int:
    value = parameters.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(f"engine local: {name} is a number of slots, found {value!r}", hint="For example 8.")
    return value


def _open(parameters: Mapping[str, Json], credentials: Mapping[str, str]) -> Engine:
    assert not credentials, "this machine asks for none"
    from gate.engines.local.engine import LocalEngine  # noqa: PLC0415 - a plan is checked without it

    return LocalEngine(local_registry(), _slots(parameters))


OFFER = Offer(
    capabilities=CAPABILITIES,
    parameters=("cpus", "gpus"),
    credentials=(),
    unfit=lambda wanted, parameters: unfit(wanted, _slots(parameters)),
    open=_open,
)
