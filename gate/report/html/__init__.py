"""One self-contained page about one attempt, of a real run or a simulated one."""
