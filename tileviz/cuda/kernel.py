"""A kernel ready to be compiled, run and checked: the type every study produces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tileviz.memory import Accesses

Array = NDArray[np.generic]
Role = Literal["in", "out", "inout"]
Reference = Callable[[Mapping[str, Array]], dict[str, Array]]


@dataclass(frozen=True)
class Buffer:
    """One pointer parameter of a kernel.

    Attributes:
        name: The parameter's name in the source.
        dtype: Element type by its tileviz name (``"float32"``, ``"bfloat16"``...).
        shape: Extents; their product is the number of elements allocated.
        role: ``"in"`` is only read, ``"out"`` is poisoned before the run and fully checked after,
            ``"inout"`` is given and checked.
        positive: Whether made-up contents must be positive, as a variance is.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: Role
    positive: bool = False

    @property
    def count(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64)) if self.shape else 1


@dataclass(frozen=True)
class Scalar:
    """One by-value parameter of a kernel: its name, element type and value."""

    name: str
    dtype: str
    value: int | float


@dataclass(frozen=True, eq=False)
class Kernel:
    """CUDA text with everything needed to launch and verify it.

    Attributes:
        source: The CUDA C++ text; what is shown, exported and executed, byte for byte.
        entry: Name of the ``extern "C" __global__`` function.
        grid: Blocks in x, y, z.
        block: Threads in x, y, z.
        parameters: Buffers and scalars in parameter order.
        shared_bytes: Dynamic shared memory per block, in bytes.
        reference: Maps every ``in`` and ``inout`` array (flat, by name) to the expected content
            of every ``out`` and ``inout`` array, with NumPy alone; None for a user's own kernel.
        host_reference: The same in C++ for an export that checks itself: a function ``reference``
            over the bytes of every ``in`` buffer, in order, and of the expected output.
        numpy_reference: The same in Python for a script: a function ``reference`` over the bytes of
            every ``in`` buffer, in order, and of the output before; returns the expected bytes.
        predicted: The accesses predicted from the very index expressions printed in the source.
        subject: The access that the kernel was made for, one of ``predicted``: what else it does
            only fills and shows memory. None where every access counts.
        predicted_whole: Whether ``predicted`` speaks of all blocks.
        predict: Maps linear block numbers (x fastest) to the accesses of those blocks; None where
            only ``predicted`` is known.
        part: What part of a design it handles, such as ``runs the first 1 of 2 elements``; "" for
            all of it.
        caution: What a correct result does not tell, as a sentence, such as that stages overwrite
            each other; "" for nothing.
        tolerance: Largest allowed relative error of floating outputs; 0 means bit-exact.
    """

    source: str
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    parameters: tuple[Buffer | Scalar, ...]
    shared_bytes: int = 0
    reference: Reference | None = None
    host_reference: str = ""
    numpy_reference: str = ""
    predicted: tuple[Accesses, ...] = ()
    subject: Accesses | None = None
    predicted_whole: bool = True
    predict: Callable[[NDArray[np.int64]], tuple[Accesses, ...]] | None = None
    tolerance: float = 0.0
    part: str = ""
    caution: str = ""

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The pointer parameters, in order."""
        return tuple(p for p in self.parameters if isinstance(p, Buffer))

    def line(self, number: int) -> str:
        """Return source line ``number`` (1-based), stripped, or "" where there is none."""
        lines = source_lines(self.source)
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def source_lines(source: str) -> list[str]:
    """Return the lines of a CUDA text as the compiler counts them.

    Only a line feed ends one; ``str.splitlines`` knows more, and form feeds and line separators
    may stand in comments.

    Example:
        >>> source_lines("// a\\fb\\r\\nint x;\\n")
        ['// a\\x0cb', 'int x;']
    """
    lines = [line.removesuffix("\r") for line in source.split("\n")]
    return lines if lines[-1] else lines[:-1]
