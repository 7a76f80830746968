"""What hardware does with an access: banks, sectors, lines."""

from tileviz.memory.accesses import LANES, Accesses, Space

__all__ = ["LANES", "Accesses", "Space"]
