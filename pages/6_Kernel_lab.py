"""Kernel lab: your own CUDA, run in the emulator, and what every line of it costs."""

from tileviz.ui.loading import draw

draw("tileviz.ui.kernel.page")
