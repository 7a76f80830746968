"""Memory instructions as they stand in the PTX, before anything runs."""

from __future__ import annotations

from collections import Counter

from tileviz.emulator.emulation import StaticAccess
from tileviz.emulator.ptx import WIDTH, Address, Function, Immediate, Instruction, Symbol

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
    if name in ("ldmatrix", "stmatrix"):
        count = next((p for p in parts if p in ("x1", "x2", "x4")), "x1")
        return [("shared", f"{name}.{count}", 16)]
    if name == "cp" and "global" in parts:
        size = instruction.operands[2] if len(instruction.operands) > 2 else None
        width = size.value if isinstance(size, Immediate) else 4
        op = f"ldgsts.{'cg' if 'cg' in parts else 'ca'}"
        return [("global", op, width), ("shared", op, width)]
    return []


def _space(instruction: Instruction, symbols: dict[str, tuple[str, int]]) -> str | None:
    """Return ``shared``, ``global`` or ``generic``, or None for a space that is not counted."""
    for part in instruction.modifiers:
        named = part.partition("::")[0]
        if named in _COUNTED:
            return named
        if named in ("local", "const", "param"):
            return None
    for operand in instruction.operands:
        if isinstance(operand, Address) and isinstance(operand.base, Symbol):
            named = symbols.get(operand.base.name, ("generic", 0))[0]
            return named if named in (*_COUNTED, "generic") else None
    return "generic"
