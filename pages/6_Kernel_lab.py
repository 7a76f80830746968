"""Kernel lab: your own CUDA, run in the emulator, and what every line of it costs."""

from tileviz.ui.kernel.page import page

page()
