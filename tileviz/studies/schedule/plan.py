"""The schedule plan."""
