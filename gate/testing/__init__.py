"""Test tools that ship with gate: servers that behave like the ones outside."""
