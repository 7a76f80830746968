"""Runs: what was run in this installation, and the recorded GPU runs."""

from tileviz.ui.runs.page import page

page()
