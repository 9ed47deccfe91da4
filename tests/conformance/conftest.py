"""Real clusters for the suites here."""

from tests.clusters.slurm import slurm

__all__ = ["slurm"]
