"""Permute layout: one warp moves a tile from one layout to another."""

from tileviz.ui.loading import draw

draw("tileviz.ui.permute.page")
