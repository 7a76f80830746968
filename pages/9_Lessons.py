"""Lessons: predict, see, and be told why; the engine checks every answer."""

from tileviz.ui.lessons.page import page

page()
