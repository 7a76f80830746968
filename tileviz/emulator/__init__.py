"""The emulator: PTX text to outputs, with every memory access on the way recorded.

`emulate` is the one door. A run never raises for a fault of the kernel: what went wrong is in
`Emulation.problems`. Text or a launch that cannot be run at all is an `EmulatorError`.
"""

from tileviz.emulator.driver import emulate
from tileviz.emulator.emulation import Emulation, StaticAccess, Statistics
from tileviz.emulator.errors import (
    EmulatorError,
    LaunchError,
    ParseError,
    TooLargeError,
    UnsupportedError,
)
from tileviz.emulator.limits import Limits
from tileviz.emulator.problems import Problem

__all__ = [
    "Emulation",
    "EmulatorError",
    "LaunchError",
    "Limits",
    "ParseError",
    "Problem",
    "StaticAccess",
    "Statistics",
    "TooLargeError",
    "UnsupportedError",
    "emulate",
]
