"""Real engines for tests: scripts that bring one up on this machine, and what pytest needs of them."""
