"""Reading the dotted parts of an opcode, so that none is ever ignored by accident."""

from __future__ import annotations

from tileviz.emulator.errors import UnsupportedError
from tileviz.emulator.ptx import WIDTH, Instruction

# Hints that change caching or code generation, never the result.
_CACHE = {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"}
_SCOPE = {"weak", "volatile", "relaxed", "cta", "gpu", "sys", "cluster"}
_EVICTION = {
    *(f"L1::{hint}" for hint in ("evict_normal", "evict_unchanged", "evict_first", "evict_last")),
    *(f"L2::{hint}" for hint in ("evict_normal", "evict_first", "evict_last")),
    *(f"L2::{size}" for size in ("64B", "128B", "256B")),
    "L1::no_allocate",
}
_HINTS = _CACHE | _SCOPE | _EVICTION


class Opcode:
    """The parts of one opcode; every part must be taken before `finish` is happy.

    Example:
        >>> from tileviz.emulator.ptx import Instruction
        >>> code = Opcode(Instruction("mul.wide.s32", (), None, None, 1))
        >>> code.take("lo", "hi", "wide"), code.type()
        ('wide', 's32')
        >>> code.finish()
    """

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.name = instruction.name
        self._rest = list(instruction.modifiers)

    def take(self, *options: str) -> str | None:
        """Remove and return the first part that is one of ``options``, or None."""
        for part in self._rest:
            if part in options:
                self._rest.remove(part)
                return part
        return None

    def need(self, *options: str) -> str:
        """Like `take`, but one of ``options`` must be there."""
        part = self.take(*options)
        if part is None:
            raise self.unsupported()
        return part

    def has(self, part: str) -> bool:
        """Remove ``part`` and tell whether it was there."""
        return self.take(part) is not None

    def type(self) -> str:
        """Remove and return the last part, which must be a type."""
        if not self._rest or self._rest[-1] not in WIDTH or self._rest[-1] == "b128":
            raise self.unsupported()
        return self._rest.pop()

    def drop_hints(self) -> None:
        """Remove cache and scope hints, which do not change a result here."""
        self._rest = [part for part in self._rest if part not in _HINTS]

    def finish(self) -> None:
        """Raise unless every part has been taken."""
        if self._rest:
            raise self.unsupported()

    def unsupported(self, why: str = "") -> UnsupportedError:
        """Return the error that names this opcode and its source line."""
        reason = f" ({why})" if why else ""
        return UnsupportedError(
            f"unsupported PTX instruction {self.instruction.opcode[:80]}{reason}",
            self.instruction.line,
        )
