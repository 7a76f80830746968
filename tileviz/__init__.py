"""tileviz: plan a layout, predict its memory behaviour, write the CUDA, run that very text."""

__version__ = "0.1.0"
