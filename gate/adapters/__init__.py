"""The real world behind the contracts that runner and workload share: threads, clocks, signals.

Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""
