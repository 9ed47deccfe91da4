"""The Slurm engine's offer: a cluster that this machine's sbatch submits to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from gate.contracts import Engine
from gate.documents import Json
from gate.engines.offer import Offer
from gate.engines.slurm.limits import CAPABILITIES, unfit
from gate.engines.slurm.options import OPTIONS, problems_of
from gate.engines.slurm.secretfiles import check_place
from gate.errors import ConfigError
from gate.places import state_dir
from gate.plan.model import Plan, Resources

PYTHON = "python3"


def secrets_dir(parameters: Mapping[str, Json]) -> Path:
    """Where secrets are handed over. Raises ConfigError."""
    value = parameters.get("secrets_dir")
    if value is None:
        return state_dir() / "secrets"
    if not isinstance(value, str) or not value.startswith(("/", "~/")):
        raise ConfigError(
            f"engine slurm: secrets_dir is an absolute path, or one that begins with ~/, found {value!r}",
            hint="Storage that this machine and the nodes share, not below the root: such as ~/.gate-secrets.",
        )
    return Path(value).expanduser()


def python(parameters: Mapping[str, Json]) -> str:
    """The interpreter on the nodes. Raises ConfigError."""
    value = parameters.get("python", PYTHON)
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_/][A-Za-z0-9_./+-]*", value):
        raise ConfigError(
            f"engine slurm: python is the interpreter on the nodes, found {value!r}",
            hint="Such as /usr/bin/python3.11.",
        )
    return value


def _check(parameters: Mapping[str, Json]) -> None:
    secrets_dir(parameters)
    python(parameters)
    if problems := problems_of(parameters, "engine slurm"):
        raise ConfigError("\n  ".join(problems))


def _unfit(wanted: Resources, parameters: Mapping[str, Json]) -> list[str]:
    _check(parameters)
    return unfit(wanted)


def _fits(plan: Plan) -> None:
    if plan.secrets:
        check_place(secrets_dir(plan.engine.parameters), Path(plan.root))


def _open(parameters: Mapping[str, Json], credentials: Mapping[str, str]) -> Engine:
    assert not credentials, "Slurm asks for none: munge vouches for the user"
    from gate.engines.slurm.engine import Settings, SlurmEngine  # noqa: PLC0415 - a plan is checked without it
    from gate.engines.slurm.submit import Program  # noqa: PLC0415 - nor this

    _check(parameters)
    program = Program(supervisor=(python(parameters), "{pyz}", "supervise"))
    return SlurmEngine(Settings(parameters, secrets_dir(parameters), program))


OFFER = Offer(
    capabilities=CAPABILITIES,
    parameters=(*sorted(OPTIONS), "python", "secrets_dir"),
    credentials=(),
    unfit=_unfit,
    open=_open,
    fits=_fits,
)
