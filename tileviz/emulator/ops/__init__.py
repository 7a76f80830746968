"""The operations: importing this package registers all of them.

A new opcode is a new function in the module of its kind, under `elementwise` or `operation`.
"""

from tileviz.emulator.ops import (
    arithmetic,
    async_copy,
    atomic,
    barrier,
    bits,
    carry,
    compare,
    convert,
    floating,
    integer,
    matrix,
    memory,
    move,
    warp,
)
from tileviz.emulator.ops.registry import build

__all__ = [
    "arithmetic",
    "async_copy",
    "atomic",
    "barrier",
    "bits",
    "build",
    "carry",
    "compare",
    "convert",
    "floating",
    "integer",
    "matrix",
    "memory",
    "move",
    "warp",
]
