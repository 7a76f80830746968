"""The operations: importing this package registers all of them.

A new opcode is a new function in the module of its kind, under `elementwise` or `operation`.
"""

from tileviz.emulator.ops import arithmetic, barrier, convert, floating, integer, memory, move
from tileviz.emulator.ops.registry import build

__all__ = [
    "arithmetic",
    "barrier",
    "build",
    "convert",
    "floating",
    "integer",
    "memory",
    "move",
]
