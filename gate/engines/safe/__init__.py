"""Primus-SaFE: workloads on a cluster, over its REST API."""
