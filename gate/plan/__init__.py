"""From gate.yaml to a Plan. `model` is standard library only (bootstrap reads plans); the rest runs at the runner."""
