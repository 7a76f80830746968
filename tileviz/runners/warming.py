"""Starting a worker early: imports next to nothing, so that a command can do it first of all."""

from __future__ import annotations

from typing import Literal

from tileviz.cuda import library
from tileviz.workers.shared import EMULATOR, shared_pool

On = Literal["auto", "emulator", "gpu"]


def warm(on: On = "auto") -> None:
    """Start what a run on ``on`` needs, so that it loads while the caller plans.

    Where there is no compiler nothing is started: the run itself then says what is missing.
    """
    if library.find() is not None:  # the GPU's runner compiles and checks there too
        shared_pool(EMULATOR).warm()
