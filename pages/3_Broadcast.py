"""Broadcast: one small tensor meets a large one; which thread loads what, and how often."""

from tileviz.ui.loading import draw

draw("tileviz.ui.broadcast.page")
