"""Block schedule: the order in which output tiles are computed, and what it costs in L2."""

from tileviz.ui.loading import draw

draw("tileviz.ui.schedule.page")
