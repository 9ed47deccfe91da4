"""Descriptions of other programs' APIs, which tests hold both sides of a conversation to."""
