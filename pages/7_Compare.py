"""Compare: two designs of one study, side by side."""

from tileviz.ui.loading import draw

draw("tileviz.ui.compare.page")
