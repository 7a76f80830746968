"""Runs: what was run in this installation, and the recorded GPU runs."""

from tileviz.ui.loading import draw

draw("tileviz.ui.runs.page")
