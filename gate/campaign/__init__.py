"""Campaigns: random gates and random faults on all cores, the two promises checked after each."""
