"""Layouts: where every element lives, and what an operation makes of it."""

from tileviz.ui.loading import draw

draw("tileviz.ui.layouts.page")
