"""Sandboxes on this machine."""
