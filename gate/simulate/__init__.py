"""The simulated world: the contracts of `gate.contracts` over virtual time. The cores and drivers are the real ones."""
