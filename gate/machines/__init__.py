"""Pure machines and rules: no I/O, no clock of their own, frozen values in and out."""
