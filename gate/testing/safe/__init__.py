"""A Primus-SaFE server for tests: stateful, faithful in its quirks, and really running what it is given."""
