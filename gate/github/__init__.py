"""GitHub: what its runner tells a step, what it is told, and a client of its API."""
