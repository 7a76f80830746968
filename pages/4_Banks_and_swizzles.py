"""Banks and swizzles: any layout, any access: which lanes meet in which bank, and what helps."""

from tileviz.ui.loading import draw

draw("tileviz.ui.access.page")
