"""Layouts: where every element lives, and what an operation makes of it."""

from tileviz.ui.layouts.page import page

page()
