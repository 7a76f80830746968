"""Which architecture a text is compiled for, given a device, its driver and the compiler."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Instructions that exist only on the "a" form of an architecture, which runs nowhere else.
_SPECIFIC = re.compile(r"\b(wgmma|setmaxnreg|tcgen05)\b")
_WITH_SPECIFIC = (90, 100, 103, 120)


@dataclass(frozen=True)
class Target:
    """What to compile for.

    Attributes:
        virtual: Architecture of the PTX: ``compute_90``.
        real: Architecture of the machine code, ``sm_90``; None where the compiler does not know
            the device, and the driver must compile the PTX.
    """

    virtual: str
    real: str | None


def choose(capability: tuple[int, int], known: Sequence[int], source: str = "") -> Target | None:
    """Return what to compile for, or None where the compiler is too new for the device.

    Args:
        capability: The device's compute capability.
        known: What the compiler knows, ascending: 50, 52, ..., 121.
        source: The text; some instructions need the "a" form of the architecture.

    Example:
        >>> choose((9, 0), (80, 90, 100))
        Target(virtual='compute_90', real='sm_90')
        >>> choose((12, 1), (80, 90, 120)), choose((7, 0), (75, 80))
        (Target(virtual='compute_120', real=None), None)
    """
    number = capability[0] * 10 + capability[1]
    if number in known:
        suffix = "a" if number in _WITH_SPECIFIC and _SPECIFIC.search(source) else ""
        return Target(f"compute_{number}{suffix}", f"sm_{number}{suffix}")
    older = [arch for arch in known if arch <= number]
    return Target(f"compute_{max(older)}", None) if older else None
