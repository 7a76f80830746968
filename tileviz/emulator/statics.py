"""Memory instructions as they stand in the PTX, before anything runs."""

from __future__ import annotations

from collections import Counter

from tileviz.emulator.emulation import StaticAccess
from tileviz.emulator.ptx import WIDTH, Address, Function, Instruction, Symbol

_COUNTED = ("shared", "global")


def static_accesses(
    function: Function, symbols: dict[str, tuple[str, int]]
) -> tuple[StaticAccess, ...]:
    """Return the shared, global and generic accesses of a flat function, by source line."""
    counts: Counter[tuple[int | None, str, str, int]] = Counter()
    for instruction in function.instructions():
        for space, op, width in _accesses(instruction, symbols):
            counts[(instruction.line, space, op, width)] += 1
    ordered = sorted(counts.items(), key=lambda item: item[0][0] or 0)
    return tuple(StaticAccess(*key, count) for key, count in ordered)


def narrowest_shared(function: Function) -> int:
    """Return the bytes of the narrowest access that may touch shared memory, from 1 to 8."""
    widths = [8]
    for instruction in function.instructions():
        for space, _, width in _accesses(instruction, {}):
            if space != "global":
                widths.append(width)
    return max(1, min(widths))


def _accesses(
    instruction: Instruction, symbols: dict[str, tuple[str, int]]
) -> list[tuple[str, str, int]]:
    """Return space, operation and width of what an instruction does to memory."""
    parts = instruction.modifiers
    name = instruction.name
    if name in ("ld", "ldu", "st", "atom", "red"):
        space = _space(instruction, symbols)
        if space is None:
            return []
        op = {"ldu": "ld", "red": "atom"}.get(name, name)
        vector = next((int(p[1]) for p in parts if p in ("v2", "v4", "v8")), 1)
        return [(space, op, WIDTH.get(parts[-1], 8) // 8 * vector)]
    return []


def _space(instruction: Instruction, symbols: dict[str, tuple[str, int]]) -> str | None:
    """Return ``shared``, ``global`` or ``generic``, or None for a space that is not counted."""
    named = next(
        (
            space
            for part in instruction.modifiers
            if (space := part.partition("::")[0]) in (*_COUNTED, "local", "const", "param")
        ),
        None,
    )
    if named is not None:
        return named if named in _COUNTED else None
    for operand in instruction.operands:
        if isinstance(operand, Address) and isinstance(operand.base, Symbol):
            named = symbols.get(operand.base.name, ("generic", 0))[0]
            return named if named in (*_COUNTED, "generic") else None
    return "generic"
