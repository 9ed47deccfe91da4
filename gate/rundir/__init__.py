"""The run directory: the run's files on the shared root, the only truth that outlives a process."""
