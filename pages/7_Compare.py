"""Compare: two designs of one study, side by side."""

from tileviz.ui.compare.page import page

page()
