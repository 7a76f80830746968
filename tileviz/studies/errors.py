"""What a study says when a valid question has no kernel."""

from __future__ import annotations


class NotRunnable(ValueError):
    """A design that is a valid question, but has no kernel; the message says why."""
