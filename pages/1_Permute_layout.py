"""Permute layout: one warp moves a tile from one layout to another."""

from tileviz.ui.permute.page import page

page()
