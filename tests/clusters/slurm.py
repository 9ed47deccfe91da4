"""A real Slurm for a session's tests, on ports of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clusters.script import Cluster, cluster, free_ports, missing

GPU_NODES, GPUS = 2, 8
"""Nodes of the partition gpu, and the GPUs of each."""
INSTALL = "tests/clusters/slurm.sh install"
_PORTS = 5
"""One for the controller, one for each node."""


def environment(extra: str = "") -> dict[str, str]:
    """Settings of slurm.sh."""
    first = free_ports(_PORTS)
    return {
        "SLURMCTLD_PORT": str(first),
        "SLURMD_PORT": str(first + 1),
        "SLURM_CONF_EXTRA": extra,
    }


@pytest.fixture(scope="session")
def slurm() -> Iterator[Cluster]:
    """The session's cluster; SLURM_CONF points to it for as long as it runs."""
    if why := missing("slurmctld", "slurmd", "munged", "sbatch", install=INSTALL):
        pytest.skip(why)
    with cluster("slurm.sh", "g-", environment()) as made, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(made.path / "etc" / "slurm.conf"))
        yield made
