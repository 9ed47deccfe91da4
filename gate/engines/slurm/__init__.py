"""Workloads as Slurm jobs."""
