"""What gate tells GitHub: statuses and one comment, as a desired state of which only the difference is posted.

Nothing here is an event. `desired` says from a run's records what GitHub should show; the outbox in the run directory
says what GitHub has confirmed; a flush posts the difference. So a kill, a lost answer and an outage are all mended by
the next flush, of whichever process.
"""
