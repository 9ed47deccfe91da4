"""The embedded default engine: real workloads on this machine."""
