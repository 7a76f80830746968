"""Lessons: predict, see, and be told why; the engine checks every answer."""

from tileviz.ui.loading import draw

draw("tileviz.ui.lessons.page")
