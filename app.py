"""Home: what this is, what this machine can do, and designs to start from."""

from tileviz.ui.loading import draw

draw("tileviz.ui.home")
